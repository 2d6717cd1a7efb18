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
        self._versions: dict[str, int] = {}

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
        while True:
            published = await asyncio.wait_for(self.client.wait_for_notification(_PUBLISHED), PATIENCE)
            if published.uri == uri and published.version == self._versions[uri]:
                diagnostics: Sequence[types.Diagnostic] = published.diagnostics
                return diagnostics


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
