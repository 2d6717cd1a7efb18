"""`nginxopt mcp`: what an assistant gets, asked with the client of the SDK over standard input and output."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import warnings
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from nginxopt.errors import InputError, UsageError
from nginxopt.mcp import commands
from nginxopt.mcp.commands import AllowedFolders

OLD = """\
events { }
http {
    server {
        server_name shop.example;
        rewrite ^/a$ /b permanent;
        rewrite ^/c$ /d permanent;
        location / { return 200 ok; }
    }
}
"""


@pytest.fixture(autouse=True)
def _collected() -> Iterator[None]:
    """Collect what a loop that ended leaves open, here and not during another test, which its warnings would fail."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A root with two configurations, and a secret beside it."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "old.conf").write_text(OLD)
    (root / "new.conf").write_text(OLD.replace("/d permanent", "/e permanent"))
    (root / "rules.conf").write_text("".join(f"rewrite ^/{n}$ /to/{n} permanent;\n" for n in range(30)))
    (tmp_path / "secret.conf").write_text("# a secret\n")
    (root / "link.conf").symlink_to(tmp_path / "secret.conf")
    return root


def ask(folder: Path, talk: Callable[[Any], Awaitable[None]]) -> None:
    """Talk to the server of a root."""
    from mcp import Client, StdioServerParameters, stdio_client  # takes a second, in each process that collects tests

    async def main() -> None:
        parameters = StdioServerParameters(
            command=sys.executable, args=["-m", "nginxopt", "mcp", str(folder)], cwd=str(folder)
        )
        assert sys.__stderr__ is not None
        server = stdio_client(parameters, errlog=sys.__stderr__)  # by default, what it was when `mcp` was imported
        async with Client(server) as client:
            await talk(client)

    anyio.run(main)


def value(result: Any) -> Any:
    """What a tool returned; its text if that is an error."""
    if result.is_error:
        return result.content[0].text
    return json.loads(result.content[0].text)


@pytest.mark.filterwarnings("default")
def test_tools(folder: Path) -> None:
    """Each tool reads, and answers as its command does; no tool changes a file."""
    before = {path: path.read_bytes() for path in folder.iterdir()}

    async def talk(client: Any) -> None:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == ["lint", "check", "explain", "trace", "verify", "compile"]
        assert all(tool.annotations.read_only_hint for tool in tools)
        found = value(await client.call_tool("lint", {"path": "old.conf", "target_version": "1.28.0"}))
        assert "diagnostics" in found or "findings" in found
        text = value(
            await client.call_tool("check", {"text": "server { listen 80; rewrite ( /x; }", "context": "http"})
        )
        assert text["accepted"] is False
        assert "missing closing parenthesis" in text["report"]
        assert value(await client.call_tool("check", {"path": "old.conf"}))["accepted"] is True
        traced = value(await client.call_tool("trace", {"path": "old.conf", "url": "http://shop.example/a"}))
        assert traced["outcome"]["status"] == 301
        verdict = value(await client.call_tool("verify", {"old": "old.conf", "new": "new.conf"}))
        assert verdict["verdict"] == "different"
        assert "/c" in json.dumps(verdict)
        assert (
            value(await client.call_tool("verify", {"old": "old.conf", "new": "old.conf"}))["verdict"] == "equivalent"
        )
        compiled = value(await client.call_tool("compile", {"path": "rules.conf", "context": "server"}))
        assert "map $uri" in compiled["text"]
        assert compiled["report"]["proof"]["status"] == "proved"
        table = value(await client.call_tool("compile", {"text": "/a,/b\n/x/*,/y\n", "kind": "csv"}))
        assert '"/a" "/b";' in table["text"]
        assert table["report"]["skipped"][0]["reason"] == "wildcard"
        page = (await client.call_tool("explain", {"rule": "if-chain"})).content[0].text
        assert page.startswith("#") or "if-chain" in page

    ask(folder, talk)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.filterwarnings("default")
def test_roots(folder: Path) -> None:
    """What is outside of the root is not read, by whichever path; neither is an option taken for a path."""

    async def talk(client: Any) -> None:
        for path in ("../secret.conf", "link.conf", "/etc/passwd", str(folder.parent / "secret.conf"), "*.conf"):
            message = value(await client.call_tool("lint", {"path": path}))
            assert "is outside of" in message or "no such file" in message
            assert "a secret" not in message
        for arguments in ({}, {"path": "old.conf", "text": "x"}):
            assert "name a path, or bring a text" in value(await client.call_tool("check", arguments))
        assert "no such" in value(await client.call_tool("trace", {"path": "--root=/", "url": "http://h/"}))
        assert "unknown rule" in value(await client.call_tool("explain", {"rule": "--config=/etc/passwd"}))

    ask(folder, talk)


