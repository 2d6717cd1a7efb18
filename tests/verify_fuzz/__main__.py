"""The fuzzer of pairs by hand:

    python -m tests.verify_fuzz --seconds 600 --seed 1

A site and the same site after an edit are compared. Where `verify` says that they are equivalent, requests are asked of
the models of both. What differs is printed; the status is 1.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter

from tests.verify_fuzz import maps
from tests.verify_fuzz.pairs import Figures, pair, play


def main() -> int:
    """Run from the command line; the status is 1 if `verify` was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.verify_fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, metavar="S", help="end after that time")
    parser.add_argument("--pairs", type=int, default=1 << 60, metavar="N", help="how many to compare")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="the number of the first pair")
    parser.add_argument("--requests", type=int, default=200, metavar="N", help="requests to each pair")
    parser.add_argument("--maps", action="store_true", help="compare small sites around maps")
    options = parser.parse_args()
    figures, reasons = Figures(), Counter[str]()
    started, number = time.monotonic(), options.first
    while time.monotonic() - started < options.seconds and number < options.first + options.pairs:
        seed = f"{options.seed}-{number}"
        if options.maps:
            maps.play(seed, figures)
        else:
            play(pair(random.Random(seed), options.seed, number), options.requests, figures, reasons)
        number += 1
    print(figures)
    for reason, count in reasons.most_common(15):
        print(f"{count:6} {reason}")
    return int(bool(figures.wrong))


if __name__ == "__main__":
    sys.exit(main())
