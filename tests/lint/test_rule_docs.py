"""The generated documentation of rules and reports is up to date."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

from nginxopt.lint.catalogue import catalogue
from nginxopt.lint.report import FORMATS

ROOT = Path(__file__).parents[2]
MADE = runpy.run_path(str(ROOT / "docs" / "generate.py"))
REPORTS = (ROOT / "docs" / "guide" / "reports.md").read_text()


def test_the_documentation_is_fresh() -> None:
    """Every generated file equals what the rules generate now."""
    generated: dict[Path, str] = MADE["generated"]()
    assert len(generated) > len(catalogue())
    stale = [path for path, text in generated.items() if not path.exists() or path.read_text() != text]
    assert stale == [], "the rules have changed: run `make docs`"


def test_nothing_is_left_over() -> None:
    """No page remains of a deleted rule."""
    assert MADE["left_over"]() == set(), "rules are gone: run `make docs`"


def test_the_guide_lists_every_rule() -> None:
    """The guide has a place for the table, and every rule is in it, with a link that leads to its page."""
    guide = ROOT / "docs" / "guide"
    links = re.findall(r"\]\((\.\./rules/[^)]+)\)", (guide / "lint.md").read_text())
    assert {f"../rules/{rule}.md" for rule in catalogue()} <= set(links)
    assert [link for link in links if not (guide / link).exists()] == []


def test_every_format_is_documented() -> None:
    """The documentation lists each report format, in the order of the code, with its sentence."""
    assert re.findall(r"^\| `(\w+)` \| (.*) \|$", REPORTS, re.MULTILINE) == list(FORMATS.items())
