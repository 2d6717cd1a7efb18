"""The text report."""

from __future__ import annotations

import re

import pytest
from hypothesis import given

from nginxopt.errors import InputError
from nginxopt.lint import Related, Severity
from nginxopt.lint.report.model import LintReport, Note
from nginxopt.lint.report.text import render, statistics
from nginxopt.text import Source
from tests.diagnostics import SAFETIES, diagnostic, fix, report, reports, rule, span

SOURCE = Source("conf.d/a.conf", "http {\r\n\tgzip_comp_level 9; # größer\r\n}\r\n".encode())
AT = span(SOURCE, b"9")


def text(report_: LintReport) -> str:
    """The report without colours."""
    return "".join(render(report_))


def test_a_finding_with_all_its_parts() -> None:
    """A finding shows its place, line, fix, help and related places; counts end the report."""
    finding = diagnostic(
        SOURCE,
        AT,
        fix=fix(SOURCE, AT, b"5"),
        help="`gzip_static` costs nothing at all",
        related=(Related(SOURCE, span(SOURCE, b"http"), "set for all servers here"),),
        scenario="keepalive",
    )
    assert text(report(finding)) == (
        "conf.d/a.conf:2:18: warning gzip-level gzip_comp_level 9 costs more than it saves\n"
        "    \tgzip_comp_level 9; # größer\n"
        "    \t                ^\n"
        "  fix: write 5 (--fix)\n"
        "  help: `gzip_static` costs nothing at all\n"
        "  note: conf.d/a.conf:1:1: set for all servers here\n"
        "\n"
        "1 finding in 1 file: 1 warning (for nginx 1.22.1, nginx -v)\n"
        "  1 fixable with --fix\n"
        "  measure gzip-level with nginxopt bench keepalive\n"
    )


@pytest.mark.parametrize(("places", "lines"), [(6, 6), (7, 6), (1000, 6)])
def test_many_related_places_are_counted(places: int, lines: int) -> None:
    """Six lines tell where else, whatever the number of places; the last one counts those that are left out."""
    related = tuple(Related(SOURCE, span(SOURCE, b"http"), f"also here {number}") for number in range(places))
    notes = [line for line in text(report(diagnostic(SOURCE, AT, related=related))).splitlines() if "note:" in line]
    assert len(notes) == lines
    left = places - 5
    assert notes[-1].endswith(
        "also here 5" if places == lines else f"note: {left} more such notes are in the JSON report"
    )


def test_nothing_found_is_one_line() -> None:
    """A clean run says what was checked, and for which nginx."""
    assert text(report(files=("a", "b"))) == "no findings in 2 files (for nginx 1.22.1, nginx -v)\n"


def test_what_was_fixed_is_told() -> None:
    """After fixing, what was fixed comes before what is left."""
    assert text(report(fixed=3)) == "fixed 3 findings\nno findings in 1 file (for nginx 1.22.1, nginx -v)\n"


def test_an_error_is_told_with_its_place_and_the_file_is_not_counted_as_checked() -> None:
    """An error has the form of a finding, and what nginx says; the counts name it."""
    error = InputError("} is missing", source=SOURCE, span=AT, expected="a directive", nginx='unexpected "}"', hint="x")
    assert text(report(errors=(error,))) == (
        "conf.d/a.conf:2:18: error } is missing\n"
        "    \tgzip_comp_level 9; # größer\n"
        "    \t                ^\n"
        "  expected: a directive\n"
        '  as nginx words it: unexpected "}"\n'
        "  hint: x\n"
        "\n"
        "no findings in 1 file, 1 not checked (for nginx 1.22.1, nginx -v)\n"
    )


def test_an_error_without_a_place_is_reported() -> None:
    """An error of a whole file names the file; an error without a file names none."""
    output = text(report(errors=(InputError("it is a folder", path="conf.d"), InputError("too large"))))
    assert output.startswith("conf.d: error it is a folder\nerror too large\n\n")


def test_notes_are_reported() -> None:
    """A note about a file has a place."""
    output = text(report(notes=(Note("no such file", SOURCE, AT), Note("2 findings are in the baseline"))))
    assert output.startswith("conf.d/a.conf:2:18: note no such file\nnote: 2 findings are in the baseline\n\n")


