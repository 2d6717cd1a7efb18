"""Options that several commands take are declared once, and say the same in each of them."""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import click
import pytest

from nginxopt.cli import nginxopt, options
from nginxopt.errors import UsageError
from tests.rows import every_row

_PURPOSES = {
    "--assume", "--diff", "--explain", "--header", "--input-format", "--nginx", "--output", "--profile", "--rate",
    "--report", "--root", "--targets", "--verbose", "--workers",
}  # fmt: skip
"""What each command does with it is another thing, which its help says."""


def commands(group: click.Group, path: str = "") -> Iterator[tuple[str, click.Command]]:
    """Yield all commands, and those of commands, by the words that call them."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield f"{path}{name}", command
        if isinstance(command, click.Group):
            yield from commands(command, f"{path}{name} ")


def test_an_option_says_the_same_in_every_command() -> None:
    """An option of several commands has the same short form, placeholder and help in all of them."""
    forms: dict[str, dict[tuple[object, ...], list[str]]] = defaultdict(lambda: defaultdict(list))
    for name, command in commands(nginxopt):
        for option in command.params:
            if isinstance(option, click.Option):
                form = (tuple(option.opts), option.metavar, option.help)
                forms[max(option.opts, key=len)][form].append(name)
    assert len(forms["--format"]) == 1
    assert sum(map(len, forms["--format"].values())) >= 4
    assert {option: dict(of) for option, of in forms.items() if len(of) > 1 and option not in _PURPOSES} == {}


def test_every_option_for_a_path_refuses_an_empty_one() -> None:
    """An empty path is wrong usage, not an option that is not given; `--nginx` needs none."""
    number = 0
    for name, command in commands(nginxopt):
        for option in command.params:
            of_path = re.search(r"\A[^=]*(FILE|DIR|PATH|TABLE|RESULT)[^=]*\Z", getattr(option, "metavar", None) or "")
            if isinstance(option, click.Option) and of_path:
                empty = [""] if option.multiple else ""
                with pytest.raises(UsageError, match=f"{option.opts[0]} needs the name of a (file|directory)"):
                    option.type_cast_value(click.Context(command), empty)
                number += 1
            if "--nginx" in option.opts and option.metavar == "[PATH]":
                assert option.type_cast_value(click.Context(command), option.flag_value) == "", name  # type: ignore[attr-defined]
    assert number > 40


@pytest.mark.parametrize(
    "command",
    [
        "lint n.conf --output=",
        "lint n.conf --write-baseline=",
        "lint - --stdin-filename=",
        "lint n.conf --nginx=",
        "fleet lint n.conf --baseline=",
        "rewrite-to-map r.conf --report=",
        "bench rewrites --output=",
        "rules test ''",
        "lsp --config=",
    ],
)
def test_an_empty_path(run: Any, command: str) -> None:
    """It ends the command with status 2."""
    ran = run(*shlex.split(command))
    assert (ran.status, ran.out, "needs the name of a" in ran.err) == (2, b"", True)


@pytest.mark.parametrize(
    ("files", "nginx", "expected"),
    [
        (("a",), "/usr/sbin/nginx", (("a",), "/usr/sbin/nginx")),
        (("a",), "", (("a",), "")),
        ((), "a", (("a",), "")),
        ((), "", ((), "")),
        ((), None, ((), None)),
    ],
)
def test_a_file_behind_nginx_is_a_file(
    files: tuple[str, ...], nginx: str | None, expected: tuple[tuple[str, ...], str | None]
) -> None:
    """`--nginx FILE` without another FILE names what is read, not the binary."""
    assert options.without_its_path(files, nginx) == expected


def test_a_target_version_is_a_version() -> None:
    """Every command with --target-version refuses an invalid version."""

    @click.command
    @options.TARGET_VERSION
    def command(target_version: object) -> object:
        return target_version

    assert str(command.main(["--target-version", "1.22.1"], standalone_mode=False)) == "1.22.1"
    assert command.main([], standalone_mode=False) is None
    with pytest.raises(UsageError, match="latest"):
        command.main(["--target-version", "latest"], standalone_mode=False)


@every_row(
    ("arguments", "format_"),
    [
        ([], "text"),
        (["--output", "r.JSON"], "json"),
        (["--output", "r.html"], "text"),
        (["--format", "text", "--output", "r.json"], "text"),
        (["--output", "r.json", "--format", "text"], "text"),
        (["--output", "json"], "text"),
    ],
)
def test_a_suffix_names_the_format_of_a_file(arguments: list[str], format_: str) -> None:
    """Without --format, a report has the format that the suffix of its file names, if the command has that format."""
    seen: list[str] = []

    @click.command()
    @options.format_of(["text", "json"], "text")
    @options.OUTPUT
    def command(format_: str, output: str | None) -> None:
        assert (output is None) == (not arguments)
        seen.append(format_)

    command.main(arguments, standalone_mode=False)
    assert seen == [format_]
