"""Options that several commands take are declared once, and say the same in each of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import click
import pytest

from nginxopt.cli import nginxopt, options
from nginxopt.errors import UsageError

_PURPOSES = {"--nginx", "--diff", "--assume", "--output", "--verbose"}
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
