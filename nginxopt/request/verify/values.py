"""The values of variables, as far as a script and the configuration determine them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

from nginxopt.request.verify.influences import SETTINGS, keeps_first
from nginxopt.request.verify.program import Compiler, Operation
from nginxopt.request.verify.side import Side
from nginxopt.request.verify.state import LOOKED_UP, State
from nginxopt.request.verify.symbols import ARGS, Derived, Match, Symbol, Text, Variable, join, pieces, variables
from nginxopt.request.verify.tables import Tables

_CERTAINLY = Text(b"certainly")


class Values:
    """Evaluates values of one server of a side."""

    def __init__(self, side: Side, server: int, compiler: Compiler, tables: Tables) -> None:
        self._side = side
        self._compiler = compiler
        self._server_name = side.server_name(server)
        self._definitions = compiler.definitions
        self._tables = tables

    def handler(self, level: int) -> str | None:
        """Return the directive that makes a block handle requests."""
        return self._side.handler(level)

    def entering(self, level: int, *, is_internal: bool) -> frozenset[tuple[str, Hashable]]:
        """Return what nginx looks at as a block is entered; see `Compiler.entering`."""
        return self._compiler.entering(level, is_internal=is_internal)

    def variable(self, text: bytes, state: State, use: str) -> tuple[Symbol, State]:
        """Return the value of a variable on the left of a condition, which nginx reads once, and the state after it."""
        return self._read(text, state, use)

    def value(self, text: bytes, state: State, use: str) -> tuple[Symbol, State]:
        """Return the value of a text with variables in a script, and the state after it was read, which keeps values of
        maps.
        """
        (value,), state = self.values([(text, use)], state)
        return value, state

    def values(self, parts: Sequence[tuple[bytes, str]], state: State) -> tuple[list[Symbol], State]:
        """Return the values of the parts of one text, each with its use, and the state after it was read.

        nginx reads the variables of a text twice, for the length and for the bytes: what a map matches in the first
        pass is there for the second.
        """
        if self._changes_captures(b"".join(text for text, _ in parts)):
            for text, use in parts:
                _, state = self._read(text, state, use)
        found = []
        for text, use in parts:
            value, state = self._read(text, state, use)
            found.append(value)
        return found, state

    def response(self, text: bytes, state: State) -> tuple[Symbol, State]:
        """Return the value of the text of a `return`, and the state after it was read.

        nginx looks up a volatile map of such a text once, not in both passes as in a script: where that matters, no
        value of a script is the same.
        """
        value, after = self.value(text, state, "return")
        is_volatile = any(self._definitions.is_volatile(name) for name in self._defined_in(text))
        if is_volatile and self._changes_captures(text):
            value = Derived(f"{text!r} looked up once", (value,))
        return value, after

    def _changes_captures(self, text: bytes) -> bool:
        """Return whether the second reading of a text may find other captures than the first."""
        matching = [name for name in self._defined_in(text) if self._definitions.matches(name)]
        if sum(isinstance(piece, str) for piece in pieces(text)) > 1:
            return bool(matching)
        return any(self._reads_captures(name) for name in matching)

    def _reads_captures(self, name: str) -> bool:
        """Return whether the look-up of a variable may read what it has captured itself."""
        groups = self._definitions.groups(name)
        return any(base.isdigit() or base in groups for base in self._definitions.bases(name))

    def _defined_in(self, text: bytes) -> list[str]:
        """Return the variables of a text that the configuration defines outside of scripts."""
        return [piece for piece in pieces(text) if isinstance(piece, str) and piece in self._side.definitions]

    def _read(self, text: bytes, state: State, use: str) -> tuple[Symbol, State]:
        parts: list[Symbol] = []
        for piece in pieces(text):
            if isinstance(piece, bytes):
                parts.append(Text(piece))
                continue
            part, state = self._variable(piece, state, use)
            parts.append(part)
        return join(parts), state

    def _variable(self, name: str, state: State, use: str) -> tuple[Symbol, State]:
        if name.isdigit():
            return state.capture(name, use), state
        if name in (state.values or {}):
            assert state.values is not None
            return state.values[name], state
        if name in self._side.definitions:
            return self._defined(name, state)
        if not self._keeps_first(name):
            return self._own(name, state), state
        value = (state.cached or {}).get(name) or self._own(name, state)
        return value, replace(state, cached={**(state.cached or {}), name: value})

    def _keeps_first(self, name: str) -> bool:
        return keeps_first(name, self._side.stated_in_locations)

    def _own(self, name: str, state: State) -> Symbol:
        """Return what a variable of nginx itself is now, or one that a script sets elsewhere."""
        match name:
            case "uri" | "document_uri":
                return state.uri
            case "args" | "query_string":
                return state.args
            case "is_args":
                return Text(b"") if state.args == Text(b"") else Derived("is_args", (state.args,))
            case "server_name":
                return Text(self._server_name.encode("latin-1"))
            case "host":  # without a header, the name of the server
                return Derived("host", (Text(self._server_name.encode("latin-1")),))
        if name.startswith("arg_") and state.args != Variable(ARGS):
            return Derived(name, (state.args,))
        if name in SETTINGS:
            where = f"{self._compiler.handler(state.level)}{state.epoch}"
            if state.is_stopped or state.is_rewritten:  # then there may be no `alias`
                where += f" stopped {state.is_stopped}, rewritten {state.is_rewritten}"
            return Derived(f"{name} {where}", (state.uri,))
        return Variable(name + state.epoch)

    def _defined(self, name: str, state: State) -> tuple[Symbol, State]:
        """Return a variable that the configuration defines outside of scripts: nginx looks it up once."""
        key = self._tables.key(self._definitions, name)
        is_kept = self._definitions.is_kept(name)
        if is_kept and name in (state.cached or {}):
            return self._kept(name, state), state
        value = self._looked_up(name, key, state)
        earlier = (state.cached or {}).get(self._mark(name))
        if earlier == _CERTAINLY:  # the value lasts, and nothing is matched again
            return value, state
        kept: dict[str, Symbol] = {name: value} if is_kept else {}
        if self._definitions.matches(name) and not self._definitions.is_volatile(name):
            kept[self._mark(name)] = _CERTAINLY
        for inner in self._definitions.inner(name):  # which may depend on the row
            if self._definitions.matches(inner) and not self._definitions.is_volatile(inner):
                kept[self._mark(inner)] = (state.cached or {}).get(self._mark(inner), value)
        for inner in filter(self._definitions.is_kept, self._definitions.inner(name)):
            if inner not in (state.cached or {}):
                # Whether it is looked up now may depend on the row.
                kept[inner] = Derived(f"{inner} by {key}", (value, self._fresh(inner, state)))
        for base in self._definitions.bases(name):
            if self._keeps_first(base) and base not in (state.cached or {}):
                kept[base] = Derived(f"{base} by {key}", (value, self._own(base, state)))
        if kept:
            state = replace(state, cached={**(state.cached or {}), **kept})
        return value, self._after(name, key, value, state, earlier)

    def _mark(self, name: str) -> str:
        """Return the name under which it is kept that a map, which is not volatile, was or may have been looked up."""
        return f"{name}{LOOKED_UP}{','.join(self._definitions.groups(name))}"

    def _looked_up(self, name: str, key: str, state: State) -> Symbol:
        """Return what a look-up yields now, with what earlier ones have left."""
        value = self._fresh(name, state)
        earlier = {}
        for inner in self._definitions.inner(name):
            if inner in (state.cached or {}):
                kept = self._kept(inner, state)
                if kept != self._fresh(inner, state):
                    earlier[inner] = kept
        if not earlier:
            return value
        return Derived(f"{key} with {' '.join(earlier)}", (*value.sources, *earlier.values()))

    def _kept(self, name: str, state: State) -> Symbol:
        """Return what an earlier look-up has left, which is that of now if nothing has changed since."""
        assert state.cached is not None
        kept, fresh = state.cached[name], self._fresh(name, state)
        return fresh if isinstance(kept, Derived) and kept.sources[1:] == (fresh,) else kept

    def _fresh(self, name: str, state: State) -> Derived:
        key = self._tables.key(self._definitions, name)
        return Derived(key, tuple(self._base(base, state) for base in self._definitions.bases(name)))

    def _base(self, name: str, state: State) -> Symbol:
        return state.capture(name, "map") if name.isdigit() else self._variable(name, state, "map")[0]

    def _after(self, name: str, key: str, value: Symbol, state: State, earlier: Symbol | None) -> State:
        """Return the state after a look-up, which may have set captures, if not an `earlier` one has looked it up."""
        if not self._definitions.matches(name):
            return state
        before = state.captures
        # Not the value: those of several subjects may be equal, and what the patterns capture in them not.
        sources = value.sources if isinstance(value, Derived) else (value,)
        looked_up = Derived(f"{key} and its captures", sources if earlier is None else (*sources, earlier))
        subject = () if before is None or before.subject is None else (before.subject,)
        pattern = "nothing" if before is None else f"{before.pattern!r}"
        captures = Derived(f"captures after {key} and {pattern}", (looked_up, *subject))
        state = replace(state, captures=Match(captures, b""))
        for group in self._definitions.groups(name):
            former = (state.values or {}).get(group, Variable(group + state.epoch))
            state = state.with_value(group, Derived(f"{group} after {key}", (looked_up, former)))
        return state

    def reads_settings(self, operation: Operation) -> bool:
        """Return whether the values of an operation may depend on the settings in force."""
        words = (word or "" for word in operation.words)
        used = set().union(*(variables(word.encode("latin-1")) for word in words))
        if used & (SETTINGS.keys() | self._side.definitions.keys()):
            return True
        return any(map(self.reads_settings, operation.body))