def test_findings_are_counted_by_severity_and_by_the_option_that_fixes_them() -> None:
    """The summary counts findings by severity, the most severe first, and by the option that fixes them."""
    safe, conditional, unsafe = (fix(SOURCE, AT, b"5", safety=safety) for safety in SAFETIES)
    diagnostics = [diagnostic(SOURCE, AT, severity=severity, fix=safe) for severity in Severity]
    diagnostics += [diagnostic(SOURCE, AT, fix=offered) for offered in (unsafe, conditional, unsafe)]
    closing = text(report(*diagnostics)).rpartition("\n\n")[2]
    assert closing == (
        "6 findings in 1 file: 1 error, 4 warnings, 1 info (for nginx 1.22.1, nginx -v)\n"
        "  3 fixable with --fix\n"
        "  1 more with --fix --assume http11-backends,idle-connections\n"
        "  2 more with --fix --unsafe-fixes\n"
    )
    (some,) = [report(finding) for finding in diagnostics if finding.fix is conditional]
    assert "  fix: write 5 (--assume http11-backends,idle-connections)\n" in text(some)
    assert text(some).endswith("  1 fixable with --fix --assume http11-backends,idle-connections\n")
    only = text(report(diagnostics[-1]))
    assert "  fix: write 5 (unsafe: --unsafe-fixes)\n" in only
    assert only.endswith("  1 fixable with --fix --unsafe-fixes\n")


def test_a_benchmark_is_named_once() -> None:
    """A scenario is named once, with all the rules whose effect it shows."""
    names = ["upstream-keepalive-missing", "proxy-http-version", "upstream-keepalive-missing"]
    output = text(report(*(diagnostic(SOURCE, AT, rule=name, scenario="keepalive") for name in names)))
    assert output.count("nginxopt bench") == 1
    assert output.endswith("  measure proxy-http-version, upstream-keepalive-missing with nginxopt bench keepalive\n")


def test_a_finding_at_the_end_of_a_file_has_carets() -> None:
    """Behind the last character, where a directive is missing, there is a caret too."""
    source = Source("a.conf", b"http {}")
    end = span(source, b"}")
    output = text(report(diagnostic(source, type(end)(end.end, end.end))))
    assert output.startswith("a.conf:1:8: ")
    assert "\n    http {}\n           ^\n" in output


def nothing_raw_reaches_a_terminal(report_: LintReport) -> None:
    """Every character prints, whatever is in files, paths and messages; tabs only indent source lines."""
    for line in [*text(report_).split("\n"), *"".join(statistics(report_)).split("\n")]:
        assert line.removeprefix("    ").replace("\t", "").isprintable()


def colours_only_add(report_: LintReport) -> None:
    """With colours the text is the same, and nothing but styles is added."""
    styles = re.compile(r"\x1b\[\d+m")
    for make in (render, statistics):
        assert styles.sub("", "".join(make(report_, color=True))) == "".join(make(report_))


@given(reports())
def test_every_report_prints(report_: LintReport) -> None:
    """Each of the laws above holds; they are put to the same reports, which take longer to draw than to check."""
    nothing_raw_reaches_a_terminal(report_)
    colours_only_add(report_)


def test_a_terminal_gets_colours() -> None:
    """The severity and the carets have a colour if asked for."""
    styled = "".join(render(report(diagnostic(SOURCE, AT)), color=True))
    assert "\x1b[33m\x1b[1mwarning\x1b[0m" in styled
    assert "\x1b[33m\x1b[1m^\x1b[0m" in styled


def test_statistics_are_a_table() -> None:
    """Counts, ids and titles are aligned in columns; a mark shows how a rule can be fixed."""
    safe, conditional, unsafe = (fix(SOURCE, AT, b"5", safety=safety) for safety in SAFETIES)
    diagnostics = [diagnostic(SOURCE, AT, fix=safe)] * 10
    diagnostics += [
        diagnostic(SOURCE, AT, rule="implicit-upstream", fix=unsafe),
        diagnostic(SOURCE, AT, rule="pcre-jit"),
    ]
    diagnostics += [diagnostic(SOURCE, AT, rule="proxy-http-version", fix=conditional)]
    rules = (rule(), rule("pcre-jit", page="pcre_jit is off\n\nIt is."))
    assert "".join(statistics(report(*diagnostics, rules=rules))) == (
        "10  gzip-level          [*]  gzip_comp_level is above 6\n"
        " 1  implicit-upstream   [-]\n"
        " 1  pcre-jit                 pcre_jit is off\n"
        " 1  proxy-http-version  [?]\n"
        "\n"
        "13 findings in 1 file: 13 warnings (for nginx 1.22.1, nginx -v)\n"
        "  [*] fixable with --fix, [?] with --assume, [-] with --unsafe-fixes\n"
    )
