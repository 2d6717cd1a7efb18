"""Executes an operation on a symbolic state, as the rewrite module and the choice of a location do it.

An operation that both sides have need not be executed: `after_passing` and `after_opaque` make what it may change
unknown, and equal on both sides.

Sources: ngx_http_rewrite_module.c, ngx_http_script.c and `ngx_http_core_find_location`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from nginxopt.records import record
from nginxopt.semantics.values import is_url
from nginxopt.verify.definitions import SideDefinitions
from nginxopt.verify.path_condition import FALSE, Atom, Fact, Matches, PathCondition
from nginxopt.verify.patterns import WordIndex, beginning, equal_to, group_names
from nginxopt.verify.program import Operation, Program, ends_script
from nginxopt.verify.state import State, Values
from nginxopt.verify.symbols import (
    ARGS,
    METHOD,
    PERHAPS,
    Derived,
    Join,
    KnownBytes,
    Match,
    Symbol,
    Variable,
    derived,
    join,
    may_be_empty,
    variables,
)


class ProgramIndex:
    """An index of the tests in a program by the prefix that they require of the URI, to skip those that cannot match.
    O(n log n) for n operations."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._places: dict[bytes, list[int]] = {}
        others: list[int] = []
        for at, operation in enumerate(program):
            text = _beginning(operation)
            (others if text is None else self._places.setdefault(text, [])).append(at)
        self._others = others
        self._texts = WordIndex(self._places)

    def first(self, at: int, known: bytes) -> int:
        """Return the first operation from `at` on that concerns a URI which starts with `known`, in lower case: a test
        whose prefix agrees with it, or an operation that is not a test."""
        places = [self._others, *(self._places[text] for text in self._texts.near(known))]
        nexts = (bisect_left(numbers, at) for numbers in places)
        found = (numbers[next_at] for numbers, next_at in zip(places, nexts, strict=True) if next_at < len(numbers))
        return min(found, default=len(self._program))


def _beginning(operation: Operation) -> bytes | None:
    """Return the prefix that a test requires; None for any other operation, and for a test that may match any URI."""
    if operation.kind not in ("rewrite", "locate"):
        return None
    text = operation.words[1 if operation.kind == "locate" else 0]
    assert text is not None
    return beginning(text.encode("latin-1"))


_MANY = 16  # the number of operations from which on an index is faster than to try one test after the other
_REDIRECTS = {"301", "302", "303", "307", "308"}


@record(eq=True)
class Leaf:
    """The end of a script.

    Attributes:
        kind: `return`, `redirect`, `slash`, `locating` (a location is chosen), `last` (it is chosen again), `end` (a
            handler answers), `exit` (of a part of a program) or `opaque`.
        what: What is answered: a status, a text, a target.
        state: The state then.
        node: The directive that decides.
    """

    kind: str
    what: tuple[Hashable, ...]
    state: State
    node: int | None


@record(eq=True)
class Question:
    """A test of the request, with the place that each answer leads to. A place is computed only if some request has
    that answer."""

    atom: Atom
    true: Callable[[], ProgramPoint]
    false: Callable[[], ProgramPoint]


class ProgramCursor(NamedTuple):
    """A program, and the index of its next operation."""

    program: Program
    at: int = 0


@record(eq=True)
class ProgramPoint:
    """A point of execution: the programs that are left to run, the innermost first, and the state."""

    rest: tuple[ProgramCursor, ...]
    state: State

    def then(self, program: Program) -> ProgramPoint:
        """Return the place at the start of a program that comes before the rest."""
        return ProgramPoint((ProgramCursor(program), *self.rest), self.state)

    def with_state(self, state: State) -> ProgramPoint:
        """Return the place with another state."""
        return ProgramPoint(self.rest, state)


