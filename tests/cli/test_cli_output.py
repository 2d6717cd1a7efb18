"""Output that cannot go where it should: every command says so, with a status of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from nginxopt import cli
from nginxopt.cli import rewriting
from nginxopt.errors import OutputError
from tests.rows import every_row
from tests.support import PATIENCE, ROOT

RULES = "fixtures/fec/redirects-sers.conf"
COMMANDS = [
    ["rewrite-to-map", RULES],
    ["rewrite-to-map", RULES, "--plan-only"],
    ["rewrite-to-map", RULES, "--diff", "-q"],
    ["rewrite-to-map", RULES, "--check", "--report", "-"],
    ["lint", "fixtures/slow-site/nginx.conf"],
    ["lint", "fixtures/slow-site/nginx.conf", "--diff"],
    ["lint", "fixtures/slow-site/nginx.conf", "--format", "sarif"],
    ["explain", "pcre-jit"],
    ["rules"],
    ["bench", "--help"],
    ["--help"],
    ["--version"],
]


def run(command: list[str], redirection: str) -> tuple[int, str]:
    """The exit status of a command with a redirection of the shell, and what it says on standard error."""
    line = ["sh", "-c", f'exec "$@" {redirection}', "sh", sys.executable, "-m", "nginxopt", *command]
    ended = subprocess.run(line, cwd=ROOT, capture_output=True, timeout=PATIENCE, check=False)
    return ended.returncode, ended.stderr.decode()


@pytest.mark.slow
@pytest.mark.no_cover
@every_row("command", COMMANDS, ids=" ".join)
def test_a_full_disk(command: list[str]) -> None:
    """What cannot be printed is told in one line; it is no defect."""
    message = "standard output cannot be written: No space left on device\n"
    assert run(command, "> /dev/full") == (OutputError.exit_code, message)


@pytest.mark.slow
@pytest.mark.no_cover
@every_row("command", COMMANDS, ids=" ".join)
def test_closed_output(command: list[str]) -> None:
    """A closed descriptor is told as well; nothing is lost without a word."""
    assert run(command, ">&-") == (OutputError.exit_code, "standard output is closed\n")


@pytest.mark.slow
@pytest.mark.no_cover
@every_row("command", COMMANDS, ids=" ".join)
def test_nobody_reads(command: list[str]) -> None:
    """A closed pipe ends a command in silence, as SIGPIPE does."""
    line = f"(sleep 0.1; {' '.join([sys.executable, '-m', 'nginxopt', *command])}; echo $? >&2) | true"
    ended = subprocess.run(["sh", "-c", line], cwd=ROOT, capture_output=True, timeout=PATIENCE, check=False)
    assert ended.stderr == b"141\n"


@pytest.mark.no_cover
@pytest.mark.parametrize(
    "command", [["lint", "-"], ["format", "-"], ["rewrite-to-map", "-"], ["lsp"], ["rules"]], ids=" ".join
)
def test_closed_input(command: list[str]) -> None:
    """A closed standard input is an empty one."""
    assert run(command, "<&-") == run(command, "< /dev/null")


@pytest.mark.no_cover
def test_no_file_takes_the_place_of_a_closed_stream() -> None:
    """Nothing that is printed gets into a file that was opened as standard output or error."""
    code = "import os; from nginxopt.cli import stdout; stdout.keep_descriptors()\n"
    code += "kept = [os.path.realpath(f'/proc/self/fd/{each}') for each in (0, 1, 2)]\n"
    code += "os.write(9, f'{kept} {open(os.devnull).fileno() > 2}'.encode())"
    line = ["sh", "-c", 'exec "$@" 9>&1 <&- >&- 2>&-', "sh", sys.executable, "-c", code]
    ended = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert ended.stdout == "['/dev/null', '/dev/null', '/dev/null'] True"


@pytest.mark.no_cover
def test_a_language_server_without_output() -> None:
    """It reports this as any command does, although it prints nothing itself."""
    assert run(["lsp"], "</dev/null >&-") == (OutputError.exit_code, "standard output is closed\n")


def test_messages_that_cannot_be_told(tmp_path: Path) -> None:
    """A full standard error is no defect, and what was to be written is written; a closed one is as quiet as -q."""
    rules = tmp_path / "rules.conf"
    for redirection, status in (("2> /dev/full", OutputError.exit_code), ("2>&-", 0)):
        rules.write_text("rewrite ^/a$ /b permanent;\n")
        assert run(["rewrite-to-map", str(rules), "--write"], redirection) == (status, "")
        assert "nxo_" in rules.read_text()


def test_output_that_fails_before_the_files(tmp_path: Path) -> None:
    """Where a report cannot be printed, nothing is written."""
    rules = tmp_path / "rules.conf"
    rules.write_text("rewrite ^/a$ /b permanent;\n")
    assert run(["rewrite-to-map", str(rules), "--write", "--report", "-"], "> /dev/full")[0] == OutputError.exit_code
    assert [path.name for path in tmp_path.iterdir()] == ["rules.conf"]
    assert rules.read_text() == "rewrite ^/a$ /b permanent;\n"


def test_a_panic_is_a_defect(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A panic of the native core, which is no Exception, ends with status 70 as any defect does, never with 1."""

    def panics(*_: object) -> int:
        raise panic()

    monkeypatch.setattr(rewriting, "run", panics)
    with pytest.raises(SystemExit) as ended:
        cli.main(["rewrite-to-map", RULES])
    assert ended.value.code == 70
    assert "This is a bug in nginxopt" in capsys.readouterr().err


def panic() -> BaseException:
    """What a panic is to Python: a class of its own below BaseException."""
    kind: type[BaseException] = type("PanicException", (BaseException,), {"__module__": "pyo3_runtime"})
    return kind("index out of bounds")
