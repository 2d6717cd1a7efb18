"""The budget `seconds` ends what a command does with a configuration, whatever it does."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nginxopt import budget
from nginxopt._native import work_forever
from nginxopt.errors import InputError
from tests.cli.compiling import Ran

SITE = "events {}\nhttp {\n    server {\n        listen 80;\n        server_name a.test;\n        %s\n    }\n}\n"
RULE = "rewrite ^/a$ /b last;"
TABLE = "from,to,status\nhttp://a.test/a,,200\n"
CASES = {
    "check": ("nginxopt.cli.check.refusals", ["check", "nginx.conf"]),
    "format": ("nginxopt.cli.format.edits", ["format", "--isolated", "nginx.conf"]),
    "lint": ("nginxopt.lint.check.lint", ["lint", "--isolated", "nginx.conf"]),
    "trace": ("nginxopt.cli.trace.trace", ["trace", "nginx.conf", "http://a.test/a"]),
    "trace: model": ("nginxopt.request.model.lower", ["trace", "nginx.conf", "http://a.test/a"]),
    "trace: requests": ("nginxopt.request.model.RequestModel", ["trace", "nginx.conf", "--requests", "urls.txt"]),
    "test": ("nginxopt.request.model.RequestModel", ["test", "nginx.conf", "table.csv"]),
    "test: record": ("nginxopt.request.model.RequestModel", ["test", "nginx.conf", "urls.txt", "--record"]),
    "verify": ("nginxopt.cli.verify.verify", ["verify", "nginx.conf", "nginx.conf"]),
    "verify: model": ("nginxopt.request.model.lower", ["verify", "nginx.conf", "nginx.conf"]),
    "rewrite-to-map: plan": ("nginxopt.cli.rewriting.plan", ["rewrite-to-map", "--plan-only", "nginx.conf"]),
    "rewrite-to-map: proof": ("nginxopt.rewrite.proving.prove", ["rewrite-to-map", "--write", "nginx.conf"]),
    "rewrite-to-map: table": ("nginxopt.rewrite.tables.prove", ["rewrite-to-map", "redirects.csv"]),
}
"""What never ends, and the command that does it."""


def endless(*_: Any, **__: Any) -> Any:
    """Work forever."""
    work_forever()


class EndlessModel:
    """A model that is made at once, and never answers."""

    def __init__(self, *_: Any) -> None:
        self.answered = self.answers = self.tally = endless


@pytest.mark.parametrize("name", CASES)
def test_work_without_an_end_is_an_error_of_the_file(
    name: str, run: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After its seconds the configuration is an error with its name, the status is 3, and nothing was written."""
    text = SITE % RULE
    (tmp_path / "nginx.conf").write_text(text)
    (tmp_path / "table.csv").write_text(TABLE)
    (tmp_path / "redirects.csv").write_text("/a,/b\n")
    (tmp_path / "urls.txt").write_text("http://a.test/a\n")
    what, command = CASES[name]
    monkeypatch.setenv(budget.VARIABLE, "seconds=1")
    monkeypatch.setattr(what, EndlessModel if what.endswith("RequestModel") else endless)
    ran = run(*command)
    assert ran.status == 3, ran.err
    told = (ran.err + ran.out.decode()).replace(": error too large", ": too large")
    assert f"{'redirects.csv' if 'table' in name else 'nginx.conf'}: too large" in told, ran
    assert "more than 1 seconds for one file or host (budget seconds)" in told, ran
    assert (tmp_path / "nginx.conf").read_text() == text


@pytest.mark.parametrize("twin", [copy.copy, lambda error: pickle.loads(pickle.dumps(error))])
def test_errors_are_copied_whole(twin: Callable[[InputError], InputError]) -> None:
    """An error has a twin with all that it says, whatever its constructor takes: reports and workers need one."""
    for error in (budget.ExceededError("bytes", 7, path="a.conf"), InputError("no", path="a", hint="yes", below=["b"])):
        error.expected = "c"
        assert twin(error).render() == error.render()
        assert twin(error).args == error.args
        assert type(twin(error)) is type(error)


def test_a_report_tells_of_a_budget(run: Callable[..., Ran], tmp_path: Path) -> None:
    """A file beyond a budget is an error in the report of `lint`, not a bug."""
    (tmp_path / "huge.conf").touch()
    with (tmp_path / "huge.conf").open("wb") as file:
        file.truncate(1 << 34)
    (tmp_path / "nginx.conf").write_text("include huge.conf;\nevents {}\n")
    for format_ in ("text", "sarif", "json"):
        ran = run("lint", "--isolated", "--format", format_, "nginx.conf")
        assert ran.status == 3, ran.err
        assert b"budget bytes" in ran.out + ran.err.encode()
