"""The setters of nginx's core (`ngx_conf_set_*_slot` in ngx_conf_file.c), and the checks behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from nginxopt.semantics.refusals.reading import Setter, Stated, register
from nginxopt.semantics.values import milliseconds, number, seconds, size
from nginxopt.version import Version

SETTERS: dict[str, Setter] = {}
_ACCESS = {"user", "group", "all"}
_MOST_LEVELS = 3  # NGX_MAX_PATH_LEVEL
_MOST_LETTERS = 10  # of the levels of a path


@register(SETTERS, "ngx_conf_set_num_slot")
def _number(stated: Stated) -> Iterator[str]:
    if number(stated.args[0]) is None:
        yield stated.says("invalid number")
    else:
        yield from _checked(stated)


@register(SETTERS, "ngx_conf_set_size_slot")
def _size(stated: Stated) -> Iterator[str]:
    if size(stated.args[0]) is None:
        yield stated.says("invalid value")
    else:
        yield from _checked(stated)


@register(SETTERS, "ngx_conf_set_off_slot")
def _offset(stated: Stated) -> Iterator[str]:
    if size(stated.args[0], giga=True) is None:
        yield stated.says("invalid value")


@register(SETTERS, "ngx_conf_set_msec_slot")
def _milliseconds(stated: Stated) -> Iterator[str]:
    if milliseconds(stated.args[0]) is None:
        yield stated.says("invalid value")


@register(SETTERS, "ngx_conf_set_sec_slot")
def _seconds(stated: Stated) -> Iterator[str]:
    if seconds(stated.args[0]) is None:
        yield stated.says("invalid value")


@register(SETTERS, "ngx_conf_set_bufs_slot")
def _buffers(stated: Stated) -> Iterator[str]:
    count, each = number(stated.args[0]), size(stated.args[1])
    if not count or not each:
        yield stated.says("invalid value")


@register(SETTERS, "ngx_http_ssl_enable", "ngx_mail_ssl_enable")
def _flag(stated: Stated) -> Iterator[str]:
    if stated.args[0].lower() not in ("on", "off"):
        yield f'invalid value "{stated.args[0]}" in "{stated.name}" directive, it must be "on" or "off"'


@register(SETTERS, "ngx_conf_set_enum_slot")
def _enum(stated: Stated) -> Iterator[str]:
    if stated.args[0].lower() not in stated.declaration.values.lower().split("|"):
        yield f'invalid value "{stated.args[0]}"'


@register(SETTERS, "ngx_conf_set_bitmask_slot")
def _bits(stated: Stated) -> Iterator[str]:
    known = stated.declaration.values.lower().split("|")
    wrong = next((word for word in stated.args if word.lower() not in known), None)
    if wrong is not None:
        yield f'invalid value "{wrong}"'


@register(SETTERS, "ngx_conf_set_path_slot")
def _path(stated: Stated) -> Iterator[str]:
    levels = [number(word) for word in stated.args[1:]]
    if any(not level for level in levels) or sum(level or 0 for level in levels) > _MOST_LETTERS:
        yield stated.says("invalid value")
    else:
        yield from add_path(stated, str(stated.args[0]), tuple(map(str, levels)))


def add_path(stated: Stated, path: str, levels: tuple[str, ...], data: str = "") -> Iterator[str]:
    """Enter a directory that nginx makes (`ngx_add_path` in ngx_file.c); `data` names what manages it."""
    here = stated.directive.located("")[len(" in ") :]
    path = path.removesuffix("/")
    earlier, place, manager = stated.reading.paths.setdefault(path, (":".join(levels), here, data))
    if manager != data:
        yield f'the same path name "{path}" used in {place} and'
    elif earlier != ":".join(levels):
        yield f'the same path name "{path}" in {place} has the different levels than'


@register(SETTERS, "ngx_conf_set_access_slot")
def _access(stated: Stated) -> Iterator[str]:
    for word in stated.args:
        who, _, how = word.partition(":")
        if who not in _ACCESS or how not in ("r", "rw"):
            yield f'invalid value "{word}"'
            return


def _checked(stated: Stated) -> Iterator[str]:
    """Yield what the check behind a setter says of the value (`post`)."""
    _, _, check = stated.declaration.setter.partition(" ")
    if ".." in check:
        low, high = map(int, check.split(".."))
        if not low <= (number(stated.args[0]) or 0) <= high:
            yield f"value must be between {low} and {high}"
    elif check in _CHECKS:
        yield from _CHECKS[check](size(stated.args[0]) or 0, stated.reading.target)


_Check = Callable[[int, Version], Iterator[str]]
_LEAST_POOL = 112  # NGX_MIN_POOL_SIZE
_POOL_ALIGNMENT = 16
_MOST_PREREAD = 2**31 - 1


def _of_pool(value: int, _: Version) -> Iterator[str]:
    if value < _LEAST_POOL:
        yield f"the pool size must be no less than {_LEAST_POOL}"
    elif value % _POOL_ALIGNMENT:
        yield f"the pool size must be a multiple of {_POOL_ALIGNMENT}"


def _of_gzip(name: str, *sizes: str) -> _Check:
    known = {size(text) for text in sizes}
    *first, last = sizes

    def check(value: int, _: Version) -> Iterator[str]:
        if value not in known:
            yield f'"{name}" directive must be {", ".join(first)}, or {last}'

    return check


def _of_preread(value: int, _: Version) -> Iterator[str]:
    if value > _MOST_PREREAD:
        yield f"the maximum body preread buffer size is {_MOST_PREREAD}"


def _of_chunk(value: int, _: Version) -> Iterator[str]:
    if value == 0:
        yield "the http2 chunk size cannot be zero"


_CHECKS: Mapping[str, _Check] = {
    "ngx_http_core_pool_size": _of_pool,
    "ngx_http_v2_pool_size": _of_pool,
    "ngx_http_v2_preread_size": _of_preread,
    "ngx_http_v2_chunk_size": _of_chunk,
    "ngx_http_gzip_window": _of_gzip("gzip_window", "512", "1k", "2k", "4k", "8k", "16k", "32k"),
    "ngx_http_gzip_hash": _of_gzip("gzip_hash", "512", "1k", "2k", "4k", "8k", "16k", "32k", "64k", "128k"),
}
