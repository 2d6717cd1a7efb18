"""The options that several commands share, each declared once."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from nginxopt import budget
from nginxopt.cli import stdout
from nginxopt.config.filesystem import Disk, Rooted
from nginxopt.config.root_folder import RootFolder
from nginxopt.errors import InputError, UsageError
from nginxopt.facts.vendors import target
from nginxopt.system.writing.targets import is_stream

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nginxopt.config import Config
    from nginxopt.config.filesystem import Files
    from nginxopt.system.host import Host
    from nginxopt.system.nginx import Allowed, Binary
    from nginxopt.version import Version

_Function = TypeVar("_Function", bound=Callable[..., Any])
Option = Callable[[_Function], _Function]


class Seconds(click.FloatRange):
    """Seconds from a minimum to a maximum. Refuses NaN, which click accepts in any range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the seconds of a value. Raises `click.BadParameter` for an invalid one, or one out of range."""
        seconds: float = super().convert(value, param, ctx)
        if math.isnan(seconds):
            self.fail(f"{value!r} is not a valid float range.", param, ctx)
        return seconds


def version(_context: click.Context, _parameter: click.Parameter, text: str | None) -> Version | None:
    """Return the version that an option names."""
    return None if text is None else target(text)


class _Unnamed(str):
    """The value of `--nginx` without a path. It is empty, but not an empty path."""

    __slots__ = ()


# Releases of click before 8.4 have no parameters of types; nginxopt runs with all since 8.1.
if TYPE_CHECKING:
    TextType = click.ParamType[str]
else:
    TextType = click.ParamType


class PathName(TextType):
    """A path of a file or directory. Refuses an empty one, such as the value of an unset shell variable."""

    def __init__(self, name: str) -> None:
        self.name = name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ARG002 - click's
        """Return the path. Raises `UsageError` for an empty one: the working directory is `.`."""
        if value == "" and not isinstance(value, _Unnamed):
            option = param.opts[0] if isinstance(param, click.Option) else (param and param.metavar)
            raise UsageError(f"{option} needs the name of a {self.name}")
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002 - click's
        """Let the shell complete it."""
        return [CompletionItem(incomplete, type="file")]


FILE = PathName("file")
DIRECTORY = PathName("directory")


CONTEXT = click.option("--context", metavar="CONTEXT", help="Context of a fragment, such as http, server or location.")
PREFIX = click.option(
    "-p", "--prefix", type=DIRECTORY, metavar="DIR", help="Directory of relative includes, like nginx -p."
)
MAIN = click.option(
    "-c", "--main", type=FILE, metavar="FILE", help="Main configuration that includes each FILE, like nginx -c."
)
TARGET_VERSION = click.option(
    "--target-version",
    metavar="VERSION",
    callback=version,
    help="Target nginx version (1.x), such as 1.22.1, or the release of a vendor: plus-R34, angie-1.10, "
    "openresty-1.27. Releases of nginx after the newest known one count as that one.",
)
RESULT = click.option(
    "--result",
    type=FILE,
    metavar="FILE",
    default="fleet.duckdb",
    show_default=True,
    help="Result of nginxopt fleet lint.",
)

ALSO_GIVEN = "nginxopt.also"
"""The key of the directories of `--also` in the context of a command."""


def _also(context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> None:
    context.meta[ALSO_GIVEN] = values


ALSO = click.option(
    "--also",
    multiple=True,
    expose_value=False,
    callback=_also,
    type=DIRECTORY,
    metavar="DIR",
    help="Also show and change what includes and links reach in DIR. By default, text outside of PATH is neither shown "
    "nor changed.",
)

OUTPUT = click.option(
    "-o",
    "--output",
    type=FILE,
    metavar="FILE",
    help="Write the report to FILE. Without --format, its suffix decides: .json, .html, .sarif or .md.",
)
STDIN_FILENAME = click.option(
    "--stdin-filename", type=FILE, metavar="NAME", help="File name to report for standard input."
)
BY_CONTENT = click.option(
    "--by-content",
    is_flag=True,
    help="Skip named files, too, that are not nginx's by their content, as in a directory: for pre-commit.",
)
CONFIG = click.option(
    "--config", type=FILE, metavar="FILE", help="Read settings from FILE instead of searching for them."
)
ISOLATED = click.option("--isolated", is_flag=True, help="Ignore all settings files.")
CHECK = "Exit with status 1 if anything would change; write nothing."
HTML = click.option("--html", type=FILE, metavar="FILE", help="Also write the report as a page to FILE.")
QUIET = click.option("-q", "--quiet", is_flag=True, help="Print no summary and no notes.")
SCHEDULER = click.option(
    "--scheduler", metavar="ADDRESS", help="Use the workers of the Dask cluster at ADDRESS instead."
)
BINARY = click.option("--nginx", type=FILE, metavar="PATH", help="nginx binary.  [default: nginx on PATH]")


HOST = click.option(
    "--host",
    "with_host",
    is_flag=True,
    help="Also check this machine (Linux only): the certificates, files, users and host names that the configuration "
    "names, and with lint its limits.",
)
ROOT = click.option(
    "--root",
    "machine_root",
    type=DIRECTORY,
    metavar="DIR",
    help="Take DIR for the / of the machine where nginx runs, such as the files of a container: read includes in it, "
    "and check what --host checks, but no limits and no host names.",
)


def refuse_two_machines(with_host: bool, root: str | None) -> None:
    """Raise `UsageError` if `--host` and `--root` name two machines."""
    if with_host and root is not None:
        raise UsageError("--host and --root cannot be used together")


RULES = click.option(
    "--rules", "with_rules", is_flag=True, help="Run the rules that the settings name, which are programs."
)


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


_BY_SUFFIX = {".json": "json", ".html": "html", ".sarif": "sarif", ".md": "markdown"}
"""The formats that suffixes of files name."""


def format_of(names: Sequence[str], default: str) -> Option[Any]:
    """Return the option `--format` with these formats. Without it, the suffix of `--output` decides."""

    def by_suffix(context: click.Context, parameter: click.Parameter, value: str) -> str:
        # click processes options that are given before those that are not, so `--output` is known here.
        output = context.params.get("output")
        is_stated = context.get_parameter_source(parameter.name or "") is not ParameterSource.DEFAULT
        named = "" if is_stated or output is None else _BY_SUFFIX.get(Path(output).suffix.lower(), "")
        return named if named in names else value

    return click.option(
        "--format",
        "format_",
        type=click.Choice(names),
        default=default,
        show_default=True,
        callback=by_suffix,
        help="Output format.",
    )


def check_with_nginx(check: str, *allowing: Option[Any]) -> Option[Any]:
    """Return the option `--nginx [PATH]`, by default the nginx on PATH, with those of `allowed` that follow it.

    `check` is its help.
    """
    nginx = click.option("--nginx", type=FILE, is_flag=False, flag_value=_Unnamed(), metavar="[PATH]", help=check)
    return lambda function: nginx(reduce(lambda inner, option: option(inner), reversed(allowing), function))


_ALLOWED = "nginxopt.allowed"


def _allow(context: click.Context, parameter: click.Parameter, value: object) -> None:
    context.meta.setdefault(_ALLOWED, {})[parameter.name] = value


MODULES = click.option(
    "--modules",
    type=DIRECTORY,
    multiple=True,
    metavar="DIR",
    callback=_allow,
    expose_value=False,
    help="Let nginx also load modules in DIR, besides those in its own folder.",
)
ALLOW_CODE = click.option(
    "--allow-code",
    is_flag=True,
    callback=_allow,
    expose_value=False,
    help="Let nginx run the programs of the configuration: Perl, Lua, JavaScript, XSLT.",
)
ALLOW_NETWORK = click.option(
    "--allow-network",
    is_flag=True,
    callback=_allow,
    expose_value=False,
    help="Let nginx pass requests to upstreams of other machines, and to sockets.",
)


def allowed() -> Allowed:
    """Return what the options of the command let nginx run; nothing without them."""
    from nginxopt.system.nginx import Allowed

    context = click.get_current_context(silent=True)
    values = {} if context is None else context.meta.get(_ALLOWED, {})
    modules = tuple(values.get("modules", ()))
    return Allowed(modules, bool(values.get("allow_code")), bool(values.get("allow_network")))


def binary(path: str | None) -> Binary:
    """Return the nginx of `--nginx`, by default the one on PATH; warn if nothing keeps it from the network."""
    from nginxopt.system import network, nginx

    found = nginx.find(path or None, allowed())
    if not network.is_to_be_had():
        stdout.say("note: the kernel gives nginx no network of its own, so it shares that of this machine")
    return found


def put_in_force(limits: Mapping[str, int]) -> None:
    """Put the limits of settings in force for the rest of a command."""
    click.get_current_context().with_resource(budget.stated(limits))


def refuse_stdin_filename(name: str | None, paths: Sequence[str]) -> None:
    """Raise `UsageError` if `--stdin-filename` names standard input, but no PATH is -."""
    if name is not None and "-" not in paths:
        raise UsageError("--stdin-filename needs - as PATH, which reads standard input")


def without_its_path(files: tuple[str, ...], nginx: str | None) -> tuple[tuple[str, ...], str | None]:
    """Return FILE... and the value of `--nginx [PATH]`; what it took in `--nginx FILE` is a FILE."""
    return ((nginx,), "") if nginx and not files else (files, nginx)


def files_of(root: str | None, stated: Mapping[str, str]) -> Files:
    """Return the storage of a configuration: the files of this machine, or those below a root.

    `stated` are the folders of this machine that the settings name (`[include]`). Raises `InputError` for a root
    that is not a folder.
    """
    if root is None:
        return Disk(stated)

    if not os.path.isdir(root):
        raise InputError("is not a directory", path=root, hint="--root needs the folder that stands for /")
    return Rooted(RootFolder(root))


def host_of(configs: Iterable[Config], with_host: bool, root: str | None) -> Host | None:
    """Return the machine to check, with the limits of the nginx that runs with one of the configurations.

    Raises `MissingError` if this system cannot be checked.
    """
    if not with_host and root is None:
        return None

    from nginxopt.system.host import host_at, pid_files, read_host, with_machine

    now = datetime.now(UTC)
    if root is not None:
        return host_at(root, now)
    return with_machine(read_host(pids=[path for config in configs for path in pid_files(config)]), now)


def refuse_overwriting(option: str, path: str | None, inputs: Iterable[str | None]) -> None:
    """Raise `UsageError` if the file of an option, if it is given, is one of the inputs, under whatever name."""
    from nginxopt.system.files import is_among

    if path is not None and is_among(path, (file for file in inputs if file is not None)):
        raise UsageError(f"{option} would overwrite the input file {path}")


def refuse_shared(option: str, path: str | None, other: str, outputs: Iterable[str]) -> None:
    """Raise `UsageError` if the file of an option, if it is given, is one of the `outputs` of another option.

    The one that is written last would replace the other. Nor can it have the name of a folder that has them.
    """
    if path is None or is_stream(path):
        return
    file = Path(os.path.realpath(path))
    if any(Path(os.path.realpath(output)).is_relative_to(file) for output in outputs):
        raise UsageError(f"{option} and {other} would both write {path}", hint="use different paths")


def refuse_filled(option: str, folder: str) -> None:
    """Raise `UsageError` unless the folder of an option is empty or does not exist, `InputError` if it is unreadable.

    Files of an earlier result are not replaced either: those that the new one does not have would remain among them.
    """
    try:
        is_filled = os.path.isdir(folder) and any(Path(folder).iterdir())
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=folder) from None
    if is_filled:
        raise UsageError(f"{option} {folder}: directory is not empty", hint="use a new or empty directory")
