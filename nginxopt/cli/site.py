"""The site that `trace` and `test` ask about: its options, texts for its missing files, and the model of it.

A text stands for an included file that is missing, as the user assumes or as packages have it. It may include further
files, for which there may be texts, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace
from functools import reduce
from os.path import isfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from nginxopt.budget import limited
from nginxopt.cli import options
from nginxopt.config import main_file
from nginxopt.config.configuration import Config, Scope
from nginxopt.config.filesystem import DISK, Disk, Files, Overlay, is_dump
from nginxopt.config.includes import source
from nginxopt.config.inputs import InputOptions, read
from nginxopt.config.main_file import FoundMain
from nginxopt.config.places import MAIN
from nginxopt.config.templating import refuse_literal_names
from nginxopt.errors import UsageError
from nginxopt.records import record
from nginxopt.request import UrlError, listing, read_url
from nginxopt.request.model import SiteModel, World
from nginxopt.semantics.site import FIXES, Build
from nginxopt.settings import file as settings
from nginxopt.settings.target import choose

if TYPE_CHECKING:
    from nginxopt.request import ClientGate, Url
    from nginxopt.settings.target import TargetVersion
    from nginxopt.system.nginx import Binary
    from nginxopt.version import Version

EMPTY, NEUTRAL = "empty", "neutral"
"""What may be assumed of a missing file: that it is empty, or has nothing that changes how requests are answered.

