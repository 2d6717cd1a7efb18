"""What runs in a worker. Every worker gets the logs and their configuration once, even if it joins later."""

from __future__ import annotations

from distributed import WorkerPlugin, get_worker

from nginxopt.profile.pieces import Range
from nginxopt.profile.reading import PartRead, SiteLogs


class LogKeeper(WorkerPlugin):
    """Keeps the logs of a run in a worker, under the name of the run."""

    def __init__(self, name: str, logs: SiteLogs) -> None:
        self.name = name
        self.logs = logs


def read(part: Range, name: str) -> PartRead:
    """Return what is in a part of the logs of a run."""
    given = get_worker().plugins[name]
    assert isinstance(given, LogKeeper)
    return given.logs.read(part)
