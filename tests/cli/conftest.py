"""Rules and configurations in a folder, and a function that runs a command there."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from nginxopt import cli
from tests.cli.compiling import CONFIG, RULES, Ran

for _name in cli._COMMANDS.values():  # one that is first imported while a test replaces something would keep that
    import_module(_name)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Any:
    """A function that runs a command in the temporary folder."""
    monkeypatch.chdir(tmp_path)

    def call(*args: str) -> Ran:
        with pytest.raises(SystemExit) as ended:
            cli.main(args)
        captured = capfdbinary.readouterr()
        assert isinstance(ended.value.code, int)
        return Ran(ended.value.code, captured.out, captured.err.decode())

    return call


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    """A file of rules."""
    path = tmp_path / "rules.conf"
    path.write_bytes(RULES)
    return path


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A whole configuration with an include."""
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "a.conf").write_bytes(b"rewrite ^/r1$ /t1 last;\r\nrewrite ^/r2$ /t2 last;\r\n")
    path = tmp_path / "nginx.conf"
    path.write_bytes(CONFIG)
    return path
