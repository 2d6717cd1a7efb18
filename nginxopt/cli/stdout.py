"""Results as bytes on standard output, and whether it is a terminal that wants colours."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable


class ClosedPipeError(Exception):
    """Whoever read standard output has gone away."""


def write(pieces: Iterable[bytes]) -> None:
    """Write `pieces` and see them off; `ClosedPipeError` if nobody takes them."""
    try:
        for piece in pieces:
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise ClosedPipeError from None


def colored(*, err: bool = False) -> bool:
    """Return whether standard output, or error, is a terminal and NO_COLOR is unset or empty (https://no-color.org).

    FORCE_COLOR takes anything for a terminal, such as the log of a continuous integration that shows colors.
    """
    if os.environ.get("NO_COLOR"):
        return False
    stream = sys.stderr if err else sys.stdout
    return stream.isatty() or bool(os.environ.get("FORCE_COLOR"))
