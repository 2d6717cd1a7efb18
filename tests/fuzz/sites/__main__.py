"""The fuzzer by hand:

    python -m tests.fuzz.sites --seconds 600 --seed 1 --nginx /usr/sbin/nginx --keep FAILURES
    python -m tests.fuzz.sites --corpus fixtures/corpus
    python -m tests.fuzz.sites --mistakes --seconds 60

A site is made by a seed and a number. nginx runs many of them at once and answers requests; the model says what
becomes of each request. What differs is made small and printed with all that is needed to see it again. What the model
does not know is counted by its reasons. With a corpus, probes go to public configurations instead. With `--mistakes`
each site gets one, and what `nginx -t` refuses must be what the model refuses.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from nginxopt.system import nginx
from tests.fuzz.sites import refusals
from tests.fuzz.sites.batch import made
from tests.fuzz.sites.play import Difference, Figures, minimal, play, reproduction
from tests.fuzz.sites.stage import Stage

_MEMORY = "/dev/shm"


def main() -> int:
    """Run from the command line; the status is 1 if the model and nginx differ."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.sites", description=__doc__)
    parser.add_argument("--requests", type=int, default=1 << 60, metavar="N", help="how many to compare")
    parser.add_argument("--seconds", type=float, default=60.0, metavar="S", help="end after that time")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="the number of the first site")
    parser.add_argument("--sites", type=int, default=100, metavar="N", help="how many run at once")
    parser.add_argument("--each", type=int, default=60, metavar="N", help="requests to each site")
    parser.add_argument("--nginx", action="append", metavar="PATH", help="binaries, asked in turn")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where to write what differs")
    parser.add_argument(
        "--small", type=int, default=3, metavar="N", help="how many differences of a kind to make small"
    )
    parser.add_argument("--corpus", type=Path, metavar="DIR", help="a folder of public configurations with index.tsv")
    parser.add_argument("--mistakes", action="store_true", help="compare what is refused")
    options = parser.parse_args()
    if os.access(_MEMORY, os.W_OK | os.X_OK):
        tempfile.tempdir = _MEMORY  # a disk takes longer to remove folders than nginx runs
    binaries = [nginx.find(path) for path in options.nginx or ["nginx"]]
    if options.corpus:
        from tests.fuzz.sites.corpus import report

        return report(options.corpus, binaries[0], options.seed, options.each)
    if options.mistakes:
        return _mistakes(options, binaries)
    return _fuzz(options, binaries)


def _mistakes(options: argparse.Namespace, binaries: list[nginx.Binary]) -> int:
    differing = 0
    for binary in binaries:
        with Stage(binary) as stage:
            mistakes = refusals.play(stage, options.seed, range(options.first, 1 << 30), options.seconds)
        print(f"{binary}: {mistakes}")
        differing += mistakes.differing
    return int(bool(differing))


def _fuzz(options: argparse.Namespace, binaries: list[nginx.Binary]) -> int:
    figures, shown = Figures(), Counter[str]()
    started = time.monotonic()
    number, turn = options.first, 0
    while figures.requests < options.requests and time.monotonic() - started < options.seconds:
        with Stage(binaries[turn % len(binaries)]) as stage:
            batch = made(options.seed, number, options.sites, stage.binary.version)
            for difference in play(stage, batch, options.seed, options.each, figures):
                _show(stage, difference, shown, options.small, options.keep)
        number, turn = number + options.sites, turn + 1
        print(f"[{time.monotonic() - started:.0f} s] {str(figures).partition(chr(10))[0]}", flush=True)
    print(figures)
    return int(bool(figures.differing))


def _show(stage: Stage, difference: Difference, shown: Counter[str], most: int, keep: Path | None) -> None:
    shown[difference.kind] += 1
    if shown[difference.kind] > most:
        return
    text = reproduction(stage, minimal(stage, difference))
    print(text, flush=True)
    if keep:
        keep.mkdir(parents=True, exist_ok=True)
        (keep / f"{difference.batch.sites[difference.index].name}-{shown.total()}.txt").write_text(text)


if __name__ == "__main__":
    sys.exit(main())
