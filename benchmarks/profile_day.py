"""A day of four servers in a log of 10,000,000 lines, with facts that are planted in it: found, and at which cost.

    python -m benchmarks.profile_day                    10,000,000 lines of a seed that is drawn
    python -m benchmarks.profile_day --lines 200000 --seed 7

The servers write to logs of three formats: a text with times, `combined`, and JSON. Targets are asked for as Zipf has
it. Planted are a list of redirects that nobody uses, a server with an old copy of the configuration, a slow upstream,
a robot with half of the work, and a minute in which the connections are almost used up. All are to be found, and
nothing else. The costs are those of `nginxopt profile` as a command, beside DuckDB splitting the same lines.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, TextIO

from benchmarks.child import MEGABYTE, ChildError, Usage, run

LINES = 10_000_000
MOST_TIMES, MOST_MEMORY = 3.0, 512 * MEGABYTE
"""Times DuckDB's processor time at most, and bytes of memory."""

_DEAD, _USED = 40, 10
_PEAK = (14 * 60 + 30) * 60
"""The second of the day at which the busiest minute begins."""
_HELD = 500
"""Requests that are under way in that minute."""
_MIDNIGHT = 1795737600
"""The day in seconds since 1970."""
_TARGETS = 2_000_000
_BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
_BOT = "Mozilla/5.0 (compatible; Greedybot/1.0; +http://greedy.example/bot.html)"
_CONF = """\
worker_processes 2;
events { worker_connections 320; }
http {
    log_format timed '$remote_addr $host $scheme [$time_local] "$request" $status $bytes_sent $request_time '
                     '"$upstream_response_time" "$http_user_agent"';
    log_format lines escape=json '{"time":"$time_iso8601","client":"$remote_addr","host":"$host","scheme":"$scheme",'
                     '"request":"$request","status":$status,"bytes":$bytes_sent,"took":$request_time,'
                     '"upstream":"$upstream_response_time","agent":"$http_user_agent"}';
    upstream app { server 127.0.0.1:8080; }
    upstream slow { server 127.0.0.1:8081; }
    server {
        listen 80;
        server_name shop.example;
        access_log /var/log/nginx/shop.log timed;
        root /srv/shop;
        %s
        location / { try_files $uri =404; }
        location /api/ { proxy_pass http://app; }
        location /search { proxy_pass http://slow; }
    }
    server {
        listen 80;
        server_name blog.example;
        access_log /var/log/nginx/blog.log combined;
        root /srv/blog;
        location / { try_files $uri =404; }
        location = /feed { return 301 /feed.xml; }
    }
    server {
        listen 80;
        server_name api.example;
        access_log /var/log/nginx/api.log lines;
        location / { proxy_pass http://app; }
        location = /v1 { return 410; }
    }
    server {
        listen 80;
        server_name www.example;
        access_log /var/log/nginx/api.log lines;
        return 301 http://shop.example$request_uri;
    }
}
"""
_QUOTED = "split_part(line, '\"', 2)"
_AFTER = "split_part(split_part(line, '\"', 3), ' ', {})"
_NAMED = "split_part(split_part(line, '\"{}\":', 2), ',', 1)"
_QUERIES = {  # what DuckDB splits off: request, status, bytes, seconds
    "shop.log": (_QUOTED, _AFTER.format(2), _AFTER.format(3), _AFTER.format(4)),
    "blog.log": (_QUOTED, _AFTER.format(2), _AFTER.format(3), "'0'"),
    "api.log": ("split_part(line, '\"', 20)", *map(_NAMED.format, ("status", "bytes", "took"))),
}


@dataclass
class Planted:
    """What is in the logs: the responses that differ from the configuration, and requests in all."""

    differing: int = 0
    requests: int = 0


def site() -> str:
    """Return the configuration."""
    rules = [f"rewrite ^/moved/{number}$ /new/{number} permanent;" for number in range(_USED)]
    rules += [f"rewrite ^/dead/{number}$ /new/{number} permanent;" for number in range(_DEAD)]
    return _CONF % "\n        ".join(rules)


