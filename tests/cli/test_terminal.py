"""What reaches a terminal, and a runner of GitHub Actions: names and texts of strangers move and command nothing."""

from __future__ import annotations

import json
import os
import pty
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from nginxopt.ingress.manifests import PREFIX
from nginxopt.lint.report import FORMATS
from nginxopt.text.display import cell, line, terminal
from tests.forked import Run, commands
from tests.rows import every_row

EVIL = "\x1b[2J\x1b[8m\x9b1m\r\n  ::stop-commands::x\n##[error]\x07\u202e"
"""Clears the screen, hides text, begins lines with commands, and turns text around; also in a name of a file."""

NAME = EVIL.replace("/", "") + ".conf"

CONFIG = f"""events {{}}
http {{
    log_format {EVIL.encode("unicode_escape").decode().replace(chr(92), "")} "{EVIL}";
    server {{
        listen 80;
        server_name "{EVIL}";
        gzip on;
        gzip_comp_level 9;
        ::stop-commands::x;
        rewrite ^/old$ "/new{EVIL}" permanent;
        if ($http_x = "{EVIL}") {{ return 403; }}
        location / {{ return 200 "{EVIL}"; }}
    }}
}}
"""
GOOD = CONFIG.replace("        ::stop-commands::x;\n", "")

COMMANDS = (
    ("lint", NAME),
    ("lint", NAME, "--select", EVIL),
    ("lint", NAME, "--diff", "--unsafe-fixes"),
    ("lint", "good.conf", "--statistics"),
    ("lint", "none" + NAME),
    ("lint", "good.conf", "--config", NAME),
    ("lint", "good.conf", "--format", EVIL),
    ("lint", "--" + EVIL),
    ("lint", "good.conf", "--target-version", EVIL),
    ("format", "--check", NAME, "good.conf"),
    ("format", "--diff", "good.conf"),
    ("trace", NAME, "http://x/"),
    ("trace", "good.conf", "http://x/", "/old", f"/{EVIL}"),
    ("trace", "good.conf", "/", "--base", EVIL),
    ("test", "good.conf", "table.csv", "--base", "http://x"),
    ("verify", "good.conf", NAME),
    ("verify", "good.conf", "other.conf"),
    ("rewrite-to-map", NAME),
    ("rewrite-to-map", "good.conf", "--plan-only"),
    ("rewrite-to-map", "good.conf", "--check", "--at-least", "100"),
    ("explain", EVIL),
    ("rules", "new", EVIL),
    ("rules", "trust", NAME),
    ("fleet", "lint", "hosts", "--output", f"{NAME}.duckdb", "--workers", "1"),
    ("fleet", "report", NAME),
    ("fleet", "diff", NAME, EVIL),
    ("fleet", "query", "select 1", "--from", NAME),
    ("bench", "rewrites", "good.conf", "--output", NAME),
    ("bench", "report", NAME),
    ("check", NAME),
    ("check", "good.conf", "--root", EVIL),
    ("profile", "good.conf", "access.log"),
    ("profile", NAME, EVIL),
    ("probe", EVIL),
    ("probe", f"http://127.0.0.1:1/{EVIL}"),
    ("test", NAME, "table.csv"),
    ("test", "good.conf", NAME),
    ("test", "good.conf", "table.csv", "--live", EVIL),
    ("trace", "good.conf", "--requests", "access.log"),
    ("trace", "good.conf", "--requests", NAME),
    ("trace", "good.conf", "/", "--nginx", EVIL),
    ("verify", "good.conf", EVIL),
    ("lint", "--fix", "--unsafe-fixes", NAME),
    ("lint", "good.conf", "--baseline", EVIL),
    ("lint", "good.conf", "--diff-base", EVIL),
    ("lint", "."),
    ("format", "."),
    ("rewrite-to-map", "table.csv"),
    ("rewrite-to-map", "good.conf", "--write"),
    ("rewrite-to-map", "good.conf", "--output-dir", NAME),
    ("rules", "test", NAME),
    ("mcp", "--" + EVIL),
    ("lsp", "--" + EVIL),
    (EVIL,),
    *(("lint", "good.conf", "--format", name) for name in FORMATS if name != "text"),
    *(("lint", NAME, "--format", name) for name in ("github", "markdown", "html", "junit")),
    ("lint", "good.conf", "--format", "markdown", "--link", EVIL),
    *(("verify", "good.conf", "other.conf", "--format", name) for name in ("json", "sarif", "github")),
    *(("verify", "good.conf", "other.conf", "--format", name) for name in ("markdown", "html")),
    *(("verify", "good.conf", NAME, "--format", name) for name in ("github", "markdown", "html")),
    *(
        ("test", "good.conf", "table.csv", "--base", "http://x", "--format", name)
        for name in ("json", "junit", "github")
    ),
    ("profile", "good.conf", "access.log", "-v"),
    ("profile", "good.conf", "access.log", "--format", "json"),
    ("trace", "good.conf", "http://x/old", "--format", "json"),
    ("ingress", "ingress.json"),
    ("ingress", "ingress.json", "--annotations"),
    ("ingress", "ingress.json", "--class", EVIL),
    ("ingress", "ingress.json", "--config-map", "config.json"),
    ("ingress", NAME + ".yaml"),
    ("ingress", NAME + ".json"),
    ("ingress", "."),
    ("ingress", "--tls", EVIL, "ingress.json"),
)

END = b"\0end of the command"
"""What a test writes to the terminal behind a command; no text has a NUL."""

_OURS = re.compile(r"\x1b\[(?:[0127]|3[1-6])m")


