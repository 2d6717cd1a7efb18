"""The time and memory of `nginxopt lint`, against other linters of nginx configurations in the same run.

    python -m benchmarks.lint                                          start-up, a small configuration, many rewrites
    python -m benchmarks.lint --peer gixy-ng=/opt/gixy-ng/bin/gixy     and another linter; as often as there are others
    python -m benchmarks.lint --sizes 10000 --json

Each figure is a median of whole processes, from their start to their end; the contenders run in turn. A peer is a
command that takes the path of a configuration. What a linter finds, and so whether its exit status is 0 or 1, does not
count.

Where the processor time goes, as one process measured it, which bounds what faster rules can gain. 450 servers with TLS
in 13,517 lines took 400 ms besides the start: the lexer 7, the tree with it 35, includes and contexts 24, levels 9,
refusals 76, all other rules 176, the report 10. Of 10,000 mixed rewrites, 280 of 510 ms were spent in native code:
the plan 96, redirects 68, rules that others hide 60, the model of requests 51. Of 80 ms for a small file, Python and
click take 43.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.child import MEGABYTE, ChildError, Usage, medians, run
from benchmarks.mixes import MIXES, write
from benchmarks.report import report

START = "--version"
SMALL = "a small site"

# Seconds and megabytes at most, by what is linted.
LIMITS = {START: (0.08, None), SMALL: (0.15, None), 10_000: (0.3, 100), 100_000: (1.5, None)}

_NGINXOPT = (sys.executable, "-m", "nginxopt")
_FOUND = 1
_HEAD = b"worker_processes auto;\nevents { worker_connections 1024; }\nhttp {\n"
_SITE = b"""    upstream app { server 127.0.0.1:8080; }
    server {
        listen 80;
        server_name example.com;
        location / { proxy_pass http://app; proxy_set_header Host $host; }
        location /static/ { root /srv; expires 1d; }
    }
}
"""


@dataclass(frozen=True, slots=True)
class Result:
    """The resources of the linters on one file, by name."""

    what: str | int
    usages: dict[str, Usage]

    @property
    def within(self) -> bool:
        """Whether nginxopt is within its limits."""
        seconds, megabytes = LIMITS[self.what]
        usage = self.usages["nginxopt"]
        return usage.wall <= seconds and (megabytes is None or usage.peak <= megabytes * MEGABYTE)


def start(peers: dict[str, Sequence[str]], rounds: int, folder: Path) -> Result:
    """Measure `--version`."""
    return _measure(START, {"nginxopt": _NGINXOPT, **peers}, START, rounds, folder)


def small(peers: dict[str, Sequence[str]], rounds: int, folder: Path) -> Result:
    """Measure a site of a dozen lines."""
    path = folder / "nginx.conf"
    path.write_bytes(_HEAD + _SITE)
    return _measure(SMALL, _linters(peers), str(path), rounds, folder)


def bulk(size: int, peers: dict[str, Sequence[str]], rounds: int, folder: Path) -> Result:
    """Measure a server with `size` rewrites like those of real configurations."""
    path = folder / "nginx.conf"
    write(path, [_HEAD, b"server {\nlisten 80;\n", *MIXES["wild"](size), b"}\n}\n"])
    return _measure(size, _linters(peers), str(path), rounds, folder)


def _linters(peers: dict[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    return {"nginxopt": (*_NGINXOPT, "lint", "--isolated", "--target-version", "1.22.1"), **peers}


def _measure(what: str | int, commands: dict[str, Sequence[str]], last: str, rounds: int, folder: Path) -> Result:
    contenders = {name: partial(run, (*command, last), folder, most=_FOUND) for name, command in commands.items()}
    return Result(what, medians(contenders, rounds))


def rows(results: Sequence[Result]) -> Iterator[str]:
    """Yield a table: for each file what each linter takes, and its share of what nginxopt takes."""
    yield f"{'':<16} {'linter':<14} {'wall s':>8} {'CPU s':>8} {'MB':>6} {'ratio':>7}  limit"
    for result in results:
        ours = result.usages["nginxopt"]
        label = f"{result.what:,} rewrites" if isinstance(result.what, int) else result.what
        for name, usage in result.usages.items():
            verdict = ("held" if result.within else "EXCEEDED") if name == "nginxopt" else ""
            yield (
                f"{label:<16} {name:<14} {usage.wall:>8.3f} {usage.cpu:>8.3f} {usage.peak / MEGABYTE:>6.0f}"
                f" {usage.wall / ours.wall:>7.2f}  {verdict}"
            ).rstrip()


def _peer(text: str) -> tuple[str, tuple[str, ...]]:
    name, mark, command = text.partition("=")
    if not mark:
        raise argparse.ArgumentTypeError(f"{text} is not NAME=COMMAND")
    return name, tuple(shlex.split(command))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 if a limit is exceeded."""
    parser = argparse.ArgumentParser(prog="benchmarks.lint", description="Time nginxopt lint against other linters.")
    parser.add_argument("--sizes", default="10000,100000", help="numbers of rewrites (default: %(default)s)")
    parser.add_argument("--peer", type=_peer, action="append", default=[], metavar="NAME=COMMAND")
    parser.add_argument("--rounds", type=int, default=9, help="how often each is run (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    peers = dict(options.peer)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # what is installed is compiled once, not in each run
    with tempfile.TemporaryDirectory(prefix="nginxopt-") as name:
        folder = Path(name)
        try:
            results = [start(peers, options.rounds, folder), small(peers, options.rounds, folder)]
            sizes = [int(size) for size in options.sizes.split(",") if size]
            results += [bulk(size, peers, max(1, options.rounds // 3), folder) for size in sizes]
        except ChildError as error:
            print(f"lint: {error}", file=sys.stderr)
            return 70
    return report(results, rows, as_json=options.json)


if __name__ == "__main__":
    raise SystemExit(main())
