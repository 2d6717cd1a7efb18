"""Signals that arrive while work is done that must not be left half done, or while a library runs in C++."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType

import pytest

from nginxopt.system.interrupts import interruptible, uninterrupted

duckdb = pytest.importorskip("duckdb", reason="the extra fleet is not installed")


class _TerminatedError(BaseException):
    pass


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    """Have SIGTERM raise an error, as the program has it."""

    def terminate(_: int, __: FrameType | None) -> None:
        raise _TerminatedError

    before = signal.signal(signal.SIGTERM, terminate)
    yield
    assert signal.getsignal(signal.SIGTERM) is terminate
    signal.signal(signal.SIGTERM, before)


_AT_WORK = 0.05  # seconds of CPU time; what precedes the first row of a query takes a few milliseconds


def _query(number: signal.Signals) -> None:
    """Send this process a signal during a query of minutes, which this thread works on."""
    clock = time.pthread_getcpuclockid(threading.get_ident())
    with duckdb.connect(config={"threads": 1}) as database:
        begun = time.clock_gettime(clock)

        def send() -> None:
            while time.clock_gettime(clock) < begun + _AT_WORK:
                time.sleep(0.01)
            os.kill(os.getpid(), number)

        sender = threading.Thread(target=send)
        sender.start()
        try:
            database.execute("SELECT count(*) FROM range(1000000000000) WHERE range % 7 = 1").fetchall()
        finally:
            sender.join()


@pytest.mark.parametrize(("number", "error"), [(signal.SIGTERM, _TerminatedError), (signal.SIGINT, KeyboardInterrupt)])
def test_a_query_is_ended_as_anything_else(number: signal.Signals, error: type[BaseException]) -> None:
    """DuckDB alone has an error of its own for it."""
    with pytest.raises(RuntimeError, match="Query interrupted"):
        _query(number)
    with pytest.raises(error), interruptible():
        _query(number)


def test_what_a_finalizer_loses_is_raised_again() -> None:
    """Python drops what is raised there, and so may a library."""
    with interruptible() as raise_again:
        raise_again()
        with contextlib.suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            raise_again()


def test_other_errors_stay_as_they_are() -> None:
    """Without a signal there is nothing to raise."""
    with pytest.raises(ZeroDivisionError), interruptible():
        raise ZeroDivisionError


def test_a_signal_waits_for_the_end() -> None:
    """What is begun is done, and then the signal takes effect."""
    done = []

    def work() -> None:
        with uninterrupted():
            os.kill(os.getpid(), signal.SIGTERM)
            done.append(True)

    with pytest.raises(_TerminatedError):
        work()
    assert done
