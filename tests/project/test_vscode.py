"""The extension for Visual Studio Code: its manifest fits its code, and it can be built and packaged."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from nginxopt import __version__
from tests import npm
from tests.support import ROOT

EXTENSION = ROOT / "editors" / "vscode"
MANIFEST: dict[str, Any] = json.loads((EXTENSION / "package.json").read_text())
CODE = (EXTENSION / "src" / "extension.ts").read_text()

pytestmark = [pytest.mark.extended, pytest.mark.no_cover]  # runs nothing of the package


def test_the_extension_has_the_version_of_the_package() -> None:
    """Package and extension are released together."""
    lock = json.loads((EXTENSION / "package-lock.json").read_text())
    assert MANIFEST["version"] == lock["version"] == __version__


def test_settings_and_commands_are_those_of_the_code() -> None:
    """Each setting that the code reads is declared, and each declared one is read, by it or by the client's library."""
    declared = set(MANIFEST["contributes"]["configuration"]["properties"])
    read = {f"nginxopt.{name}" for name in re.findall(r'settings\.get<[^>]+>\("(\w+)"', CODE)}
    assert declared == read | {"nginxopt.trace.server"}
    commands = {command["command"] for command in MANIFEST["contributes"]["commands"]}
    assert commands == {f"nginxopt.{name}" for name in re.findall(r"registerCommand\(`\$\{SECTION\}\.(\w+)`", CODE)}


def test_defaults_are_the_same_in_manifest_and_code() -> None:
    """What the code takes without a setting is what the manifest shows."""
    properties = MANIFEST["contributes"]["configuration"]["properties"]
    for name, default in re.findall(r'settings\.get<[^>]+>\("(\w+)", ([^)]+)\)', CODE):
        assert properties[f"nginxopt.{name}"]["default"] == json.loads(default)


def test_nothing_of_a_workspace_runs_unasked() -> None:
    """In a workspace that is not trusted, the server is not started: settings may name rules, which run."""
    assert MANIFEST["capabilities"]["untrustedWorkspaces"]["supported"] is False


def test_the_oldest_editor_has_the_interface_that_is_compiled_against() -> None:
    """Types of a newer editor would allow calls that an older one does not have."""
    assert MANIFEST["engines"]["vscode"] == "^" + MANIFEST["devDependencies"]["@types/vscode"]


def test_files_that_are_named_exist_and_are_valid() -> None:
    """The grammar and the language configuration are there, and the grammar includes only patterns that it has."""
    contributes = MANIFEST["contributes"]
    (language,), (grammar,) = contributes["languages"], contributes["grammars"]
    assert json.loads((EXTENSION / language["configuration"]).read_text())["comments"] == {"lineComment": "#"}
    text = (EXTENSION / grammar["path"]).read_text()
    rules = json.loads(text)
    assert rules["scopeName"] == grammar["scopeName"]
    assert grammar["language"] == language["id"] == "nginx"
    assert set(re.findall(r'"include": "#(\w+)"', text)) <= set(rules["repository"])


def test_the_page_of_the_extension_names_its_settings() -> None:
    """The table on its page has every setting."""
    page = (EXTENSION / "README.md").read_text()
    assert all(f"`{name}`" in page for name in MANIFEST["contributes"]["configuration"]["properties"])


@pytest.mark.slow
def test_it_is_built_and_packaged(tmp_path: Path) -> None:
    """From a clean copy, the extension compiles, and its package has all that it needs and nothing else."""
    names = set(zipfile.ZipFile(package(tmp_path / "vscode")).namelist())
    files = ("package.json", "dist/extension.js", "dist/LICENSES.txt", "language-configuration.json")
    assert {f"extension/{name}" for name in (*files, "nginx.tmLanguage.json", "LICENSE.txt")} <= names
    assert not [name for name in names if "node_modules" in name or name.endswith(".ts")]


def package(folder: Path) -> Path:
    """Return the package that is built of these very files by this node: of an earlier run, or now in the folder."""
    npm.need()
    shutil.copytree(EXTENSION, folder, ignore=shutil.ignore_patterns("node_modules", "dist", "*.vsix"))
    built = ROOT / "build" / "vscode" / _digest(folder) / "nginxopt.vsix"
    if not built.exists():
        _build(folder)
        shutil.rmtree(built.parents[1], ignore_errors=True)
        built.parent.mkdir(parents=True)
        new = built.with_suffix(".new")
        shutil.copy(folder / built.name, new)
        new.replace(built)
    return built


def _digest(folder: Path) -> str:
    """Return a digest of the files of a folder, their names, and the version of node."""
    digest = hashlib.sha256(subprocess.run(["node", "--version"], capture_output=True, check=True).stdout)
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(f"\0{path.relative_to(folder)}\0{path.stat().st_size}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def _build(folder: Path) -> None:
    npm.install(folder)
    packaged = npm.run(folder, "run", "package")
    assert packaged.returncode == 0, packaged.stdout + packaged.stderr
