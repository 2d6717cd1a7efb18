"""Data flow: which variables a script has set, and which of them something reads later.

Two states are compared by their live parts only (`Live`), as a variable that is set and never read makes no difference.
A variable is not live before a script that certainly sets it first, whichever branches it took (`Assigned`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from nginxopt.records import record
from nginxopt.semantics.site.form import StatementForm
from nginxopt.text import encode
from nginxopt.verify.definitions import SideDefinitions, groups_of
from nginxopt.verify.names import statement_words
from nginxopt.verify.patterns import group_names
from nginxopt.verify.side import VerifiedSide
from nginxopt.verify.symbols import variables


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


@record(eq=True)
class Live:
    """What is read anywhere on either side.

    Attributes:
        names: The variables that are read.
        everything: Whether something that is not understood may read any variable.
        captures: Whether `$1` and the like are read where they may still come from an earlier pattern.
        kept: Those of `names` whose values count after a script has ended: they are read outside of scripts, or in a
            script that has not set them before.
    """

    names: frozenset[str]
    everything: bool
    captures: bool
    kept: frozenset[str]

    def reads(self, name: str, *, is_over: bool) -> bool:
        """Return whether a variable is read later. `is_over`: after the end of a script."""
        return self.everything or name in (self.kept if is_over else self.names)

    @classmethod
    def of(cls, sides: tuple[VerifiedSide, VerifiedSide], definitions: tuple[SideDefinitions, SideDefinitions]) -> Live:
        """Return what is read in these sides."""
        words = {word for side in sides for word in _words(side)}
        rewrites = {word for side in sides for word in _replacements(side)}
        names = set().union(*(variables(encode(word)) for word in words | rewrites if "$" in word))
        digits = set().union(*(variables(encode(word)) for word in words if "$" in word))
        everything = any(level["opaque"] or level["filters"] for side in sides for level in side.form["levels"])
        everything = everything or any(side.has_opaque or side.has_code for side in sides)
        everything = everything or any(form["kind"] == "opaque" for side in sides for form in side.definitions.values())
        has_captures = everything or any(name.isdigit() for name in digits)
        kept = set().union(*(_kept(side, defined) for side, defined in zip(sides, definitions, strict=True)))
        return cls(frozenset(names), everything, has_captures, frozenset(kept))


_SPLIT = {"fastcgi_script_name", "fastcgi_path_info"}
"""Variables that keep the value for the URI of their first use, until nginx chooses a location again
(`ngx_http_fastcgi_split`)."""


def splitting(side: VerifiedSide, definitions: SideDefinitions) -> tuple[tuple[str, ...], ...]:
    """Return the statements of all scripts if one of them reads a variable that keeps the URI of its first use;
    otherwise nothing."""
    reading = _Reading(side, definitions)
    statements = list(_statements(side))
    if not any(_SPLIT & reading.variables(word) for statement in statements for word in _read(statement)):
        return ()
    return tuple((statement["kind"], *_read(statement), *statement_words(statement)) for statement in statements)


def _kept(side: VerifiedSide, definitions: SideDefinitions) -> set[str]:
    """Return the variables that are read outside of scripts, or in one that has not set them before."""
    reading = _Reading(side, definitions)
    kept = set().union(*map(reading.variables, _settings(side)))
    inner = {statement["level"] for statement in _statements(side) if statement["kind"] == "if"}
    outside = frozenset(group for name in side.definitions for group in definitions.own_groups(name) or ())
    for number in range(len(side.form["levels"])):
        if number not in inner:
            kept |= reading.unset(number, Assigned(outside))
    return kept


class _Reading:
    """Finds what the words of a side read, directly and through its maps."""

    def __init__(self, side: VerifiedSide, definitions: SideDefinitions) -> None:
        self._side = side
        self._definitions = definitions

    def variables(self, word: str) -> set[str]:
        """Return the variables that a word reads, directly or not."""
        names = variables(encode(word)) if "$" in word else set()
        defined = filter(self._definitions.defines, names)
        return names.union(*((*self._definitions.bases(name), *self._definitions.inner(name)) for name in defined))

    def unset(self, level: int, assigned: Assigned) -> set[str]:
        """Return the variables that a script may read before it has set them. `assigned` records what it sets."""
        unset: set[str] = set()
        for statement in self._side.script(level):
            unset |= set().union(*map(self.variables, _read(statement))) - assigned.names
            assigned.note(statement)
            if statement["kind"] == "if":
                block = assigned.inside(statement["condition"])
                unset |= self.unset(statement["level"], block)
                assigned.leave(block)
        return unset


def _read(statement: StatementForm) -> Sequence[str]:
    """Return the words of a statement whose variables it reads."""
    match statement["kind"]:
        case "set":
            return [statement["value"]]
        case "if":
            return statement["condition"]
        case "return":
            return statement["args"]
        case "rewrite":
            return [statement["replacement"]]
    return []


def _words(side: VerifiedSide) -> Iterator[str]:
    """Yield the words of settings, maps and statements, without the targets of rewrites and the names that are set.

    A row of a map that reads what its own pattern has captured reads nothing from outside, so these names are left out.
    """
    yield from _settings(side)
    for form in side.definitions.values():
        if form["kind"] != "opaque":
            yield form["source"] or ""
            for row in form["rows"]:
                yield from _without_own_groups(row["args"])
    for statement in _statements(side):
        if statement["kind"] != "rewrite":
            yield from _read(statement)


def _settings(side: VerifiedSide) -> Iterator[str]:
    """Yield the words of directives outside of scripts, those of upstreams as well: `hash $key`."""
    for directive in side.form["directives"]:
        yield from directive["args"]
    for content in side.upstreams.values():
        yield from (word for _, *words in content for word in words)
    yield from (word for zones in side.zones.values() for words in zones.values() for word in words)
    for number, level in enumerate(side.form["levels"]):
        around = {} if level["parent"] is None else side.others(level["parent"])
        for name, words in side.others(number).items():
            if words is not around.get(name):  # those that are inherited have been read
                yield from (word for directive in words for word in directive)


def _without_own_groups(args: Sequence[str]) -> Iterator[str]:
    groups = set(groups_of(args[0])) if args else set()
    for word in args:
        if groups and "$" in word:
            read = variables(encode(word)) - groups
            yield "".join(f"${{{name}}}" for name in sorted(read))
        else:
            yield word


def _statements(side: VerifiedSide) -> Iterator[StatementForm]:
    for number in range(len(side.form["levels"])):
        yield from side.script(number)


def _replacements(side: VerifiedSide) -> Iterator[str]:
    return (statement["replacement"] for statement in _statements(side) if statement["kind"] == "rewrite")
