"""The meaning of a table: for each request, the row that answers it, and the response."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from nginxopt import _native
from nginxopt.rewrite.tables.patterns import captures, for_plain_paths
from nginxopt.rewrite.tables.table import Arguments, Pattern, Row

_RAW = frozenset(b"!$") | frozenset(range(0x26, 0x7F))
_RAW_IN_QUERY = _RAW - frozenset(b"&+;<>?\\^`{|}")
"""Bytes that stay after a `?`: a rewrite escapes the others, and decodes only up to it (`ngx_unescape_uri`)."""


class RowRequest(NamedTuple):
    """A request: its scheme and host (empty for any), the decoded path, and the arguments."""

    site: bytes
    path: bytes
    args: bytes


class RowAnswer(NamedTuple):
    """A response: the number of the row, the status, and the `Location` (of a rewrite the path); None if unknown."""

    row: int
    status: int
    location: bytes | None


class Meaning:
    """The rows of a table, indexed by the requests that they answer.

    If `in_order`, the first matching row answers; otherwise the one with more conditions: arguments, then a site.
    """

    def __init__(self, rows: Iterable[tuple[int, Row]], *, in_order: bool) -> None:
        self._in_order = in_order
        self._rows: dict[int, Row] = {}
        self._exact: dict[tuple[bytes, bytes, bytes | None], int] = {}
        self._patterns: dict[bytes, _Patterns] = {}
        for number, row in rows:
            self.add(number, row)

    def add(self, number: int, row: Row) -> None:
        """Add a row after all others."""
        self._rows[number] = row
        for path in row.paths:
            self._exact.setdefault((row.site, path, row.query), number)
        if row.pattern is not None:
            self._patterns.setdefault(row.site, _Patterns()).add(number, row.pattern)

    def row(self, asked: RowRequest) -> int | None:
        """Return the number of the row that answers a request."""
        site, path, args = asked
        exact = self._exact
        keys = ((site, path, args), (b"", path, args), (site, path, None), (b"", path, None))
        numbers = [number for key in keys if (number := exact.get(key)) is not None]
        if not self._in_order:
            return numbers[0] if numbers else None
        numbers += self.patterns(site, path, min(numbers, default=None))
        return min(numbers, default=None)

    def patterns(self, site: bytes, path: bytes, before: int | None = None) -> list[int]:
        """Return the first rows, of each kind, whose pattern answers a path; those `before` a row, if one is given."""
        return [number for patterns in self._of(site) for number in patterns.matching(path, before)]

    def covering(self, site: bytes, prefix: bytes) -> int | None:
        """Return the first row that answers all paths of a site below a prefix, if one row does."""
        numbers = [patterns.covering(prefix) for patterns in self._of(site)]
        return min((number for number in numbers if number is not None), default=None)

    def _of(self, site: bytes) -> list[_Patterns]:
        """Return the patterns that a request to a site is compared with."""
        return [self._patterns[name] for name in dict.fromkeys((site, b"")) if name in self._patterns]

    def answer(self, asked: RowRequest) -> RowAnswer | None:
        """Return the response to a request; None if no row answers it.

        `ValueError` where PCRE releases differ on whether a pattern matches.
        """
        number = self.row(asked)
        if number is None:
            return None
        row = self._rows[number]
        is_exact = asked.path in row.paths
        target = row.target if is_exact or row.pattern is None else _substituted(row, asked.path)
        location = None if target is None else with_arguments(target, row.arguments, asked.args)
        return RowAnswer(number, row.status, target if row.status == 200 else location)


class _Patterns:
    """The patterns of rows, by the numbers of the rows."""

    def __init__(self) -> None:
        self._below: dict[bytes, int] = {}
        self._others: list[tuple[int, bytes]] = []
        self._compiled = _Compiled()
        self._for_plain_paths = _Compiled()

    def add(self, number: int, pattern: Pattern) -> None:
        """Add the pattern of a row after all others."""
        if pattern.below is not None:
            self._below.setdefault(pattern.below, number)
        else:
            self._others.append((number, pattern.regex))
            self._compiled.add(pattern.regex)
            self._for_plain_paths.add(for_plain_paths(pattern.regex))

    def matching(self, path: bytes, before: int | None) -> list[int]:
        """Return the first rows, of each kind, whose pattern matches a path; those `before` a row, if one is given."""
        numbers: list[int] = []
        if self._below and b"?" not in path:
            at = path.find(b"/")
            while at >= 0:
                number = self._below.get(path[: at + 1])
                if number is not None:
                    numbers.append(number)
                at = path.find(b"/", at + 1)
        if self._others:
            try:
                first = (self._compiled if b"?" in path else self._for_plain_paths).first(path)
            except ValueError:
                return numbers + self._one_by_one(path, min(numbers, default=before))
            if first is not None:
                numbers.append(self._others[first][0])
        return numbers

    def _one_by_one(self, path: bytes, before: int | None) -> list[int]:
        """Return the first row whose pattern matches; `ValueError` if that is not certain of one up to it."""
        for number, regex in self._others:
            if before is not None and number > before:
                break
            if _native.Patterns([regex]).first(path) is not None:
                return [number]
        return []

    def covering(self, prefix: bytes) -> int | None:
        """Return the first row that answers all paths below a prefix, if one row does."""
        at = prefix.find(b"/")
        while at >= 0:
            number = self._below.get(prefix[: at + 1])
            if number is not None:
                return number
            at = prefix.find(b"/", at + 1)
        return None


class _Compiled:
    """Patterns in compiled blocks, each larger than the next, so that adding a pattern compiles few of them again."""

    def __init__(self) -> None:
        self._blocks: list[tuple[list[bytes], _native.Patterns]] = []
        self._new: list[bytes] = []

    def add(self, regex: bytes) -> None:
        """Add a pattern after all others."""
        self._new.append(regex)

    def first(self, path: bytes) -> int | None:
        """Return the number of the first pattern that matches. `ValueError` if PCRE releases may differ on it or one
        before.
        """
        if self._new:
            self._compile()
        start = 0
        for regexes, compiled in self._blocks:
            number = compiled.first(path)
            if number is not None:
                return start + number
            start += len(regexes)
        return None

    def _compile(self) -> None:
        regexes, self._new = self._new, []
        while self._blocks and len(self._blocks[-1][0]) <= len(regexes):
            regexes = self._blocks.pop()[0] + regexes
        self._blocks.append((regexes, _native.Patterns(regexes)))


def with_arguments(target: bytes, arguments: Arguments, args: bytes) -> bytes:
    """Return a target with the arguments of a request."""
    if arguments == "drop" or not args:
        return target
    if arguments == "append":
        return target + b"?" + args
    head, mark, fragment = target.partition(b"#")
    path, _, query = head.partition(b"?")
    return path + b"?" + (query + b"&" if query else b"") + args + mark + fragment


def _substituted(row: Row, path: bytes) -> bytes | None:
    """Return the target of a row whose pattern answers a path; None if the captures are not known."""
    pattern = row.pattern
    assert pattern is not None
    if not pattern.has_captures:
        return row.target
    captured = pattern.captured if path == pattern.sample else captures(pattern.regex, path)
    if captured is None:
        return None
    target = b""
    for piece in pattern.pieces:
        raw = _RAW_IN_QUERY if b"?" in target else _RAW
        target += piece if isinstance(piece, bytes) else _encoded(b"".join(captured[piece - 1 : piece]), raw)
    return target


def _encoded(text: bytes, raw: frozenset[int]) -> bytes:
    """Return a part of a path as a URI has it."""
    return b"".join(bytes([byte]) if byte in raw else b"%%%02X" % byte for byte in text)
