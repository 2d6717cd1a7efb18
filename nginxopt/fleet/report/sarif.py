"""Writes the result of a fleet as SARIF, with the code of `nginxopt lint`.

Hosts with the same file have one result for each of its findings.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nginxopt.errors import InputError
from nginxopt.lint import Diagnostic, Finding, Severity
from nginxopt.lint.catalogue import catalogue
from nginxopt.lint.declare import page_url
from nginxopt.lint.report import sarif
from nginxopt.lint.report.model import LintReport
from nginxopt.settings.target import TargetVersion
from nginxopt.text import Source, Span
from nginxopt.text.display import count
from nginxopt.version import Version

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_FINDINGS = """
    SELECT rule, any_value(severity), path, findings.text, start, "end", message, coalesce(any_value(help), ''),
        count(*), min(host)
    FROM host_findings AS findings GROUP BY rule, path, findings.text, start, "end", message
    ORDER BY min(host), path, start, rule, message
"""

_ERRORS = """
    SELECT message, path, count(*), min(host) FROM host_errors GROUP BY message, path ORDER BY min(host), path, message
"""


def render(database: DuckDBPyConnection) -> Iterator[str]:
    """Yield the parts of the report. The path of a file begins with the name of one of the hosts that have it."""
    sources = _Sources(database)
    rows = database.execute(_FINDINGS).fetchall()
    diagnostics = tuple(_diagnostic(sources, row) for row in rows)
    errors = tuple(_error(*row) for row in database.execute(_ERRORS).fetchall())
    (target,) = database.execute("SELECT value FROM options WHERE name = 'target'").fetchone() or ('"1.28.0"',)
    ids = {rule for (rule,) in database.execute("SELECT rule FROM rules").fetchall()}
    rules = tuple(rule for rule in catalogue().values() if rule.id in ids)
    files = tuple(dict.fromkeys(diagnostic.path for diagnostic in diagnostics))
    report = LintReport(
        diagnostics, files, TargetVersion(Version.parse(target.strip('"')), "stated"), str(Path.cwd()), rules, errors
    )
    yield from sarif.render(report)


class _Sources:
    """The texts of a result as sources."""

    def __init__(self, database: DuckDBPyConnection) -> None:
        self._database = database
        self._known: dict[tuple[str, str], Source] = {}

    def of(self, path: str, digest: str) -> Source:
        if (path, digest) not in self._known:
            row = self._database.execute("SELECT content FROM texts WHERE text = ?", [digest]).fetchone()
            self._known[path, digest] = Source(path, b"" if row is None else bytes(row[0]))
        return self._known[path, digest]


def _diagnostic(sources: _Sources, row: tuple[Any, ...]) -> Diagnostic:
    rule, severity, path, text, start, end, message, help_, hosts, host = row
    source = sources.of(host + path, text)
    if not 0 <= start <= end <= len(source.data):
        raise InputError(f"not the result of nginxopt fleet lint: a finding at {start} to {end}", path=source.path)
    where = f"On {count(hosts, 'host')}, such as {host}"
    finding = Finding(source, Span(start, end), message, help=f"{help_}. {where}" if help_ else where)
    return Diagnostic(rule, Severity(severity), finding, page_url(rule) if rule in catalogue() else None)


def _error(message: str, path: str | None, hosts: int, host: str) -> InputError:
    return InputError(f"{message} (on {count(hosts, 'host')})", path=host + (path or ""))
