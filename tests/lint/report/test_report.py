"""Properties of a report in every format."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given

from nginxopt.errors import InputError
from nginxopt.lint.report import COUNTED, FORMATS, render
from nginxopt.lint.report.model import LintReport, RuleCount, by_rule
from nginxopt.text import Source
from nginxopt.text.display import JSON, MARKUP
from tests.diagnostics import SAFETIES, diagnostic, fix, report, reports, rule, span
from tests.rows import every_row
from tests.support import PATIENCE

SOURCE = Source("nginx.conf", b"gzip_comp_level 9;")


# Each format, and whether it counts.
EVERYTHING = [*((name, False) for name in FORMATS), *((name, True) for name in COUNTED)]


@given(reports())
def test_every_report_can_be_written_in_every_format(any_report: LintReport) -> None:
    """Whatever is in files, paths and messages, a report is text that ends its last line."""
    for name, statistics in EVERYTHING:
        text = "".join(render(any_report, name, statistics=statistics))
        assert text.encode().endswith(b"\n") or not text, (name, statistics)


@every_row(("name", "statistics"), EVERYTHING)
@every_row(
    "error",
    [
        InputError("it ends too soon", source=SOURCE, span=span(SOURCE, b"9")),
        InputError("it ends too soon", path="nginx.conf"),
        InputError("it ends too soon"),
    ],
)
def test_an_error_is_in_every_format(name: str, statistics: bool, error: InputError) -> None:
    """Who reads only the report sees that a file was not checked, and what nginx says."""
    text = "".join(render(report(errors=(error,), files=()), name, statistics=statistics))
    assert "it ends too soon" in text
    assert error.path is None or "nginx.conf" in text


@every_row("name", list(FORMATS))
def test_a_finding_is_in_every_format(name: str) -> None:
    """Rule, message, line and path of a finding are in every format."""
    source = Source("conf.d/a.conf", b"\n" * 16 + b"gzip_comp_level 9;")
    text = "".join(render(report(diagnostic(source, span(source, b"9"))), name))
    for part in ("gzip-level", "gzip_comp_level 9 costs more than it saves", "17", "conf.d/a.conf"):
        assert part in text


@pytest.mark.parametrize("name", ["sarif", "github", "gitlab", "junit", "checkstyle"])
def test_servers_see_paths_below_the_folder(name: str) -> None:
    """For servers a path below the folder of the run is relative, however it was named."""
    source = Source("/srv/site/conf.d/../nginx.conf", SOURCE.data)
    text = "".join(render(report(diagnostic(source, span(source, b"9")), files=(source.path,)), name))
    assert "nginx.conf" in text
    assert "/srv" not in text
    assert "conf.d" not in text


@every_row("name", list(FORMATS))
def test_the_kind_of_a_format_is_known(name: str) -> None:
    """What makes a report inert knows which formats are JSON, and which are markup."""
    begin = "".join(render(report(diagnostic(SOURCE, span(SOURCE, b"9"))), name)).lstrip()[:1]
    assert (name in JSON, name in MARKUP) == (begin in ("{", "["), begin == "<")


def test_an_unknown_format_is_refused() -> None:
    """A format that is not there, and one that does not count, are errors of the caller."""
    for name, statistics in [("toml", False), ("sarif", True)]:
        with pytest.raises(ValueError, match=name):
            list(render(report(), name, statistics=statistics))


def test_rules_are_counted() -> None:
    """The most frequent rule comes first, then the alphabet; each with its title and its fixes."""
    at = span(SOURCE, b"9")
    safe, conditional, unsafe = (fix(SOURCE, at, b"5", safety=safety) for safety in SAFETIES)
    few = [diagnostic(SOURCE, at, rule=name, fix=unsafe) for name in ("b", "a")]
    many = [diagnostic(SOURCE, at, fix=applied) for applied in (safe, safe, conditional, unsafe, None)]
    assert list(by_rule(report(*few, *many, rules=(rule(),)))) == [
        RuleCount("gzip-level", "gzip_comp_level is above 6", 5, 2, 1, 1),
        RuleCount("a", "", 1, 0, 0, 1),
        RuleCount("b", "", 1, 0, 0, 1),
    ]


def test_the_order_of_a_report_is_kept() -> None:
    """Findings stand in a report as they were given."""
    original = report(*(diagnostic(SOURCE, span(SOURCE, b"9"), rule=name) for name in ("zzz-last", "aaa-first")))
    for name in FORMATS:
        text = "".join(render(replace(original, rules=()), name)).rpartition("<main>")[2]
        assert text.index("zzz-last") < text.index("aaa-first"), name


def test_importing_costs_nothing() -> None:
    """To import the formats imports none of them, nor what they need."""
    heavy = {"json", "xml", "urllib", "hashlib", "click", "nginxopt.lint.declare"}
    code = (
        "import sys; before = {*sys.modules}; import nginxopt.lint.report;"
        f" print({heavy} & ({{*sys.modules}} - before))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert run.stdout == "set()\n"
