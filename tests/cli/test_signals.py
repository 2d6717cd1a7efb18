"""Ctrl-C and SIGTERM end every command soon, whatever it is doing, and leave nothing behind."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support import PATIENCE, ended

RULES = b"rewrite ^/a/(.*)$ /b/$1 last;\n" * 3
CONF = b"events {}\nhttp {\n  server {\n    listen 127.0.0.1:8080;\n    include rules.conf;\n  }\n}\n"

RULE = '''"""This host is asked about

## Why it matters
Tests of signals.

## Bad
```nginx
events {}
```
"""

import itertools
from pathlib import Path

from nginxopt import _native
from nginxopt.lint import Severity, rule


@rule(severity=Severity.INFO, category="config")
def check(model):
    """Never ends."""
    Path(__file__).with_name("begun").touch()
    %s
    return iter(())
'''

WORKS = {
    "native": "_native.work_forever()",
    "library": "sum(itertools.repeat(1))",  # one call that holds the lock of the interpreter
    "python": "[0 for number in itertools.count() if number < 0]",
}

PATCHED = """
from nginxopt import _native, cli
for name in ("compile_rewrites", "prove_rewrites"):
    if name == %r:
        setattr(_native, name, lambda *_, **__: _native.work_forever())
cli.main()
"""
"""A command in which one function of the native core does not end."""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with a configuration, settings that name a folder of rules, and room for temporary files."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site/nginx.conf").write_bytes(CONF)
    (tmp_path / "site/rules.conf").write_bytes(RULES)
    (tmp_path / "nginxopt.toml").write_text('rules = ["own"]\nselect = ["acme-endless"]\n')
    for folder in ("own", "temporary"):
        (tmp_path / folder).mkdir()
    return tmp_path


def endless(site: Path, work: str) -> None:
    """Give the settings a rule that does not end."""
    (site / "own/acme_endless.py").write_text(RULE % WORKS[work])


@contextmanager
def begun(site: Path, *command: str, stdin: int = subprocess.DEVNULL) -> Iterator[subprocess.Popen[str]]:
    """Start a command."""
    environment = {**os.environ, "TMPDIR": str(site / "temporary")}
    pipe = subprocess.PIPE
    started = subprocess.Popen(
        [sys.executable, *command], cwd=site, env=environment, stdin=stdin, stdout=pipe, stderr=pipe, text=True
    )
    with ended(started) as process:
        yield process


def until(process: subprocess.Popen[str], test: Callable[[], bool]) -> None:
    """Wait until something is the case of a process that runs."""
    deadline = time.monotonic() + PATIENCE
    while not test():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)


def works(process: subprocess.Popen[str]) -> bool:
    """Whether a thread of the native core works for a process."""
    names = Path(f"/proc/{process.pid}/task").glob("*/comm")
    return any(name.read_text().strip() == "nginxopt-work" for name in names)


def texts(folder: Path) -> dict[str, bytes]:
    """Return the content of all files in a folder."""
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


NUMBERS = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)


@NUMBERS
@pytest.mark.parametrize("work", WORKS)
def test_a_command_ends_whatever_it_does(site: Path, work: str, number: signal.Signals) -> None:
    """Native code, a library that holds the lock of the interpreter, and Python code are left."""
    endless(site, work)
    with begun(site, "-m", "nginxopt", "lint", "--rules", "site/nginx.conf") as process:
        until(process, (site / "own/begun").exists)
        until(process, lambda: works(process) or work != "native")
        process.send_signal(number)
        process.communicate(timeout=PATIENCE)
        assert process.returncode == 128 + number


@NUMBERS
@pytest.mark.parametrize("name", ["compile_rewrites", "prove_rewrites"])
def test_planning_and_proving_are_left_and_nothing_is_written(site: Path, name: str, number: signal.Signals) -> None:
    """The files are as they were, with nothing beside them."""
    before = texts(site / "site")
    with begun(site, "-c", PATCHED % name, "rewrite-to-map", "--write", "site/nginx.conf") as process:
        until(process, lambda: works(process))
        process.send_signal(number)
        said = process.communicate(timeout=PATIENCE)[1]
        assert process.returncode == 128 + number
    assert ("interrupted" in said) == (number == signal.SIGINT)
    assert "Traceback" not in said
    assert texts(site / "site") == before


@NUMBERS
def test_temporary_folders_are_removed(site: Path, number: signal.Signals) -> None:
    """What was written for the time of the command goes, too."""
    endless(site, "native")
    git = ["git", "-c", "user.name=n", "-c", "user.email=n@example.com"]
    for words in (["init", "-q"], ["add", "site"], ["commit", "-qm", "start"]):
        subprocess.run([*git, *words], cwd=site, check=True)
    with begun(site, "-m", "nginxopt", "lint", "--rules", "--diff-base", "HEAD", "site/nginx.conf") as process:
        until(process, lambda: works(process))
        process.send_signal(number)
        process.communicate(timeout=PATIENCE)
        assert process.returncode == 128 + number
    assert list((site / "temporary").iterdir()) == []


SERVER = """
from nginxopt import cli
from nginxopt.system import interrupts
interrupts.watch = lambda: None
cli.main()
"""
"""A command that no thread of the native core ends after a signal."""


@contextmanager
def serving(site: Path, text: str, *command: str) -> Iterator[subprocess.Popen[str]]:
    """Start a language server, and open a document."""
    pytest.importorskip("pygls", reason="the extra lsp is not installed")
    uri = (site / "site/nginx.conf").as_uri()
    document = {"uri": uri, "languageId": "nginx", "version": 1, "text": text}
    root: dict[str, object] = {"processId": None, "rootUri": site.as_uri(), "capabilities": {}}
    messages: list[dict[str, object]] = [
        {"id": 1, "method": "initialize", "params": root},
        {"method": "initialized", "params": {}},
        {"method": "textDocument/didOpen", "params": {"textDocument": document}},
    ]
    with begun(site, *command, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        for message in messages:
            sent = json.dumps({"jsonrpc": "2.0", **message})
            process.stdin.write(f"Content-Length: {len(sent)}\r\n\r\n{sent}")
            process.stdin.flush()
        yield process


def processor_time(process: subprocess.Popen[str]) -> float:
    """Return the processor time that a running process has taken, in seconds."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@NUMBERS
def test_a_language_server_ends_while_it_checks(site: Path, number: signal.Signals) -> None:
    """Nobody waits for its checks, nor for the thread that reads what the editor writes."""
    endless(site, "native")
    (site / "nginxopt.toml").write_text('rules = ["own"]\nselect = ["acme-endless"]\n')
    with serving(site, CONF.decode(), "-c", SERVER, "lsp", "--rules") as process:
        until(process, lambda: works(process))
        process.send_signal(number)
        process.wait(timeout=PATIENCE)
        assert process.returncode == 128 + number


@NUMBERS
def test_a_language_server_ends_while_it_plans(site: Path, number: signal.Signals) -> None:
    """Of a large list, which it plans on all processors, it does no more than a second of work."""
    (site / "nginxopt.toml").write_text('select = ["rewrite-literal-bulk"]\n')
    rules = "".join(f"rewrite ^/{number}/(.*)/x{number}$ /to/{number}/$1 permanent;\n" for number in range(20_000))
    text = CONF.decode().replace("include rules.conf;", rules)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with serving(site, text, "-m", "nginxopt", "lsp") as process:
        until(process, lambda: works(process))
        done = processor_time(process)
        process.send_signal(number)
        process.wait(timeout=PATIENCE)
        assert process.returncode == 128 + number
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    all_done = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert all_done - done < 1
