"""The time of `nginxopt trace --requests` on an access log, and of `nginxopt test`, against a server with many rules.

    python -m benchmarks.trace                                   1,000,000 lines against 10,000 rules
    python -m benchmarks.trace --lines 100000 --rules 1000 --json

Half of the lines ask for what a rule redirects, the others for pages that no rule takes. In the log `repeated` a line
asks for one of 100,000 targets, popular ones more often, as visitors do; in `different` no two lines are equal. `table`
has a row for ten lines of a log, with what nginx answers.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.child import MEGABYTE, ChildError, Usage, medians, run
from benchmarks.mixes import MIXES
from nginxopt.config import load_text
from nginxopt.rewrite.kinds.maps.differential import example

LINES, RULES = 1_000_000, 10_000
LIMIT = 10.0
"""Seconds at most for that many lines and rules."""
MOST_OF_LOG = 0.6
"""The processor time of a table at most, of that of the log `repeated`."""

ROWS = 10
"""Lines of a log for a row of the table."""

LOGS = ("repeated", "different")
_TARGETS = 100_000
_LINE = b'192.0.2.%d - - [10/Oct/2025:13:55:36 +0000] "GET %s HTTP/1.1" 200 512 "-" "Mozilla/5.0 (X11; Linux x86_64)"\n'


def site(rules: int) -> bytes:
    """Return a configuration with rules of the mix `wild`."""
    lines = b"".join(MIXES["wild"](rules))
    return (
        b"events { }\nhttp {\nserver {\nlisten 80;\nserver_name shop.example;\n%slocation / { return 404; }\n}\n}\n"
        % lines
    )


def log(kind: str, text: bytes, lines: int) -> Iterator[bytes]:
    """Yield the lines of an access log of a site with that text."""
    draw = random.Random(f"{kind} {lines}")
    sources = _sources(text)
    few = [_target(draw, sources, number) for number in range(min(_TARGETS, lines))] if kind == "repeated" else []
    for number in range(lines):
        place = int(len(few) * draw.random() ** 3)
        target = few[place] if few else _target(draw, sources, number)
        yield _LINE % (number % 250, target)


def _sources(text: bytes) -> list[bytes]:
    """Return a URI that each of the rules matches."""
    directives = load_text(text).main.block.walk()
    return [example(str(rule.args[0]).encode()) for rule in directives if rule.name == "rewrite"]


def _target(draw: random.Random, sources: Sequence[bytes], number: int) -> bytes:
    if draw.random() < 0.5:
        return b"%s?n=%d" % (draw.choice(sources), number)
    return b"/shop/category-%d/product-%07d.html" % (number % 97, number)


def measure_table(rules: int, rows: int, rounds: int, folder: Path) -> Usage:
    """Return the median usage of testing a table of the answers to different requests."""
    text = site(rules)
    (folder / "nginx.conf").write_bytes(text)
    draw, sources = random.Random(f"table {rows}"), _sources(text)
    (folder / "urls.txt").write_bytes(b"".join(_target(draw, sources, number) + b"\n" for number in range(rows)))
    test = (sys.executable, "-m", "nginxopt", "test", "nginx.conf")
    run((*test, "urls.txt", "--record", "--output", "table.csv"), folder)
    return medians({"table": lambda: run((*test, "table.csv", "--quiet"), folder)}, rounds)["table"]


def measure(kind: str, rules: int, lines: int, rounds: int, folder: Path) -> Usage:
    """Return the median usage of tracing a log."""
    text = site(rules)
    (folder / "nginx.conf").write_bytes(text)
    with (folder / f"{kind}.log").open("wb") as file:
        file.writelines(log(kind, text, lines))
    command = (sys.executable, "-m", "nginxopt", "trace", "nginx.conf", "--requests", f"{kind}.log")
    return medians({kind: lambda: run(command, folder)}, rounds)[kind]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 if the limit is exceeded."""
    parser = argparse.ArgumentParser(prog="benchmarks.trace", description="Time trace --requests on access logs.")
    parser.add_argument("--lines", type=int, default=LINES, help="lines of a log (default: %(default)s)")
    parser.add_argument("--rules", type=int, default=RULES, help="rules of the server (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is run (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="nginxopt-") as name:
        try:
            usages = {kind: measure(kind, options.rules, options.lines, options.rounds, Path(name)) for kind in LOGS}
            rows = options.lines // ROWS
            usages["table"] = measure_table(options.rules, rows, options.rounds, Path(name))
        except ChildError as error:
            print(f"trace: {error}", file=sys.stderr)
            return 70
    if options.json:
        print(json.dumps({kind: asdict(usage) for kind, usage in usages.items()}, indent=2))
    else:
        print(f"{'log':<10} {'lines':>10} {'rules':>7} {'wall s':>8} {'CPU s':>8} {'MB':>6}")
        for kind, usage in usages.items():
            figures = f"{usage.wall:>8.2f} {usage.cpu:>8.2f} {usage.peak / MEGABYTE:>6.0f}"
            lines = rows if kind == "table" else options.lines
            print(f"{kind:<10} {lines:>10,} {options.rules:>7,} {figures}")
    is_measured = (options.lines, options.rules) == (LINES, RULES)
    is_slow = usages["table"].cpu > MOST_OF_LOG * usages["repeated"].cpu
    return int(is_measured and (is_slow or any(usage.wall > LIMIT for usage in usages.values())))


if __name__ == "__main__":
    raise SystemExit(main())
