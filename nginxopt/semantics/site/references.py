"""Finds references to undefined names (log formats, zones, variables, upstreams), for which nginx does not start."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nginxopt.config import Directive
from nginxopt.errors import InputError
from nginxopt.semantics.inherit import Level
from nginxopt.text import Source
from nginxopt.version import Version

_REQUEST_PORT, _OF_PORTS = Version(1, 29, 3), re.compile(r"(?:\$\{?|<)((?:is_)?request_port)\b", re.IGNORECASE)
"""Variables that nginx has only since 1.29.3 (CHANGES 1.29.3)."""

_OF_NO_MODULE = re.compile(r"\d+|[A-Za-z]*[^\w].*", re.ASCII | re.DOTALL)
"""Names that no module gives a variable: digits, or letters followed by a character that no name has.

A prefix with `_`, such as `arg_`, may be followed by any character.
"""

_SERVER_FLAGS = {"backup", "down", "drain", "resolve"}
_SERVER_VALUES = ("fail_timeout=", "max_conns=", "max_fails=", "route=", "service=", "slow_start=", "weight=")
"""The parameters of a `server` in an upstream, including those of NGINX Plus (`ngx_http_upstream_server`)."""

_LEVELS = ("http", "server", "location", "if", "limit_except")
_LOG_PARAMETERS = ("buffer=", "flush=", "gzip=", "if=")
_CACHES = ("proxy_cache", "fastcgi_cache", "uwsgi_cache", "scgi_cache")
_LIMITS = {"limit_req": "limit_req_zone", "limit_conn": "limit_conn_zone"}
_NAMING = {"log_format", "access_log", *_CACHES, *_LIMITS}
"""The directives that define or use a log format, or that use a zone."""


def check(http: Level, target: Version) -> None:
    """Raise `InputError` for the first undefined name, unless text that was not read may define it.

    The text around a fragment was not read either.
    """
    _check_upstreams(http)
    _check_variables(http, target)
    _check_names(http)
    if http.is_open or http.opener is None:
        return
    formats, zones = {"combined"}, {*_zones(http)}
    for level in http.walk():
        names_any = level.kind in _LEVELS and not level.names.isdisjoint(_NAMING)
        for directive in level.directives if names_any else ():
            if directive.name == "log_format" and directive.args:
                formats.add(directive.args[0])
            message = _unknown(directive, formats, zones)
            if message is not None:
                raise _refused(directive, message)


def _check_variables(http: Level, target: Version) -> None:
    """Raise `InputError` for a variable that `target` does not have yet, or for a definition of one that it has."""
    if http.is_open or not any(b"request_port" in source.data.lower() for source in _sources(http)):
        return
    uses = [directive for directive in _all(http) if any("request_port" in word.lower() for word in directive.args)]
    for directive in uses:
        for name in {match[1].lower() for word in directive.args for match in _OF_PORTS.finditer(word)}:
            is_defined = any(_defines(other, name) for other in uses)
            if target < _REQUEST_PORT and not is_defined:
                raise directive.error(f'unknown "{name}" variable', nginx=f'unknown "{name}" variable')
            if target >= _REQUEST_PORT and _defines(directive, name):
                raise _refused(directive, f'the duplicate "{name}" variable')


def _check_names(http: Level) -> None:
    """Raise `InputError` for an impossible variable in a word that consists of one: `if ($uri/ ~ a)`, `if ($1)`.

    nginx takes the whole word after the `$` for a name, which must be defined (`ngx_http_variables_init_vars`).
    """
    words = [
        (level.opener, level.args[0][1:])
        for level in http.walk()
        if (level.kind == "if" or (level.kind == "geo" and len(level.args) > 1)) and "".join(level.args[:1])[:1] == "$"
    ]
    for opener, name in words:
        if opener is None or _OF_NO_MODULE.fullmatch(name) is None:
            continue
        if not any(_defines(directive, name.lower()) for directive in _all(http)):
            raise opener.error(f'unknown "{name}" variable', nginx=f'unknown "{name}" variable')


def _all(http: Level) -> Iterator[Directive]:
    """Yield the directives of all levels, and of folded runs that mention `request_port`."""
    for level in http.walk():
        yield from level.directives
        for bulk in level.bulks:
            if b"request_port" in bulk.source.data[bulk.span.start : bulk.span.end].lower():
                yield from bulk


def _sources(http: Level) -> set[Source]:
    """Return the files with directives of http."""
    return {item.source for level in http.walk() for items in (level.directives, level.bulks) for item in items}


def _defines(directive: Directive, name: str) -> bool:
    words = [word.lower() for word in directive.args]
    is_table = directive.name in ("map", "geo", "split_clients") and words[-1:] == [f"${name}"]
    is_set = directive.name == "set" and words[:1] == [f"${name}"]
    return is_table or is_set or any(f"<{name}>" in word for word in words)


def _check_upstreams(http: Level) -> None:
    seen: set[str] = set()
    for level in http.levels:
        if level.kind != "upstream" or level.opener is None or not level.args:
            continue
        name = level.args[0].lower()
        if name in seen:
            raise _refused(level.opener, f'duplicate upstream "{level.args[0]}"')
        if not level.own("server") and not level.own("state") and not level.is_open:
            raise _refused(level.opener, "no servers are inside upstream")
        for server in level.own("server"):
            for word in server.args[1:]:
                if word not in _SERVER_FLAGS and not word.startswith(_SERVER_VALUES):
                    raise _refused(server, f'invalid parameter "{word}"')
        seen.add(name)


def _zones(http: Level) -> Iterator[tuple[str, str]]:
    """Yield the zones that http defines, with the directive that defines them."""
    for directive in http.directives:
        name = str(directive.name)
        prefix = "keys_zone=" if name.endswith("_cache_path") else "zone="
        for word in directive.args:
            if word.startswith(prefix):
                yield name.removesuffix("_path"), word.removeprefix(prefix).partition(":")[0]


def _unknown(directive: Directive, formats: set[str], zones: set[tuple[str, str]]) -> str | None:
    """Return nginx's message for an undefined name in a directive; None if there is none."""
    name, args = str(directive.name), directive.args
    if name == "access_log" and len(args) > 1 and args[1] not in formats:
        return f'unknown log format "{args[1]}"'
    if name == "access_log":
        return next((f'invalid parameter "{word}"' for word in args[2:] if not _is_of_log(word)), None)
    if name in _CACHES and args and "$" not in args[0] and args[0] != "off" and not _has_cache(zones, args[0]):
        return f'"{name}" zone "{args[0]}" is unknown'
    if name in _LIMITS:
        zone = _zone(directive)
        if zone is not None and (_LIMITS[name], zone) not in zones:
            return f'zero size shared memory zone "{zone}"'
    return None


def _is_of_log(word: str) -> bool:
    return word == "gzip" or word.startswith(_LOG_PARAMETERS)


def _has_cache(zones: set[tuple[str, str]], zone: str) -> bool:
    """Return whether the cache path of any protocol defines a zone: nginx then has another message."""
    return any(name in _CACHES and other == zone for name, other in zones)


def _zone(directive: Directive) -> str | None:
    """Return the zone of a limit."""
    if directive.name == "limit_conn":
        return directive.args[0] if directive.args else None
    return next((word.removeprefix("zone=") for word in directive.args if word.startswith("zone=")), None)


def _refused(directive: Directive, message: str) -> InputError:
    return directive.error(message, nginx=directive.located(message))
