"""The client that the extension for Visual Studio Code is made of, in Node, without its windows, with a real server."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any

import pytest

from nginxopt.config import load
from nginxopt.rewrite import Options, emit, plan
from tests import npm
from tests.lsp.session import COMMAND
from tests.support import PATIENCE, ROOT

pytestmark = [pytest.mark.extended, pytest.mark.slow, pytest.mark.no_cover]

_RULES = "".join(f"        rewrite ^/old/{number}$ /new/{number} permanent;\n" for number in range(40))
_FIXED = f"    gzip on;\n    server {{\n        listen 80;\n{_RULES}    }}\n"
TEXT = f"events {{}}\nhttp {{\n{_FIXED}}}\n".replace("gzip on;\n", "gzip on;\n    gzip_comp_level  9;\n")


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the client has seen of a server."""
    client, folder = tmp_path_factory.mktemp("client"), tmp_path_factory.mktemp("site")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(ROOT / "editors" / "vscode" / name, client)
    npm.install(client, "--omit=dev")
    shutil.copy(ROOT / "tests" / "lsp" / "client.mjs", client)
    (folder / ".git").mkdir()
    (folder / "nginx.conf").write_text(TEXT)
    done = subprocess.run(
        ["node", "client.mjs", str(folder), *COMMAND],
        cwd=client, capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result | {"folder": folder}


def test_the_session_begins_and_ends(seen: dict[str, Any]) -> None:
    """The server names itself, and exits with status 0 after `exit`."""
    assert (seen["server"], seen["status"]) == ("nginxopt", 0)


def test_findings_come_and_go(seen: dict[str, Any]) -> None:
    """A finding comes with the file, and goes with the fix of all findings."""
    assert "gzip-level" in seen["found"]
    assert "gzip-level" not in seen["fixed"]


def test_a_list_is_compiled(seen: dict[str, Any]) -> None:
    """Lens and action say what a request tries; the command changes the files as `rewrite-to-map` does."""
    assert seen["lens"] == "a request tries 40 patterns here; compile: 0 at most"
    assert seen["title"].startswith("Compile the lists of this file")
    assert any("proved" in message for message in seen["messages"])
    path = seen["folder"] / "nginx.conf"
    (saved,) = seen["folder"].glob("nxo_*.conf")
    maps = saved.read_bytes()
    saved.unlink()
    path.write_text(seen["before"])
    emission = emit(plan(load(str(path)), Options(groups=True, in_place=True)))
    path.write_text(seen["formatted"])
    saved.write_bytes(maps)
    assert (emission.maps_path, emission.maps) == (str(saved), maps)
    (change,) = emission.changes
    assert seen["compiled"].encode() == change.after


def test_the_file_is_formatted(seen: dict[str, Any]) -> None:
    """The edits of the formatter leave what `nginxopt format` finds no fault with."""
    command = [*COMMAND[:3], "format", "--check", "--isolated", str(seen["folder"] / "nginx.conf")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert seen["formatted"] == (seen["folder"] / "nginx.conf").read_text()
