"""`rewrite-to-map` on tables of redirects: what it prints, writes, refuses and reports."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nginxopt.rewrite import tables
from nginxopt.rewrite.tables import TableEmission
from tests.cli.compiling import snapshot
from tests.schemas import validate
from tests.tables import NAMES, SAMPLES

TABLE = b"from,to\n/old,/new\n/new,/newest\n/a,/b\n/a,/b\n/old page,https://x.example/\n"
BAD = b"from,to\n/old,/new\n/x/*,/y\n/z,//evil.example/\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table with a duplicate and a chain."""
    path = tmp_path / "redirects.csv"
    path.write_bytes(TABLE)
    return path


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    """A table with two rows that cannot be answered."""
    path = tmp_path / "bad.csv"
    path.write_bytes(BAD)
    return path


def test_print(run: Any, table: Path) -> None:
    """The maps and the statements go to standard output, the summary to standard error."""
    ran = run("rewrite-to-map", table.name)
    assert ran.status == 0
    http, server = ran.out.split(b"# ======== server.conf: include it first in a server ========")
    assert http.startswith(b"# ======== http.conf: include it in the http block ========")
    assert b'"/old page" "https://x.example/";' in http
    assert b"return 301" in server
    assert ran.err.startswith("redirects.csv: 5 rows, read as csv\n  answered            4  by 4 keys\n")
    assert "redirects.csv:5: /a,/b  [as line 4]" in ran.err
    assert "redirects.csv:2: /old,/new  [leads to line 3; redirect to /newest]" in ran.err
    assert "each row is answered as it says" in ran.err
    assert "premise  first-in-server" in ran.err


def test_quiet(run: Any, table: Path) -> None:
    """With -q only the result is printed."""
    ran = run("rewrite-to-map", table.name, "-q")
    assert (ran.status, ran.err) == (0, "")


def test_folder(run: Any, table: Path, tmp_path: Path) -> None:
    """-o writes http.conf and server.conf, and hash.conf if nginx's own sizes do not do."""
    assert run("rewrite-to-map", table.name, "-o", "out", "-q").status == 0
    assert set(snapshot(tmp_path / "out")) == {"http.conf", "server.conf"}
    table.write_bytes(b"".join(b"/%d-%s,/x\n" % (number, b"long" * 20) for number in range(50)))
    ran = run("rewrite-to-map", table.name, "-o", "out")
    assert ran.status == 0
    assert "include hash.conf once in the http block" in ran.err
    assert set(snapshot(tmp_path / "out")) == {"http.conf", "server.conf", "hash.conf"}
    assert b"map_hash_bucket_size" in (tmp_path / "out" / "hash.conf").read_bytes()
    assert b"map_hash_bucket_size" not in (tmp_path / "out" / "http.conf").read_bytes()
    printed = run("rewrite-to-map", table.name, "-q").out
    assert printed.startswith(b"# ======== hash.conf: include it once in the http block, before any map ========")


def test_the_input_is_not_overwritten(run: Any, tmp_path: Path) -> None:
    """-o refuses to write over the table."""
    (tmp_path / "http.conf").write_bytes(b"Redirect /a /b\n")
    ran = run("rewrite-to-map", "http.conf", "-o", ".")
    assert ran.status == 2
    assert "would overwrite the input file" in ran.err
    assert (tmp_path / "http.conf").read_bytes() == b"Redirect /a /b\n"


def test_rejected_rows_are_an_error(run: Any, bad: Path, tmp_path: Path) -> None:
    """Rows that cannot be answered exactly are shown with their places, with status 1; the others are written."""
    ran = run("rewrite-to-map", bad.name, "-o", "out", "--report", "report.json", "-q")
    assert (ran.status, ran.out) == (1, b"")
    assert ran.err == (
        "bad.csv:3:1: * is not a wildcard in a CSV table\n"
        "    /x/*,/y\n"
        "    ^^^^\n"
        "  hint: write %2A for the character; a _redirects list has wildcards\n"
        "bad.csv:4:4: nginx puts its own scheme and host before a target that begins with //\n"
        "    /z,//evil.example/\n"
        "       ^^^^^^^^^^^^^^^\n"
        "  hint: write the scheme: https://...\n"
        "left out, with the rows that would answer in their place; --skip-rows accepts that\n"
    )
    assert b'"/old" "/new"' in (tmp_path / "out" / "http.conf").read_bytes()
    assert len(json.loads((tmp_path / "report.json").read_bytes())["skipped"]) == 2