@pytest.mark.filterwarnings("default")
def test_resources(folder: Path) -> None:
    """Rules and premises have pages."""

    async def talk(client: Any) -> None:
        listed = json.loads((await client.read_resource("nginxopt://rules")).contents[0].text)
        assert {"name", "severity", "title"} == set(listed[0])
        page = (await client.read_resource(f"nginxopt://rules/{listed[0]['name']}")).contents[0].text
        assert listed[0]["title"] in page
        assert "idle" in (await client.read_resource("nginxopt://rules/idle-connections")).contents[0].text

    ask(folder, talk)


def test_limits(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that takes longer than the budget, and a text or a result that is too long, are errors."""
    roots = AllowedFolders.of([str(folder)])

    def message(*arguments: str, text: str | None = None) -> str:
        async def main() -> None:
            await commands.run(roots, *arguments, text=text)

        with pytest.raises(InputError) as caught:
            anyio.run(main)
        return caught.value.message

    monkeypatch.setattr(commands, "MOST_RESULT", 10)
    assert "the result is longer than 10 bytes" in message("rules")
    monkeypatch.setattr(commands, "MOST_TEXT", 10)
    assert message("lint", "-", text="x" * 11) == "the text is longer than 10 bytes"
    monkeypatch.setattr("nginxopt.budget.limit", lambda _: 0.01)
    assert message("rules") == "the call took longer than 0.01 s"


def test_many_calls_at_once_wait(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty calls start no twenty processes, and each is answered; the time of one that waits has not begun."""
    roots = AllowedFolders.of([str(folder)])
    running: list[int] = []
    most = 0

    async def communicate(_process: Any, _text: bytes) -> tuple[bytes, bytes]:
        nonlocal most
        running.append(1)
        most = max(most, len(running))
        await anyio.sleep(0.1)
        running.pop()
        return await original(_process, _text)

    original = commands._communicate
    monkeypatch.setattr(commands, "_communicate", communicate)
    statuses: list[int] = []

    async def call() -> None:
        statuses.append((await commands.run(roots, "--version")).status)

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(call)

    anyio.run(main)
    assert statuses == [0] * 20
    assert 1 < most <= commands.MOST_PROCESSES


@pytest.mark.parametrize("argument", ["a\0b", "x" * 200_000])
def test_arguments_that_no_process_takes(folder: Path, argument: str) -> None:
    """They are refused with the reason, and so are paths that are none."""
    with pytest.raises(InputError, match="an argument has a null character, or is longer than 30,000 characters"):
        anyio.run(lambda: commands.run(AllowedFolders.of([str(folder)]), "explain", "--", argument))
    with pytest.raises(InputError, match=r"not a path|there is no such file"):
        AllowedFolders.of([str(folder)]).path(argument)


def test_what_is_no_message_is_answered(folder: Path) -> None:
    """A lone surrogate, or no JSON at all: the client gets an error with the number of its call, and waits for none."""
    begin = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
    call = rb'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"explain","arguments":{"rule":"\ud800"}}}'
    messages: list[tuple[bytes, int | str | None]] = [
        (call, 7),
        (rb'{"jsonrpc":"2.0","id":"a","method":"\udcff"}', "a"),
        (rb'{"jsonrpc":"2.0","id":"\ud800","method":"tools/list"}', None),
        (b'{"jsonrpc":"2.0","id":' + b"9" * 6_000 + b',"method":"tools/list"}', None),
        (b'{"id":8}', 8),
        (b"\xff", None),
        (b"{", None),
        (b"[" * 100_000, None),
    ]
    command = [sys.executable, "-m", "nginxopt", "mcp", str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        sent, received = running.stdin, running.stdout

        def asked(*lines: bytes) -> dict[Any, Any]:
            """Return what is answered to some lines and to a ping behind them, by number."""
            sent.write(b"\n".join([*lines, b'{"jsonrpc":"2.0","id":9,"method":"ping"}', b""]))
            sent.flush()
            answers: dict[Any, Any] = {}
            while 9 not in answers:
                answer = json.loads(received.readline())
                answers[answer["id"]] = answer
            return answers

        greeting = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": begin}
        met = asked(json.dumps(greeting).encode(), b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        assert "result" in met[1]
        codes = {message[:90]: asked(message)[number]["error"]["code"] for message, number in messages}
        sent.close()
    assert codes == {message[:90]: -32700 for message, _ in messages}


def test_no_root() -> None:
    """A root is a directory."""
    with pytest.raises(UsageError, match="is not a directory"):
        AllowedFolders.of(["/nowhere"])


def test_without_its_packages(tmp_path: Path) -> None:
    """Without the SDK, the command names the extra, and the help of all commands is there."""
    code = "import sys; sys.modules['mcp'] = sys.modules['pygls'] = None\n"
    code += "from nginxopt.cli import main; main(sys.argv[1:])"
    blocked = "import importlib.util as u; f = u.find_spec; u.find_spec = lambda n: None if n == 'mcp' else f(n)\n"
    for words, status in (["mcp"], 4), (["--help"], 0):
        done = subprocess.run(
            [sys.executable, "-c", blocked + code, *words], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == status, done.stderr
        assert "nginxopt[mcp]" in done.stderr or not status
