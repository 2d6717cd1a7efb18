"""The report for people."""

from __future__ import annotations

import re

from hypothesis import given

from nginxopt.errors import InputError
from nginxopt.lint import Related, Severity
from nginxopt.lint.report.model import Note, Report
from nginxopt.lint.report.text import render, statistics
from nginxopt.text import Source
from tests.diagnostics import SAFETIES, diagnostic, fix, report, reports, rule, span

SOURCE = Source("conf.d/a.conf", "http {\r\n\tgzip_comp_level 9; # größer\r\n}\r\n".encode())
AT = span(SOURCE, b"9")


def text(found: Report) -> str:
    """The report without colours."""
    return "".join(render(found))


def test_a_finding_with_all_it_can_have() -> None:
    """A finding has its place, its line, its fix, its help and what is related; the counts close the report."""
    found = diagnostic(
        SOURCE,
        AT,
        fix=fix(SOURCE, AT, b"5"),
        help="`gzip_static` costs nothing at all",
        related=(Related(SOURCE, span(SOURCE, b"http"), "set for all servers here"),),
        scenario="keepalive",
    )
    assert text(report(found)) == (
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
        '  nginx says: unexpected "}"\n'
        "  hint: x\n"
        "\n"
        "no findings in 1 file, 1 not checked (for nginx 1.22.1, nginx -v)\n"
    )


def test_an_error_without_a_place_is_told() -> None:
    """An error of a whole file names the file, one of no file nothing."""
    found = text(report(errors=(InputError("it is a folder", path="conf.d"), InputError("too large"))))
    assert found.startswith("conf.d: error it is a folder\nerror too large\n\n")


def test_notes_are_told() -> None:
    """A note has a place where it is one of a file."""
    found = text(report(notes=(Note("no such file", SOURCE, AT), Note("2 findings are in the baseline"))))
    assert found.startswith("conf.d/a.conf:2:18: note no such file\nnote 2 findings are in the baseline\n\n")


def test_counts_are_by_severity_and_by_what_mends() -> None:
    """The closing part counts by severity, the worst first, and says which option mends how many."""
    safe, conditional, unsafe = (fix(SOURCE, AT, b"5", safety=safety) for safety in SAFETIES)
    found = [diagnostic(SOURCE, AT, severity=severity, fix=safe) for severity in Severity]
    found += [diagnostic(SOURCE, AT, fix=made) for made in (unsafe, conditional, unsafe)]
    closing = text(report(*found)).rpartition("\n\n")[2]
    assert closing == (
        "6 findings in 1 file: 1 error, 4 warnings, 1 info (for nginx 1.22.1, nginx -v)\n"
        "  3 fixable with --fix\n"
        "  1 more with --fix --assume http11-backends,idle-connections\n"
        "  2 more with --fix --unsafe-fixes\n"
    )
    (some,) = [report(one) for one in found if one.fix is conditional]
    assert "  fix: write 5 (--assume http11-backends,idle-connections)\n" in text(some)
    assert text(some).endswith("  1 fixable with --fix --assume http11-backends,idle-connections\n")
    only = text(report(found[-1]))
    assert "  fix: write 5 (unsafe: --unsafe-fixes)\n" in only
    assert only.endswith("  1 fixable with --fix --unsafe-fixes\n")


def test_a_benchmark_is_named_once() -> None:
    """A scenario is named once, with all the rules whose effect it shows."""
    names = ["upstream-keepalive-missing", "proxy-http-version", "upstream-keepalive-missing"]
    found = text(report(*(diagnostic(SOURCE, AT, rule=name, scenario="keepalive") for name in names)))
    assert found.count("nginxopt bench") == 1
    assert found.endswith("  measure proxy-http-version, upstream-keepalive-missing with nginxopt bench keepalive\n")


def test_a_finding_at_the_end_of_a_file_has_carets() -> None:
    """Behind the last character, where a directive is missing, there is a caret too."""
    source = Source("a.conf", b"http {}")
    end = span(source, b"}")
    found = text(report(diagnostic(source, type(end)(end.end, end.end))))
    assert found.startswith("a.conf:1:8: ")
    assert "\n    http {}\n           ^\n" in found


@given(reports())
def test_nothing_raw_reaches_a_terminal(found: Report) -> None:
    """Every character prints, whatever is in files, paths and messages; tabs only indent source lines."""
    for line in [*text(found).split("\n"), *"".join(statistics(found)).split("\n")]:
        assert line.removeprefix("    ").replace("\t", "").isprintable()


@given(reports())
def test_colours_only_add(found: Report) -> None:
    """With colours the text is the same, and nothing but styles is added."""
    styles = re.compile(r"\x1b\[\d+m")
    for make in (render, statistics):
        assert styles.sub("", "".join(make(found, color=True))) == "".join(make(found))


def test_a_terminal_gets_colours() -> None:
    """The severity and the carets have a colour if asked for."""
    styled = "".join(render(report(diagnostic(SOURCE, AT)), color=True))
    assert "\x1b[33m\x1b[1mwarning\x1b[0m" in styled
    assert "\x1b[33m\x1b[1m^\x1b[0m" in styled


def test_statistics_are_a_table() -> None:
    """Counts, ids and titles stand in columns; a mark tells what mends."""
    safe, conditional, unsafe = (fix(SOURCE, AT, b"5", safety=safety) for safety in SAFETIES)
    found = [diagnostic(SOURCE, AT, fix=safe)] * 10
    found += [diagnostic(SOURCE, AT, rule="implicit-upstream", fix=unsafe), diagnostic(SOURCE, AT, rule="pcre-jit")]
    found += [diagnostic(SOURCE, AT, rule="proxy-http-version", fix=conditional)]
    rules = (rule(), rule("pcre-jit", page="pcre_jit is off\n\nIt is."))
    assert "".join(statistics(report(*found, rules=rules))) == (
        "10  gzip-level          [*]  gzip_comp_level is above 6\n"
        " 1  implicit-upstream   [-]\n"
        " 1  pcre-jit                 pcre_jit is off\n"
        " 1  proxy-http-version  [?]\n"
        "\n"
        "13 findings in 1 file: 13 warnings (for nginx 1.22.1, nginx -v)\n"
        "  [*] fixable with --fix, [?] with --assume, [-] with --unsafe-fixes\n"
    )
