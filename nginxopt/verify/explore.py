"""Runs two programs on all requests at once, and collects where they answer differently.

While both programs are in the same state and have the same operations next, nothing can differ. Such an operation is
passed and not executed: what it may change becomes unknown values that are equal on both sides (`after_passing`).
Otherwise, each program runs by itself, and each test of the request divides the requests into regions. The choice of a
location is compared once, for all requests and any state: it is enough to show that both sides arrive there in equal
states.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher

from nginxopt.records import record
from nginxopt.verify.dataflow import Live
from nginxopt.verify.executor import (
    Leaf,
    ProgramCursor,
    ProgramPoint,
    Question,
    SymbolicExecutor,
    after_opaque,
    after_passing,
    behind_script,
    may_answer,
    may_end,
    pattern_of,
    takes_all,
)
from nginxopt.verify.path_condition import Matches, PathCondition, searches
from nginxopt.verify.patterns import group_names, overlap
from nginxopt.verify.program import Compiler, Operation, Program
from nginxopt.verify.state import State, TooMuchError
from nginxopt.verify.symbols import ARGS, URI, Match, Symbol, Variable, canonical
from nginxopt.verify.unfold import Pair, Unfolding, atom_now, by_value, state_now, with_answer, with_found

_EXIT = Operation("exit", (), None, (), None, "exit", None)
_CHOOSING = {"locating", "last", "opaque"}
_ENDS = {"return", "end", "slash", "leaf"}
MOST_DIFFERENCES = 100
"""The maximum number of differences that are collected for two servers."""

_ASKING = 4  # the rough cost of a question, in operations
_LONGEST_SHOWN = 60  # bytes of a pattern in a reason
_MOST_TAKEN = 50  # patterns; more make automata too large
_MOST_EXITS = 16  # states behind parts that differ; from more, one unknown state is followed
_MOST_LOCATIONS = 10  # NGX_HTTP_MAX_URI_CHANGES


@record(eq=True)
class Divergence:
    """Requests that the two sides seem to answer differently.

    Attributes:
        old: The end of the script of the old side.
        new: That of the new side.
        is_kept: Whether a map may hold the value of an earlier lookup.
        is_at_limit: Whether one side comes to nginx's limit of internal redirects before the other.
    """

    region: PathCondition
    old: Leaf
    new: Leaf
    is_kept: bool = False
    is_at_limit: bool = False

    @property
    def checked(self) -> set[str]:
        """What nginx checks on the way on one side only (`State.entered`)."""
        return {name for name, *_ in self.old.state.entered ^ self.new.state.entered}


@record(eq=True)
class SideRunner:
    """One side: the executor of its operations, and its compiler, which knows the settings in force."""

    steps: SymbolicExecutor
    compiler: Compiler


_Opcode = tuple[str, int, int, int, int]
"""A part of two programs as difflib describes it: the tag of the change, and the place in both."""


class _Exits:
    """Pairs of equal states in which requests leave parts of programs that differ; what follows is compared from these.

    Paths that leave in the same states are joined: otherwise, each `if` would double their number. If many states are
    left, such as one for each row of a map, one in which everything but the settings is unknown, and equal on both
    sides, stands for them.
    """

    def __init__(self, key: Callable[[Leaf], object]) -> None:
        self._key = key
        self._known: dict[object, tuple[State, State, PathCondition]] = {}

    def add(self, old: State, new: State, region: PathCondition) -> None:
        """Add states that are equal, with the requests that get there."""
        self._put((self._key(Leaf("exit", (), old, None)), old.level, new.level), old, new, region)

    def _put(self, key: object, old: State, new: State, region: PathCondition) -> None:
        known = self._known.get(key)
        self._known[key] = (old, new, region if known is None else known[2].in_common(region))

    def joined(self) -> list[tuple[State, State, PathCondition]]:
        """Return states that stand for all."""
        if len(self._known) > _MOST_EXITS:
            states, self._known = list(self._known.values()), {}
            for old, new, region in states:
                unlike = old.level, new.level, old.entered, new.entered, old.choices, new.choices
                self._put(unlike, after_opaque(_EXIT, old), after_opaque(_EXIT, new), region)
        return list(self._known.values())


class Explorer:
    """Compares two servers. `has_named`: whether one of them has named locations.

    `work` is the maximum number of operations to run, `done` the number that were run. `chooses`: whether requests of
    both sides came to the end of a script, where a location is chosen; `arrived` is what their URIs and arguments have
    in common, except for those that an operation equal on both sides led there. `is_uneven`: whether one side chooses a
    location more often than the other for requests that both answer alike, so that only that side may reach nginx's
    limit of ten. `matched` are the patterns by which requests were divided.
    """

    def __init__(
        self, old: SideRunner, new: SideRunner, live: Live, unfolding: Unfolding, work: int, *, has_named: bool
    ) -> None:
        self._old = old
        self._new = new
        self._live = live
        self._unfolding = unfolding
        self._work = work
        self._has_named = has_named
        self.done = 0
        self._searched, self._built = searches().work, searches().built
        self._unfolded = unfolding.work
        self._passed_by: list[Matches] = []
        self.matched = unfolding.matched
        self.is_uneven = False
        self.chooses = False
        self.arrived: PathCondition | None = None
        self.differences: list[Divergence] = []

    def compare(self, old: Program, new: Program, state: State, other: State, region: PathCondition) -> None:
        """Compare two programs. Their states must be equal, except for the block whose settings are in force."""
        known = len(self._passed_by)
        self._compare(old, new, state, other, region)
        del self._passed_by[known:]

    def _compare(self, old: Program, new: Program, state: State, other: State, region: PathCondition) -> None:
        """Go through two programs side by side. Equal parts are passed, and only parts that differ are executed."""
        over, over_there = behind_script(old), behind_script(new)
        for tag, first, last, start, end in self._aligned(old, new):
            if tag == "equal":
                for mine, theirs in zip(old[first:last], new[start:end], strict=True):
                    if mine.kind == "break":  # ends the script on both sides, whatever else stands in it
                        state, other = self._passed(mine, theirs, state, other)
                        mine, theirs = over[0], over_there[0]
                    if mine.kind == "locating":
                        self._arrive(state, self._not_taken_before(region))
                        return
                    if mine.kind in _ENDS:
                        self._compare_ends(mine, theirs, state, other, region)
                        return
                    if not self._is_passed_alike(mine, state, other):
                        self._chunk(((mine,), over), ((theirs,), over_there), state, other, region)
                    if takes_all(mine):
                        self._passed_by.append(Matches(state.uri, pattern_of(mine)))
                    state, other = self._passed(mine, theirs, state, other)
                continue
            pairs = _pairs(old[first:last], new[start:end])
            if pairs is not None:  # no request returns from a location, so only their bodies need to be compared
                for mine, theirs in pairs:
                    inside, beside = self._inside(mine, state, other, region)
                    self.compare(mine.body, theirs.body, *inside, beside)
                continue
            mine_rest, their_rest = (old[first:last], old[last:]), (new[start:end], new[end:])
            behind = self._chunk(mine_rest, their_rest, state, other, region)
            if behind is None:
                return
            state, other, region = behind

    def _aligned(self, old: Program, new: Program) -> Sequence[_Opcode]:
        """Return which parts of two programs are equal, as difflib opcodes.

        An `if` in the script of a location may bring other settings into force, so what follows it runs under settings
        that depend on the request. If such an `if` comes before a difference, everything from it to the last difference
        is therefore one part that differs.
        """
        matcher = SequenceMatcher(None, [item.key for item in old], [item.key for item in new], autojunk=False)
        opcodes: Sequence[_Opcode] = matcher.get_opcodes()
        unequal = [number for number, opcode in enumerate(opcodes) if opcode[0] != "equal"]
        if not unequal or any(operation.kind == "locating" for operation in old):
            return opcodes
        before, behind = opcodes[: unequal[-1] + 1], opcodes[unequal[-1] + 1 :]
        moves = self._old.compiler.moves
        for number, (tag, first, last, start, _) in enumerate(before):
            moving = next((at for at in range(first, last) if moves(old[at])), None) if tag == "equal" else None
            if moving is not None:
                parted = start + moving - first
                equal = ("equal", first, moving, start, parted)
                return [*before[:number], equal, ("replace", moving, before[-1][2], parted, before[-1][4]), *behind]
        return opcodes

    def _is_passed_alike(self, operation: Operation, state: State, other: State) -> bool:
        """Return whether an operation does the same on both sides under the settings in force."""
        mine, theirs = self._old.compiler, self._new.compiler
        if operation.kind in ("locate", "enter", "except"):
            return True
        if mine.handler(state.level) != theirs.handler(other.level) and may_end(operation):
            return False
        if mine.settings(state.level) == theirs.settings(other.level):
            return True
        if mine.answering(state.level) != theirs.answering(other.level) and may_answer(operation):
            return False
        return not self._old.steps.values.reads_settings(operation)

    def _passed(self, old: Operation, new: Operation, state: State, other: State) -> tuple[State, State]:
        """Return the states after an operation that both sides have. What it may change is unknown, but equal on both
        sides."""
        match old.kind:
            case "locate" | "except":
                return state, other
            case "enter" | "set" | "break":
                return self._done(self._old, old, state), self._done(self._new, new, other)
            case "opaque":
                return after_opaque(old, state), after_opaque(new, other)
        definitions = self._old.compiler.definitions, self._new.compiler.definitions
        return after_passing(old, state, definitions[0]), after_passing(new, other, definitions[1])

    def _done(self, side: SideRunner, operation: Operation, state: State) -> State:
        result = side.steps.do(operation, ProgramPoint((), state))
        return result.state if isinstance(result, ProgramPoint) else state

    def _inside(
        self, operation: Operation, state: State, other: State, region: PathCondition
    ) -> tuple[tuple[State, State], PathCondition]:
        """Return the states inside a location, and the requests that reach it."""
        pattern = pattern_of(operation)
        within = region.with_answer(Matches(state.uri, pattern), True)
        if operation.words[0] == "~":
            match = Match(state.uri, pattern)
            state, other = (side.with_match(match, group_names(pattern)) for side in (state, other))
        return (state, other), within

    def _compare_ends(self, old: Operation, new: Operation, state: State, other: State, region: PathCondition) -> None:
        """Compare equal ends of programs, whose settings may differ."""
        mine = self._old.steps.do(old, ProgramPoint((), state))
        theirs = self._new.steps.do(new, ProgramPoint((), other))
        assert isinstance(mine, Leaf)
        assert isinstance(theirs, Leaf)
        for part in self._parts(Pair(mine, theirs, region)):
            self._add(part)

    def _chunk(
        self,
        old: tuple[Program, Program],
        new: tuple[Program, Program],
        state: State,
        other: State,
        region: PathCondition,
    ) -> tuple[State, State, PathCondition] | None:
        """Compare parts of programs that differ, and everything that they lead to.

        Return the states after these parts, with the requests that get there on both sides; None if there are no such
        requests, or if all of them were followed to their end.
        """
        exits = _Exits(self._key)
        mine = ProgramPoint((ProgramCursor((*old[0], _EXIT)), ProgramCursor(old[1])), state)
        theirs = ProgramPoint((ProgramCursor((*new[0], _EXIT)), ProgramCursor(new[1])), other)
        reached = self._leaves(self._old, mine, region)
        for leaf, within in (part for each in reached for part in by_value(*each, state.uri)):
            begun = theirs.with_state(state_now(theirs.state, within.found)) if within.found else theirs
            for against, both in self._leaves(self._new, begun, within):
                if leaf.kind == against.kind == "exit" and self._key(leaf) == self._key(against):
                    exits.add(leaf.state, against.state, both)
                else:
                    self._follow((leaf, old[1]), (against, new[1]), both, exits)
        behind = exits.joined()
        for first, second, known in behind[1:]:
            self.compare(old[1], new[1], first, second, known)
        return behind[0] if behind else None

    def _follow(
        self, old: tuple[Leaf, Program], new: tuple[Leaf, Program], region: PathCondition, exits: _Exits
    ) -> None:
        """Compare two leaves. A leaf that is not an end is run further; each comes with the program that follows an
        `exit`. Where both are exits in equal states once the rows of maps are known, they are added to `exits`."""
        for part in self._parts(Pair(old[0], new[0], region), exits):
            self._follow_on(part, (old[1], new[1]), (_MOST_LOCATIONS, _MOST_LOCATIONS))

    def _follow_on(self, part: Pair, rest: tuple[Program, Program], most: tuple[int, int]) -> None:
        leaves = part.old, part.new
        side = _goes_on_at(leaves, most)
        if side is None:
            self._add(part)
            return
        left = tuple(number - (at == side and leaves[at].kind == "last") for at, number in enumerate(most))
        for leaf, within in self._behind(side, leaves[side], rest[side], part.region):
            ends = (leaf, part.new) if side == 0 else (part.old, leaf)
            for inner in self._parts(replace(part, region=within, old=ends[0], new=ends[1])):
                self._follow_on(inner, rest, (left[0], left[1]))

    def _parts(self, pair: Pair, exits: _Exits | None = None) -> Iterator[Pair]:
        """Yield the parts of a pair that differ, after dividing its requests by the rows of maps.

        `exits` receives the parts that leave a part of the programs in equal states; without it, there are none.
        """
        waiting = [with_found(pair)]
        while waiting:
            part = waiting.pop()
            if self._is_alike(part.old, part.new):
                if part.old.kind in _CHOOSING:
                    self._arrive(part.old.state, part.region)
                elif part.old.kind == "exit":
                    assert exits is not None
                    exits.add(part.old.state, part.new.state, part.region)
                if part.old.state.choices != part.new.state.choices:
                    self._add_uneven(part)
                continue
            division = self._unfolding.divided(part)
            self._spend(1)
            if division is None:
                yield part
                continue
            parts = []
            for each in division.parts:  # of a long map, the first ones may already be too much
                self._spend(0)
                parts.append(each)
            waiting += reversed(parts)
            if not division.is_complete:  # the map may have a value of an earlier lookup, which no row decides
                waiting.insert(0, replace(part, kept=division.symbol))

    def _behind(
        self, side: int, leaf: Leaf, rest: Program, region: PathCondition
    ) -> Iterator[tuple[Leaf, PathCondition]]:
        """Yield the leaves that follow one that is not an end."""
        runner = (self._old, self._new)[side]
        place = (
            ProgramPoint((ProgramCursor(rest),), leaf.state)
            if leaf.kind == "exit"
            else runner.steps.locating(leaf.state)
        )
        return self._leaves(runner, place, region)

    def _leaves(
        self, side: SideRunner, place: ProgramPoint, region: PathCondition
    ) -> Iterator[tuple[Leaf, PathCondition]]:
        """Yield the leaves that the requests of a region reach, each with the requests that reach it."""
        open_places = [(place, region)]
        while open_places:
            here, within = open_places.pop()
            self._spend(1)
            result = side.steps.step(side.steps.passed(here, within))
            if isinstance(result, Leaf):
                yield result, within
            elif isinstance(result, ProgramPoint):
                open_places.append((result, within))
            else:
                self._spend(_ASKING)
                open_places += self._asked(result, here, within)

    def _asked(
        self, question: Question, place: ProgramPoint, region: PathCondition
    ) -> list[tuple[ProgramPoint, PathCondition]]:
        """Return where the answers to a question lead, for those answers that requests of the region have.

        If the answer depends on a map, the requests are divided by its rows, and the question is asked again for each
        part.
        """
        if isinstance(question.atom, Matches):
            self.matched.add(question.atom.pattern)
        atom = atom_now(question.atom, region.found)
        # What a pattern captured of a value that is known now is known, too: it is replaced once, not in each question.
        found = region.found if atom != question.atom else {}
        answer = atom if isinstance(atom, bool) else region.answer(atom)
        if isinstance(atom, bool) or answer is not None:
            assert answer is not None
            within = region if isinstance(atom, bool) else with_answer(region, atom, answer)
            # The answer is recorded: when divided requests meet again, only recorded answers are kept.
            return [_led(question, answer, with_answer(within, question.atom, answer), found)]
        parts = self._unfolding.asked(atom, region, place.state)
        if parts is not None:
            return [(place.with_state(state), part) for part, state in reversed(parts)]
        return [_led(question, answer, with_answer(region, atom, answer), found) for answer in (False, True)]

    def _arrive(self, state: State, region: PathCondition) -> None:
        """Record requests that both sides choose a location for."""
        self.chooses = True
        if self.arrived is not None and not self.arrived.values:
            return
        unchanged = {
            symbol for symbol, now in ((Variable(URI), state.uri), (Variable(ARGS), state.args)) if symbol == now
        }
        known = PathCondition({subject: each for subject, each in region.values.items() if subject in unchanged})
        self._spend(sum(len(each.outside) for each in known.values.values()))
        self.arrived = known if self.arrived is None else self.arrived.in_common(known)

    def _spend(self, work: int) -> None:
        made, unfolded = searches(), self._unfolding.work
        self.done += work + made.work - self._searched + unfolded - self._unfolded
        self._searched, self._unfolded = made.work, unfolded
        if self.done > self._work or made.are_over:
            is_hard = made.hardest is not None and made.built - self._built > self.done // 2
            what = f"patterns such as {shown_pattern(made.hardest)} take too long" if is_hard else "too much differs"
            raise TooMuchError(f"{what} to compare all requests (budget steps)")

    def _add_uneven(self, pair: Pair) -> None:
        """Add requests that reach the limit of internal redirects by rewrites on the side that made more of them."""
        self.is_uneven = True
        side = 0 if pair.old.state.choices > pair.new.state.choices else 1
        waiting = [((pair.old, pair.new)[side], pair.region)]
        while waiting:
            leaf, region = waiting.pop()
            if leaf.kind != "last":
                continue
            if leaf.state.choices > _MOST_LOCATIONS:
                self._add(replace(pair, region=region), is_at_limit=True)
            else:
                waiting += self._behind(side, leaf, (), region)

    def _add(self, pair: Pair, *, is_at_limit: bool = False) -> None:
        """Add a difference if any request may show it."""
        region = self._not_taken_before(pair.region)
        if not region.is_empty:
            is_kept = pair.kept is not None
            self.differences.append(Divergence(region, pair.old, pair.new, is_kept=is_kept, is_at_limit=is_at_limit))
            if len(self.differences) >= MOST_DIFFERENCES:
                raise TooMuchError(f"the rest is not compared: {MOST_DIFFERENCES} differences may change an answer")

    def _not_taken_before(self, region: PathCondition) -> PathCondition:
        """Return a region without the requests that both sides had already answered alike."""
        for subject, known in region.values.items():
            inside = tuple(known.inside)
            taken = [atom for atom in self._passed_by if atom.subject == subject and overlap(atom.pattern, inside)]
            for atom in taken[:_MOST_TAKEN]:
                region = region.with_answer(atom, False)
        return region

    def _key(self, leaf: Leaf) -> object:
        return leaf.state.key(self._live, is_over=leaf.kind != "exit")

    def _is_alike(self, old: Leaf, new: Leaf) -> bool:
        """Return whether two leaves answer alike, or go on alike."""
        if old.kind != new.kind or old.state.entered != new.state.entered or not _are_equal(old.what, new.what):
            return False
        if old.kind in ("locating", "last", "exit"):
            return _are_equal(self._key(old), self._key(new))
        mine, theirs = self._old.compiler, self._new.compiler
        if old.kind == "end" or old.kind == "opaque":
            if mine.handler(old.state.level) != theirs.handler(new.state.level):
                return False
            # If a location is chosen again, or named ones may follow, a later handler may still replace the name.
            is_over = old.kind == "end" and not (old.state.is_rewritten or new.state.is_rewritten or self._has_named)
            if is_over and not mine.replaces_name(old.state.level):
                old, new = (replace(leaf, state=replace(leaf.state, is_stopped=False)) for leaf in (old, new))
            return _are_equal(self._key(old), self._key(new))
        if mine.answering(old.state.level) != theirs.answering(new.state.level):
            return False
        depends = mine.depends(old.state.level) or (old.kind == "return" and old.what[1] is not None)
        return _are_equal(self._key(old), self._key(new)) if depends else True


def shown_pattern(pattern: bytes | None) -> str:
    """Return a pattern in quotation marks, shortened if it is long."""
    text = (pattern or b"").decode("latin-1")
    return f'"{text}"' if len(text) <= _LONGEST_SHOWN else f'"{text[:_LONGEST_SHOWN]}..."'


def _are_equal(one: object, other: object) -> bool:
    """Return whether values are equal in every request."""
    return one == other or canonical(one) == canonical(other)


def _goes_on_at(leaves: tuple[Leaf, Leaf], most: tuple[int, int]) -> int | None:
    """Return the leaf to run further: an exit first, so that choices of a location meet and are compared."""
    for kinds in (("exit",), ("locating", "last")):
        for side in (0, 1):
            if leaves[side].kind in kinds and (most[side] or leaves[side].kind == "exit"):
                return side
    return None


def _led(
    question: Question, answer: bool, region: PathCondition, found: Mapping[Symbol, Symbol]
) -> tuple[ProgramPoint, PathCondition]:
    """Return where an answer leads, with the requests that give it and the values that are known there."""
    place = question.true() if answer else question.false()
    return (place.with_state(state_now(place.state, found)) if found else place), region


def _pairs(old: Program, new: Program) -> list[tuple[Operation, Operation]] | None:
    """Return pairs of locations that differ only inside; None if the parts differ otherwise."""
    if len(old) != len(new):
        return None
    pairs = list(zip(old, new, strict=True))
    alike = all(mine.kind == "locate" and mine.test == theirs.test for mine, theirs in pairs)
    return pairs if alike else None
