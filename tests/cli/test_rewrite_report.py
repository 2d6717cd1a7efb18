"""`rewrite-to-map --report`: a report with a schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.schemas import validate


def tried(patterns: int) -> dict[str, int]:
    """The cost of a list that is tried from its beginning to its end."""
    return dict.fromkeys(("far", "near", "worst"), patterns)


def test_report(run: Any, rules: Path, tmp_path: Path) -> None:
    """The report follows its schema, and its figures add up."""
    assert run("rewrite-to-map", rules.name, "-q", "--report", "report.json", "-o", "out").status == 0
    report = json.loads((tmp_path / "report.json").read_bytes())
    validate(report, "rewrite-report")
    assert (report["rules"], report["moved"]) == (8, 3)
    assert [(kept["line"], kept["reason"]) for kept in report["kept"]] == [
        (5, "wildcard"),
        (8, "unescaped-dot"),
        (9, "prefix"),
    ]
    assert [(dead["line"], dead["shadowed_by"], dead["witness"]) for dead in report["dead"]] == [(6, 5, "/blog/x")]
    assert [(again["line"], again["of"]) for again in report["duplicates"]] == [(7, 2)]
    assert report["proof"]["status"] == "proved"
    assert report["proof"]["checked"] > 0
    assert report["cost"] == {"before": tried(8), "after": tried(1)}
    assert report["declared_differences"] == []


@pytest.mark.parametrize(("name", "text"), [("r.conf", b"rewrite ^/a$ /b permanent;\n"), ("t.csv", b"/a,/b\n")])
@pytest.mark.parametrize("report", ["out/r.json", "./new/out/sub/r.json"])
def test_report_in_the_output_folder(run: Any, tmp_path: Path, name: str, text: bytes, report: str) -> None:
    """The folder of -o need not exist for a report in it; other folders must."""
    (tmp_path / name).write_bytes(text)
    folder = report.partition("out")[0] + "out"
    ran = run("rewrite-to-map", name, "-q", "-o", folder, "--report", report)
    assert (ran.status, ran.err) == (0, "")
    assert json.loads((tmp_path / report).read_bytes())["file"] == name
    assert (tmp_path / folder / "http.conf").exists()
    assert run("rewrite-to-map", name, "-q", "-o", "other", "--report", "no/r.json").status == 3
    assert not (tmp_path / "other").exists()


def test_cost_in_a_location(run: Any, tmp_path: Path) -> None:
    """The patterns that list keys are tried as well: one for each flag. As many are not called faster."""
    flags = ("last", "break", "redirect", "permanent")
    (tmp_path / "four.conf").write_text("".join(f"rewrite ^/{flag}$ /to/{flag} {flag};\n" for flag in flags))
    result = run("rewrite-to-map", "four.conf", "--context", "location", "-o", "out", "--report", "report.json")
    assert json.loads((tmp_path / "report.json").read_bytes())["cost"] == {"before": tried(4), "after": tried(4)}
    assert "every other request faster" not in result.err


def test_report_of_declared_differences(run: Any, rules: Path) -> None:
    """Each declared difference is named with the number of rules it changes."""
    flags = ["--literal-dots", "--literal-ends", "--ignore-case", "--drop-newline-twins"]
    ran = run("rewrite-to-map", rules.name, *flags, "--report", "-", "--check")
    report = json.loads(ran.out)
    validate(report, "rewrite-report")
    assert {difference["option"]: difference["rules"] for difference in report["declared_differences"]} == {
        "--ignore-case": 6,
        "--literal-dots": 2,
        "--literal-ends": 1,
        "--drop-newline-twins": 6,
    }
    assert report["moved"] == 4  # the two spellings of /about are one rule now
    assert "no response changes except as declared" in ran.err
