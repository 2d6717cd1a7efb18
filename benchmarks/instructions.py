"""User-space instructions nginx executes for one request, counted by callgrind: the same number on any
machine.

    python benchmarks/instructions.py                  no rules, N rewrites and their compiled form, N = 819
    and 10000 python benchmarks/instructions.py --sizes 819
    python benchmarks/instructions.py --details        the parts of the compiled form: guards, clearing of
    captures

Needs nginx and valgrind. The count of a request is the difference of two runs that differ in the number of
requests, so the start of nginx is not in it.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nginxopt import nginx
from nginxopt.errors import MissingError, NginxoptError
from nginxopt.http import Request

FEW, MANY = 4, 36
_START_SECONDS = 120.0
_ANSWER_SECONDS = 120.0
_LOCATION = b'location / { return 200 "ok"; }'
_SIZING = b"map_hash_max_size 32768; map_hash_bucket_size 512;\n"
FAR_MISS = b"/favicon.ico"


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
    totals = [_total(binary, case, requests) for requests in (FEW, MANY)]
    return round((totals[1] - totals[0]) / (MANY - FEW))


def _total(binary: nginx.Binary, case: Case, requests: int) -> int:
    with tempfile.TemporaryDirectory(prefix="nginxopt-") as directory:
        counts = Path(directory, "callgrind")
        with _instance(binary, case, counts) as instance, instance.client(timeout=_ANSWER_SECONDS) as client:
            request = Request(b"GET %s HTTP/1.1\r\nHost: bench.test\r\n\r\n" % case.target)
            for _ in range(requests):  # one after the other: each is read from the socket by itself
                (answer,) = client.ask([request])
                if not answer:
                    raise MissingError(f"nginx under callgrind did not answer: {case.name}")
        summary = re.search(rb"^(?:summary|totals): (\d+)", counts.read_bytes(), re.MULTILINE)
    if summary is None:
        raise MissingError("callgrind wrote no count")
    return int(summary[1])


def _instance(binary: nginx.Binary, case: Case, counts: Path) -> nginx.Instance:
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise MissingError("valgrind is needed to count instructions", hint="install the package valgrind")
    return nginx.Instance(
        binary,
        servers=[case.rules + _LOCATION],
        http=case.http,
        # Else each new second costs 6,700 instructions for the strings of the date (ngx_time_update).
        main=b"timer_resolution 1d;",
        wrapper=(valgrind, "--quiet", "--tool=callgrind", f"--callgrind-out-file={counts}"),
        start_seconds=_START_SECONDS,
    )


def uri(number: int) -> bytes:
    """Return the URI of a rule: 34 bytes, as long as real ones are on average."""
    return b"/section/archive/article-%05d.html" % number


def rewrites(count: int) -> bytes:
    """Return `count` literal rules as they are found in the wild."""
    rule = b"rewrite ^%s$ https://$http_host/new/%05d permanent;\n"
    return b"".join(rule % (uri(number).replace(b".", rb"\."), number) for number in range(count))


def compiled(count: int) -> tuple[bytes, bytes]:
    """Return the exact form of `rewrites(count)`: the http part, and what stands in place of the rules."""
    uris = [uri(number) for number in range(count)]
    guard = exact_map(b"nxo_k", uris, uris)
    targets = exact_map(b"nxo_t", uris, [b"/new/%05d" % number for number in range(count)])
    rules = b"if ($nxo_k = $uri) { rewrite ^ https://$http_host$nxo_t permanent; }\n"
    return _SIZING + guard + targets, rules


def exact_map(variable: bytes, keys: Sequence[bytes], values: Sequence[bytes]) -> bytes:
    """Return a volatile map of `$uri`; each key has its twin with a final newline, and a guard's value has
    it too."""
    entries = []
    for key, value in zip(keys, values, strict=True):
        twin = value + rb"\n" if key == value else value
        entries.append(b'"%s" "%s"; "%s\\n" "%s";\n' % (key, value, key, twin))
    return b"map $uri $%s { volatile;\n%s}\n" % (variable, b"".join(entries))


def rule_cases(sizes: Sequence[int]) -> Iterator[Case]:
    """Yield the cases of the cost table: no rules, and for each size the rules and their compiled form."""
    yield Case("no rules", FAR_MISS)
    for size in sizes:
        http, rules = compiled(size)
        targets = (("far miss", FAR_MISS), ("near miss", uri(size)), ("hit last", uri(size - 1)))
        for what, target in targets:
            yield Case(f"{size} rewrites, {what}", target, b"", rewrites(size))
        for what, target in (*targets, ("hit first", uri(0))):
            yield Case(f"{size} compiled, {what}", target, http, rules)


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


def detail_cases() -> Iterator[Case]:
    """Yield the cases that decide between forms: ways to clear captures, and one guard a class against a
    class id."""
    yield Case("no rules", FAR_MISS)
    for regex in CLEARING:
        yield Case(f"rewrite {regex.decode()}", FAR_MISS, b"", b'rewrite "%s" /;' % regex)
    yield Case("no rules, 60 bytes", LONG_MISS)
    for regex in CLEARING:
        yield Case(f"rewrite {regex.decode()}, 60 bytes", LONG_MISS, b"", b'rewrite "%s" /;' % regex)
    for classes in (1, 2, 4):
        for name, form in (("guards", guards), ("class id", class_id)):
            http, rules = form(classes)
            for what, target in (("far miss", FAR_MISS), ("hit last", uri(818))):
                yield Case(f"{classes} classes as {name}, {what}", target, http, rules)


def guards(classes: int, count: int = 819) -> tuple[bytes, bytes]:
    """Return maps and a block of its own for each class: a guard map and a target map over the keys of the
    class."""
    http, rules = _SIZING, b""
    for number in range(classes):
        uris = [uri(index) for index in range(count) if (index - count) % classes == number]
        http += exact_map(b"nxo_k%d" % number, uris, uris)
        http += exact_map(b"nxo_t%d" % number, uris, [b"/new" + key for key in uris])
        rules += b"if ($nxo_k%d = $uri) { rewrite ^ https://$http_host$nxo_t%d permanent; }\n" % (
            number,
            number,
        )
    return http, rules


def class_id(classes: int, count: int = 819) -> tuple[bytes, bytes]:
    """Return one guard over all keys that sets the class, and a block for each class without maps of its
    own."""
    uris = [uri(index) for index in range(count)]
    http = _SIZING + exact_map(b"nxo_k", uris, uris)
    http += exact_map(b"nxo_c", uris, [b"%d" % ((index - count) % classes + 1) for index in range(count)])
    http += exact_map(b"nxo_t", uris, [b"/new" + key for key in uris])
    rules = b'set $nxo_id ""; if ($nxo_k = $uri) { set $nxo_id $nxo_c; }\n'
    for number in range(1, classes + 1):
        rules += b"if ($nxo_id = %d) { rewrite ^ https://$http_host$nxo_t permanent; }\n" % number
    return http, rules


def main() -> int:
    """Print a table of instructions a request, with ratios to no rules."""
    parser = argparse.ArgumentParser(description="Count nginx's instructions a request with callgrind.")
    parser.add_argument("--nginx", metavar="PATH", help="the nginx binary (default: the one on PATH)")
    parser.add_argument("--sizes", default="819,10000", help="numbers of rules, with commas (default: %(default)s)")
    parser.add_argument("--details", action="store_true", help="measure the parts of the compiled form instead")
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    try:
        binary = nginx.find(options.nginx)
        print(f"nginx {'.'.join(map(str, binary.version))}, instructions a request\n")
        none = 0
        for case in detail_cases() if options.details else rule_cases(sizes):
            cost = per_request(binary, case)
            none = none or cost
            print(f"{case.name:<42} {cost:>12,} {cost / none:>10.2f} x {cost - none:>+12,}", flush=True)
    except NginxoptError as error:
        print(f"instructions: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
