"""The benchmarks measure what they claim, on tiny sizes; no time is asserted."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from benchmarks import (
    blind,
    corpus_lists,
    format,
    growth,
    instructions,
    lsp,
    memory,
    mixes,
    profile,
    profile_day,
    refactorings,
    regex_map,
    regex_rows,
    speed,
    trace,
    verify,
)
from benchmarks.child import ChildError, Usage, run
from benchmarks.mixes import MIXES, write
from nginxopt import load_text
from nginxopt.bench.rewrite_rules import FAR_MISS, Parts, fragment, literal, whole
from nginxopt.errors import RunError
from nginxopt.format import formatted
from nginxopt.request.batch import Batch
from nginxopt.request.model import SiteModel, World
from nginxopt.request.requests_file import RequestsFile
from nginxopt.rewrite import plan
from nginxopt.rewrite.kinds.kind import Cost
from nginxopt.semantics import levels
from nginxopt.semantics.refusals import refusals
from nginxopt.semantics.site import Build
from nginxopt.system import nginx
from nginxopt.version import Version
from tests.rows import every_row

pytestmark = [pytest.mark.slow, pytest.mark.no_cover]


@pytest.mark.parametrize("mix", MIXES)
def test_mixes_are_rules(mix: str) -> None:
    """Each mix has as many rules as asked for, the same every time, of which some move."""
    rules = list(MIXES[mix](200))
    assert rules == list(MIXES[mix](200))
    compiled = plan(load_text(b"".join(rules), context="server"))
    assert compiled.rules.total == 200
    assert 60 <= compiled.rules.moved <= 200
    assert (compiled.rules.moved == 200) == (mix == "literal")


def test_child_usage(tmp_path: Path) -> None:
    """The usage of a process is its own, and a process that fails is an error with its last words."""
    usage = run((sys.executable, "-c", "bytearray(50_000_000)"), tmp_path)
    assert usage.peak > 50_000_000
    assert usage.cpu > 0
    with pytest.raises(ChildError, match="sorry"):
        run((sys.executable, "-c", "raise SystemExit('sorry')"), tmp_path)


def test_compiled_parts() -> None:
    """A fragment clears captures for those who may read them, a whole configuration has nobody who does."""
    rules = list(literal(5))
    assert b'_rest>.+)") {' in fragment(rules).server
    parts = whole(rules)
    assert re.search(rb"if \(\$nxo_\w+_to\) \{", parts.server)
    assert b" ~ " not in parts.server
    assert b"volatile;" not in parts.http


def test_speed(capsys: pytest.CaptureFixture[str]) -> None:
    """The table has a line for each file, and JSON has the same figures."""
    sizes = ["--sizes", "40", "--mixes", "literal,wild", "--rounds", "1"]
    assert speed.main([*sizes, "--json"]) in (0, 1)
    figures = json.loads(capsys.readouterr().out)
    assert [result["mix"] for result in figures["results"]] == ["literal", "wild"]
    assert all(result[of]["wall"] > 0 for result in figures["results"] for of in ("nginxopt", "crossplane"))
    assert speed.main([*sizes, "--no-reference"]) in (0, 1)
    assert len(capsys.readouterr().out.splitlines()) == 6


def test_limits_of_speed() -> None:
    """Time is held against that of crossplane, not judged without it, and memory always."""

    def within(rules: int, wall: float, megabytes: int, crossplane: float | None) -> bool | None:
        other = None if crossplane is None else Usage(crossplane, crossplane, 0)
        return speed.Result("literal", rules, Usage(wall, wall, megabytes * 1e6), other).within

    assert within(10_000, 0.4, 80, 1.0)
    assert not within(10_000, 0.5, 80, 1.0)
    assert not within(10_000, 0.4, 81, 1.0)
    assert within(10_000, 9.0, 80, None)
    assert within(100_000, 9.0, 300, 1.0)
    assert within(40, 9.0, 300, 1.0) is None


def test_speed_of_a_failure(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that fails is no figure."""
    monkeypatch.setitem(MIXES, "broken", lambda _: iter([b"rewrite ^/a$ /b"]))
    assert speed.main(["--sizes", "1", "--mixes", "broken", "--rounds", "1", "--no-reference"]) == 70
    assert "ended with 3" in capsys.readouterr().err


