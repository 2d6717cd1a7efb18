"""Signals that end a process: deferred until a block of work is done, or kept from libraries that lose them."""

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

    Python runs handlers only in the main thread, so there is nothing to defer in another thread.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        arrived.append(number)

    # None is a handler that a library in C has set; it runs in C, and so do those that are not Python's.
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
    """Raise what the handler of a signal raises, even where a library has turned that into an error of its own.

    DuckDB ends a query when a handler has raised something, and then raises `RuntimeError`. What is raised in a
    finalizer, Python drops: a loop calls what is yielded, which raises it again if a signal has arrived.
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
