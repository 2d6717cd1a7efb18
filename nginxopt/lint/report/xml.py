"""The report by file, for the XML formats."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from nginxopt.errors import InputError
from nginxopt.lint.diagnostic import Diagnostic
from nginxopt.lint.report.model import LintReport, relative
from nginxopt.records import record


@record(eq=True)
class Section:
    """The findings in one file. `path` is that of `place.relative`."""

    path: str
    diagnostics: list[Diagnostic] = field(default_factory=list)
    errors: list[InputError] = field(default_factory=list)


def sections(report: LintReport) -> Iterable[Section]:
    """Return a section for every checked file, in order, then for the files with errors.

    An error without a file belongs to the folder, `.`.
    """
    by_name: dict[str, Section] = {}

    def section(path: str) -> Section:
        name = relative(path, report.base)
        return by_name.setdefault(name, Section(name))

    for path in report.files:
        section(path)
    for diagnostic in report.diagnostics:
        section(diagnostic.path).diagnostics.append(diagnostic)
    for error in report.errors:
        section(error.path or ".").errors.append(error)
    return by_name.values()