class SymbolicExecutor:
    """Executes the programs of one server of a side, one operation at a time. `level` is the block of the server, and
    `locating` the program that chooses one of its locations.
    """

    def __init__(self, values: Values, level: int, locating: Program) -> None:
        self.values = values
        self._level = level
        self._locating = locating
        self._indexes: dict[int, ProgramIndex] = {}

    def step(self, place: ProgramPoint) -> ProgramPoint | Question | Leaf:
        """Execute the next operation of a place."""
        rest = place.rest
        while rest and rest[0].at == len(rest[0].program):
            rest = rest[1:]
        if not rest:
            return Leaf("end", (), place.state, None)
        program, at = rest[0]
        return self.do(program[at], ProgramPoint((ProgramCursor(program, at + 1), *rest[1:]), place.state))

    def passed(self, place: ProgramPoint, region: PathCondition) -> ProgramPoint:
        """Return the place after tests of the URI that obviously no request of a region passes."""
        if not place.rest or len(place.rest[0].program) < _MANY:
            return place
        program, at = place.rest[0]
        uri = place.state.uri
        known = uri.value.lower() if isinstance(uri, KnownBytes) else region.known(uri).beginning
        if known is None:
            return place
        index = self._indexes.get(id(program))
        if index is None:
            index = self._indexes[id(program)] = ProgramIndex(program)  # which keeps it, so that its id stays its own
        behind = index.first(at, known)
        is_tried = any(operation.kind == "rewrite" for operation in program[at:behind])
        state = place.state.without_match() if is_tried else place.state
        return ProgramPoint((ProgramCursor(program, behind), *place.rest[1:]), state)

    def do(self, operation: Operation, after: ProgramPoint) -> ProgramPoint | Question | Leaf:
        """Execute an operation. `after` is the place behind it, with the state before it."""
        state = after.state
        match operation.kind:
            case "enter":
                assert operation.level is not None
                entered = state.entered | self.values.entering(operation.level, is_internal=state.is_changed is True)
                state = replace(state, entered=entered)
                return after.with_state(state.at(operation.level, self.values.handler(operation.level)))
            case "locating":
                return Leaf("locating", (), replace(state, is_rewritten=False), operation.node)
            case "length":
                return self._length(operation, after)
            case "leaf":
                assert isinstance(operation.key, Leaf)
                return operation.key
            case "exit":
                return Leaf("exit", (), state, None)
            case "locate":
                return self._locate(operation, after)
            case "except":
                return self._except(operation, after)
            case "set":
                return after.with_state(self._set(operation, state))
            case "if":
                return self._if(operation, after)
            case "rewrite":
                return self._rewrite(operation, after)
            case "break":
                return self._over(after.with_state(state.stopped()))
            case "return":
                return self._return(operation, state)
            case "slash":
                return Leaf("slash", (operation.words[0], state.args), state, operation.node)
            case "end":
                return (
                    self._chosen_again(state) if state.is_rewritten is True else Leaf("end", (), state, operation.node)
                )
        return Leaf("opaque", (operation.key,), state, operation.node)

    def locating(self, state: State) -> ProgramPoint:
        """Return the place at which a location is chosen, for the first time or again."""
        chosen = replace(state, level=self._level, was_matched=False, is_rewritten=False, handler=None)
        return ProgramPoint((ProgramCursor(self._locating),), chosen)

    def _over(self, after: ProgramPoint) -> ProgramPoint:
        """Return the place behind the script: the choice of a location, or the handler."""
        return _at(after, ("locating", "end"), after.state) or ProgramPoint((), after.state)

    def _locate(self, operation: Operation, after: ProgramPoint) -> Question:
        sign, text = operation.words
        assert text is not None
        pattern, state = text.encode("latin-1"), after.state

        def inside() -> ProgramPoint:
            matched = state.with_match(Match(state.uri, pattern), group_names(pattern)) if sign == "~" else state
            return ProgramPoint((ProgramCursor(operation.body),), matched)

        return Question(Matches(state.uri, pattern), inside, lambda: after)

    def _except(self, operation: Operation, after: ProgramPoint) -> Question:
        methods = operation.words[0]
        assert methods is not None
        excluded = ProgramPoint((ProgramCursor(operation.body),), after.state)
        return Question(Matches(Variable(METHOD), methods.encode("latin-1")), lambda: after, lambda: excluded)

    def _set(self, operation: Operation, state: State) -> State:
        name, text = operation.words
        assert name is not None
        assert text is not None
        value, state = self.values.value_in_script(text.encode("latin-1"), state, "set")
        return state.with_value(name.removeprefix("$"), value)

    def _if(self, operation: Operation, after: ProgramPoint) -> ProgramPoint | Question:
        words = [word.encode("latin-1") for word in operation.words if word is not None]
        test = words[1].decode("latin-1") if len(words) == 3 else ""
        if test in ("~", "~*", "!~", "!~*"):
            return self._matching(operation, after, words[0], words[2], test)
        if len(words) == 2:
            value, state = self.values.value_in_script(words[1], after.state, "if")
            return self._asking(Fact(words[0].decode().removeprefix("!"), (value,)), operation, after, state, words[0])
        left, state = self.values.value(words[0], after.state, "if")
        if test not in ("=", "!="):
            return self._asking(Matches(left, FALSE), operation, after, state, b"!")
        right, state = self.values.value_in_script(words[2], state, "if")
        if left == right or (isinstance(left, KnownBytes) and isinstance(right, KnownBytes)):
            behind = after.with_state(state)
            return behind.then(operation.body) if (left == right) is (test == "=") else behind
        if isinstance(right, KnownBytes):
            return self._asking(Matches(left, equal_to(right.value)), operation, after, state, words[1])
        if isinstance(left, KnownBytes):
            return self._asking(Matches(right, equal_to(left.value)), operation, after, state, words[1])
        return self._asking(Fact("=", (left, right)), operation, after, state, words[1])

    def _asking(self, atom: Atom, operation: Operation, after: ProgramPoint, state: State, test: bytes) -> Question:
        """Return a question whose positive answer leads into a block, or past it if the test is negated."""
        behind = after.with_state(state)
        if test.startswith(b"!"):
            return Question(atom, lambda: behind, lambda: behind.then(operation.body))
        return Question(atom, lambda: behind.then(operation.body), lambda: behind)

    def _matching(self, operation: Operation, after: ProgramPoint, value: bytes, pattern: bytes, test: str) -> Question:
        subject, state = self.values.value(value, after.state, "if")
        if test.endswith("*"):
            pattern = b"(?i)" + pattern
        hit = after.with_state(state.with_match(Match(subject, pattern), group_names(pattern)))
        miss = after.with_state(state.without_match())
        if test.startswith("!"):
            return Question(Matches(subject, pattern), lambda: hit, lambda: miss.then(operation.body))
        return Question(Matches(subject, pattern), lambda: hit.then(operation.body), lambda: miss)

    def _rewrite(self, operation: Operation, after: ProgramPoint) -> Question:
        assert operation.words[0] is not None
        pattern, state = operation.words[0].encode("latin-1"), after.state
        return Question(
            Matches(state.uri, pattern),
            lambda: self._rewritten(operation, pattern, after),
            lambda: after.with_state(state.without_match()),
        )

    def _rewritten(self, operation: Operation, pattern: bytes, after: ProgramPoint) -> ProgramPoint:
        """Return the place behind a rewrite whose pattern matched."""
        _, replacement, flag = operation.words
        assert replacement is not None
        matched = after.state.with_match(Match(after.state.uri, pattern), group_names(pattern))
        matched = replace(matched, was_matched=True)
        if flag in ("redirect", "permanent") or is_url(replacement):
            target, args, matched = self._location(replacement, matched)
            code = "301" if flag == "permanent" else "302"
            return self._end(Leaf("redirect", (code, target, args), matched, operation.node))
        uri, args, matched = self._target(replacement, matched)
        behind = after.with_state(replace(matched, uri=uri, args=args, is_changed=True, is_rewritten=True))
        if flag == "break":
            behind = self._over(behind.with_state(behind.state.stopped()))
        elif flag == "last":
            behind = self._last(behind)
        return behind.then((_length_of(operation, uri),)) if may_be_empty(uri) else behind

    def _length(self, operation: Operation, after: ProgramPoint) -> Question:
        """Return the question whether the URI of a rewrite is empty; if it is, nginx answers with status 500."""
        assert isinstance(operation.key, tuple)
        _, uri = operation.key
        fault = self._end(Leaf("return", ("500", None), after.state, operation.node))
        return Question(Matches(uri, equal_to(b"")), lambda: fault, lambda: after)

    def _end(self, leaf: Leaf) -> ProgramPoint:
        return ProgramPoint((ProgramCursor((Operation("leaf", (), None, (), leaf.node, leaf, None),)),), leaf.state)

    def _last(self, after: ProgramPoint) -> ProgramPoint:
        """Return the place at which a location is chosen: behind the script of a server, or again after a location."""
        return _at(after, ("locating",), after.state) or self._end(self._chosen_again(after.state))

    def _chosen_again(self, state: State) -> Leaf:
        """Return the leaf at which a location is chosen again, by the URI that the script of a location has left."""
        return Leaf("last", (), replace(state, is_rewritten=False, handler=None, choices=state.choices + 1), None)

    def _target(self, replacement: str, state: State) -> tuple[Symbol, Symbol, State]:
        """Return the URI and the arguments that a rewrite leads to (`ngx_http_script_regex_end_code`)."""
        path, mark, query = replacement.partition("?")
        parts = ((path.encode("latin-1"), "rewrite"), (query.removesuffix("?").encode("latin-1"), "rewrite args"))
        (uri, args), state = self.values.values_in_script(parts, state)
        if not mark:
            return uri, state.args, state
        if query.endswith("?") or not query:
            return uri, args, state
        return uri, join([args, Derived("more", (state.args,))]), state

    def _location(self, replacement: str, state: State) -> tuple[Symbol, Symbol, State]:
        """Return where a rewrite redirects to, and the arguments that are appended."""
        path, mark, query = replacement.removesuffix("?").partition("?")
        parts = ((path.encode("latin-1"), "redirect"), (query.encode("latin-1"), "redirect args"))
        (uri, more), state = self.values.values_in_script(parts, state)
        target = derived("redirect", (join([uri, KnownBytes(mark.encode()), more]),))  # decoded up to its first `?`
        if replacement.endswith("?"):
            return target, KnownBytes(b""), state
        return target, Derived("more", (state.args,)) if mark else state.args, state

    def _return(self, operation: Operation, state: State) -> Leaf:
        code, *text = (word for word in operation.words if word is not None)
        if not text and not code.isdecimal():
            code, text = "302", [code]
        if not text:
            return Leaf("return", (code, None), state, operation.node)
        value, state = self.values.value(text[0].encode("latin-1"), state, "return")
        if code not in _REDIRECTS:
            return Leaf("return", (code, value), state, operation.node)
        return Leaf("redirect", (code, *_split(value)), state, operation.node)


