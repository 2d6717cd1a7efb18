"""Delays garbage collection until the user stops typing: it takes half as long as a check, and stops all threads."""

from __future__ import annotations

import asyncio
import gc

_REST = 0.5
"""The seconds without a change after which garbage is collected."""

_CHECKS = 8
"""The number of checks after which garbage is collected in any case."""


class Collector:
    """Pauses the garbage collector from a change until `_REST` seconds after its check.

    A collection would delay the diagnostics, as it stops all threads. All methods must be called in the event loop.
    """

    def __init__(self) -> None:
        self._timer: asyncio.TimerHandle | None = None
        self._checks = 0

    def pause(self) -> None:
        """Collect no garbage until `resume`."""
        gc.disable()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def resume(self) -> None:
        """Schedule a collection for `_REST` seconds from now, or for now after `_CHECKS` checks without one."""
        self._checks += 1
        delay = _REST if self._checks < _CHECKS else 0
        self._timer = asyncio.get_running_loop().call_later(delay, self._collect)

    def _collect(self) -> None:
        self._timer = None
        self._checks = 0
        gc.collect()
        gc.enable()
