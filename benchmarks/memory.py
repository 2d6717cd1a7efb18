"""The resources of nginx for rules: memory of a worker and the time of `nginx -t`, original against compiled.

    python -m benchmarks.memory                            10,000 and 100,000 rules
    python -m benchmarks.memory --sizes 819 --mixes wild
    python -m benchmarks.memory --json                     the figures for a machine

Medians over rounds in which both run in turn. Needs nginx, and Linux for the memory (smaps_rollup in proc(5)).
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks.child import MEGABYTE, medians, run
from benchmarks.mixes import MIXES
from nginxopt.bench.rewrite_rules import Parts, fragment
from nginxopt.errors import NginxoptError
from nginxopt.system import nginx

START_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Load:
    """The resources of one configuration: bytes of a worker that has just started, and CPU seconds of `nginx -t`."""

    pss: float
    rss: float
    test: float


@dataclass(frozen=True, slots=True)
class Result:
    """The resources of the original and the compiled rules."""

    mix: str
    rules: int
    original: Load
    compiled: Load

    @property
    def holds(self) -> bool:
        """Whether compiled rules take no more of any resource."""
        return self.compiled.pss <= self.original.pss and self.compiled.test <= self.original.test


def compare(binary: nginx.Binary, mix: str, rules: int, rounds: int) -> Result:
    """Measure `rules` rules of a mix, as they are and compiled."""
    text = b"".join(MIXES[mix](rules))
    forms = {"original": Parts(b"", text), "compiled": fragment([text])}
    memory: dict[str, list[tuple[int, int]]] = {name: [] for name in forms}
    for _ in range(rounds):
        for name, parts in forms.items():
            memory[name].append(worker(binary, parts))
    seconds = tests(binary, forms, rounds)
    loads = {
        name: Load(median(pss for pss, _ in taken), median(rss for _, rss in taken), seconds[name])
        for name, taken in memory.items()
    }
    return Result(mix, rules, loads["original"], loads["compiled"])


def worker(binary: nginx.Binary, parts: Parts) -> tuple[int, int]:
    """Return the proportional and the resident size of nginx with these parts, in bytes."""
    with nginx.Instance(binary, servers=[parts.server], http=parts.http, start_seconds=START_SECONDS) as instance:
        rollup = Path(f"/proc/{instance.pid}/smaps_rollup").read_text()
    sizes = dict(re.findall(r"^(\w+): +(\d+) kB", rollup, re.MULTILINE))
    return int(sizes["Pss"]) * 1024, int(sizes["Rss"]) * 1024


def tests(binary: nginx.Binary, forms: dict[str, Parts], rounds: int) -> dict[str, float]:
    """Return the CPU seconds of `nginx -t` for each form."""
    with nginx.private_prefix(dict.fromkeys((f"{name}/temp/x" for name in forms), b"")) as prefix:
        contenders = {}
        for name, parts in forms.items():
            (prefix / name / "nginx.conf").write_bytes(nginx.configuration([parts.server], http=parts.http))
            command = [*binary.command(prefix / name), "-t"]
            contenders[name] = partial(run, command, prefix / name)
        return {name: usage.cpu for name, usage in medians(contenders, rounds).items()}


def rows(results: Sequence[Result]) -> Iterator[str]:
    """Yield a table with a line for each form of each file."""
    yield f"{'mix':<8} {'rules':>9} {'form':<9} {'PSS MB':>8} {'RSS MB':>8} {'nginx -t s':>11}  not above"
    for result in results:
        for name, load in (("original", result.original), ("compiled", result.compiled)):
            verdict = "" if name == "original" else "held" if result.holds else "EXCEEDED"
            yield (
                f"{result.mix:<8} {result.rules:>9,} {name:<9} {load.pss / MEGABYTE:>8.1f} {load.rss / MEGABYTE:>8.1f}"
                f" {load.test:>11.3f}  {verdict}"
            )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 if compiled rules take more than the original."""
    parser = argparse.ArgumentParser(prog="benchmarks.memory", description="Measure what nginx takes to hold rules.")
    parser.add_argument("--nginx", metavar="PATH", help="the nginx binary (default: the one on PATH)")
    parser.add_argument("--sizes", default="10000,100000", help="numbers of rules (default: %(default)s)")
    parser.add_argument("--mixes", default="literal,wild", help="kinds of rules (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="how often each is run (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    try:
        binary = nginx.find(options.nginx)
        results = [
            compare(binary, mix, int(size), options.rounds)
            for mix in options.mixes.split(",")
            for size in options.sizes.split(",")
        ]
    except NginxoptError as error:
        print(f"memory: {error}", file=sys.stderr)
        return error.exit_code
    if options.json:
        print(json.dumps([asdict(result) for result in results], indent=2))
    else:
        print(*rows(results), sep="\n")
    return int(not all(result.holds for result in results))


if __name__ == "__main__":
    raise SystemExit(main())
