"""Bugs of nginxopt in one rule, list, file or host: the rest is judged and written, and the exit status is 70.

A block under `isolated` that raises what nobody planned, or in which the native core panics, becomes an `InternalError`
of the innermost `collecting`, and the program goes on after it. Errors of users, and signals, pass.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TypeVar

from nginxopt import __version__
from nginxopt._native import PanicException, panic_place
from nginxopt.errors import DefectError, InternalError, NginxoptError
from nginxopt.text import Source, Span

FAULTS = (Exception, PanicException)
"""What a bug raises. `PanicException` is no `Exception`."""

_NO_MEMORY = ("PyObject pointer is null", "memory allocation failed")
"""What a panic says where Python can make no object, and where the native core has no memory."""

_NO_THREAD = "can't start new thread"
"""What Python says where there are no addresses for the stack of a thread."""

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

_PACKAGE = Path(__file__).parent

_collected: ContextVar[list[InternalError] | None] = ContextVar("faults", default=None)


@contextmanager
def collecting() -> Iterator[list[InternalError]]:
    """Yield the list that gets what `isolated` blocks inside raise."""
    errors: list[InternalError] = []
    token = _collected.set(errors)
    try:
        yield errors
    finally:
        _collected.reset(token)


@contextmanager
def isolated(
    what: str, *, path: str | None = None, source: Source | None = None, span: Span | None = None
) -> Iterator[None]:
    """Turn what a bug raises in the block into an `InternalError`; without a `collecting` around it, it is raised.

    `what` is what the block is about: `rule x`, `this map`.
    """
    try:
        yield
    except FAULTS as error:
        errors = _collected.get()
        if errors is None or not is_bug(error):
            raise
        errors.append(internal(error, what, path=path, source=source, span=span))


def apart(
    items: Sequence[_Item], ask: Callable[[Sequence[_Item]], _Result], what: str
) -> Iterator[tuple[Sequence[_Item], _Result | None]]:
    """Yield `ask(items)`; if that shows a bug, yield parts, and None for an item that shows it by itself."""
    if len(items) > 1:
        try:
            yield items, ask(items)
        except FAULTS as error:
            if not is_bug(error):
                raise
            half = len(items) // 2
            yield from apart(items[:half], ask, what)
            yield from apart(items[half:], ask, what)
        return
    result = None
    with isolated(what):
        result = ask(items)
    yield items, result


def lacks_memory(error: BaseException) -> bool:
    """Return whether an exception shows a lack of memory, which others show for Python in their own ways."""
    match error:
        case MemoryError():
            return True
        case PanicException():
            return str(error) in _NO_MEMORY
        case RuntimeError():
            return str(error) == _NO_THREAD
        case OSError():
            return error.errno == errno.ENOMEM
    return False


def is_bug(error: BaseException) -> bool:
    """Return whether an exception shows a bug of nginxopt, and neither an error of a user nor a lack of memory."""
    if lacks_memory(error):
        return False
    return isinstance(error, FAULTS) and (isinstance(error, DefectError) or not isinstance(error, NginxoptError))


def internal(
    error: BaseException,
    what: str,
    *,
    path: str | None = None,
    source: Source | None = None,
    span: Span | None = None,
) -> InternalError:
    """Return the error that reports a bug: what failed, how, where, and the version."""
    name = "panic" if isinstance(error, PanicException) else type(error).__name__
    said = error.message if isinstance(error, NginxoptError) else str(error)
    message = f"internal-error: {what} failed: {name}: {said}{_place(error)} in nginxopt {__version__}"
    hint = "this is a bug in nginxopt: please report this error, with the file if you can share it"
    return InternalError(" ".join(message.split()), path=path, source=source, span=span, hint=hint)


def _place(error: BaseException) -> str:
    """Return where an exception was raised: the last place in nginxopt."""
    import traceback  # which no run without a bug needs, and takes 3 ms to import

    frames = traceback.extract_tb(error.__traceback__)
    native = panic_place() if isinstance(error, PanicException) else None
    ours = [frame for frame in frames if Path(frame.filename).is_relative_to(_PACKAGE)]
    if native is not None:
        return f" at rust/{native}"
    frame = ours[-1] if ours else frames[-1] if frames else None
    return "" if frame is None else f" at {Path(frame.filename).name}:{frame.lineno}"
