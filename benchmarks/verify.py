"""The time of `nginxopt verify` on configurations with few servers and with many.

    python -m benchmarks.verify                     500 and 4,000 servers
    python -m benchmarks.verify --servers 100,200 --json

A server has an upstream, a map, locations and two rewrites. On the other side the rewrites are in the other order, so
that something differs in every server and nothing in the answers: the verdict is `equivalent`. The time of many servers
is compared with that of few in the same run: it is at most as many times longer as there are more servers, and a half.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.child import MEGABYTE, Usage, medians, run
from benchmarks.report import report

_SERVERS = "500,4000"
_STEEPER = 1.5
"""The most by which the time may grow beyond the number of servers."""

_SERVER = """\
upstream app{number} {{
    server 192.0.2.1:{port};
    keepalive 4;
}}
map $http_cookie $kind{number} {{
    default 0;
    ~session 1;
}}
server {{
    listen 80;
    server_name s{number}.example.com;
    root /srv/{number};
    add_header X-Kind $kind{number};
    {old}
    location / {{
        proxy_set_header Host $host;
        proxy_pass http://app{number};
    }}
    location /static/ {{
        expires 1d;
    }}
}}
"""
_OLD = (
    "rewrite ^/old/{number}$ /new/{number}? permanent; rewrite ^/gone/{number}$ /? permanent;",
    "rewrite ^/gone/{number}$ /? permanent; rewrite ^/old/{number}$ /new/{number}? permanent;",
)
"""Two redirects in either order."""


@dataclass(frozen=True, slots=True)
class Result:
    """The median usage of `verify` for each number of servers, in ascending order."""

    servers: tuple[int, ...]
    usages: tuple[Usage, ...]

    @property
    def steeper(self) -> float:
        """How many times longer the largest takes than in proportion to the smallest."""
        return (self.usages[-1].cpu / self.usages[0].cpu) / (self.servers[-1] / self.servers[0])

    @property
    def within(self) -> bool:
        """Whether the time grows as the number of servers."""
        return self.steeper <= _STEEPER


def text(servers: int, side: int) -> str:
    """Return the configuration of a side, 0 or 1, with so many servers."""
    redirect = _OLD[side]
    parts = (
        _SERVER.format(number=number, port=8000 + number % 1000, old=redirect.format(number=number))
        for number in range(servers)
    )
    return f"events {{}}\nhttp {{\nmap_hash_max_size 65536;\n{''.join(parts)}}}\n"


def measure(servers: Sequence[int], rounds: int, folder: Path) -> Result:
    """Return the median usages. Raises `ChildError` if a verdict is another than `equivalent`."""
    commands: dict[str, list[str]] = {}
    for number in sorted(servers):
        names = [f"{number}-{side}.conf" for side in (0, 1)]
        for side, name in enumerate(names):
            (folder / name).write_text(text(number, side))
        commands[str(number)] = [sys.executable, "-m", "nginxopt", "verify", *names]
    contenders = {name: lambda command=command: run(command, folder) for name, command in commands.items()}
    usages = medians(contenders, rounds)
    return Result(tuple(sorted(servers)), tuple(usages[name] for name in commands))


def rows(results: Sequence[Result]) -> Iterator[str]:
    """Yield a table."""
    yield f"{'servers':>8} {'wall s':>8} {'CPU s':>8} {'MB':>6}"
    for result in results:
        for number, usage in zip(result.servers, result.usages, strict=True):
            yield f"{number:>8,} {usage.wall:>8.2f} {usage.cpu:>8.2f} {usage.peak / MEGABYTE:>6.0f}"
        yield f"{result.steeper:.2f} times what the number of servers says, at most {_STEEPER}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 if the time grows faster than the number of servers."""
    parser = argparse.ArgumentParser(prog="benchmarks.verify", description="Time verify with few and many servers.")
    parser.add_argument("--servers", default=_SERVERS, help="numbers of servers (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is run (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="nginxopt-") as name:
        result = measure([int(number) for number in options.servers.split(",")], options.rounds, Path(name))
    return report([result], rows, as_json=options.json)


if __name__ == "__main__":
    raise SystemExit(main())
