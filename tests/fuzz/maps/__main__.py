"""The fuzzer by hand:

    python -m tests.fuzz.maps --requests 1000000 --seed 1 --keep FAILURES

A case is a map with regular expressions, which a seed and a number make. It is compiled and proved, faults are put into
what was emitted, and all that the proof accepts is compared on nginx with the map as it was, for many strings.
`--only SEED-NUMBER` runs one case.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from nginxopt.system import nginx
from tests.fuzz.maps.cases import generate
from tests.fuzz.maps.check import Examined, compiled, examine, minimised, report
from tests.fuzz.maps.sides import JIT, compare
from tests.support import NGINXES


class Figures:
    """What was done and found."""

    def __init__(self) -> None:
        self.requests = self.cases = self.compiled = self.mutants = self.accepted = 0
        self.refused = 0
        self.failures: Counter[str] = Counter()

    def __str__(self) -> str:
        failures = ", ".join(f"{count} {kind}" for kind, count in self.failures.items()) or "no failures"
        return (
            f"{self.requests:,} requests, {self.compiled:,} of {self.cases:,} maps compiled ({self.refused} refused by"
            f" nginx), {self.mutants:,} mutants of which {self.accepted:,} were accepted: {failures}"
        )


def main() -> int:
    """Run from the command line; the status is 1 if something differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.maps", description=__doc__)
    parser.add_argument("--requests", type=int, default=100_000, metavar="N", help="how many to compare")
    parser.add_argument("--subjects", type=int, default=400, metavar="N", help="strings to look up in each map")
    parser.add_argument("--mutants", type=int, default=20, metavar="N", help="faults to put into each text")
    parser.add_argument("--batch", type=int, default=25, metavar="N", help="maps on one nginx")
    parser.add_argument("--seconds", type=float, default=1e9, metavar="S", help="end after that time")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="the number of the first case")
    parser.add_argument("--only", metavar="SEED-NUMBER", help="run one case")
    parser.add_argument("--nginx", action="append", metavar="PATH", help="binaries, asked in turn")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where to write what differs")
    options = parser.parse_args()
    binaries = [nginx.find(path) for path in options.nginx] if options.nginx else list(NGINXES)
    seed, number = map(int, options.only.split("-")) if options.only else (options.seed, options.first)
    figures, started, rounds = Figures(), time.monotonic(), 0
    while figures.requests < options.requests and time.monotonic() - started < options.seconds:
        count = 1 if options.only else options.batch
        examined = [_examined(seed, number + index, options.subjects, options.mutants) for index in range(count)]
        number += count
        for binary in binaries if options.only else [binaries[rounds % len(binaries)]]:
            _compare(binary, examined, JIT if rounds % 5 == 4 else b"", figures, options.keep)
        rounds += 1
        if options.only:
            break
        if rounds % 10 == 0:
            print(f"[{time.monotonic() - started:.0f} s, case {number}] {figures}", flush=True)
    print(figures)
    return int(bool(figures.failures))


def _examined(seed: int, number: int, subjects: int, mutants: int) -> Examined:
    return examine(generate(seed, number), random.Random(f"{seed}-{number}-asked"), subjects, mutants)


def _compare(
    binary: nginx.Binary, examined: Sequence[Examined], main: bytes, figures: Figures, keep: Path | None
) -> None:
    requests, differences, refused = compare(binary, [trial for result in examined for trial in result.trials], main)
    figures.requests += requests
    figures.refused += len(refused)
    for result in examined:
        figures.cases += 1
        figures.compiled += bool(result.trials)
        figures.mutants += result.mutants
        figures.accepted += max(len(result.trials) - 1, 0)
        if result.refuted:
            _tell(figures, "refuted", f"{result.case.name}: {result.refuted}", keep, result.case.name)
    seen: set[tuple[str, bytes]] = set()
    for difference in differences:
        case, after = difference.trial.case, difference.trial.after
        if (case.name, after) not in seen:
            seen.add((case.name, after))
            kind = "refused" if difference.subject is None else "differs"
            kind += "" if compiled(case) == after else " (a mutant that the proof accepts)"
            small = difference
            if figures.failures[kind] < 5:
                small = minimised(binary, difference, main)
            _tell(figures, kind, main.decode() + report(binary, small), keep, case.name)


def _tell(figures: Figures, kind: str, text: str, keep: Path | None, name: str) -> None:
    figures.failures[kind] += 1
    print(f"==== {kind}: {text[:3000]}", flush=True)
    if keep:
        keep.mkdir(parents=True, exist_ok=True)
        (keep / f"{name} {kind}.txt".replace(" ", "-")).write_text(text, encoding="latin-1")


if __name__ == "__main__":
    sys.exit(main())
