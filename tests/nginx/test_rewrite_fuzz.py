"""A few whole configurations through the command line; `python -m tests.fuzz.rewrites` runs as many as wanted."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nginxopt.system import nginx
from tests.fuzz.nodes import Node, render
from tests.fuzz.rewrites.check import Failure, check, compare
from tests.fuzz.rewrites.generate import Case, Command, generate
from tests.fuzz.rewrites.minimise import minimised, reproduction
from tests.fuzz.rewrites.requests import Ask
from tests.fuzz.rewrites.sides import Bench, Observation
from tests.support import drawn

pytestmark = [pytest.mark.nginx, pytest.mark.no_cover]

COUNT = 14
REQUESTS = 150


@pytest.fixture
def bench(each_binary: nginx.Binary, tmp_path: Path) -> Iterator[Bench]:
    """A place to run the configurations, with each nginx."""
    with Bench(tmp_path, each_binary) as bench_:
        yield bench_


def rules(*rewrites: bytes, port: int = 0) -> Case:
    """A case with these rules and a reader of captures in a server, and requests for what they match."""
    server = [Node(b"listen 127.0.0.1:@P%d@" % port), Node(b"set $kept $uri")]
    server += [Node(rewrite) for rewrite in rewrites]
    server += [Node(b"location /", [Node(b'return 200 "$uri [$1]"')])]
    regex = Node(b"server_name ~^(captured)$")
    events = Node(b"events", [Node(b"worker_connections 64")])
    logs = [Node(b"log_format full '$http_x_n [$request] $status'"), Node(b"access_log logs/a.log full")]
    main = [Node(b"user root"), Node(b"error_log logs/error.log warn"), events]
    tree = [*main, Node(b"http", [*logs, Node(b"server", [regex, *server])])]
    targets = (b"/old", b"/OLD", b"/old%0A", b"/Old", b"/kept/x", b"/none", b"/old?x=1", b"/index/")
    asks = [
        Ask(port, b"GET %s HTTP/1.1\r\nHost: captured\r\nX-N: %d\r\n\r\n" % (target, number))
        for number, target in enumerate(targets)
    ]
    return Case("by hand", tree, Command("whole", "write", ("nginx.conf",), ()), asks, set())


HANDMADE = (
    b"rewrite ^/old$ /new permanent",
    b"rewrite ^/Old$ /upper redirect",
    b"rewrite ^/kept/(.*)$ /b/$1 permanent",
    b"rewrite ^/inner$ /old last",
)


def replacing(pattern: bytes, by: bytes) -> Callable[[Path], None]:
    """A fault: what matches in the files of the result is replaced."""

    def damage(root: Path) -> None:
        for path in root.rglob("*.conf"):
            path.write_bytes(re.sub(pattern, by, path.read_bytes()))

    return damage


def exposing(root: Path) -> None:
    """A fault: the maps are for all to read and write."""
    for path in root.glob("nxo_*"):
        path.chmod(0o666)


# Without the rule that stays, which would clear `$1` as well.
MOVED = tuple(rule for rule in HANDMADE if b"kept" not in rule)

FAULTS: dict[str, tuple[Callable[[Path], None], str]] = {
    "no guard": (replacing(rb'"\^\[\^A-Z\]\*\\z"', b"^"), "answer"),
    "lost twin": (replacing(rb'"/old\\n" +"/new";', b""), "answer"),
    "flag": (replacing(rb"permanent;", b"redirect;"), "answer"),
    "target": (replacing(rb'"/new"', b'"/newer"'), "answer"),
    "a capture left": (
        replacing(rb'(\$\w+) ~ "[^"]*"\) \{(\s+rewrite "[^"]*") "\$\w+"', rb'\1) {\2 "\1"'), "answer",
    ),
    "the rule that stayed is lost": (replacing(rb"rewrite \^/kept.*", b""), "answer"),
    "not accepted": (replacing(rb"(map_hash_max_size \d+;)", rb"\1 \1"), "refused"),
    "modes": (exposing, "mode"),
}  # fmt: skip


@pytest.mark.no_cover
def test_configurations_answer_alike(bench: Bench) -> None:
    """Whole configurations of every layout answer, log and ask upstreams as before, and nginx accepts them."""
    compared = over_http2 = 0
    numbers = drawn(COUNT, bench.binary)
    for number in numbers:
        case = generate(2, number, bench.binary.version, REQUESTS)
        outcome = check(bench, case)
        over_http2 += outcome.requests * case.is_http2
        assert outcome.failure is None, reproduction(case, outcome.failure)
        compared += outcome.requests
    assert compared > len(numbers) * REQUESTS / 3
    assert over_http2


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_seen(bench: Bench, fault: str) -> None:
    """Each fault in a result that is right without it is found, as what it is."""
    damage, kind = FAULTS[fault]
    rewrites = MOVED if fault == "a capture left" else HANDMADE
    assert check(bench, rules(*rewrites)).failure is None
    failure = check(bench, rules(*rewrites), damage).failure
    assert (failure.kind if failure else "") == kind


def test_faults_are_seen_over_http2(bench: Bench) -> None:
    """The answers over HTTP/2 are compared as well."""
    case = dataclasses.replace(rules(*HANDMADE), is_http2=True)
    assert check(bench, case).failure is None
    failure = check(bench, case, FAULTS["target"][0]).failure
    assert failure is not None
    assert (failure.kind, ":Status: 301" in failure.text) == ("answer", True)


def test_logs_and_upstreams_are_compared() -> None:
    """A line that only one side logs, or that only one upstream was asked, is a difference of that kind."""
    asks = rules(*HANDMADE).asks[:1]
    line = b"0 [GET /old HTTP/1.1] 200"
    quiet = Observation([b"HTTP/1.1 200 OK"], [], [], [])
    assert compare(asks, quiet, quiet) is None
    for kind in ("access", "upstream", "errors"):
        failure = compare(asks, quiet, dataclasses.replace(quiet, **{kind: [line]}))
        assert failure is not None
        assert (failure.kind, failure.ask) == (kind, asks[0])


def test_an_access_log_that_is_lost_is_seen(bench: Bench) -> None:
    """What only a log shows is found."""
    failure = check(bench, rules(*HANDMADE), replacing(rb"set \$kept \$uri;", b"access_log off;")).failure
    assert failure is not None
    assert failure.kind == "access"


def test_a_failure_is_made_small(binary: nginx.Binary, tmp_path: Path) -> None:
    """What is left of a failing case is what it takes to fail, and its text tells all that is needed."""
    damage = replacing(rb'"/new"', b'"/newer"')
    case = rules(*HANDMADE, *(b"rewrite ^/more%d$ /x permanent" % number for number in range(6)))
    with Bench(tmp_path, binary) as bench:
        failure = check(bench, case, damage).failure
        assert failure is not None
        smallest = minimised(bench, case, failure, damage=damage)
    assert smallest is not None
    text = reproduction(*smallest)
    assert text.count("rewrite ^") == 1
    assert "rewrite ^/old$ /new permanent;" in text
    assert "request: b'GET /old" in text


def test_what_nginx_refuses_is_taken_out(bench: Bench) -> None:
    """A directive that nginx refuses is removed from a case before anything is compared."""
    case = rules(b"rewrite ^/a( /b permanent", *HANDMADE)
    outcome = check(bench, case)
    assert outcome.failure is None
    assert outcome.requests == len(case.asks)
    assert b"/a(" not in render("nginx.conf", case.tree).files["nginx.conf"]


def test_cases_can_be_made_again() -> None:
    """A seed makes the same files and requests, each by its number alone; another seed makes others."""

    def made(seed: int, number: int) -> tuple[dict[str, bytes], list[bytes], Command]:
        case = generate(seed, number, (1, 31, 3), 50)
        return render("nginx.conf", case.tree, case.newline).files, [ask.data for ask in case.asks], case.command

    for number in range(6):
        assert made(1, number) == made(1, number)
    assert made(1, 1) != made(2, 1)


def test_everything_is_generated() -> None:
    """Within some hundred cases every layout, way to run the command, module and kind of place occurs."""
    features: set[str] = set()
    for number in range(200):
        features |= generate(1, number, ((1, 22, 1), (1, 31, 3))[number % 2], 1).features
    for name in (
        "layout: debian",
        "layout: docker",
        "layout: rhel",
        "layout: single",
        "command: whole write",
        "command: whole folder",
        "command: whole print",
        "command: site write",
        "command: fragment write",
        "command: fragment print",
        "command: fragment folder",
        "module: lua",
        "module: njs",
        "module: echo",
        "module: headers-more",
        "module: set-misc",
        "if with add_header before a run",
        "if with error_page before a run",
        "if before a run (server)",
        "pcre_jit on",
        "run in a server",
        "run in a location",
        "run in a location ~",
        "run in an included file",
        "file included twice",
        "pattern: tricky",
        "pattern: catastrophic",
        "map with a regex",
        "captures are read",
        "captures unread",
        "CRLF",
        "site is a link",
        "map_hash_* in stream",
        "add_header_inherit (location)",
        "limit_except",
        "nested location",
    ):
        assert name in features, name


def test_a_failure_names_its_kind() -> None:
    """A failure without a request is told by its kind and text alone."""
    text = reproduction(rules(*HANDMADE), Failure("refused", "[emerg] no"))
    assert "by hand: refused\n[emerg] no\ncommand: nginxopt rewrite-to-map nginx.conf" in text
    assert "request:" not in text
