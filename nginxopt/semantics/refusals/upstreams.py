"""Setters inside of `upstream`, and those that name one."""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.semantics.refusals.reading import PAGE, Setter, Stated, parameter, register
from nginxopt.semantics.refusals.urls import parse_address, parse_url
from nginxopt.semantics.values import milliseconds, number, seconds, size
from nginxopt.version import Version

SETTERS: dict[str, Setter] = {}

_MOST_ROUTE = 32
_NUMBERS = ("weight", "max_conns", "max_fails")
_WITHOUT_BACKUP = ("hash", "ip_hash", "random")
"""The methods before whose servers no `backup` may stand (`NGX_HTTP_UPSTREAM_BACKUP`)."""
_SAMESITE = ("strict", "lax", "none")


@register(SETTERS, "ngx_http_upstream_server", "ngx_stream_upstream_server")
def _server(stated: Stated) -> Iterator[str]:
    address, *words = stated.args
    for word in words:
        message = _of_word(stated, str(word))
        if message is not None:
            yield message
            return
    service = next((word.partition("=")[2] for word in words if word.startswith("service=")), None)
    if service is not None and "resolve" not in words:
        yield f'service upstream "{address}" requires "resolve" parameter'
        return
    url = parse_url(address)
    if url.error is not None:
        yield f'{url.error} in upstream "{address}"'
    elif stated.protocol == "stream" and url.port is None and service is None:
        yield f'no port in upstream "{address}"'
    elif service is not None and url.port is not None:
        yield f'service upstream "{address}" may not have port'
    elif service is not None and url.is_numeric:
        yield f'service upstream "{address}" requires domain name'


def _of_word(stated: Stated, word: str) -> str | None:
    name, equals, value = word.partition("=")
    if word == "backup":
        method = _method(stated)
        return f'balancing method does not support parameter "{word}"' if method in _WITHOUT_BACKUP else None
    if word == "down":
        return None
    if equals and name in _NUMBERS:
        count = number(value)
        return f'invalid parameter "{word}"' if count is None or (name == "weight" and not count) else None
    if equals and name == "fail_timeout":
        return f'invalid parameter "{word}"' if seconds(value) is None else None
    if stated.protocol == "http" and equals and name == "route":
        if not value:
            return "route is empty"
        return f"route is longer than {_MOST_ROUTE}" if len(value) > _MOST_ROUTE else None
    if equals and name == "service":
        return None if value else "service is empty"
    if word == "resolve" or word == "drain" or (equals and name == "slow_start"):
        return None
    return f'invalid parameter "{word}"'


def _method(stated: Stated) -> str | None:
    """Return the method that the upstream has when nginx reads a server."""
    found = None
    for directive in stated.level.directives:
        if directive is stated.directive:
            return found
        if directive.name in (*_WITHOUT_BACKUP, "least_conn", "least_time"):
            found = str(directive.name)
    return found


@register(SETTERS, "ngx_http_upstream_keepalive")
def _keepalive(stated: Stated) -> Iterator[str]:
    count = number(stated.args[0])
    is_zero_fine = stated.reading.target >= _LOCAL
    if count is None or (count == 0 and not is_zero_fine):
        yield f'invalid value "{stated.args[0]}" in "keepalive" directive'
    elif len(stated.args) > 1 and stated.args[1] != "local":
        yield f'invalid parameter "{stated.args[1]}"'


_LOCAL = Version(1, 29, 7)


@register(SETTERS, "ngx_http_upstream_hash", "ngx_stream_upstream_hash")
def _hash(stated: Stated) -> Iterator[str]:
    if len(stated.args) > 1 and stated.args[1] != "consistent":
        yield f'invalid parameter "{stated.args[1]}"'


@register(SETTERS, "ngx_http_upstream_random", "ngx_stream_upstream_random")
def _random(stated: Stated) -> Iterator[str]:
    for word, known in zip(stated.args, (("two",), ("least_conn",)), strict=False):
        if word not in known and not word.startswith("least_time"):
            yield f'invalid parameter "{word}"'
            return


_TIMES = {"http": ("header", "last_byte"), "stream": ("connect", "first_byte", "last_byte")}


