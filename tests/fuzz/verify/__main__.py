"""The fuzzer of pairs by hand:

    python -m tests.fuzz.verify --pairs 100000 --seed 1 --nginx /usr/sbin/nginx --nginx /opt/nginx --workers 2
    python -m tests.fuzz.verify --maps --seconds 600 --keep FAULTS
    python -m tests.fuzz.verify --scripts --seconds 600 --keep FAULTS
    python -m tests.fuzz.verify --captures --seconds 600 --keep FAULTS
    python -m tests.fuzz.verify --includes --seconds 600 --keep FAULTS
    python -m tests.fuzz.verify --unread --seconds 600 --keep FAULTS

Sites and the same sites after edits are compared. Where `verify` says that two are equivalent, requests are asked of
nginx with one and with the other; where it says that they are different, its witness is. What is wrong is printed with
all that is needed to see it again; the status is 1.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from functools import partial
from itertools import count, islice, takewhile
from pathlib import Path

from nginxopt.system import nginx
from nginxopt.verify import Verification, comparing
from tests.fuzz.sites.around import http_without_logs
from tests.fuzz.sites.stage import Stage
from tests.fuzz.verify import by_nginx, captures, includes, maps, scripts, sites, unread
from tests.fuzz.verify.case import Figures

_MEMORY = "/dev/shm"


def main() -> int:
    """Run from the command line; the status is 1 if `verify` was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.verify", description=__doc__)
    parser.add_argument("--pairs", type=int, default=1 << 60, metavar="N", help="how many to compare at least")
    parser.add_argument("--seconds", type=float, default=60.0, metavar="S", help="end after that time")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="the number of the first group of sites")
    parser.add_argument("--sites", type=int, default=40, metavar="N", help="how many are in a group, in one nginx")
    parser.add_argument("--edits", type=int, default=10, metavar="N", help="how many times each is edited")
    parser.add_argument("--requests", type=int, default=100, metavar="N", help="requests to each site")
    parser.add_argument("--maps", action="store_true", help="compare small sites around maps")
    parser.add_argument("--scripts", action="store_true", help="compare small sites around scripts")
    parser.add_argument("--captures", action="store_true", help="compare small sites around captures")
    parser.add_argument("--includes", action="store_true", help="compare small sites with missing includes")
    parser.add_argument("--unread", action="store_true", help="compare sites whose unread files are hostile")
    parser.add_argument("--unaided", action="store_true", help="let verify try no requests that are merely likely")
    parser.add_argument("--nginx", action="append", metavar="PATH", help="binaries, asked in turn")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="how many groups are played at once")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="where to write what is wrong, too")
    options = parser.parse_args()
    if os.access(_MEMORY, os.W_OK | os.X_OK):
        tempfile.tempdir = _MEMORY
    if options.unaided:
        for name in ("probes", "of_locations"):
            setattr(comparing, name, lambda *_: iter(()))
    if options.includes or options.unread:  # which have only what was called equivalent while the files were missing
        setattr(by_nginx, "verify", lambda *_: Verification(None, (), 1, 0, ()))  # noqa: B010 # not exported
    figures = Figures()
    started = time.monotonic()
    for played, faults in _played(options, started + options.seconds):
        figures.add(played)
        for fault in faults:
            print(fault, flush=True)
            if options.keep:
                with options.keep.open("a") as file:
                    file.write(f"{fault}\n\n")
        print(f"[{time.monotonic() - started:.0f} s] {figures}", flush=True)
        if figures.pairs >= options.pairs:
            break
    for reason, number in figures.reasons.most_common(40):
        print(f"{number:7,} {reason}")
    return int(figures.is_wrong)


def _played(options: argparse.Namespace, end: float) -> Iterator[tuple[Figures, list[str]]]:
    """Yield what comes out of groups until the time is over."""
    numbers = takewhile(lambda _: time.monotonic() < end, count(options.first))
    play = partial(_play, options)
    if options.workers == 1:
        yield from map(play, numbers)
        return
    with ProcessPoolExecutor(options.workers, multiprocessing.get_context("fork")) as pool:
        running = {pool.submit(play, number) for number in islice(numbers, options.workers)}
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            running |= {pool.submit(play, number) for number in islice(numbers, len(done))}
            yield from (future.result() for future in done)


def _play(options: argparse.Namespace, group: int) -> tuple[Figures, list[str]]:
    """Play a group of sites; where that fails, the others go on."""
    try:
        return _played_group(options, group)
    except Exception:
        return Figures(failed=1), [f"FAILED group {group}\n{traceback.format_exc()}"]


def _played_group(options: argparse.Namespace, group: int) -> tuple[Figures, list[str]]:
    """Play a group of sites with one of the binaries."""
    binaries = [nginx.find(path) for path in options.nginx or ["nginx"]]
    around = http_without_logs(random.Random(f"{options.seed} {group} http"))
    numbers = range(group * options.sites, (group + 1) * options.sites)
    with Stage(binaries[group % len(binaries)]) as stage:
        if options.unread:
            around = unread.AROUND
            drawn = (unread.cases(options.seed, number, options.edits) for number in numbers)
            cases = [each for made in drawn for each in made]
        elif options.includes:
            around = unread.AROUND
            made = (includes.case(options.seed, number, options.edits) for number in numbers)
            cases = [each for each in made if each.edited]
        elif options.maps or options.scripts or options.captures:
            small = maps if options.maps else scripts if options.scripts else captures
            cases = [small.case(options.seed, number, options.edits) for number in numbers]
        else:
            version = stage.binary.version
            cases = [sites.case(options.seed, number, version, options.edits, options.requests) for number in numbers]
        return by_nginx.play(stage, cases, around)


if __name__ == "__main__":
    sys.exit(main())
