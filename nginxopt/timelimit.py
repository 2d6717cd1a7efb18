"""Ends work on one file or host that takes too long or too much memory, in any thread; other work goes on.

A signal would reach the main thread only, and workers of a fleet and checks of an editor run in others. A process for
each host would take longer to start than most hosts take, and would have its tree of the configuration twice. So a
thread has an exception raised in the one that works: between two instructions of Python, or where native code looks for
signals (`rust/src/border/working.rs`). Native code that does not is bounded by the size of what it reads.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import TypeVar

from nginxopt import budget
from nginxopt._native import interrupt, release_memory, reserve_memory
from nginxopt.errors import InputError
from nginxopt.faults import FAULTS, lacks_memory

_FEW = 8
_AGAIN = 1.0  # seconds, as Python drops what is raised while it frees an object

_Result = TypeVar("_Result")

_is_limited: ContextVar[bool] = ContextVar("is_limited", default=False)


class OutOfMemoryError(InputError):
    """The error for what takes more memory than there is."""


class _TimeUpError(BaseException):
    """The time is up: no `Exception`, so that no handler of errors takes it for one."""


def limited(work: Callable[[], _Result], *, path: str | None = None) -> _Result:
    """Return what `work` returns. Raises `budget.ExceededError` once it takes longer than the budget `seconds`, and
    `OutOfMemoryError` if it takes more memory than there is.

    Inside of limited work, this limits nothing further.
    """
    if _is_limited.get():
        return work()
    reserve_memory()
    seconds = budget.limit("seconds")
    watch = _Watch(seconds)
    token = _is_limited.set(True)
    try:
        try:
            watch.start()
            return work()
        finally:
            watch.stop()
    except _TimeUpError:
        _stop(watch)
        raise budget.ExceededError("seconds", seconds, path=path) from None
    except FAULTS as error:
        if not lacks_memory(error):
            raise
        release_memory()
        raise out_of_memory(path) from None
    finally:
        _is_limited.reset(token)


def out_of_memory(path: str | None = None) -> OutOfMemoryError:
    """Return the error for what takes more memory than there is."""
    return OutOfMemoryError("too large: it takes more memory than there is", path=path)


def _stop(watch: _Watch) -> None:
    """Stop a watch, though it may raise once more in the meantime."""
    while True:
        try:
            watch.stop()
        except _TimeUpError:
            continue
        return


class _Watch:
    """Raises `_TimeUpError` in the thread that made it, once its time is up, until it is stopped."""

    def __init__(self, seconds: float) -> None:
        self._thread = threading.get_ident()
        self._seconds = seconds
        self._is_wanted = [True]
        self._stopped = threading.Event()

    def start(self) -> None:
        """Begin to watch."""
        threading.Thread(target=self._watch, name="nginxopt-seconds", daemon=True).start()

    def stop(self) -> None:
        """End it: after this, nothing is raised, as what was ordered before is raised here."""
        self._is_wanted.clear()
        self._stopped.set()
        for _ in range(_FEW):  # Python looks for such exceptions where loops jump back
            pass

    def _watch(self) -> None:
        wait = self._seconds
        while not self._stopped.wait(wait):
            interrupt(self._thread, _TimeUpError, self._is_wanted)
            wait = _AGAIN
