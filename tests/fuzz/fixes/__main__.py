"""From the command line: cases one after the other, until there are as many as were asked for."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from nginxopt.system import nginx
from tests.fuzz.fixes import corpus, generate
from tests.fuzz.fixes.case import Case
from tests.fuzz.fixes.compare import as_it_is, without_connection
from tests.fuzz.fixes.minimise import minimised
from tests.fuzz.fixes.play import Stage
from tests.fuzz.fixes.show import reproduction
from tests.fuzz.fixes.trial import SELECTED, Fault, Trial, staged

ALL = ("--select", SELECTED)
_EACH = 2
"""How many faults of one look are made small."""


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz.fixes", description="configurations before and after fixes"
    )
    parser.add_argument("--configs", type=int, default=100, metavar="N", help="how many to make")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="the number of the first")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--nginx", default=None, metavar="PATH", help="the binary")
    parser.add_argument("--assume", default="", metavar="NAMES", help="premises that are declared")
    parser.add_argument("--kinds", default="", metavar="NAMES", help="the kinds of origins, all if not given")
    parser.add_argument("--ignore", default="", metavar="NAMES", help="rules whose fixes are not made")
    parser.add_argument("--corpus", type=Path, metavar="DIR", help="the files of this folder instead")
    parser.add_argument("--seconds", type=float, default=1e9, metavar="N", help="end after this long")
    parser.add_argument("--small", action="store_true", help="make what is found small")
    parser.add_argument("--findings", type=Path, metavar="FILE", help="where to add what is found")
    return parser.parse_args()


async def run(settings: argparse.Namespace) -> int:
    """Run all, and return 1 if something differs."""
    binary = nginx.find(settings.nginx)
    kinds = tuple(filter(None, settings.kinds.split(",")))
    base = [
        *(["--assume", settings.assume] if settings.assume else []),
        *(["--ignore", settings.ignore] if settings.ignore else []),
    ]
    looks: Counter[tuple[object, ...]] = Counter()
    ends = time.monotonic() + settings.seconds
    async with staged(binary) as stage:
        trial = Trial(stage, base, without_connection if settings.assume else as_it_is)
        for number, case in enumerate(_cases(settings, stage, kinds)):
            if time.monotonic() > ends:
                break
            options = ALL if number % 4 == 3 and not settings.ignore else ()
            fault = await trial.check(case, options)
            if fault:
                trial.figures.faults += 1
                await _tell(trial, fault, options, looks, settings)
            if number % 200 == 199:
                print(f"[{number + 1}, {time.process_time():.0f} s] {trial.figures}", flush=True)
        print(trial.figures)
        for look, count in looks.most_common():
            print(f"{count:5} {look}")
        return int(bool(trial.figures.faults))


def _cases(settings: argparse.Namespace, stage: Stage, kinds: tuple[str, ...]) -> Iterator[Case]:
    if settings.corpus:
        return corpus.cases(settings.corpus, stage, settings.seed, settings.first, settings.configs, kinds or None)
    return generate.cases(settings.seed, settings.first, settings.configs, stage.binary, kinds or None)


async def _tell(
    trial: Trial,
    fault: Fault,
    options: tuple[str, ...],
    looks: Counter[tuple[object, ...]],
    settings: argparse.Namespace,
) -> None:
    culprits = await trial.culprits(fault)
    look = (", ".join(culprits) or "together: " + ", ".join(sorted(fault.made)), tuple(sorted(fault.kinds)))
    looks[look] += 1
    print(f"{fault.case.name}: {look[0]} changes {', '.join(look[1])}", flush=True)
    if looks[look] == 1:
        print(
            "\n".join(
                f"    {difference.kind} {difference.which}: {trial.shown(difference.told.encode())}"
                for difference in fault.differences[:3]
            )
        )
    if looks[look] > _EACH or not settings.small:
        return
    if culprits:
        options = ("--select", culprits[0])
    small = await minimised(trial, fault, options)
    text = reproduction(trial, small, look[0])
    print(text, flush=True)
    if settings.findings:
        with settings.findings.open("a") as file:
            file.write(text + "\n")


if __name__ == "__main__":
    sys.exit(asyncio.run(run(_arguments())))
