"""A report as one page without scripts and without network; the numbers are those of the JSON."""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.fleet.report.facts import FleetReport
from nginxopt.text.escape import xml

_GROUPS = 8  # columns of the table of rules
_FILES = 100


def render(report: FleetReport) -> Iterator[str]:
    """Yield the page."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("nginxopt.fleet"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = lambda value: f"{value:,}"
    page = environment.get_template("report.html.j2").render(
        report=report,
        totals=report.totals,
        columns=report.groups[:_GROUPS],
        most=max([rule.hosts for rule in report.rules], default=1),
        drift=report.drift[:_FILES],
        more=len(report.drift) - _FILES,
    )
    yield xml(page) + "\n"
