"""Which findings to fix beside a baseline: those that it does not record, through all rounds of fixes."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import TYPE_CHECKING

from nginxopt.lint.fix import Wanted, everything
from nginxopt.lint.recorded import beside_recorded

if TYPE_CHECKING:
    from nginxopt.lint.baseline import Baseline
    from nginxopt.lint.diagnostic import Diagnostic
    from nginxopt.text import Draft


def unaccepted(known: Baseline | None, on_host: Container[str] = ()) -> Wanted:
    """Return the filter that keeps the findings to fix, for one run of `nginxopt.lint.fix.fix`.

    `on_host` are the paths of files on another machine.
    """
    return everything if known is None else _Accepted(known, on_host).unrecorded


class _Accepted:
    """The findings that a baseline records, and where they are in the original text.

    A fix may change how many findings there are on equal lines, and with that their fingerprints. So a finding that was
    recorded in one round is known by its place in the later ones.
    """

    def __init__(self, known: Baseline, on_host: Container[str]) -> None:
        self._known = known
        self._on_host = on_host
        self._places: set[tuple[str, str, int]] = set()

    def unrecorded(self, diagnostics: tuple[Diagnostic, ...], drafts: Mapping[str, Draft]) -> tuple[Diagnostic, ...]:
        """Return the findings that are not recorded, without fixes that change recorded ones or their lines."""
        from nginxopt.lint.baseline import unrecorded

        places = [_place(diagnostic, drafts) for diagnostic in diagnostics]
        new = {id(diagnostic) for diagnostic in unrecorded(self._known, diagnostics, self._on_host)}
        self._places |= {
            place for diagnostic, place in zip(diagnostics, places, strict=True) if id(diagnostic) not in new
        }
        left = [diagnostic for diagnostic, place in zip(diagnostics, places, strict=True) if place not in self._places]
        return beside_recorded(diagnostics, left)


def _place(diagnostic: Diagnostic, drafts: Mapping[str, Draft]) -> tuple[str, str, int]:
    start = diagnostic.finding.span.start
    draft = drafts.get(diagnostic.path)
    return diagnostic.rule, diagnostic.path, start if draft is None else draft.origin(start)
