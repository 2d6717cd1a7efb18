"""The values of variables, as far as a script and the configuration determine them."""

from __future__ import annotations

from dataclasses import replace

from nginxopt.request.verify.definitions import Definitions
from nginxopt.request.verify.keys import Keys
from nginxopt.request.verify.program import Compiler, Operation
from nginxopt.request.verify.side import Side
from nginxopt.request.verify.state import BEFORE, State
from nginxopt.request.verify.symbols import ARGS, Derived, Match, Symbol, Text, Variable, join, pieces, variables

_OF_SETTINGS = {"document_root", "realpath_root", "request_filename", "limit_rate"}


class Values:
    """Evaluates values of one server of a side."""

    def __init__(self, side: Side, server: int, compiler: Compiler, keys: Keys) -> None:
        self._side = side
        self._compiler = compiler
        self._server_name = side.server_name(server)
        self._definitions = Definitions(side, keys)

    def value(self, text: bytes, state: State, use: str) -> tuple[Symbol, State]:
        """Return the value of a text with variables, and the state after it was read, which keeps values of maps."""
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
        return self._own(name, state), state

    def _own(self, name: str, state: State) -> Symbol:
        """Return a variable of nginx itself, or one that a script sets elsewhere."""
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
        if name in _OF_SETTINGS:
            return Derived(f"{name} {self._compiler.handler(state.level)}{state.epoch}", (state.uri,))
        return Variable(name + state.epoch)

    def _defined(self, name: str, state: State) -> tuple[Symbol, State]:
        """Return a variable that the configuration defines outside of scripts: nginx looks it up once."""
        key = f"defined {self._definitions.number(name)}"
        is_kept = self._definitions.is_kept(name)
        if is_kept and key in (state.cached or {}):
            assert state.cached is not None
            return state.cached[key], state
        sources: list[Symbol] = []
        for used in sorted(self._definitions.used(name)):
            source, state = self._variable(used, state, "map") if not used.isdigit() else (Text(b""), state)
            sources.append(source)
        value = Derived(key, tuple(sources))
        if self._definitions.matches(name):
            before = state.captures or BEFORE
            sources = [value, *([before.subject] if before.subject is not None else [])]
            state = replace(state, captures=Match(Derived("captures after " + key, tuple(sources)), before.pattern))
        if is_kept:
            state = replace(state, cached={**(state.cached or {}), key: value})
        return value, state

    def reads_settings(self, operation: Operation) -> bool:
        """Return whether the values of an operation may depend on the settings in force."""
        words = (word or "" for word in operation.words)
        used = set().union(*(variables(word.encode("latin-1")) for word in words))
        if used & (_OF_SETTINGS | self._side.definitions.keys()):
            return True
        return any(map(self.reads_settings, operation.body))
