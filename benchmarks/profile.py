"""The time and memory of `nginxopt profile` on an access log, as ratios to DuckDB splitting the same file.

    python -m benchmarks.profile                        1,000,000 lines against 800 rewrites
    python -m benchmarks.profile --lines 100000 --json

A line asks for one of many targets, popular ones more often, as visitors do: three in ten lines are different. DuckDB
splits each line at its quotes, groups by request, status and host, and adds up bytes and times. It knows neither
escapes nor broken lines, and no configuration.
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

LINES, RULES = 1_000_000, 800
MOST_TIMES, MOST_MEMORY = 2.0, 512 * MEGABYTE
"""Times DuckDB's processor time at most, and bytes of memory."""

_LINE = (
    '192.0.2.%d shop%d.example [27/Nov/2026:%02d:%02d:%02d +0000] "GET %s HTTP/1.1" 404 %d 0.%03d "-" "-" '
    '"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0" "https://shop.example/list?page=%d"\n'
)
_FORMAT = (
    "log_format timed '$remote_addr $host [$time_local] \"$request\" $status $bytes_sent $request_time '\n"
    '\'"$upstream_response_time" "$upstream_connect_time" "$http_user_agent" "$http_referer"\';\n'
)
_QUERY = """
SELECT request, status, host, count(*), sum(bytes), sum(time) FROM (
    SELECT split_part(line, '"', 2) AS request, split_part(line, ' ', 2) AS host,
        split_part(split_part(line, '"', 3), ' ', 2) AS status,
        CAST(split_part(split_part(line, '"', 3), ' ', 3) AS BIGINT) AS bytes,
        CAST(split_part(split_part(line, '"', 3), ' ', 4) AS DOUBLE) AS time
    FROM read_csv('access.log', columns = {'line': 'VARCHAR'}, delim = '\\x01', quote = '', escape = '')
) GROUP BY ALL
"""
_DUCKDB = f"import duckdb; duckdb.sql({_QUERY!r}).fetchall()"


def site(rules: int) -> str:
    """Return a configuration of four servers with rewrites."""
    rewrites = "".join(f"rewrite ^/old/{number}$ /new/{number} permanent;\n" for number in range(rules))
    servers = "".join(
        f"server {{ listen 80; server_name shop{number}.example; {rewrites} location / {{ return 404; }} }}\n"
        for number in range(4)
    )
    return f"events {{ }}\nhttp {{\n{_FORMAT}access_log /var/log/access.log timed;\n{servers}}}\n"


def log(lines: int) -> Iterator[str]:
    """Yield the lines of a log."""
    draw = random.Random(lines)
    for number in range(lines):
        target = f"/shop/category-{number % 97}/product-{int(draw.paretovariate(0.4)) % 10_000_000}.html"
        second = number * 86_400 // lines
        time = (second // 3600, second // 60 % 60, second % 60)
        size, duration = draw.randrange(100, 50_000), draw.randrange(1000)
        yield _LINE % (number % 250, number % 4, *time, target, size, duration, number % 10)


def measure(folder: Path, rounds: int) -> dict[str, Usage]:
    """Return the median usage of both."""
    ours = (sys.executable, "-m", "nginxopt", "profile", "nginx.conf", "access.log", "--target-version", "1.28.0")
    theirs = (sys.executable, "-c", _DUCKDB)
    return medians({"profile": lambda: run(ours, folder), "duckdb": lambda: run(theirs, folder)}, rounds)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 if a limit is exceeded."""
    parser = argparse.ArgumentParser(prog="benchmarks.profile", description="Time profile on an access log.")
    parser.add_argument("--lines", type=int, default=LINES, help="lines of the log (default: %(default)s)")
    parser.add_argument("--rules", type=int, default=RULES, help="rewrites of each server (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is run (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="nginxopt-") as name:
        folder = Path(name)
        (folder / "nginx.conf").write_text(site(options.rules))
        with (folder / "access.log").open("w") as file:
            file.writelines(log(options.lines))
        try:
            usages = measure(folder, options.rounds)
        except ChildError as error:
            print(f"profile: {error}", file=sys.stderr)
            return 70
    times = usages["profile"].cpu / usages["duckdb"].cpu
    if options.json:
        print(json.dumps({**{name: asdict(usage) for name, usage in usages.items()}, "ratio": times}, indent=2))
    else:
        print(f"{'':<8} {'lines':>10} {'lines/CPU s':>12} {'wall s':>8} {'CPU s':>8} {'MB':>6}")
        for name, usage in usages.items():
            figures = f"{usage.wall:>8.2f} {usage.cpu:>8.2f} {usage.peak / MEGABYTE:>6.0f}"
            print(f"{name:<8} {options.lines:>10,} {options.lines / usage.cpu:>12,.0f} {figures}")
        print(f"{times:.2f} times the processor time of DuckDB")
    is_measured = (options.lines, options.rules) == (LINES, RULES)
    return int(is_measured and (times > MOST_TIMES or usages["profile"].peak > MOST_MEMORY))


if __name__ == "__main__":
    raise SystemExit(main())
