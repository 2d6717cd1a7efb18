"""Variables that a configuration defines outside of scripts (`map`, `geo` and the like), and the rows of maps.

`SideDefinitions` answers what a lookup reads, sets and keeps, and gives equal definitions of both sides equal numbers.
`Tables` has the rows of those maps that the executor can divide requests by.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from functools import cache, cached_property

from nginxopt.budget import meter
from nginxopt.records import record
from nginxopt.verify.canonical import content
from nginxopt.verify.influences import Reads, reads_as_definition
from nginxopt.verify.patterns import WordIndex, escaped, group_names, matches
from nginxopt.verify.reading import Definition
from nginxopt.verify.side import VerifiedSide
from nginxopt.verify.symbols import (
    Capture,
    Derived,
    Interner,
    KnownBytes,
    Match,
    Symbol,
    captured,
    join,
    pieces,
    variables,
)

_LASTING = {"host", "hostname", "https", "request_uri", "scheme", "server_addr", "server_name", "server_port"}
"""The variables whose value does not change while nginx handles a request."""

_MANY_ROWS = 16
"""The number of rows from which on a map is proved row by row; fewer are divided as fast."""

_DIGITS = frozenset("0123456789")
"""The names of captures."""


@record(eq=True)
class _Reading:
    """What a lookup may read and set; `SideDefinitions` has a method for each attribute."""

    inner: tuple[str, ...]
    bases: tuple[str, ...]
    groups: tuple[str, ...]
    is_kept: bool
    is_volatile: bool
    is_opaque: bool
    matches: bool


class SideDefinitions:
    """The variables that a side defines. `keys` gives equal definitions equal numbers, whatever the variables are
    called."""

    def __init__(self, side: VerifiedSide, keys: Interner) -> None:
        self._side = side
        self._keys = keys
        self._numbers: dict[str, Hashable] = {}
        self._used: dict[str, frozenset[str]] = {}
        self._own_groups: dict[str, tuple[str, ...] | None] = {}
        self._steps = meter("steps")
        self._readings: dict[str, _Reading] = {}
        self._entangled: dict[str, bool] = {}
        self._some: dict[tuple[str, str], tuple[str, ...]] = {}

    def form(self, name: str) -> Definition:
        """Return the definition of a variable."""
        return self._side.definitions[name]

    def defines(self, name: str) -> bool:
        """Return whether the configuration defines a variable."""
        return name in self._side.definitions

    def number(self, name: str) -> Hashable:
        """Return a number; variables with equal definitions have equal numbers."""
        if name not in self._numbers:
            waiting = [(name, self._begin(name))]
            while waiting:  # no recursion, as chains of maps may be long
                top, inner = waiting[-1]
                used = next((each for each in inner if each not in self._numbers), None)
                if used is not None:
                    waiting.append((used, self._begin(used)))
                else:
                    self._numbers[top] = self._numbered(top)
                    waiting.pop()
        return self._numbers[name]

    def _begin(self, name: str) -> Iterator[str]:
        self._numbers[name] = ("itself", name)  # the number that a map reads which is looked up through itself
        return iter(self._defined_in(name))

    def _defined_in(self, name: str) -> list[str]:
        return sorted(filter(self.defines, self._named(name)))

    def _numbered(self, name: str) -> Hashable:
        inner = tuple((used, self._numbers[used]) for used in self._defined_in(name))
        everything = self.everything if self._is_code(name) else None
        return self._keys.number((*self._content(name), inner, everything))

    def _content(self, name: str) -> tuple[Hashable, ...]:
        return content(self.form(name), self._side.taken)

    @cached_property
    def everything(self) -> Hashable:
        """All definitions, as code may read them: equal if all variables are defined alike under the same names."""
        return self._side.is_renamed, frozenset(self.contents.items())

    @cached_property
    def contents(self) -> dict[str, Hashable]:
        """The content of each definition."""
        return {name: self._content(name) for name in self._side.definitions}

    @cached_property
    def code(self) -> dict[str, Reads]:
        """The directives by which code computes variables, with what it may read."""
        directives = {form["content"][0] for form in self._side.definitions.values() if form["kind"] == "opaque"}
        return {name: read for name in directives if (read := reads_as_definition(name))}

    def _is_code(self, name: str) -> bool:
        form = self.form(name)
        return form["kind"] == "opaque" and form["content"][0] in self.code

    def _named(self, name: str) -> frozenset[str]:
        """Return the variables that a definition names."""
        form = self.form(name)
        if form["kind"] != "opaque":
            return self.used(name)
        words: set[str] = set().union(*(variables(word.encode("latin-1")) for word in form["content"]))
        return frozenset(words - {name})

    def used(self, name: str) -> frozenset[str]:
        """Return the variables that a definition reads, without those that a pattern of it has just set."""
        if name not in self._used:
            self._used[name] = frozenset(self.sources(name) | self._in_values(name))
        return self._used[name]

    def sources(self, name: str) -> set[str]:
        """Return the variables that are read in every lookup."""
        form = self.form(name)
        if form["kind"] == "opaque":
            return set()
        return variables((form["source"] if form["source"] is not None else "$remote_addr").encode("latin-1"))

    def _in_values(self, name: str) -> set[str]:
        return set().union(*(_read(key, value) for key, value in self._rows(name)))

    def _rows(self, name: str) -> Iterator[tuple[str, str]]:
        form = self.form(name)
        for row in form["rows"] if form["kind"] != "opaque" else ():
            if len(row["args"]) == 2:
                yield row["args"][0], row["args"][1]

    def has_many_rows(self, name: str) -> bool:
        """Return whether a variable is a long map that reads no other one."""
        form = self.form(name)
        return form["kind"] == "map" and len(form["rows"]) >= _MANY_ROWS and not self.inner(name)

    def inner(self, name: str) -> tuple[str, ...]:
        """Return the defined variables that a lookup may read, directly or not, without itself."""
        return self._reading(name).inner

    def inner_kept(self, name: str) -> tuple[str, ...]:
        """Return those of `inner` that are kept."""
        return self._those("kept", name, self.is_kept)

    def inner_matching(self, name: str) -> tuple[str, ...]:
        """Return those of `inner` that may set captures, and that nginx looks up only once."""
        return self._those("matching", name, lambda each: self.matches(each) and not self.is_volatile(each))

    def inner_entangled(self, name: str) -> tuple[str, ...]:
        """Return those of `inner` that are entangled."""
        return self._those("entangled", name, self.is_entangled)

    def _those(self, what: str, name: str, is_such: Callable[[str], bool]) -> tuple[str, ...]:
        """Return those of `inner` for which `is_such` is true. Cached, as `inner` may be long and is needed at each
        lookup.
        """
        if (what, name) not in self._some:
            self._some[what, name] = tuple(filter(is_such, self.inner(name)))
        return self._some[what, name]

    def bases(self, name: str) -> tuple[str, ...]:
        """Return the variables and captures that a value depends on in the end, sorted by name."""
        return self._reading(name).bases

    def groups(self, name: str) -> tuple[str, ...]:
        """Return the variables that the patterns of a lookup may set."""
        return self._reading(name).groups

    def is_kept(self, name: str) -> bool:
        """Return whether a value may be out of date: nginx looks it up once, and what it depends on may change after
        that."""
        return self._reading(name).is_kept

    def is_volatile(self, name: str) -> bool:
        """Return whether nginx looks a value up each time it is read (`volatile`)."""
        return self._reading(name).is_volatile

    def is_opaque(self, name: str) -> bool:
        """Return whether a lookup may reach something that is not understood, and that may read and keep anything."""
        return self._reading(name).is_opaque

    def state_number(self, state: Hashable) -> int:
        """Return a number that is equal for equal states, on both sides."""
        return self._keys.number(("state", state))

    def matches(self, name: str) -> bool:
        """Return whether a lookup may set captures."""
        return self._reading(name).matches

    def is_entangled(self, name: str) -> bool:
        """Return whether a lookup may read what a lookup inside it has captured, or may read anything."""
        if name not in self._entangled:
            self._entangled[name] = self.is_opaque(name) or self._reads_captured(name)
        return self._entangled[name]

    def _reads_captured(self, name: str) -> bool:
        """Return whether a text of a map reads captures that another lookup may overwrite first.

        That lookup is one beside it in the same text, or one in what the map looks up. A row may read its own captures.
        """
        source = self.sources(name)
        if self._disturbs_itself(source):
            return True
        for key, value in self._rows(name):
            read = variables(value.encode("latin-1"))
            own = {*groups_of(key), *_DIGITS} if key.startswith("~") else set()
            if self._disturbs_itself(read) or any(self._disturbs(each, read, own) for each in source):
                return True
        return False

    def _disturbs_itself(self, read: set[str]) -> bool:
        """Return whether one of these variables may overwrite captures that the text with all of them reads."""
        return len(read) > 1 and any(self._disturbs(each, read, set()) for each in read)

    def _disturbs(self, name: str, read: set[str], own: set[str]) -> bool:
        """Return whether a lookup may overwrite what some variables depend on. A row sets its `own` captures later."""
        if not self.defines(name) or not self.matches(name):
            return False
        depends = set().union(*(self.bases(each) if self.defines(each) else {each} for each in read)) - own
        return not depends.isdisjoint({*self.groups(name), *_DIGITS})

    def _reading(self, name: str) -> _Reading:
        if name not in self._readings:
            inner = self._inner(name)
            self._steps.spend(1 + len(inner))  # for each map of a chain, the cost grows with the maps behind it
            used: set[str] = set().union(*(self.used(each) for each in (name, *inner)))
            matched = [own for each in (name, *inner) if (own := self.own_groups(each)) is not None]
            form = self.form(name)
            bases = tuple(sorted(each for each in used if not self.defines(each) or self._may_be_set(each, name)))
            is_volatile = form["kind"] != "opaque" and any(row["args"][:1] == ["volatile"] for row in form["rows"])
            is_opaque = any(self.form(each)["kind"] == "opaque" for each in (name, *inner))
            self._readings[name] = _Reading(
                inner,
                bases,
                tuple(dict.fromkeys(group for own in matched for group in own)),
                not is_volatile and (is_opaque or not all(map(self._lasts, bases))),
                is_volatile,
                is_opaque,
                bool(matched) or is_opaque,
            )
        return self._readings[name]

    def is_assigned(self, name: str) -> bool:
        """Return whether a script or a pattern may set a variable."""
        return name in self._assigned

    def _may_be_set(self, name: str, reader: str) -> bool:
        """Return whether a script may also set a defined variable that `reader` looks up, and that does not look up
        `reader` itself."""
        return name in self._assigned and name != reader and reader not in self._inner(name)

    def _lasts(self, name: str) -> bool:
        """Return whether a variable has the same value throughout a request."""
        return (name in _LASTING or name.startswith(("http_", "cookie_", "ssl_"))) and name not in self._assigned

    @cached_property
    def _assigned(self) -> frozenset[str]:
        """The variables that scripts and patterns set, those of maps and names of servers, too."""
        return self._side.variables_set | self._side.named_groups.keys()

    def _inner(self, name: str) -> tuple[str, ...]:
        known = {name}
        waiting = [name]
        while waiting:
            new = set(filter(self.defines, self.used(waiting.pop()))) - known
            known |= new
            waiting += new
        return tuple(sorted(known - {name}))

    def own_groups(self, name: str) -> tuple[str, ...] | None:
        """Return the variables that the patterns of a map itself may set; None if it has no patterns."""
        if name not in self._own_groups:
            keys = self._pattern_keys(name)
            self._own_groups[name] = tuple(group for key in keys for group in groups_of(key)) if keys else None
        return self._own_groups[name]

    def _pattern_keys(self, name: str) -> list[str]:
        return [key for key, _ in self._rows(name) if key.startswith("~")] if self.form(name)["kind"] == "map" else []

    def patterns(self, name: str) -> Iterator[bytes]:
        """Yield the patterns of the rows of a map."""
        return (pattern_of_key(key.encode("latin-1")) for key in self._pattern_keys(name))


def groups_of(key: str) -> tuple[str, ...]:
    """Return the variables that the pattern of a row sets; none for a plain key."""
    return group_names(key.encode("latin-1")) if key.startswith("~") else ()


@cache
def _read(key: str, value: str) -> frozenset[str]:
    """Return the variables that the value of a row reads from outside."""
    if "$" not in value:
        return frozenset()
    read = variables(value.encode("latin-1")) - set(groups_of(key))
    return frozenset(name for name in read if not (name.isdigit() and key.startswith("~")))


@record(eq=True)
class PatternRow:
    """A row with a pattern, in PCRE's syntax."""

    pattern: bytes
    value: bytes