def _at(place: ProgramPoint, kinds: tuple[str, ...], state: State) -> ProgramPoint | None:
    """Return the place at the first operation of some kinds; None if there is none."""
    for number, (program, start) in enumerate(place.rest):
        for at in range(start, len(program)):
            if program[at].kind in kinds:
                return ProgramPoint((ProgramCursor(program, at), *place.rest[number + 1 :]), state)
    return None


def _length_of(operation: Operation, uri: Symbol) -> Operation:
    """Return the operation that checks whether the URI of a rewrite is empty (`ngx_http_script_regex_end_code`)."""
    return Operation("length", (), None, (), operation.node, ("length", uri), None)


def _split(target: Symbol) -> tuple[Symbol, Symbol | None]:
    """Split the target of a `return` as `_location` does that of a rewrite: the client's arguments (`$is_args$args`)
    come apart."""
    is_args, args = Derived("is_args", (Variable(ARGS),)), Variable(ARGS)
    if isinstance(target, Join) and target.parts[-2:] == (is_args, args):
        return join(target.parts[:-2]), args
    return target, KnownBytes(b"")


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
    return operation.kind == "rewrite" and not ends_script(operation)


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


def may_leave(program: Program) -> bool:
    """Return whether an operation of a script may end it without an answer, so that a location is chosen."""
    operations = (item for operation in program for item in _walk(operation))
    return any(
        item.kind in ("break", "opaque") or (item.kind == "rewrite" and item.words[2] in ("last", "break"))
        for item in operations
    )


def chooses_again(programs: Iterable[Program]) -> bool:
    """Return whether an operation may change the URI and not answer, so that a location is chosen for the new one."""
    operations = (item for program in programs for operation in program for item in _walk(operation))
    return any(
        item.kind == "opaque" or (item.kind == "rewrite" and item.words[2] != "break" and not may_answer(item))
        for item in operations
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
