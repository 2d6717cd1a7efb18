"""Findings in templates: those that hold in every reading that writes their place.

A finding is taken from the first reading that writes its place. It is dropped if another reading writes the place and
does not have the finding, or if it is about a directive with an unknown word. Its fix is kept if every reading offers
the same one, and if the text that it changes is written exactly where the finding is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from nginxopt.config import Config
from nginxopt.config.templates import Reread, Templates
from nginxopt.config.tree import collector_paused
from nginxopt.errors import InputError
from nginxopt.lint.diagnostic import Diagnostic
from nginxopt.lint.located import Key, Located, View
from nginxopt.lint.run import Linted
from nginxopt.text import Span

Judge = Callable[[Config, frozenset[str] | None], Linted]
"""Returns the findings in a configuration: of all rules, or of those with these ids."""


def lint_templates(templates: Templates, judge: Judge) -> Linted:
    """Return the findings that hold in every reading of the templates of a configuration."""
    survey = _Survey(templates)
    with collector_paused():
        for reread in templates.readings:
            survey.add(reread, judge)
        return survey.linted()


class _Survey:
    """Compares the findings of readings."""

    def __init__(self, templates: Templates) -> None:
        self._templates = templates
        self._findings: dict[Key, Located] = {}
        self._refuted: set[Key] = set()
        self._views: list[View] = []
        self._places: frozenset[tuple[str, int]] = frozenset()
        self._unsettled: set[str] = set()
        self._errors: dict[str, InputError] = {}
        self._unknown: Mapping[str, frozenset[str]] = {}

    def add(self, reread: Reread, judge: Judge) -> None:
        """Take the findings of a reading. If it writes no new places, run only the rules that have findings left."""
        view = View(self._templates, reread)
        rules = None if view.places - self._places or not self._views else frozenset(key[0] for key in self._findings)
        linted = judge(reread.config, rules) if rules is None or rules else Linted(())
        present: dict[Key, list[Located]] = {}
        for diagnostic in linted.diagnostics:
            located = view.located(diagnostic)
            if located is not None:
                present.setdefault(located.key, []).append(located)
        self._compare(view, present)
        self._take_new(view, present)
        self._take_errors(view, linted)
        if not self._views:
            self._unknown = linted.unknown
        self._views.append(view)
        self._places |= view.places

    def linted(self) -> Linted:
        """Return what all readings have in common."""
        diagnostics = [located.diagnostic for located in self._findings.values()]
        errors = tuple(self._errors.values())
        return Linted(tuple(sorted(diagnostics, key=self._order)), errors, self._unknown, frozenset(self._unsettled))

    def _order(self, diagnostic: Diagnostic) -> tuple[int, Span, str, str]:
        finding = diagnostic.finding
        return self._templates.paths.index(finding.source.path), finding.span, diagnostic.rule, finding.message

    def _compare(self, view: View, present: Mapping[Key, list[Located]]) -> None:
        """Drop the findings that a reading lacks though it writes their place, and the parts of others in which it
        differs."""
        for key, located in [*self._findings.items()]:
            others = present.get(key, [])
            if len(others) < view.copies(key[1], key[2].start):
                self._refute(key)
                continue
            common: Located | None = located
            for other in others:
                common = common and common.beside(other)
            if common is None:
                self._refute(key)
            else:
                self._findings[key] = common

    def _take_new(self, view: View, present: Mapping[Key, list[Located]]) -> None:
        """Add the findings in places that no reading so far has written."""
        for key, found in present.items():
            if key in self._findings or key in self._refuted:
                continue
            was_written = any(earlier.copies(key[1], key[2].start) for earlier in self._views)
            if was_written or len(found) < view.copies(key[1], key[2].start):
                self._refuted.add(key)
            else:
                self._findings[key] = found[0]

    def _refute(self, key: Key) -> None:
        del self._findings[key]
        self._refuted.add(key)
        self._unsettled.add(key[0])

    def _take_errors(self, view: View, linted: Linted) -> None:
        """Keep the errors that all readings have."""
        located = [error for error in map(view.error, linted.errors) if error is not None]
        errors = {error.render(): error for error in located}
        self._errors = (
            errors if not self._views else {text: self._errors[text] for text in self._errors if text in errors}
        )