class MapTable:
    """A map without `hostnames`.

    Attributes:
        source: What is looked up, as written.
        exact: The values of plain keys, which are in lower case.
        rows: The patterns in their order; they are not tried on the empty string (`ngx_http_map_find`).
        default: The value otherwise.
    """

    def __init__(self, source: bytes, exact: dict[bytes, bytes], rows: tuple[PatternRow, ...], default: bytes) -> None:
        self.source = source
        self.exact = exact
        self.rows = rows
        self.default = default

    @cached_property
    def keys(self) -> WordIndex:
        """The plain keys."""
        return WordIndex(self.exact)


def key_pattern(key: bytes) -> bytes:
    """Return a pattern that matches a key in any case of letters."""
    flag = b"(?i)" if key.upper() != key else b""
    return flag + b"^" + escaped(key) + rb"\z"


def pattern_of_key(key: bytes) -> bytes:
    """Return the pattern of a row whose key begins with `~`."""
    return b"(?i)" + key[2:] if key.startswith(b"~*") else key[1:]


def table_of(form: Definition) -> MapTable | None:
    """Return the table of a map; None if its rows are not divided: host names, `geo`, `split_clients`."""
    if form["kind"] != "map":
        return None
    exact: dict[bytes, bytes] = {}
    rows: list[PatternRow] = []
    default = b""
    for stated in form["rows"]:
        words = [word.encode("latin-1") for word in stated["args"]]
        if words == [b"hostnames"]:
            return None
        if len(words) != 2:
            continue
        key, value = words
        if key == b"default":
            default = value
        elif key.startswith(b"~"):
            rows.append(PatternRow(pattern_of_key(key), value))
        else:
            exact[key.removeprefix(b"\\").lower()] = value
    return MapTable(form["source"].encode("latin-1"), exact, tuple(rows), default)


