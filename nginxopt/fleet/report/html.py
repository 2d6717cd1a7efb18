"""A report as one page without scripts and without network; the numbers are those of the JSON."""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.fleet.report.drift import condensed
from nginxopt.fleet.report.facts import FleetReport
from nginxopt.fleet.report.text import cpu, traffic_of
from nginxopt.text import page

_GROUPS = 8  # columns of the table of rules
_FILES = 100


def render(report: FleetReport) -> Iterator[str]:
    """Yield the page."""
    yield page.render(
        "nginxopt.fleet",
        report=report,
        totals=report.totals,
        columns=report.shared[:_GROUPS],
        most=max([rule.hosts for rule in report.rules], default=1),
        condensed=condensed,
        drift=report.drift[:_FILES],
        more=len(report.drift) - _FILES,
        traffic_of=traffic_of,
        cpu=cpu,
    )
