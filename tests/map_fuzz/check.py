"""Compiles a case and proves what comes of it; what holds is compared on nginx by `sides`."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from nginxopt import _native
from nginxopt.system import nginx
from tests.map_fuzz.cases import Case
from tests.map_fuzz.mutants import mutant
from tests.map_fuzz.sides import AFTER, BEFORE, Difference, Trial, compare

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
    best = difference
    size = len(trial.case.rows) // 2
    while size and attempts > 0:
        start = 0
        while start < len(best.trial.case.rows) and attempts > 0:
            attempts -= 1
            case = best.trial.case.without(range(start, start + size))
            smaller = _again(binary, case, [difference.subject, later], main)
            if smaller:
                best = smaller
            else:
                start += size
        size //= 2
    return best


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
