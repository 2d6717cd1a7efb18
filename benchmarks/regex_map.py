"""The cost of a `map` with very many regular expressions in nginx, before and after `nginxopt rewrite-to-map`.

    python -m benchmarks.regex_map                       42,000 rows, as one public site has (see `regex_rows`)
    python -m benchmarks.regex_map --sizes 1000,42000
    python -m benchmarks.regex_map --no-instructions     without callgrind, which takes minutes
    python -m benchmarks.regex_map --json                the figures for a machine

Instructions and CPU time of a request, memory of a worker, CPU time of `nginx -t`, and the time of the command, proof
included, against `crossplane.parse` alone. Needs nginx, Linux (schedstat in proc(5)), and valgrind for instructions.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from benchmarks.child import MEGABYTE, Usage, medians, run
from benchmarks.instructions import Case, per_request
from benchmarks.memory import START_SECONDS, tests, worker
from benchmarks.regex_rows import ASKED, Probe, block, probes, rows
from benchmarks.speed import CROSSPLANE, NGINXOPT
from nginxopt.bench.rewrite_rules import Parts
from nginxopt.errors import NginxoptError, RunError
from nginxopt.system import nginx
from nginxopt.system.http import Client, RequestBytes

MOST_INSTRUCTIONS, MOST_MAPS = 40_000, 2_000
MOST_RATIO = 2.6  # to crossplane alone: 2 s where that takes 0.31 s for 10,000 literals (`speed`), and 0.76 s here

_HEAD, _SERVER = b"events {}\nhttp {\n", b"server {\n"
_CPU_SECONDS, _MOST_REQUESTS = 0.4, 20_000
_INCLUDE = re.compile(rb"^ *include ([^;]+);$", re.MULTILINE)
_MAP = re.compile(rb"^ *map ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Cost:
    """What one form costs: instructions and CPU seconds of a request by its kind, bytes of a worker, CPU seconds of
    `nginx -t`, and how many maps it has.
    """

    instructions: Mapping[str, int]
    seconds: Mapping[str, float]
    pss: float
    test: float
    maps: int


@dataclass(frozen=True, slots=True)
class Result:
    """The costs of nginx without a map, of the map and of what it compiles to; and what the command took."""

    rows: int
    none: Cost
    original: Cost
    compiled: Cost
    command: Usage
    crossplane: Usage

    def verdicts(self) -> Iterator[tuple[str, bool]]:
        """Yield each target and whether it holds; that of instructions only if they were counted."""
        if self.compiled.instructions:
            worst = max(self.compiled.instructions.values())
            yield f"at most {MOST_INSTRUCTIONS:,} instructions a request: {worst:,}", worst <= MOST_INSTRUCTIONS
        yield "a worker takes no more memory", self.compiled.pss <= self.original.pss
        yield "nginx -t takes no longer", self.compiled.test <= self.original.test
        yield f"fewer than {MOST_MAPS:,} maps: {self.compiled.maps:,}", self.compiled.maps < MOST_MAPS
        yield f"at most {MOST_RATIO} times the time of crossplane alone: {self.ratio:.2f}", self.ratio <= MOST_RATIO

    @property
    def ratio(self) -> float:
        """The time of the command as a multiple of crossplane's."""
        return self.command.wall / self.crossplane.wall


def measure(binary: nginx.Binary, count: int, rounds: int, *, instructions: bool) -> Result:
    """Measure `count` rows; `RunError` if nginx answers a probe in another way than before."""
    lines = list(rows(count))
    with tempfile.TemporaryDirectory(prefix="nginxopt-") as name:
        folder = Path(name)
        original = _HEAD + block(lines) + _SERVER + ASKED + b"}\n}\n"
        (folder / "nginx.conf").write_bytes(original)
        command = (*NGINXOPT, "rewrite-to-map", "nginx.conf", "-o", "out", "-q")
        took = medians(
            {
                "nginxopt": lambda: run(command, folder),
                "crossplane": lambda: run((*CROSSPLANE, "nginx.conf"), folder),
            },
            rounds,
        )
        forms = {"none": Parts(b"", b""), "original": _parts(original, folder)}
        forms["compiled"] = _parts((folder / "out" / "nginx.conf").read_bytes(), folder / "out")
    asked = probes(lines)
    same_answers(binary, forms["original"], forms["compiled"], asked)
    seconds = tests(binary, forms, rounds)
    costs = {
        form: Cost(
            {
                probe.name: per_request(binary, Case(f"{form}, {probe.name}", probe.target, parts.http, parts.server))
                for probe in asked
                if instructions
            },
            {probe.name: _seconds(binary, parts, probe) for probe in asked},
            median(worker(binary, parts)[0] for _ in range(rounds)),
            seconds[form],
            len(_MAP.findall(parts.http)),
        )
        for form, parts in forms.items()
    }
    return Result(count, command=took["nginxopt"], crossplane=took["crossplane"], **costs)


