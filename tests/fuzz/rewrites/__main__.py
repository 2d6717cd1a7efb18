"""The fuzzer by hand:

    python -m tests.fuzz.rewrites --requests 1000000 --seed 1 --nginx /usr/sbin/nginx --keep FAILURES

A case is a whole configuration, which a seed and a number make: nginx runs on it, the real command line rewrites it,
nginx runs on the result, and both get the same requests. What must hold is in `check.py`. What fails is made small
and printed with all that is needed to see it again; `--only SEED-NUMBER` runs one case.

    python -m tests.fuzz.rewrites --lists FOLDER --per-case 20000 --nginx /usr/sbin/nginx

With `--lists`, cases are the lists in a folder, and lists drawn from the shapes of real ones (`lists.py`).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from nginxopt.system import nginx
from tests.fuzz.rewrites import lists
from tests.fuzz.rewrites.check import Outcome, check
from tests.fuzz.rewrites.generate import Case, generate
from tests.fuzz.rewrites.minimise import minimised, reproduction
from tests.fuzz.rewrites.sides import Bench


class Figures:
    """What was done and found."""

    def __init__(self) -> None:
        self.requests = self.cases = self.compared = self.moved = self.grouped = self.chained = self.unstable = 0
        self.located = 0
        self.slowest = 0.0
        self.skipped: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        self.features: Counter[str] = Counter()

    def count(self, case: Case, outcome: Outcome) -> None:
        """Add a case; its features count where a rule of it moved."""
        self.cases += 1
        self.requests += outcome.requests
        self.compared += bool(outcome.requests)
        self.moved += outcome.moved
        self.grouped += outcome.grouped
        self.chained += outcome.chained
        self.located += outcome.located
        self.slowest = max(self.slowest, outcome.slowest)
        if outcome.skipped:
            self.skipped[outcome.skipped] += 1
        if outcome.moved and outcome.requests:
            self.features.update(case.features)

    def __str__(self) -> str:
        lines = [
            f"{self.requests:,} requests to {self.compared:,} of {self.cases:,} configurations, {self.moved:,} rules"
            f" moved, {self.grouped:,} of them in groups, {self.chained:,} conditions of chains, {self.located:,}"
            f" regex locations, slowest command"
            f" {self.slowest:.1f} s, {self.failures.total()} failures, {self.unstable} unstable",
            *(f"  {count:6,} skipped: {why}" for why, count in self.skipped.most_common()),
            *(f"  {count:6,} failures: {kind}" for kind, count in self.failures.most_common()),
        ]
        return "\n".join(lines)


def main() -> int:
    """Run from the command line; the status is 1 if something does not hold."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.rewrites", description=__doc__)
    parser.add_argument("--requests", type=int, default=100_000, metavar="N", help="how many to compare")
    parser.add_argument("--per-case", type=int, default=800, metavar="N", help="requests to each configuration")
    parser.add_argument("--seconds", type=float, default=1e9, metavar="S", help="end after that time")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="the number of the first case")
    parser.add_argument("--only", metavar="SEED-NUMBER", help="run one case")
    parser.add_argument("--nginx", action="append", metavar="PATH", help="binaries, asked in turn")
    parser.add_argument("--lists", type=Path, metavar="DIR", help="compare the lists in a folder, and drawn ones")
    parser.add_argument("--rows", type=int, default=2_000, metavar="N", help="the most rows of a drawn list")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where to write what fails")
    parser.add_argument("--small", type=int, default=3, metavar="N", help="how many failures of a kind to make small")
    parser.add_argument(
        "--features", action="store_true", help="print how often each feature occurred with a moved rule"
    )
    options = parser.parse_args()
    figures = Figures()
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="nginxopt-fuzz-") as folder:
        binaries = [nginx.find(path) for path in options.nginx or ["nginx"]]
        for index, _ in enumerate(binaries):
            (Path(folder) / str(index)).mkdir()
        benches = [Bench(Path(folder) / str(index), binary) for index, binary in enumerate(binaries)]
        for bench in benches:
            bench.__enter__()
        number = options.first
        seed = options.seed
        if options.only:
            seed, number = map(int, options.only.split("-"))
        files = sorted(path for path in options.lists.rglob("*") if path.is_file()) if options.lists else []
        found = lists.cases(files, seed, options.rows, options.per_case)
        while figures.requests < options.requests and time.monotonic() - started < options.seconds:
            bench = benches[number % len(benches)]
            case = next(found) if options.lists else generate(seed, number, bench.binary.version, options.per_case)
            outcome = check(bench, case)
            figures.count(case, outcome)
            if outcome.failure is not None:
                _failed(bench, case, outcome, figures, options.keep, options.small)
            number += 1
            if options.only:
                break
            if figures.cases % 100 == 0:
                print(f"[{time.monotonic() - started:.0f} s] {figures}", flush=True)
        for bench in benches:
            bench.__exit__()
    print(figures)
    if options.features:
        print("\n".join(f"  {count:6,} {name}" for name, count in sorted(figures.features.items())))
    return int(bool(figures.failures))


def _failed(bench: Bench, case: Case, outcome: Outcome, figures: Figures, keep: Path | None, small: int) -> None:
    """Make the case small and print it; one that does not fail again is counted as unstable."""
    assert outcome.failure is not None
    kind = outcome.failure.kind
    if figures.failures[kind] >= small:
        print(f"==== {case.name} {bench.binary}: {kind}: {outcome.failure.text[:200]}", flush=True)
        figures.failures[kind] += 1
        return
    smallest = minimised(bench, case, outcome.failure)
    if smallest is None:
        figures.unstable += 1
        print(f"==== {case.name} {bench.binary}: {kind} is unstable: {outcome.failure.text[:600]}", flush=True)
        return
    figures.failures[kind] += 1
    text = f"{bench.binary}, seed and number {reproduction(*smallest)}"
    print(f"==== {text}", flush=True)
    if keep:
        keep.mkdir(parents=True, exist_ok=True)
        (keep / f"{case.name}.txt").write_text(text)


if __name__ == "__main__":
    sys.exit(main())
