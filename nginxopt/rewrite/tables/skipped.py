"""Finds rows that would answer requests of skipped rows.

The table defines an answer for these requests that nginx cannot give, so no other row may answer them. An `if` cannot
exclude single requests from a row. So such a row is skipped, too, until the user corrects or removes the first one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from nginxopt import lazy
from nginxopt.rewrite.tables.patterns import for_plain_paths, may_match
from nginxopt.rewrite.tables.table import Pattern, Row

Numbered = tuple[int, Row]

_HEAD = lazy.pattern(rb"(?:\(\?s\))?\^((?:(?:[^\\^$.\[|()?*+{]|\\[^A-Za-z0-9\n])(?![?*{]))*)")
"""The literal characters at the start of a pattern that are not optional."""


def overlapping(rows: Iterable[Numbered], skipped: Collection[int], *, in_order: bool) -> Iterator[tuple[int, int]]:
    """Yield the number of each row that may answer a request of a skipped row, and the number of the skipped row.

    `in_order`: the first matching row answers; otherwise the row with more conditions. Linear in the number of rows,
    except for patterns: each is compared with the skipped rows before it.
    """
    requests = _Requests()
    for number, row in rows if in_order else sorted(rows, key=_precedence):
        other = number if number in skipped else requests.shared(row)
        if other is None:
            continue
        if other != number:
            yield number, other
        requests.add(number, row)


def _precedence(numbered: Numbered) -> tuple[bool, bool]:
    """Return the sort key for tables without order: first rows with arguments, then rows with a site."""
    _, row = numbered
    return row.query is None, not row.site


class _Requests:
    """The requests of skipped rows. Patterns of rows that are not skipped apply to all sites."""

    def __init__(self) -> None:
        self._by_path: dict[bytes, list[Numbered]] = {}
        self._patterns: list[tuple[int, bytes, Pattern]] = []

    def add(self, number: int, row: Row) -> None:
        for path in row.paths:
            self._by_path.setdefault(path, []).append((number, row))
        if row.pattern is not None:
            self._patterns.append((number, row.site, row.pattern))

    def shared(self, row: Row) -> int | None:
        """Return the number of a skipped row whose requests a later row may answer; None if there is none."""
        for path in row.paths:
            for number, skipped in self._by_path.get(path, ()):
                if _overlap(skipped, row):
                    return number
            for number, site, pattern in self._patterns:
                # Other skipped patterns answer all requests for the paths that they match, before this row.
                if site and not row.site and may_match(pattern, path):
                    return number
        return None if row.pattern is None else self._matched(row.pattern)

    def _matched(self, pattern: Pattern) -> int | None:
        """Return the number of a skipped row whose requests a pattern may match; None if there is none."""
        for path, rows in self._by_path.items():
            if may_match(pattern, path):
                return rows[0][0]
        return next((number for number, _, skipped in self._patterns if _may_overlap(skipped, pattern)), None)


def _overlap(row: Row, other: Row) -> bool:
    """Return whether two rows with the same path have a request in common."""
    same_site = row.site == other.site or not row.site or not other.site
    return same_site and (row.query == other.query or row.query is None or other.query is None)


def _may_overlap(pattern: Pattern, other: Pattern) -> bool:
    """Return whether two patterns may match the same path, judging by the literal text at their start."""
    (head, is_whole), (other_head, is_other_whole) = _head(pattern), _head(other)
    if is_whole or is_other_whole:
        return may_match(other, head) if is_whole else may_match(pattern, other_head)
    return head.startswith(other_head) or other_head.startswith(head)


def _head(pattern: Pattern) -> tuple[bytes, bool]:
    """Return a text with which all paths begin that a pattern matches, and whether it is all of each."""
    if pattern.below is not None:
        return pattern.below, False
    regex = for_plain_paths(pattern.regex)
    match = None if b"|" in regex else _HEAD.match(regex)
    if match is None:
        return b"", False
    return re.sub(rb"\\(.)", rb"\1", match[1]), regex[match.end() :] == rb"\z"
