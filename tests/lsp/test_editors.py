"""The settings of editors in docs/guide/editors.md: those for Neovim are run, the others read."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from nginxopt.lsp.server import make
from tests.lsp.editing import MAIN
from tests.lsp.test_neovim import NVIM
from tests.support import PATIENCE, ROOT

pytestmark = [pytest.mark.extended, pytest.mark.no_cover]

_PAGE = (ROOT / "docs" / "guide" / "editors.md").read_text()
_SCENE = """\
local function has()
  return #vim.diagnostic.get(0) > 0
end
vim.cmd('filetype on | edit nginx.conf')
print(vim.wait({patience}, has, 20) and 'diagnostics' or 'none')
for _, name in ipairs({ 'sites-available/www.example.com', 'sites-more/b', 'nginx/c.conf', 'd.conf.template' }) do
  vim.cmd('edit ' .. name)
  print(name .. ' is ' .. vim.bo.filetype)
end
print(#vim.lsp.get_active_clients() .. ' server')
vim.lsp.stop_client(vim.lsp.get_active_clients())
vim.cmd('qall!')
"""


def blocks(language: str) -> list[str]:
    """Return the fenced texts of a language on the page, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```$", _PAGE, re.DOTALL | re.MULTILINE)


@pytest.mark.slow
@pytest.mark.skipif(NVIM is None, reason="Neovim is not installed")
def test_the_settings_for_neovim_start_the_server(tmp_path: Path) -> None:
    """With the settings for older releases, Neovim shows diagnostics in an nginx.conf that it opens."""
    assert NVIM is not None
    (tmp_path / ".git").mkdir()
    (tmp_path / "nginx.conf").write_text(MAIN.replace("include", "gzip on; gzip_comp_level 9; #"))
    (tmp_path / "init.lua").write_text("\n".join(blocks("lua")[1:]))
    (tmp_path / "scene.lua").write_text(_SCENE.replace("{patience}", str(int(PATIENCE * 1000))))
    environment = {
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "HOME": str(tmp_path), "LANG": "C.UTF-8",
    }  # fmt: skip
    done = subprocess.run(
        [NVIM, "--headless", "-i", "NONE", "-n", "-u", "init.lua", "-c", "luafile scene.lua"],
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    said = done.stdout + done.stderr
    assert "diagnostics" in said
    assert re.findall(r"(\S+) is (\w*)", said) == [
        (name, "nginx")
        for name in ("sites-available/www.example.com", "sites-more/b", "nginx/c.conf", "d.conf.template")
    ]
    assert "1 server" in said


def test_the_settings_for_helix_and_json_are_valid() -> None:
    """The TOML and JSON on the page can be read, and start the command."""
    (helix,) = map(tomllib.loads, blocks("toml"))
    (name,) = helix["language"][0]["language-servers"]
    assert helix["language-server"][name] == {"command": "nginxopt", "args": ["lsp"]}
    code, zed = map(json.loads, blocks("json"))
    assert set(code) <= {"nginxopt.command", "nginxopt.arguments", "[nginx]"}
    (server,) = zed["lsp"].values()
    assert server["binary"]["arguments"] == ["lsp"]


def test_the_page_names_the_capabilities_of_the_server() -> None:
    """Each capability that the server has is on the page."""
    from nginxopt.lsp.preferences import Preferences

    features = make(Preferences()).protocol.fm.features
    requests = {name.partition("/")[2] for name in features if name.startswith("textDocument/") and "did" not in name}
    words = {
        "codeAction": "code actions", "codeLens": "code lens", "documentSymbol": "outline", "foldingRange": "folding",
        "prepareRename": "rename", "documentHighlight": "references",
        "semanticTokens/full": "semantic tokens", "semanticTokens/range": "semantic tokens",
    }  # fmt: skip
    table = _PAGE.partition("## What it does")[2].partition("\n\nA file is judged")[0]
    assert all(words.get(request, request) in table for request in requests)