class Tables:
    """The tables of both sides, by the names of the terms of their lookups (`key`).

    `proves_same` says whether a map of the first side certainly has the value of another one of the second.
    """

    def __init__(
        self,
        sides: tuple[SideDefinitions, SideDefinitions],
        proves_same: Callable[[SideDefinitions, SideDefinitions, str], bool],
    ) -> None:
        self._sides = sides
        self._proves_same = proves_same
        self._same: dict[str, SideDefinitions | None] = {}
        self._defined: dict[str, tuple[SideDefinitions, str]] = {}
        self._known: dict[str, MapTable | None] = {}

    def key(self, definitions: SideDefinitions, name: str) -> str:
        """Return the name of the term for a defined variable.

        It is the same for equal definitions that depend on the same variables. If one side defines a variable that the
        other side sets in a script, lookups that read it are different terms.
        """
        kept = "kept" if definitions.is_kept(name) else "new"
        key = f"defined {definitions.number(name)} {kept} {','.join(definitions.bases(name))}"
        self._defined.setdefault(key, (definitions, name))
        return key

    def key_of_value(self, definitions: SideDefinitions, name: str) -> str:
        """Return the name of the term for the value of a defined variable.

        It is that of the variable on the other side, if that is a long map with certainly the same value. What both
        lookups capture is not the same.
        """
        if name not in self._same:
            self._same[name] = self._plain(name)
        return self.key(self._same[name] or definitions, name)

    def _plain(self, name: str) -> SideDefinitions | None:
        """Return the side on which a variable is a long map, if it is lookups with the same value on the other side."""
        for one, other in (self._sides, self._sides[::-1]):
            if not (one.defines(name) and other.defines(name)) or one.number(name) == other.number(name):
                return None
            if one.has_many_rows(name) and self._proves_same(one, other, name):
                return one
        return None

    def table(self, symbol: Derived) -> MapTable | None:
        """Return the table in which a term is looked up; None if it is not a lookup, or requests cannot be divided by
        the rows."""
        if symbol.name not in self._defined:
            return None
        if symbol.name not in self._known:
            definitions, name = self._defined[symbol.name]
            used = set().union(*(definitions.used(each) for each in (name, *definitions.inner(name))))
            is_known = name not in used and not definitions.is_entangled(name)
            self._known[symbol.name] = table_of(definitions.form(name)) if is_known else None
        return self._known[symbol.name]

    def is_kept(self, symbol: Derived) -> bool:
        """Return whether the value may be that of an earlier lookup."""
        definitions, name = self._defined[symbol.name]
        return definitions.is_kept(name)

    def source(self, symbol: Derived, table: MapTable) -> Symbol:
        """Return what is looked up."""
        return self._evaluated(symbol, table.source, None)

    def value(self, symbol: Derived, text: bytes, match: Match | None) -> Symbol:
        """Return the value of a row, whose pattern matched."""
        return self._evaluated(symbol, text, match)

    def found(self, symbol: Derived, table: MapTable, source: KnownBytes) -> Symbol:
        """Return the result of the lookup of a known value."""
        value = table.exact.get(source.value.lower())
        if value is not None:
            return self.value(symbol, value, None)
        for row in table.rows if source.value else ():
            answer = matches(row.pattern, source.value)
            if answer is None:
                return Derived(f"{symbol.name} of", (source, *symbol.sources))  # PCRE gives up
            if answer:
                return self.value(symbol, row.value, Match(source, row.pattern))
        return self.value(symbol, table.default, None)

    def now(self, symbol: Symbol) -> Symbol:
        """Return the value of a lookup of a known text, unless it may be that of an earlier one; else the symbol."""
        table = self.table(symbol) if isinstance(symbol, Derived) else None
        if table is None:
            return symbol
        assert isinstance(symbol, Derived)
        source = self.source(symbol, table)
        if isinstance(source, KnownBytes) and not self.is_kept(symbol):
            return self.found(symbol, table, source)
        return symbol

    def _evaluated(self, symbol: Derived, text: bytes, match: Match | None) -> Symbol:
        if b"$" not in text:
            return KnownBytes(text)
        definitions, name = self._defined[symbol.name]
        known = dict(zip(definitions.bases(name), symbol.sources, strict=True))
        groups = () if match is None or match.pattern is None else group_names(match.pattern)

        def base(name: str) -> Symbol:
            if match is not None and (name.isdigit() or name in groups):
                return captured(Capture(match, name, "map"))
            return known[name]

        parts: list[Symbol] = []
        for piece in pieces(text):
            if isinstance(piece, bytes):
                parts.append(KnownBytes(piece))
            elif definitions.defines(piece) and piece not in known and piece not in groups:
                key = self.key_of_value(definitions, piece)
                parts.append(Derived(key, tuple(map(base, definitions.bases(piece)))))
            else:
                parts.append(base(piece))
        return join(parts)