@register(SETTERS, "ngx_http_upstream_least_time", "ngx_stream_upstream_least_time")
def _least_time(stated: Stated) -> Iterator[str]:
    if len(stated.args) > 1 and stated.args[1] != "inflight":  # before the setter of nginx's core, which counts
        yield f'invalid parameter "{stated.args[1]}"'
    elif stated.level.own("least_time")[0] is not stated.directive:
        yield stated.says("is duplicate")
    elif stated.args[0].lower() not in _TIMES[stated.protocol]:
        yield f'invalid value "{stated.args[0]}"'


@register(SETTERS, "ngx_http_upstream_bind_set_slot", "ngx_stream_proxy_bind")
def _bind(stated: Stated) -> Iterator[str]:
    address, *words = stated.args
    if address == "off" and not words:
        return
    if "$" not in address and not parse_address(address):
        yield f'invalid address "{address}"'
    elif words and words[0] != "transparent":
        yield f'invalid parameter "{words[0]}"'


@register(SETTERS, "ngx_http_upstream_param_set_slot")
def _param(stated: Stated) -> Iterator[str]:
    if len(stated.args) == 3 and stated.args[2] != "if_not_empty":
        yield f'invalid parameter "{stated.args[2]}"'


@register(SETTERS, "ngx_http_upstream_sticky")
def _sticky(stated: Stated) -> Iterator[str]:
    kind, *words = stated.args
    if kind == "route":
        wrong = next((word for word in words if not word.startswith("$")), None)
        if wrong is not None:
            yield f'invalid variable name "{wrong}"'
    elif kind == "cookie":
        yield from _cookie(stated, list(map(str, words)))
    elif kind == "learn":
        yield from _learn(stated, list(map(str, words)))
    else:
        yield f'unknown parameter "{kind}"'


def _cookie(stated: Stated, words: list[str]) -> Iterator[str]:
    if not words or not words[0]:
        yield stated.says("empty cookie name")
        return
    seen: set[str] = set()
    for word in words[1:]:
        name, equals, value = word.partition("=")
        is_flag = word in ("httponly", "secure")
        if not is_flag and (not equals or name not in ("domain", "path", "expires", "samesite")):
            yield f'unknown parameter "{word}"'
            return
        if name in seen:
            yield stated.says(f'parameter "{name}" is duplicate')
            return
        seen.add(name)
        if name in ("domain", "path") and not value:
            yield stated.says(f'no value for "{name}"')
            return
        if name == "expires" and value != "max" and seconds(value) is None:
            yield stated.says('invalid "expires" parameter value')
            return
        if name == "samesite" and "$" not in value and value.lower() not in _SAMESITE:
            yield stated.says('invalid "samesite" parameter value')
            return


def _learn(stated: Stated, words: list[str]) -> Iterator[str]:
    zone, timeout = None, None
    variables = {"create": False, "lookup": False}
    for word in words:
        known = parameter(word, ("zone", "timeout", "create", "lookup"))
        if word == "header":
            continue
        if known is None:
            yield f'unknown parameter "{word}"'
            return
        name, value = known
        message = None
        if name == "zone":
            message = "duplicate zone" if zone else _of_zone(value)
            zone = zone or value
        elif name == "timeout":
            message = "duplicate timeout" if timeout else None if milliseconds(value) else "invalid timeout"
            timeout = value
        elif not value.startswith("$"):
            message = f'missing variable in the "{name}" parameter'
        else:
            variables[name] = True
        if message is not None:
            yield stated.says(message)
            return
    for name in ("lookup", "create"):
        if not variables[name]:
            yield stated.says(f'"{name}" parameter is not specified')
            return
    if zone is None:
        yield stated.says('"zone" parameter is not specified')
        return
    name, _, text = zone.partition(":")
    for message in stated.reading.add_zone(name, size(text) or 0, stated.module):
        yield message
        return
    entry = stated.reading.zones[name]
    if entry.user is not None:
        yield f'sticky zone "{name}" is already used in upstream "{entry.user}"'
    entry.user = str(stated.level.args[0]) if stated.level.args else ""


def _of_zone(value: str) -> str | None:
    name, colon, text = value.partition(":")
    if not colon:
        return "zone size is not specified"
    if not name:
        return "zone name is not specified"
    each = size(text)
    if each is None:
        return "invalid zone size"
    return "zone is too small" if each < 8 * PAGE else None
