"""The advice lines that several formats share."""

from __future__ import annotations

from nginxopt.lint.causes import other_places
from nginxopt.lint.diagnostic import Diagnostic, Safety
from nginxopt.settings.premises import listed


def advice(diagnostic: Diagnostic) -> list[str]:
    """Return the lines below a finding: its other places, its witness, the fix and its option, the help."""
    lines = []
    if diagnostic.places:
        lines.append(f"also: {other_places(diagnostic)}")
    if diagnostic.finding.witness is not None:
        lines.append(f"witness: {diagnostic.finding.witness}")
    if diagnostic.fix is not None:
        lines.append(f"fix: {diagnostic.fix.title} ({option(diagnostic.fix.safety)})")
    if diagnostic.a_day is not None:
        lines.append(f"saves: {diagnostic.a_day}")
    if diagnostic.finding.help:
        lines.append(f"help: {diagnostic.finding.help}")
    return lines


def option(safety: Safety) -> str:
    """Return the option that applies a fix of that safety."""
    if safety.premises is None:
        return "unsafe: --unsafe-fixes"
    return f"--assume {listed(safety.premises)}" if safety.premises else "--fix"
