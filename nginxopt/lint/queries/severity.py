"""The severity of a finding by its cost per request.

Costs are user-space instructions (`nginxopt.semantics.cost`). The thresholds come from the processor time of a worker
for a request that nginx answers itself; see `docs/rules/map-regex-bulk.md`.
"""

from __future__ import annotations

from nginxopt.settings.vocabulary import Severity

WARNING = 75_000
"""Additional instructions that about double the processor time of a request."""

ERROR = 750_000
"""Additional instructions that take about ten times as much."""


def by_cost(instructions: int) -> Severity:
    """Return the severity of a given number of additional instructions per request."""
    if instructions >= ERROR:
        return Severity.ERROR
    return Severity.WARNING if instructions >= WARNING else Severity.INFO
