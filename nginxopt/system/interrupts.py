"""Signals that end the process: at once, or after a block of code that must not be left half done.

Python runs handlers between its own instructions, and what they raise ends the command in order. A thread of the native
core (`watch`) ends the process if that takes longer than a second: while Python frees or sorts millions of objects, or
runs code of a library. It waits for blocks that would leave something behind (`orderly`).
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

from nginxopt._native import count_orderly, watch_signals

_Handler = Callable[[int, FrameType | None], object]
_ORDERLY: list[None] = []
"""An item for each block of `orderly` that is not left."""

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def watch() -> None:
    """Have SIGINT and SIGTERM end this process within a second, with status 128 + their number."""
    signal.set_wakeup_fd(watch_signals(), warn_on_full_buffer=False)


@contextlib.contextmanager
def orderly() -> Iterator[None]:
    """Have a signal end the process only through the ends of this block, which remove files or stop programs."""
    count_orderly(1)
    _ORDERLY.append(None)
    try:
        yield
    finally:
        _ORDERLY.pop()
        count_orderly(-1)


def end_at_once() -> None:
    """Have SIGINT and SIGTERM end this process silently, whatever threads or libraries still work or wait.

    It waits only for blocks of `orderly`. For programs that serve another one, and have nothing to report or to finish.
    """

    def handling(handler: _Handler) -> _Handler:
        def handle(number: int, frame: FrameType | None) -> object:
            if not _ORDERLY:
                os._exit(128 + number)
            return handler(number, frame)

        return handle

    for number in (signal.SIGINT, signal.SIGTERM):
        handler = signal.getsignal(number)
        if callable(handler):
            signal.signal(number, handling(handler))


@contextlib.contextmanager
def temporary_folder(prefix: str = "nginxopt-") -> Iterator[str]:
    """Yield the path of a new folder (mode 0700), and remove it at the end, however the block ends."""
    import tempfile  # each command imports this module, and few make folders

    with orderly():
        folder = tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True)
        try:
            yield folder.name
        finally:
            try:
                folder.cleanup()
            except RecursionError:  # before Python 3.13, shutil.rmtree() recurses
                _flatten(folder.name)
                folder.cleanup()


def _flatten(top: str) -> None:
    """Move all folders of a folder into it, however deep they are, and remove their files."""
    waiting, moved = [top], 0
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in list(entries):
                if not entry.is_dir(follow_symlinks=False):
                    Path(entry.path).unlink()
                    continue
                moved += 1
                waiting.append(f"{top}/.nginxopt-{moved}")
                Path(entry.path).rename(waiting[-1])


class LeftError(Exception):
    """A block of `uninterrupted` was left because a signal arrived, which takes effect at the end of the block."""


@contextlib.contextmanager
def uninterrupted() -> Iterator[Callable[[], None]]:
    """Defer the signals that end a process until the block ends; then the first of them takes effect.

    The block can call the yielded function where it may be left: it raises `LeftError` if a signal has arrived. Does
    nothing in other threads than the main one, as Python runs signal handlers only in that.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return
    arrived: list[int] = []

    def leave() -> None:
        if arrived:
            raise LeftError

    def note(number: int, _: FrameType | None) -> None:
        arrived.append(number)

    # None stands for the handler of a C library. It could not be restored, so it stays in place.
    handlers = {number: signal.getsignal(number) for number in _ENDING}
    handlers = {number: handler for number, handler in handlers.items() if handler not in (None, signal.SIG_IGN)}
    try:
        with orderly():
            for number in handlers:
                signal.signal(number, note)
            yield leave
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
