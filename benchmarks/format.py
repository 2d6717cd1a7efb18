"""The time and memory of `nginxopt format --check`, its proof included.

    python -m benchmarks.format                    10,000, 24,000 and 100,000 lines
    python -m benchmarks.format --lines 1000 --json

Each figure is a median of whole processes, from their start to their end. The lines are those of a site with comments,
badly indented.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.child import MEGABYTE, ChildError, Usage, medians, run
from benchmarks.report import report

# Seconds and megabytes at most, by the number of lines.
LIMITS = {10_000: (0.8, 100), 100_000: (4.5, 500)}

_CHANGES = 1
_SERVER = b"""server {
  listen       80;   # plain
  server_name  www%(number)d.example.com;

  # documents
  root /srv/www%(number)d;
  location /static/ { expires 1d; add_header Cache-Control "public; max-age=86400"; }
     location ~ \\.php$ {
  fastcgi_pass   127.0.0.1:9000;
  fastcgi_param  SCRIPT_FILENAME  $document_root$fastcgi_script_name;
  }
}
"""


@dataclass(frozen=True, slots=True)
class Result:
    """The resources of a run on a text of so many lines and bytes."""

    lines: int
    size: int
    usage: Usage

    @property
    def within(self) -> bool:
        """Whether time and memory are within the limits, if there are any for this size."""
        seconds, megabytes = LIMITS.get(self.lines, (float("inf"), float("inf")))
        return self.usage.wall <= seconds and self.usage.peak <= megabytes * MEGABYTE


def text(lines: int) -> bytes:
    """Return a configuration of so many lines, in whole servers."""
    count = lines // _SERVER.count(b"\n")
    return b"".join(_SERVER % {b"number": number} for number in range(count))


def measure(lines: int, rounds: int, folder: Path) -> Result:
    """Measure a text of so many lines."""
    path = folder / "site.conf"
    path.write_bytes(text(lines))
    command = (sys.executable, "-m", "nginxopt", "format", "--isolated", "--check", "-q", str(path))
    usages = medians({"nginxopt": lambda: run(command, folder, most=_CHANGES)}, rounds)
    return Result(lines, path.stat().st_size, usages["nginxopt"])


def rows(results: Sequence[Result]) -> Iterator[str]:
    """Yield a table of the results."""
    yield f"{'lines':>8} {'MB':>6} {'wall s':>8} {'CPU s':>8} {'peak MB':>8}  limit"
    for result in results:
        usage, verdict = result.usage, "held" if result.within else "EXCEEDED"
        size, peak = result.size / MEGABYTE, usage.peak / MEGABYTE
        yield f"{result.lines:>8,} {size:>6.2f} {usage.wall:>8.3f} {usage.cpu:>8.3f} {peak:>8.0f}  {verdict}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 if a limit is exceeded."""
    parser = argparse.ArgumentParser(prog="benchmarks.format", description="Time nginxopt format.")
    parser.add_argument("--lines", default="10000,24000,100000", help="numbers of lines (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="how often each is run (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="nginxopt-") as name:
        try:
            results = [measure(int(lines), options.rounds, Path(name)) for lines in options.lines.split(",")]
        except ChildError as error:
            print(f"format: {error}", file=sys.stderr)
            return 70
    return report(results, rows, as_json=options.json)


if __name__ == "__main__":
    raise SystemExit(main())
