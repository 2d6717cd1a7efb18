"""The tasks of workers: read configurations, and check them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import field
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from nginxopt import budget
from nginxopt.budget import limited
from nginxopt.config import Config, File, load_text
from nginxopt.config.filesystem import Dump, Files
from nginxopt.config.includes import parsed
from nginxopt.config.templates import Templates
from nginxopt.config.templating import TemplateError, refuse_tags, refused
from nginxopt.config.tree import Block
from nginxopt.errors import InputError, MissingError
from nginxopt.faults import FAULTS, internal
from nginxopt.fleet.content import HostContent
from nginxopt.fleet.hosts import Recipe
from nginxopt.fleet.linting import lint
from nginxopt.fleet.plan import FleetOptions
from nginxopt.fleet.tables import columns, row
from nginxopt.records import record

if TYPE_CHECKING:
    from nginxopt.lint import Diagnostic
    from nginxopt.profile.savings import Concern
    from nginxopt.text import Source

_SHORT = 100_000  # bytes
_KEPT = 64  # files

Rows = dict[str, list[str]]
"""Rows as JSON, by table."""


@record(eq=True)
class Read:
    """The digest and the size of a configuration in bytes, or the reason why it cannot be read."""

    digest: str = ""
    size: int = 0
    error: str | None = None


@record(eq=True)
class JudgedText:
    """A file: its digest, its bytes, and its directives, as `nginxopt.fleet.tables.columns` has them."""

    digest: str
    data: bytes
    directives: list[str]


@record(eq=True)
class Judged:
    """The results for a configuration; `digest` is that of the bytes that were read, empty if `error` says why they
    were not.

    The tables with the most rows are in `columns`, in the form of `nginxopt.fleet.tables.columns`.
    """

    digest: str
    rows: Rows = field(default_factory=dict)
    columns: Rows = field(default_factory=dict)
    texts: list[JudgedText] = field(default_factory=list)
    error: str | None = None


def read(recipe: Recipe) -> Read:
    """Return the digest of the configuration of a host, within the limits of one host."""
    content = _limited_content(recipe)
    if isinstance(content, str):
        return Read(error=content)
    return Read(content.digest, sum(len(part) for part in content.files.values() if isinstance(part, bytes)))


def judge(recipe: Recipe, plan: FleetOptions) -> Judged:
    """Check the configuration of a host."""
    content = _limited_content(recipe)
    if isinstance(content, str):
        return Judged("", error=content)
    found = _Findings(content, plan)
    found.collect()
    return Judged(content.digest, found.rows, found.columns, found.texts)


def _limited_content(recipe: Recipe) -> HostContent | str:
    """Return `_content`, within the limits of one host, which are lower than those of a run with one configuration."""
    try:
        with budget.using({"bytes": budget.limit("host-bytes")}):
            return limited(lambda: _content(recipe))
    except InputError as error:
        return error.message


def _content(recipe: Recipe) -> HostContent | str:
    """Return the configuration of a host, or why it cannot be read: storage has errors of any kind."""
    try:
        return recipe.read()
    except budget.ExceededError as error:
        kind = "host-bytes" if error.budget == "bytes" else error.budget
        return budget.ExceededError(kind, error.limit).message
    except (InputError, MissingError) as error:
        return error.message
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"
    except Exception as error:  # of a package for fsspec
        return f"cannot be read: {type(error).__name__}: {error}"


class _Findings:
    """The rows of one configuration."""

    def __init__(self, content: HostContent, plan: FleetOptions) -> None:
        self._content = content
        self._plan = plan
        self._digest = content.digest
        self._hidden = 0
        self.rows: Rows = {}
        self.columns: Rows = {}
        self.texts: list[JudgedText] = []

    def collect(self) -> None:
        """Read the configuration, run all checks, and record what fails as a row."""
        read: list[Config] = []
        try:
            limited(lambda: self._judge(read))
        except InputError as error:
            self._error(error)
        except FAULTS as error:  # a bug: record it, and go on with the other hosts
            self._error(internal(error, "the configuration"))
        files = read[0].files if read else ()
        templates = read[0].templates.files if read and read[0].templates else ()
        digests = [self._text(file, is_template=file.path in templates) for file in files]
        for number, (file, digest) in enumerate(zip(files, digests, strict=True)):
            self._add("files", self._digest, number, file.path, digest)
        sizes = sum(len(file.source.data) for file in files), sum(file.source.data.count(b"\n") for file in files)
        self._add("configurations", self._digest, self._content.is_dump, len(files), *sizes, self._hidden)

    def _judge(self, read: list[Config]) -> None:
        """Append the configuration to `read`, then check it."""
        config = self._config(self._content.dump(self._plan.installed))
        read.append(config)
        self._lint(config)
        if self._plan.table is not None:
            self._test(config)

    def _config(self, dump: Dump) -> Config:
        def load(files: Files, main: bytes) -> Config:
            return load_text(main, dump.main, context=self._plan.context, missing_ok=True, files=files, parse=_parsed)

        main = dump.read(dump.main)
        try:
            config = load(dump, main)
            for file in config.files:
                refuse_tags(file.block, names=self._plan.table is None and not self._content.is_dump)
        except InputError as error:
            refusal = refused(error)
            if self._content.is_dump or self._plan.table is not None or not isinstance(refusal, TemplateError):
                raise refusal from None
            return Templates(load, dump, dump.main, main).config()
        if self._content.is_dump:
            for left_over in dump.left_over({file.path for file in config.files}):
                self._error(left_over)
        return config

    def _lint(self, config: Config) -> None:
        result = lint(config, self._plan, is_complete="errors" not in self.rows)
        self._hidden = result.hidden
        for error in result.errors:
            self._error(error)
        digest = cache(lambda source: _digest_of(source.data))  # a text may have as many findings as lines
        findings = [_finding(number, diagnostic, digest) for number, diagnostic in enumerate(result.diagnostics)]
        self.columns["findings"] = list(columns("findings", self._digest, findings))
        savings = [_saving(number, asked) for number, asked in result.concerns.items()]
        self.columns["savings"] = list(columns("savings", self._digest, savings))
        for note in result.notes:
            path = None if note.source is None else note.source.path
            line = None if note.source is None or note.span is None else note.source.position(note.span.start).line
            self._add("notes", self._digest, path, line, note.message)
        for entry in result.entries:
            self._add("entries", self._digest, entry.file, entry.rule, entry.fingerprint, entry.cause)
        for path, patch in result.patches.items():
            self._add("patches", self._digest, path, patch)

    def _test(self, config: Config) -> None:
        """Compare the configuration with the table of expectations."""
        from nginxopt.fleet.testing import test

        results = test(config, self._plan)
        counts = [len(results.of(verdict)) for verdict in ("passed", "failed", "unknown")]
        self._add("tests", self._digest, *counts)
        for result in results.rows:
            if result.verdict != "passed":
                request = str(result.row.request)
                self._add("answers", self._digest, result.row.line, request, result.verdict, result.problem)

    def _text(self, file: File, *, is_template: bool) -> str:
        """Keep a file and its directives. Those of a template are left out, as they depend on its tags."""
        is_kept = len(file.source.data) <= _SHORT
        text = (_kept_text if is_kept else _judged_text)(file, is_template)
        self.texts.append(text)
        return text.digest

    def _error(self, error: InputError) -> None:
        line = column = None
        if error.source is not None and error.span is not None:
            position = error.source.position(error.span.start)
            line, column = position.line, position.column
        self._add("errors", None, self._digest, error.path, line, column, error.message)

    def _add(self, table: str, *values: str | bytes | float | None) -> None:
        self.rows.setdefault(table, []).append(row(table, *values))


def _finding(number: int, diagnostic: Diagnostic, digest: Callable[[Source], str]) -> tuple[Any, ...]:
    """Return the row of a finding, which lacks the digest of the configuration; `digest` returns that of a file."""
    finding = diagnostic.finding
    source = finding.source.original or finding.source
    fix, saves = finding.fix, finding.saves
    if saves is not None and not (saves.instructions or saves.connections):  # known only with a profile
        saves = None
    return (
        number,
        diagnostic.rule,
        str(diagnostic.severity),
        diagnostic.path,
        digest(source),
        finding.span.start,
        finding.span.end,
        diagnostic.start.line,
        diagnostic.start.column,
        finding.message,
        finding.help or None,
        None if finding.witness is None else str(finding.witness),
        None if fix is None else str(fix.safety),
        None if fix is None else fix.title,
        None if saves is None else saves.instructions,
        None if saves is None else saves.connections,
    )


def _saving(number: int, asked: Concern) -> tuple[Any, ...]:
    """Return the row of what a profile can answer about a finding, without the digest of the configuration."""
    saves = asked.saves
    return (
        number,
        saves.instructions,
        saves.connections,
        saves.nanoseconds,
        saves.cause,
        *saves.part,
        asked.at,
        asked.requests,
        sorted(asked.within),
    )


def _parsed(path: str, data: bytes) -> File:
    """Parse a file, unless it was parsed for one of the last hosts: many have the same snippets."""
    return _kept_file(path, data) if len(data) <= _SHORT else parsed(path, data)


def _judged_text(file: File, is_template: bool) -> JudgedText:
    digest = _digest_of(file.source.data)
    rows = [(number, *row) for number, row in enumerate(() if is_template else _directives(file.block))]
    return JudgedText(digest, file.source.data, list(columns("directives", digest, rows)))


_kept_file = lru_cache(maxsize=_KEPT)(parsed)
_kept_text = lru_cache(maxsize=_KEPT)(_judged_text)


def _digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _directives(block: Block, context: str = "") -> Iterator[tuple[int, str, str, list[str]]]:
    """Yield line, context, name and parameters of each directive, in the order of the file."""
    for directive in block.directives():
        args = list(map(str, directive.args))
        yield directive.line, context, str(directive.name), args
        if directive.block is not None:
            opener = " ".join([str(directive.name), *args])
            yield from _directives(directive.block, f"{context}/{opener}" if context else opener)
