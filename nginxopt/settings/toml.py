"""TOML values with their positions, for errors with file, line and column.

`tomllib` reports values without positions, so a position is searched only for an error message, using `tomllib` again:
a part of the text that parses by itself is a statement, and of the places in it where a name could be, the right one is
that whose change changes the value.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any, NamedTuple

from nginxopt.errors import InputError
from nginxopt.records import record
from nginxopt.text import Source, Span

Path = tuple[str | int, ...]
"""The path of a value: keys, and indexes of arrays."""

_MARK = "\ue000"
"""A name that does not occur in settings: a private-use character."""


@record(eq=True, slots=False)
class TomlValue:
    """A value of a TOML file, with its path."""

    source: Source
    data: Any
    path: Path = ()

    def error(self, message: str, *, expected: str | None = None, hint: str | None = None) -> InputError:
        """Return an error at the key or array item."""
        return InputError(message, source=self.source, span=_place(self), expected=expected, hint=hint)

    def table(self) -> dict[str, TomlValue]:
        """Return the values of a table by key. Raise `InputError` if this is not a table."""
        self._require(dict, "a table")
        return {key: TomlValue(self.source, value, (*self.path, key)) for key, value in self.data.items()}

    def strings(self) -> tuple[TomlValue, ...]:
        """Return the items of an array of strings. Raise `InputError` if this is not one."""
        self._require(list, 'an array of strings, such as ["a", "b"]')
        items = tuple(TomlValue(self.source, item, (*self.path, number)) for number, item in enumerate(self.data))
        for item in items:
            item.text()
        return items

    def text(self) -> str:
        """Return a string. Raise `InputError` if this is not one, is empty, or has a NUL, which no path can have."""
        self._require(str, 'a string, such as "a"')
        if not self.data:
            raise self.error(f"{self._name} is empty")
        if "\0" in self.data:
            raise self.error(f"{self._name} has a NUL")
        text: str = self.data
        return text

    @property
    def _name(self) -> str:
        keys = [key for key in self.path if isinstance(key, str)]
        return f'"{keys[-1]}"' if keys else "the file"

    def _require(self, kind: type, expected: str) -> None:
        if not isinstance(self.data, kind):
            subject = f"an item of {self._name}" if isinstance(self.path[-1], int) else self._name
            raise self.error(f"{subject} has a value of the wrong type", expected=expected)


def read(source: Source) -> TomlValue:
    """Parse a TOML file. Raise `InputError` at the position of invalid TOML."""
    try:
        text = source.data.decode()
    except UnicodeDecodeError as error:
        span = Span(error.start, error.end)
        raise InputError("invalid UTF-8", source=source, span=span) from None
    try:
        return TomlValue(source, tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise _syntax_error(source, text, str(error)) from None
    except RecursionError:
        raise _syntax_error(source, text, "Nested too deeply (at line 1, column 1)") from None
    except ValueError:  # the limit of int()
        raise _syntax_error(source, text, "Integer with too many digits (at line 1, column 1)") from None


def _syntax_error(source: Source, text: str, description: str) -> InputError:
    """Convert an error of `tomllib`: a message, then `(at line 3, column 5)` or `(at end of document)`."""
    message, _, place = description.rpartition(" (at ")
    numbers = [int(number) for number in re.findall(r"\d+", place)]
    at = len(text.rstrip())
    if numbers:
        lines = text.split("\n")
        at = sum(len(line) + 1 for line in lines[: numbers[0] - 1]) + numbers[1] - 1
    return InputError(f"invalid TOML: {message}", source=source, span=_span(text, at, min(at + 1, len(text))))


def _span(text: str, start: int, end: int) -> Span:
    """Return the byte span of the characters from `start` to `end`."""
    before = len(text[:start].encode())
    return Span(before, before + len(text[start:end].encode()))


class _Statement(NamedTuple):
    """A statement of a TOML file: `[a table]` or `key = value`.

    `start` is its offset in characters; `table` is the path of the table that contains it, () for a header.
    """

    text: str
    start: int
    data: dict[str, Any]
    table: tuple[str, ...]


def _statements(text: str) -> Iterator[_Statement]:
    """Yield the statements of a valid TOML file.

    A line end inside a statement is within brackets or quotes, so no shorter part of the statement parses by itself.
    """
    table: tuple[str, ...] = ()
    start = 0
    for line in re.finditer(r"\n|\Z", text):
        part = text[start : line.end()]
        try:
            data = tomllib.loads(part)
        except tomllib.TOMLDecodeError:
            continue
        if part.lstrip().startswith("["):
            table = ()
        yield _Statement(part, start, data, table)
        if part.lstrip().startswith("["):
            table = _only(data)
        start = line.end()


def _only(data: Any) -> tuple[str, ...]:
    """Return the path in the data of a header."""
    while isinstance(data, list):  # [[a]]
        data = data[0]
    return tuple(name for key, inner in data.items() for name in (key, *_only(inner)))


def _at(data: Any, path: Path) -> Any:
    """Return the value at `path`, None if there is none: TOML has no null."""
    for key in path:
        if isinstance(data, dict):
            data = data.get(key)
        elif isinstance(data, list) and isinstance(key, int):
            data = data[key]
        else:
            return None
    return data


def _place(value: TomlValue) -> Span:
    """Return the span of the last key of a path, or of the array item at its end."""
    text = value.source.data.decode()
    for statement in _statements(text):
        depth = len(statement.table)
        path = value.path[depth:]
        if value.path[:depth] == statement.table and path and _at(statement.data, path) is not None:
            first = re.search(r"\S.*", statement.text)
            start, end = _written(statement, path) or (first.span() if first else (0, 0))
            return _span(text, statement.start + start, statement.start + end)
    return Span(0, 0)


def _written(statement: _Statement, path: Path) -> tuple[int, int] | None:
    """Return the place of the last part of `path` in a statement; None if it is written with escapes."""
    value = _at(statement.data, path)
    name = re.escape(str(path[-1] if isinstance(path[-1], str) else value))
    for match in re.finditer(f"\"{name}\"|'{name}'|(?<![\\w-]){name}(?![\\w-])", statement.text):
        changed = f'{statement.text[: match.start()]}"{_MARK}"{statement.text[match.end() :]}'
        try:
            data = tomllib.loads(changed)
        except tomllib.TOMLDecodeError:
            continue
        marked = (*path[:-1], _MARK) if isinstance(path[-1], str) else path
        if _at(data, marked) == (value if isinstance(path[-1], str) else _MARK):
            return match.span()
    return None
