"""Work of the native core ends: when nobody waits for it, and when it takes more than a list of its size may take."""

from __future__ import annotations

import ctypes
import json
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from nginxopt import _native, load_text
from nginxopt.lint.queries import controlled
from nginxopt.lint.queries.model import Model
from nginxopt.rewrite import Options
from nginxopt.rewrite.compilation import Plan, plan
from nginxopt.rewrite.proving import proved
from nginxopt.rewrite.suspicious import why_never
from nginxopt.version import Version
from tests.rows import every_row
from tests.support import PATIENCE


class LeftError(Exception):
    """What the handler of a signal raises, or another thread."""


def working() -> int:
    """Return the number of threads in which the native core works."""
    count = 0
    for name in Path("/proc/self/task").glob("*/comm"):
        try:
            count += name.read_text().strip() == "nginxopt-work"
        except OSError:  # it has just ended
            continue
    return count


def until(test: Callable[[], bool]) -> None:
    """Wait until something is the case."""
    deadline = time.monotonic() + PATIENCE
    while not test():
        assert time.monotonic() < deadline
        time.sleep(0.005)


@contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Have a signal raise `LeftError` in the main thread."""

    def leave(_: int, __: FrameType | None) -> None:
        raise LeftError

    before = signal.signal(signal.SIGALRM, leave)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def block(rows: Iterator[str] | list[str]) -> bytes:
    """A map of patterns."""
    lines = "".join(f'"{row}" "/to/{number}";\n' for number, row in enumerate(rows))
    return f"map $uri $new {{\n{lines}}}\n".encode()


def demanding(rows: int) -> bytes:
    """A map whose plan takes long: no pattern has a beginning of its own."""
    return block(f"~^/.*/{number % 97}.*x{number}y.*z$" for number in range(rows))


def raise_in(thread: threading.Thread) -> None:
    """Raise `LeftError` in a thread."""
    assert thread.ident is not None
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(LeftError))


@pytest.mark.parametrize("rows", [0, 60_000], ids=["forever", "plan"])
def test_abandoned_work_ends_and_others_do_not(rows: int) -> None:
    """A signal ends the thread whose result nobody waits for any more; work of another thread goes on.

    A plan of so many rows takes fifty times longer than until the signal.
    """
    results: list[object] = []
    text, long = demanding(300), demanding(rows)
    other = threading.Thread(target=lambda: results.append(_native.compile_map(text, stem="nxo_1_", share=1e9)))
    other.start()
    with pytest.raises(LeftError), alarm(0.02):  # noqa: PT012 - one of two statements
        if rows:
            _native.compile_map(long, stem="nxo_1_", share=1e9)
        else:
            _native.work_forever()
    other.join(PATIENCE)
    until(lambda: working() == 0)
    again = _native.compile_map(text, stem="nxo_1_", share=1e9)
    assert [describe(result) for result in results] == [describe(again)]


def describe(result: object) -> object:
    """Return what a compilation comes to."""
    return result.reason if isinstance(result, _native.StayingMap) else getattr(result, "maps", None)


def test_threads_are_abandoned_one_by_one() -> None:
    """An exception that is set for one of several threads ends its work only."""
    ended: list[int] = []

    def work(number: int) -> None:
        try:
            _native.work_forever()
        except LeftError:
            ended.append(number)

    threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(3)]
    for thread in threads:
        thread.start()
    until(lambda: working() == len(threads))
    for number in (1, 0, 2):
        raise_in(threads[number])
        threads[number].join(PATIENCE)
        until(lambda: working() == len(threads) - len(ended))
    assert ended == [1, 0, 2]


def rules(number: int, count: int) -> bytes:
    """Rules that become a lookup."""
    return b"".join(b"rewrite ^/%d/%d/old$ /%d/new permanent;\n" % (number, each, each) for each in range(count))


def site(*counts: int) -> bytes:
    """A site with a list of rules for each count, each in a server."""
    servers = (
        b"server {\n listen 127.0.0.1:8080;\n server_name s%d;\n%s}\n" % (number, rules(number, count))
        for number, count in enumerate(counts)
    )
    return b"events {}\nhttp {\n" + b"".join(servers) + b"}\n"


def below(count: int) -> bytes:
    """A site with rules that match any number of URIs."""
    lines = b"".join(b"rewrite ^/some/page%d/(.*)$ /to/$1 permanent;\n" % number for number in range(count))
    return site(0).replace(b"s0;", b"s0;\n" + lines)


def bounded(monkeypatch: pytest.MonkeyPatch, is_too_much: Callable[[bytes], bool]) -> list[int]:
    """Have the proof exceed its bound for some texts. Return a list that gets the outcome of each call."""
    before, calls = _native.prove_rewrites, list[int]()

    def prove(pairs: list[Any], *args: Any, share: float, **options: Any) -> object:
        exceeds = any(is_too_much(pair.after) for pair in pairs)
        calls.append(exceeds)
        return before(pairs, *args, share=1e-9 if exceeds else share, **options)

    monkeypatch.setattr(_native, "prove_rewrites", prove)
    return calls


def outcome(planned: Plan) -> dict[str, int]:
    """Return how many rules move and stay, by reason."""
    return {"moved": planned.rules.moved, **planned.rules.reasons()}


def test_a_list_stays_whose_proof_takes_too_much_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lists of other servers are written, and few proofs find the one that stays."""
    counts = [30, 31, 32, 33, 34, 35, 36, 37]
    calls = bounded(monkeypatch, lambda text: rules(5, 35) not in text)
    emission, proof = proved(plan(load_text(site(*counts), "nginx.conf"), Options(groups=True)))
    assert proof.holds
    assert outcome(emission.plan) == {"moved": sum(counts) - 35, "too-much-work": 35}
    (change,) = emission.changes
    assert rules(5, 35) in change.after
    assert all(rules(number, count) not in change.after for number, count in enumerate(counts) if number != 5)
    assert emission.plan.broken == []
    assert len(calls) <= 10


