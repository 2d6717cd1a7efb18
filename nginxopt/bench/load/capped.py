"""Limits the rate of a load source: refuses attacks with a higher rate, and counts requests after each attack."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nginxopt.bench.result import Outcome
from nginxopt.bench.scenario import OpenLoop
from nginxopt.bench.site import LoadRun, LoadSource, RunningSite
from nginxopt.errors import RunError


class Capped:
    """A load source that makes at most `cap` requests a second with all its workers together."""

    def __init__(self, source: LoadSource, cap: int) -> None:
        self._source = source
        self._cap = cap
        self._busiest = 0

    def start(self, site: RunningSite) -> None:
        """Start the source."""
        self._source.start(site)

    def attack(self, site: RunningSite, run: LoadRun) -> Outcome:
        """Make an attack. Raises `RunError` if its rate exceeds the cap, or if no request is answered."""
        load = run.attack.load
        if not isinstance(load, OpenLoop) or load.rate is None or load.rate > self._cap:
            raise RunError(f"a load without a rate of at most {self._cap:,} req/s is not made")
        outcome = self._source.attack(site, run)
        self._busiest = max(self._busiest, outcome.busiest_second)
        if set(outcome.statuses) == {"0"}:
            raise RunError(f"of {outcome.requests:,} requests, none was answered ({', '.join(outcome.errors)})")
        return outcome

    def commands(self, run: LoadRun) -> Mapping[str, str]:
        """Return the commands of the source."""
        return self._source.commands(run)

    def provenance(self) -> Mapping[str, Any]:
        """Return the provenance of the source, the cap, and the most requests that began within any second."""
        return {**self._source.provenance(), "max_rate": self._cap, "busiest_second": self._busiest}
