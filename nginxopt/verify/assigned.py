"""Which variables a script has certainly set when it reaches a statement, whichever branches it took."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from nginxopt.semantics.site.form import StatementForm
from nginxopt.verify.patterns import group_names


@dataclass(slots=True)
class Assigned:
    """What a script has set so far.

    The pattern of an `if` sets all of its groups, or none. So if one of them was the empty string before the `if`, and
    is not empty behind it, the pattern has set the others, too:

        set $kind "";
        if ($found ~ "^(?<kind>[0-9]+) (?<target>.*)$") { }
        if ($kind = 1) { rewrite ^ $target; }

    Attributes:
        outside: Variables that something else may set while the script runs, such as a pattern in a map.
        names: The variables that are set.
        empty: Those of them that are the empty string.
        beside: Variables that were the empty string before a pattern might set them, with all groups of the pattern.
        changed: All that the script may have changed.
    """

    outside: frozenset[str]
    names: set[str] = field(default_factory=set)
    empty: set[str] = field(default_factory=set)
    beside: dict[str, tuple[str, ...]] = field(default_factory=dict)
    changed: set[str] = field(default_factory=set)

    def note(self, statement: StatementForm) -> None:
        """Note what a statement sets: a `set`, or the pattern of a `rewrite` or an `if`."""
        match statement["kind"]:
            case "set":
                name = _name(statement["variable"])
                self._change([name])
                self.names.add(name)
                if not statement["value"] and name not in self.outside:
                    self.empty.add(name)
            case "rewrite":
                self._change(group_names(statement["pattern"].encode("latin-1")))
            case "if":
                groups = _groups(statement["condition"])
                were_empty = self.empty.intersection(groups)
                self._change(groups)
                self.beside.update(dict.fromkeys(were_empty, groups))

    def inside(self, condition: Sequence[str]) -> Assigned:
        """Return what is set at the beginning of the block of an `if`."""
        match condition:
            case [_, "~" | "~*", _]:
                more = _groups(condition)
            case [value]:
                more = self.beside.get(_name(value), ())
            case [value, "=", text] if text and "$" not in text:
                more = self.beside.get(_name(value), ())
            case _:
                more = ()
        return Assigned(self.outside, self.names | {*more}, set(self.empty), dict(self.beside))

    def leave(self, block: Assigned) -> None:
        """Note that the script may have run the block of an `if`, with what was set there."""
        self._change(block.changed)

    def _change(self, names: Iterable[str]) -> None:
        """Forget what is known of the values of variables."""
        for name in names:
            self.changed.add(name)
            self.empty.discard(name)
            self.beside.pop(name, None)


def _name(word: str) -> str:
    return word.removeprefix("$").lower()


def _groups(condition: Sequence[str]) -> tuple[str, ...]:
    """Return the groups of the pattern of an `if`."""
    match condition:
        case [_, "~" | "~*" | "!~" | "!~*", pattern]:
            return group_names(pattern.encode("latin-1"))
    return ()