class Day:
    """Draws the requests of a day."""

    def __init__(self, lines: int, seed: int) -> None:
        self.lines, self.planted = lines, Planted()
        self._draw = random.Random(seed)
        self._drifts_from = self._draw.randrange(8, 20) * 3600
        self._is_old = 0.3  # of the requests, as one of three servers has the old copy
        weights = list(accumulate(1 / (rank + 1) for rank in range(1000)))
        self._popular = self._draw.choices(range(1000), cum_weights=weights, k=1 << 16)

    def write(self, logs: dict[str, TextIO]) -> None:
        """Write all lines to the logs, in the order in which requests end."""
        usual = self.lines - _HELD
        for number in range(usual):
            second = number * 86_400 // usual
            self._line(logs, second)
        for _ in range(_HELD):  # each took all of the minute
            held = _timed("192.0.2.9", _PEAK + 59, "/p/large.iso", 200, 10**9, 59.0, "-", _BROWSER)
            logs["shop.log"].write(held)
        self.planted.requests = self.lines

    def _line(self, logs: dict[str, TextIO], second: int) -> None:
        draw = self._draw.random
        which, client = draw(), f"192.0.2.{int(draw() * 250)}"
        rank = self._popular[int(draw() * 65_536)]
        tail = "" if draw() < 0.7 else f"-{int(draw() * _TARGETS)}"  # three in ten are asked for once
        size = 200 + int(draw() * 50_000)
        if which < 0.5:
            logs["shop.log"].write(self._of_shop(second, client, f"{rank}{tail}", size))
        elif which < 0.7:
            path, status = ("/feed", 301) if rank == 7 else (f"/post/{rank}{tail}.html", 200 if draw() < 0.9 else 304)
            logs["blog.log"].write(
                f'{client} - - [{_clock(second)} +0000] "GET {path} HTTP/1.1" {status} {size} "-" "{_BROWSER}"\n'
            )
        elif which < 0.95:
            logs["api.log"].write(self._of_api(second, client, f"{rank}{tail}", size))
        else:
            logs["api.log"].write(_object(client, second, "www.example", f"/p/{rank}", 301, 180, 0.0, ""))

    def _of_shop(self, second: int, client: str, name: str, size: int) -> str:
        draw = self._draw.random
        which = draw()
        if which < 0.2:
            took = 0.2 + draw() * draw() * 4
            agent, asking = (_BOT, "198.51.100.7") if draw() < 0.55 else (_BROWSER, client)
            return _timed(asking, second, f"/search?q={name}", 200, size, took, f"{took:.3f}", agent)
        if which < 0.4:
            took = 0.004 + draw() * 0.02
            return _timed(client, second, f"/api/{name}", 200, size, took, f"{took:.3f}", _BROWSER)
        if which < 0.45:
            return _timed(client, second, f"/moved/{int(draw() * _USED)}", 301, 180, 0.0, "-", _BROWSER)
        if which < 0.5:
            return _timed(client, second, f"/gone/{name}.html", 404, 150, 0.0, "-", _BROWSER)
        return _timed(client, second, f"/p/{name}.html", 200, size, 0.001, "-", _BROWSER)

    def _of_api(self, second: int, client: str, name: str, size: int) -> str:
        draw = self._draw.random
        if draw() < 0.05:
            is_old = second >= self._drifts_from and draw() < self._is_old
            self.planted.differing += is_old
            return _object(client, second, "api.example", "/v1", 200 if is_old else 410, 150, 0.0, "")
        took = 0.004 + draw() * 0.02
        return _object(client, second, "api.example", f"/v2/{name}", 200, size, took, f"{took:.3f}")


def _clock(second: int) -> str:
    return f"27/Nov/2026:{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"


def _timed(
    client: str, second: int, target: str, status: int, size: int, took: float, upstream: str, agent: str
) -> str:
    return (
        f'{client} shop.example http [{_clock(second)} +0000] "GET {target} HTTP/1.1" {status} {size} {took:.3f} '
        f'"{upstream}" "{agent}"\n'
    )


def _object(client: str, second: int, host: str, target: str, status: int, size: int, took: float, up: str) -> str:
    time = f"2026-11-27T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}+00:00"
    return (
        f'{{"time":"{time}","client":"{client}","host":"{host}","scheme":"http","request":"GET {target} HTTP/1.1",'
        f'"status":{status},"bytes":{size},"took":{took:.3f},"upstream":"{up}","agent":"{_BROWSER}"}}\n'
    )


