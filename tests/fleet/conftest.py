"""Workers for tests: threads of this process, which start at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from distributed import Client

from nginxopt.system import cluster


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """A client of one worker, which commands that a test calls use as theirs.

    Its threads end with the test: others replace calls of the system, and coverage stops and starts between tests, and
    either can end an event loop that another thread runs.
    """
    with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0") as client:

        @contextmanager
        def connected(**_: Any) -> Iterator[Client]:
            yield client

        monkeypatch.setattr(cluster, "connected", connected)
        yield client
