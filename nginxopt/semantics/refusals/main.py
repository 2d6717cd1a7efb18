"""Setters outside of http, stream and mail: processes, events, logs, resolvers, thread pools."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nginxopt import lazy
from nginxopt.semantics.refusals.reading import Setter, Stated, register
from nginxopt.semantics.refusals.urls import parse_url
from nginxopt.semantics.values import number, seconds

SETTERS: dict[str, Setter] = {}

_LEVELS = ("emerg", "alert", "crit", "error", "warn", "notice", "info", "debug")
_DEBUG_LEVELS = ("debug_core", "debug_alloc", "debug_mutex", "debug_event", "debug_http", "debug_mail", "debug_stream")
_FACILITIES = frozenset({
    "kern", "user", "mail", "daemon", "auth", "intern", "lpr", "news", "uucp", "clock", "authpriv", "ftp", "ntp",
    "audit", "alert", "cron", *(f"local{number}" for number in range(8)),
})  # fmt: skip
_SEVERITIES = frozenset(["emerg", "alert", "crit", "error", "warn", "notice", "info", "debug"])
_MOST_TAG = 32
_TAG = lazy.pattern(r"[0-9A-Za-z_]*")
_MOST_PROCESSORS = 1024  # CPU_SETSIZE
_MASK = lazy.pattern(r"[01 ]*")
_MAIL_PROTOCOLS = ("imap", "pop3", "smtp")
_MOST_ALPN = 255
_EVENTS = ("select", "poll", "epoll", "kqueue", "eventport", "/dev/poll", "rtsig")


@register(SETTERS, "ngx_set_worker_processes")
def _worker_processes(stated: Stated) -> Iterator[str]:
    if stated.args[0] != "auto" and number(stated.args[0]) is None:
        yield stated.says("invalid value")


@register(SETTERS, "ngx_set_priority")
def _worker_priority(stated: Stated) -> Iterator[str]:
    if number(stated.args[0].removeprefix("-")) is None:
        yield stated.says("invalid number")


@register(SETTERS, "ngx_set_cpu_affinity")
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


@register(SETTERS, "ngx_load_module")
def _load_module(stated: Stated) -> Iterator[str]:
    if stated.reading.is_late:
        yield stated.says("is specified too late")


@register(SETTERS, "ngx_event_connections")
def _worker_connections(stated: Stated) -> Iterator[str]:
    if number(stated.args[0]) is None:
        yield f'invalid number "{stated.args[0]}"'


@register(SETTERS, "ngx_event_use")
def _use(stated: Stated) -> Iterator[str]:
    if stated.args[0] not in _EVENTS:
        yield f'invalid event type "{stated.args[0]}"'


@register(SETTERS, "ngx_thread_pool")
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


@register(
    SETTERS,
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
    """`ngx_log_set_levels`"""
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
    known = _FACILITIES if name == "facility" else _SEVERITIES
    return None if value in known else f'unknown syslog {name} "{value}"'


@register(
    SETTERS,
    "ngx_http_core_resolver",
    "ngx_stream_core_resolver",
    "ngx_http_upstream_resolver",
    "ngx_stream_upstream_resolver",
)
def _resolver(stated: Stated) -> Iterator[str]:
    yield from _of_resolver(stated.args)


@register(SETTERS, "ngx_mail_core_resolver")
def _mail_resolver(stated: Stated) -> Iterator[str]:
    if stated.args[0] != "off":
        yield from _of_resolver(stated.args)


def _of_resolver(words: Sequence[str]) -> Iterator[str]:
    """`ngx_resolver_create`"""
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


@register(SETTERS, "ngx_mail_core_protocol")
def _protocol(stated: Stated) -> Iterator[str]:
    if stated.args[0] not in _MAIL_PROTOCOLS:
        yield f'unknown protocol "{stated.args[0]}"'


@register(SETTERS, "ngx_mail_auth_http")
def _auth_http(stated: Stated) -> Iterator[str]:
    url = stated.args[0].removeprefix("http://")
    error = parse_url(url, uri=True).error
    if error is not None:
        yield f'{error} in auth_http "{url}"'


@register(SETTERS, "ngx_stream_ssl_alpn", "ngx_stream_proxy_ssl_alpn_set_slot")
def _alpn(stated: Stated) -> Iterator[str]:
    if any(len(word.encode()) > _MOST_ALPN for word in stated.args):
        yield stated.says("protocol too long")
