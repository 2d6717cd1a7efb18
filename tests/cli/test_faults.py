"""A bug that one rule, list, file or host shows: the rest is judged and written, and the status says it."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from nginxopt import __version__, _native, faults
from nginxopt.cli import rewriting
from nginxopt.cli.rewrite_to_map import Call
from nginxopt.errors import DefectError, InputError, RuleError, UsageError, status_of
from nginxopt.lint.catalogue import catalogue
from nginxopt.lint.report import FORMATS
from nginxopt.rewrite import Options

CONF = b"""events {}
http {
  server_tokens on;
  gzip on;
  gzip_comp_level 9;
  server {
    listen 127.0.0.1:8080;
    location / { return 200; }
  }
}
"""

RULES = b"".join(b"rewrite ^/%d/old$ /%d/new permanent;\n" % (number, number) for number in range(9))
MAP = b"map $uri $%s {\n" + b"".join(b"  ~^/%d/(?<n>.*)$ /to/%d;\n" % (n, n) for n in range(40)) + b"}\n"


def panic(*_: object, **__: object) -> Any:
    """What the native core does if it has a bug."""
    _native.work_forever("the rows are in order")


def key_error(*_: object, **__: object) -> Any:
    """What Python code does if it has a bug."""
    raise KeyError("no such row")


@pytest.fixture(params=[panic, key_error], ids=["panic", "exception"])
def bug(request: pytest.FixtureRequest) -> Any:
    """A function that has a bug."""
    return request.param


@pytest.fixture
def conf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration with findings."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "nginx.conf"
    path.write_bytes(CONF)
    return path


@pytest.fixture
def broken(bug: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rule `gzip-level` has a bug."""
    monkeypatch.setitem(catalogue()["gzip-level"].__dict__, "check", bug)


@pytest.mark.usefixtures("broken")
@pytest.mark.parametrize("form", FORMATS)
def test_every_format_has_the_bug_and_what_other_rules_find(conf: Path, run: Any, form: str) -> None:
    """The error says what to report: the rule, what happened and where, and the version."""
    done = run("lint", "--isolated", "--select", "all", "--format", form, conf.name)
    text = done.out.decode()
    assert done.status == 70
    assert "internal-error: rule gzip-level failed" in text
    assert f"in nginxopt {__version__}" in text
    assert "server-tokens" in text or form == "junit"


@pytest.mark.usefixtures("broken")
def test_nothing_hides_a_bug(conf: Path, run: Any) -> None:
    """Comments, settings, a baseline and the least severity do not change the status, and no baseline is written."""
    conf.write_bytes(b"# nginxopt: ignore-file\n" + CONF)
    assert run("lint", "--isolated", "--write-baseline", "b.json", conf.name).status == 70
    assert not Path("b.json").exists()
    (conf.parent / "nginxopt.toml").write_text('ignore = ["server-tokens"]\n')
    assert run("lint", "--fail-on", "error", conf.name).status == 70


@pytest.mark.usefixtures("broken")
def test_the_fixes_of_other_rules_are_made(conf: Path, run: Any) -> None:
    """`--fix` writes them, and the status says that there is a bug."""
    conf.write_bytes(CONF.replace(b"server_tokens on;", b"tcp_nodelay off; sendfile off;"))
    done = run("lint", "--isolated", "--select", "all", "--fix", "--unsafe-fixes", conf.name)
    assert done.status == 70
    assert b"gzip_comp_level 9" in conf.read_bytes()
    assert conf.read_bytes() != CONF.replace(b"server_tokens on;", b"tcp_nodelay off; sendfile off;")


