"""Defers signals that end the process while a block of code runs, and saves them from libraries that drop them."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

_Handler = Callable[[int, FrameType | None], object]
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Defer the signals that end a process until the block ends; then the first of them takes effect.

    Does nothing in other threads than the main one, as Python runs signal handlers only in that.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        arrived.append(number)

    # None stands for the handler of a C library. It could not be restored, so it stays in place.
    handlers = {number: signal.getsignal(number) for number in _ENDING}
    handlers = {number: handler for number, handler in handlers.items() if handler not in (None, signal.SIG_IGN)}
    try:
        for number in handlers:
            signal.signal(number, note)
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if arrived:
            signal.raise_signal(arrived[0])


@contextlib.contextmanager
def interruptible() -> Iterator[Callable[[], None]]:
    """Raise the exceptions of signal handlers again, even if a library has replaced or dropped them.

    When a handler raises an exception, DuckDB ends its query with `RuntimeError`, and Python ignores exceptions in
    finalizers. Loops in the block call the yielded function, which raises the exception if a signal has arrived.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return
    arrived: list[int] = []

    def raise_again() -> None:
        if arrived:
            signal.raise_signal(arrived[0])

    def noting(handler: _Handler) -> _Handler:
        def note(number: int, frame: FrameType | None) -> object:
            arrived.append(number)
            return handler(number, frame)

        return note

    handlers = {number: signal.getsignal(number) for number in _ENDING}
    try:
        for number, handler in handlers.items():
            if callable(handler):
                signal.signal(number, noting(handler))
        yield raise_again
    except Exception:
        if arrived:
            signal.raise_signal(arrived[0])
        raise
    finally:
        for number, handler in handlers.items():
            if callable(handler):
                signal.signal(number, handler)
