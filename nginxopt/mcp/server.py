"""The tools and resources that an assistant gets."""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import Any

import anyio
from mcp.server import MCPServer, stdio
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.message import SessionMessage
from mcp.types import PARSE_ERROR, ErrorData, JSONRPCError, ToolAnnotations
from pydantic import ValidationError

from nginxopt import __version__
from nginxopt.errors import NginxoptError, UsageError
from nginxopt.lint.report import pages
from nginxopt.mcp import commands
from nginxopt.mcp.commands import AllowedFolders
from nginxopt.settings.vocabulary import PREMISES
from nginxopt.text.json import loads

_INSTRUCTIONS = (
    "Judges nginx configurations, and writes nothing. Before you change one, ask `lint` and `trace`; after it, `check` "
    "the new text and `verify` old against new: `different` comes with a request that is answered otherwise. `compile` "
    "returns rewrites or a table of redirects as maps with their proof. Rule pages are resources, nginxopt://rules/NAME."
)
_READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)


class _Server(MCPServer):
    """A server that answers whatever a client sends."""

    async def run_stdio_async(self) -> None:
        """Serve standard input and output."""
        async with stdio.stdio_server() as (incoming, outgoing):
            served = self._lowlevel_server
            await served.run(_Readable(incoming, outgoing), outgoing, served.create_initialization_options())


class _Readable:
    """The messages of a client; what is none is answered with an error, where the SDK drops it and the client waits."""

    def __init__(self, incoming: Any, outgoing: Any) -> None:
        self._incoming = incoming
        self._outgoing = outgoing

    def __getattr__(self, name: str) -> Any:
        return getattr(self._incoming, name)

    def __aiter__(self) -> _Readable:
        return self

    async def __aenter__(self) -> _Readable:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._incoming.aclose()

    async def __anext__(self) -> SessionMessage:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def receive(self) -> SessionMessage:
        """Return the next message that can be read."""
        while isinstance(message := await self._incoming.receive(), Exception):
            error = ErrorData(code=PARSE_ERROR, message="not a message of JSON-RPC in UTF-8")
            await self._outgoing.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=_sender(message), error=error)))
        return message  # type: ignore[no-any-return]


def _sender(error: Exception) -> int | str | None:
    """Return the `id` of a message that cannot be read; None if it has none that an answer can have."""
    found = error.errors()[0]["input"] if isinstance(error, ValidationError) else None
    with suppress(ValueError):
        found = loads(found) if isinstance(found, str) else found
        number = found.get("id") if isinstance(found, dict) else None
        if isinstance(number, str):
            number.encode()
        return number if type(number) in (int, str) else None
    return None


def server(roots: AllowedFolders) -> MCPServer:
    """Return the server of the tools, confined to some directories."""
    made = _Server("nginxopt", version=__version__, instructions=_INSTRUCTIONS, log_level="ERROR")
    tools = _Tools(roots)
    offered: list[Any] = [tools.lint, tools.check, tools.explain, tools.trace, tools.verify, tools.compile]
    for tool in offered:
        made.tool(annotations=_READS)(_told(tool))
    made.resource("nginxopt://rules", name="rules", mime_type="application/json")(_rules)
    made.resource("nginxopt://rules/{name}", name="rule", mime_type="text/markdown")(_page)
    return made


