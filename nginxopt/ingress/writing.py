"""Writes directives: words in quotes, lines with the indentation of their blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from nginxopt import budget

_INDENT = "    "


def quoted(text: str) -> str:
    """Return a word in quotes. Variables in it stay variables."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


class EmittedLines:
    """The lines of a configuration. All that add to them raise `budget.ExceededError` for more than a result has."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._work = budget.Meter("result-bytes")
        self._depth = 0

    def add(self, *statements: str) -> None:
        """Add directives, each with its `;`, or comments."""
        self._work.spend(sum(map(len, statements)))
        self._lines += [f"{_INDENT * self._depth}{statement}" for statement in statements]

    def settings(self, pairs: Iterable[tuple[str, object]]) -> None:
        """Add a directive for each pair of a name and a value, without those whose value is empty."""
        self.add(*(f"{name} {value};" for name, value in pairs if value not in ("", None)))

    def text(self, snippet: str) -> None:
        """Add what somebody wrote, line by line."""
        self.add(*(line.rstrip() for line in snippet.strip("\n").split("\n") if line.strip()))

    @contextmanager
    def block(self, opener: str) -> Iterator[None]:
        """Put what is added into a block."""
        self.add(f"{opener} {{")
        self._depth += 1
        yield
        self._depth -= 1
        self.add("}")

    def gap(self) -> None:
        """Add an empty line, unless there is one."""
        if self._lines and self._lines[-1]:
            self._lines.append("")

    def render(self) -> str:
        """Return the text."""
        return "\n".join(self._lines) + "\n"
