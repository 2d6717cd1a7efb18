"""Setters that declare shared memory and use it: limits, caches, sessions of TLS, zones of upstreams."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from functools import partial

from nginxopt import lazy
from nginxopt.semantics.refusals.reading import PAGE, Setter, Stated, before, parameter, register
from nginxopt.semantics.refusals.slots import add_path
from nginxopt.semantics.values import milliseconds, number, seconds, size

SETTERS: dict[str, Setter] = {}

_RATE = lazy.pattern(r"rate=([0-9]+)(?:r/s|r/m)?")
_LEVELS = lazy.pattern(r"[12](?::[12]){0,2}")
_MOST_CONNECTIONS = 65_535
_LEAST_SESSIONS = 8 * PAGE
_SESSION_CACHE = lazy.pattern(r"shared:([^:]*):(.*)", re.DOTALL)

_Value = Callable[[str], object]
_OF_CACHE: Mapping[str, _Value] = {
    "inactive": seconds,
    **dict.fromkeys(("max_size", "min_free"), partial(size, giga=True)),
    **dict.fromkeys(("loader_files", "manager_files"), number),
    **dict.fromkeys(("loader_sleep", "loader_threshold", "manager_sleep", "manager_threshold"), milliseconds),
}
"""The other parameters of a cache, with what reads their values."""


@register(SETTERS, "ngx_http_limit_req_zone")
def _limit_req_zone(stated: Stated) -> Iterator[str]:
    key, *words = stated.args
    name = ""
    for word in words:
        if word.startswith("zone="):
            found = yield from _zone_of_limit(word)
            if found is None:
                return
            name = found
        elif word.startswith("rate="):
            rate = _RATE.fullmatch(word)
            if rate is None or not number(rate[1]):
                yield f'invalid rate "{word}"'
                return
        elif word != "sync":  # of NGINX Plus
            yield f'invalid parameter "{word}"'
            return
    yield from _bound(stated, str(key), name, words)


@register(SETTERS, "ngx_http_limit_conn_zone", "ngx_stream_limit_conn_zone")
def _limit_conn_zone(stated: Stated) -> Iterator[str]:
    key, *words = stated.args
    name = ""
    for word in words:
        if not word.startswith("zone="):
            yield f'invalid parameter "{word}"'
            return
        found = yield from _zone_of_limit(word)
        if found is None:
            return
        name = found
    yield from _bound(stated, str(key), name, words)


def _zone_of_limit(word: str) -> Generator[str, None, str | None]:
    """Return the name of a zone; None if nginx refuses the word, for the reason that is yielded."""
    name, colon, text = word.removeprefix("zone=").partition(":")
    value = size(text)
    if not colon or value is None:
        yield f'invalid zone size "{word}"'
    elif value < 8 * PAGE:
        yield f'zone "{word}" is too small'
    else:
        return name
    return None


def _bound(stated: Stated, key: str, name: str, words: Sequence[str]) -> Iterator[str]:
    if not name:
        yield f'"{stated.name}" must have "zone" parameter'
        return
    text = next(word for word in reversed(words) if word.startswith("zone=")).partition(":")[2]
    refused = False
    for message in stated.reading.add_zone(name, size(text) or 0, stated.module):
        refused = True
        yield message
    if refused:
        return
    zone = stated.reading.zones[name]
    if zone.user is not None:
        yield f'{stated.name} "{name}" is already bound to key "{zone.user}"'
    zone.user = key


@register(SETTERS, "ngx_http_limit_req")
def _limit_req(stated: Stated) -> Iterator[str]:
    name: str | None = None
    for word in stated.args:
        known = parameter(word, ("zone", "burst", "delay"))
        if known is None and word != "nodelay":
            yield f'invalid parameter "{word}"'
            return
        if known and known[0] == "zone":
            name = known[1]
            for message in stated.reading.add_zone(name, 0, stated.module):
                yield message
                return
        elif known and not number(known[1]):
            yield f'invalid {known[0]} value "{word}"'
            return
    if name is None:
        yield '"limit_req" must have "zone" parameter'
    elif any(f"zone={name}" in other.args for other in before(stated)):
        yield stated.says("is duplicate")


@register(SETTERS, "ngx_http_limit_conn", "ngx_stream_limit_conn")
def _limit_conn(stated: Stated) -> Iterator[str]:
    name, text = stated.args
    for message in stated.reading.add_zone(str(name), 0, stated.module):
        yield message
        return
    count = number(text)
    if any(other.args[:1] == (name,) for other in before(stated)):
        yield stated.says("is duplicate")
    elif not count:
        yield f'invalid number of connections "{text}"'
    elif count > _MOST_CONNECTIONS:
        yield f"connection limit must be less {_MOST_CONNECTIONS + 1}"


@register(SETTERS, "ngx_http_file_cache_set_slot")
def _cache_path(stated: Stated) -> Iterator[str]:
    path, *words = stated.args
    name, zone_size, levels = "", 0, ""
    for word in words:
        known, _, value = word.partition("=")
        if known == "levels" and "=" in word:
            if not _LEVELS.fullmatch(value):
                yield f'invalid "levels" "{word}"'
                return
            levels = value
        elif known == "use_temp_path" and "=" in word:
            if value not in ("on", "off"):
                yield f'invalid use_temp_path value "{word}", it must be "on" or "off"'
                return
        elif known == "keys_zone" and "=" in word:
            name, colon, text = value.partition(":")
            stated_size = size(text)
            if not colon or stated_size is None:
                yield f'invalid keys zone size "{word}"'
                return
            if stated_size < 2 * PAGE:
                yield f'keys zone "{word}" is too small'
                return
            zone_size = stated_size
        elif known in _OF_CACHE and "=" in word:
            if _OF_CACHE[known](value) is None:
                yield f'invalid {known} value "{word}"'
                return
        elif not word.startswith("purger"):  # of NGINX Plus
            yield f'invalid parameter "{word}"'
            return
    if not name or not zone_size:
        yield f'"{stated.name}" must have "keys_zone" parameter'
        return
    yield from add_path(stated, str(path), tuple(levels.split(":")) if levels else (), stated.directive.located(""))
    for message in stated.reading.add_zone(name, zone_size, stated.module):
        yield message
        return
    zone = stated.reading.zones[name]
    if zone.user is not None:
        yield f'duplicate zone "{name}"'
    zone.user = stated.name


@register(SETTERS, "ngx_http_upstream_zone", "ngx_stream_upstream_zone")
def _upstream_zone(stated: Stated) -> Iterator[str]:
    name = str(stated.args[0])
    value = size(stated.args[1]) if len(stated.args) > 1 else 0
    if not name:
        yield 'invalid zone name ""'
    elif value is None:
        yield f'invalid zone size "{stated.args[1]}"'
    elif len(stated.args) > 1 and value < 8 * PAGE:
        yield f'zone "{name}" is too small'
    else:
        module = "ngx_http_upstream" if stated.protocol == "http" else "ngx_stream_upstream"
        yield from stated.reading.add_zone(name, value, module)


@register(SETTERS, "ngx_http_ssl_session_cache", "ngx_stream_ssl_session_cache", "ngx_mail_ssl_session_cache")
def _session_cache(stated: Stated) -> Iterator[str]:
    for word in stated.args:
        if word in ("off", "none", "builtin"):
            continue
        if word.startswith("builtin:"):
            if number(word.removeprefix("builtin:")) is None:
                yield f'invalid session cache "{word}"'
                return
            continue
        refused = False
        for message in _shared(stated, word, "session cache"):
            refused = True
            yield message
        if refused:
            return


@register(SETTERS, "ngx_http_ssl_ocsp_cache", "ngx_stream_ssl_ocsp_cache")
def _ocsp_cache(stated: Stated) -> Iterator[str]:
    if stated.args[0] != "off":
        yield from _shared(stated, str(stated.args[0]), "OCSP cache")


def _shared(stated: Stated, word: str, what: str) -> Iterator[str]:
    """`shared:name:size`"""
    match = _SESSION_CACHE.fullmatch(word)
    value = size(match[2]) if match else None
    if match is None or not match[1] or value is None:
        yield f'invalid {what} "{word}"'
    elif value < _LEAST_SESSIONS:
        yield f'{what} "{word}" is too small'
    else:
        yield from stated.reading.add_zone(match[1], value, f"{stated.module} {what}")
