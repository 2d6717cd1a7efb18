"""Data flow: which variables a script has set, and which of them something reads later.

Two states are compared by their live parts only (`Live`), as a variable that is set and never read makes no difference.
A variable is not live before a script that certainly sets it first, whichever branches it took (`Assigned`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from nginxopt.records import record
from nginxopt.semantics.site.form import StatementForm
from nginxopt.text import encode
from nginxopt.verify.canonical import variables as spelt
from nginxopt.verify.definitions import SideDefinitions, groups_of
from nginxopt.verify.names import statement_words
from nginxopt.verify.patterns import group_names
from nginxopt.verify.side import VerifiedSide
from nginxopt.verify.symbols import variables, variables_in


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
    """What is read where two servers, one of each side, answer a request.

    Attributes:
        names: The variables that are read.
        everything: Whether something that is not understood may read any variable.
        captures: Whether `$1` and the like are read where they may still come from an earlier pattern.
        kept: Those of `names` whose values count after a script has ended: they are read outside of scripts, or in a
            script that has not set them before.
        shared: What is read outside of servers, such as by maps and upstreams.
    """

    names: frozenset[str] = frozenset()
    everything: bool = False
    captures: bool = False
    kept: frozenset[str] = frozenset()
    shared: Live | None = None

    def reads(self, name: str, *, is_over: bool) -> bool:
        """Return whether a variable is read later. `is_over`: after the end of a script."""
        if self.everything or name in (self.kept if is_over else self.names):
            return True
        return self.shared is not None and self.shared.reads(name, is_over=is_over)


class Liveness:
    """Finds what is read where two servers answer a request, which never leaves its server."""

    def __init__(
        self, sides: tuple[VerifiedSide, VerifiedSide], definitions: tuple[SideDefinitions, SideDefinitions]
    ) -> None:
        self._sides = sides
        self._readings = [_Reading(*each) for each in zip(sides, definitions, strict=True)]

    def of(self, old: int, new: int) -> Live:
        """Return what is read where these servers answer."""
        parts = [
            _Read(reading, [_HTTP, *side.levels_of(server)])
            for reading, side, server in zip(self._readings, self._sides, (old, new), strict=True)
        ]
        shared = self._shared
        everything = shared.everything or any(part.reads_everything for part in parts)
        words = {word for part in parts for word in part.words}
        names = {name for part in parts for name in part.names}
        return Live(
            frozenset(names),
            everything,
            everything or shared.captures or _has_captures(words),
            frozenset(name for part in parts for name in part.kept),
            shared,
        )

    @cached_property
    def _shared(self) -> Live:
        """What is read outside of servers."""
        settings = [list(_settings_outside(side)) for side in self._sides]
        words = {word for side in self._sides for word in _words_of_definitions(side)}.union(*settings)
        everything = any(_is_opaque_outside(side) for side in self._sides)
        kept = set().union(
            *(
                reading.variables(word)
                for reading, stated in zip(self._readings, settings, strict=True)
                for word in stated
            )
        )
        return Live(frozenset(variables_in(words)), everything, everything or _has_captures(words), frozenset(kept))


_DIGITS = frozenset("0123456789")
_HTTP = 0  # the number of the http block


def _has_captures(words: Iterable[str]) -> bool:
    return any(name.isdigit() for name in variables_in(words))


def _is_opaque_outside(side: VerifiedSide) -> bool:
    """Return whether something outside of servers is not understood, and may read any variable."""
    is_computed = any(form["kind"] == "opaque" for form in side.definitions.values())
    return bool(side.form["opaque"]) or is_computed or side.has_code_in_upstreams


_SPLIT = {"fastcgi_script_name", "fastcgi_path_info"}
"""Variables that keep the value for the URI of their first use, until nginx chooses a location again
(`ngx_http_fastcgi_split`)."""


def splitting(side: VerifiedSide, definitions: SideDefinitions) -> tuple[tuple[str, ...], ...]:
    """Return the statements of all scripts if one of them reads a variable that keeps the URI of its first use;
    otherwise nothing. A `return` is left out that does not read one."""
    reading = _Reading(side, definitions)
    levels = range(len(side.form["levels"]))
    statements = [statement for number in levels for statement in side.script(number)]
    if not _SPLIT & reading.variables_in(word for statement in statements for word in _read(statement)):
        return ()
    return tuple(
        (statement["kind"], *(spelt(word, side.taken) for word in (*_read(statement), *statement_words(statement))))
        for statement in statements
        if statement["kind"] != "return" or any(_SPLIT & reading.variables(word) for word in _read(statement))
    )


class _Reading:
    """Finds what the words of a side read, directly and through its maps."""

    def __init__(self, side: VerifiedSide, definitions: SideDefinitions) -> None:
        self.side = side
        self._definitions = definitions

    def variables(self, word: str) -> set[str]:
        """Return the variables that a word reads, directly or not."""
        return self.variables_in((word,))

    def variables_in(self, words: Iterable[str]) -> set[str]:
        """Return the variables that any of the words reads, directly or not."""
        names = variables_in(words)
        defined = filter(self._definitions.defines, names)
        return names.union(*((*self._definitions.bases(name), *self._definitions.inner(name)) for name in defined))

    def unset(self, level: int, assigned: Assigned) -> set[str]:
        """Return the variables that a script may read before it has set them. `assigned` records what it sets."""
        unset: set[str] = set()
        for statement in self.side.script(level):
            for word in _read(statement):
                if "$" in word:
                    unset |= self.variables(word) - assigned.names
            assigned.note(statement)
            if statement["kind"] == "if":
                block = assigned.inside(statement["condition"])
                unset |= self.unset(statement["level"], block)
                assigned.leave(block)
        return unset

    @cached_property
    def outside(self) -> frozenset[str]:
        """The variables that patterns of maps may set while a script runs."""
        groups = (self._definitions.own_groups(name) or () for name in self.side.definitions)
        return frozenset(group for own in groups for group in own)


class _Read:
    """What the blocks of a server read."""

    def __init__(self, reading: _Reading, levels: Sequence[int]) -> None:
        self._reading = reading
        self._side = reading.side
        self._levels = levels
        self._statements = [statement for number in levels for statement in self._side.script(number)]

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of settings and statements, without the targets of rewrites and the names that are set."""
        statements = (each for each in self._statements if each["kind"] != "rewrite")
        return frozenset(self._settings).union(*map(_read, statements))

    @property
    def names(self) -> set[str]:
        """The variables that are read."""
        targets = (each["replacement"] for each in self._statements if each["kind"] == "rewrite")
        return variables_in([*self.words, *targets])

    @property
    def kept(self) -> set[str]:
        """The variables that are read outside of scripts, or in one that has not set them before."""
        kept = set().union(*map(self._reading.variables, self._settings))
        inner = {statement["level"] for statement in self._statements if statement["kind"] == "if"}
        scripts = (number for number in self._levels if number not in inner)
        return kept.union(*(self._reading.unset(number, Assigned(self._reading.outside)) for number in scripts))

    @cached_property
    def _settings(self) -> list[str]:
        """The words of directives outside of scripts."""
        side, found = self._side, list[str]()
        for number in self._levels:
            level = side.level(number)
            for name, stated in level["settings"].items():
                args = (tuple(side.form["directives"][directive]["args"]) for directive in stated or ())
                found += (word for words in args for word in side.filled(number, name, words))
            around = {} if level["parent"] is None else side.others(level["parent"])
            for name, words in side.others(number).items():
                if words is not around.get(name):  # those that are inherited have been read
                    found += (word for directive in words for word in directive)
        return found

    @property
    def reads_everything(self) -> bool:
        """Whether something that is not understood may read any variable."""
        levels = (self._side.level(number) for number in self._levels)
        is_unknown = any(level["opaque"] or level["filters"] for level in levels)
        is_unknown = is_unknown or any(statement["kind"] == "opaque" for statement in self._statements)
        return is_unknown or self._side.has_code_in(self._levels)


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


def _words_of_definitions(side: VerifiedSide) -> Iterator[str]:
    """Yield the texts in maps. A row that reads what its own pattern has captured reads nothing from outside, so these
    names are left out, and so are the numbers of groups.
    """
    for form in side.definitions.values():
        if form["kind"] != "opaque":
            yield form["source"] or ""
            for row in form["rows"]:
                yield from _without_own_groups(row["args"])


def _settings_outside(side: VerifiedSide) -> Iterator[str]:
    """Yield the words of upstreams (`hash $key`) and of zones."""
    for content in side.upstreams.values():
        yield from (word for _, *words in content for word in words)
    yield from (word for zones in side.zones.values() for words in zones.values() for word in words)


def _without_own_groups(args: Sequence[str]) -> Iterator[str]:
    """Yield what nginx evaluates of a row, which is not its key."""
    groups = {*groups_of(args[0]), *_DIGITS} if args and args[0].startswith("~") else set()
    for word in args[1:]:
        if groups and "$" in word:
            read = variables(encode(word)) - groups
            yield "".join(f"${{{name}}}" for name in sorted(read))
        else:
            yield word