def wrong(report: dict[str, Any], planted: Planted) -> Iterator[str]:
    """Yield what a report does not say of the planted facts, and what it says that was not planted."""
    verdicts = report["verdicts"]
    expected = planted.requests - planted.differing, planted.differing, 0, 0
    found = verdicts["agrees"], verdicts["differs"], verdicts["ambiguous"], verdicts["unknown"]
    if found != expected:
        yield f"agreeing, differing, ambiguous and unknown requests are {found}, not {expected}"
    differing = [(one["node"]["text"], one["expected"], one["status"]) for one in report["differing"]]
    if differing != [("return 410", 410, 200)] * bool(planted.differing):
        yield f"differing are {differing}"
    unseen = {part: [use["text"] for use in uses if use["state"] != "used"] for part, uses in report["uses"].items()}
    dead = [f"rewrite ^/dead/{number}$ /new/{number} permanent" for number in range(_DEAD)]
    if unseen != {"servers": [], "locations": [], "rules": dead}:
        yield f"not seen are {unseen}"
    slow = max(report["locations"], key=lambda one: (one["upstream_time"] or {"p50": 0})["p50"])["place"]["text"]
    if slow != "location /search":
        yield f"slow is {slow}"
    robot, of_all = report["robots"]["named"][0], report["total"]["upstream_time"]["milliseconds"]
    if robot["name"] != "Greedybot" or not 0.4 < robot["upstream_time"] / of_all < 0.6:
        yield f"the robot is {robot}"
    connections = report["peak"]["connections"] / report["capacity"]
    if report["peak"]["minute"] != _MIDNIGHT // 60 + _PEAK // 60 or not 0.7 < connections < 1:
        yield f"the peak is {report['peak']} of {report['capacity']}"


def _duckdb() -> str:
    return "import duckdb\n" + "\n".join(
        f"""duckdb.sql('''SELECT request, status, count(*), sum(bytes), sum(time) FROM (
            SELECT {request} AS request, {status} AS status,
                CAST({size} AS BIGINT) AS bytes, CAST({took} AS DOUBLE) AS time
            FROM read_csv('{log}', columns = {{'line': 'VARCHAR'}}, delim = '\\x01', quote = '', escape = '')
        ) GROUP BY ALL''').fetchall()"""
        for log, (request, status, size, took) in _QUERIES.items()
    )


def measure(folder: Path, lines: int, seed: int) -> tuple[Usage, Usage, list[str]]:
    """Return the usage of profile and of DuckDB, and what is wrong in the report."""
    (folder / "nginx.conf").write_text(site())
    day = Day(lines, seed)
    with contextlib.ExitStack() as files:
        day.write({name: files.enter_context((folder / name).open("w")) for name in _QUERIES})
    command = [sys.executable, "-m", "nginxopt", "profile", "nginx.conf", *_QUERIES, "--target-version", "1.28.0"]
    ours = run((*command, "--save", "day.profile"), folder)
    shown = subprocess.run(
        [*command[:4], "day.profile", "--format", "json"], cwd=folder, capture_output=True, check=True
    )
    theirs = run((sys.executable, "-c", _duckdb()), folder)
    return ours, theirs, list(wrong(json.loads(shown.stdout), day.planted))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 if a limit is exceeded or a fact is not found."""
    parser = argparse.ArgumentParser(prog="benchmarks.profile_day", description="Profile a day with planted facts.")
    parser.add_argument("--lines", type=int, default=LINES, help="lines of the logs (default: %(default)s)")
    parser.add_argument("--seed", type=int, help="seed of the day (default: one that is drawn)")
    options = parser.parse_args(arguments)
    seed = random.SystemRandom().randrange(10**9) if options.seed is None else options.seed
    print(f"seed {seed}")
    with tempfile.TemporaryDirectory(prefix="nginxopt-") as name:
        try:
            ours, theirs, problems = measure(Path(name), options.lines, seed)
        except ChildError as error:
            print(f"profile_day: {error}", file=sys.stderr)
            return 70
    times = ours.cpu / theirs.cpu
    print(f"{'':<8} {'lines':>10} {'lines/CPU s':>12} {'wall s':>8} {'CPU s':>8} {'MB':>6}")
    for contender, usage in (("profile", ours), ("duckdb", theirs)):
        figures = f"{usage.wall:>8.2f} {usage.cpu:>8.2f} {usage.peak / MEGABYTE:>6.0f}"
        print(f"{contender:<8} {options.lines:>10,} {options.lines / usage.cpu:>12,.0f} {figures}")
    print(f"{times:.2f} times the processor time of DuckDB")
    print(*problems or ["each planted fact is found, and nothing else"], sep="\n")
    is_measured = options.lines == LINES
    return int(bool(problems) or (is_measured and (times > MOST_TIMES or ours.peak > MOST_MEMORY)))


if __name__ == "__main__":
    raise SystemExit(main())
