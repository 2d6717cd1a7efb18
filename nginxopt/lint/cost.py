"""What a finding costs each request, and how severe that makes it.

Costs are instructions in user space, as counted on nginx 1.22.1. What they mean was measured there as processor time of
a worker for a request that nginx answers by itself: see `docs/rules/map-regex-bulk.md`.
"""

from __future__ import annotations

from nginxopt.lint.diagnostic import Severity

REGEX = 472
"""Instructions of a regular expression that does not match, and that the URI does not resemble."""

WARNING = 75_000
"""Instructions with which a request takes about twice the processor time."""

ERROR = 750_000
"""Instructions with which it takes about ten times as much."""


def severity(instructions: int) -> Severity:
    """Return how severe it is if each request costs so many instructions more."""
    if instructions >= ERROR:
        return Severity.ERROR
    return Severity.WARNING if instructions >= WARNING else Severity.INFO