def _told(tool: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Return a tool whose errors reach the assistant with their place and hint."""

    @wraps(tool)
    async def asked(**arguments: Any) -> Any:
        try:
            return await tool(**arguments)
        except NginxoptError as error:
            raise ToolError(error.render()) from None

    return asked


class _Tools:
    """The tools; what their docstrings say is what an assistant reads."""

    def __init__(self, roots: AllowedFolders) -> None:
        self._roots = roots

    async def lint(
        self,
        path: str | None = None,
        text: str | None = None,
        context: str | None = None,
        select: list[str] | None = None,
        target_version: str | None = None,
    ) -> dict[str, Any]:
        """Find what is slow, insecure or wrong in an nginx configuration, with the reason and the fix of each finding.

        `path` is a main configuration, a fragment or a directory; or `text` is a configuration, and `context` the block
        that it is in, such as http or server. `select` are rules or categories. The fixes are not applied.
        """
        options = [*self._options(context, target_version), *([f"--select={','.join(select)}"] if select else [])]
        return await self._on("lint", path, text, "--format", "json", *options)

    async def check(
        self,
        path: str | None = None,
        text: str | None = None,
        context: str | None = None,
        target_version: str | None = None,
    ) -> dict[str, Any]:
        """Check whether nginx would accept a configuration, as `nginx -t` would; each error has its place.

        `path`, `text` and `context` are as for lint.
        """
        named = self._named(path, text)
        result = await commands.run(
            self._roots, "check", *self._options(context, target_version), "--", named, text=text
        )
        return {"accepted": result.status == 0, "report": "\n".join(filter(None, [result.out, result.messages]))}

    async def explain(self, rule: str) -> str:
        """Return the page of a rule of lint, or of a premise of fixes: what it finds, why, and when to ignore it."""
        return (await commands.run(self._roots, "explain", "--isolated", "--", rule)).out

    async def trace(
        self, path: str, url: str, method: str = "GET", headers: list[str] | None = None, context: str | None = None,
        target_version: str | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """Tell what nginx would do with a request: server, rewrites, location, answer; step by step, with the lines.

        `url` is one of a site of the configuration `path`; `headers` are lines such as `Cookie: a=b`. Nothing is sent.
        """
        sent = [f"--header={header}" for header in headers or []]
        options = [*self._options(context, target_version), *sent, "--format", "json"]
        return dict(
            (await commands.run(self._roots, "trace", *options, "--", self._roots.path(path), method, url)).json()
        )

    async def verify(
        self, old: str, new: str, context: str | None = None, only: str | None = None, target_version: str | None = None
    ) -> dict[str, Any]:
        """Prove that two configurations answer all requests alike, or return a request that they answer differently.

        `old` and `new` are paths; `only` is a URL below which requests are compared.
        """
        options = [*self._options(context, target_version), *([f"--only={only}"] if only else []), "--format", "json"]
        paths = (self._roots.path(old), self._roots.path(new))
        return dict((await commands.run(self._roots, "verify", *options, "--", *paths)).json())

    async def compile(
        self, path: str | None = None, text: str | None = None, kind: str | None = None, context: str | None = None
    ) -> dict[str, Any]:
        """Turn rewrite rules, maps with regular expressions or a table of redirects into maps, and prove the text.

        `text` has the files of the result, each below a line with its name; `report` has the proof, the premises under
        which it holds, and what stays as it is. `kind` is csv, netlify, cloudflare or apache for a table.
        """
        options = [*([f"--from={kind}"] if kind else []), *self._options(context, None)]
        named = self._named(path, text)
        async with anyio.TemporaryDirectory() as folder:
            report = Path(folder, "report.json")
            result = await commands.run(
                self._roots, "rewrite-to-map", "--report", str(report), *options, "--", named, text=text
            )
            found = json.loads(report.read_bytes()) if os.path.isfile(report) else None
        return {"text": result.out, "report": found, "summary": result.messages}

    async def _on(self, command: str, path: str | None, text: str | None, *options: str) -> dict[str, Any]:
        named = self._named(path, text)
        return dict((await commands.run(self._roots, command, *options, "--", named, text=text)).json())

    def _named(self, path: str | None, text: str | None) -> str:
        """Return the argument for a path or a text, of which a call has one."""
        if (path is None) == (text is None):
            raise UsageError("name a path, or bring a text")
        return "-" if path is None else self._roots.path(path)

    @staticmethod
    def _options(context: str | None, target_version: str | None) -> list[str]:
        return [
            *([f"--context={context}"] if context else []),
            *([f"--target-version={target_version}"] if target_version else []),
        ]


def _rules() -> str:
    """Return all rules with their severity and title."""
    from nginxopt.lint.catalogue import load_rules

    rules = load_rules(config=None, isolated=True, run=False).rules.values()
    listed = [{"name": rule.id, "severity": rule.severity.name.lower(), "title": rule.title} for rule in rules]
    return json.dumps(listed, indent=1)


def _page(name: str) -> str:
    """Return the page of a rule or a premise."""
    from nginxopt.lint.catalogue import load_rules

    rules = load_rules(config=None, isolated=True, run=False).rules
    if name in rules:
        return pages.page(rules[name])
    if name in PREMISES:
        return pages.premise_page(PREMISES[name], rules.values())
    raise ValueError(f'unknown rule or premise "{name}"')
