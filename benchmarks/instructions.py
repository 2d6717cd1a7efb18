"""User-space instructions nginx executes for one request, counted by callgrind: the same number on any machine.

    python -m benchmarks.instructions                  no rules, N rewrites and what they compile to, N = 819 and 10000
    python -m benchmarks.instructions --sizes 819
    python -m benchmarks.instructions --mix            rules of all kinds, compiled, N = 10000 and 100000
    python -m benchmarks.instructions --classes        compiled rules of one to four kinds of directives
    python -m benchmarks.instructions --clearing       ways to clear captures

Needs nginx and valgrind; see `nginxopt.system.callgrind`.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.mixes import example, wild
from nginxopt.bench.rewrite_rules import FAR_MISS, Parts, fragment, literal, uri, whole
from nginxopt.errors import NginxoptError, RunError
from nginxopt.system import callgrind, nginx
from nginxopt.system.callgrind import ANSWER_SECONDS, START_SECONDS
from nginxopt.system.http import RequestBytes

_LOCATION = b'location / { return 200 "ok"; }'

# At most so many times the instructions of no rules, on a miss and on a hit; and so many times fewer than 10,000
# rewrites on a near miss.
MOST, MOST_OF_MIX = (1.4, 2.0), (1.5, 2.5)
LEAST_GAIN, GAIN_SIZE = 1_000, 10_000
MIX_HITS = 12


@dataclass(frozen=True, slots=True)
class Case:
    """A configuration (the http part and the rules of a server) and the request target that is counted on
    it."""

    name: str
    target: bytes
    http: bytes = b""
    rules: bytes = b""


def per_request(binary: nginx.Binary, case: Case) -> int:
    """Return the instructions one request of `case` costs: the mean over many on one connection."""

    def ask(wrapper: Sequence[str], requests: int, written: Path) -> None:
        with (
            _instance(binary, case, wrapper, (written,)) as instance,
            instance.client(timeout=ANSWER_SECONDS) as client,
        ):
            request = RequestBytes(b"GET %s HTTP/1.1\r\nHost: bench.test\r\n\r\n" % case.target)
            for _ in range(requests):  # one after the other: each is read from the socket by itself
                (answer,) = client.ask([request])
                if not answer:
                    raise RunError(f"nginx under callgrind did not answer: {case.name}")

    return round(callgrind.per_request(ask))


def _instance(binary: nginx.Binary, case: Case, wrapper: Sequence[str], also: tuple[Path, ...] = ()) -> nginx.Instance:
    return nginx.Instance(
        binary,
        servers=[case.rules + _LOCATION],
        http=case.http,
        # Else each new second costs 6,700 instructions for the strings of the date (ngx_time_update).
        main=b"timer_resolution 1d;",
        wrapper=wrapper,
        also=also,
        start_seconds=START_SECONDS,
    )


Form = Callable[[Iterable[bytes]], Parts]
FORMS: dict[str, Form] = {"fragment": fragment, "whole": whole}


def targets(size: int) -> dict[str, bytes]:
    """Return the requests for `size` literal rules."""
    return {"far miss": FAR_MISS, "near miss": uri(size), "hit first": uri(0), "hit last": uri(size - 1)}


def rule_cases(sizes: Sequence[int], forms: Mapping[str, Form] = FORMS) -> Iterator[Case]:
    """Yield the cases of the cost table: no rules, and for each size the rules and what they compile to."""
    yield Case("no rules", FAR_MISS)
    for size in sizes:
        for what, target in targets(size).items():
            yield Case(f"{size} rewrites, {what}", target, b"", b"".join(literal(size)))
        for name, form in forms.items():
            parts = form(literal(size))
            for what, target in targets(size).items():
                yield Case(f"{size} compiled ({name}), {what}", target, parts.http, parts.server)


def mix_cases(sizes: Sequence[int]) -> Iterator[Case]:
    """Yield cases of a compiled mix: misses, and hits of rules drawn at random."""
    yield Case("no rules", FAR_MISS)
    for size in sizes:
        rules = list(wild(size))
        parts = fragment(rules)
        drawn = sorted(random.Random(size).sample(range(size), MIX_HITS))
        hits = {f"hit of rule {number}": example(rules[number]) for number in drawn}
        for what, target in {"far miss": FAR_MISS, "near miss": b"/news/item-%05d.html" % size, **hits}.items():
            yield Case(f"{size} of a mix compiled, {what}", target, parts.http, parts.server)


_CLASSES = (b"/new/%d permanent", b"/new/%d redirect", b"/new/%d?a=%d permanent", b"/new/%d?a=%d redirect")


def class_cases(size: int, forms: Mapping[str, Form] = FORMS) -> Iterator[Case]:
    """Yield cases of compiled rules that need one to four directives, in equal parts."""
    yield Case("no rules", FAR_MISS)
    for count in range(1, len(_CLASSES) + 1):
        for name, form in forms.items():
            parts = form(_of_classes(count, size))
            yield Case(f"{count} classes ({name}), far miss", FAR_MISS, parts.http, parts.server)
            for number in range(count):
                what = f"{count} classes ({name}), hit of class {number + 1}"
                yield Case(what, uri(number), parts.http, parts.server)


def _of_classes(count: int, size: int) -> Iterator[bytes]:
    for number in range(size):
        target = _CLASSES[number % count]
        values = (number,) * target.count(b"%d")
        yield b"rewrite ^%s$ %s;\n" % (uri(number).replace(b".", rb"\."), target % values)


# Each fails on every URI, or on every URI from a client, and so clears the numbered captures.
CLEARING = (
    rb"^(?!)",
    rb"(?!)",
    rb"^a(?!)",
    rb"^\x00(?!)",
    rb"^\x00",
    rb"\x00",
    rb"\x00{200}",
    rb"^a",
    rb"^[^/]",
)
LONG_MISS = b"/" + b"x" * 59


def clearing_cases() -> Iterator[Case]:
    """Yield the ways to clear captures, on a URI of usual length and on a long one."""
    for length, target in (("", FAR_MISS), (", 60 bytes", LONG_MISS)):
        yield Case(f"no rules{length}", target)
        for regex in CLEARING:
            yield Case(f"rewrite {regex.decode()}{length}", target, b"", b'rewrite "%s" /;' % regex)


def verdicts(costs: Mapping[str, int]) -> Iterator[tuple[str, float, bool]]:
    """Yield each target: its subject, the measured ratio, and whether it holds."""
    none = costs["no rules"]
    for name, cost in costs.items():
        if "compiled" in name:
            on_miss, on_hit = MOST_OF_MIX if "of a mix" in name else MOST
            most = on_hit if "hit" in name else on_miss
            yield f"{name}: at most {most} x no rules", cost / none, cost / none <= most
    before = costs.get(f"{GAIN_SIZE} rewrites, near miss")
    for form in FORMS:
        after = costs.get(f"{GAIN_SIZE} compiled ({form}), near miss")
        if before and after:
            gain = before / after
            yield (
                f"{GAIN_SIZE} rewrites, near miss: at least {LEAST_GAIN:,} x compiled ({form})",
                gain,
                gain >= LEAST_GAIN,
            )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table of instructions a request, with ratios to no rules, and whether the targets hold; 1 if not."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.instructions", description="Count nginx's instructions a request with callgrind."
    )
    parser.add_argument("--nginx", metavar="PATH", help="the nginx binary (default: the one on PATH)")
    parser.add_argument("--sizes", help="numbers of rules (default: 819,10000; of a mix 10000,100000)")
    parser.add_argument("--mix", action="store_true", help="compiled rules of all kinds, as in the wild, instead")
    parser.add_argument("--classes", action="store_true", help="compiled rules of one to four directives instead")
    parser.add_argument("--clearing", action="store_true", help="ways to clear captures instead")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    sizes = [int(size) for size in (options.sizes or ("10000,100000" if options.mix else "819,10000")).split(",")]
    if options.mix:
        cases = mix_cases(sizes)
    elif options.classes:
        cases = class_cases(sizes[0])
    else:
        cases = clearing_cases() if options.clearing else rule_cases(sizes)
    try:
        costs = measure(nginx.find(options.nginx), cases, quiet=options.json)
    except NginxoptError as error:
        print(f"instructions: {error}", file=sys.stderr)
        return error.exit_code
    found = list(verdicts(costs))
    if options.json:
        print(json.dumps(costs, indent=2))
    else:
        print(
            "",
            *(f"{'held' if holds else 'NOT HELD':<9}{ratio:>9,.2f}  {what}" for what, ratio, holds in found),
            sep="\n",
        )
    return int(not all(holds for _, _, holds in found))


def measure(binary: nginx.Binary, cases: Iterable[Case], *, quiet: bool) -> dict[str, int]:
    """Return the instructions of each case by its name, and print them as they come."""
    costs: dict[str, int] = {}
    for case in cases:
        cost = costs[case.name] = per_request(binary, case)
        none = next(iter(costs.values()))
        if not quiet:
            print(f"{case.name:<42} {cost:>12,} {cost / none:>10.2f} x {cost - none:>+12,}", flush=True)
    return costs


if __name__ == "__main__":
    raise SystemExit(main())
