"""The deadline of a whole exchange with a server, however slowly it answers.

The timeout of a socket applies to each read: a server that sends a byte now and then would keep the client forever.
"""

from __future__ import annotations

from time import monotonic


class Deadline:
    """The deadline of an exchange: `seconds` after `begin`, or after the object was made."""

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
