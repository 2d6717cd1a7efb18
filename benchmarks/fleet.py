"""The rate of `nginxopt fleet lint` with one and two workers, and its memory with few and many hosts.

    python -m benchmarks.fleet                     10,000 hosts, of which 2,000 configurations are distinct
    python -m benchmarks.fleet --hosts 1000 --json

Each figure is of whole processes, from their start to their end: with one worker, two, two, and one, so that a machine
that becomes slower does so for both. The fleet is that of `benchmarks.drifting`, of 400 lines a host; what is found is
compared, so that all runs are known to do the same.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from benchmarks.child import MEGABYTE, ChildError, run
from benchmarks.drifting import write
from benchmarks.report import report

_MEMBERS = 10
_TURNS = (1, 2, 2, 1)  # workers
_FEWER = 10  # times fewer hosts, for the memory
_RATE = 200.0  # hosts a second at least, with two workers
_GAIN = 1.7  # times the rate of one worker at least
_MEMORY = 1.3  # times the memory for fewer hosts at most

_FOUND = "SELECT * EXCLUDE (configuration) FROM host_findings ORDER BY ALL"


@dataclass(frozen=True, slots=True)
class Result:
    """Runs over a fleet.

    Attributes:
        hosts: The number of hosts.
        one: Hosts a second with one worker, the start of it included.
        two: Hosts a second with two workers.
        few: The peak memory of the largest process with fewer hosts, in bytes: of the command or of a worker.
        many: The same with all hosts.
        digest: Of what was found, the same in both runs.
    """

    hosts: int
    one: float
    two: float
    few: float
    many: float
    digest: str

    @property
    def gain(self) -> float:
        """How many times the rate of one worker two have."""
        return self.two / self.one

    @property
    def within(self) -> bool:
        """Whether rates and memory are within the limits."""
        return self.two >= _RATE and self.gain >= _GAIN and self.many <= _MEMORY * self.few


def measure(hosts: int) -> Result:
    """Return the figures for so many hosts."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder / "many", hosts, _MEMBERS)
        write(folder / "few", hosts // _FEWER, _MEMBERS)
        _, few = _run(folder, "few", 2)
        seconds: dict[int, list[float]] = {1: [], 2: []}
        peaks: list[float] = []
        digests: set[str] = set()
        for workers in _TURNS:
            took, peak = _run(folder, "many", workers)
            seconds[workers].append(took)
            peaks += [peak] if workers == 2 else []
            digests.add(_found(folder))
        if len(digests) > 1:
            raise ChildError("one worker and two find different things")
    one, two = (hosts / mean(seconds[workers]) for workers in (1, 2))
    return Result(hosts, one, two, few, max(peaks), digests.pop())


def _run(folder: Path, source: str, workers: int) -> tuple[float, float]:
    """Return seconds and bytes of a run."""
    command = [sys.executable, "-m", "nginxopt", "fleet", "lint", source, "--isolated", "--quiet"]
    started = time.monotonic()
    usage = run([*command, "--target-version", "1.28.0", "--workers", str(workers)], folder, most=1)
    return time.monotonic() - started, usage.peak


def _found(folder: Path) -> str:
    """Return a digest of everything that was found, and remove the result.

    A process of its own reads it, as this one must stay small (`benchmarks.child.run`).
    """
    command = [sys.executable, "-m", "nginxopt", "fleet", "query", _FOUND, "--format", "csv"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE) as reading:
        assert reading.stdout is not None
        digest = hashlib.file_digest(reading.stdout, "sha256")  # type: ignore[arg-type]
    if reading.returncode:
        raise ChildError(f"the result of {folder} cannot be read")
    (folder / "fleet.duckdb").unlink()
    return digest.hexdigest()


def _rows(results: Sequence[Result]) -> Iterator[str]:
    yield f"{'hosts':>8} {'1 worker':>10} {'2 workers':>10} {'gain':>6} {'memory':>8} {'of a tenth':>10}"
    for result in results:
        memory = f"{result.many / MEGABYTE:>5.0f} MB {result.few / MEGABYTE:>7.0f} MB"
        yield f"{result.hosts:>8,} {result.one:>8,.0f}/s {result.two:>8,.0f}/s {result.gain:>6.2f} {memory}"


def main() -> int:
    """Measure, print, and return 1 if a limit is passed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, action="append", help="number of hosts; may be repeated")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    return report([measure(hosts) for hosts in arguments.hosts or [10_000]], _rows, as_json=arguments.json)


if __name__ == "__main__":
    sys.exit(main())
