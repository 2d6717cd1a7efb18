"""A report as ASCII JSON. Its schema is `schemas/fleet-report.json`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict

from nginxopt.fleet.report.facts import FleetReport

VERSION = 1
"""Incremented by changes that readers of reports have to follow."""


def render(report: FleetReport) -> Iterator[str]:
    """Yield the report."""
    yield json.dumps({"version": VERSION, **asdict(report)}, indent=2) + "\n"
