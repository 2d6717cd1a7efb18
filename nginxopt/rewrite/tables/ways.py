"""Follows a redirect of a table through the rows that answer a client one after the other."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from nginxopt.rewrite.tables.meaning import Meaning, RowAnswer, RowRequest
from nginxopt.rewrite.tables.paths import read_from
from nginxopt.rewrite.tables.table import REDIRECTS, CannotAnswer, Row

MOST_HOPS = 20
"""After this many redirects, a browser gives up (Fetch Standard, HTTP-redirect fetch)."""


class Way(NamedTuple):
    """The rows that answer a client one after the other, by number (only the first of them), and where the last one
    leads.
    """

    rows: list[int]
    location: bytes
    is_loop: bool

    @property
    def shown(self) -> list[int]:
        """The rows up to the first that answers again."""
        first = next((at for at, row in enumerate(self.rows) if row in self.rows[:at]), len(self.rows))
        return self.rows[: first + 1]


class Ways:
    """The ways through the rows of a table. `sites` are those that its rows name."""

    def __init__(self, meaning: Meaning, sites: set[bytes]) -> None:
        self._meaning = meaning
        self._sites = sites
        self._ends: dict[RowRequest, bytes | None] = {}

    def of(self, number: int, row: Row) -> Way | None:
        """Return where a redirect leads, from its path or the sample of its pattern, if that is a row of the table."""
        if row.status not in REDIRECTS:
            return None
        way = self._follow(number, row.paths[0], row.site, row.target) if row.paths else None
        if way is not None or row.pattern is None or row.pattern.sample is None:
            return way
        asked = RowRequest(row.site, row.pattern.sample, b"")
        # Most lead out of the table, and to try all patterns takes longer.
        alone = _certain(Meaning([(number, row)], in_order=True), asked)
        if alone is None or self._asked(alone.location or b"", row.site) is None:
            return None
        answer = _certain(self._meaning, asked)
        if answer is None or answer.location is None or answer.row != number:
            return None
        return self._follow(number, row.pattern.sample, row.site, answer.location)

    def _follow(self, number: int, path: bytes, site: bytes, location: bytes) -> Way | None:
        """Return the way from a row; None if it is the last that answers."""
        rows, seen = [number], {(number, path)}
        while (asked := self._asked(location, site)) is not None:
            if len(rows) > MOST_HOPS:
                end = self._end(asked)
                return Way(rows, end or b"", is_loop=end is None)
            answer = self._redirect(asked)
            if answer is None:
                break
            rows.append(answer.row)
            if (answer.row, asked.path) in seen:
                return Way(rows, b"", is_loop=True)
            seen.add((answer.row, asked.path))
            site, location = asked.site, answer.location or b""
            if not location:
                break
        return Way(rows, location, is_loop=False) if len(rows) > 1 else None

    def _end(self, start: RowRequest) -> bytes | None:
        """Return where the last redirect after a request leads: empty if it ends in another response, None if never.

        A row that answers a different request each time, such as `/a/*` to `/a/b/:splat`, is assumed to have no end.
        """
        passed: list[RowRequest] = []
        times: Counter[int] = Counter()
        asked: RowRequest | None = start
        end: bytes | None = b""
        while asked is not None:
            if asked in self._ends:
                end = self._ends[asked]
                break
            self._ends[asked] = None  # if it follows itself
            passed.append(asked)
            answer = self._redirect(asked)
            if answer is None:
                break
            end = answer.location or b""
            times[answer.row] += 1
            if times[answer.row] > MOST_HOPS:
                end = None
                break
            asked = self._asked(end, asked.site)
        self._ends.update(dict.fromkeys(passed, end))
        return end

    def _redirect(self, asked: RowRequest) -> RowAnswer | None:
        """Return the response to a request; None for an internal rewrite, and if no row certainly answers."""
        answer = _certain(self._meaning, asked)
        return None if answer is None or answer.status in (0, 200) else answer

    def _asked(self, location: bytes, site: bytes) -> RowRequest | None:
        """Return the request that follows a redirect, if it is one to a site of the table."""
        try:
            asked = read_from(location.partition(b"#")[0].removesuffix(b"?"))
        except CannotAnswer:
            return None
        if asked.site and asked.site not in self._sites:
            return None
        return RowRequest(asked.site or site, asked.path, asked.query or b"")


def _certain(meaning: Meaning, asked: RowRequest) -> RowAnswer | None:
    """Return the response to a request; None if PCRE releases may differ on it."""
    try:
        return meaning.answer(asked)
    except ValueError:
        return None
