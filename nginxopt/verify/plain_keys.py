"""Lists of plain keys before other lookups, as the compiler writes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

from nginxopt._native import Patterns
from nginxopt.verify.definitions import MapTable
from nginxopt.verify.lookups import IS_SAME, Lookups, NotProvedError
from nginxopt.verify.symbols import pieces

_CAPITALS = b"[A-Z]"


class PlainKeys:
    """The lists of plain keys that a map is replaced by; their answers are looked up in the map by PCRE2.

    Args:
        lookups: What the side defines.
        table: The map.
        subject: The variable that it looks up.
        spend: Counts steps.
    """

    def __init__(self, lookups: Lookups, table: MapTable, subject: bytes | str, spend: Callable[[int], None]) -> None:
        self._lookups = lookups
        self._table = table
        self._subject = subject
        self._spend = spend
        self._settled: dict[str, tuple[bytes, frozenset[bytes]]] = {}

    def behind(self, name: str) -> tuple[bytes, frozenset[bytes]]:
        """Return where subjects go on that are no plain key of a list, and those with an answer, which is checked."""
        if name not in self._settled:
            table = self._lookups.table(name)
            keys = self._lookups.table(self._lookups.source(name))
            if keys.rows or keys.default or pieces(keys.source) != (self._subject,):
                raise NotProvedError
            behind = table.exact[b""]
            other = self._lookups.inner(table.default)
            if other is None or self._lookups.inner(behind) is None:
                raise NotProvedError
            check = self._check_small if self._lookups.is_chain(other) else self._check_same
            decided = frozenset(check(self._lookups.table(other), keys, self._lookups.source(name), behind))
            self._settled[name] = behind, decided
        return self._settled[name]

    def _check_small(self, table: MapTable, keys: MapTable, name: str, behind: bytes) -> Iterator[bytes]:
        """Yield keys that are looked up only for subjects without capitals; check their answers."""
        rows = [(row.pattern, row.value) for row in table.rows]
        if table.exact or rows != [(_CAPITALS, behind)] or self._lookups.inner(table.default) != name:
            raise NotProvedError
        for key, value in keys.exact.items():
            if value:
                self._check_answer(key, value)
                yield key

    def _check_same(self, table: MapTable, keys: MapTable, name: str, behind: bytes) -> Iterator[bytes]:
        """Yield keys that are compared with the subject; check their answers."""
        rows = table.rows
        is_such = pieces(table.source) == (name, b">", self._subject) and table.default == behind
        if not is_such or table.exact or len(rows) != 1 or rows[0].pattern != IS_SAME:
            raise NotProvedError
        inner = self._lookups.inner(rows[0].value)
        answers = None if inner is None else self._lookups.table(inner)
        if answers is None or answers.rows or self._lookups.inner(answers.source) != name:
            raise NotProvedError
        for key, text in keys.exact.items():
            if b"$" in text or text.lower() != key:
                raise NotProvedError
            self._check_answer(text, answers.exact.get(key, answers.default))
            yield text

    def _check_answer(self, subject: bytes, value: bytes) -> None:
        """Check that the map gives a value for a subject."""
        self._spend(1)
        try:
            row = self._patterns.first(subject)
        except ValueError:
            raise NotProvedError from None
        own = self._table.default if row is None else self._table.rows[row].value
        if self._table.exact.get(subject.lower(), own) != value or b"$" in value or not subject:
            raise NotProvedError

    @cached_property
    def _patterns(self) -> Patterns:
        try:
            return Patterns([row.pattern for row in self._table.rows], to_match=True)
        except ValueError:
            raise NotProvedError from None
