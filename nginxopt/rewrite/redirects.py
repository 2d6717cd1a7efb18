"""Where a request goes from redirect to redirect: the scripts of a server and its locations, followed with real URIs.

nginx runs the script of the server, chooses a location, runs its script, and after a `last` there chooses again
(`ngx_http_core_rewrite_phase`, `ngx_http_core_post_rewrite_phase`). What cannot be told from the text ends the chain: a
variable, a condition on what may differ from request to request, an include that was not read, another site.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from nginxopt import _native
from nginxopt.config import Bulk, Config, Directive
from nginxopt.rewrite.sections import transparent
from nginxopt.semantics import FRAGMENT, Level, Locations, Uncertain, read_listens
from nginxopt.semantics.addresses import PORT
from nginxopt.semantics.locations import modifier, path
from nginxopt.text import Source, Span, encode

REDIRECTS = ("301", "302", "303", "307", "308")
"""The codes with which `return` sends a client elsewhere."""

MOST_CHANGES = 10
"""`NGX_HTTP_MAX_URI_CHANGES`: the next one is answered with 500."""

MOST_REDIRECTS = 20
"""After so many a browser gives up (Fetch Standard, HTTP-redirect fetch)."""

LONGEST_URI = 65_536
"""Bytes of a URI that is followed: eight times as many as nginx reads (`large_client_header_buffers`)."""

# What is the same in all requests of a client to one host: an `if` on it parts clients, not URIs.
_OF_CLIENT = {
    "$host", "$http_host", "$scheme", "$https", "$server_port", "$server_name", "$server_addr", "$remote_addr",
    "$http_user_agent", "$http_x_forwarded_proto", "$http_x_forwarded_for", "$request_method", "$ssl_protocol",
}  # fmt: skip
_URI = re.compile(rb"\$(?:request_uri|document_uri|uri)\b|\$\{(?:request_uri|document_uri|uri)\}")


@dataclass(frozen=True, slots=True)
class Redirect:
    """What sends a URI on, to the client or within nginx: the statement, and the path it leads to on the same site,
    None where that is not certain.

    `flag` is that of a rewrite, or `return`. `is_constant`: it leads there whatever URI it answers.
    """

    source: Source
    span: Span
    uri: bytes
    target: bytes | None
    flag: str
    is_constant: bool

    @property
    def is_internal(self) -> bool:
        """Whether the client is not told: nginx goes on with the new URI by itself."""
        return self.flag in ("last", "break")


@dataclass(frozen=True, slots=True)
class RedirectChain:
    """Redirects one after the other. `is_loop`: the last leads to what has been, or there is no end in sight."""

    redirects: tuple[Redirect, ...]
    is_loop: bool

    @property
    def loop(self) -> tuple[Redirect, ...]:
        """The part of a loop that comes again; all of it if the URI is another one each time."""
        first = next((at for at, redirect in enumerate(self.redirects) if redirect.uri == self.redirects[-1].target), 0)
        return self.redirects[first:]


@dataclass(slots=True)
class _Script:
    """The rewrites of a level up to what is not understood, and a `return` that follows them."""

    portions: list[tuple[Source, list[tuple[int, int]]]] = field(default_factory=list)
    last: Directive | None = None
    is_understood: bool = True
    has_conditions: bool = False
    rules: _native.Script | None = None

    def add(self, source: Source, span: Span) -> None:
        if not self.portions or self.portions[-1][0] is not source:
            self.portions.append((source, []))
        self.portions[-1][1].append((span.start, span.end))

    def native(self) -> _native.Script:
        if self.rules is None:
            self.rules = _native.Script([(source.data, spans) for source, spans in self.portions])
        return self.rules

    @property
    def is_whole(self) -> bool:
        """Whether what no rule answers comes to its end for certain."""
        return self.is_understood and self.native().is_whole

    def place(self, rule: int) -> tuple[Source, Span]:
        portion, start, end = self.native().place(rule)
        return self.portions[portion][0], Span(start, end)


class Site:
    """A server, or a fragment of one, whose redirects are followed.

    `shared` are the ports and names that other servers have as well: which of them answers depends on the address.
    """

    def __init__(self, config: Config, server: Level, shared: frozenset[tuple[int, str]] = frozenset()) -> None:
        self._config = config
        self._server = server
        self._shared = shared
        self._scripts: dict[Level, _Script] = {}

    def chains(self) -> Iterator[RedirectChain]:
        """Yield the chain of each redirect that is followed by another one within the site, or is a loop."""
        if self._server.setting("merge_slashes").value == "off":
            return  # what a target with two slashes leads to is another question then
        for start in self._starts():
            chain = self._follow(start)
            if len(chain.redirects) > 1 or chain.is_loop:
                yield chain

    def redirect(self, uri: bytes) -> Redirect | None:
        """Return what sends `uri` on; None if nothing does, or if that is not certain."""
        script = self._script(self._server)
        redirect = self._redirect_of(script, uri, first=True)
        if redirect is None:
            return self._locate(uri, first=True) if script.is_whole and script.last is None else None
        if not redirect.is_internal:
            return redirect
        return None if redirect.target is None else self._locate(redirect.target, first=False)

    def _starts(self) -> Iterator[Redirect]:
        """Yield what sends on the URIs that are named: in rules of the server, then in locations."""
        script = self._script(self._server)
        rules = script.native()
        for rule, uri, to, _, is_constant in rules.hops(self._sites, self._prefixes):
            yield Redirect(*script.place(rule), uri, to, rules.flag(rule), is_constant)
        ends = self.redirect(b"/") if script.last is not None else None
        if ends is not None:
            yield replace(ends, is_constant=False)
        for location in self._redirecting:
            redirect = self.redirect(encode(path(location)))
            if redirect is not None:
                yield replace(redirect, is_constant=redirect.is_constant or modifier(location) == "=")

    def _follow(self, start: Redirect) -> RedirectChain:
        redirects = [start]
        seen = {start.uri}
        while (to := redirects[-1].target) is not None:
            if redirects[-1].is_internal or to in seen or len(redirects) >= MOST_REDIRECTS or len(to) > LONGEST_URI:
                return RedirectChain(tuple(redirects), True)
            seen.add(to)
            redirect = self.redirect(to)
            if redirect is None:
                break
            redirects.append(redirect)
        return RedirectChain(tuple(redirects), False)

    def _locate(self, uri: bytes, *, first: bool) -> Redirect | None:
        """Return the redirect of the locations. One that is internal has changed the URI for ever."""
        redirect: Redirect | None = None
        for _ in range(MOST_CHANGES + 1):
            location = self._select(uri)
            if location is None:
                return None
            redirect = self._redirect_of(self._script(location), uri, first=first)
            if redirect is None or not redirect.is_internal:
                return redirect
            if redirect.target is None or redirect.flag == "break" or len(redirect.target) > LONGEST_URI:
                return None
            uri, first = redirect.target, False
        return redirect

    def _select(self, uri: bytes) -> Level | None:
        if self._server.is_open:
            return None
        try:
            return self._locations.select(uri)
        except Uncertain:
            return None

    def _redirect_of(self, script: _Script, uri: bytes, *, first: bool) -> Redirect | None:
        """Return what a script does with a URI; `first`: it is the one that the client asked for."""
        sites = self._narrow_sites if script.has_conditions else self._sites
        step = script.native().step(uri, sites)
        if step is not None:
            source, span = script.place(step[0])
            is_certain = first or b"request_uri" not in source.data[span.start : span.end]
            to = step[1] if is_certain else None
            return Redirect(source, span, uri, to, script.native().flag(step[0]), is_constant=False)
        if script.is_whole and script.last is not None:
            return self._return(script.last, uri, sites, first=first)
        return None

    def _return(self, directive: Directive, uri: bytes, sites: list[bytes], *, first: bool) -> Redirect | None:
        if len(directive.args) not in (1, 2):
            return None  # nginx refuses it
        code, url = directive.args if len(directive.args) == 2 else ("302", *directive.args)
        if code not in REDIRECTS or (len(directive.args) == 1 and url.isdigit()):
            return None
        text = encode(url)
        written = _URI.sub(lambda _: uri, text) if first else text
        to = _native.path_of(written, sites)
        return Redirect(directive.source, directive.span, uri, to, "return", is_constant=written == text)

    @cached_property
    def _locations(self) -> Locations:
        return Locations(self._server)

    @cached_property
    def _redirecting(self) -> tuple[Level, ...]:
        """The locations of a URI or prefix whose script sends requests on."""
        locations = (level for level in self._server.walk() if level.kind == "location" and _is_path(level))
        return tuple(filter(_may_redirect, locations))

    @property
    def _prefixes(self) -> list[bytes]:
        """How the URIs begin that a location may send on."""
        locations = [level for level in self._server.walk() if level.kind == "location" and _may_redirect(level)]
        if self._server.is_open or not all(map(_is_path, locations)):
            return [] if self._server.is_open else [b"/"]
        return [encode(path(location)) for location in locations]

    def _script(self, level: Level) -> _Script:
        if level not in self._scripts:
            script = _Script()
            self._scripts[level] = script
            for node in level.scope.nodes if level.scope else ():
                if not self._take(node, script):
                    break
        return self._scripts[level]

    def _take(self, node: Directive | Bulk, script: _Script) -> bool:
        """Add a statement to a script; return whether the script goes on behind it."""
        if isinstance(node, Bulk) or node.name == "rewrite":
            script.add(node.source, node.span)
        elif node.name == "include":
            script.is_understood = not self._config.is_missing(node)
            return script.is_understood
        elif node.name == "return":
            script.last = node
            return False
        elif node.name == "if" and len(node.args) == 3 and node.args[0] in _OF_CLIENT:
            script.has_conditions = True
        elif node.name not in transparent() and node.name != "set":
            script.is_understood = False
            return False
        return True

    @cached_property
    def _narrow_sites(self) -> list[bytes]:
        """How a URL begins that leads to this server, whatever conditions on scheme and host there are."""
        ports = {port for port, _ in _listens(self._server)}
        ours = [b"$scheme://$http_host"]
        return [b"", *ours, b"$scheme://$host"] if ports <= {80, 443} else [b"", *ours]

    @cached_property
    def _sites(self) -> list[bytes]:
        """How a URL begins that leads to this server from itself."""
        if self._server.is_open or self._server.kind == FRAGMENT or self._script(self._server).has_conditions:
            return self._narrow_sites
        sites = list(self._narrow_sites)
        for port, scheme in sorted(_listens(self._server)):
            names = ["$host", *(name for name in _names(self._server) if (port, name) not in self._shared)]
            ends = [f":{port}", ""] if port == _PORTS[scheme] else [f":{port}"]
            sites += [encode(f"{scheme}://{name}{end}") for name in names for end in ends]
        return sites


_PORTS = {"http": 80, "https": 443}
_MOST_PORTS = 64  # of a range: where a URL with another one leads to is not known


def sites(config: Config, servers: Sequence[Level]) -> Iterator[Site]:
    """Yield each server of a configuration as a site."""
    claims = Counter(
        claim
        for server in servers
        for claim in {(port, name) for port, _ in _listens(server) for name in _names(server)}
    )
    shared = frozenset(claim for claim, count in claims.items() if count > 1)
    return (Site(config, server, shared) for server in servers)


def _is_path(location: Level) -> bool:
    return modifier(location) in ("", "=", "^~") and path(location).startswith("/")


def _may_redirect(location: Level) -> bool:
    return bool(location.own("return") or location.own("rewrite") or location.bulks)


def _listens(server: Level) -> set[tuple[int, str]]:
    """Return the ports on which a server listens, with the scheme that they speak; of a socket file none."""
    ports = {
        (address.port, "https" if listen.has("ssl") or listen.has("quic") else "http")
        for listen in read_listens([server])
        for address in listen.addresses[:_MOST_PORTS]
        if address.family != "unix"
    }
    return ports or {(PORT, "http")}


def _names(server: Level) -> list[str]:
    """Return the names of a server that stand for themselves, in lower case."""
    names = [name.lower() for directive in server.own("server_name") for name in directive.args]
    return [name for name in names if re.fullmatch(r"[a-z0-9.-]+", name) and not name.startswith(".")]
