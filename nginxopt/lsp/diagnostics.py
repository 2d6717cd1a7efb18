"""The diagnostics of open files: the findings of `lint`, or the error of a text that does not parse.

While a text does not parse, findings of the last text that did are kept if the lines around them have not changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from threading import Lock

from lsprotocol.types import (
    CodeDescription,
    Diagnostic,
    DiagnosticRelatedInformation,
    DiagnosticSeverity,
    DiagnosticTag,
    Location,
)

from nginxopt import budget
from nginxopt.config import Config, Source
from nginxopt.config.templating import TemplateError
from nginxopt.errors import InputError, InternalError, RuleError
from nginxopt.lint import Severity, baseline
from nginxopt.lint import diagnostic as lint_
from nginxopt.lint.catalogue import Catalogue
from nginxopt.lint.check import Checked, Judge, check
from nginxopt.lint.report.model import cause
from nginxopt.lsp.document import Document
from nginxopt.lsp.lines import Lines
from nginxopt.lsp.workspace import DocumentContext, Workspace
from nginxopt.text import Span

SOURCE = "nginxopt"

SYNTAX = "syntax-error"
"""The code of the diagnostic for a text that does not parse."""

_MOST_PLACES = 20
"""How many other places of a finding are listed in the diagnostic of each place."""

_SEVERITIES = {
    Severity.ERROR: DiagnosticSeverity.Error,
    Severity.WARNING: DiagnosticSeverity.Warning,
    Severity.INFO: DiagnosticSeverity.Information,
}

_WITHOUT_EFFECT = {"dead-directive", "unused-suppression", "rewrite-never-matches", "location-never-chosen"}
"""Rules whose findings are text without effect, which editors show faded."""


class SupersededError(BaseException):
    """A newer text arrived while an older one was being checked."""


@dataclass(frozen=True)
class Judgement:
    """The findings in a document.

    Attributes:
        document: The version of the document that was checked.
        reading: That version in its configurations.
        checked: The result of the check.
        catalogue: All rules, including those that were not run.
    """

    document: Document
    reading: DocumentContext
    checked: Checked
    catalogue: Catalogue

    @property
    def findings(self) -> list[lint_.Diagnostic]:
        """The findings in the document."""
        sources = _sources(self.reading, self.document)
        return [diagnostic for diagnostic in self.checked.diagnostics if diagnostic.finding.source in sources]


class Judges:
    """Checks documents, and caches the results for configurations that do not change.

    Attributes:
        latest: The last judgement of each document, by URI.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._checked: dict[tuple[str, ...], tuple[tuple[object, ...], Checked]] = {}
        self._lock = Lock()
        self.latest: dict[str, Judgement] = {}

    def diagnostics(self, document: Document, is_current: Callable[[], bool] = lambda: True) -> list[Diagnostic]:
        """Return the diagnostics of a version of an open file; none for a file that is not an nginx configuration.

        Raises `SupersededError` once `is_current` returns False, and `NginxoptError` for unusable settings.
        """
        path = document.path
        with budget.stated(self._workspace.preferences.settings(path).budget):
            return self._diagnostics(document, is_current)

    def _diagnostics(self, document: Document, is_current: Callable[[], bool]) -> list[Diagnostic]:
        path = document.path
        preferences = self._workspace.preferences
        if preferences.settings(path).excludes(path) or not self._workspace.is_of_nginx(document):
            return []
        judgement = self.judgement(document, is_current) if preferences.error(path) is None else None
        findings = [] if judgement is None else _findings(self._workspace, document, judgement)
        failed = [] if judgement is None else _failed_rules(document, judgement)
        is_read = judgement is not None and isinstance(document.error, TemplateError)
        errors = [] if is_read else _errors(document)
        return [*errors, *_broken_settings(document, preferences.error(path)), *failed, *findings]

    def judgement(self, document: Document, is_current: Callable[[], bool] = lambda: True) -> Judgement | None:
        """Return the findings in the last version of a document that parses; None if no version did."""
        reading = self._workspace.judged(document)
        if reading is None:
            return None
        judge = self._workspace.preferences.judge(document.path, reading.configs)
        with self._lock:  # the second of two threads uses the result of the first
            checked = self._check(reading.configs, judge, is_current)
        self.latest[document.uri] = judgement = Judgement(reading.document, reading, checked, judge.catalogue)
        return judgement

    def _check(self, configs: tuple[Config, ...], judge: Judge, is_current: Callable[[], bool]) -> Checked:
        key = tuple(config.main.path for config in configs)
        state = (judge, *(file for config in configs for file in config.files), *_missing(configs))
        last = self._checked.get(key)
        if last is not None and last[0] == state:
            return last[1]

        def go_on() -> None:
            if not is_current():
                raise SupersededError

        checked = _beside_baseline(check(configs, replace(judge, before_rule=go_on)), judge)
        self._checked[key] = state, checked
        return checked


