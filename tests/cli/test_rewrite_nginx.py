"""`rewrite-to-map --nginx`: a real nginx is asked before anything is written."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.compiling import MISSING, RULES
from tests.schemas import validate
from tests.support import the_nginx


@pytest.mark.nginx
def test_nginx_is_asked(run: Any, rules: Path, tmp_path: Path) -> None:
    """--nginx asks a real nginx, with or without a path, and the report has its figures."""
    ran = run("rewrite-to-map", "--nginx", rules.name, "-o", "out", "--report", "report.json")
    assert ran.status == 0
    assert "requests, no difference" in ran.err
    report = json.loads((tmp_path / "report.json").read_bytes())
    validate(report, "rewrite-report")
    assert report["nginx"]["requests"] > 100
    assert report["nginx"]["mismatches"] == 0


@pytest.mark.nginx
def test_a_terminal_shows_which_nginx_is_asked(rules: Path) -> None:
    """The progress names the binary as people do: `nginx 1.22.1`."""
    terminal, stderr = os.openpty()
    command = [sys.executable, "-m", "nginxopt", "rewrite-to-map", str(rules), "--check", "--nginx"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=stderr) as process:
        os.close(stderr)
        shown = b"".join(iter(lambda: _read_terminal(terminal), b"")).decode()
    os.close(terminal)
    assert process.returncode == 1
    assert f"asking {the_nginx()}" in shown
    assert re.search(r"asking nginx \d+\.\d+\.\d+ ", shown), shown


def _read_terminal(terminal: int) -> bytes:
    """What a program has written to a terminal; nothing once it has ended, which Linux calls an error."""
    try:
        return os.read(terminal, 4096)
    except OSError:
        return b""


@pytest.mark.nginx
def test_nginx_is_asked_about_a_configuration(run: Any, config: Path) -> None:
    """Each run of a whole configuration is asked about."""
    ran = run("rewrite-to-map", config.name, "--check", "--nginx")
    assert ran.status == 1
    assert "requests, no difference" in ran.err


@pytest.mark.nginx
def test_a_differing_nginx_stops_everything(run: Any, rules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a real nginx answers differently: status 70, the request is shown, and nothing is written."""
    from nginxopt.rewrite.kinds.rules import differential

    real = differential.differential

    def damaged(*, after: bytes, **rest: Any) -> Any:
        return real(after=after.replace(b" permanent;", b" redirect;"), **rest)

    monkeypatch.setattr(differential, "differential", damaged)
    ran = run("rewrite-to-map", rules.name, "--write", "--nginx")
    assert ran.status == 70
    assert "nginx responds differently" in ran.err
    assert rules.read_bytes() == RULES


@pytest.mark.nginx
def test_nginx_is_asked_about_rules_beside_a_missing_include(run: Any, tmp_path: Path, rules: Path) -> None:
    """The runs are asked by themselves; nginx -t is not, as it refuses the configuration as it is."""
    (tmp_path / "nginx.conf").write_bytes(MISSING)
    ran = run("rewrite-to-map", "nginx.conf", "--check", "--nginx")
    assert ran.status == 1
    assert "requests, no difference" in ran.err
    assert "not tried with nginx -t, which refuses a configuration with missing files" in ran.err
    rules.write_bytes(RULES + b"include part.conf;\n")
    ran = run("rewrite-to-map", rules.name, "-o", "out", "--nginx")
    assert (ran.status, "requests, no difference" in ran.err) == (0, True)
