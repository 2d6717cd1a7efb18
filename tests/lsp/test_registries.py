"""The entries for registries of editors and runners (editors/): each is read as they do, and starts the command."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from nginxopt import __version__
from tests.lsp.editing import MAIN
from tests.lsp.test_neovim import NVIM
from tests.support import PATIENCE, ROOT

pytestmark = [pytest.mark.extended, pytest.mark.no_cover]

EDITORS = ROOT / "editors"
_SERVER = ["nginxopt", "lsp"]


def neovim(script: str, folder: Path) -> str:
    """Return what Neovim prints that runs a script of Vim."""
    if NVIM is None:
        pytest.skip("Neovim is not installed")
    (folder / "scene.vim").write_text(script)
    options = ["--headless", "-i", "NONE", "-n", "-u", "NONE", "-S", "scene.vim", "-c", "qall!"]
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8"}
    done = subprocess.run(
        [NVIM, *options], cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=PATIENCE, check=True,
    )  # fmt: skip
    return done.stdout + done.stderr


def test_nvim_lspconfig(tmp_path: Path) -> None:
    """The file returns the settings of a server, as `vim.lsp.config` takes them."""
    path = EDITORS / "nvim-lspconfig" / "lsp" / "nginxopt.lua"
    said = neovim(f"lua print(vim.fn.json_encode(dofile({json.dumps(str(path))})))", tmp_path)
    assert json.loads(said) == {
        "cmd": _SERVER,
        "filetypes": ["nginx"],
        "root_markers": ["nginxopt.toml", "nginx.conf", ".git"],
    }


def test_ale(tmp_path: Path) -> None:
    """The linter is defined, and finds the folder of the main file."""
    stubs = tmp_path / "autoload" / "ale"
    stubs.mkdir(parents=True)
    (tmp_path / "autoload" / "ale.vim").write_text(
        "function! ale#Set(name, value)\n let g:['ale_' . a:name] = a:value\nendfunction\n"
        "function! ale#Var(buffer, name)\n return g:['ale_' . a:name]\nendfunction\n"
    )
    (stubs / "linter.vim").write_text(
        "function! ale#linter#Define(type, linter)\n let g:found = a:linter\nendfunction\n"
    )
    (stubs / "path.vim").write_text(
        "function! ale#path#FindNearestFile(buffer, name)\n"
        " return findfile(a:name, expand('#' . a:buffer . ':p:h') . ';')\nendfunction\n"
        "function! ale#path#FindNearestDirectory(buffer, name)\n"
        " return finddir(a:name, expand('#' . a:buffer . ':p:h') . ';')\nendfunction\n"
    )
    (tmp_path / "conf.d").mkdir()
    (tmp_path / "nginx.conf").touch()
    asked = "g:found.lsp, g:found.executable(1), g:found.command, fnamemodify(g:found.project_root(1), ':p')"
    said = neovim(
        f"set runtimepath^={tmp_path},{EDITORS / 'ale'}\n"
        "edit conf.d/a.conf\nruntime ale_linters/nginx/nginxopt.vim\n"
        f"echo json_encode([{asked}])",
        tmp_path,
    )
    assert json.loads(said) == ["stdio", "nginxopt", "%e lsp", f"{tmp_path}/"]


def test_helix() -> None:
    """The server is that of the language."""
    settings = tomllib.loads((EDITORS / "helix" / "languages.toml").read_text())
    (language,) = settings["language"]
    (name,) = language["language-servers"]
    server = settings["language-server"][name]
    assert [server["command"], *server["args"]] == _SERVER


def test_zed() -> None:
    """The extension has what the registry asks for, and starts the server for the language of the extension `nginx`.

    `cargo check` accepts it (zed_extension_api 0.7); Zed itself builds it for WebAssembly.
    """
    extension = tomllib.loads((EDITORS / "zed" / "extension.toml").read_text())
    crate = tomllib.loads((EDITORS / "zed" / "Cargo.toml").read_text())
    assert {"id", "name", "description", "authors", "repository"} <= set(extension)
    assert extension["schema_version"] == 1
    assert extension["version"] == crate["package"]["version"] == __version__
    assert crate["lib"]["crate-type"] == ["cdylib"]
    assert (EDITORS / "zed" / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
    (server,) = extension["language_servers"]
    assert extension["language_servers"][server]["languages"] == ["Nginx"]
    source = (EDITORS / "zed" / "src" / "lib.rs").read_text()
    assert f'const SERVER: &str = "{server}";' in source
    assert [server, *re.findall(r'vec!\["(\w+)"', source)] == _SERVER


def test_mason() -> None:
    """The entry names the package with its extra, its version, and its command."""
    entry = read("mason", "package.yaml")
    assert entry["source"]["id"] == f"pkg:pypi/nginxopt@{__version__}?extra=lsp"
    assert entry["bin"] == {"nginxopt": "pypi:nginxopt"}
    assert set(entry["categories"]) == {"LSP", "Linter", "Formatter"}
    assert {"name", "description", "homepage", "licenses", "languages"} <= set(entry)
    assert entry["neovim"]["lspconfig"] == "nginxopt"


def test_trunk(tmp_path: Path) -> None:
    """The command writes SARIF for the files that are nginx's, and ends with one of the declared statuses."""
    entry = read("trunk", "plugin.yaml")["lint"]
    (definition,), (kind,) = entry["definitions"], entry["files"]
    assert definition["known_good_version"] == __version__
    assert any(re.fullmatch(f"(.*/)?{pattern}", "etc/sites-available/www.example.com") for pattern in kind["regexes"])
    (tmp_path / "nginx.conf").write_text(MAIN.replace("include", "gzip on; gzip_comp_level 9; #"))
    (command,) = definition["commands"]
    done = run(command["run"].replace("${target}", "nginx.conf"), tmp_path)
    assert done.returncode in command["success_codes"]
    (result,) = json.loads(done.stdout)["runs"]
    assert "gzip-level" in {found["ruleId"] for found in result["results"]}
    asked = definition["version_command"]
    pattern = asked["parse_regex"].replace("${semver}", r"\d+\.\d+\.\d+")
    assert re.match(pattern, run(asked["run"], tmp_path).stdout)


def read(*names: str) -> dict[str, Any]:
    """Return an entry in YAML."""
    entry: dict[str, Any] = yaml.safe_load(EDITORS.joinpath(*names).read_text())
    return entry


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command of nginxopt in a folder."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    return subprocess.run(
        command.split(), cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
