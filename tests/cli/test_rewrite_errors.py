"""`rewrite-to-map`: what cannot be read, written or proved, and how that is said."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from nginxopt.rewrite import proving
from nginxopt.rewrite.kinds.kind import Refutation
from tests.cli.compiling import RULES, snapshot
from tests.schemas import validate


def test_bytes_that_are_not_utf8(run: Any, rules: Path, tmp_path: Path) -> None:
    """Rules of any bytes are compiled, and can be told of."""
    rules.write_bytes(b"rewrite ^/caf\xe9$ /coffee permanent;\nrewrite ^/\xe9/(.*)$ /$1 last;\n")
    ran = run("rewrite-to-map", rules.name, "--report", "report.json", "-v")
    assert ran.status == 0
    assert re.search(rb'"/caf\xe9" +"/coffee";', ran.out)
    assert json.loads((tmp_path / "report.json").read_bytes())["kept"][0]["text"] == "rewrite ^/\\xe9/(.*)$ /$1 last;"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"rewrite ^/a$ /b permanent", "unexpected end of file"),
        (b"server { rewrite ^/a$ /b permanent;", "unexpected end of file"),
        (b"rewrite ^/a(b$ /b permanent;", "PCRE2 does not compile the pattern"),
        (b"rewrite ^/a(b$ /b;", "PCRE2 does not compile the pattern"),
        (b"\0\1\2", "binary file"),
        (b"rewrite ^/a$ /b permanent\nrewrite ^/c$ /d last;\n", 'invalid number of arguments in "rewrite" directive'),
        (b"rewrite ^/a$ /b Permanent;\n", 'invalid parameter "Permanent" in rules.conf:1'),
        (b"rewrite ^/a$ /b { }\nrewrite ^/c$ /d last;\n", 'directive "rewrite" is not terminated by ";"'),
        (b"rewrite { }\n", 'directive "rewrite" is not terminated by ";"'),
        (b"rewrite ^/a$ /b$ last;\n", "invalid variable name"),
        (b"rewrite ^/a$ /b${x last;\n", 'the closing bracket in "x" variable is missing'),
    ],
)
def test_unreadable_input(run: Any, rules: Path, text: bytes, message: str) -> None:
    """What nginx would refuse is an error with a place, status 3, and nothing is written."""
    rules.write_bytes(text)
    ran = run("rewrite-to-map", rules.name, "--write")
    assert ran.status == 3
    assert ran.err.startswith("rules.conf:1:")
    assert message in ran.err
    assert rules.read_bytes() == text


def test_missing_file_and_folder(run: Any, tmp_path: Path) -> None:
    """A file that is not there, and a folder, are one clear line and status 3."""
    missing = run("rewrite-to-map", "nowhere.conf")
    assert missing.status == 3
    assert missing.err.startswith("nowhere.conf: cannot be read: No such file or directory")
    assert run("rewrite-to-map", str(tmp_path)).status == 3


def test_empty_input(run: Any, rules: Path) -> None:
    """An empty file holds nothing to collapse, and that is no error."""
    rules.write_bytes(b"")
    assert run("rewrite-to-map", rules.name, "--check", "-q").status == 0
    assert run("rewrite-to-map", rules.name).status == 0


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["rules.conf", "--nonsense"],
        ["rules.conf", "-o", "x", "--write"],
        ["rules.conf", "--target-version", "1.11.6"],
        ["rules.conf", "--target-version", "new"],
        ["rules.conf", "--name", "http"],
        ["rules.conf", "--name", "A b"],
        ["rules.conf", "--context", "nowhere"],
        ["rules.conf", "--max-strings", "0"],
    ],
)
def test_wrong_usage(run: Any, rules: Path, args: list[str]) -> None:
    """Invalid combinations of options exit with status 2, a reason and no traceback."""
    before = snapshot(rules.parent)
    ran = run("rewrite-to-map", *args)
    assert ran.status == 2
    assert ran.err
    assert "Traceback" not in ran.err
    assert snapshot(rules.parent) == before


def test_unwritable_output(run: Any, rules: Path, tmp_path: Path) -> None:
    """A place that cannot be written is status 3, and the input is as it was."""
    (tmp_path / "taken").write_bytes(b"a file")
    ran = run("rewrite-to-map", rules.name, "-o", "taken")
    assert ran.status == 3
    assert "taken: cannot create directory" in ran.err
    assert run("rewrite-to-map", rules.name, "--report", "no/such/folder.json", "--write").status == 3
    assert rules.read_bytes() == RULES


def test_missing_nginx(run: Any, rules: Path) -> None:
    """--nginx with a path that is no nginx is status 4, and nothing is written."""
    ran = run("rewrite-to-map", rules.name, "--write", "--nginx", "/nowhere/nginx")
    assert ran.status == 4
    assert rules.read_bytes() == RULES


def test_refuted_proof_writes_nothing(run: Any, rules: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """If the proof does not hold: status 70, a counterexample, the report says so, and no file changes."""
    refuted = proving.Proof(Refutation("a rule fires that did not fire before", b"/a b"))
    monkeypatch.setattr(proving, "prove", lambda *_: refuted)
    ran = run("rewrite-to-map", rules.name, "--write", "--report", "report.json")
    assert ran.status == 70
    assert "(for the URI /a%20b)" in ran.err
    assert "report it" in ran.err
    report = json.loads((tmp_path / "report.json").read_bytes())
    validate(report, "rewrite-report")
    assert report["proof"]["status"] == "refuted"
    assert report["proof"]["counterexample"] == "/a%20b"
    assert rules.read_bytes() == RULES


def test_defects_are_reported_as_such(run: Any, rules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unforeseen exception is status 70 with its traceback and what to do."""
    monkeypatch.setattr(proving, "prove", lambda *_: 1 / 0)
    ran = run("rewrite-to-map", rules.name)
    assert ran.status == 70
    assert "ZeroDivisionError" in ran.err
    assert "Please report it" in ran.err
