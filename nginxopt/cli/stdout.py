"""Results as bytes on standard output, and whether it is a terminal that wants colours."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import TextIO

from nginxopt.errors import OutputError


class ClosedPipeError(Exception):
    """Whoever read standard output has gone away."""


def write(pieces: Iterable[bytes]) -> None:
    """Write `pieces` and see them off; `ClosedPipeError` if nobody takes them, `OutputError` if they cannot go."""
    if sys.stdout is None:  # the descriptor is closed
        raise OutputError("standard output is closed")
    for piece in pieces:
        _send(piece)
    flush()


def _send(piece: bytes) -> None:
    try:
        sys.stdout.buffer.write(piece)
    except OSError as error:
        raise _failure(error) from None


def flush() -> None:
    """See off what was printed; the errors of `write`."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        raise _failure(error) from None


def failed(error: OSError) -> Exception | None:
    """Return what `error` means if it came from printing: standard output, or error, takes nothing now."""
    streams = {"standard output": sys.stdout, "standard error": sys.stderr}
    names = (name for name, stream in streams.items() if _is_stuck(stream))
    return next((_failure(error, name) for name in names), None)


def discard() -> None:
    """Give up what could not be printed, which the interpreter would try again at its end."""
    for stream in (sys.stdout, sys.stderr):
        if _is_stuck(stream):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _is_stuck(stream: TextIO | None) -> bool:
    try:
        if stream is not None:
            stream.flush()
    except OSError:
        return True
    return False


def _failure(error: OSError, name: str = "standard output") -> Exception:
    if isinstance(error, BrokenPipeError):
        return ClosedPipeError()
    return OutputError(f"{name} cannot be written: {error.strerror or error}")


def colored(*, err: bool = False) -> bool:
    """Return whether standard output, or error, is a terminal and NO_COLOR is unset or empty (https://no-color.org).

    FORCE_COLOR takes anything for a terminal, such as the log of a continuous integration that shows colors.
    """
    if os.environ.get("NO_COLOR"):
        return False
    stream = sys.stderr if err else sys.stdout
    return stream.isatty() or bool(os.environ.get("FORCE_COLOR"))
