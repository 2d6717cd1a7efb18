"""The completions that a shell gets for each kind of parameter; `tests/project/test_man.py` asks the shells."""

from __future__ import annotations

import click
import pytest
from click.shell_completion import CompletionItem, ShellComplete

from nginxopt.cli import nginxopt
from nginxopt.cli.completion import SHELLS, VARIABLE, script
from tests.rows import every_row


def completions(*words: str) -> list[CompletionItem]:
    """What completes the last of the words behind `nginxopt`."""
    return ShellComplete(nginxopt, {}, "nginxopt", VARIABLE).get_completions(list(words[:-1]), words[-1])


@every_row(
    "words",
    [
        ("lint", "ngi"),
        ("lint", "--baseline", ""),
        ("format", ""),
        ("verify", "old.conf", "n"),
        ("rewrite-to-map", "-o", "x"),
        ("rules", "test", "n"),
        ("rules", "new", "--folder", "n"),
    ],
)
def test_names_of_files(words: tuple[str, ...]) -> None:
    """Where a file or folder is expected, the shell completes names of files."""
    assert [(item.type, item.value) for item in completions(*words)] == [("file", words[-1])]


def test_rules_and_premises() -> None:
    """`explain` is completed with ids of rules and names of premises, and their titles."""
    items = {item.value: item.help for item in completions("explain", "http1")}
    assert set(items) == {"http11-backends"}
    assert [item.value for item in completions("explain", "gzip-l")] == ["gzip-level"]
    assert all(item.help for item in completions("explain", ""))


def test_other_values_are_not_files() -> None:
    """Names, versions and numbers are nothing that a shell knows."""
    for option in ("--select", "--target-version", "--assume"):
        assert [item.type for item in completions("lint", option, "x")] == []


@pytest.mark.parametrize("shell", SHELLS)
def test_scripts_call_nginxopt(shell: str) -> None:
    """The script of a shell asks nginxopt, in the words of that shell."""
    text = script(shell, nginxopt)
    assert f"{VARIABLE}={shell}_complete" in text
    assert text.endswith("\n")


def test_a_command_line_is_not_changed() -> None:
    """Without a shell that asks, parameters are as they were declared."""
    context = click.Context(nginxopt)
    command = nginxopt.get_command(context, "probe")
    assert command is not None
    assert {parameter.type.name for parameter in command.params} <= {
        "text",
        "boolean",
        "choice",
        "float",
        "integer",
        "float range",
        "integer range",
    }
