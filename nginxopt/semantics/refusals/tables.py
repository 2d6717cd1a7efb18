"""Setters of blocks of rows: map, geo, split_clients, charset_map."""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator

from nginxopt import lazy
from nginxopt.config import Directive
from nginxopt.semantics.addresses import quad
from nginxopt.semantics.refusals.http import is_name_or_wildcard, is_network
from nginxopt.semantics.refusals.reading import Setter, Stated, register
from nginxopt.semantics.tables import VOLATILE

SETTERS: dict[str, Setter] = {}

_PERCENT = lazy.pattern(r"([0-9]+)(?:\.([0-9]{0,2})0*)?%")
_ALL = 10_000


@register(SETTERS, "ngx_http_map_block", "ngx_stream_map_block", "ngx_conf_split_clients_block",
          "ngx_stream_split_clients_block", "ngx_http_split_clients_block")  # fmt: skip
def _table(stated: Stated) -> Iterator[str]:
    yield from _of_variable(stated.args[-1])


@register(SETTERS, "ngx_http_geo_block", "ngx_stream_geo_block")
def _geo(stated: Stated) -> Iterator[str]:
    for word in stated.args:
        message = next(_of_variable(word), None)
        if message is not None:
            yield message
            return


def _of_variable(word: str) -> Iterator[str]:
    if not word.startswith("$"):
        yield f'invalid variable name "{word}"'
    elif word == "$":
        yield 'invalid variable name "$"'


_Rows = Callable[[Stated], Iterator[tuple[Directive, str]]]


def with_blocks(stated: Stated, rows: _Rows) -> Iterator[tuple[Directive, str]]:
    """Yield what nginx refuses of the rows of a block: those that open a block themselves, and what `rows` does."""
    assert stated.block is not None
    opening = {row for row in stated.block.directives if row.block is not None}
    yield from ((row, 'unexpected "{"') for row in opening)
    yield from ((row, message) for row, message in rows(stated) if row not in opening)


def rows_of_map(stated: Stated) -> Iterator[tuple[Directive, str]]:
    """`ngx_http_map`"""
    assert stated.block is not None
    hostnames, has_default = False, False
    seen: set[str] = set()
    for row in stated.block.directives:
        key, args = str(row.name), row.args
        if not args and key == "hostnames":
            hostnames = True
            continue
        if not args and key == "volatile" and stated.reading.target >= VOLATILE["map"]:
            continue
        if len(args) != 1:
            yield row, "invalid number of the map parameters"
            continue
        if key == "include":
            continue
        if key == "default":
            if has_default:
                yield row, "duplicate default map parameter"
            has_default = True
            continue
        if key.startswith("~"):
            continue
        name = key.removeprefix("\\").lower()
        if hostnames and not is_name_or_wildcard(name):
            yield row, f'invalid hostname or wildcard "{name}"'
        elif name in seen:
            yield row, f'conflicting parameter "{name}"'
        seen.add(name)


def rows_of_split(stated: Stated) -> Iterator[tuple[Directive, str]]:
    """`ngx_http_split_clients`, `ngx_conf_split_clients_block`"""
    assert stated.block is not None
    total = 0
    for row in stated.block.directives:
        if row.name == "*":
            total = max(total, _ALL)
            continue
        match = _PERCENT.fullmatch(row.name)
        share = int(match[1]) * 100 + int((match[2] or "").ljust(2, "0")) if match else 0
        if not share:
            yield row, f'invalid percent value "{row.name}"'
            return
        total += share
    if total > _ALL:
        yield stated.directive, "percent total is greater than 100%"