@pytest.mark.nginx
def test_memory(capsys: pytest.CaptureFixture[str]) -> None:
    """Both forms are measured, and nginx accepts both."""
    assert memory.main(["--sizes", "40", "--mixes", "wild", "--rounds", "1", "--json"]) in (0, 1)
    (result,) = json.loads(capsys.readouterr().out)
    assert all(result[form][of] > 0 for form in ("original", "compiled") for of in ("pss", "rss", "test"))


def test_regex_rows() -> None:
    """The rows have the shares that they say, are the same every time, and probes find or miss them."""
    rows = list(regex_rows.rows(5_000))
    assert rows == list(regex_rows.rows(5_000))
    patterns = [re.compile(row[2 : row.index(b'" "')]) for row in rows]
    literals = [re.fullmatch(rb"\^(?:[\w/.-]|\\\.)*(\.\*)?\$", pattern.pattern) for pattern in patterns]
    assert 0.63 < sum(bool(literal and literal[1]) for literal in literals) / 5_000 < 0.67
    assert 0.29 < sum(bool(literal and not literal[1]) for literal in literals) / 5_000 < 0.33
    dots = [bool(literal and re.search(rb"[^\\]\.(?!\*\$)", literal[0])) for literal in literals]
    assert 0.40 < sum(dots) / 5_000 < 0.60
    assert sum(not pattern.pattern.startswith(b"^") for pattern in patterns) == 9
    assert sum(b"$1" in row for row in rows) == 1
    far, near, first, last = (probe.target for probe in regex_rows.probes(rows))
    assert not any(pattern.search(target) for pattern in patterns for target in (far, near))
    assert all(any(pattern.search(target) for pattern in patterns) for target in (first, last))


@pytest.mark.extended
@pytest.mark.nginx
def test_regex_map(capsys: pytest.CaptureFixture[str]) -> None:
    """A map is measured before and after the command, and both answer alike."""
    options = ["--sizes", "60", "--rounds", "1", "--no-instructions"]
    assert regex_map.main([*options, "--json"]) in (0, 1)
    (result,) = json.loads(capsys.readouterr().out)
    for form in ("none", "original", "compiled"):
        assert set(result[form]["seconds"]) == {"far miss", "near miss", "hit first", "hit last"}
        assert min(*result[form]["seconds"].values(), result[form]["pss"], result[form]["test"]) > 0
    assert result["original"]["maps"] == 1
    assert result["command"]["wall"] > 0


@pytest.mark.nginx
def test_regex_map_of_a_wrong_result() -> None:
    """What answers in another way is no result."""
    original, other = (
        Parts(regex_rows.block([b'"~^/a.*$" "%s";\n' % value]), regex_rows.ASKED) for value in (b"/b", b"/c")
    )
    probes = [regex_rows.Probe("hit", b"/a")]
    regex_map.same_answers(nginx.find(), original, original, probes)
    with pytest.raises(RunError, match="another way"):
        regex_map.same_answers(nginx.find(), original, other, probes)


@pytest.mark.nginx
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="no valgrind: install it to count instructions")
def test_instructions() -> None:
    """Rules cost instructions, many more than what they compile to."""
    parts = fragment(literal(200))
    cases = [
        instructions.Case("no rules", FAR_MISS),
        instructions.Case("200 rewrites, far miss", FAR_MISS, b"", b"".join(literal(200))),
        instructions.Case("200 compiled (fragment), far miss", FAR_MISS, parts.http, parts.server),
    ]
    none, before, after = instructions.measure(nginx.find(), cases, quiet=True).values()
    assert none < after < 2 * none < before


def test_examples_of_a_mix() -> None:
    """The URI that a benchmark asks for is one that its rule matches."""
    for rule in mixes.wild(500):
        pattern = rule.split(b" ")[1].strip(b'"')
        assert re.search(pattern, mixes.example(rule)), rule


