"""Finds faults between the rows of a table: duplicates, conflicts, rows that never answer, chains and loops.

Rows are reviewed in order. A row keeps the paths and the pattern that no earlier row answers. A row that keeps nothing
is dropped with a finding; in a table without order, it is rejected as a conflict if the earlier row answers
differently. Rows that would answer requests of rejected rows are skipped, too (`nginxopt.rewrite.tables.skipped`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from nginxopt.records import record
from nginxopt.rewrite.tables.meaning import Meaning
from nginxopt.rewrite.tables.paths import LONGEST
from nginxopt.rewrite.tables.skipped import overlapping
from nginxopt.rewrite.tables.table import Pattern, Rejected, Row, Table
from nginxopt.rewrite.tables.ways import Ways
from nginxopt.text import Span

_LONG = 150
"""Texts of up to this number of bytes fit into a parameter if they have no dollar sign; counting each takes long."""
_LONGEST_NAME = 50
"""The longest name of a variable with its `${}`: the stem has at most 40 characters (`nginxopt.rewrite.kinds.kind`)."""
_ARGUMENTS = _LONGEST_NAME + len("$args")
"""The most bytes that are added to a target for the arguments of a request."""


TableKind = Literal["duplicate", "unreachable", "chain"]


@record(eq=True)
class RowFinding:
    """A finding about a row: it is a duplicate, never answers, or leads to a row that redirects again.

    `other` is the row that answers first, or the one that its target leads to. `target` is where a chain ends.
    """

    kind: TableKind
    span: Span
    other: Span
    target: bytes = b""


@record(eq=True)
class CheckedTable:
    """A table after the check of its rows.

    `rows` are those that answer requests, with their numbers in the table and the paths and patterns that no earlier
    row answers. `rejected` are those that cannot be answered exactly, in the order of the text. `skipped` are the
    numbers of rejected rows whose requests are known; no other row answers these requests.
    """

    table: Table
    rows: tuple[tuple[int, Row], ...]
    findings: tuple[RowFinding, ...]
    rejected: tuple[Rejected, ...]
    skipped: frozenset[int]

    @property
    def faulty(self) -> tuple[Rejected, ...]:
        """The rejected rows without those that are skipped only because of another."""
        return tuple(row for row in self.rejected if row.reason != "skipped")

    @property
    def meaning(self) -> Meaning:
        """The responses of the rows."""
        return Meaning(self.rows, in_order=self.table.in_order)


def check(table: Table) -> CheckedTable:
    """Return the rows that answer, and the findings about the others.

    Linear in the rows, except for patterns without a known beginning: each of them may be tried on all paths.
    """
    review = _Review(table)
    for number, row in enumerate(table.rows):
        review.take(number, row)
    review.follow()
    review.skip_overlapping()
    review.name_dropped()
    kept = tuple((number, row) for number, row in review.rows if number not in review.skipped)
    rejected = sorted((*table.rejected, *review.rejected), key=lambda row: row.span)
    findings = sorted(review.findings, key=lambda finding: finding.span)
    return CheckedTable(table, kept, tuple(findings), tuple(rejected), frozenset(review.skipped))


class _Review:
    """The rows of a table, reviewed in order."""

    def __init__(self, table: Table) -> None:
        self.rows: list[tuple[int, Row]] = []
        self.findings: list[RowFinding] = []
        self.rejected: list[Rejected] = []
        self.skipped = {rejected.row for rejected in table.rejected if rejected.row is not None}
        self._causes: dict[int, int] = {}
        self._dropped: list[tuple[int, int]] = []
        self._table = table
        self._meaning = Meaning((), in_order=table.in_order)
        self._exact: dict[tuple[bytes, bytes, bytes | None], int] = {}
        self._regexes: dict[tuple[bytes, bytes], int] = {}

    def take(self, number: int, row: Row) -> None:
        """Keep what a row answers that no earlier row does, or note why it answers nothing."""
        if _is_too_long(row):
            message = (
                f"with variables and escapes, this may be longer than the {LONGEST:,} bytes of a parameter of nginx"
            )
            self._reject(number, "too-long", message)
        try:
            blockers = [self._blocker(row, path) for path in row.paths]
        except ValueError:
            message = "PCRE releases differ on whether an earlier pattern answers this row"
            self._reject(number, "pattern", message, "put the row before the pattern")
            self.rows.append((number, row))
            return
        paths = tuple(path for path, by in zip(row.paths, blockers, strict=True) if by is None)
        covered = self._covering(row.site, row.pattern) if row.pattern is not None else None
        pattern = row.pattern if covered is None else None
        if not paths and pattern is None:
            by = next(by for by in (*blockers, covered) if by is not None)
            self._drop(number, by)
            return
        left = row if len(paths) == len(row.paths) and covered is None else replace(row, paths=paths, pattern=pattern)
        self.rows.append((number, left))
        self._meaning.add(number, left)
        for path in paths:
            self._exact[row.site, path, row.query] = number
        if pattern is not None:
            self._regexes.setdefault((row.site, pattern.regex), number)

    def follow(self) -> None:
        """Record the chains and the loops."""
        ways = Ways(self._meaning, {row.site for row in self._table.rows})
        for number, row in self.rows:
            way = None if number in self.skipped else ways.of(number, row)
            if way is None:
                continue
            if way.is_loop:
                lines = " -> ".join(str(self._table.line(self._table.rows[at].start)) for at in way.shown)
                self._reject(number, "loop", "this redirect never ends", f"lines {lines}")
            else:
                other = self._table.rows[way.rows[1]].span
                self.findings.append(RowFinding("chain", row.span, other, way.location))

    def skip_overlapping(self) -> None:
        """Reject the rows that would answer requests of rejected ones."""
        for number, other in overlapping(self.rows, self.skipped, in_order=self._table.in_order):
            self._skip_with(number, other)

    def name_dropped(self) -> None:
        """Record why rows answer nothing: an earlier row answers their requests, or would if it were not skipped."""
        for number, other in self._dropped:
            row, by = self._table.rows[number], self._table.rows[other]
            if other in self.skipped:
                self._skip_with(number, other)
            else:
                kind: TableKind = "duplicate" if _answer(row) == _answer(by) else "unreachable"
                self.findings.append(RowFinding(kind, row.span, by.span))

    def _skip_with(self, number: int, other: int) -> None:
        """Reject a row as it would answer requests of another; name the one that has to be corrected."""
        other = self._causes.setdefault(number, self._causes.get(other, other))
        line = self._table.line(self._table.rows[other].start)
        message = f"it would answer requests of line {line}, which is skipped"
        self._reject(number, "skipped", message, f"correct or remove line {line}")

    def _reject(self, number: int, reason: str, message: str, hint: str | None = None) -> None:
        if number not in self.skipped:
            self.rejected.append(Rejected(self._table.rows[number].span, reason, message, hint))
            self.skipped.add(number)

    def _blocker(self, row: Row, path: bytes) -> int | None:
        """Return the row that answers a path of a row before it does."""
        same = self._exact.get((row.site, path, row.query))
        if not self._table.in_order:
            return same
        numbers = [number for number in (same, self._exact.get((b"", path, None))) if number is not None]
        return min((*numbers, *self._meaning.patterns(row.site, path)), default=None)

    def _covering(self, site: bytes, pattern: Pattern) -> int | None:
        """Return the row that answers all that a pattern of a site does before it does, if it is one row."""
        numbers = [self._regexes.get((of_site, pattern.regex)) for of_site in (site, b"")]
        if pattern.below is not None:
            numbers.append(self._meaning.covering(site, pattern.below))
        return min((number for number in numbers if number is not None), default=None)

    def _drop(self, number: int, other: int) -> None:
        """Note that a row answers nothing, as another row does before it; without order, they must not differ."""
        row, by = self._table.rows[number], self._table.rows[other]
        if number in self.skipped:
            return
        if self._table.in_order or other in self.skipped or _answer(row) == _answer(by):
            self._dropped.append((number, other))
        else:
            line = self._table.line(by.start)
            message = f"line {line} answers the same requests in another way"
            self._reject(number, "conflict", message, "remove one of the two rows")


def _answer(row: Row) -> tuple[object, ...]:
    """Return the response of a row to its requests."""
    return row.status, row.target, row.arguments, row.pattern and row.pattern.pieces


def _is_too_long(row: Row) -> bool:
    """Return whether a parameter may be longer than nginx accepts, with all that is written for special characters."""
    keys = [row.site + path + b"\n" * (row.query is not None) + (row.query or b"") for path in row.paths]
    targets = [row.target]
    if row.pattern is not None:
        keys.append(row.pattern.regex)
        targets.append(b"".join(piece if isinstance(piece, bytes) else b"$1" for piece in row.pattern.pieces))
    return any(_is_longer(key, LONGEST) for key in keys) or any(_is_longer(to, LONGEST - _ARGUMENTS) for to in targets)


def _is_longer(text: bytes, longest: int) -> bool:
    return (len(text) > _LONG or b"$" in text) and _written_length(text) > longest


def _written_length(text: bytes) -> int:
    """Return at most how long a text becomes in quotes, with the longest name for each dollar sign."""
    escapes = sum(text.count(character) for character in (b"\\", b'"', b"\n", b"\r", b"\t"))
    return len(text) + escapes + _LONGEST_NAME * text.count(b"$") + 2