def rows_of_geo(stated: Stated) -> Iterator[tuple[Directive, str]]:
    """`ngx_http_geo`"""
    assert stated.block is not None
    is_ranges, has_tree = False, False
    ranges: list[tuple[int, int]] = []
    for row in stated.block.directives:
        key, args = str(row.name), row.args
        if not args and key == "ranges":
            if has_tree:
                yield row, 'the "ranges" directive must be the first directive inside "geo" block'
            is_ranges = True
            continue
        if not args and (key == "proxy_recursive" or (key == "volatile" and stated.reading.target >= VOLATILE["geo"])):
            continue
        if len(args) != 1:
            yield row, "invalid number of the geo parameters"
            continue
        if key == "include":
            continue
        if key == "proxy":
            if not _is_geo_network(args[0]):
                yield row, f'invalid network "{args[0]}"'
            continue
        has_tree = has_tree or not is_ranges
        if key == "default":
            continue
        net = str(args[0]) if key == "delete" else key
        if not is_ranges:
            if not _is_geo_network(net):
                yield row, f'invalid network "{net}"'
            continue
        found = _range(net)
        if found is None:
            yield row, f'invalid range "{net}"'
        elif key != "delete":
            message = _overlap(net, *found, ranges)
            if message is not None:
                yield row, message


def _is_geo_network(text: str) -> bool:
    return text == "255.255.255.255" or is_network(text)


def _range(text: str) -> tuple[int, int] | None:
    first, dash, last = text.partition("-")
    low, high = quad(first), quad(last)
    if not dash or low is None or high is None:
        return None
    ends = int.from_bytes(bytes(low), "big"), int.from_bytes(bytes(high), "big")
    return ends if ends[0] <= ends[1] else None


def _overlap(net: str, low: int, high: int, ranges: list[tuple[int, int]]) -> str | None:
    """Enter a range; return why nginx refuses it for an earlier one that it crosses (`ngx_http_geo_add_range`)."""
    at = bisect_left(ranges, (low, -1))
    beside = ranges[max(at - 1, 0) : at + 1]
    for start, end in beside:
        if low <= end and high >= start:
            inside = start <= low and high <= end
            if not inside:
                return f'range "{net}" overlaps "{_dotted(start)}-{_dotted(end)}"'
            return None  # nginx splits the earlier one
    insort(ranges, (low, high))
    return None


def _dotted(value: int) -> str:
    return ".".join(map(str, value.to_bytes(4, "big")))


_MOST_UTF_DIGITS = 7


def rows_of_charset(stated: Stated) -> Iterator[tuple[Directive, str]]:
    """`ngx_http_charset_map`"""
    assert stated.block is not None
    is_utf8 = stated.args[-1].lower() == "utf-8"
    for row in stated.block.directives:
        if len(row.args) != 1:
            yield row, "invalid parameters number"
        elif not _is_byte(row.name):
            yield row, f'invalid value "{row.name}"'
        elif not (_is_utf8(row.args[0]) if is_utf8 else _is_byte(row.args[0])):
            yield row, f'invalid value "{row.args[0]}"'


def _is_byte(text: str) -> bool:
    return re.fullmatch(r"0*[0-9A-Fa-f]{1,2}", text) is not None


def _is_utf8(text: str) -> bool:
    if len(text) > _MOST_UTF_DIGITS or len(text) % 2 or not re.fullmatch(r"[0-9A-Fa-f]*", text):
        return False
    try:
        decoded = bytes.fromhex(text).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return False
    return len(decoded) >= 1


def rows_of_types(stated: Stated) -> Iterator[tuple[Directive, str]]:
    """`ngx_http_core_type`: any words are types."""
    assert stated.block is not None
    for row in stated.block.directives:
        if row.name == "include" and len(row.args) != 1:
            yield row, 'invalid number of arguments in "include" directive'


BLOCKS = {
    "ngx_http_core_types": rows_of_types,
    "ngx_http_map_block": rows_of_map,
    "ngx_stream_map_block": rows_of_map,
    "ngx_conf_split_clients_block": rows_of_split,
    "ngx_stream_split_clients_block": rows_of_split,
    "ngx_http_split_clients_block": rows_of_split,
    "ngx_http_geo_block": rows_of_geo,
    "ngx_stream_geo_block": rows_of_geo,
    "ngx_http_charset_map_block": rows_of_charset,
}