A neutral file changes headers and bodies, logs, buffers, timeouts and TLS at most. So how nginx answers a request is as
if it were empty: the server, the location, the kind and the status of the outcome, the file that is sent, the
`Location`, and where the request is passed on to. It has none of `listen`, `server_name`, `server`, `location`, `if`,
`set`, `rewrite`, `return`, `break`, `try_files`, `internal`, `*_pass`, `root`, `alias`, `index`, `error_page`, `allow`,
`deny`, `satisfy`, `auth_*`, `limit_*`, `map`, `geo`, `upstream` and `include`, nor any other directive that decides one
of these, such as `autoindex` or `absolute_redirect`.
"""

_KINDS = (EMPTY, NEUTRAL)
_OF_ALL = "unread-"
_OF_ONE = "include:"

OF_DEBIAN = {
    "fastcgi-php.conf": (
        b"fastcgi_split_path_info ^(.+?\\.php)(/.*)$;\n"
        b"try_files $fastcgi_script_name =404;\n"
        b"set $path_info $fastcgi_path_info;\n"
        b"fastcgi_param PATH_INFO $path_info;\n"
        b"fastcgi_index index.php;\n"
        b"include fastcgi.conf;\n"
    ),
    "snakeoil.conf": (
        b"ssl_certificate /etc/ssl/certs/ssl-cert-snakeoil.pem;\n"
        b"ssl_certificate_key /etc/ssl/private/ssl-cert-snakeoil.key;\n"
    ),
}
"""The snippets that Debian's and Ubuntu's nginx-common installs (debian/conf/snippets), which read requests."""

_ROUNDS = 8
"""How often a configuration is read again for files that texts include."""


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
class UnreadFiles:
    """What is assumed of missing files.

    Attributes:
        of_all: `EMPTY` or `NEUTRAL`; None for nothing.
        by_path: The same for the files of some includes, by their paths as written, or a file to read instead.
    """

    of_all: str | None = None
    by_path: Mapping[str, str] = field(default_factory=dict)

    def of(self, path: str) -> str | None:
        """Return what is assumed of the file of an include: `EMPTY`, `NEUTRAL`, or the path of a file."""
        return self.by_path.get(path, self.of_all)


def is_of_files(text: str) -> bool:
    """Return whether an assumption is about missing files."""
    return text.startswith((_OF_ALL, _OF_ONE))


def assumed_files(texts: Iterable[str]) -> UnreadFiles:
    """Return what some texts assume: `unread-empty`, `unread-neutral`, `include:PATH=empty|neutral|FILE`.

    Raises `UsageError` for another text.
    """
    of_all: str | None = None
    by_path: dict[str, str] = {}
    for text in texts:
        if text.startswith(_OF_ONE):
            path, equals, what = text.removeprefix(_OF_ONE).rpartition("=")
            if not (path and equals and what):
                raise UsageError(f"invalid assumption {text!r}", hint="use include:PATH=empty, =neutral or =FILE")
            by_path[path] = what
        else:
            of_all = text.removeprefix(_OF_ALL)
            if of_all not in _KINDS:
                raise UsageError(f"invalid assumption {text!r}", hint="use unread-empty or unread-neutral")
    return UnreadFiles(of_all, by_path)


@record(eq=True)
class StandIns:
    """A configuration with texts in place of missing files.

    Attributes:
        neutral: The includes, as written, whose files may change headers and bodies.
        notes: What was assumed about each, as a clause.
    """

    config: Config
    neutral: frozenset[str]
    notes: tuple[str, ...]


def with_standins(
    load: Callable[[Files], Config], unread: UnreadFiles, files: Files = DISK, *, is_one_of_two: bool = False
) -> StandIns:
    """Return the configuration that `load` reads, with a text for each missing file of which something is known.

    `files` is the storage of the others. Raises `UsageError` for a stated include that is not missing, unless it may be
    so in another configuration, and `InputError` as `load` does.
    """
    config = load(files)
    stated = {str(include.args[0]): "" for include in config.missing}
    texts: dict[str, bytes] = {}
    notes: dict[str, str] = {}
    neutral: set[str] = set()
    for _ in range(_ROUNDS):
        new = {path: (name, what) for path, name, what in _known(config, unread) if path not in texts}
        if not new:
            break
        for path, (name, what) in new.items():
            texts[path], notes[name] = _text(name, what)
            stated.setdefault(name, "")
            if what == NEUTRAL:
                neutral.add(name)
        config = load(Overlay(texts, files))
    wrong = next((path for path in unread.by_path if path not in stated and path not in notes), None)
    if wrong is not None and not is_one_of_two:
        missing = ", ".join(stated) or "none"
        raise UsageError(f"no include of {wrong} is missing", hint=f"missing: {missing}")
    return StandIns(config, frozenset(neutral), tuple(notes.values()))


def _known(config: Config, unread: UnreadFiles) -> Iterator[tuple[str, str, str | None]]:
    """Yield the missing files of which something is known: path, include as written, and what is assumed.

    Rows of a table decide: a file of rows is not neutral.
    """
    of_tables = {
        directive.origin for directive, scope in config.walk() if directive.name == "include" and _is_table(scope)
    }
    for item in config.unread:
        name = str(item.include.args[0])
        what = unread.of(name)
        if what == NEUTRAL and item.include.origin in of_tables:
            continue
        if what is not None or _base(name) in OF_DEBIAN:
            yield item.path, name, what


def _is_table(scope: Scope) -> bool:
    return scope.context[-1:] in (("map",), ("geo",), ("split_clients",))


def _text(name: str, what: str | None) -> tuple[bytes, str]:
    """Return the text of a missing file, and the assumption that it makes."""
    if what is None:
        return OF_DEBIAN[_base(name)], f"{name} is the file of Debian's package"
    if what == EMPTY:
        return b"", f"{name} is empty"
    if what == NEUTRAL:
        return b"", f"{name} changes nothing but headers and bodies (neutral)"
    try:
        return DISK.read(what), f"{name} is {what}"
    except (OSError, ValueError) as error:
        raise UsageError(f"--assume include:{name}={what}: cannot be read: {error}") from None


def _base(name: str) -> str:
    return name.rpartition("/")[2]


@record(eq=True)
class AskedSite:
    """A site about which a command asks.

    Attributes:
        base: The site of paths; None if none is stated.
        notes: What was assumed.
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
    unread = assumed_files(filter(is_of_files, assume))
    of_world = [text for text in assume if not is_of_files(text)]
    world, of_files = _listed(World.assume(of_world, root), exists)
    if binary is not None and (target_version or fixes):
        raise UsageError("--nginx is the target, so --target-version and --build-fix do not apply")
    target = choose(target_version, None, None if binary is None else binary.path)
    read, notes = read_with_standins(path, context, prefix, main, unread)
    config = read.config
    build = _build(target.version, frozenset(fixes), prefix, binary)
    model = limited(lambda: SiteModel(config, build, neutral=read.neutral, reads_lua=True), path=path)
    files = (*(file.path for file in config.files), *unread.by_path.values(), *([] if exists is None else [exists]))
    return AskedSite(config, model, model.gate(to), world, target, site, (*notes, *of_files), files)


def _listed(world: World, path: str | None) -> tuple[World, tuple[str, ...]]:
    """Return the world with the files of `--exists`, and what was assumed about them."""
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

    `is_one_of_two` is that of `with_standins`.
    """
    notes: tuple[str, ...] = ()

    def load(files: Files) -> Config:
        nonlocal notes
        config, notes = _read_config(path, context, prefix, main, files)
        return config

    read = with_standins(load, unread, _disk(), is_one_of_two=is_one_of_two)
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
    around = limited(lambda: main_file.find(path, prefix=prefix, main=main, files=files), path=path)
    if isinstance(around, FoundMain):
        return around.config, ()
    return config, (f"nothing is around {path}: {around.because}",)


def _build(target: Version, fixes: frozenset[str], prefix: str | None, binary: Binary | None) -> Build:
    from nginxopt.request.build import probe

    build = Build(target, fixes) if binary is None else probe(binary)
    return build if prefix is None else replace(build, prefix=f"{Path(prefix).absolute()}/")
