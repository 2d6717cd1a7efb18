"""How the time of a command grows with each kind of content: the exponent of time over size, 1 if it is linear.

    python -m benchmarks.growth                                   lint, from 500 to 8,000 of each kind
    python -m benchmarks.growth check trace --kinds nested maps   other commands, and some kinds
    python -m benchmarks.growth --sizes 100 400 --json

The processor time of an empty configuration is subtracted, so that start-up does not hide what grows. The exponent is
that of the line through all sizes, on logarithmic scales. A time below `_NOTHING` says nothing of how it grows.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import linear_regression

from benchmarks.child import ChildError, run
from benchmarks.report import report

MOST = 1.1
"""The greatest exponent that is linear: sorting, and the memory that larger inputs take, cost a little more."""

COMMANDS = {
    "lint": ("lint", "--isolated", "--target-version", "1.22.1", "-q"),
    "check": ("check", "--target-version", "1.22.1", "-q"),
    "trace": ("trace", "--target-version", "1.22.1", "http://localhost/"),
    "format": ("format", "--isolated", "--check", "-q"),
    "rewrite-to-map": ("rewrite-to-map", "--check"),
}
_NOTHING = 0.1
_FOUND = 1
_TEMPLATES = "templates"
"""These only `lint` reads; every other command takes rendered files."""

_HTTP = "events {}\nhttp {\nvariables_hash_max_size 65536;\nserver_names_hash_max_size 524288;\n%s}\n"
_APP = "upstream app { server 127.0.0.1:8080; }\n"
_TLS = "ssl_certificate /etc/ssl/%(n)d.pem; ssl_certificate_key /etc/ssl/%(n)d.key;"
_SERVER = (
    "server { listen %(listen)s; server_name s%(n)d.example.com; %(tls)s root /srv/%(n)d;\n"
    "location / { proxy_pass http://app; }\nlocation /static/ { expires 1d; }\n}\n"
)


def _server(*, tls: bool) -> Callable[[int], str]:
    listen = "80; listen 443 ssl" if tls else "80"
    return lambda n: _SERVER % {"n": n, "listen": listen, "tls": _TLS % {"n": n} if tls else ""}


def _in_http(each: Callable[[int], str], after: str = "") -> Callable[[int], str]:
    return lambda size: _HTTP % (_APP + "".join(map(each, range(size))) + after)


def _in_server(each: Callable[[int], str], before: Callable[[int], str] = lambda _: "") -> Callable[[int], str]:
    return lambda size: (
        _HTTP
        % (_APP + "".join(map(before, range(size))) + f"server {{ listen 80;\n{''.join(map(each, range(size)))}}}\n")
    )


def _rows(opener: str, row: Callable[[int], str]) -> Callable[[int], str]:
    end = "server { listen 80; return 200 $value; }\n"
    return lambda size: _HTTP % f"{opener} {{\n{''.join(map(row, range(size)))}}}\n{end}"


KINDS: dict[str, Callable[[int], str]] = {
    "servers": _in_http(_server(tls=False)),
    "TLS hosts": _in_http(_server(tls=True)),
    "upstreams": _in_http(
        lambda n: f"upstream u{n} {{ server 10.{n >> 16}.{n >> 8 & 255}.{n & 255}:80; }}\n",
        "server { location / { proxy_pass http://u0; } }\n",
    ),
    "log formats": _in_http(lambda n: f"log_format f{n} '$remote_addr {n}';\n", "server { access_log logs/a f0; }\n"),
    "prefix locations": _in_server(lambda n: f"location /p{n}/ {{ proxy_pass http://app; }}\n"),
    "exact locations": _in_server(lambda n: f"location = /old/{n} {{ return 301 /new/{n}; }}\n"),
    "regex locations": _in_server(lambda n: f"location ~ ^/r{n}/[0-9]+\\.php$ {{ proxy_pass http://app; }}\n"),
    "named locations": _in_server(
        lambda n: f"location /n{n}/ {{ try_files $uri @n{n}; }}\nlocation @n{n} {{ proxy_pass http://app; }}\n"
    ),
    "nested locations": _in_server(
        lambda n: f"location /n{n}/ {{ location ~ php$ {{ proxy_pass http://app; }} location /n{n}/s/ {{}} }}\n"
    ),
    "zones": _in_server(
        lambda n: f"location /z{n}/ {{ limit_req zone=z{n} burst=9; proxy_pass http://app; }}\n",
        lambda n: f"limit_req_zone $binary_remote_addr zone=z{n}:64k rate=9r/s;\n",
    ),
    "maps": _in_server(
        lambda n: f"add_header X-{n} $m{n};\n", lambda n: f"map $host $m{n} {{ default 0; a{n}.example.com 1; }}\n"
    ),
    "map rows": _rows("map $host $value", lambda n: f"a{n}.example.com {n};\n"),
    "patterns in a map": _rows("map $uri $value", lambda n: f"~^/a{n}/[0-9]+$ {n};\n"),
    "networks": _rows("geo $value", lambda n: f"10.{n >> 16}.{n >> 8 & 255}.{n & 255} {n};\n"),
    "rewrites": _in_server(lambda n: f"rewrite ^/old/{n}$ /new/{n} permanent;\n"),
    "ifs": _in_server(lambda n: f"if ($arg_a = v{n}) {{ return 301 /x{n}; }}\n"),
    "variable targets": _in_http(
        lambda n: f"server {{ listen 80; server_name v{n}; set $to http://b{n}; location / {{ proxy_pass $to; }} }}\n"
    ),
    "access rules": _in_server(lambda n: f"allow 10.{n >> 16}.{n >> 8 & 255}.{n & 255};\n"),
    "headers": _in_server(lambda n: f"add_header X-{n} {n};\n"),
    "comments": _in_server(lambda n: f"# comment {n}\n"),
    _TEMPLATES: _in_server(lambda n: f"location /t{n}/ {{ return 301 {{{{ base }}}}/{n}; }}\n"),
}
"""For each kind of content, the configuration with so many of it."""


@dataclass(frozen=True, slots=True)
class Result:
    """The times of a command on a kind of content, in seconds of processor time, by size."""

    command: str
    kind: str
    times: dict[int, float]

    @property
    def exponent(self) -> float | None:
        """The exponent of time over size; None if the times are too small to tell."""
        seen = {size: time for size, time in self.times.items() if time >= _NOTHING}
        if len(seen) < 2:
            return None
        return linear_regression([*map(math.log, seen)], [*map(math.log, seen.values())]).slope

    @property
    def within(self) -> bool:
        """Whether the time is linear, as far as can be told."""
        return self.exponent is None or self.exponent <= MOST


def measure(command: str, kind: str, sizes: Sequence[int], rounds: int, folder: Path) -> Result:
    """Measure a command on a kind of content; the least time of the rounds counts, as other load only adds to it."""
    path = folder / ("site.conf.j2" if kind == _TEMPLATES else "site.conf")

    def seconds(text: str) -> float:
        path.write_text(text)
        call = (sys.executable, "-m", "nginxopt", *COMMANDS[command][:-1], str(path), COMMANDS[command][-1])
        return min(run(call, folder, most=_FOUND).cpu for _ in range(rounds))

    start = seconds(KINDS["comments"](1))
    return Result(command, kind, {size: max(seconds(KINDS[kind](size)) - start, 0.0) for size in sizes})


def rows(results: Sequence[Result]) -> Iterator[str]:
    """Yield the lines of a table."""
    for result in results:
        exponent = "" if result.exponent is None else f"{result.exponent:5.2f}"
        times = " ".join(f"{time:7.2f}" for time in result.times.values())
        yield f"{result.command:15}{result.kind:18}{times}  {exponent:5}{'' if result.within else '  not linear'}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="benchmarks.growth", description="Measure how time grows.")
    parser.add_argument("commands", nargs="*", default=["lint"], metavar="COMMAND")
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS, metavar="KIND")
    parser.add_argument("--sizes", nargs="+", type=int, default=[500, 1000, 2000, 4000, 8000], metavar="N")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    results: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="nginxopt-") as folder:
        try:
            for command in options.commands:
                for kind in options.kinds:
                    if command == "lint" or kind != _TEMPLATES:
                        results.append(measure(command, kind, options.sizes, options.rounds, Path(folder)))
                        if not options.json:
                            print(*rows(results[-1:]), sep="\n", flush=True)
        except ChildError as error:
            print(f"growth: {error}", file=sys.stderr)
            return 70
    return report(results, lambda _: (), as_json=options.json)


if __name__ == "__main__":
    raise SystemExit(main())
