"""The site that `trace` and `test` ask about: its options, and the model of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from os.path import isfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from nginxopt.budget import limited
from nginxopt.cli import options
from nginxopt.config import standins, surroundings
from nginxopt.config.configuration import source
from nginxopt.config.filesystem import Disk, is_dump
from nginxopt.config.inputs import InputOptions, read
from nginxopt.config.places import MAIN
from nginxopt.config.surroundings import FoundMain
from nginxopt.config.templating import refuse_literal_names
from nginxopt.errors import UsageError
from nginxopt.records import record
from nginxopt.request import UrlError, listing, read_url
from nginxopt.request.model import SiteModel, World
from nginxopt.semantics.site import FIXES, Build
from nginxopt.settings import file as settings
from nginxopt.settings.target import choose

if TYPE_CHECKING:
    from nginxopt.config import Config
    from nginxopt.config.filesystem import Files
    from nginxopt.config.standins import StandIns, UnreadFiles
    from nginxopt.request import ClientGate, Url
    from nginxopt.settings.target import TargetVersion
    from nginxopt.system.nginx import Binary
    from nginxopt.version import Version

_Function = TypeVar("_Function", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--connect", metavar="HOST:PORT", help="Address of nginx to connect to, whatever the URL says."),
    click.option("--base", metavar="URL", help="Site of paths and of log lines without a host."),
    click.option(
        "--root",
        type=options.DIRECTORY,
        metavar="DIR",
        help="Look up the absolute paths of files below DIR; / means the files of this machine.",
    ),
    click.option(
        "--exists",
        type=options.FILE,
        metavar="LIST",
        help="Take the files in LIST, the output of find DIR, for all that exist in DIR.",
    ),
    click.option(
        "--assume",
        multiple=True,
        metavar="FACT",
        help="Assume exists=PATH, missing=PATH (a directory ends with /), VARIABLE=VALUE; of missing includes"
        " include:PATH=neutral|empty|FILE, or of all unread-neutral, unread-empty.",
    ),
    options.TARGET_VERSION,
    click.option(
        "--build-fix",
        "fixes",
        multiple=True,
        type=click.Choice(FIXES),
        help="Fix of a later release that the target nginx has, as builds of distributions do.",
    ),
    options.CONTEXT,
    options.PREFIX,
    options.ALSO,
    options.MAIN,
)


def of_site(command: _Function) -> _Function:
    """Add the options of `load` to a command."""
    return reduce(lambda function, option: option(function), reversed(_OPTIONS), command)


@record(eq=True)
class AskedSite:
    """A site as a command asks about it.

    Attributes:
        base: The site of paths; None if none is stated.
        notes: What was taken as given.
        files: The files that were read, which no output may replace.
    """

    config: Config
    model: SiteModel
    gate: ClientGate
    world: World
    target: TargetVersion
    base: Url | None
    notes: tuple[str, ...]
    files: tuple[str, ...]


def load(
    path: str,
    *,
    connect: str | None,
    base: str | None,
    root: str | None,
    exists: str | None,
    assume: tuple[str, ...],
    target_version: Version | None,
    fixes: tuple[str, ...],
    context: str | None,
    prefix: str | None,
    main: str | None,
    binary: Binary | None = None,
) -> AskedSite:
    """Return the site of a configuration, for the nginx at hand if there is one.

    Raises `UsageError` for wrong options, `InputError` as the model does.
    """
    to, site = _address(connect), base_url(base)
    unread = standins.assume(filter(standins.is_assumption, assume))
    of_world = [text for text in assume if not standins.is_assumption(text)]
    world, of_files = _listed(World.assume(of_world, root), exists)
    if binary is not None and (target_version or fixes):
        raise UsageError("--nginx is the target, so --target-version and --build-fix do not apply")
    target = choose(target_version, None, None if binary is None else binary.path)
    read, notes = read_with_standins(path, context, prefix, main, unread)
    config = read.config
    build = _build(target.version, frozenset(fixes), prefix, binary)
    model = limited(lambda: SiteModel(config, build, neutral=read.neutral), path=path)
    files = (*(file.path for file in config.files), *unread.by_path.values(), *([] if exists is None else [exists]))
    return AskedSite(config, model, model.gate(to), world, target, site, (*notes, *of_files), files)


def _listed(world: World, path: str | None) -> tuple[World, tuple[str, ...]]:
    """Return the world with the files of `--exists`, and what was taken as given for them."""
    if path is None:
        return world, ()
    listed = listing.read(source(path))
    note = f"{path}: a path with no other one below it is a file, as no folder is marked with a slash"
    return world.with_listing(listed), () if listed.marks_folders else (note,)


def refused_url(text: str, message: str, column: int) -> UsageError:
    """Return the error for a URL of the command line."""
    return UsageError(message, below=[f"    {text}", f"    {' ' * (column - 1)}^"])


def base_url(text: str | None) -> Url | None:
    """Return the site of `--base`. Raises `UsageError` for another text."""
    if text is None:
        return None
    try:
        return read_url(text)
    except UrlError as error:
        raise refused_url(text, f"--base: {error.message}", error.column) from None


def _address(text: str | None) -> tuple[str, int] | None:
    """Return the host and port of `--connect`."""
    if text is None:
        return None
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdecimal() or not 0 < int(port) < 65_536:
        raise UsageError(f"--connect {text}: not HOST:PORT", hint="for example 127.0.0.1:8080")
    return host.strip("[]"), int(port)


def read_with_standins(
    path: str,
    context: str | None,
    prefix: str | None,
    main: str | None,
    unread: UnreadFiles,
    *,
    is_one_of_two: bool = False,
) -> tuple[StandIns, tuple[str, ...]]:
    """Return the configuration that a file is part of, with texts in place of missing files, and the assumptions made.

    `is_one_of_two` is that of `standins.read`.
    """
    notes: tuple[str, ...] = ()

    def load(files: Files) -> Config:
        nonlocal notes
        config, notes = _read_config(path, context, prefix, main, files)
        return config

    read = standins.read(load, unread, _disk(), is_one_of_two=is_one_of_two)
    return read, (*notes, *read.notes)


def _disk() -> Files:
    """Return the files of this machine, with the folders that the settings name (`[include]`)."""
    return Disk(settings.includes())


def _read_config(
    path: str, context: str | None, prefix: str | None, main: str | None, files: Files
) -> tuple[Config, tuple[str, ...]]:
    config, notes = _found_config(path, context, prefix, main, files)
    if not is_dump(config.origin):  # nginx printed what it read
        refuse_literal_names(file.block for file in config.files)
    return config, notes


def _found_config(
    path: str, context: str | None, prefix: str | None, main: str | None, files: Files
) -> tuple[Config, tuple[str, ...]]:
    inside = str(Path(path) / MAIN)
    path = inside if isfile(inside) else path  # a folder, such as /etc/nginx, stands for its main configuration
    inputs = read([path], InputOptions(prefix, lambda _: context, files=files))
    if inputs.errors:
        raise inputs.errors[0]
    if len(inputs.configs) != 1:
        raise UsageError(f"{path} has {len(inputs.configs)} configurations", hint="name one of them")
    (config,) = inputs.configs
    if config.http is not None or context is not None or path == "-":
        return config, ()
    around = limited(lambda: surroundings.find(path, prefix=prefix, main=main, files=files), path=path)
    if isinstance(around, FoundMain):
        return around.config, ()
    return config, (f"nothing is around {path}: {around.because}",)


def _build(target: Version, fixes: frozenset[str], prefix: str | None, binary: Binary | None) -> Build:
    from nginxopt.request.build import probe

    build = Build(target, fixes) if binary is None else probe(binary)
    return build if prefix is None else replace(build, prefix=f"{Path(prefix).absolute()}/")
