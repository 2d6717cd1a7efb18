"""Pipes and devices where a file is expected: a stranger's folder can have them, and nothing waits for them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import PATIENCE, ROOT

pytestmark = pytest.mark.no_cover

_CONFIG = "events {}\nhttp {\n    server {\n        listen 80;\n        location / { return 200; }\n    }\n}\n"
_LINE = '127.0.0.1 - - [01/Nov/2026:00:00:00 +0000] "GET / HTTP/1.1" 200 2 "-" "-"\n'

CALLS = {
    "lint --config": ("lint", "nginx.conf", "--config", "special"),
    "lint --baseline": ("lint", "nginx.conf", "--baseline", "special"),
    "lint": ("lint", "special"),
    "verify": ("verify", "nginx.conf", "special"),
    "test": ("test", "nginx.conf", "special"),
    "fleet report": ("fleet", "report", "special"),
    "ingress": ("ingress", "special"),
    "bench report": ("bench", "report", "special"),
}


def run(folder: Path, *words: str, shell: str = 'exec "$@"') -> subprocess.CompletedProcess[str]:
    """Run a command in a folder, with little memory, by a line of bash."""
    line = ["bash", "-c", f"ulimit -v 4000000; {shell}", "bash", sys.executable, "-m", "nginxopt", *words]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        line, cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False, env=environment
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a configuration."""
    (tmp_path / "nginx.conf").write_text(_CONFIG)
    return tmp_path


@pytest.mark.parametrize("call", CALLS)
def test_nothing_waits_for_a_pipe(folder: Path, call: str) -> None:
    """A pipe without a writer is an error."""
    os.mkfifo(folder / "special")
    ran = run(folder, *CALLS[call])
    assert (ran.returncode, "not a regular file" in ran.stderr + ran.stdout) == (3, True), ran.stderr


@pytest.mark.parametrize("call", [("profile", "nginx.conf"), ("trace", "nginx.conf", "--requests")])
@pytest.mark.parametrize("file", ["/dev/zero", "/proc/kmsg"])
def test_a_log_is_no_device(folder: Path, call: tuple[str, ...], file: str) -> None:
    """A link in place of a log that leads to a device, or to what the kernel makes, is an error; a pipe may be one."""
    (folder / "access.log").symlink_to(file)
    ran = run(folder, *call, "access.log")
    assert (ran.returncode, ran.stderr) == (3, "access.log: cannot be read: not a regular file\n")


@pytest.mark.parametrize("call", ["lint --config", "lint --baseline"])
def test_a_device_is_empty(folder: Path, call: str) -> None:
    """Of a link to an endless device nothing is read."""
    (folder / "special").symlink_to("/dev/zero")
    ran = run(folder, *CALLS[call])
    assert ran.returncode in (0, 1, 3), ran.stderr
    assert "memory" not in ran.stderr


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_maps_beside_rules(folder: Path, kind: str) -> None:
    """A file by the name of the maps that a command would write is left, whatever it is."""
    rules = "".join(f"rewrite ^/a{number}$ /b{number} permanent;\n" for number in range(9))
    (folder / "rules.conf").write_text(rules)
    maps = folder / "rules.conf.http"
    os.mkfifo(maps) if kind == "pipe" else maps.symlink_to("/dev/zero")
    ran = run(folder, "rewrite-to-map", "rules.conf", "--context", "server", "--write")
    assert (ran.returncode, "wrote" in ran.stderr) == (0, True), ran.stderr
    assert maps.is_fifo() or maps.is_symlink()


def test_all_lines_of_a_pipe_count(folder: Path) -> None:
    """A log may come from a command, of which nothing is lost by looking at what it is."""
    (folder / "access.log").write_text(_LINE * 3000)
    ran = run(folder, "profile", "nginx.conf", shell='exec "$@" <(cat access.log)')
    assert "3,000 requests" in ran.stdout, ran.stderr