def test_all_lists_stay_if_each_takes_too_much(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command leaves the file as it is, says why, and nothing is an error."""
    bounded(monkeypatch, lambda text: b"nxo_" in text)
    path = tmp_path / "nginx.conf"
    path.write_bytes(site(30, 31))
    done = run("rewrite-to-map", "--write", "--verbose", str(path))
    assert done.status == 0
    assert path.read_bytes() == site(30, 31)
    assert "too-much-work" in done.out.decode() + done.err


def test_the_effort_is_a_multiple_of_the_bound() -> None:
    """With little effort lists stay, with much they move; the proof has the same bound."""
    rows = block(f"~^/m{number}/" for number in range(40))
    config = load_text(below(40).replace(b"http {", b"http {\n" + rows), "nginx.conf")
    little, much = (plan(config, Options(groups=True, effort=effort)) for effort in (1e-6, 10))
    assert [kept.reason for kept in little.maps.kept] == ["too-much-work"]
    assert outcome(little) == {"moved": 0, "too-much-work": 40}
    assert (little.is_partial, much.is_partial) == (True, False)
    assert (little.moving, much.moving) == (0, 80)


def remark(monkeypatch: pytest.MonkeyPatch, text: bytes, share: float) -> Model:
    """Return the model of a configuration for rules, whose plan may take a share of what it usually may."""
    for name in ("compile_map", "compile_rewrites"):
        before = getattr(_native, name)
        monkeypatch.setattr(
            _native,
            name,
            lambda *args, before=before, **options: before(*args, **{**options, "share": share}),
        )
    return Model(load_text(text, "nginx.conf"), Version(1, 28, 0))


CHAIN = "".join(f"if ($http_user_agent ~ agent{number}x) {{ return 403; }}\n" for number in range(200)).encode()
LISTS = {
    "rewrite-literal-bulk": below(6_000),
    "map-regex-bulk": b"events {}\nhttp {\n" + block(f"~^/some/page{n}/.*{n}$" for n in range(6_000)) + b"}\n",
    "if-chain-to-map": b"events {}\nhttp {\nserver {\nlisten 127.0.0.1:8080;\n" + CHAIN + b"}\n}\n",
}
EXACT = {
    "rewrite-literal-bulk": "replace 6,000 that take",
    "map-regex-bulk": "turns them",
    "if-chain-to-map": "200 ifs",
}


@pytest.mark.parametrize("name", LISTS)
def test_a_finding_gives_a_lower_bound(name: str, run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all of a list takes too much work, its finding says "at least"; with more work, it is exact."""
    path = tmp_path / "nginx.conf"
    path.write_bytes(LISTS[name])
    before = {each: getattr(_native, each) for each in ("compile_map", "compile_rewrites")}

    def found(share: float) -> str:
        for each, call in before.items():
            monkeypatch.setattr(_native, each, lambda *a, call=call, **o: call(*a, **{**o, "share": share}))
        done = run("lint", "--isolated", "--select", name, "--format", "json", str(path))
        (finding,) = json.loads(done.out)["diagnostics"]
        return f"{finding['message']} {finding['help']}"

    bound, exact = found(SHARES[name]), found(100)
    assert "at least" in bound
    assert EXACT[name] in exact
    assert "at least" not in exact


SHARES = {"rewrite-literal-bulk": 0.05, "map-regex-bulk": 0.05, "if-chain-to-map": 0.0125}


def test_a_rule_declines_what_it_did_not_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that asks for a plan of a part has not judged all; what it does not find is not unused."""
    for share, moved in ((1e-6, 0), (1e6, 30)):
        with monkeypatch.context() as patch:
            model = remark(patch, below(30), share)
            assert (model.plan.rules.moved, model.has_declined()) == (moved, moved == 0)


DEEP = """
import sys, threading
from nginxopt import _native as native

pattern = {pattern}
others = [b"~^/%d/x" % number for number in range(30)]
rows = b"".join(b'"%s" "%d";\\n' % (row, at) for at, row in enumerate([*others, b"~" + pattern, b"~" + pattern + b"x"]))
text = b"map $uri $new { " + rows + b"}"
rules = b"".join(b'rewrite "%s" /to/%d permanent;\\n' % (each, at) for at, each in enumerate([pattern, pattern + b"x"]))

class Readings:
    ignore_case = literal_dots = literal_ends = drop_newline_twins = False

CALLS = [
    lambda: native.compile_map(text, stem="nxo_1_"),
    lambda: native.compile_map(text, stem="nxo_1_", keeps_captures=True),
    lambda: [run.dead_kept() for run in native.compile_rewrites(
        rules, [([(0, len(rules))], False, False)], phase="server", captures_matter=True, reruns=None,
        readings=Readings, bound=64, entering=native.Entering.ALL,
    ).runs],
    lambda: native.prove_map(text, b"map $uri $new {{ default $t; }} map $uri $t {{ " + rows + b"}}"),
    lambda: native.never(pattern, True),
    lambda: native.without_captures(pattern),
    lambda: native.pattern_facts(pattern),
    lambda: native.pattern_error(pattern),
    lambda: native.Patterns([pattern]).first(b"/a"),
    lambda: native.Patterns([pattern], to_match=True).first(b"/a"),
    lambda: native.common_subject([pattern], [pattern + b"x"], True),
    lambda: native.exact_union([pattern, pattern + b"x"]),
    lambda: native.not_the_union(pattern, [pattern, pattern + b"x"]),
    lambda: native.captures(pattern, b"/a"),
    lambda: native.suspicious_rewrites(rules, [(0, len(rules))]),
]

REFUSALS = (
    ValueError, native.TooMuchWork, native.LexError, native.RefusedError, native.PatternError, native.RefusedRow
)

def ask():
    for call in CALLS:
        try:
            call()
        except REFUSALS:
            pass
    print("done")

threading.stack_size(1 << 20)
thread = threading.Thread(target=ask)  # a smaller stack than that of the main thread
thread.start()
thread.join()
""".replace("{{", "{").replace("}}", "}")

PATTERNS = {
    "groups": "b'^/' + b'(' * 10_000 + b'a' + b')' * 10_000",
    "groups that PCRE takes": "b'^/' + b'(?:a' * 199 + b'b' + b')?' * 199",
    "repeated groups": "b'^/' + b'(?:' * 150 + b'a' + b')+' * 150",
    "assertions": "b'^/' + b'(?=' * 10_000 + b'a' + b')' * 10_000",
    "flags": "b'^/' + b'(?i)' * 10_000 + b'a'",
    "alternatives": "b'^/(' + b'|'.join(b'a%d' % number for number in range(100_000)) + b')$'",
    "empty alternatives": "b'^/(' + b'|' * 100_000 + b')'",
    "optional parts": "b'^/' + b'a?b?' * 10_000 + b'$'",
    "a long word": "b'^/' + b'a' * 100_000 + b'$'",
    "stars": "b'^/' + b'a*b*' * 10_000",
    "classes": "b'^/' + b'[a-f]' * 10_000",
    "letters in any case": "b'(?i)^/' + b'ab' * 10_000",
    "repeated words": "b'^/(?:a{1000}){60}b'",
    "repeats of repeats": "b'^/(?:(?:a{0,200}){0,200}){0,20}b'",
}


def limited(megabytes: int) -> Callable[[], None]:
    """Return what limits the address space of a process."""
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))


@pytest.mark.no_cover
@every_row("pattern", PATTERNS.values(), ids=PATTERNS)
def test_no_pattern_exhausts_the_stack(pattern: str) -> None:
    """A pattern may be nested or long: the process is not killed, whatever it is asked for."""
    script = DEEP.replace("{pattern}", pattern)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, preexec_fn=limited(4_096))
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


MEMORY = """
import resource, sys
from nginxopt import _native as native

def held():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10

rows = b"".join(b'"~^/(ab|c[de]){0,200}/%d" %d;\\n' % (number, number) for number in range(2_000))
text = b"map $uri $new {\\n" + rows + b"}"
share = float(sys.argv[1])
before = held()
compiled = native.compile_map(text, stem="nxo_1_", share=share)
most = share * ((64 << 20) + 200 * len(text))
print(getattr(compiled, "reason", "moves"), (held() - before) / most)
"""
"""What a process takes for a list of groups whose automata are large, as a multiple of its bound."""


@pytest.mark.no_cover
def test_what_a_list_holds_is_bounded() -> None:
    """A list that would hold more stays; what the process takes until then is at most three times the bound.

    That includes what is read of the list before it is planned, and what the allocator wastes.
    """

    def taken(share: float) -> tuple[str, float]:
        done = subprocess.run(
            [sys.executable, "-c", MEMORY, str(share)], capture_output=True, text=True, preexec_fn=limited(4_096)
        )
        assert done.returncode == 0, done.stderr
        reason, multiple = done.stdout.split()
        return reason, float(multiple)

    (reason, multiple), (usual, _) = taken(0.2), taken(2)
    assert (reason, usual) == ("too-much-work", "moves")
    assert multiple < 3


@pytest.mark.parametrize(
    ("pattern", "is_known"),
    [
        (b"^a" + b"(b){2}" * 50, True),
        (rb"^/(.*/){30}%20$", True),
        (b"(?:a{1000}){50}//", False),
        (rb"^/[^/]*a[^/]{14}//$", False),
    ],
)
def test_automata_that_are_exponential_are_left(pattern: bytes, is_known: bool) -> None:
    """A pattern that no request matches is found, but not at any price: 17 bytes took 1.3 s."""
    why, steps = why_never(pattern, merge_slashes=True)
    assert (why is not None) == is_known
    assert (steps < 1_000_000) == is_known


def test_exponential_automata_have_a_budget(tmp_path: Path) -> None:
    """All patterns of a configuration together take no more than the budget; a note says where that was."""
    (tmp_path / "nginx.conf").write_text(
        "events {}\nhttp { server {\n"
        + "".join(f'rewrite "^/[^/]*a[^/]{{14}}//{number}$" /x;\n' for number in range(40))
        + "location ~ ^x { }\n} }\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "nginxopt", "lint", "nginx.conf", "--isolated", "--select", "rewrite-never-matches"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        preexec_fn=limited(1_024),
    )
    assert done.returncode == 0, done.stderr
    assert "nginx.conf:10:1: " in done.stdout, done.stdout
    assert "(budget backtracking)" in done.stdout


def test_values_that_double_are_made_of_one_variable() -> None:
    """Lines like `set $b "$b$b"` are no more than their variables: 40 of them made `lint` never end."""
    lines = 'set $b "$b$b$b$b"; ' * 40
    text = (
        f"events {{}} http {{ server {{ listen 80; set $b $arg_a; {lines} location / {{ proxy_pass http://$b; }} }} }}"
    )
    model = Model(load_text(text.encode()), Version(1, 28, 0))
    (level,) = model.levels("location")
    assert controlled.sources(model, level, "http://$b$b") == ("arg_a",)
    assert controlled.sources(model, level, "$other") == ("other",)
