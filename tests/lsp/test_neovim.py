"""A real editor: Neovim, without its windows, starts the server, shows its diagnostics, and applies a fix."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from nginxopt.config import load
from tests.lsp.editing import MAIN, SITE
from tests.lsp.session import COMMAND
from tests.support import PATIENCE

NVIM = shutil.which("nvim")

pytestmark = [
    pytest.mark.extended,
    pytest.mark.no_cover,
    pytest.mark.skipif(NVIM is None, reason="Neovim is not installed"),
]

_SCENE = """\
local patience, command, folder = ...
local log = {}
local function until_so(what, condition)
  log[#log + 1] = { what, vim.wait(patience, condition, 20) }
end
local function codes()
  local found = {}
  for _, diagnostic in ipairs(vim.diagnostic.get(0)) do
    found[diagnostic.code or ''] = diagnostic
  end
  return found
end
local function at(row, column)
  vim.api.nvim_win_set_cursor(0, { row, column })
end

vim.cmd('edit nginx.conf')
local id = vim.lsp.start_client({ cmd = command, root_dir = folder })
vim.lsp.buf_attach_client(0, id)
until_so('diagnostics', function() return codes()['gzip-level'] end)
local shown = codes()['gzip-level']

vim.api.nvim_buf_set_lines(0, 0, 0, false, { '# caf\\u{e9} \\u{1F600}', 'worker_rlimit_nofile 1' })
until_so('unfinished', function() return codes()['syntax-error'] or codes()['wrong-arguments'] end)
vim.api.nvim_buf_set_lines(0, 0, 2, false, {})
until_so('finished', function() return codes()['gzip-level'] and not codes()['wrong-arguments'] end)

at(shown.lnum + 1, shown.col)
vim.ui.select = function(actions, _, choose) choose(actions[1], 1) end
local only = { only = { 'source.fixAll' } }
vim.lsp.buf.code_action(vim.fn.has('nvim-0.8') == 1 and { context = only } or only)
until_so('fixed', function() return not codes()['gzip-level'] end)

local text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n')
local pass = text:find('http://app')
local before = text:sub(1, pass)
local _, row = before:gsub('\\n', '')
local where = vim.lsp.util.make_position_params(0, 'utf-16')
where.position = { line = row, character = #before:match('[^\\n]*$') + 7 }
local hover = vim.lsp.buf_request_sync(0, 'textDocument/hover', where, patience)
local definition = vim.lsp.buf_request_sync(0, 'textDocument/definition', where, patience)
local file = io.open('result.json', 'w')
file:write(vim.fn.json_encode({
  log = log,
  shown = { shown.lnum, shown.message },
  text = text,
  hover = hover[id].result.contents.value,
  definition = definition[id].result[1].range.start.line,
  messages = vim.fn.execute('messages'),
}))
file:close()
vim.lsp.stop_client(id)
vim.cmd('qall!')
"""


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What Neovim has seen."""
    folder = tmp_path_factory.mktemp("site")
    (folder / ".git").mkdir()
    (folder / "nginx.conf").write_text(_TEXT)
    (folder / "scene.lua").write_text(_SCENE)
    command = "{" + ", ".join(json.dumps(word) for word in COMMAND) + "}"
    call = f"loadfile('scene.lua')({int(PATIENCE * 1000)}, {command}, {json.dumps(str(folder))})"
    done = _neovim(folder, f"lua {call}")
    assert (folder / "result.json").exists(), done.stdout + done.stderr
    read: dict[str, Any] = json.loads((folder / "result.json").read_text())
    return read


_TEXT = MAIN.replace("    include conf.d/*.conf;\n", "    gzip on;\n    gzip_comp_level 9;\n" + SITE)


def _neovim(folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    assert NVIM is not None
    options = ("--headless", "-u", "NONE", "-i", "NONE", "-n")
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "XDG_STATE_HOME": str(folder), "LANG": "C.UTF-8"}
    return subprocess.run(
        [NVIM, *options, "-c", command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


@pytest.mark.slow
def test_neovim_sees_what_happens(result: dict[str, Any]) -> None:
    """Diagnostics come, follow unfinished text, and go with the fix."""
    assert result["log"] == [[step, True] for step in ("diagnostics", "unfinished", "finished", "fixed")], result
    line, message = result["shown"]
    assert _TEXT.splitlines()[line].strip() == "gzip_comp_level 9;"
    assert "gzip" in message


def test_neovim_applies_the_fixes(result: dict[str, Any]) -> None:
    """The text has the fix of the finding, and the rest as it was."""
    assert "gzip_comp_level 9" not in result["text"]
    assert result["text"].endswith(SITE.rstrip() + "\n}")


def test_neovim_finds_the_definition(result: dict[str, Any]) -> None:
    """The upstream of a pass is explained, and found where it is defined."""
    assert "upstream app { server 192.0.2.1:8080; }" in result["hover"]
    assert "upstream app" in result["text"].splitlines()[result["definition"]]


_COMPILING = """\
local patience, command, folder = ...
vim.cmd('edit nginx.conf')
local id = vim.lsp.start_client({ cmd = command, root_dir = folder })
vim.lsp.buf_attach_client(0, id)
vim.wait(patience, function()
  local client = vim.lsp.get_client_by_id(id)
  return client and client.server_capabilities and client.server_capabilities.codeLensProvider
end, 20)
local text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n')
local _, row = text:sub(1, text:find('rewrite')):gsub('\\n', '')
vim.lsp.codelens.refresh()
vim.wait(patience, function() return #vim.lsp.codelens.get(0) > 0 end, 20)
local lens = vim.lsp.codelens.get(0)[1]
vim.api.nvim_win_set_cursor(0, { row + 1, 0 })
vim.lsp.codelens.run()
vim.wait(patience, function() return vim.fn.execute('messages'):find('proved') end, 20)
vim.cmd('silent wall!')
local file = io.open('result.json', 'w')
file:write(vim.fn.json_encode({ title = lens.command.title, row = lens.range.start.line - row }))
file:close()
vim.lsp.stop_client(id)
vim.cmd('qall!')
"""


@pytest.mark.slow
def test_neovim_compiles_a_list(tmp_path: Path) -> None:
    """Neovim shows the lens, runs it, and saves the maps and the changed text, as `rewrite-to-map` writes them."""
    from nginxopt.rewrite import Options, emit, plan

    rules = "".join(f"        rewrite ^/old/{number}$ /new/{number} permanent;\n" for number in range(40))
    text = f"events {{}}\nhttp {{\n    server {{\n        listen 80;\n{rules}    }}\n}}\n"
    (tmp_path / ".git").mkdir()
    (tmp_path / "nginx.conf").write_text(text)
    emission = emit(plan(load(str(tmp_path / "nginx.conf")), Options(groups=True, in_place=True)))
    assert emission.maps_path is not None
    (tmp_path / "scene.lua").write_text(_COMPILING)
    command = "{" + ", ".join(json.dumps(word) for word in COMMAND) + "}"
    call = f"loadfile('scene.lua')({int(PATIENCE * 1000)}, {command}, {json.dumps(str(tmp_path))})"
    done = _neovim(tmp_path, f"lua {call}")
    assert (tmp_path / "result.json").exists(), done.stdout + done.stderr
    result = json.loads((tmp_path / "result.json").read_text())
    assert result == {"title": "a request tries 40 patterns here; compile: 0 at most", "row": 0}
    (change,) = emission.changes
    assert (tmp_path / "nginx.conf").read_bytes() == change.after
    # Into a new file, Neovim puts text before an empty line.
    assert Path(emission.maps_path).read_bytes() == emission.maps + b"\n"
