"""The symbolic state of a request, and the value of a text in it.

A state is what a script has changed so far, as terms. `Values` evaluates variables and texts to terms, as far as the
state and the configuration decide them.

An evaluation may change the state: nginx keeps the value of a map once it has looked it up, and the patterns of a map
set captures. Besides, it evaluates each text twice, for the length and for the bytes, so that a lookup in the first
pass may change what the second one reads. Where a value depends on such a history, the name of its term says so:
`x after KEY` and `x within KEY` are other terms than `x`, and equal only to terms with the same history.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

from nginxopt.records import record
from nginxopt.verify.dataflow import Live
from nginxopt.verify.definitions import Tables
from nginxopt.verify.influences import SETTINGS, SHOWS_READING, keeps_first
from nginxopt.verify.program import Compiler, Operation
from nginxopt.verify.side import VerifiedSide
from nginxopt.verify.symbols import (
    ARGS,
    CUT,
    EMPTY,
    LIMIT_RATE,
    PERHAPS,
    URI,
    Capture,
    Derived,
    KnownBytes,
    Match,
    Symbol,
    Variable,
    captured,
    join,
    may_capture,
    pieces,
    variables,
)

START_URI = Variable(URI)
START_ARGS = Variable(ARGS)

LOOKED_UP = "/looked-up"
"""In a key of `State.cached`, stands between the name of a map and the named groups of its patterns. Such a key records
that the map was looked up, so that nginx does not try its patterns again."""

BEFORE = Match(None, None)
"""The match before the start of the comparison."""


class TooMuchError(Exception):
    """Too much differs for the work that is allowed: the reason, as a phrase."""


@record(eq=True)
class State:
    """The state of a request.

    Attributes:
        uri: `$uri`.
        args: `$args`.
        values: The values of variables that were set, and of named captures, by name.
        cached: The values of maps that were looked up, by their variables; nginx keeps them. A name with a
            space stands for what an operation may have looked up.
        captures: Where `$1` comes from; None after a pattern that did not match, or has no groups.
        is_changed: Whether the URI was changed, so that it is not passed on as the client sent it. Here and below, a
            text is an unknown condition: equal texts are both true or both false.
        is_set: Whether `$args` were set, so that the URI is not passed on as the client sent it, either.
        is_rewritten: Whether a location is chosen again behind the script (`r->uri_changed`).
        is_stopped: Whether `break` cancelled that, so that the URI may not begin with the name of the location
            (`r->valid_location`).
        was_matched: Whether a rewrite of the script matched. From then on, nginx escapes `$1` in another way.
        level: The block whose settings are in force.
        handler: The directive whose handler answers: the last of the blocks that were entered
            (`ngx_http_update_location_config`); None for files.
        entered: What nginx looked at in the locations on the way, before their scripts (`Compiler.entering`), and the
            texts at which it may have ended the request (`CUT`).
        passed: How many operations were passed over whose effect is unknown. Names of unknown values end in it, as the
            same operation may stand twice in a script.
        choices: How many times a location was chosen again, which nginx counts up to ten (`r->uri_changes`).
        epoch: A suffix of the names of variables that are read from here on. It is new after each operation that is not
            understood, as that may have changed all variables.
    """

    level: int
    uri: Symbol = START_URI
    args: Symbol = START_ARGS
    values: Mapping[str, Symbol] | None = None
    cached: Mapping[str, Symbol] | None = None
    captures: Match | None = BEFORE
    is_changed: bool | str = False
    is_set: bool | str = False
    is_rewritten: bool | str = False
    is_stopped: bool | str = False
    was_matched: bool | str = False
    handler: str | None = None
    entered: frozenset[tuple[str, Hashable]] = frozenset()
    passed: int = 0
    choices: int = 0
    epoch: str = ""

    def with_value(self, name: str, value: Symbol) -> State:
        """Return the state with a variable set."""
        if name == ARGS:
            return replace(self, args=value, is_set=True)
        if name == LIMIT_RATE:  # nginx reads a size, and keeps the old value if the text is not one
            value = Derived(name, (value, (self.values or {}).get(name, Variable(name))))
        return replace(self, values={**(self.values or {}), name: value})

    def with_match(self, match: Match, names: tuple[str, ...]) -> State:
        """Return the state after a pattern with these named groups matched."""
        named: dict[str, Symbol] = {name: captured(Capture(match, name, "name")) for name in names}
        for name in named.keys() & {ARGS, LIMIT_RATE}:  # some readers get the group, others nginx's own variable
            named[name] = Derived(f"{name} or a group", (named[name], self.args))
        captures = match if match.pattern is None or may_capture(match.pattern) else None
        return replace(self, captures=captures, values={**(self.values or {}), **named} if named else self.values)

    def without_match(self) -> State:
        """Return the state after a pattern did not match."""
        return self if self.captures is None else replace(self, captures=None)

    def stopped(self) -> State:
        """Return the state after `break` (`ngx_http_script_break_code`)."""
        return replace(self, is_stopped=_either(self.is_stopped, self.is_rewritten), is_rewritten=False)

    def at(self, level: int, handler: str | None) -> State:
        """Return the state with the settings of another block, and its handler if it has one."""
        return replace(self, level=level, handler=handler or self.handler)

    def capture(self, group: str, use: str) -> Symbol:
        """Return the value of `$1` and the like."""
        if self.captures is None:
            return EMPTY
        if self.was_matched:
            use += " after a match" if self.was_matched is True else f" {self.was_matched}"
        return captured(Capture(self.captures, group, use))

    def key(self, live: Live, *, is_over: bool) -> tuple[object, ...]:
        """Return what may still be read of the state: from states with equal keys, requests go on alike under equal
        settings.

        `is_over`: whether the script has ended, after which less is read.
        """
        values = ((name, value) for name, value in (self.values or {}).items() if live.reads(name, is_over=is_over))
        cached = (self.cached or {}).items()
        tables = ((name, value) for name, value in cached if _counts(name, live, is_over=is_over))
        return (
            self.uri,
            self.args,
            frozenset(values),
            frozenset(tables),
            (self.captures, self.was_matched) if live.captures else None,
            self.is_changed,
            self.is_set,
            self.is_rewritten,
            self.is_stopped,
            self.handler,
            self.entered,
            self.epoch,
        )


def _counts(name: str, live: Live, *, is_over: bool) -> bool:
    """Return whether anything later reads what `State.cached` keeps under a name."""
    _, is_mark, groups = name.partition(LOOKED_UP)
    if is_mark:
        return live.captures or any(live.reads(group, is_over=is_over) for group in groups.split(",") if group)
    return " " in name or live.reads(name, is_over=is_over)


def _either(one: bool | str, other: bool | str) -> bool | str:
    """Return whether at least one of two conditions holds, as far as that is known."""
    if one is True or other is True:
        return True
    return f"{one} or {other}" if one and other and one != other else one or other


_LookedUp = dict[str, tuple[Symbol | None, Symbol]]
"""The variables that nginx has looked up as it evaluates a text, by name: what a script may have set them to before
(None if nothing), and their values."""

_CERTAINLY = KnownBytes(b"certainly")


def _is_perhaps(value: Symbol) -> bool:
    return isinstance(value, Derived) and value.name == PERHAPS


def _cut(first: Symbol, second: Symbol, value: Symbol, state: State) -> tuple[Symbol, State]:
    """Return the value of a text that nginx evaluated twice, for its length and for its bytes, and the state then.

    If the two evaluations differ, nginx cuts the text to the length of the first, or ends the request.
    """
    if first == second:
        return value, state
    length = Derived(CUT, (first, second))
    return Derived(CUT, (length, value)), replace(state, entered=state.entered | {(CUT, length)})


def _names(text: bytes) -> list[str]:
    """Return the variables that a text reads, in their order."""
    return [piece for piece in pieces(text) if isinstance(piece, str)]


class Values:
    """Evaluates variables and texts in one server of a side."""

    def __init__(
        self, side: VerifiedSide, server: int, compiler: Compiler, tables: Tables, known: Mapping[str, str]
    ) -> None:
        self._known = {name: KnownBytes(value.encode("latin-1")) for name, value in known.items()}
        self._side = side
        self._compiler = compiler
        self._server_name: Symbol = (
            KnownBytes(side.server_name(server).encode("latin-1"))
            if side.knows_server_name(server)
            else Variable("server_name")
        )
        self._definitions = compiler.definitions
        self._tables = tables

    def handler(self, level: int) -> str | None:
        """Return the directive that makes a block handle requests."""
        return self._side.handler(level)

    def entering(self, level: int, *, is_internal: bool) -> frozenset[tuple[str, Hashable]]:
        """Return what nginx looks at as a block is entered; see `Compiler.entering`."""
        return self._compiler.entering(level, is_internal=is_internal)

    def value(self, text: bytes, state: State, use: str) -> tuple[Symbol, State]:
        """Return the value of a text with variables, and the state after nginx has evaluated it, with its lookups.

        nginx evaluates a text twice, for its length and for its bytes. The second pass looks up no map again, but it
        sees the captures that lookups of the first pass have set (`ngx_http_complex_value`).
        """
        looked_up: _LookedUp = {}
        names = _names(text)
        if len(names) < 2 or not any(map(self._matches, names)):
            return self._read(text, state, use, looked_up)
        first, state = self._read(text, state, use, looked_up)
        value, state = self._read(text, state, use, looked_up)
        return _cut(first, value, value, state)

    def value_in_script(self, text: bytes, state: State, use: str) -> tuple[Symbol, State]:
        """Return the value of a text in `set` or `rewrite`, and the state after it was read.

        Both passes look up volatile maps (`ngx_http_script_complex_value_code`).
        """
        (value,), state = self.values_in_script(((text, use),), state)
        return value, state

    def values_in_script(self, parts: Sequence[tuple[bytes, str]], state: State) -> tuple[tuple[Symbol, ...], State]:
        """Return the values of the parts of a text as in `value_in_script`, and the state then. Each part has its use.

        The first pass evaluates all parts before the second pass writes the first one.
        """
        names = [name for text, _ in parts for name in _names(text)]
        is_again = any(map(self._matches, names)) and (len(names) > 1 or not self._is_same_again(names[0]))
        first, state = self._each(parts, state) if is_again else ((), state)
        values, state = self._each(parts, state)
        if not is_again:
            return values, state
        cut = [_cut(join(first), join(values), value, state) for value in values]
        return tuple(value for value, _ in cut), cut[0][1]

    def _each(self, parts: Sequence[tuple[bytes, str]], state: State) -> tuple[tuple[Symbol, ...], State]:
        """Return the values of parts that are read one after another."""
        values: list[Symbol] = []
        for text, use in parts:
            value, state = self._read(text, state, use, None)
            values.append(value)
        return tuple(values), state

    def _matches(self, name: str) -> bool:
        return name in self._side.definitions and self._definitions.matches(name)

    def _is_same_again(self, name: str) -> bool:
        """Return whether a second lookup has the result of the first, as it reads no capture that the first may set."""
        groups = self._definitions.groups(name)
        return not any(base.isdigit() or base in groups for base in self._definitions.bases(name))

    def _read(self, text: bytes, state: State, use: str, looked_up: _LookedUp | None) -> tuple[Symbol, State]:
        """Return the value of a text and the state then. A map in `looked_up` is not looked up again in this pass."""
        parts: list[Symbol] = []
        for piece in pieces(text):
            if isinstance(piece, bytes):
                parts.append(KnownBytes(piece))
                continue
            known = (state.values or {}).get(piece)
            is_kept = looked_up is not None and self._is_defined(piece, known)
            if looked_up is not None and is_kept and piece in looked_up and looked_up[piece][0] == known:
                parts.append(looked_up[piece][1])
                continue
            part, state = self._variable(piece, state, use)
            if looked_up is not None and is_kept:
                part = self._within(piece, part, looked_up)
                looked_up[piece] = (known, part)
            parts.append(part)
        return join(parts), state

    def _is_defined(self, name: str, known: Symbol | None) -> bool:
        """Return whether the value of a variable may come from a lookup: no script has certainly set it to `known`."""
        return name in self._side.definitions and (known is None or _is_perhaps(known))

    def _within(self, name: str, value: Symbol, looked_up: _LookedUp) -> Symbol:
        """Return the value of a variable in a text. A map earlier in the text may have read the variable with other
        captures, and then nginx keeps the value of that time."""
        readers = [
            (reader, known)
            for reader, (_, known) in looked_up.items()
            if name in self._definitions.inner(reader) and self._definitions.matches(reader)
        ]
        if not readers:
            return value
        where = " ".join(self._tables.key(self._definitions, reader) for reader, _ in readers)
        sources = (
            source for _, known in readers for source in (known.sources if isinstance(known, Derived) else (known,))
        )
        return Derived(f"{name} within {where}", (value, *sources))

    def _variable(self, name: str, state: State, use: str) -> tuple[Symbol, State]:
        if name.isdigit():
            return state.capture(name, use), state
        known = (state.values or {}).get(name)
        if known is not None and not _is_perhaps(known):
            return known, state
        if name in self._side.definitions:
            value, state = self._defined(name, state)
            if not self._definitions.matches(name):  # what patterns capture depends on the subject, not on the value
                value = self._tables.now(value)
            if known is None and (state.epoch or self._definitions.is_assigned(name)):
                known = Variable(name + state.epoch)  # set before the start of what is compared
            return (value if known is None else Derived(f"{name} if not set", (known, value))), state
        if not self._keeps_first(name):
            return self._own(name, state), state
        value = (state.cached or {}).get(name) or self._own(name, state)
        return value, replace(state, cached={**(state.cached or {}), name: value})

    def _keeps_first(self, name: str) -> bool:
        return keeps_first(name, self._side.stated_in_locations)

    @property
    def host(self) -> Symbol:
        """The value of `$host`."""
        if "host" in self._known:
            return self._known["host"]
        # without a header, the name of the server
        return Derived("host", (KnownBytes(b"") if self._side.has_host_header else self._server_name,))

    def _own(self, name: str, state: State) -> Symbol:
        """Return the current value of a variable of nginx itself, or of one that another script sets."""
        match name:
            case "uri" | "document_uri":
                return state.uri
            case "args" if name in self._side.taken:
                return Derived("args but for a group", (state.args,))
            case "args" | "query_string":
                return state.args
            case "is_args":
                return KnownBytes(b"") if state.args == KnownBytes(b"") else Derived("is_args", (state.args,))
            case "server_name":
                return self._server_name
            case "host":
                return self.host
        if name in self._known:
            return self._known[name]
        if name.startswith("arg_") and state.args != Variable(ARGS):
            return Derived(name, (state.args,))
        if name in SETTINGS:
            where = f"{self._compiler.handler(state.level)}{state.epoch}"
            if state.is_stopped or state.is_rewritten:  # then there may be no `alias`
                where += f" stopped {state.is_stopped}, rewritten {state.is_rewritten}"
            if name in SHOWS_READING:
                where += f" after {'; '.join(self._side.readers(SHOWS_READING[name]))}"
            return Derived(f"{name} {where}", (state.uri,))
        return Variable(name + state.epoch)

    def _defined(self, name: str, state: State) -> tuple[Symbol, State]:
        """Return the value of a variable that the configuration defines outside of scripts, such as a map, and the
        state after its lookup. nginx keeps the value, unless the map is `volatile`."""
        key = self._tables.key(self._definitions, name)
        is_kept = self._definitions.is_kept(name)
        is_opaque = self._definitions.is_opaque(name)
        if is_kept and name in (state.cached or {}) and not is_opaque:
            return self._kept(name, state), state
        value = self._looked_up(name, key, state)
        if is_opaque and state.cached is not None and name in state.cached:
            value = Derived(f"{key} again", (state.cached[name], value))
        if self._is_entangled(name):  # its texts may be cut
            state = replace(state, entered=state.entered | {(CUT, value)})
        earlier = (state.cached or {}).get(self._mark(name))
        if earlier == _CERTAINLY and not is_opaque:  # the value lasts, and nothing is matched again
            return value, state
        kept: dict[str, Symbol] = {name: value} if is_kept else {}
        if self._definitions.matches(name) and not self._definitions.is_volatile(name):
            kept[self._mark(name)] = _CERTAINLY
        for inner in self._definitions.inner_matching(name):  # the row decides whether it is looked up
            kept[self._mark(inner)] = (state.cached or {}).get(self._mark(inner), value)
        for inner in self._definitions.inner_kept(name):
            if inner not in (state.cached or {}):
                # Whether it is looked up now may depend on the row.
                kept[inner] = Derived(f"{inner} by {key}", (value, self._fresh(inner, state)))
        for base in self._definitions.bases(name):
            if self._keeps_first(base) and base not in (state.cached or {}):
                kept[base] = Derived(f"{base} by {key}", (value, self._own(base, state)))
        if kept:
            state = replace(state, cached={**(state.cached or {}), **kept})
        return value, self._after(name, key, value, state, earlier)

    def _is_entangled(self, name: str) -> bool:
        return self._definitions.is_entangled(name) or bool(self._definitions.inner_entangled(name))

    def _mark(self, name: str) -> str:
        """Return the name in `State.cached` that records that a map, which is not volatile, was or may have been looked
        up."""
        return f"{name}{LOOKED_UP}{','.join(self._definitions.groups(name))}"

    def _looked_up(self, name: str, key: str, state: State) -> Symbol:
        """Return the result of a lookup, given the values that nginx has kept of earlier ones."""
        value = self._fresh(name, state)
        earlier = {}
        for inner in self._definitions.inner(name):
            if inner in (state.cached or {}):
                kept = self._kept(inner, state)
                if kept != self._fresh(inner, state):
                    earlier[inner] = kept
        marks = [self._mark(inner) for inner in self._definitions.inner(name)] if self._is_entangled(name) else []
        earlier.update(
            {mark: state.cached[mark] for mark in marks if state.cached is not None and mark in state.cached}
        )
        if not earlier:
            return value
        return Derived(f"{key} with {' '.join(earlier)}", (*value.sources, *earlier.values()))

    def _kept(self, name: str, state: State) -> Symbol:
        """Return the value that nginx has kept of a lookup. If it is not known whether that was looked up before, but a
        lookup now has the same result, return this result."""
        assert state.cached is not None
        kept, fresh = state.cached[name], self._fresh(name, state)
        return fresh if isinstance(kept, Derived) and kept.sources[1:] == (fresh,) else kept

    def _fresh(self, name: str, state: State) -> Derived:
        key = self._tables.key_of_value(self._definitions, name)
        bases = tuple(self._base(base, state) for base in self._definitions.bases(name))
        return Derived(key, (*bases, self._whole(state)) if self._definitions.is_opaque(name) else bases)

    def _whole(self, state: State) -> Symbol:
        """Return a term for everything that something not understood may read."""
        values = frozenset((state.values or {}).items())
        handler = self._compiler.handler(state.level)
        whole = (state.uri, state.args, values, state.captures, handler, state.is_rewritten, state.epoch)
        return Variable(f"state {self._definitions.state_number(whole)}")

    def _base(self, name: str, state: State) -> Symbol:
        return state.capture(name, "map") if name.isdigit() else self._variable(name, state, "map")[0]

    def _after(self, name: str, key: str, value: Symbol, state: State, earlier: Symbol | None) -> State:
        """Return the state after a lookup, which may set captures unless an `earlier` lookup has done so."""
        if not self._definitions.matches(name):
            return state
        before = state.captures
        # Not the value: two subjects may have equal values although the patterns capture different parts of them.
        sources = value.sources if isinstance(value, Derived) else (value,)
        looked_up = Derived(f"{key} and its captures", sources if earlier is None else (*sources, earlier))
        subject = () if before is None or before.subject is None else (before.subject,)
        pattern = "nothing" if before is None else f"{before.pattern!r}"
        captures = Derived(f"captures after {key} and {pattern}", (looked_up, *subject))
        state = replace(state, captures=Match(captures, b""))
        for group in self._definitions.groups(name):
            former = (state.values or {}).get(group, Variable(group + state.epoch))
            after = Derived(f"{group} after {key}", (looked_up, former))
            state = state.with_value(group, Derived(PERHAPS, (after,)) if self._definitions.defines(group) else after)
        return state

    def reads_settings(self, operation: Operation) -> bool:
        """Return whether the values of an operation may depend on the settings in force."""
        words = (word or "" for word in operation.words)
        used = set().union(*(variables(word.encode("latin-1")) for word in words))
        if used & (SETTINGS.keys() | self._side.definitions.keys()):
            return True
        return any(map(self.reads_settings, operation.body))
