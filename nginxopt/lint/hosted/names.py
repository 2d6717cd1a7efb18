"""The host names that nginx looks up when it starts, and what it says of one that has no address."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from dataclasses import replace

from nginxopt import lazy
from nginxopt.config import Directive, Token, has_placeholder
from nginxopt.lint.queries.model import Model
from nginxopt.records import record
from nginxopt.semantics import PROTOCOLS, Level

_SCHEME = lazy.pattern(r"[a-z]+://", re.IGNORECASE)


@record(eq=True)
class HostName:
    """A host name that nginx looks up, and its message if there is no such host."""

    directive: Directive
    word: Token
    host: str
    message: str


def host_names(model: Model) -> Iterator[HostName]:
    """Yield the host names of http, stream and mail that are looked up when nginx starts."""
    for level in model.root.walk():
        if level.kind == "upstream":
            yield from _servers(level)
        yield from _others(level)
    yield from _passes(model)


def _servers(upstream: Level) -> Iterator[HostName]:
    """Yield the names in an upstream, without those that a `resolver` looks up (`resolve`, since 1.27.3)."""
    for directive in upstream.own("server"):
        if directive.args and "resolve" not in directive.args[1:]:
            yield from _name(directive, directive.args[0], str(directive.args[0]), "upstream", is_url=True)


def _passes(model: Model) -> Iterator[HostName]:
    """Yield the names in passes, without those of upstreams, which may be in text that was not read."""
    named = {level.args[0].lower() for level in model.root.walk() if level.kind == "upstream" and level.args}
    for directive, level in model.everywhere(*(f"{protocol}_pass" for protocol in PROTOCOLS)):
        if not directive.args or "$" in directive.args[0] or level.kind == "upstream":
            continue
        target = _SCHEME.sub("", str(directive.args[0]), count=1)
        if target[:5].lower() == "unix:":
            continue
        address = re.split(r"[/?]", target, maxsplit=1)[0]
        is_certain = model.is_whole or ":" in address
        if named.isdisjoint((address.lower(), address.lower().partition(":")[0])) and is_certain:
            yield from _name(directive, directive.args[0], address, "upstream")


def _others(level: Level) -> Iterator[HostName]:
    for directive in level.own("listen") if level.kind == "server" else ():
        for found in _name(directive, directive.args[0], str(directive.args[0]), "") if directive.args else ():
            yield replace(found, message=f'host not found in "{directive.args[0]}" of the "listen" directive')
    for directive in level.own("resolver"):
        for word in directive.args:
            if "=" not in word:
                yield from _name(directive, word, str(word), "resolver", is_url=True)
    for directive in level.own("set_real_ip_from"):
        for word in directive.args[:1]:
            if word != "unix:" and "/" not in word:
                yield from _name(directive, word, str(word), "set_real_ip_from", is_url=True)
    for directive in level.own("auth_http"):
        for word in directive.args[:1]:
            address = re.split(r"[/?]", _SCHEME.sub("", str(word), count=1), maxsplit=1)[0]
            for found in _name(directive, word, address, "auth_http"):
                yield replace(found, message=f'host not found in auth_http "{_SCHEME.sub("", str(word), count=1)}"')
    for name in ("error_log", "access_log"):
        for directive in level.own(name):
            for word in directive.args[:1]:
                if word.startswith("syslog:"):
                    server = re.search(r"server=([^,]*)", word)
                    if server is not None and not server[1].startswith("unix:"):
                        yield from _name(directive, word, server[1], "syslog server", is_url=True)


def _name(directive: Directive, word: Token, url: str, where: str, *, is_url: bool = False) -> Iterator[HostName]:
    """Yield the host of an address, if it is a name. nginx's message shows the whole address, or only the host."""
    host = url.rpartition("]")[0][1:] if url.startswith("[") else url.partition(":")[0]
    if not host or "$" in url or has_placeholder(url) or url[:5].lower() == "unix:" or _is_address(host):
        return
    yield HostName(directive, word, host, f'host not found in {where} "{url if is_url else host}"')


def _is_address(host: str) -> bool:
    if host == "*":
        return True
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return re.fullmatch(r"[0-9.]+|0x[0-9a-f]+", host, re.IGNORECASE) is not None
    return True
