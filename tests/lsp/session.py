"""A session with a real server process, through the client of pytest-lsp."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient

from tests.support import PATIENCE

COMMAND = (sys.executable, "-m", "nginxopt", "lsp", "--target-version", "1.28.0")

_PUBLISHED = "textDocument/publishDiagnostics"


class Session:
    """An editor with a folder open, and the server that it started."""

    def __init__(self, client: LanguageClient, folder: Path, started: types.InitializeResult) -> None:
        self.client = client
        self.folder = folder
        self.capabilities = started.capabilities
        self.published: dict[str, types.PublishDiagnosticsParams] = {}
        self._versions: dict[str, int] = {}
        self._news = asyncio.Event()
        client.protocol.fm.features[_PUBLISHED] = self._receive

    def _receive(self, params: types.PublishDiagnosticsParams) -> None:
        self.published[params.uri] = params
        self._news.set()

    async def open(self, name: str, text: str) -> str:
        """Open a file with a text, and return its URI once it has diagnostics."""
        uri = (self.folder / name).as_uri()
        self._versions[uri] = 1
        self.client.text_document_did_open(
            types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "nginx", 1, text))
        )
        await self.settled(uri)
        return uri

    def change(self, uri: str, text: str) -> None:
        """Put another text in place of that of an open file."""
        self._versions[uri] += 1
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(version=self._versions[uri], uri=uri),
                [types.TextDocumentContentChangeWholeDocument(text)],
            )
        )

    async def settled(self, uri: str) -> Sequence[types.Diagnostic]:
        """Return the diagnostics of the last version of a file, once they have come."""
        await self.until(lambda: uri in self.published and self.published[uri].version == self._versions[uri])
        return self.diagnostics(uri)

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Wait until published diagnostics make something true."""
        while not is_so():
            self._news.clear()
            await asyncio.wait_for(self._news.wait(), PATIENCE)

    def diagnostics(self, uri: str) -> Sequence[types.Diagnostic]:
        """Return the diagnostics of a file that were published last."""
        return self.published[uri].diagnostics

    def codes(self, uri: str) -> list[str]:
        """Return the rules of the diagnostics of a file that were published last."""
        return [str(diagnostic.code) for diagnostic in self.diagnostics(uri)]


@asynccontextmanager
async def session(
    folder: Path,
    capabilities: types.ClientCapabilities | None = None,
    command: Sequence[str] = COMMAND,
) -> AsyncIterator[Session]:
    """Start a server for a folder, and end it as an editor does."""
    client = await ClientServerConfig(list(command)).start()
    assert isinstance(client, LanguageClient)
    started = await client.initialize_session(
        types.InitializeParams(capabilities or types.ClientCapabilities(), root_uri=folder.as_uri())
    )
    try:
        yield Session(client, folder, started)
        await client.shutdown_session()
    finally:
        await asyncio.wait_for(client.stop(), PATIENCE)  # type: ignore[no-untyped-call]


def run(folder: Path, scene: Callable[[Session], Awaitable[None]]) -> None:
    """Run a scene in a session."""

    async def play() -> None:
        async with session(folder) as started:
            await scene(started)

    asyncio.run(play())
