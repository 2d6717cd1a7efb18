"""Fixes that also belong to a hidden finding: the user declined them."""

from __future__ import annotations

from collections.abc import Iterable

from nginxopt.lint.diagnostic import Diagnostic


def undeclined(before: Iterable[Diagnostic], reported: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return the reported diagnostics, without fixes that also belong to a hidden finding: the user declined those."""
    remaining = tuple(reported)
    kept = set(map(id, remaining))
    declined = {
        diagnostic.fix.changes: diagnostic for diagnostic in before if diagnostic.fix and id(diagnostic) not in kept
    }
    return tuple(
        _without(diagnostic, declined.get(diagnostic.fix.changes)) if diagnostic.fix else diagnostic
        for diagnostic in remaining
    )


def _without(diagnostic: Diagnostic, declined: Diagnostic | None) -> Diagnostic:
    if declined is None or diagnostic.fix is None:
        return diagnostic
    place = f"{declined.path}:{declined.start.line}"
    why = f"{diagnostic.fix.title} by hand: {declined.rule}, part of the same fix, is suppressed or recorded at {place}"
    return diagnostic.without_fix(why)
