"""Findings in templates: those that hold in every reading that writes their place.

A reading is one text that a template may write (`nginxopt.config.templates`): it has one branch of each `{% if %}` and
a sample text for each value. A finding is taken from the first reading that writes its place. It is dropped if another
reading writes the place and does not have the finding, or if it is about a directive with an unknown word. Its fix is
kept if every reading offers the same one, and if the text that it changes is written exactly where the finding is.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import accumulate

from nginxopt import lazy
from nginxopt.budget import ExceededError
from nginxopt.config import Config
from nginxopt.config.templates import Rendered, Reread, Template, Templates
from nginxopt.config.tree import collector_paused
from nginxopt.errors import InputError
from nginxopt.lint.diagnostic import Diagnostic, Fix, Related, Witness
from nginxopt.lint.run import Linted
from nginxopt.records import record
from nginxopt.text import Change, Edit, Source, Span

Key = tuple[str, str, Span, str]
"""A rule, a path, a place in its file, and a message without its line numbers."""

_LINES = lazy.pattern(r"\b(lines? )\d[\d,]*(?:(?:, | and | to |-)\d[\d,]*)*")
_OF_TWO = ("duplicate-location", "server-name-conflict", "server-never-chosen")
"""The rules that say that two blocks do not go together. What fills templates in may choose which files there are."""

_SITE = lazy.pattern(r"(https?://)[^/?#]*")
_UNKNOWN_SITE = r"\1HOST"


@record(eq=True)
class Located:
    """A finding at its places in the template; its `diagnostic` has no fix that would change a tag."""

    diagnostic: Diagnostic

    @property
    def key(self) -> Key:
        """What two readings have in common that have the same finding."""
        finding = self.diagnostic.finding
        return self.diagnostic.rule, finding.source.path, finding.span, _unlined(finding.message)

    def beside(self, other: Located) -> Located | None:
        """Return what this finding and that of another reading have in common; None if they show other requests."""
        finding, theirs = self.diagnostic.finding, other.diagnostic.finding
        witness = _common_witness(finding.witness, theirs.witness)
        if witness is None and finding.witness is not None:
            return None
        places = {(related.source.path, related.span) for related in theirs.related}
        common = replace(
            finding,
            fix=_common_fix(finding.fix, theirs.fix),
            help=finding.help if _unlined(finding.help) == _unlined(theirs.help) else "",
            related=tuple(related for related in finding.related if (related.source.path, related.span) in places),
            witness=witness,
        )
        severity = min(self.diagnostic.severity, other.diagnostic.severity)
        return Located(replace(self.diagnostic, finding=common, severity=severity))


def _common_fix(fix: Fix | None, other: Fix | None) -> Fix | None:
    """Return the fix that two readings offer, which is safe only if it is in both; None if they offer others."""
    if fix is None or other is None or replace(fix, safety=other.safety) != other:
        return None
    return replace(fix, safety=fix.safety & other.safety)


def _unlined(text: str) -> str:
    """Return a text without line numbers, which differ between readings that repeat a text before it."""
    return _LINES.sub(r"\1", text)


def _common_witness(witness: Witness | None, other: Witness | None) -> Witness | None:
    """Return the request that two readings have in common; if only their hosts differ, with a host that is unknown."""
    if witness is None or other is None or witness == other:
        return witness if other is not None else None
    anywhere = replace(witness, url=_SITE.sub(_UNKNOWN_SITE, witness.url))
    return anywhere if anywhere == replace(other, url=_SITE.sub(_UNKNOWN_SITE, other.url)) else None


class _Headers:
    """The directives of a file whose words are not all known."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self._spans = frozenset(spans)
        self._sorted = sorted(self._spans)
        self._ends = list(accumulate((span.end for span in self._sorted), max))

    def touches(self, span: Span) -> bool:
        """Return whether a place overlaps one of them, or is one."""
        before = bisect_left(self._sorted, span.end, key=lambda header: header.start)
        return span in self._spans or (before > 0 and self._ends[before - 1] > span.start)