def test_instruction_targets() -> None:
    """Each compiled case has its target, and so has the gain of 10,000 rules."""
    costs = {
        "no rules": 100,
        "10000 rewrites, near miss": 150_000,
        "10000 compiled (fragment), near miss": 140,
        "10000 compiled (fragment), hit last": 201,
        "10000 compiled (whole), near miss": 151,
        "10000 of a mix compiled, far miss": 150,
        "10000 of a mix compiled, hit of rule 1": 251,
    }
    assert [(ratio, holds) for _, ratio, holds in instructions.verdicts(costs)] == [
        (1.4, True),
        (2.01, False),
        (1.51, False),
        (1.5, True),
        (2.51, False),
        (150_000 / 140, True),
        (150_000 / 151, False),
    ]


def test_corpus_lists(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each list has its line once, with what is tried and what stays; short lists and templates have none."""
    rules = b"".join(b"rewrite ^/old/%d/ /new/%d permanent;\n" % (number, number) for number in range(70))
    files = {
        "rules.conf": rules,
        "again.conf": rules,
        "site.conf": b"server { listen 80; location / { if ($arg_a) {\n%s} } }\n" % rules.replace(b"old", b"if"),
        "flags.conf": b"".join(b"rewrite ^/a/%d/(?=x) /b;\n" % number for number in range(5)),
        "filtered.conf": b"".join(b"rewrite ^/a/%d/ /b;\n" % number for number in range(5)),
        "rows.map": b"".join(b"~^/row/%d/ %d;\n" % (number, number) for number in range(25)),
        "agents.conf": b"map $http_user_agent $bot { %s}\n" % b"".join(b"~*bot%d 1;\n" % number for number in range(5)),
        "four.conf": b"".join(b"rewrite ^/%d/ /b last;\n" % number for number in range(4)),
        "locations.conf": b"".join(b"location ~ ^/%d/(a+)+b$ { return 404; }\n" % number for number in range(5)),
        "template.conf": b"{% for rule in rules %}",
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    assert corpus_lists.main([str(tmp_path), "--generated", "300", "--json"]) == 1
    result = json.loads(capsys.readouterr().out)
    lists = {entry["file"]: entry for entry in result["lists"]}
    assert list(result["refused"]) == ["template.conf"]
    assert set(lists) == {
        *("again.conf", "site.conf", "flags.conf", "filtered.conf", "rows.map", "agents.conf", "generated"),
        "locations.conf",
    }
    assert {lists[file]["kind"] for file in ("again.conf", "site.conf", "rows.map", "agents.conf")} == {
        "server",
        "if",
        "map $request_uri",
        "map $http_user_agent",
    }
    assert lists["site.conf"]["after"] == [70, 70, 70]
    assert lists["site.conf"]["stays"] == {"inside-if": 70}
    assert lists["flags.conf"]["stays"] == {"no-flag": 5}
    assert lists["locations.conf"]["stays"] == {"unbounded-pattern": 5}
    assert lists["filtered.conf"]["after"][0] == 1
    assert not lists["filtered.conf"]["stays"]
    assert max(lists["again.conf"]["after"] + lists["rows.map"]["after"]) <= 2
    assert corpus_lists.main([str(tmp_path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert any(line.split()[:2] == ["70", "1"] and line.endswith("inside-if") for line in lines)
    assert "7 lists with 185 patterns in 10 files, of which 1 are no configuration (templates, most of them)" in lines


def test_corpus_sums() -> None:
    """The sums are those of all patterns together, and of the median list; each target has its verdict."""
    lists = [
        corpus_lists.PatternList("a", 1, "server", 100, Cost(1, 2, 3)),
        corpus_lists.PatternList("b", 1, "server", 20, Cost(1, 1, 1)),
        corpus_lists.PatternList("c", 1, "map $uri", 10, Cost(2, 2, 4)),
    ]
    assert corpus_lists.saved(lists) == (1 - 4 / 130, 1 - 5 / 130, 1 - 8 / 130)
    assert corpus_lists.saved_in_the_median(lists[:2]) == pytest.approx((0.97, 0.965, 0.96))
    assert corpus_lists.saved_in_the_median([]) == (0, 0, 0)
    assert [holds for _, holds in corpus_lists.verdicts(lists)] == [False, False, False]
    good = [corpus_lists.PatternList("a", 1, "server", 1_000, Cost(1, 2, 3))]
    assert [holds for _, holds in corpus_lists.verdicts(good)] == [True, True, True]


def test_rules_are_written(tmp_path: Path) -> None:
    """A file of rules is what the mix yields."""
    write(tmp_path / "rules.conf", literal(3))
    assert (tmp_path / "rules.conf").read_bytes() == b"".join(literal(3))


def test_format(capsys: pytest.CaptureFixture[str]) -> None:
    """A text of so many lines is one that changes, and the table has a line for it."""
    text = format.text(60)
    assert text.count(b"\n") == 60
    assert formatted(text) != text
    assert format.main(["--lines", "60", "--rounds", "1"]) == 0
    assert "60   0.00" in capsys.readouterr().out
    assert format.main(["--lines", "60", "--rounds", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["lines"] == 60


def test_verify(capsys: pytest.CaptureFixture[str]) -> None:
    """The two sides are equivalent, and the table has a line for each number of servers."""
    assert verify.text(3, 0) != verify.text(3, 1)
    assert verify.main(["--servers", "2,4", "--rounds", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:3]] == ["2", "4"]
    few, many = Usage(1.0, 1.0, 1.0), Usage(9.0, 9.0, 1.0)
    assert not verify.Result((2, 4), (few, many)).within


_SITE = """\
events { }
http {
    limit_req_zone $binary_remote_addr zone=many:1m rate=1r/s;
    proxy_cache_path cache keys_zone=stored:1m;
    log_format plain "$remote_addr $request";
    access_log access.log plain;
    map $uri $kind { default 0; /a 1; /b 2; }
    geo $inside { default 0; 10.0.0.0/8 1; 192.168.0.0/16 1; }
    upstream app { server 127.0.0.1:9001; server 127.0.0.1:9002; }
    upstream fast { server 127.0.0.1:9000; }
    server {
        listen 8080;
        server_name a.example b.example c.example;
        error_page 404 403 /e.html;
        error_page 500 /f.html;
        sendfile on;
        client_max_body_size 8m;
        etag off;
        gzip_types text/css text/plain;
        location / {
            add_header A $args;
            add_header B $uri;
            proxy_set_header Host $host;
            proxy_set_header X-Kind "$kind $inside";
            proxy_redirect off;
            proxy_read_timeout 120s;
            proxy_next_upstream error timeout http_500;
            limit_req zone=many burst=5;
            proxy_cache stored;
            proxy_cache_key $uri;
            proxy_pass http://app;
        }
        location ~* \\.php$ {
            fastcgi_param A a;
            fastcgi_param B b;
            fastcgi_pass fast;
        }
        location /static/ {
            expires 1d;
            limit_except GET POST { deny all; }
            allow 10.0.0.0/8;
            allow 192.168.0.0/16;
            deny all;
        }
        location /old/ { return 302 https://a.example/new/; }
    }
    server {
        listen 8081;
        location / { gzip_static on; root /srv; try_files $uri @other; }
        location /x { gzip_static on; }
        location @other { return 404; }
    }
}
"""


def test_refactorings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each refactoring of a site that none of the edits leaves alone is proved, and no visible change is.

    Not proved are a name that an upstream may send, and `$host` in servers with other first names.
    """
    (tmp_path / "nginx.conf").write_text(_SITE)
    assert refactorings.main([str(tmp_path), "--files", "1", "--json"]) == 0
    equal, visible = json.loads(capsys.readouterr().out)
    unproved = {kind: each for kind, each in equal["kinds"].items() if each["verdicts"].get("equivalent", 0) != 1}
    assert set(unproved) <= {"another name of a named location", "a server for one of the names"}
    assert len(equal["kinds"]) >= 37
    assert not any(each["verdicts"].get("equivalent") for each in visible["kinds"].values())
    assert len(visible["kinds"]) >= 35


def test_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Half of the lines of a log ask for what rules redirect, and the table has a line for each log."""
    text = trace.site(60)
    config = load_text(text)
    for kind in trace.LOGS:
        path = tmp_path / f"{kind}.log"
        path.write_bytes(b"".join(trace.log(kind, text, 400)))
        model = SiteModel(config, Build(Version(1, 28, 0)))
        traffic = RequestsFile(str(path), config, model.gate()).read()
        tally = Batch(model, model.gate(), World()).tally(traffic.groups)
        redirected = sum(ends.requests for end, ends in tally.ends.items() if end.kind == "redirect")
        assert traffic.requests == 400
        assert 120 < redirected < 280
        assert (len(list(traffic)) == 400) == (kind == "different")
    arguments = ["--lines", "300", "--rules", "40", "--rounds", "1"]
    assert trace.main(arguments) == 0
    kinds = [("repeated", "300"), ("different", "300"), ("table", "30")]
    assert re.findall(r"(?m)^(\w+) +(\d+) +40 ", capsys.readouterr().out) == kinds
    assert trace.main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["different"]["wall"] > 0


@pytest.mark.parametrize("seed", [1, 2])
def test_profile_day(capsys: pytest.CaptureFixture[str], seed: int) -> None:
    """What is planted in the logs of three formats is found, and nothing else, by the command."""
    assert profile_day.main(["--lines", "20000", "--seed", str(seed)]) == 0
    assert capsys.readouterr().out.endswith("each planted fact is found, and nothing else\n")


def test_profile(capsys: pytest.CaptureFixture[str]) -> None:
    """Both read the same log, of which the model knows each line."""
    assert [line.count('"') for line in profile.log(20)] == [10] * 20
    arguments = ["--lines", "300", "--rules", "5", "--rounds", "1"]
    assert profile.main(arguments) == 0
    assert re.findall(r"(?m)^(\w+) +300 ", capsys.readouterr().out) == ["profile", "duckdb"]
    assert profile.main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["ratio"] > 0


def test_editing_time(capsys: pytest.CaptureFixture[str]) -> None:
    """The time of a change is measured in a session with the server, whose diagnostics come for each version."""
    assert lsp.main(["--lines", "120", "--rounds", "2", "--json"]) == 0
    (result,) = json.loads(capsys.readouterr().out)
    assert result["lines"] == 120
    assert result["diagnostics"] > 0
    assert result["cpu"] > 0 or sys.platform != "linux"
    assert result["wall"] > 0
    assert 90 <= lsp.text(120).count("\n") <= 120
    assert list(lsp.rows([lsp.Result(1_000, 3, 0.2, 0.1)]))[1].endswith("EXCEEDED")


@every_row("kind", growth.KINDS)
def test_kinds_of_growth_are_configurations(kind: str) -> None:
    """Each kind of content is a configuration that nginx accepts as far as its text goes, and grows with its size."""
    few, many = (growth.KINDS[kind](size) for size in (3, 30))
    assert many.count("\n") >= few.count("\n") + 27
    if kind != "templates":
        target = Version(1, 22, 1)
        assert [*refusals(levels(load_text(many.encode()), target), target)] == []


def test_growth() -> None:
    """The exponent is that of the times which are long enough to tell, and only a greater one is no line."""
    assert growth.Result("lint", "maps", {500: 0.01, 1000: 0.2, 2000: 0.4}).exponent == pytest.approx(1)
    assert not growth.Result("lint", "maps", {1000: 0.2, 2000: 0.8, 4000: 3.2}).within
    assert growth.Result("lint", "maps", {1000: 0.01, 2000: 0.04}).exponent is None
    assert growth.main(["check", "--kinds", "maps", "--sizes", "3", "--rounds", "1"]) == 0


def test_blind_prints_ratios(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Each line has the ratios to what was counted, and one that is too far from it makes the status 1."""
    of_kind, of_mix = blind.Line("shop", "page", 1_000, 0.8, 1.02), blind.Line("shop", "mix", 1_000, 0.9, 1.06)
    monkeypatch.setattr(blind, "compare", lambda *_: iter([of_kind, of_mix]))
    monkeypatch.setattr(nginx, "find", lambda _: "nginx 1.22.1")
    assert blind.main(["shop"]) == 1
    assert capsys.readouterr().out.splitlines()[2:] == [
        "nginx 1.22.1: estimates within 15%: 0 of 1, median 20.0%, worst 20.0%",
        "nginx 1.22.1: measured within 15%: 1 of 1, median 2.0%, worst 2.0%",
        "nginx 1.22.1: mixes, measured within 5%: 0 of 1, median 6.0%, worst 6.0%",
    ]
    assert blind.main(["shop", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)[1]["measured"] == 1.06
