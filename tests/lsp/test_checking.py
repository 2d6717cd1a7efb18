"""When documents are checked: in a thread, after the last change, and never with an old text."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Iterator
from threading import Event

import pytest
from lsprotocol.types import Diagnostic

from nginxopt.lsp import collector
from nginxopt.lsp.checking import Checking
from nginxopt.lsp.diagnostics import SupersededError
from nginxopt.lsp.document import Document
from tests.lsp.editing import MAIN, SITE, Editor
from tests.support import PATIENCE


class Scene:
    """A `Checking` that notes what it publishes and logs, with checks that wait until they are let go."""

    def __init__(self, editor: Editor) -> None:
        self.published: list[tuple[str, int | None]] = []
        self.messages: list[str] = []
        self.error: BaseException | None = None
        self.started, self.go = Event(), Event()
        self.news = asyncio.Event()
        self.checking = Checking(editor.workspace, self._publish, self._log)
        self._real = self.checking.judges.diagnostics
        self.checking.judges.diagnostics = self._wait  # type: ignore[method-assign]

    def _publish(self, uri: str, version: int | None, _: list[Diagnostic]) -> None:
        self.published.append((uri, version))
        self.news.set()

    def _log(self, message: str) -> None:
        self.messages.append(message)
        self.news.set()

    def _wait(self, document: Document, is_current: Callable[[], bool] = lambda: True) -> list[Diagnostic]:
        self.started.set()
        assert self.go.wait(PATIENCE)
        if self.error is not None:
            raise self.error
        return self._real(document, is_current)

    async def started_one(self) -> None:
        """Wait until a check has begun."""
        assert await asyncio.to_thread(self.started.wait, PATIENCE)
        self.started.clear()

    async def heard(self) -> None:
        """Wait until something is published or logged."""
        await asyncio.wait_for(self.news.wait(), PATIENCE)
        self.news.clear()


@pytest.fixture(autouse=True)
def collecting() -> Iterator[None]:
    """Collect garbage again after a test that ends before its server rests."""
    yield
    gc.enable()


def test_a_check_holds_nothing_up_and_an_old_text_is_not_reported(editor: Editor) -> None:
    """While a check takes long, the loop goes on; once a newer text has come, the old one has no diagnostics."""
    document = editor.open("nginx.conf", MAIN.replace("include", "#"))

    async def play() -> None:
        scene = Scene(editor)
        scene.checking.request(document.uri)
        await scene.started_one()
        editor.change(document, MAIN)
        scene.checking.request(document.uri)  # the loop is free, although the first check waits
        scene.go.set()
        await scene.heard()
        assert scene.published == [(document.uri, 2)]

    asyncio.run(play())


def test_a_closed_document_has_no_diagnostics(editor: Editor) -> None:
    """What is found in a document that was closed meanwhile is not published, but that there is nothing is."""
    document = editor.open("nginx.conf", MAIN)

    async def play() -> None:
        scene = Scene(editor)
        scene.checking.request(document.uri)
        await scene.started_one()
        editor.workspace.close(document.uri)
        scene.checking.close(document.uri)
        scene.go.set()
        await scene.heard()
        other = editor.open("a.conf", SITE)
        scene.checking.request(other.uri)
        await scene.heard()
        assert scene.published == [(document.uri, None), (other.uri, 1)]

    asyncio.run(play())


def test_a_bug_is_logged_once_and_ends_nothing(editor: Editor) -> None:
    """An unexpected error of a check is logged with its traceback, and the next check takes place."""
    document = editor.open("nginx.conf", MAIN)

    async def play() -> None:
        scene = Scene(editor)
        scene.go.set()
        scene.error = ZeroDivisionError("a bug")
        scene.checking.request(document.uri)
        await scene.heard()
        assert "ZeroDivisionError: a bug" in scene.messages[0]
        scene.error = None
        scene.checking.request(document.uri)
        await scene.heard()
        assert scene.published == [(document.uri, 1)]

    asyncio.run(play())


def test_a_superseded_check_says_nothing(editor: Editor) -> None:
    """A check that ended for a newer text is followed by that of the newer text alone."""
    document = editor.open("nginx.conf", MAIN)

    async def play() -> None:
        scene = Scene(editor)
        scene.go.set()
        scene.error = SupersededError()
        scene.checking.request(document.uri)
        await asyncio.sleep(0.1)
        scene.error = None
        scene.checking.request(document.uri)
        await scene.heard()
        assert (scene.published, scene.messages) == ([(document.uri, 1)], [])

    asyncio.run(play())


def test_a_change_is_checked_at_once_if_no_check_runs(editor: Editor) -> None:
    """Only a check that follows a running one is delayed."""
    document = editor.open("nginx.conf", MAIN)

    async def play() -> None:
        scene = Scene(editor)
        scene.checking._delay = 10 * PATIENCE
        scene.go.set()
        scene.checking.request(document.uri)
        await scene.heard()
        assert scene.published == [(document.uri, 1)]

    asyncio.run(play())


@pytest.mark.parametrize("name", ["_REST", "_CHECKS"])
def test_garbage_is_collected_after_a_check(name: str, editor: Editor, monkeypatch: pytest.MonkeyPatch) -> None:
    """No garbage is collected during a check; it is once nothing was typed for a while, and after some checks."""
    document = editor.open("nginx.conf", MAIN)
    monkeypatch.setattr(collector, "_REST", 10 * PATIENCE)
    monkeypatch.setattr(collector, name, 0)

    async def play() -> None:
        scene = Scene(editor)
        scene.checking.request(document.uri)
        await scene.started_one()
        assert not gc.isenabled()
        scene.go.set()
        await scene.heard()
        async with asyncio.timeout(PATIENCE):
            while not gc.isenabled():
                await asyncio.sleep(0.001)

    asyncio.run(play())