class View:
    """A reading of templates, which maps places in its text back to those of the templates.

    `headers` are the directives of all readings whose words are not all known, by path. Those of a file are added when
    they are first asked for.

    """

    def __init__(self, templates: Templates, reread: Reread, headers: dict[str, _Headers]) -> None:
        self._templates = templates
        self._headers = headers
        self._paths = {file.path for file in reread.config.files}
        self._files = reread.files
        self.places = frozenset((path, run.source) for path, file in reread.files.items() for run in file.runs)

    def copies(self, path: str, offset: int) -> int:
        """Return how often the reading writes the byte of a file at an offset."""
        rendered = self._files.get(path)
        return int(path in self._paths) if rendered is None else rendered.copies(offset)

    def located(self, diagnostic: Diagnostic) -> Located | None:
        """Return a finding of the reading; None if it, or a place related to it, is not text of the template alone."""
        finding = diagnostic.finding
        if diagnostic.rule in _OF_TWO and any(place.source.path != finding.source.path for place in finding.related):
            return None
        span = self._span(finding.source, finding.span)
        related = tuple(self._related(place) for place in finding.related)
        if span is None or None in related:
            return None
        known = tuple(place for place in related if place is not None)
        source = self._source(finding.source)
        fix = self._fix(finding.fix, source, span) if finding.fix else None
        by_hand = f"{finding.fix.title} (not by --fix: a tag of the template is in the way)" if finding.fix else ""
        located = replace(
            finding,
            source=source,
            span=span,
            related=known,
            fix=fix,
            help=finding.help if fix or not by_hand else by_hand,
        )
        return Located(replace(diagnostic, finding=located))

    def error(self, error: InputError) -> InputError | None:
        """Return an error of the reading; None if it is not about text of the template alone."""
        if error.source is None or error.span is None:
            return error
        span = self._span(error.source, error.span)
        if span is None:
            return None
        nginx, hint = error.nginx, error.hint
        return InputError(error.message, source=self._source(error.source), span=span, nginx=nginx, hint=hint)

    def _source(self, source: Source) -> Source:
        return self._templates.source(source.original or source)

    def _span(self, source: Source, span: Span) -> Span | None:
        rendered = self._files.get(source.path)
        if rendered is None:
            return span
        original = rendered.original(span)
        return None if original is None or self._touches(source.path, original) else original

    def _touches(self, path: str, span: Span) -> bool:
        """Return whether a place is one of a directive whose words are not all known."""
        if path not in self._headers:
            self._headers[path] = _Headers(self._templates.headers.get(path, ()))
        return self._headers[path].touches(span)

    def _related(self, place: Related) -> Related | None:
        span = self._span(place.source, place.span)
        return None if span is None else replace(place, source=self._source(place.source), span=span)

    def _fix(self, fix: Fix, source: Source, span: Span) -> Fix | None:
        """Return a fix; None if it changes a tag, text of other branches, or another file."""
        template = self._templates.files.get(source.path)
        if any(change.source.path != source.path for change in fix.changes):
            return None
        if template is None:
            return replace(fix, changes=tuple(Change(source, change.edit) for change in fix.changes))
        edits = [self._edit(template, self._files[source.path], change.edit, span) for change in fix.changes]
        if None in edits:
            return None
        return replace(fix, changes=tuple(Change(source, edit) for edit in edits if edit is not None))

    def _edit(self, template: Template, rendered: Rendered, edit: Edit, place: Span) -> Edit | None:
        """Return an edit of what a reading writes, as one of the template: in text with the branch of a place."""
        for start in rendered.origins(edit.span.start):
            span = Span(start, start + len(edit.span))
            if self._is_plain(template, rendered, edit, span) and template.chain(span) == template.chain(place):
                return replace(edit, span=span)
        return None

    def _is_plain(self, template: Template, rendered: Rendered, edit: Edit, span: Span) -> bool:
        before = rendered.data[edit.span.start : edit.span.end]
        after = template.source.data[span.start : span.end]
        return before == after and not self._touches(template.source.path, span)


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
        self._headers: dict[str, _Headers] = {}
        self._places: frozenset[tuple[str, int]] = frozenset()
        self._unsettled: set[str] = set()
        self._errors: dict[str, InputError] = {}
        self._unknown: Mapping[str, frozenset[str]] = {}
        self._cut: dict[str, ExceededError] = {}

    def add(self, reread: Reread, judge: Judge) -> None:
        """Take the findings of a reading. If it writes no new places, run only the rules that have findings left."""
        view = View(self._templates, reread, self._headers)
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
        self._cut.update(linted.cut)
        if not self._views:
            self._unknown = linted.unknown
        self._views.append(view)
        self._places |= view.places

    def linted(self) -> Linted:
        """Return what all readings have in common."""
        diagnostics = [located.diagnostic for located in self._findings.values()]
        errors = tuple(self._errors.values())
        in_order = tuple(sorted(diagnostics, key=self._order))
        return Linted(in_order, errors, self._unknown, frozenset(self._unsettled), cut=self._cut)

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
