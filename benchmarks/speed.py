"""The time and memory of `nginxopt rewrite-to-map`, proof included, against `crossplane.parse` alone on the same file.

    python -m benchmarks.speed                            10,000, 100,000 and 1,000,000 rules of each mix
    python -m benchmarks.speed --sizes 10000 --mixes wild
    python -m benchmarks.speed --json                     the figures for a machine

Each figure is a median of whole processes, from their start to their end; the contenders run in turn.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.child import MEGABYTE, ChildError, Usage, medians, run
from benchmarks.mixes import MIXES, write

# Mix and rules: the largest ratio to crossplane, and megabytes at most. The ratios are 0.15 s, 3 s and 0.25 s where
# crossplane takes 0.31 s, 30.1 s and 0.22 s.
LIMITS = {
    ("literal", 10_000): (0.48, 80),
    ("literal", 100_000): (None, 300),
    ("literal", 1_000_000): (0.10, 700),
    ("wild", 10_000): (1.14, 80),
    ("wild", 100_000): (None, 300),
    ("kept", 10_000): (None, 80),
    ("kept", 100_000): (None, 300),
}
SIZES = "10000,100000,1000000"
START_LIMIT = 0.1

NGINXOPT = (sys.executable, "-m", "nginxopt")
# Without its checks of context and arguments crossplane is at its fastest.
CROSSPLANE = (
    sys.executable,
    "-c",
    "import crossplane, sys; crossplane.parse(sys.argv[1], single=True, check_ctx=False, check_args=False)",
)


@dataclass(frozen=True, slots=True)
class Result:
    """The resources of both on one file."""

    mix: str
    rules: int
    nginxopt: Usage
    crossplane: Usage | None

    @property
    def within(self) -> bool | None:
        """Whether the limits for this file hold; None if it has none. That of time needs crossplane."""
        if (self.mix, self.rules) not in LIMITS:
            return None
        ratio, megabytes = LIMITS[self.mix, self.rules]
        in_time = not (ratio and self.crossplane) or self.nginxopt.wall <= ratio * self.crossplane.wall
        return in_time and self.nginxopt.peak <= megabytes * MEGABYTE


def compare(mix: str, rules: int, rounds: int, folder: Path, *, reference: bool = True) -> Result:
    """Measure both on `rules` rules of a mix."""
    path, out = folder / "rules.conf", folder / "out"
    write(path, MIXES[mix](rules))
    command = (*NGINXOPT, "rewrite-to-map", str(path), "-o", str(out), "-q", "--context", "server")
    contenders = {"nginxopt": lambda: run(command, folder)}
    if reference:
        contenders["crossplane"] = lambda: run((*CROSSPLANE, str(path)), folder)
    usages = medians(contenders, rounds)
    return Result(mix, rules, usages["nginxopt"], usages.get("crossplane"))


def start(rounds: int, folder: Path) -> dict[str, Usage]:
    """Measure `nginxopt --version` and a Python that does nothing."""
    return medians(
        {
            "nginxopt --version": lambda: run((*NGINXOPT, "--version"), folder),
            "python -c pass": lambda: run((sys.executable, "-c", "pass"), folder),
        },
        rounds,
    )


def rounds_for(rules: int, asked: int | None) -> int:
    """Return how often to measure: the larger the file, the less noise there is in a run."""
    return asked or (7 if rules <= 10_000 else 3 if rules <= 100_000 else 1)


def rows(results: Sequence[Result]) -> Iterator[str]:
    """Yield a table: for each file the time, its share of crossplane's, the memory, and the time of one rule."""
    head = f"{'mix':<8} {'rules':>9} {'wall s':>8} {'CPU s':>8} {'MB':>6} {'us/rule':>8}"
    yield f"{head}  {'crossplane s':>12} {'ratio':>6}  limit"
    for result in results:
        usage, other = result.nginxopt, result.crossplane
        against = f"{other.wall:>12.2f} {usage.wall / other.wall:>6.2f}" if other else f"{'-':>12} {'-':>6}"
        verdict = {True: "held", False: "EXCEEDED", None: "-"}[result.within]
        yield (
            f"{result.mix:<8} {result.rules:>9,} {usage.wall:>8.3f} {usage.cpu:>8.3f} {usage.peak / MEGABYTE:>6.0f}"
            f" {usage.wall / result.rules * 1e6:>8.2f}  {against}  {verdict}"
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 if a limit is exceeded."""
    parser = argparse.ArgumentParser(prog="benchmarks.speed", description="Time nginxopt against crossplane.")
    parser.add_argument("--sizes", default=SIZES, help="numbers of rules (default: %(default)s)")
    parser.add_argument("--mixes", default=",".join(MIXES), help="kinds of rules (default: %(default)s)")
    parser.add_argument("--rounds", type=int, help="how often each is run (default: fewer for larger files)")
    parser.add_argument("--no-reference", action="store_true", help="leave crossplane, and so the limits of time, out")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    sizes = [int(size) for size in options.sizes.split(",")]
    results = []
    with tempfile.TemporaryDirectory(prefix="nginxopt-") as name:
        folder = Path(name)
        try:
            started = start(options.rounds or 15, folder)
            for mix in options.mixes.split(","):
                for size in sizes:
                    rounds = rounds_for(size, options.rounds)
                    results.append(compare(mix, size, rounds, folder, reference=not options.no_reference))
        except ChildError as error:
            print(f"speed: {error}", file=sys.stderr)
            return 70
    if options.json:
        starts = {what: asdict(usage) for what, usage in started.items()}
        print(json.dumps({"start": starts, "results": [asdict(result) for result in results]}, indent=2))
    else:
        for what, usage in started.items():
            print(f"{what:<20} {usage.wall * 1e3:>6.1f} ms {usage.peak / MEGABYTE:>6.0f} MB")
        print("", *rows(results), sep="\n")
    slow_start = started["nginxopt --version"].wall > START_LIMIT
    return int(slow_start or any(result.within is False for result in results))


if __name__ == "__main__":
    raise SystemExit(main())