@pytest.mark.parametrize("command", ["format", "lint"])
def test_other_files_are_judged(conf: Path, run: Any, command: str, bug: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug that a file shows is its error."""
    (conf.parent / "other.conf").write_bytes(CONF.replace(b"  ", b" "))
    for module, name in (("nginxopt.cli.format", "edits"), ("nginxopt.config.inputs", "alone")):
        before = getattr(import_module(module), name)

        def fails(*args: Any, before: Any = before, **options: Any) -> Any:
            of = args[0].path if hasattr(args[0], "path") else args[1]
            return bug() if of == "nginx.conf" else before(*args, **options)

        monkeypatch.setattr(f"{module}.{name}", fails)
    done = run(command, "--isolated", *(["--check"] if command == "format" else []), "nginx.conf", "other.conf")
    said = done.out.decode() + done.err
    assert done.status == 70
    assert said.count("internal-error: ") == 1
    assert "other.conf" in said


def test_other_lists_become_lookups(conf: Path, run: Any, bug: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A map whose plan shows a bug stays as it is, and so do rewrites; the others are compiled and written."""
    before = _native.compile_map

    def fails(block: bytes, **options: Any) -> Any:
        return bug() if b"$first" in block else before(block, **options)

    monkeypatch.setattr(_native, "compile_map", fails)
    first, second = MAP % b"first", MAP % b"second"
    conf.write_bytes(CONF.replace(b"  gzip on;\n", first + second))
    done = run("rewrite-to-map", "--write", conf.name)
    assert done.status == 70
    assert "internal-error: planning the map $first failed" in done.err
    assert "nginx.conf:" in done.err
    assert "[internal-error]" in done.err
    assert first in conf.read_bytes()
    assert second not in conf.read_bytes()


@pytest.mark.parametrize("name", ["compile_rewrites", "prove_map"])
def test_what_shows_a_bug_stays(conf: Path, run: Any, name: str, bug: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written of a list whose plan or proof shows a bug."""
    monkeypatch.setattr(_native, name, bug)
    text = (
        CONF.replace(b"  gzip on;\n", MAP % b"a")
        if name == "prove_map"
        else CONF.replace(b"location", RULES + b"location")
    )
    conf.write_bytes(text)
    done = run("rewrite-to-map", "--write", conf.name)
    assert done.status == 70
    assert "internal-error: " in done.err
    assert conf.read_bytes() == text


def test_lint_says_that_planning_shows_a_bug(conf: Path, run: Any, bug: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rules that ask for the plan say nothing of that list, and the report does."""
    monkeypatch.setattr(_native, "compile_map", bug)
    conf.write_bytes(CONF.replace(b"gzip on;\n", MAP % b"a"))
    done = run("lint", "--isolated", "--select", "all", "--format", "json", conf.name)
    report = json.loads(done.out)
    assert done.status == 70
    assert [error["message"].split(" failed")[0] for error in report["errors"]] == [
        "internal-error: planning the map $a"
    ]
    assert report["errors"][0]["line"] == 4


def test_other_files_are_compiled(conf: Path, run: Any, bug: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With several files, a bug that one shows is no reason to leave the others."""
    before = rewriting.run

    def fails(call: Call, options: Options, named: set[str]) -> int:
        return bug() if call.file == "a.conf" else before(call, options, named)

    monkeypatch.setattr("nginxopt.cli.rewriting.run", fails)
    for name in ("a.conf", "b.conf"):
        (conf.parent / name).write_bytes(RULES)
    conf.unlink()
    done = run("rewrite-to-map", "--write", "a.conf", "b.conf")
    assert done.status == 70
    assert "internal-error: the file failed" in done.err
    assert (conf.parent / "a.conf").read_bytes() == RULES
    assert (conf.parent / "b.conf").read_bytes() != RULES


class Model:
    """The native model of a site with a bug that one path shows."""

    def __init__(self, bug: Any, *args: Any) -> None:
        self._bug, self._model = bug, _native.RequestModel(*args)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def answered(self, request: str, targets: list[tuple[bytes, int]], world: str) -> Any:
        """Answer, unless one asks for `/bug`."""
        return self._bug() if (b"/bug", 1) in targets else self._model.answered(request, targets, world)

    def tally(self, request: str, targets: list[tuple[bytes, int]], world: str, status: int | None) -> Any:
        """Count, unless one asks for `/bug`."""
        return self._bug() if (b"/bug", 1) in targets else self._model.tally(request, targets, world, status)


def test_other_requests_are_answered(conf: Path, run: Any, bug: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The request that shows the bug is unknown; all others are answered."""
    monkeypatch.setattr("nginxopt.request.model.RequestModel", lambda *args: Model(bug, *args))
    paths = ["/a", "/bug", *(f"/{number}" for number in range(9))]
    Path("table.csv").write_text("".join(f"{path},,200\n" for path in paths))
    Path("urls.txt").write_text("".join(f"{path}\n" for path in paths))
    tested = run("test", conf.name, "table.csv")
    assert tested.status == 70
    assert "internal-error: a request failed" in tested.err
    assert "10 passed" in tested.out.decode() + tested.err
    traced = run("trace", conf.name, "--requests", "urls.txt", "--format", "json")
    assert traced.status == 70
    assert "internal-error: a request failed" in traced.err
    outcomes = {each["kind"]: each["requests"] for each in json.loads(traced.out)["outcomes"]}
    assert outcomes == {"return": 10, "unknown": 1}
    assert "nginxopt has a bug that this request shows" in traced.out.decode()


def test_errors_of_users_and_signals_are_no_bugs() -> None:
    """They pass through, and without anybody who collects bugs, these do, too."""
    with faults.collecting() as errors:
        for raised in (InputError("no file"), UsageError("no option"), KeyboardInterrupt(), SystemExit(1)):
            with pytest.raises(type(raised)), faults.isolated("a rule"):
                raise raised
        with faults.isolated("a rule"):
            raise DefectError("not proved")
    assert [error.message.split(" at ")[0] for error in errors] == [
        "internal-error: a rule failed: DefectError: not proved"
    ]
    with pytest.raises(ValueError, match="7"), faults.isolated("a rule"):
        raise ValueError("7")
    assert status_of([InputError("x"), errors[0]]) == 70
    assert status_of([InputError("x"), RuleError("y")]) == 3


def test_a_panic_has_its_place() -> None:
    """The report names the file of the native core and the line."""
    with faults.collecting() as errors, faults.isolated("this map"):
        panic()
    begins = "internal-error: this map failed: panic: the rows are in order at rust/src/border/working.rs:"
    assert errors[0].message.startswith(begins)
