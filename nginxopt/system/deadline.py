"""When an exchange with a server ends, however often a part of the answer arrives.

The timeout of a socket is for each reading: a server that sends a byte now and then holds it for ever.
"""

from __future__ import annotations

from time import monotonic


class Deadline:
    """The end of an exchange, `seconds` after it was begun or made."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.begin()

    def begin(self) -> None:
        """Begin another exchange."""
        self._end = monotonic() + self._seconds

    def left(self) -> float:
        """Return the seconds that are left. Raises `TimeoutError` if there are none."""
        left = self._end - monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        return left
