"""Runs hostile configurations through commands, and prints how many ended how, and what is wrong."""

from __future__ import annotations

import argparse
import math
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.fuzz.hostile.generate import KINDS
from tests.fuzz.hostile.play import COMMANDS, MEMORY, SECONDS, play


def main() -> int:
    """Run; return 1 if anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1_000)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="end after so many seconds")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--commands", default=",".join(COMMANDS))
    parser.add_argument("--least-memory", type=int, help="draw the MB of each run between so many and 512")
    parser.add_argument("--cpu", type=int, default=SECONDS, help="seconds of the processor for each run")
    options = parser.parse_args()
    kinds, commands = options.kinds.split(","), options.commands.split(",")
    _import_all()
    ends = time.monotonic() + options.seconds
    statuses: Counter[tuple[str, str]] = Counter()
    faults: Counter[str] = Counter()
    for run in range(options.runs):
        if time.monotonic() > ends:
            break
        seed, command = options.seed + run // len(commands), commands[run % len(commands)]
        kind = kinds[seed % len(kinds)]
        top = Path(tempfile.mkdtemp(prefix="hostile-"))
        try:
            outcome = play(seed, kind, command, top, _memory(run, options.least_memory), options.cpu)
        finally:
            shutil.rmtree(top, ignore_errors=True)
        statuses[command, outcome.status if outcome.status.isdigit() else "ended"] += 1
        if run % 500 == 499:
            print(f"{run + 1} runs", flush=True)
        if outcome.fault:
            faults[f"{kind} {command}: {outcome.fault}"] += 1
            print(f"seed {seed} {kind} {command}: {outcome.fault}", flush=True)
            print(outcome.output[-1_500:].decode(errors="replace"), flush=True)
    print(f"{sum(statuses.values())} runs")
    for (command, status), count in sorted(statuses.items()):
        print(f"  {command} {status}: {count}")
    for fault, count in faults.most_common():
        print(f"  FAULT {count}x {fault}")
    return int(bool(faults))


def _memory(run: int, least: int | None) -> int:
    """Return the bytes of memory of a run: all, or drawn, as often few as many."""
    if least is None:
        return MEMORY
    return int(math.exp(random.Random(run).uniform(math.log(least << 20), math.log(MEMORY))))


def _import_all() -> None:
    """Import what commands use, so that each fork has it."""
    import importlib

    from nginxopt.cli import _COMMANDS
    from nginxopt.fleet import judging, sources
    from nginxopt.lint.catalogue import catalogue
    from nginxopt.lsp import diagnostics, formatting

    assert all((judging, sources, diagnostics, formatting))
    catalogue()
    for name in _COMMANDS.values():
        importlib.import_module(name)


if __name__ == "__main__":
    sys.exit(main())
