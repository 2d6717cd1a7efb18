"""The options that several commands share, each declared once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from nginxopt.errors import UsageError

if TYPE_CHECKING:
    from nginxopt.version import Version

_Function = TypeVar("_Function", bound=Callable[..., Any])
Option = Callable[[_Function], _Function]


class Seconds(click.FloatRange):
    """Seconds from a minimum to a maximum. NaN is refused, which click takes for a number inside of any range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the seconds of a value. Raises `click.BadParameter` for what is none, or out of range."""
        seconds: float = super().convert(value, param, ctx)
        if math.isnan(seconds):
            self.fail(f"{value!r} is not a valid float range.", param, ctx)
        return seconds


def version(_context: click.Context, _parameter: click.Parameter, text: str | None) -> Version | None:
    """Return the version that an option names."""
    from nginxopt.version import Version

    return None if text is None else Version.parse(text)


def directory(_context: click.Context, parameter: click.Parameter, name: str | None) -> str | None:
    """Return the name of a directory to write. Raises `UsageError` for an empty one: the working directory is `.`."""
    if name == "":
        raise UsageError(f"{parameter.opts[0]} needs the name of a directory")
    return name


CONTEXT = click.option("--context", metavar="CONTEXT", help="Context of a fragment, such as http, server or location.")
PREFIX = click.option("-p", "--prefix", metavar="DIR", help="Directory of relative includes, like nginx -p.")
MAIN = click.option("-c", "--main", metavar="FILE", help="Main configuration that includes each FILE, like nginx -c.")
TARGET_VERSION = click.option(
    "--target-version", metavar="VERSION", callback=version, help="Target nginx version, such as 1.22.1."
)
OUTPUT = click.option("--output", metavar="FILE", help="Write the report to FILE.")
STDIN_FILENAME = click.option("--stdin-filename", metavar="NAME", help="File name to report for standard input.")
CONFIG = click.option("--config", metavar="FILE", help="Read settings from FILE instead of searching for them.")
ISOLATED = click.option("--isolated", is_flag=True, help="Ignore all settings files.")
CHECK = "Exit with status 1 if anything would change; write nothing."
QUIET = click.option("-q", "--quiet", is_flag=True, help="Print no summary and no notes.")
SCHEDULER = click.option(
    "--scheduler", metavar="ADDRESS", help="Use the workers of the Dask cluster at ADDRESS instead."
)
BINARY = click.option("--nginx", metavar="PATH", help="nginx binary.  [default: nginx on PATH]")


def names(_context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of an option, which may be given several times, or once with commas."""
    return tuple(name.strip() for value in values for name in value.split(",") if name.strip())


SEVERITIES = ("error", "warning", "info")
SELECT = click.option(
    "--select", multiple=True, callback=names, metavar="NAMES", help="Run only these rules or categories."
)
IGNORE = click.option(
    "--ignore", multiple=True, callback=names, metavar="NAMES", help="Skip these rules or categories."
)
FAIL_ON = click.option(
    "--fail-on",
    type=click.Choice(SEVERITIES),
    help="Lowest severity that makes the exit status 1.  [default: warning]",
)


def format_of(names: Sequence[str], default: str) -> Option[Any]:
    """Return the option `--format` with these formats."""
    return click.option(
        "--format", "format_", type=click.Choice(names), default=default, show_default=True, help="Output format."
    )


def check_with_nginx(check: str) -> Option[Any]:
    """Return the option `--nginx [PATH]`, by default the nginx on PATH; `check` is its help."""
    return click.option("--nginx", is_flag=False, flag_value="", metavar="[PATH]", help=check)


def refuse_stdin_filename(name: str | None, paths: Sequence[str]) -> None:
    """Raise `UsageError` if `--stdin-filename` names standard input, but no PATH is -."""
    if name is not None and "-" not in paths:
        raise UsageError("--stdin-filename needs - as PATH, which reads standard input")


def without_its_path(files: tuple[str, ...], nginx: str | None) -> tuple[tuple[str, ...], str | None]:
    """Return FILE... and the value of `--nginx [PATH]`; what it took in `--nginx FILE` is a FILE."""
    return ((nginx,), "") if nginx and not files else (files, nginx)
