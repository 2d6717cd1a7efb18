"""The lookups that replace a map, as the compiler writes them: which leads to which, and the forms of their tables."""

from __future__ import annotations

import re

from nginxopt import lazy
from nginxopt.verify.definitions import MapTable, SideDefinitions, table_of
from nginxopt.verify.symbols import pieces

_NUMBER = lazy.pattern(rb"\^\(\?<(\w+)>\[0-9\]\{(\d+)\}\)\\\|")
_TEXT = lazy.pattern(rb"\(\?s\)\^\[0-9\]\{(\d+)\}\\\|\(\?<(\w+)>\.\*\)\\z")
"""The patterns that capture the number of a numbered answer, and its text."""

WIDTH = 6
"""The length of numbers."""

_IS_LESS = rb"^([0-9]*)(?:%s)" % b"|".join(rb"%d[0-9]*:\1[%d-9]" % (digit, digit + 1) for digit in range(9))
_IS_ALONE = rb"^[0-9]+:\z"
"""The patterns of two numbers with a colon between them: whether the first is less, and whether there is no second."""

IS_SAME = rb"(?s)^(.+)>\1\z"
"""The pattern of two texts with `>` between them: whether they are the same, if they have the same length."""


class NotProvedError(Exception):
    """The lookups have a form that is not known, or may have another value."""


class Lookups:
    """The maps of a side that may replace one map, by name. All methods raise `NotProvedError` for other forms.

    Args:
        side: What the side defines.
        subject: The variable that the replaced map looks up.
        default: The default of the replaced map.
    """

    def __init__(self, side: SideDefinitions, subject: bytes | str, default: bytes) -> None:
        self._side = side
        self._subject = subject
        self._default = default
        self._tables: dict[str, MapTable] = {}
        self._sources: dict[str, tuple[str, ...]] = {}

    def table(self, name: str) -> MapTable:
        """Return the table of a lookup."""
        if name not in self._tables:
            form = self._side.form(name) if self._side.defines(name) else None
            table = None if form is None else table_of(form)
            if table is None:
                raise NotProvedError
            self._tables[name] = table
        return self._tables[name]

    def inner(self, value: bytes) -> str | None:
        """Return the lookup that a value leads to; None for a text."""
        if not value.startswith(b"$"):
            return None
        parts = pieces(value)
        name = parts[0]
        return name if len(parts) == 1 and isinstance(name, str) and self._side.defines(name) else None

    @staticmethod
    def is_for_empty(table: MapTable) -> bool:
        """Return whether a lookup asks only whether something is empty."""
        return len(table.exact) == 1 and b"" in table.exact and not table.rows

    def is_front(self, name: str) -> bool:
        """Return whether a lookup has answers under keys that patterns capture (`fronts`), and not by a tree."""
        source = self.inner(self.table(name).source)
        return source is not None and not self.is_chain(source) and not self.table(source).default

    def key_chains(self, name: str) -> tuple[str, ...]:
        """Return the lookups whose patterns capture the keys of another one."""
        if name in self._sources:
            return self._sources[name]
        found, waiting, seen = [], [self.source(name)], set()
        while waiting:
            here = waiting.pop()
            if here in seen:
                continue
            seen.add(here)
            if self.is_chain(here):
                found.append(here)
                continue
            table = self.table(here)
            for value in (table.default, *table.exact.values()):
                inner = self.inner(value)
                if inner is None:
                    raise NotProvedError
                waiting.append(inner)
            waiting.append(self.source(here))
        self._sources[name] = tuple(found)
        return self._sources[name]

    def source(self, name: str) -> str:
        """Return the lookup whose value another one looks up as a key."""
        table = self.table(name)
        source = self.inner(table.source)
        if source is None or table.rows:
            raise NotProvedError
        return source

    def is_chain(self, name: str) -> bool:
        """Return whether a lookup tries its patterns on the subject itself."""
        return pieces(self.table(name).source) == (self._subject,)

    def at_key(self, name: str, key: bytes) -> bytes:
        """Return the value of a lookup for a key, ignoring case."""
        table = self.table(name)
        return table.exact.get(key.lower(), table.default)

    def least(self, name: str) -> tuple[str, str] | None:
        """Return the lookups of numbered answers of which the one with the smaller number counts; None if this lookup
        is of another form."""
        table = self.table(name)
        lower = self.inner(table.default)
        if lower is None or self.is_chain(lower):
            return None
        numbers = pieces(self.table(lower).source)
        if len(numbers) != 3 or numbers[1] != b":":
            return None
        first, second = (self._divided(each, _NUMBER, b"") for each in (numbers[0], numbers[2]))
        last = self.inner(table.exact[b""])
        tests = self.table(lower).rows
        if first != self.source(name) or [row.pattern for row in tests] != [_IS_LESS, _IS_ALONE]:
            raise NotProvedError
        text = self.inner(tests[0].value)
        is_such = tests[1].value == tests[0].value and self.table(lower).default == table.exact[b""]
        if not is_such or self.table(lower).exact or self._divided(text, _TEXT, b"") != first:
            raise NotProvedError
        if self._divided(last, _TEXT, self._default) != second:
            raise NotProvedError
        return first, second

    def _divided(self, name: bytes | str | None, form: re.Pattern[bytes], default: bytes) -> str:
        """Return the lookup of numbered answers of which another one gives the numbers or the texts."""
        if not isinstance(name, str) or not self._side.defines(name):
            raise NotProvedError
        table = self.table(name)
        source = self.inner(table.source)
        match = form.fullmatch(table.rows[0].pattern) if len(table.rows) == 1 else None
        if source is None or match is None or table.exact or table.default != default:
            raise NotProvedError
        width, group = sorted((match[1], match[2]), key=bytes.isdigit, reverse=True)
        if pieces(table.rows[0].value) != (group.decode().lower(),):
            raise NotProvedError
        if int(width) != WIDTH:
            raise NotProvedError
        return source

    def of_empty(self, name: str) -> bytes:
        """Return the value for the empty subject, for which nginx tries no patterns."""
        table = self.table(name)
        parts = pieces(table.source)
        looked_up = b"".join(piece if isinstance(piece, bytes) else self._empty(piece) for piece in parts)
        is_unlike_itself = looked_up == b">" and [row.pattern for row in table.rows] == [IS_SAME]
        if table.rows and looked_up and not is_unlike_itself:
            raise NotProvedError
        value = table.exact.get(looked_up.lower(), table.default)
        inner = self.inner(value)
        return value if inner is None else self.of_empty(inner)

    def _empty(self, name: str) -> bytes:
        """Return the value of a variable in what is looked up, for the empty subject."""
        if name == self._subject:
            return b""
        return self.of_empty(name)