@pytest.fixture
def strange(tmp_path: Path) -> Path:
    """A directory where names and texts are hostile."""
    backend = {"service": {"name": "s", "port": {"number": 80}}}
    rules = [{"host": "a.test", "http": {"paths": [{"path": "/a\x1b[2J", "backend": backend}]}}]
    annotations = {PREFIX + name: EVIL for name in (EVIL, "configuration-snippet", "auth-url", "server-alias")}
    ingress = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": "a", "annotations": annotations},
        "spec": {"rules": rules},
    }
    for name, text in (
        ("ingress.json", json.dumps(ingress)),
        (f"{NAME}.yaml", f"a: [{EVIL}"),
        (f"{NAME}.json", json.dumps({**ingress, "metadata": {"name": EVIL}})),
        ("config.json", json.dumps({"kind": "ConfigMap", "data": {EVIL: EVIL}})),
        (NAME, CONFIG),
        ("good.conf", GOOD),
        ("other.conf", GOOD.replace("403", "404")),
        ("table.csv", f'/old,301,"/{EVIL}"\n/{EVIL},200,\n'),
        ("access.log", f'1.2.3.4 - - [01/Jan/2025:00:00:00 +0000] "GET /{EVIL} HTTP/1.1" 200 1 "-" "{EVIL}"\n'),
    ):
        (tmp_path / name).write_text(text)
    host = tmp_path / "hosts" / EVIL.replace("/", "")
    host.mkdir(parents=True)
    (host / "nginx.conf").write_text(CONFIG)
    return tmp_path


@pytest.fixture(scope="module")
def forked() -> Iterator[Run]:
    """A function that runs a command in a process of its own."""
    with commands() as run:
        yield run


def on_terminal(forked: Run, command: tuple[str, ...], folder: Path) -> str:
    """Return what a command writes to a terminal that has standard output and error."""
    ours, theirs = pty.openpty()
    pieces: list[bytes] = []

    def read() -> None:
        while piece := os.read(ours, 65536):
            pieces.append(piece)
            if pieces[-1].endswith(END):
                return

    reader = threading.Thread(target=read)
    reader.start()
    name = os.ttyname(theirs)
    status = forked(command, folder, name, name, {"TERM": "xterm", "NO_COLOR": ""})
    os.write(theirs, END)
    reader.join()
    os.close(theirs)
    os.close(ours)
    assert status not in (70, -9, -6)
    return b"".join(pieces).removesuffix(END).decode()


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: "-".join(map(ascii, command))[:60])
def test_no_text_moves_the_cursor(command: tuple[str, ...], strange: Path, forked: Run) -> None:
    """On a terminal, there is no control character but line ends, tabs and our own colors."""
    shown = on_terminal(forked, command, strange)
    assert shown.strip()
    left = _OURS.sub("", shown)
    if command[0] in ("fleet", "profile") or "--requests" in command:  # their progress moves the cursor
        left = re.sub(r"\x1b\[\?25[lh]|\x1b\[K|\r(?!\n)", "", left)
    left = left.replace("\r\n", "\n")
    assert [char for char in left if not char.isprintable() and char not in "\n\t"] == []


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: "-".join(map(ascii, command))[:60])
def test_no_text_is_a_command(command: tuple[str, ...], strange: Path, forked: Run, tmp_path: Path) -> None:
    """In CI, no line of a message or report begins as a command to the runner, or has one of the old form."""
    output, errors = tmp_path / "printed", tmp_path / "told"
    forked(command, strange, str(output), str(errors), {"GITHUB_ACTIONS": "true"})
    is_exact = "--diff" in command or command == ("rewrite-to-map", NAME)  # for patch, and for nginx
    is_exact |= command[:2] == ("ingress", "ingress.json") and "--annotations" not in command
    annotations = ("::error", "::warning", "::notice") if "github" in command else ()
    for text in (errors.read_text(), "" if is_exact else output.read_text()):
        for each in text.splitlines():
            assert not each.lstrip().startswith("::") or each.startswith(annotations)
            assert "##[" not in each


@every_row(
    ("text", "shown"),
    [
        ("a\tb", "a\tb"),
        ("  ::x::", "  \\x3a:x::"),
        ("\u00a0::x", "\\xa0::x"),
        ("a::b", "a::b"),
        ("a ##[x]", "a #\\x23[x]"),
        ("a\n::b", "a\\n::b"),
        ("\x1b[31m", "\\x1b[31m"),
        ("\udcff", "\\xff"),
    ],
)
def test_a_line(text: str, shown: str) -> None:
    """Each escape of `line`."""
    assert line(text) == shown


def test_a_terminal_gets_colors() -> None:
    """`terminal` keeps line ends, tabs and colors, and nothing else of what does not print."""
    assert terminal("\x1b[1ma\x1b[0m\t\n\r\x1b[2J\x07\u202e\udcff") == "\x1b[1ma\x1b[0m\t\n\\r\\x1b[2J\\x07\\u202e\\xff"


@every_row(
    ("text", "shown"),
    [
        ("=1+1", "'=1+1"),
        (" =1", "' =1"),
        ("@a", "'@a"),
        ("-a", "'-a"),
        ("\t=a", "'\\t=a"),
        ("-1.5", "-1.5"),
        ("a=1", "a=1"),
        ("\x1b[1m", "\\x1b[1m"),
    ],
)
def test_a_cell_is_no_formula(text: str, shown: str) -> None:
    """A spreadsheet takes no cell of CSV for a formula; numbers stay."""
    assert cell(text) == shown
