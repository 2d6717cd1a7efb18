"""Time and memory of `lint` and `rewrite-to-map` for lists of any length, each in a process with limits.

    python -m benchmarks.endings FILE FILE                   rows of a map (1,000, 2,000 ... all), or configurations
    python -m benchmarks.endings --lower FILE                the same in lower case
    python -m benchmarks.endings --shapes 50000 --lists 20   lists drawn from the shapes of real ones (see `shapes`)

A file of rows is read as `map $request_uri $new_uri`. Each list must end within the limits with status 0 or 1, or the
status of this command is 1. `tried` is the number of patterns before and after, as `rewrite-to-map` says it.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import shapes
from benchmarks.child import MEGABYTE

SECONDS, BYTES = 60, 3_000 * MEGABYTE
_SIZES = (1, 2, 3, 5, 8)
_MAP = (
    b"events {}\nhttp {\nmap $request_uri $new_uri {\ndefault 0;\n%s}\n"
    b"server { location / { return 200 $new_uri; } }\n}\n"
)
_TRIED = re.compile(r"^  tried +([0-9,]+) .*?(?:; now (.*))?$", re.MULTILINE)
_COMMANDS = {
    "lint": ("lint", "nginx.conf"),
    "rewrite-to-map": ("rewrite-to-map", "nginx.conf", "-o", "out"),
}


@dataclass(frozen=True, slots=True)
class Ending:
    """How a command ended: its status (negative: the signal), seconds, peak of memory in bytes, and what it said."""

    status: int
    seconds: float
    peak: int
    said: str

    @property
    def holds(self) -> bool:
        """Whether it ended by itself with an answer."""
        return self.status in (0, 1)

    @property
    def tried(self) -> str:
        """The patterns tried before and after, if it says so."""
        found = _TRIED.search(self.said)
        return "" if found is None else f"{found[1]} -> {found[2] or found[1]}"


def run(command: Sequence[str], folder: Path, seconds: float, most: int) -> Ending:
    """Run nginxopt in a folder; it is killed after `seconds`, and gets at most `most` bytes of address space."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (most, most))

    with tempfile.TemporaryFile() as log:
        start = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "nginxopt", *command],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            preexec_fn=limit,
        )
        usage = _wait(process, start + seconds)
        wall = time.perf_counter() - start
        log.seek(0)
        said = log.read().decode(errors="replace")
    return Ending(process.returncode, wall, usage.ru_maxrss * 1024, said)


def _wait(process: subprocess.Popen[bytes], until: float) -> resource.struct_rusage:
    """Wait for a process, kill it at a time of the clock, and return its usage."""
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return usage
        if time.perf_counter() > until:
            process.kill()
            until = float("inf")
        time.sleep(0.005)


def prefixes(rows: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    """Yield the beginnings of a list: 1,000 rows, 2,000, 3,000, 5,000, 8,000, 10,000 and so on, and the whole."""
    counts = (size * 10**power for power in range(3, 7) for size in _SIZES)
    yield from (rows[:count] for count in counts if count < len(rows))
    yield rows


def lists(options: argparse.Namespace) -> Iterator[tuple[str, bytes]]:
    """Yield the configurations to read, each with its name."""
    for file in options.files:
        text = file.read_bytes().lower() if options.lower else file.read_bytes()
        if re.search(rb"^\s*(http|map|server)\b[^;]*\{", text, re.MULTILINE):
            yield file.name, text
            continue
        rows = [line for line in text.splitlines(keepends=True) if not line.strip().startswith((b"#", b"default"))]
        for part in prefixes(rows):
            yield f"{file.name} {len(part):,}", _MAP % b"".join(part)
    for seed in range(options.seed, options.seed + options.lists if options.shapes else options.seed):
        rows = list(shapes.rows(options.shapes, seed))
        yield f"shapes {seed}: {len(rows):,}", _MAP % b"".join(rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run and print; 1 if a command did not end within its limits."""
    parser = argparse.ArgumentParser(prog="benchmarks.endings", description="See whether nginxopt ends.")
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--lower", action="store_true", help="read the files in lower case")
    parser.add_argument("--shapes", type=int, default=0, metavar="ROWS", help="draw lists of up to so many rows")
    parser.add_argument("--lists", type=int, default=20, help="how many (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="the first one (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="(default: %(default)s)")
    parser.add_argument("--bytes", type=int, default=BYTES, help="(default: %(default)s)")
    options = parser.parse_args(arguments)
    is_held = True
    for name, text in lists(options):
        for what, command in _COMMANDS.items():
            with tempfile.TemporaryDirectory() as folder:
                Path(folder, "nginx.conf").write_bytes(text)
                ending = run(command, Path(folder), options.seconds, options.bytes)
            is_held &= ending.holds
            verdict = "" if ending.holds else f"NOT HELD: {ending.status} {ending.said[-300:]}"
            figures = f"{ending.seconds:>6.1f} s {ending.peak / MEGABYTE:>6,.0f} MB"
            print(f"{name:<28} {what:<15}{figures}  {ending.tried} {verdict}".rstrip(), flush=True)
    return int(not is_held)


if __name__ == "__main__":
    raise SystemExit(main())