def _parts(text: bytes, folder: Path) -> Parts:
    """Return the parts of a configuration as written above, with its includes inline."""
    http, _, server = text.partition(_HEAD)[2].partition(_SERVER)
    http = _INCLUDE.sub(lambda found: (folder / found[1].decode()).read_bytes(), http)
    return Parts(http, server.rpartition(b"}\n}\n")[0])


def same_answers(binary: nginx.Binary, original: Parts, compiled: Parts, asked: Sequence[Probe]) -> None:
    """Send the probes to nginx with both; `RunError` if a response differs."""
    requests = [_request(probe) for probe in asked]
    answers = []
    for parts in (original, compiled):
        with _instance(binary, parts) as instance, instance.client() as client:
            answers.append([_unported(answer, instance.ports[0]) for answer in client.ask(requests)])
    for probe, before, after in zip(asked, *answers, strict=True):
        if before != after:
            raise RunError(f"{probe.name}: nginx answers in another way: {before!r} and {after!r}")


def _unported(answer: bytes, port: int) -> bytes:
    status, _, headers = answer.partition(b"\r\n")
    location = re.search(rb"\r\nLocation: ([^\r]*)", headers)
    return status + (location[1].replace(b":%d" % port, b"") if location else b"")


def _seconds(binary: nginx.Binary, parts: Parts, probe: Probe) -> float:
    """Return the CPU seconds of a request, the mean over many on one connection."""
    with _instance(binary, parts) as instance, instance.client() as client:
        batch = [_request(probe)] * Client.PIPELINE_REQUESTS
        client.ask(batch)
        start, count = _cpu(instance.pid), 0
        while (taken := _cpu(instance.pid) - start) < _CPU_SECONDS and count < _MOST_REQUESTS:
            client.ask(batch)
            count += len(batch)
    return taken / count


def _cpu(pid: int) -> float:
    """Return the seconds a process has been on a CPU (proc(5): schedstat)."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def _instance(binary: nginx.Binary, parts: Parts) -> nginx.Instance:
    server = parts.server + b'location / { return 200 "ok"; }'
    return nginx.Instance(
        binary,
        servers=[server],
        http=parts.http,
        start_seconds=START_SECONDS,
    )


def _request(probe: Probe) -> RequestBytes:
    return RequestBytes(b"GET %s HTTP/1.1\r\nHost: bench.test\r\n\r\n" % probe.target)


def table(result: Result) -> Iterator[str]:
    """Yield the figures of a result as lines."""
    forms = {"no map": result.none, "regex rows": result.original, "lookups": result.compiled}
    yield f"{result.rows:,} rows".ljust(34) + "".join(f"{form:>14}" for form in forms)
    for name in result.none.instructions:
        yield _line(f"instructions, {name}", [f"{cost.instructions[name]:,}" for cost in forms.values()])
    for name in result.none.seconds:
        yield _line(f"us of CPU, {name}", [f"{cost.seconds[name] * 1e6:,.1f}" for cost in forms.values()])
    yield _line("worker, MB (PSS)", [f"{cost.pss / MEGABYTE:.1f}" for cost in forms.values()])
    yield _line("nginx -t, s", [f"{cost.test:.3f}" for cost in forms.values()])
    yield _line("maps", [f"{cost.maps:,}" for cost in forms.values()])
    yield f"the command takes {result.command.wall:.2f} s, crossplane alone {result.crossplane.wall:.2f} s"
    yield from (f"{'held' if holds else 'NOT HELD':<9}{what}" for what, holds in result.verdicts())


def _line(what: str, figures: Sequence[str]) -> str:
    return what.ljust(34) + "".join(f"{figure:>14}" for figure in figures)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 if a target does not hold."""
    parser = argparse.ArgumentParser(prog="benchmarks.regex_map", description="Measure a map of regular expressions.")
    parser.add_argument("--nginx", metavar="PATH", help="the nginx binary (default: the one on PATH)")
    parser.add_argument("--sizes", default="42000", help="numbers of rows (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is run (default: %(default)s)")
    parser.add_argument("--no-instructions", action="store_true", help="do not count instructions with callgrind")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    counted = not options.no_instructions
    try:
        binary = nginx.find(options.nginx)
        results = [
            measure(binary, int(size), options.rounds, instructions=counted) for size in options.sizes.split(",")
        ]
    except NginxoptError as error:
        print(f"regex_map: {error}", file=sys.stderr)
        return error.exit_code
    if options.json:
        print(json.dumps([asdict(result) for result in results], indent=2))
    else:
        print(*(line for result in results for line in (*table(result), "")), sep="\n")
    return int(not all(holds for result in results for _, holds in result.verdicts()))


if __name__ == "__main__":
    raise SystemExit(main())
