"""When documents are checked: at once after a change, in a thread, the newest text first.

One check runs at a time. When a newer text of its document arrives, it ends before its next rule, and the new text is
checked shortly after the last change.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter

from lsprotocol.types import Diagnostic

from nginxopt.errors import NginxoptError
from nginxopt.faults import FAULTS, internal
from nginxopt.lsp.collector import Collector
from nginxopt.lsp.diagnostics import Judges, SupersededError
from nginxopt.lsp.document import Document
from nginxopt.lsp.workspace import Workspace

_SHORTEST, _LONGEST = 0.01, 0.05
"""The bounds in seconds of the delay before a check that follows a running one; the delay is half the time of the last
check."""

Publish = Callable[[str, int | None, list[Diagnostic]], None]


class Checking:
    """Checks documents on request, and publishes their diagnostics; all methods are called in the event loop."""

    def __init__(
        self,
        workspace: Workspace,
        publish: Publish,
        log: Callable[[str], None],
        ended: Callable[[], None] = lambda: None,
    ) -> None:
        """`ended` is called after each check."""
        self._workspace = workspace
        self._publish = publish
        self._log = log
        self._ended = ended
        self.judges = Judges(workspace)
        self._thread = ThreadPoolExecutor(1, "checks")
        self._requests = 0
        self._delay = _SHORTEST
        self._timer: asyncio.TimerHandle | None = None
        self._running = 0
        self._collector = Collector()
        self._published: dict[str, tuple[int | None, list[Diagnostic]]] = {}
        self._messages: set[str] = set()

    def request(self, uri: str) -> None:
        """Check a document soon, and then the others, whose findings it may change."""
        self._requests += 1
        self._collector.pause()
        if self._timer is not None:
            self._timer.cancel()
        delay = self._delay if self._running else 0
        self._timer = asyncio.get_running_loop().call_later(delay, self._start, uri, self._requests)

    def request_all(self) -> None:
        """Check all documents soon."""
        first = next(iter(self._workspace.documents), None)
        if first is not None:
            self.request(first)

    def close(self, uri: str) -> None:
        """Remove the diagnostics of a document, and check the others."""
        self._published.pop(uri, None)
        self.judges.latest.pop(uri, None)
        self._publish(uri, None, [])
        self.request_all()

    def _start(self, uri: str, number: int) -> None:
        self._timer = None
        self._running += 1
        loop = asyncio.get_running_loop()
        loop.run_in_executor(self._thread, self._check_all, loop, uri, number)

    def _end(self) -> None:
        self._running -= 1
        self._ended()
        if not self._running and self._timer is None:
            self._collector.resume()

    def _check_all(self, loop: asyncio.AbstractEventLoop, uri: str, number: int) -> None:
        """Check a document, then the others; runs in the thread."""
        start = perf_counter()
        others = [other for other in tuple(self._workspace.documents) if other != uri]
        try:
            for other in (uri, *others):
                self._check(loop, other, lambda: number == self._requests)
        except SupersededError:
            return
        finally:
            loop.call_soon_threadsafe(self._end)
        self._delay = min(max((perf_counter() - start) / 2, _SHORTEST), _LONGEST)

    def _check(self, loop: asyncio.AbstractEventLoop, uri: str, is_current: Callable[[], bool]) -> None:
        document = self._workspace.documents.get(uri)
        if document is None:
            return
        try:
            shown = self.judges.diagnostics(document, is_current)
        except SupersededError:
            raise
        except NginxoptError as error:
            loop.call_soon_threadsafe(self._say, error.render())
        except FAULTS as error:
            loop.call_soon_threadsafe(self._say, internal(error, "the check", path=document.path).render())
        else:
            loop.call_soon_threadsafe(self._deliver, document, shown)

    def _deliver(self, document: Document, shown: list[Diagnostic]) -> None:
        """Publish the diagnostics of a document, unless it has changed since or the editor has them already."""
        if self._workspace.documents.get(document.uri) is not document:
            return
        last = document.version, shown
        if self._published.get(document.uri) != last:
            self._published[document.uri] = last
            self._publish(document.uri, document.version, shown)

    def _say(self, message: str) -> None:
        """Log a message, once."""
        if message not in self._messages:
            self._messages.add(message)
            self._log(message)
