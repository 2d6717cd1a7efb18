"""Passes an operation that both sides have: what it may change, and whether it may answer.

The operation is not executed. As both sides do the same with equal states, it is enough to replace what it may change
by unknown values that are equal on both sides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from nginxopt.semantics.values import is_url
from nginxopt.verify.definitions import SideDefinitions
from nginxopt.verify.patterns import group_names
from nginxopt.verify.program import Operation, Program
from nginxopt.verify.state import State
from nginxopt.verify.symbols import ARGS, PERHAPS, Derived, Match, Symbol, Variable, variables


def after_passing(operation: Operation, state: State, definitions: SideDefinitions) -> State:
    """Return the state after an `if` or a rewrite. `definitions` says what the maps that it reads may set."""
    if operation.kind == "rewrite" and not _goes_on(operation):
        return state.without_match()
    after = f"after {operation.key} at {state.passed}"
    state = replace(state, passed=state.passed + 1)
    assigned = set(_assigned(operation, definitions))
    values = {name: _perhaps(name, after, definitions) for name in assigned - {ARGS}}
    state = replace(
        state,
        values={**(state.values or {}), **values},
        captures=Match(Derived(after, (state.uri,)), b""),
        cached={**(state.cached or {}), after: Variable(after)},
        was_matched=state.was_matched is True or (after if _has(operation, "rewrite") else state.was_matched),
    )
    goes_on = any(map(_goes_on, _walk(operation)))
    if goes_on:
        state = replace(
            state,
            uri=Variable(f"uri {after}"),
            is_changed=state.is_changed is True or after,
            is_rewritten=state.is_rewritten is True or after,
        )
    if goes_on or ARGS in assigned:
        is_set = state.is_set is True or (after if ARGS in assigned else state.is_set)
        state = replace(state, args=Variable(f"args {after}"), is_set=is_set)
    return after_opaque(operation, state) if _has(operation, "opaque") else state


def after_opaque(operation: Operation, state: State) -> State:
    """Return the state after something that is not understood, which may have changed all of it."""
    after = f" after {operation.key} at {state.passed}"
    return State(
        state.level,
        Variable("uri" + after),
        Variable("args" + after),
        is_changed=after,
        is_set=after,
        is_rewritten=after,
        is_stopped=after,
        was_matched=after,
        handler=after,
        entered=state.entered,
        passed=state.passed + 1,
        choices=state.choices,
        epoch=after,
    )


def pattern_of(operation: Operation) -> bytes:
    """Return the pattern that a location or a rewrite tries on the URI."""
    text = operation.words[1 if operation.kind == "locate" else 0]
    assert text is not None
    return text.encode("latin-1")


def takes_all(operation: Operation) -> bool:
    """Return whether no request whose URI matches its pattern gets past an operation."""
    return operation.kind == "locate" or (operation.kind == "rewrite" and not _goes_on(operation))


def _goes_on(operation: Operation) -> bool:
    """Return whether an operation is a rewrite that changes the URI for the next one."""
    return operation.kind == "rewrite" and operation.words[2] is None and not is_url(operation.words[1] or "")


def behind_script(program: Program) -> Program:
    """Return what follows the script at the beginning of a program: the choice of a location, or a handler."""
    return next(((operation,) for operation in program if operation.kind in ("locating", "end")), ())


def may_end(operation: Operation) -> bool:
    """Return whether an operation may end the script, so that a handler answers under the settings in force."""
    return any(item.kind == "rewrite" and item.words[2] == "break" for item in _walk(operation))


def may_answer(operation: Operation) -> bool:
    """Return whether an operation may answer a request by itself, under the settings in force."""
    return any(
        item.kind in ("return", "opaque")
        or (item.kind == "rewrite" and (item.words[2] in ("redirect", "permanent") or is_url(item.words[1] or "")))
        for item in _walk(operation)
    )


def _walk(operation: Operation) -> Iterator[Operation]:
    yield operation
    for inner in operation.body:
        yield from _walk(inner)


def _perhaps(name: str, after: str, definitions: SideDefinitions) -> Symbol:
    """Return the value of a variable that may have been set; if it was not, a map may define it."""
    value = Variable(f"{name} {after}")
    return Derived(PERHAPS, (value,)) if definitions.defines(name) else value


def _assigned(operation: Operation, definitions: SideDefinitions) -> Iterator[str]:
    """Yield the variables that an operation may set, also by a map that it reads."""
    for name in set().union(*(variables((word or "").encode("latin-1")) for word in operation.words)):
        if definitions.defines(name):
            yield from definitions.groups(name)
    if operation.kind == "set" and operation.words[0] is not None:
        yield operation.words[0].removeprefix("$")
    if operation.kind in ("if", "rewrite"):
        for word in operation.words:
            yield from group_names((word or "").encode("latin-1"))
    for inner in operation.body:
        yield from _assigned(inner, definitions)


def _has(operation: Operation, kind: str) -> bool:
    return any(item.kind == kind for item in _walk(operation))
