"""When garbage is collected: while nothing is typed, as it takes half as long as a check and holds up every thread."""

from __future__ import annotations

import asyncio
import gc

_REST = 0.5
"""The seconds without a change after which garbage is collected."""

_CHECKS = 8
"""The number of checks after which it is collected in any case."""


class Collector:
    """Pauses the garbage collector from a change to the rest after its check; all methods are called in the event loop.

    A collection would hold up the diagnostics: no other thread runs meanwhile.
    """

    def __init__(self) -> None:
        self._timer: asyncio.TimerHandle | None = None
        self._checks = 0

    def pause(self) -> None:
        """Collect nothing until `resume`."""
        gc.disable()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def resume(self) -> None:
        """Collect garbage after a rest, or now if there was none for long."""
        self._checks += 1
        delay = _REST if self._checks < _CHECKS else 0
        self._timer = asyncio.get_running_loop().call_later(delay, self._collect)

    def _collect(self) -> None:
        self._timer = None
        self._checks = 0
        gc.collect()
        gc.enable()
