"""Setters of access logs: formats, buffers, caches of open files."""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt import lazy
from nginxopt.semantics.refusals.main import syslog
from nginxopt.semantics.refusals.reading import Setter, Stated, parameter, register
from nginxopt.semantics.values import milliseconds, number, seconds, size

SETTERS: dict[str, Setter] = {}

_GZIP_BUFFER = 64 * 1024
_ESCAPES = ("json", "default", "none")
_VARIABLE = lazy.pattern(r"\$")


@register(SETTERS, "ngx_http_log_set_format", "ngx_stream_log_set_format")
def _log_format(stated: Stated) -> Iterator[str]:
    name, *words = stated.args
    formats = stated.reading.formats.setdefault(stated.protocol, set())
    if name in formats or (name == "combined" and stated.protocol == "http"):
        yield f'duplicate "log_format" name "{name}"'
        return
    formats.add(str(name))
    if words and words[0].startswith("escape=") and words[0][7:] not in _ESCAPES:
        yield f'unknown log format escaping "{words[0][7:]}"'


@register(SETTERS, "ngx_http_log_set_log", "ngx_stream_log_set_log")
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
    if name.lower() not in known and stated.reading.is_whole:
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


@register(SETTERS, "ngx_http_log_open_file_cache", "ngx_stream_log_open_file_cache")
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
