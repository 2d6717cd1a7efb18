"""Workers for tests: threads of this process, which start at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from distributed import Client

from nginxopt.system import cluster


@pytest.fixture(scope="session")
def _threads() -> Iterator[Client]:
    with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0") as client:
        yield client


@pytest.fixture
def workers(_threads: Client, monkeypatch: pytest.MonkeyPatch) -> Client:
    """A client of one worker, which commands that a test calls use as theirs."""

    @contextmanager
    def connected(**_: Any) -> Iterator[Client]:
        yield _threads

    monkeypatch.setattr(cluster, "connected", connected)
    return _threads
