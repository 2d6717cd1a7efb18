"""Compiles a case and proves what comes of it; what holds is compared on nginx by `sides`."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from nginxopt import _native
from nginxopt.system import nginx
from tests.fuzz.maps.cases import Case
from tests.fuzz.maps.mutants import mutant
from tests.fuzz.maps.sides import AFTER, BEFORE, Difference, Trial, compare
from tests.fuzz.minimise import fewer, in_turn, minimise

STEM = "nxo_"


@dataclass(slots=True)
class Examined:
    """What became of a case before nginx was asked: the trials to make, and why the proof failed, if it did."""

    case: Case
    trials: list[Trial] = field(default_factory=list)
    refuted: str = ""
    mutants: int = 0


def compiled(case: Case) -> bytes | None:
    """Return what takes the place of a map, its variable being `AFTER`; None if the map stays."""
    result = _native.compile_map(case.block(AFTER), stem=STEM, as_large=case.as_large)
    if isinstance(result, _native.StayingMap):
        return None
    return case.compiled(AFTER, result.maps, result.default, result.guard)


def holds(case: Case, after: bytes) -> str:
    """Return why the proof does not hold; nothing if it does."""
    proof = _native.prove_map(case.block(AFTER), after)
    return "" if proof.holds else f"{proof.refutation} {proof.counterexample!r}"


def examine(case: Case, draw: random.Random, subjects: int, mutants: int) -> Examined:
    """Compile a case, prove it, and put faults into it that the proof does not see."""
    examined = Examined(case)
    try:
        after = compiled(case)
    except BaseException as panic:  # a panic of the core is no Exception
        if isinstance(panic, KeyboardInterrupt):
            raise
        examined.refuted = f"panic: {panic}"
        return examined
    if after is None:
        return examined
    strings = case.subjects(draw, subjects, after)
    examined.refuted = holds(case, after)
    examined.trials.append(Trial(case, after, strings))
    for _ in range(mutants):
        wrong = mutant(draw, after)
        if wrong != after:
            examined.mutants += 1
            if not holds(case, wrong):
                examined.trials.append(Trial(case, wrong, strings))
    return examined


def minimised(binary: nginx.Binary, difference: Difference, main: bytes = b"", attempts: int = 60) -> Difference:
    """Return a difference of fewer rows that the compiler makes, if that one is of the compiler."""
    trial = difference.trial
    if difference.subject is None or compiled(trial.case) != trial.after:
        return difference
    number = trial.subjects.index(difference.subject)
    later = trial.subjects[(number + len(trial.subjects) // 2) % len(trial.subjects)]
    subjects = [difference.subject, later]
    sizes = [len(trial.case.rows) >> halved for halved in range(1, len(trial.case.rows).bit_length())]
    reductions = [in_turn(partial(_without_rows, size=size)) for size in sizes]
    return minimise(trial.case, difference, reductions, lambda case: _again(binary, case, subjects, main), attempts)[1]


def _without_rows(case: Case, size: int) -> Iterator[Case]:
    return (replace(case, rows=rows) for rows in fewer(case.rows, size))


def _again(binary: nginx.Binary, case: Case, subjects: Sequence[bytes], main: bytes) -> Difference | None:
    after = compiled(case) if case.regexes else None
    if after is None:
        return None
    _, differences, _ = compare(binary, [Trial(case, after, subjects)], main)
    return next((difference for difference in differences if difference.subject == subjects[0]), None)


def report(binary: nginx.Binary, difference: Difference) -> str:
    """Return all that is needed to see a difference again."""
    case = difference.trial.case
    return (
        f"{case.name} ({case.profile}) on {binary}: {difference.subject!r}\n"
        f"  before {difference.before!r}\n  after  {difference.after!r}\n"
        f"{case.block(BEFORE).decode('latin-1')}--- after\n{difference.trial.after.decode('latin-1')}"
    )
