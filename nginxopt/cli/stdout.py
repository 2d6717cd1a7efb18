"""Results as bytes on standard output."""

from __future__ import annotations

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
