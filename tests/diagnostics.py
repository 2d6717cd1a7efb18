"""Diagnostics made by hand, for the tests of what is done with them."""

from __future__ import annotations

from itertools import accumulate

from hypothesis import strategies as st

from nginxopt.errors import InputError
from nginxopt.lint import (
    HTTP11_BACKENDS,
    IDLE_CONNECTIONS,
    Diagnostic,
    Finding,
    Fix,
    Page,
    Related,
    Rule,
    Safety,
    Severity,
)
from nginxopt.lint.declare import PAGES
from nginxopt.lint.report.model import LintReport, Note
from nginxopt.settings.target import TargetVersion
from nginxopt.settings.vocabulary import CATEGORIES
from nginxopt.text import Change, Edit, Source, Span, decode, encode
from nginxopt.version import Version

PAGE = """gzip_comp_level is above 6

Levels from 7 on are flagged.

## Why it matters
`gzip` at 9 takes three times as long as at 5.

## Bad
```nginx http
gzip_comp_level 9;
```

## Good
```nginx http
gzip_comp_level 5;
```
"""
BASE = "/srv/site"

SAFETIES = (Safety.SAFE, Safety.under(HTTP11_BACKENDS, IDLE_CONNECTIONS), Safety.UNSAFE)
"""A safety of each kind."""


def span(source: Source, text: bytes) -> Span:
    """Return the first place where `text` stands in `source`."""
    start = source.data.index(text)
    return Span(start, start + len(text))


def fix(source: Source, at: Span, text: bytes, *, safety: Safety = Safety.SAFE, title: str = "write 5") -> Fix:
    """Return a fix that puts `text` in place of `at`."""
    return Fix(title, (Change(source, Edit(at, text)),), safety)


def diagnostic(
    source: Source,
    at: Span,
    *,
    rule: str = "gzip-level",
    severity: Severity = Severity.WARNING,
    message: str = "gzip_comp_level 9 costs more than it saves",
    fix: Fix | None = None,
    help: str = "",
    related: tuple[Related, ...] = (),
    scenario: str | None = None,
) -> Diagnostic:
    """Return a diagnostic of `rule` at a place of `source`."""
    finding = Finding(source, at, message, fix, help, related)
    return Diagnostic(rule, severity, finding, f"{PAGES}/{rule}.md", scenario)


def rule(
    name: str = "gzip-level",
    *,
    page: str = PAGE,
    severity: Severity = Severity.WARNING,
    category: str = "client",
    fixes: tuple[Safety, ...] = (Safety.SAFE,),
    since: Version | None = None,
    until: Version | None = None,
    default: bool = True,
    scenario: str | None = None,
) -> Rule:
    """Return a rule that finds nothing."""
    return Rule(name, lambda _: iter(()), Page(page), severity, category, fixes, since, until, default, scenario)


def report(
    *diagnostics: Diagnostic,
    files: tuple[str, ...] = ("nginx.conf",),
    rules: tuple[Rule, ...] = (),
    errors: tuple[InputError, ...] = (),
    notes: tuple[Note, ...] = (),
    fixed: int | None = None,
) -> LintReport:
    """Return the report of a run in `BASE` for nginx 1.22.1."""
    return LintReport(
        diagnostics, files, TargetVersion(Version(1, 22, 1), "nginx -v"), BASE, rules, errors, notes, fixed
    )


PIECES = [b"gzip on;", b" ", b"\t", b"\n", b"\r\n", b"\r", b"%", b",", b":", b"::", b"]]>", b"<&\"'>", b"\\", b"{0}"]
PIECES += [b"\xff", b"\xc3", b"\0", b"\x1b[31m", b"\x7f", b"\xc2\x9b", b"x" * 300]
PIECES += ["ä中👍".encode(), "\u202e\u2028\ufffe".encode()]
letters = {chr(ord("a") + index): piece for index, piece in enumerate(PIECES)}
texts = st.text("".join(letters), max_size=12).map(lambda text: b"".join(letters[letter] for letter in text))
"""Texts of what is hard to print or to encode somewhere. A letter stands for a piece: a text is drawn in one step."""
words = texts.map(decode)
"""The same as text, with surrogates where it is not UTF-8."""
paths = words.map(lambda text: "conf/" + text.replace("\0", "").replace("/", "") + ".conf")


def boundaries(data: bytes) -> list[int]:
    """Return where a character of `data` begins or ends."""
    return [0, *accumulate(len(encode(char)) for char in decode(data))]


@st.composite
def spans(draw: st.DrawFn, source: Source) -> Span:
    """Any span of `source` that cuts no character."""
    return Span(*draw(places(source, 2)))


def places(source: Source, count: int) -> st.SearchStrategy[list[int]]:
    """So many places of `source`, sorted, none inside a character. (Indexes are drawn faster than places.)"""
    ends = boundaries(source.data)
    indexes = st.tuples(*[st.integers(0, len(ends) - 1)] * count)
    return indexes.map(lambda drawn: [ends[index] for index in sorted(drawn)])


@st.composite
def fixes(draw: st.DrawFn, sources: list[Source]) -> Fix:
    """A fix of one or two places of one or two files, the places of a file apart."""
    changes = []
    for source in draw(st.lists(st.sampled_from(sources), min_size=1, max_size=2, unique=True)):
        start, middle, end = draw(places(source, 3))
        halves = [Span(start, middle)] if start == middle or middle == end else [Span(start, middle), Span(middle, end)]
        changes += [Change(source, Edit(half, draw(texts))) for half in halves]
    return Fix(draw(words), tuple(changes), draw(st.sampled_from(SAFETIES)))


@st.composite
def diagnostics(draw: st.DrawFn, sources: list[Source]) -> Diagnostic:
    """A diagnostic of any content in one of `sources`."""
    source, other = draw(st.sampled_from(sources)), draw(st.sampled_from(sources))
    related = [Related(other, draw(spans(other)), draw(words)) for _ in range(draw(st.integers(0, 2)))]
    return diagnostic(
        source,
        draw(spans(source)),
        rule=draw(st.sampled_from(["gzip-level", "pcre-jit", "not-in-the-report"])),
        severity=draw(st.sampled_from(Severity)),
        message=draw(words),
        fix=draw(st.none() | fixes(sources)),
        help=draw(words),
        related=tuple(related),
        scenario=draw(st.none() | st.just("keepalive")),
    )


@st.composite
def errors(draw: st.DrawFn, sources: list[Source]) -> InputError:
    """An error with a place, with a file only, or without any."""
    source = draw(st.none() | st.sampled_from(sources))
    return InputError(
        draw(words),
        path=draw(st.none() | paths) if source is None else None,
        source=source,
        span=None if source is None else draw(spans(source)),
        expected=draw(st.none() | words),
        nginx=draw(st.none() | words),
        hint=draw(st.none() | words),
    )


@st.composite
def reports(draw: st.DrawFn) -> LintReport:
    """Any report."""
    sources = [Source(path, draw(texts)) for path in draw(st.lists(paths, min_size=1, max_size=3, unique=True))]
    notes = [Note(draw(words)) for _ in range(draw(st.integers(0, 1)))]
    notes += [Note(draw(words), source, draw(spans(source))) for source in sources[1:]]
    return report(
        *draw(st.lists(diagnostics(sources), max_size=4)),
        files=tuple(source.path for source in sources),
        rules=(rule("gzip-level"), rule("pcre-jit", category=draw(st.sampled_from(list(CATEGORIES))))),
        errors=tuple(draw(st.lists(errors(sources), max_size=2))),
        notes=tuple(notes),
        fixed=draw(st.none() | st.integers(0, 9999)),
    )
