"""Diagnostics made by hand, for the tests of what is done with them."""

from __future__ import annotations

from nginxopt.diagnostic import Change, Diagnostic, Finding, Fix, Related, Safety, Severity
from nginxopt.edit import Edit
from nginxopt.rule import PAGES
from nginxopt.source import Source, Span


def span(source: Source, text: bytes, occurrence: int = 0) -> Span:
    """Return where `text` stands in `source`: the first place, or a later one by its number from 0."""
    at = -1
    for _ in range(occurrence + 1):
        at = source.data.index(text, at + 1)
    return Span(at, at + len(text))


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
