"""Visual Studio Code itself, in a browser without windows, with the packaged extension and a real server.

code-server has the editor as npm delivers it: its workbench runs in Chromium, extensions in a host of Node.
"""

from __future__ import annotations

import base64
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests import npm
from tests.browser import browser, needs_chromium
from tests.lsp.test_node import TEXT
from tests.project.test_vscode import package
from tests.support import PATIENCE, ROOT, ended

pytestmark = [pytest.mark.extended, pytest.mark.slow, pytest.mark.no_cover, needs_chromium]

_EDITOR = "code-server@4.96.4"
_INTEGRITY = "w+ZpsKVKEFJ7ELe1fYejTn0gIT8kUtOppmXxUcBLPtKGokLY2Cfbi+JbmPK9CFoczP6jPKyh6iXdN/nt6WoSew=="
"""The last release for Node 20, and the SHA-512 of its package."""
_PAUSE = 0.2


def _editor() -> Path:
    """The folder of the editor: of an earlier run, or fetched now, by one of the processes that run tests."""
    folder = ROOT / "build" / _EDITOR
    folder.parent.mkdir(exist_ok=True)
    with folder.with_name(f"{_EDITOR}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            _fetch(folder)
    return folder / "package" / "lib" / "vscode"


def _fetch(folder: Path) -> None:
    """Put the editor into a folder. What has to be compiled in it is not needed."""
    new = folder.with_name(f"{_EDITOR}.new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    packed = npm.fetched(new, _EDITOR)
    assert base64.b64encode(hashlib.sha512(packed.read_bytes()).digest()).decode() == _INTEGRITY
    with tarfile.open(packed) as archive:
        # A file that a link would put elsewhere is refused, where Python knows how (3.11.4).
        archive.extractall(new, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))  # type: ignore[arg-type]
    packed.unlink()
    _take_releases(new / "package" / "lib" / "vscode" / "npm-shrinkwrap.json")
    npm.install(new / "package" / "lib" / "vscode", "--omit=dev", "--ignore-scripts", "--legacy-peer-deps")
    new.rename(folder)


def _take_releases(lock: Path) -> None:
    """Make a lock file name the release of a package instead of its commit, which no registry has."""
    locked = json.loads(lock.read_text())
    for package_ in locked["packages"].values():
        if str(package_.get("resolved")).startswith("git+"):
            del package_["resolved"], package_["integrity"]
    lock.write_text(json.dumps(locked))


def _installed(extensions: Path, built: Path) -> None:
    """Install the extension and the one that uses it."""
    with zipfile.ZipFile(built) as archive:
        archive.extractall(extensions / "packed")
    shutil.move(extensions / "packed" / "extension", extensions / "nginxopt.nginxopt-0.1.0")
    shutil.rmtree(extensions / "packed")
    shutil.copytree(ROOT / "tests" / "project" / "vscode", extensions / "test.probe-0.0.1")
    entries = []
    for name in ("nginxopt.nginxopt-0.1.0", "test.probe-0.0.1"):
        identifier, _, version = name.rpartition("-")
        location = {"$mid": 1, "path": str(extensions / name), "scheme": "file"}
        entries.append({"identifier": {"id": identifier}, "version": version, "location": location})
    (extensions / "extensions.json").write_text(json.dumps(entries))


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What an extension beside it has seen of it."""
    folder = tmp_path_factory.mktemp("vscode")
    site, data, extensions, result = (folder / name for name in ("site", "data", "extensions", "result.json"))
    for each in (site / ".git", data / "data" / "Machine", extensions, folder / "browser"):
        each.mkdir(parents=True)
    (site / "nginx.conf").write_text(TEXT)
    command = folder / "nginxopt"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m nginxopt "$@"\n')
    command.chmod(0o755)
    settings = {"nginxopt.command": str(command), "nginxopt.arguments": ["--target-version", "1.28.0"]}
    (data / "data" / "Machine" / "settings.json").write_text(json.dumps(settings))
    _installed(extensions, package(folder / "extension"))
    options = ["--host", "127.0.0.1", "--port", "0", "--without-connection-token", "--accept-server-license-terms"]
    options += ["--disable-workspace-trust", "--telemetry-level", "off"]
    folders = ["--server-data-dir", str(data), "--extensions-dir", str(extensions)]
    command_line = ["node", "out/server-main.js", *options, *folders]
    environment = os.environ | {"PROBE_RESULT": str(result)}
    with (folder / "log").open("wb") as log:
        editor = subprocess.Popen(
            command_line, cwd=_editor(), env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    with ended(editor), browser(folder / "browser") as page:
        page.visit(f"http://127.0.0.1:{_port(editor, folder / 'log')}/?folder={site}")
        end = time.monotonic() + PATIENCE
        while not result.exists():
            assert time.monotonic() < end, page.ask("document.body.innerText")
            time.sleep(_PAUSE)
        editor.terminate()
        editor.wait(PATIENCE)
    told: dict[str, Any] = json.loads(result.read_text())
    assert "error" not in told, told
    return told | {"site": site}


def _port(editor: subprocess.Popen[bytes], log: Path) -> str:
    """Return the port that the editor listens on, once it does."""
    end = time.monotonic() + PATIENCE
    while not (found := re.search(r"agent listening on (\d+)", log.read_text(errors="replace"))):
        assert editor.poll() is None, log.read_text()
        assert time.monotonic() < end, log.read_text()
        time.sleep(_PAUSE)
    return found[1]


def test_it_starts_for_a_configuration(seen: dict[str, Any]) -> None:
    """The extension is active for a file of its language, and its findings are shown."""
    assert (seen["language"], seen["active"]) == ("nginx", True)
    assert {"gzip-level", "rewrite-literal-bulk"} <= set(seen["found"])


def test_a_list_is_compiled(seen: dict[str, Any]) -> None:
    """The lens is shown, the action runs, and nothing is wrong with the files before they are saved and after."""
    assert seen["lens"] == "a request tries 40 patterns here; compile: 0 at most"
    assert seen["title"].startswith("Compile the lists of this file")
    maps = re.findall(r"include (nxo_\w+\.conf);", seen["compiled"])
    assert len(maps) == 1
    assert "/old/39" in (seen["site"] / maps[0]).read_text()
    assert set(seen["unsaved"]) <= set(seen["found"])


def test_it_is_formatted_and_fixed(seen: dict[str, Any]) -> None:
    """Its commands for a document are the editor's own."""
    assert "gzip_comp_level 9;" in seen["formatted"]
    saved = (seen["site"] / "nginx.conf").read_text()
    assert "gzip_comp_level 9;" not in saved
    assert len(saved.splitlines()) == len(seen["compiled"].splitlines())


def test_it_restarts(seen: dict[str, Any]) -> None:
    """The command of the extension starts the server again."""
    assert seen["restarted"]
