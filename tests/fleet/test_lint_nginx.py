"""nginxopt fleet lint --nginx: workers, which are processes here, ask a real nginx about witnesses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from nginxopt.cli import nginxopt
from nginxopt.errors import MissingError
from tests.fleet.fleets import lint, rows, tree
from tests.support import the_nginx

pytestmark = pytest.mark.extended

TRAVERSAL = b"server { listen 80; location /files { alias /srv/files/; } }\n"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.nginx
def test_witnesses_are_confirmed_by_the_nginx_of_a_worker(tmp_path: Path) -> None:
    """Findings and notes are those of nginxopt lint --nginx, which name the nginx that was asked."""
    folder = tree(
        tmp_path / "hosts" / "web1", a=TRAVERSAL, b=b"server { listen 81; location /m { no_such_module on; } }\n"
    )
    tree(tmp_path / "hosts" / "web2", a=TRAVERSAL)
    path = the_nginx().path
    lint("hosts", "--nginx", path, "--workers", "1", "--select", "alias-traversal", status=1)
    witnesses = dict(rows("SELECT host, witness FROM host_findings"))
    assert witnesses["web2"].endswith(f" (confirmed by {the_nginx()})")
    options = ["--isolated", "--target-version", "1.22.1", "--select", "alias-traversal", "--nginx", path]
    command = ["lint", str(folder), *options, "--format", "json"]
    alone = json.loads(CliRunner().invoke(nginxopt, command, standalone_mode=False).output)
    notes = [note["message"] for note in alone["notes"]]
    assert any("unknown directive" in note for note in notes)
    web1 = "SELECT configuration FROM hosts WHERE host = 'web1'"
    assert [note for (note,) in rows(f"SELECT message FROM notes WHERE configuration = ({web1})")] == notes


@pytest.mark.slow
def test_without_nginx_the_run_ends(tmp_path: Path) -> None:
    """A worker that has no nginx at the path says so, and nothing is taken for asked."""
    tree(tmp_path / "hosts" / "web1", a=TRAVERSAL)
    error = lint("hosts", "--nginx", "/nowhere/nginx", "--workers", "1").exception
    assert isinstance(error, MissingError)
    assert "/nowhere/nginx" in error.message
    assert not (tmp_path / "fleet.duckdb").exists()