def test_no_row_is_left(run: Any, bad: Path, tmp_path: Path) -> None:
    """A table without a row that can be answered writes nothing."""
    bad.write_bytes(b"/x/*,/y\n")
    before = snapshot(tmp_path)
    ran = run("rewrite-to-map", bad.name, "-o", "out")
    assert (ran.status, ran.out) == (3, b"")
    assert ran.err.endswith("nothing was written: no row is left\n")
    assert snapshot(tmp_path) == before


@pytest.mark.nginx
def test_behind_a_proxy(run: Any, table: Path) -> None:
    """With --forwarded-proto, rows of https are answered by X-Forwarded-Proto, which a real nginx is asked."""
    table.write_bytes(b"https://h.example/a,/b\nhttp://h.example/a,/c\n/a,/d\n")
    ran = run("rewrite-to-map", table.name, "--forwarded-proto", "--nginx")
    assert (ran.status, b"map $http_x_forwarded_proto $" in ran.out) == (0, True)
    assert "premise  forwarded-proto" in ran.err
    assert "client-scheme" not in ran.err
    assert "no difference" in ran.err


@pytest.mark.nginx
def test_nothing_to_ask(run: Any, tmp_path: Path) -> None:
    """No line reads like success where no request is known."""
    (tmp_path / ".htaccess").write_text("RedirectMatch 301 (?<=x)y http://x/\n")
    ran = run("rewrite-to-map", ".htaccess", "--nginx")
    assert ran.status == 0
    assert "  unasked             1  of the patterns" in ran.err
    assert "nginx               0  requests: nothing was compared" in ran.err
    assert "proved" not in ran.err


def test_many_rejected_rows(run: Any, bad: Path) -> None:
    """Of many rejected rows the first ten are shown, and the number of the others."""
    bad.write_bytes(b"/a,/b\n" + b"x,/y\n" * 25)
    ran = run("rewrite-to-map", bad.name)
    assert ran.status == 1
    assert ran.err.count("is not a path\n") == 10
    assert "... and 15 more rows that cannot be answered exactly" in ran.err


def test_skip_rows(run: Any, bad: Path, tmp_path: Path) -> None:
    """--skip-rows answers the others, and says why each is skipped."""
    ran = run("rewrite-to-map", bad.name, "--skip-rows", "-o", "out")
    assert ran.status == 0
    assert "  skipped             2  that nginx cannot answer exactly\n" in ran.err
    assert "bad.csv:3: /x/*,/y  [* is not a wildcard in a CSV table]" in ran.err
    assert b'"/old" "/new"' in (tmp_path / "out" / "http.conf").read_bytes()


def test_verbose(run: Any, bad: Path) -> None:
    """-v lists each skipped row, which are few otherwise."""
    bad.write_bytes(b"/a,/b\n" + b"x,/y\n" * 7)
    assert "... and 4 more (-v lists them)" in run("rewrite-to-map", bad.name, "--skip-rows").err
    assert run("rewrite-to-map", bad.name, "--skip-rows", "-v").err.count("bad.csv:") == 8


def test_plan_only(run: Any, table: Path) -> None:
    """--plan-only prints the summary and no text."""
    ran = run("rewrite-to-map", table.name, "--plan-only")
    assert (ran.status, ran.err) == (0, "")
    assert b"answered" in ran.out
    assert b"map $uri" not in ran.out


@pytest.mark.parametrize("kind", SAMPLES)
def test_report(run: Any, kind: Any, tmp_path: Path) -> None:
    """The report follows its schema, for each kind."""
    (tmp_path / NAMES[kind]).write_bytes(SAMPLES[kind])
    arguments = ["--from", kind, "-q", "--report", "-"]
    ran = run("rewrite-to-map", NAMES[kind], *arguments)
    assert ran.status == 0
    report = json.loads(ran.out)
    validate(report, "table-report")
    assert (report["kind"], report["skipped"], report["proof"]["status"]) == (kind, [], "proved")
    assert report["rows"] >= report["answered"] > 0


def test_report_of_skipped_rows(run: Any, bad: Path, tmp_path: Path) -> None:
    """The report has each skipped row with the code of its reason."""
    assert run("rewrite-to-map", bad.name, "--skip-rows", "-q", "--report", "report.json").status == 0
    report = json.loads((tmp_path / "report.json").read_bytes())
    assert [(row["line"], row["reason"]) for row in report["skipped"]] == [(3, "wildcard"), (4, "protocol-relative")]


@pytest.mark.nginx
def test_nginx(run: Any, table: Path) -> None:
    """--nginx asks a real nginx and says how often."""
    ran = run("rewrite-to-map", table.name, "-o", "out", "--nginx")
    assert ran.status == 0
    assert "requests, no difference" in ran.err
    report = json.loads(run("rewrite-to-map", table.name, "-q", "--nginx", "--report", "-").out)
    assert report["nginx"]["requests"] > 10
    assert report["nginx"]["mismatches"] == []


