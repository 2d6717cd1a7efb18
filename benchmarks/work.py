"""The work of planning and proving: steps and memory against what a list of its size may take.

    python -m benchmarks.work                                drawn lists of up to 50,000 rows (see `shapes`)
    python -m benchmarks.work --rows 2000 --seeds 40         smaller ones, more of them
    python -m benchmarks.work FILE FILE                      the maps of these files, or their rows as a map

For each list, a line: rows, bytes, the seconds of plan and proof, nanoseconds per step, steps per row, the share of the
steps that the list may take, bytes held per byte of the list, and their share. `rust/src/work.rs` has the figures by
which its constants were chosen.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TypeVar

from benchmarks import shapes
from nginxopt import _native, load_text
from nginxopt.config import Config
from nginxopt.errors import InputError
from nginxopt.rewrite.kinds.maps.reading import in_map, read
from nginxopt.text import Source

LEAST_STEPS, STEPS = 10_000_000, 8
LEAST_HELD, HELD = 64 << 20, 200
"""The constants of `rust/src/work.rs`: steps per byte and bit of the length, and bytes held per byte."""

_ROWS_ALONE = "map $request_uri $new"

_HEAD = f"{'list':34} {'rows':>7} {'bytes':>9} {'time':>9} {'step':>8} {'per row':>8} {'share':>7}   held  share"

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Work:
    """What plan or proof of a list took, and what came of it."""

    what: str
    outcome: str
    seconds: float
    steps: int
    held: int


@dataclass(frozen=True, slots=True)
class Measured:
    """A list with what its plan and its proof took."""

    name: str
    rows: int
    size: int
    works: tuple[Work, ...]

    @property
    def most(self) -> int:
        """The steps that it may take."""
        return LEAST_STEPS + STEPS * self.size * ((self.size | 1).bit_length() - 1)

    @property
    def most_held(self) -> int:
        """The bytes that may be held for it."""
        return LEAST_HELD + HELD * self.size


def measure(name: str, block: bytes, rows: int) -> Measured:
    """Plan and prove a map."""
    compiled, plan = _timed("plan", lambda: _native.compile_map(block, stem="nxo_1_", keeps_patterns=True))
    if not isinstance(compiled, _native.CompiledMap):
        return Measured(name, rows, len(block), (plan(compiled.reason),))
    emitted = block.split(b"{", 1)[0] + b"{ default " + compiled.default + b"; }\n" + compiled.maps
    proof, proving = _timed("proof", lambda: _proof(block, emitted, compiled))
    return Measured(name, rows, len(block), (plan("moves"), proving(proof)))


def _proof(block: bytes, emitted: bytes, compiled: _native.CompiledMap) -> str:
    """Return what comes of a proof."""
    try:
        proof = _native.prove_map(block, emitted, compiled=compiled)
    except _native.TooMuchWork:
        return "too-much-work"
    return "proved" if proof.holds else "with other rows than these"


def _timed(what: str, call: Callable[[], _Result]) -> tuple[_Result, Callable[[str], Work]]:
    """Return the result of a call, and what makes its `Work` from the outcome."""
    _native.work_done()
    start = time.perf_counter()
    result = call()
    seconds, (steps, held) = time.perf_counter() - start, _native.work_done()
    return result, lambda outcome: Work(what, outcome, seconds, steps, held)


def of_file(path: Path) -> Iterator[Measured]:
    """Yield the maps of a file, or its rows as one."""
    data = path.read_bytes()
    ways: tuple[Callable[[], Config], ...] = (
        lambda: load_text(data, str(path), missing_ok=True),
        lambda: load_text(data, str(path), context="http", missing_ok=True),
        lambda: in_map(Source(str(path), data), _ROWS_ALONE, prefix=None),
    )
    for reads in ways:
        try:
            config = reads()
            maps = list(read(config, config.files))
        except InputError:
            continue
        for each in maps:
            yield measure(f"{path.name} {each.variable}", each.text(), len(each.patterns))
        if maps:
            return


def drawn(rows: int, seeds: Sequence[int]) -> Iterator[Measured]:
    """Yield lists that are drawn."""
    for seed in seeds:
        lines = list(shapes.rows(rows, seed))
        yield measure(f"seed {seed}", b"map $request_uri $new {\n" + b"".join(lines) + b"}\n", len(lines))


def line(measured: Measured, work: Work) -> str:
    """Return a row of the table."""
    step = work.seconds * 1e9 / max(1, work.steps)
    figures = (
        f"{measured.rows:>7,} {measured.size:>9,}",
        f"{work.seconds:>7.2f} s {step:>5.0f} ns {work.steps / measured.rows:>8,.0f}",
        f"{work.steps / measured.most:>7.1%} {work.held / measured.size:>6.0f} {work.held / measured.most_held:>6.1%}",
    )
    return f"{measured.name[:28]:28} {work.what:5} {' '.join(figures)}  {work.outcome}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table, and the medians and the largest shares."""
    parser = argparse.ArgumentParser(prog="benchmarks.work", description="Measure the work of planning and proving.")
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--seeds", type=int, default=12)
    options = parser.parse_args(arguments)
    lists = (
        (each for file in options.files for each in of_file(file))
        if options.files
        else drawn(options.rows, range(options.seeds))
    )
    print(_HEAD)
    all_of: list[tuple[Measured, Work]] = []
    for measured in lists:
        for work in measured.works:
            all_of.append((measured, work))
            print(line(measured, work), flush=True)
    worked = [(measured, work) for measured, work in all_of if work.seconds > 0.05]
    if worked:
        steps = [work.seconds * 1e9 / work.steps for _, work in worked if work.steps]
        print(
            f"median {median(steps):.0f} ns a step;"
            f" at most {max(work.steps / measured.most for measured, work in worked):.1%} of the steps"
            f" and {max(work.held / measured.most_held for measured, work in worked):.1%} of the memory"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
