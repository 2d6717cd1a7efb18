"""Workers for tests: threads of this process, which start at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.fleet.fleets import in_threads

if TYPE_CHECKING:
    from distributed import Client


@pytest.fixture
def workers() -> Iterator[Client]:
    """A client of one worker, which commands that a test calls use as theirs.

    Its threads end with the test: others replace calls of the system, and coverage stops and starts between tests, and
    either can end an event loop that another thread runs.
    """
    with in_threads() as client:
        yield client