def _beside_baseline(checked: Checked, judge: Judge) -> Checked:
    """Return a result without the findings that are in the baseline."""
    if judge.known is None:
        return checked
    compared = baseline.compare(judge.known, checked.diagnostics, files=(), rules=())
    return replace(checked, diagnostics=compared.diagnostics)


def _missing(configs: tuple[Config, ...]) -> Iterator[object]:
    return ((include.origin, config.candidates) for config in configs for include in config.missing)


def _sources(reading: DocumentContext, document: Document) -> set[Source]:
    sources = set()
    for config in reading.configs:
        try:
            sources.add(config.file(document.path).source)
        except KeyError:
            continue
    return sources


def _errors(document: Document) -> Iterator[Diagnostic]:
    error = document.error
    if error is None:
        return
    span = error.span or Span(0, 0)
    is_template = isinstance(error, TemplateError)
    severity = DiagnosticSeverity.Information if is_template else DiagnosticSeverity.Error
    yield Diagnostic(document.lines.range(span), _message(error), severity, SYNTAX, source=SOURCE)


def _broken_settings(document: Document, error: InputError | None) -> Iterator[Diagnostic]:
    """Yield a diagnostic for settings that cannot be read; the document is then not checked."""
    if error is not None:
        message = f"not checked: {error.render().splitlines()[0]}"
        range_ = document.lines.range(Span(document.hidden, document.hidden))
        yield Diagnostic(range_, message, DiagnosticSeverity.Error, "settings", source=SOURCE)


def _failed_rules(document: Document, judgement: Judgement) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each third-party rule that cannot be loaded or that raised, for each bug, and for rules
    that are not run.
    """
    raised = (
        error
        for error in judgement.checked.errors
        if isinstance(error, RuleError | InternalError | budget.ExceededError)
    )
    range_ = document.lines.range(Span(document.hidden, document.hidden))
    for error in (*judgement.catalogue.errors.values(), *raised):
        yield Diagnostic(range_, error.render().splitlines()[0], DiagnosticSeverity.Error, "rules", source=SOURCE)
    if judgement.catalogue.note is not None:
        yield Diagnostic(range_, judgement.catalogue.note, DiagnosticSeverity.Information, "rules", source=SOURCE)


def _message(error: InputError) -> str:
    details = [f"expected {error.expected}" if error.expected else "", f"hint: {error.hint}" if error.hint else ""]
    return "\n".join([error.message, *filter(None, details)])


def _findings(workspace: Workspace, document: Document, judgement: Judgement) -> Iterator[Diagnostic]:
    places = _Places(workspace)
    beside: dict[tuple[str, str, str], list[tuple[lint_.Diagnostic, DiagnosticRelatedInformation]]] = {}
    for other in judgement.checked.diagnostics:
        first = beside.setdefault(cause(other), [])
        if len(first) <= _MOST_PLACES:
            place = lint_.Related(other.finding.source, other.finding.span, other.message)
            first.append((other, places.related(place)))
    for diagnostic in judgement.findings:
        span = document.span_of(diagnostic.finding.span, judgement.document)
        if span is not None:
            others = [place for other, place in beside[cause(diagnostic)] if other is not diagnostic]
            related = [*map(places.related, diagnostic.finding.related), *others[:_MOST_PLACES]]
            yield _diagnostic(document, diagnostic, span, related)


class _Places:
    """Converts related places. Each file is looked up once, as a finding may have thousands of places in it."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._files: dict[str, tuple[str, Lines]] = {}

    def related(self, related: lint_.Related) -> DiagnosticRelatedInformation:
        """Return where a related finding is, and what it says."""
        source = related.source.original or related.source
        if source.path not in self._files:
            lines = self._workspace.lines(source.path, source.data)
            self._files[source.path] = (self._workspace.uri(source.path), lines)
        uri, lines = self._files[source.path]
        return DiagnosticRelatedInformation(Location(uri, lines.range(related.span)), related.message)


def _diagnostic(
    document: Document, diagnostic: lint_.Diagnostic, span: Span, related: list[DiagnosticRelatedInformation]
) -> Diagnostic:
    finding = diagnostic.finding
    return Diagnostic(
        document.lines.range(span),
        f"{finding.message}\n{finding.help}" if finding.help else finding.message,
        _SEVERITIES[diagnostic.severity],
        diagnostic.rule,
        CodeDescription(diagnostic.url) if diagnostic.url else None,
        SOURCE,
        [DiagnosticTag.Unnecessary] if diagnostic.rule in _WITHOUT_EFFECT else None,
        related or None,
    )
