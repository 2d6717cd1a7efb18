"""Findings in a reading of a template, as findings in the template."""

from __future__ import annotations

from dataclasses import replace

from nginxopt import lazy
from nginxopt.config.templates import Rendered, Reread, Template, Templates
from nginxopt.errors import InputError
from nginxopt.lint.diagnostic import Diagnostic, Fix, Related
from nginxopt.lint.witness import Witness
from nginxopt.records import record
from nginxopt.text import Change, Edit, Source, Span

Key = tuple[str, str, Span, str]
"""A rule, a path, a place in its file, and a message without its line numbers."""

_LINES = lazy.pattern(r"\b(lines? )\d[\d,]*(?:(?:, | and | to |-)\d[\d,]*)*")
_SITE = lazy.pattern(r"(https?://)[^/?#]*")
_UNKNOWN_SITE = r"\1HOST"


@record(eq=True)
class Located:
    """A finding in the places of the template; `diagnostic` has no fix where it would touch a tag."""

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
    """Return a text without line numbers, which differ after text that a reading repeats."""
    return _LINES.sub(r"\1", text)


def _common_witness(witness: Witness | None, other: Witness | None) -> Witness | None:
    """Return the request that two readings have in common, at a host that nobody knows if they have different ones."""
    if witness is None or other is None or witness == other:
        return witness if other is not None else None
    anywhere = replace(witness, url=_SITE.sub(_UNKNOWN_SITE, witness.url))
    return anywhere if anywhere == replace(other, url=_SITE.sub(_UNKNOWN_SITE, other.url)) else None


class View:
    """A reading of templates, and the places of the templates that it has."""

    def __init__(self, templates: Templates, reread: Reread) -> None:
        self._templates = templates
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
        return any(
            (span.start < header.end and header.start < span.end) or span == header
            for header in self._templates.headers.get(path, ())
        )

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
