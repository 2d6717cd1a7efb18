"""`rewrite-to-map` of maps with regular expressions: files that change, files of rows, what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.compiling import snapshot
from tests.schemas import validate
from tests.support import the_nginx

ROWS = "".join(f'"~^/archive/{number}-.*$" /news/{number};\n' for number in range(60))
CONFIG = """events {}
http {
    map $uri $new {
        default none;
        /plain kept;
        # of 2014
        ~^/first/(.*)$ /1/$1; # ticket 7
        include rows.map;
    }
    server {
        listen 127.0.0.1:18923;
        rewrite ^/old1$ /to permanent;
        rewrite ^/old2$ /to permanent;
        if ($new != none) { return 301 $new; }
    }
}
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A configuration with a map whose rows are in two files, and with rewrites."""
    (tmp_path / "nginx.conf").write_text(CONFIG)
    (tmp_path / "rows.map").write_text(f"# the archive\n{ROWS}")
    return tmp_path


def test_in_place(run: Any, site: Path) -> None:
    """The rows are gone where they were, one new file has the trees and the maps of rewrites; it works only once."""
    ran = run("rewrite-to-map", "nginx.conf", "--write")
    assert ran.status == 0
    assert "nginx.conf: 2 rewrites, 61 patterns of 1 map; a request that matches none saves 3 microseconds\n" in ran.err
    after = snapshot(site)
    (maps,) = (name for name in after if name.endswith(".conf") and name.startswith("nxo_"))
    assert after["rows.map"] == b"# the archive\n"
    main = after["nginx.conf"].decode()
    assert main.count(f"include {maps};") == 1
    assert "        /plain kept;\n        # of 2014\n        # ticket 7\n        include rows.map;\n    }\n" in main
    assert f"# 61 patterns of this map are looked up in the maps of {maps}.\n" in main
    assert b"map $uri $nxo_" in after[maps]
    assert b"made by nginxopt rewrite-to-map" in after[maps]
    assert run("rewrite-to-map", "nginx.conf", "--check").status == 0
    assert run("rewrite-to-map", "nginx.conf", "--write").status == 0
    assert snapshot(site) == after


def test_the_other_modes(run: Any, site: Path) -> None:
    """Nothing is written; the diff has all files, the folder the configuration as it becomes."""
    before = snapshot(site)
    assert run("rewrite-to-map", "nginx.conf", "--check", "-q").status == 1
    assert run("rewrite-to-map", "nginx.conf", "--check", "-q", "--at-least", "64").status == 0
    diff = run("rewrite-to-map", "nginx.conf", "--diff", "-q")
    assert diff.status == 1
    assert diff.out.count(b"\n+++ ") == 3
    assert snapshot(site) == before
    assert run("rewrite-to-map", "nginx.conf", "-o", "out", "-q").status == 0
    assert (site / "out" / "rows.map").read_bytes() == b"# the archive\n"
    printed = run("rewrite-to-map", "nginx.conf", "-q").out.decode()
    assert "# ======== rows.map: changed ========\n" in printed


def test_the_report(run: Any, site: Path) -> None:
    """Rewrites and patterns of maps count alike."""
    assert run("rewrite-to-map", "nginx.conf", "--check", "-q", "--report", "report.json").status == 1
    report = json.loads((site / "report.json").read_bytes())
    validate(report, "rewrite-report")
    assert report["cost"]["before"] == {"far": 63, "near": 63, "worst": 63}
    assert report["cost"]["after"]["worst"] < 10
    assert report["proof"]["rows"] == 61
    (entry,) = report["maps"]
    assert (entry["variable"], entry["source"], entry["rows"], entry["moved"]) == ("$new", "$uri", 61, True)


def test_a_file_of_rows(run: Any, site: Path) -> None:
    """Its map is found in the configuration, or stated; where it is not known, the command says what to do."""
    assert b"-include" not in run("rewrite-to-map", "rows.map", "--diff", "-q").out
    assert run("rewrite-to-map", "rows.map", "--context", "map", "-q").out.count(b"========") == 6
    alone = site / "alone"
    alone.mkdir()
    (alone / "rows.map").write_text(ROWS)
    (site / "nginx.conf").unlink()
    unknown = run("rewrite-to-map", "alone/rows.map", "--context", "map")
    assert unknown.status == 2
    assert "the map that includes alone/rows.map is unknown" in unknown.err
    assert "--context 'map $uri $new'" in unknown.err
    stated = run("rewrite-to-map", "alone/rows.map", "--context", "map $request_uri $new")
    assert stated.status == 0
    assert b"# ======== rows.map: in place of map $request_uri $new ========\nmap $request_uri $new {" in stated.out
    assert "premise  map-block: " in stated.err
    for context in ("map $uri", "map $uri new", "map $uri $new {", "maps $uri $new"):
        assert run("rewrite-to-map", "alone/rows.map", "--context", context).status == 2, context
    assert run("rewrite-to-map", "alone/rows.map", "--context", "map $uri $new", "--write").status == 2
    assert (alone / "rows.map").read_text() == ROWS


@pytest.mark.parametrize(
    ("rows", "place"),
    [
        (b"~^/a 1;\n~^/b 2\n", ":2:1: "),
        (b'~^/a 1;\n~^/b "2;\n', ":2:6: "),
        (b"~^/a 1;\n}\nmap $uri $b {\n~^/b 2;\n", ":2:1: "),
        (b"~^/a 1; }\n", ":1:9: "),
        (b"~^/a 1;\n~^/\0b 2;\n", ":2:4: "),
        (b"\xef\xbb\xbfinclude more;\n", ":1:1: "),
    ],
)
def test_rows_that_cannot_be_read(run: Any, tmp_path: Path, rows: bytes, place: str) -> None:
    """An error in a file of rows has its place in that file, and what ends the map is one."""
    (tmp_path / "rows.map").write_bytes(rows)
    refused = run("rewrite-to-map", "rows.map", "--context", "map $uri $new", "-o", "out")
    assert (refused.status, refused.out) == (3, b"")
    assert refused.err.startswith(f"rows.map{place}")
    assert not (tmp_path / "out").exists()


def test_rows_of_another_place(run: Any, site: Path) -> None:
    """A file that servers include is no file of rows, whatever the call says."""
    (site / "rules.conf").write_text("rewrite ^/a$ /b last;\n")
    (site / "nginx.conf").write_text("events {}\nhttp { server { include rules.conf; } }\n")
    ran = run("rewrite-to-map", "rules.conf", "--context", "map", "--check")
    assert ran.status == 2
    assert "includes rules.conf in http,server, not in map" in ran.err


def test_a_short_list_stays_behind_a_guard(run: Any, tmp_path: Path) -> None:
    """No file of maps is needed for it, and a second run leaves it."""
    rows = "".join(f'    "~^/section{number}/(.*)$" "/s{number}/$1";\n' for number in range(8))
    (tmp_path / "nginx.conf").write_text(f"events {{}}\nhttp {{\nmap $uri $new {{\n{rows}}}\n}}\n")
    ran = run("rewrite-to-map", "nginx.conf", "--write")
    assert ran.status == 0
    assert "8 patterns of $new (nginx.conf:3)" in ran.err.replace("  ", " ")
    after = snapshot(tmp_path)
    assert run("rewrite-to-map", "nginx.conf", "--write").status == 0
    assert snapshot(tmp_path) == after


def test_several_files(run: Any, tmp_path: Path) -> None:
    """Each is compiled by itself, with the configuration that includes it."""
    for name in ("a", "b"):
        (tmp_path / f"{name}.conf").write_text(f"map $uri ${name} {{\n{ROWS}}}\n")
    (tmp_path / "nginx.conf").write_text("events {}\nhttp { include a.conf; include b.conf; }\n")
    assert run("rewrite-to-map", "a.conf", "b.conf", "--write", "-q").status == 0
    main = (tmp_path / "nginx.conf").read_text()
    assert main.count("include nxo_") == 2
    assert run("rewrite-to-map", "nginx.conf", "--check", "-q").status == 0


@pytest.mark.parametrize(
    "block",
    ["map $uri $new { ~^/a$; }", "map $uri $new { ~^/a$ b c; }", "map $uri $new { default a; default b; ~c d; }",
     "map $uri $new { ~a b { } }"],
)  # fmt: skip
def test_what_nginx_refuses(run: Any, tmp_path: Path, block: str) -> None:
    """A map that nginx does not read is an error at its place."""
    (tmp_path / "map.conf").write_text(f"\n{block}\n")
    ran = run("rewrite-to-map", "map.conf")
    assert (ran.status, ran.out) == (3, b"")
    assert "map.conf:2:1: nginx refuses this map" in ran.err


def test_an_unproved_tree_is_not_written(run: Any, site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The map stays, which is told with its reason; the rewrites move all the same."""
    from nginxopt import _native

    class Refuted:
        holds, refutation, counterexample = False, "a row is missing", b"/x"

    monkeypatch.setattr(_native, "prove_map", lambda *_, **__: Refuted())
    checked = run("rewrite-to-map", "nginx.conf", "--check")
    assert checked.status == 70
    assert "the plan does not come true: 1 map would have moved" in checked.err
    ran = run("rewrite-to-map", "nginx.conf", "--write")
    assert ran.status == 0
    assert "[unproved]" in ran.err
    assert "error: the plan does not come true" in ran.err
    assert (site / "rows.map").read_text().endswith(ROWS)
    assert "rewrite ^/old1$" not in (site / "nginx.conf").read_text()


def test_nginx_is_asked(run: Any, site: Path) -> None:
    """Both configurations answer alike, and `nginx -t` accepts the result."""
    the_nginx()
    ran = run("rewrite-to-map", "nginx.conf", "--write", "--nginx", "--report", "report.json")
    assert ran.status == 0, ran.err
    report = json.loads((site / "report.json").read_bytes())
    assert report["nginx"]["requests"] > 1_000
    assert report["nginx"]["mismatches"] == 0
