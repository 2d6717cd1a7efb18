"""Setters of what lasts as long as a configuration does: processes, events, resolvers, logs, memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from functools import partial

from nginxopt import lazy
from nginxopt.config import Directive
from nginxopt.semantics.inherit import Level
from nginxopt.semantics.refusals.setters import PAGE, Stated, add_path, before, parameter, setter
from nginxopt.semantics.values import milliseconds, number, parse_url, seconds, size

_LEVELS = ("emerg", "alert", "crit", "error", "warn", "notice", "info", "debug")
_DEBUG_LEVELS = ("debug_core", "debug_alloc", "debug_mutex", "debug_event", "debug_http", "debug_mail", "debug_stream")
_FACILITIES = frozenset({
    "kern", "user", "mail", "daemon", "auth", "intern", "lpr", "news", "uucp", "clock", "authpriv", "ftp", "ntp",
    "audit", "alert", "cron", *(f"local{number}" for number in range(8)),
})  # fmt: skip
_MOST_TAG = 32
_TAG = lazy.pattern(r"[0-9A-Za-z_]*")
_MOST_PROCESSORS = 1024  # CPU_SETSIZE
_MAIL_PROTOCOLS = ("imap", "pop3", "smtp")
_MOST_ALPN = 255
_EVENTS = ("select", "poll", "epoll", "kqueue", "eventport", "/dev/poll", "rtsig")
_MOST_BUCKET = 65_536 - 32  # less a cache line, the shortest there is
_LINE = 64


@setter("ngx_set_worker_processes")
def _worker_processes(stated: Stated) -> Iterator[str]:
    if stated.args[0] != "auto" and number(stated.args[0]) is None:
        yield stated.says("invalid value")


@setter("ngx_set_priority")
def _worker_priority(stated: Stated) -> Iterator[str]:
    if number(stated.args[0].removeprefix("-")) is None:
        yield stated.says("invalid number")


@setter("ngx_set_cpu_affinity")
def _worker_cpu_affinity(stated: Stated) -> Iterator[str]:
    masks = stated.args
    if masks[0] == "auto":
        if len(masks) > 2:
            yield 'invalid number of arguments in "worker_cpu_affinity" directive'
            return
        masks = masks[1:]
    for mask in masks:
        if len(mask) > _MOST_PROCESSORS:
            yield f'"worker_cpu_affinity" supports up to {_MOST_PROCESSORS} CPUs only'
            return
        wrong = next((letter for letter in reversed(mask) if letter not in "01 "), None)
        if wrong is not None:
            yield f'invalid character "{wrong}" in "worker_cpu_affinity"'
            return


@setter("ngx_load_module")
def _load_module(stated: Stated) -> Iterator[str]:
    if stated.reading.is_late:
        yield stated.says("is specified too late")


@setter("ngx_event_connections")
def _worker_connections(stated: Stated) -> Iterator[str]:
    if number(stated.args[0]) is None:
        yield f'invalid number "{stated.args[0]}"'


@setter("ngx_event_use")
def _use(stated: Stated) -> Iterator[str]:
    if stated.args[0] not in _EVENTS:
        yield f'invalid event type "{stated.args[0]}"'


@setter("ngx_thread_pool")
def _thread_pool(stated: Stated) -> Iterator[str]:
    name, *words = stated.args
    if stated.reading.pools.get(name) is not None:
        yield f'duplicate thread pool "{name}"'
        return
    threads = 0
    for word in words:
        key, _, value = word.partition("=")
        count = number(value)
        if key == "threads":
            if not count:
                yield f'invalid threads value "{word}"'
                return
            threads = count
        elif key == "max_queue" and count is None:
            yield f'invalid max_queue value "{word}"'
            return
    if not threads:
        yield '"thread_pool" must have "threads" parameter'
        return
    stated.reading.pools[str(name)] = stated.directive


@setter(
    "ngx_error_log",
    "ngx_http_core_error_log",
    "ngx_stream_core_error_log",
    "ngx_mail_core_error_log",
)
def _error_log(stated: Stated) -> Iterator[str]:
    target, *levels = stated.args
    if target.startswith("syslog:"):
        message = next(syslog(target), None)
        if message is not None:
            yield message
            return
    yield from _of_levels(levels)


def _of_levels(levels: Sequence[str]) -> Iterator[str]:
    """Yield what nginx refuses of the levels of an `error_log` (`ngx_log_set_levels`)."""
    is_level = False
    for level in levels:
        if level in _LEVELS:
            if is_level:
                yield f'duplicate log level "{level}"'
                return
            is_level = True
        elif level not in _DEBUG_LEVELS or is_level:
            yield f'invalid log level "{level}"'
            return


def syslog(target: str) -> Iterator[str]:
    """Yield what nginx refuses of `syslog:server=...` (`ngx_syslog_process_conf`)."""
    stated: set[str] = set()
    for part in target.removeprefix("syslog:").split(","):
        name, equals, value = part.partition("=")
        if part == "nohostname":
            continue
        if not equals or name not in ("server", "facility", "severity", "tag"):
            yield f'unknown syslog parameter "{part}"'
            return
        if name in stated:
            yield f'duplicate syslog "{name}"'
            return
        stated.add(name)
        message = _of_syslog(name, value)
        if message is not None:
            yield message
            return
    if "server" not in stated:
        yield "no syslog server specified"


def _of_syslog(name: str, value: str) -> str | None:
    if name == "server":
        error = parse_url(value).error
        return error and f'{error} in syslog server "{value}"'
    if name == "tag" and len(value) > _MOST_TAG:
        return f"syslog tag length exceeds {_MOST_TAG}"
    if name == "tag":
        is_fine = _TAG.fullmatch(value)
        return None if is_fine else 'syslog "tag" only allows alphanumeric characters and underscore'
    known = _FACILITIES if name == "facility" else _LEVELS
    return None if value in known else f'unknown syslog {name} "{value}"'


@setter(
    "ngx_http_core_resolver",
    "ngx_stream_core_resolver",
    "ngx_http_upstream_resolver",
    "ngx_stream_upstream_resolver",
)
def _resolver(stated: Stated) -> Iterator[str]:
    yield from _of_resolver(stated.args)


@setter("ngx_mail_core_resolver")
def _mail_resolver(stated: Stated) -> Iterator[str]:
    if stated.args[0] != "off":
        yield from _of_resolver(stated.args)


def _of_resolver(words: Sequence[str]) -> Iterator[str]:
    """Yield what nginx refuses of the words of a `resolver` (`ngx_resolver_create`)."""
    has_server, off = False, set()
    for word in words:
        name, equals, value = word.partition("=")
        if equals and name in ("valid", "ipv4", "ipv6", "status_zone"):
            if (name == "valid" and seconds(value) is None) or (name[:3] == "ipv" and value not in ("on", "off")):
                yield f"invalid parameter: {word}"
                return
            off |= {name} if value == "off" else set()
            continue
        error = parse_url(word).error
        if error is not None:
            yield f'{error} in resolver "{word}"'
            return
        has_server = True
    if {"ipv4", "ipv6"} <= off:
        yield '"ipv4" and "ipv6" cannot both be "off"'
    elif not has_server:
        yield "no name servers defined"


@setter("ngx_mail_core_protocol")
def _protocol(stated: Stated) -> Iterator[str]:
    if stated.args[0] not in _MAIL_PROTOCOLS:
        yield f'unknown protocol "{stated.args[0]}"'


@setter("ngx_mail_auth_http")
def _auth_http(stated: Stated) -> Iterator[str]:
    url = stated.args[0].removeprefix("http://")
    error = parse_url(url, uri=True).error
    if error is not None:
        yield f'{error} in auth_http "{url}"'


@setter("ngx_stream_ssl_alpn", "ngx_stream_proxy_ssl_alpn_set_slot")
def _alpn(stated: Stated) -> Iterator[str]:
    if any(len(word.encode()) > _MOST_ALPN for word in stated.args):
        yield stated.says("protocol too long")


# Access logs: formats, buffers, caches of open files.

_GZIP_BUFFER = 64 * 1024
_ESCAPES = ("json", "default", "none")
_VARIABLE = lazy.pattern(r"\$")


@setter("ngx_http_log_set_format", "ngx_stream_log_set_format")
def _log_format(stated: Stated) -> Iterator[str]:
    name, *words = stated.args
    formats = stated.reading.formats.setdefault(stated.protocol, set())
    if name in formats or (name == "combined" and stated.protocol == "http"):
        yield f'duplicate "log_format" name "{name}"'
        return
    formats.add(str(name))
    if words and words[0].startswith("escape=") and words[0][7:] not in _ESCAPES:
        yield f'unknown log format escaping "{words[0][7:]}"'


@setter("ngx_http_log_set_log", "ngx_stream_log_set_log")
def _access_log(stated: Stated) -> Iterator[str]:
    path, *words = stated.args
    if path == "off":
        if words:
            yield f'invalid parameter "{words[0]}"'
        return
    if path.startswith("syslog:"):
        message = next(syslog(path), None)
        if message is not None:
            yield message
            return
    if not words and stated.protocol == "stream":
        yield "log format is not specified"
        return
    name = str(words[0]) if words else "combined"
    known = {known.lower() for known in stated.reading.formats.get(stated.protocol, ())}
    if stated.protocol == "http":
        known.add("combined")
    if name.lower() not in known and stated.reading.declares_all:
        yield f'unknown log format "{name}"'
        return
    buffered, flush, gzip = 0, 0, 0
    for word in words[1:]:
        stated_word = parameter(word, ("buffer", "flush", "gzip", "if"))
        if word == "gzip":
            buffered, gzip = buffered or _GZIP_BUFFER, 1
            continue
        if stated_word is None:
            yield f'invalid parameter "{word}"'
            return
        key, value = stated_word
        if key == "buffer":
            buffered = size(value) or 0
            if not buffered:
                yield f'invalid buffer size "{value}"'
                return
        elif key == "flush":
            flush = milliseconds(value) or 0
            if not flush:
                yield f'invalid flush time "{value}"'
                return
        elif key == "gzip":
            buffered, gzip = buffered or _GZIP_BUFFER, number(value) or 0
            if not 1 <= gzip <= 9:
                yield f'invalid compression level "{value}"'
                return
    if flush and not buffered:
        yield f'no buffer is defined for access_log "{path}"'
    elif buffered and path.startswith("syslog:"):
        yield "logs to syslog cannot be buffered"
    elif buffered and "$" in path:
        yield "buffered logs cannot have variables in name"
    elif buffered:
        same = stated.reading.buffers.setdefault(str(path), (buffered, flush, gzip))
        if same != (buffered, flush, gzip):
            yield f'access_log "{path}" already defined with conflicting parameters'


@setter("ngx_http_log_open_file_cache", "ngx_stream_log_open_file_cache")
def _open_log_file_cache(stated: Stated) -> Iterator[str]:
    yield from cache_of_files(stated, ("max", "inactive", "min_uses", "valid"), article="", least=0)


def cache_of_files(stated: Stated, names: tuple[str, ...], *, article: str, least: int) -> Iterator[str]:
    """Yield what nginx refuses of `max=N inactive=TIME ...`. `least` is the smallest `max` it reads."""
    most, is_off = None, False
    for word in stated.args:
        if word == "off":
            is_off = True
            continue
        known = parameter(word, names)
        value = None
        if known is not None:
            counts = known[0] in ("max", "min_uses")
            value = number(known[1]) if counts else seconds(known[1])
        if known is None or value is None or (known[0] == "max" and value < least):
            yield _invalid_of_cache(stated.name, str(word))
            return
        if known[0] == "max":
            most = value
    if not most and not is_off:
        yield f'"{stated.name}" must have {article}"max" parameter'


def _invalid_of_cache(name: str, word: str) -> str:
    return f'invalid "{name}" parameter "{word}"' if "file_cache" in name else f'invalid parameter "{word}"'


# Shared memory: limits, caches, sessions of TLS, zones of upstreams.

_RATE = lazy.pattern(r"rate=([0-9]+)(?:r/s|r/m)?")
_LEVELS_OF_PATHS = lazy.pattern(r"[12](?::[12]){0,2}")
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


@setter("ngx_http_limit_req_zone")
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


@setter("ngx_http_limit_conn_zone", "ngx_stream_limit_conn_zone")
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


@setter("ngx_http_limit_req")
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


@setter("ngx_http_limit_conn", "ngx_stream_limit_conn")
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


@setter("ngx_http_file_cache_set_slot")
def _cache_path(stated: Stated) -> Iterator[str]:
    path, *words = stated.args
    name, zone_size, levels = "", 0, ""
    for word in words:
        known, _, value = word.partition("=")
        if known == "levels" and "=" in word:
            if value and not _LEVELS_OF_PATHS.fullmatch(value):
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
    yield from add_path(stated, str(path), tuple(levels.split(":")) if levels else (), is_cache=True)
    for message in stated.reading.add_zone(name, zone_size, stated.module):
        yield message
        return
    zone = stated.reading.zones[name]
    if zone.user is not None:
        yield f'duplicate zone "{name}"'
    zone.user = stated.name


@setter("ngx_http_upstream_zone", "ngx_stream_upstream_zone")
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


@setter("ngx_http_ssl_session_cache", "ngx_stream_ssl_session_cache", "ngx_mail_ssl_session_cache")
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


@setter("ngx_http_ssl_ocsp_cache", "ngx_stream_ssl_ocsp_cache")
def _ocsp_cache(stated: Stated) -> Iterator[str]:
    if stated.args[0] != "off":
        yield from _shared(stated, str(stated.args[0]), "OCSP cache")


def _shared(stated: Stated, word: str, what: str) -> Iterator[str]:
    """Yield what nginx refuses of a shared cache of TLS, `shared:name:size`. `what` is its name in messages."""
    match = _SESSION_CACHE.fullmatch(word)
    value = size(match[2]) if match else None
    if match is None or not match[1] or value is None:
        yield f'invalid {what} "{word}"'
    elif value < _LEAST_SESSIONS:
        yield f'{what} "{word}" is too small'
    else:
        yield from stated.reading.add_zone(match[1], value, f"{stated.module} {what}")


def oversized(level: Level) -> Iterator[tuple[Directive, str]]:
    """Yield the bucket sizes of a block of http or stream that `ngx_hash_init` refuses for every table.

    Only those of tables that nginx certainly builds: of variables, of a map with a plain key, of the types and the
    proxied headers of a server. A message has the size in whole cache lines, of 64 bytes on most processors.
    """
    if level.kind == "mail":
        return
    stated = [*level.own("variables_hash_bucket_size")]
    if any(map(_has_key, level.levels)):
        stated += level.own("map_hash_bucket_size")
    settings = (
        server.setting(f"{table}_hash_bucket_size")
        for server in level.levels
        if server.kind == "server" and level.kind == "http"
        for table in ("types", "proxy_headers")
    )
    stated += [each.directive for each in settings if each.known and each.directive is not None]
    for directive in dict.fromkeys(stated):
        size = number(directive.args[0]) if len(directive.args) == 1 else None
        if size is not None and size > _MOST_BUCKET:
            table = directive.name.removesuffix("_bucket_size")
            yield directive, f"could not build {table}, too large {directive.name}: {-(-size // _LINE) * _LINE}"


def _has_key(level: Level) -> bool:
    """Return whether a block is a map with a key that is neither a pattern nor one of nginx's words."""
    rows = (row for row in level.directives if level.kind == "map" and len(row.args) == 1)
    return any(row.name not in ("default", "include") and not row.name.startswith("~") for row in rows)
