"""`rewrite-to-map`: what is noted beside the result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nginxopt.lint.catalogue import catalogue
from nginxopt.rewrite import premises
from tests.cli.compiling import MISSING, RULES
from tests.schemas import validate

ROWS = b"".join(b"~^/page/%d/ /p%d;\n" % (number, number) for number in range(1_200))


def test_maps_with_regular_expressions_are_reported(run: Any, tmp_path: Path) -> None:
    """Each map has a line: its rows, and what becomes of them; those of stream and those of a few rows have none."""
    (tmp_path / "rows.map").write_bytes(ROWS)
    http = b"map $uri $new { /a /b; ~^/more /m; include rows.map; }\nmap $uri $few { ~a b; }\n"
    http += b"map $msec $late { include more.map; }\n"
    (tmp_path / "more.map").write_bytes(ROWS)
    stream = b"stream { map $ssl_server_name $pool { %s } }\n" % ROWS
    (tmp_path / "nginx.conf").write_bytes(b"events {}\nhttp {\n%s}\n%s" % (http, stream))
    ran = run("rewrite-to-map", "nginx.conf", "--plan-only", "--report", "report.json")
    lines = ran.out.decode().splitlines()
    assert lines[0] == "nginx.conf: 2,402 patterns of 3 maps; a request that matches none saves 57 microseconds"
    assert lines[1].startswith("  tried           2,402  patterns for a request that none of them matches; now ")
    assert lines[2].startswith("  as a tree       1,201  patterns of $new (nginx.conf:3): a miss tries ")
    assert lines[3] == (
        "  stay            1,200  patterns of $late (nginx.conf:5): its source may have another value when it is"
        " evaluated again, or is not known  [unstable-source]"
    )
    report = json.loads((tmp_path / "report.json").read_bytes())
    validate(report, "rewrite-report")
    assert [(entry["variable"], entry["rows"], entry["reason"]) for entry in report["maps"]] == [
        ("$new", 1_201, None),
        ("$few", 1, "not-worse"),
        ("$late", 1_200, "unstable-source"),
    ]
    assert report["regex_maps"][0] == {"file": "nginx.conf", "line": 3, "variable": "$new", "rows": 1_201}
    assert report["cost"]["before"] == {"far": 2_402, "near": 2_402, "worst": 2_402}
    assert report["cost"]["after"]["worst"] < 1_250
    verbose = run("rewrite-to-map", "nginx.conf", "--plan-only", "-v").out.decode()
    assert "  stay                1  pattern of $few (nginx.conf:4)" in verbose


def test_rows_of_a_map_by_themselves_are_told(run: Any, tmp_path: Path) -> None:
    """A file of rows is part of the map that includes it, where that is known; maps of other files are not told."""
    (tmp_path / "rows.map").write_bytes(ROWS)
    alone = run("rewrite-to-map", "rows.map", "--plan-only").out.decode()
    assert "  regexes         1,200  rows of a map: each lookup without a match tries all of them\n" in alone
    assert "  hint: name the map that includes them: --context 'map $uri $new', or its nginx.conf with -c\n" in alone
    others = b"map $host $x { %s }\nserver { include site.conf; }\n" % ROWS
    (tmp_path / "nginx.conf").write_bytes(b"events {}\nhttp { map $uri $new { include rows.map; }\n%s }\n" % others)
    (tmp_path / "site.conf").write_bytes(b"rewrite ^/a$ /b last;\n")
    included = run("rewrite-to-map", "rows.map", "--plan-only").out.decode()
    assert "  as a tree       1,200  patterns of $new (" in included
    assert "$x" not in included
    assert "as a tree" not in run("rewrite-to-map", "site.conf", "--plan-only").out.decode()


def test_the_rule_that_judges_maps_names_the_command() -> None:
    """What lint says of a map with many patterns is what to do about it."""
    assert "nginxopt rewrite-to-map" in catalogue()["map-regex-bulk"].page.text


@pytest.mark.parametrize("mode", ["", "-o", "--diff", "--check", "--plan-only"])
def test_a_missing_include_is_reported(run: Any, tmp_path: Path, mode: str) -> None:
    """The rules on both sides are compiled; summary and report name what is not here, and a wildcard misses nothing."""
    (tmp_path / "nginx.conf").write_bytes(MISSING)
    options = [mode, "out"] if mode == "-o" else [mode] if mode else []
    ran = run("rewrite-to-map", "nginx.conf", *options, "--report", "report.json")
    assert ran.status == (1 if mode in ("--diff", "--check") else 0)
    summary = ran.out.decode() if mode == "--plan-only" else ran.err
    assert "  missing             2  no rule moves across a missing file, as it may hold anything\n" in summary
    assert "    nginx.conf:3 includes mime.types\n" in summary
    assert "    nginx.conf:6 includes part.conf\n" in summary
    assert f"  premise  {premises.MISSING_SIZES}\n" in summary
    report = json.loads((tmp_path / "report.json").read_bytes())
    validate(report, "rewrite-report")
    assert report["missing"] == [
        {"file": "nginx.conf", "line": 3, "includes": "mime.types"},
        {"file": "nginx.conf", "line": 6, "includes": "part.conf"},
    ]
    assert report["moved"] == 2
    assert "missing-sizes" in [premise["name"] for premise in report["premises"]]


def test_many_missing_includes_are_told_in_a_few_lines(run: Any, rules: Path) -> None:
    """Three are named, and the others with -v."""
    rules.write_bytes(RULES + b"".join(b"include part-%d.conf;\n" % number for number in range(5)))
    ran = run("rewrite-to-map", rules.name)
    assert "part-2.conf\n    ... and 2 more (-v lists them)\n" in ran.err
    assert "part-4.conf\n" in run("rewrite-to-map", rules.name, "-v").err


def test_a_whole_configuration_with_a_missing_include_is_not_written(run: Any, tmp_path: Path) -> None:
    """nginx does not start with it: status 3 as nginx words it, and no file changes. A fragment is no whole."""
    (tmp_path / "nginx.conf").write_bytes(MISSING)
    ran = run("rewrite-to-map", "nginx.conf", "--write")
    assert ran.status == 3
    assert "nginx.conf:3:13: mime.types cannot be read: No such file or directory" in ran.err
    assert f'as nginx words it: open() "{tmp_path}/mime.types" failed (2: No such file' in ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["nginx.conf"]
    assert (tmp_path / "nginx.conf").read_bytes() == MISSING
    (tmp_path / "nginx.conf").unlink()
    (tmp_path / "site.conf").write_bytes(b"server {\n    include part.conf;\n    rewrite ^/a$ /b permanent;\n}\n")
    assert run("rewrite-to-map", "site.conf", "--write").status == 0
    assert b"_to ~ " in (tmp_path / "site.conf").read_bytes()