def wrong(of: TableEmission) -> TableEmission:
    """An emission with a target that no row has."""
    return replace(of, maps=of.maps.replace(b'"/b"', b'"/c"'))


def test_a_wrong_text_is_not_written(run: Any, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is refuted is not written, and the status is 70."""
    original = tables.emit
    monkeypatch.setattr(tables, "emit", lambda *arguments: wrong(original(*arguments)))
    ran = run("rewrite-to-map", table.name, "-o", "out", "--report", "report.json")
    assert ran.status == 70
    assert "the proof does not hold: a request for '/a' is answered otherwise; nothing was written" in ran.err
    assert not (tmp_path / "out").exists()
    assert json.loads((tmp_path / "report.json").read_bytes())["proof"]["status"] == "refuted"


@pytest.mark.nginx
def test_a_text_that_nginx_answers_otherwise(
    run: Any, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What nginx answers otherwise is not written, even if the proof holds."""
    original, prove = tables.emit, tables.prove
    monkeypatch.setattr(tables, "emit", lambda *arguments: wrong(original(*arguments)))
    monkeypatch.setattr(tables, "prove", lambda of: replace(prove(of), holds=True, refutation=None))
    ran = run("rewrite-to-map", table.name, "-o", "out", "--nginx")
    assert ran.status == 70
    assert "GET /a: 301 /b became 301 /c" in ran.err
    assert not (tmp_path / "out").exists()


def test_standard_input(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard input is a table if --from says so."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"/a /b 301\n")))
    ran = run("rewrite-to-map", "-", "--from", "cloudflare", "--name", "moved")
    assert ran.status == 0
    assert b"$moved_1_key" in ran.out
    assert b"of standard input, read as cloudflare" in ran.out


def test_an_unknown_platform(run: Any, tmp_path: Path) -> None:
    """A _redirects list that does not show its platform is an error."""
    (tmp_path / "_redirects").write_bytes(b"/a /b\n")
    ran = run("rewrite-to-map", "_redirects")
    assert ran.status == 3
    assert "hint: use --from netlify or --from cloudflare" in ran.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--write"], "--write does not support tables"),
        (["--diff"], "--diff does not support tables"),
        (["--check"], "--check does not support tables"),
        (["--bench"], "--bench does not support tables"),
        (["--context", "location"], "is answered in a server"),
        (["-c", "nginx.conf"], "is part of no configuration"),
        (["-p", "."], "is part of no configuration"),
        (["--literal-dots"], "--literal-dots is for rewrites"),
        (["--name", "http_x"], "invalid prefix of variable names"),
    ],
)
def test_options_that_mean_nothing(run: Any, table: Path, options: list[str], message: str) -> None:
    """Options for rules are refused for tables."""
    ran = run("rewrite-to-map", table.name, *options)
    assert ran.status == 2
    assert message in ran.err


def test_rules_are_no_table(run: Any, rules: Path) -> None:
    """Rules are a table only if a kind is said; --skip-rows says nothing about them."""
    assert run("rewrite-to-map", rules.name, "--skip-rows").status == 2
    assert run("rewrite-to-map", rules.name, "--from", "csv").status == 3


def test_a_missing_table(run: Any) -> None:
    """A table that is not there is an error."""
    ran = run("rewrite-to-map", "none.csv")
    assert ran.status == 3
    assert "none.csv: cannot be read: No such file or directory" in ran.err


def test_what_can_be_read_only_once(rules: Path) -> None:
    """A pipe is read as rules, and as a table with --from."""
    command = f"{sys.executable} -m nginxopt rewrite-to-map -q <(cat {rules})"
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=True)
    assert b"rewrite ^/blog/(.*)$ /news/$1 permanent;" in done.stdout
    command = f"{sys.executable} -m nginxopt rewrite-to-map -q --from csv <(echo /a,/b)"
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=True)
    assert b'"/a" "/b";' in done.stdout


def test_target_version(run: Any, table: Path) -> None:
    """Status 308 needs nginx 1.13.0, which the text says."""
    assert b"It needs nginx 1.11.0 or later." in run("rewrite-to-map", table.name).out
    table.write_bytes(b"/a,/b,308\n")
    assert b"It needs nginx 1.13.0 or later." in run("rewrite-to-map", table.name).out
    ran = run("rewrite-to-map", table.name, "--target-version", "1.12.0")
    assert ran.status == 2
    assert "nginx 1.12.0 has no redirects with status 308" in ran.err
