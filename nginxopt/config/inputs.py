"""Finds the configurations that the command line names, and reads them with their includes.

Names are files, folders, wildcards and standard input. A file that is named is a configuration. In a folder, the name
of a file says that it may be one, and its content that it is one (`nginxopt.config.recognition`): many programs have
files named `x.conf`, and many templates end with `.j2`.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from os.path import exists, isdir, isfile, islink, lexists
from pathlib import Path
from typing import NamedTuple

from nginxopt import lazy
from nginxopt.budget import limited
from nginxopt.config import filesystem, places, roots
from nginxopt.config.configuration import Config, load_text
from nginxopt.config.filesystem import DISK, STDIN, Dump, Files, is_dump
from nginxopt.config.includes import Parse, Sharing, parsed, source
from nginxopt.config.places import leads_to_installed
from nginxopt.config.templating import TemplateError, refuse_tags, refused
from nginxopt.config.tree import Directive
from nginxopt.errors import InputError
from nginxopt.faults import FAULTS, internal, is_bug
from nginxopt.records import record
from nginxopt.text import Span

SUFFIXES = (".conf", ".nginx", ".ngx", ".vhost")
"""Suffixes of configurations in any folder."""

TEMPLATES = (
    ".template", ".j2", ".jinja", ".jinja2", ".erb", ".epp", ".tmpl", ".tpl", ".gotmpl", ".ctmpl", ".sigil",
    ".mustache", ".in",
)  # fmt: skip
"""Suffixes of templates, of which those of configurations are found by their content."""

PARTS = (".inc",)
"""Suffixes of parts of configurations, which are found by their content."""

SAMPLES = (".sample", ".example", ".dist", ".default")
"""Suffixes behind another one, of configurations to copy: `x.conf.example` is found unless `x.conf` is beside it."""

FOLDERS = ("conf.d", "http.d", "nginx", "sites", "snippets", "stream.d", "vhosts", "vhosts.d")
"""Folders in which names without a suffix are configurations too."""

_BELOW = "nginx"
"""A folder in which those at any depth are, too."""

SITES = ("sites-available", "sites-enabled")
"""Folders in which almost any name is a configuration: sites are often named by domain, `example.com`."""

DOMAINS = (
    ".com", ".net", ".org", ".io", ".dev", ".app", ".co", ".me", ".info", ".biz", ".eu", ".de", ".fr", ".nl", ".uk",
    ".ru", ".br", ".cn", ".jp", ".us", ".local", ".test", ".xyz",
)  # fmt: skip
"""Ends of domains by which files with a server are often named, in any folder: `shop.example.com`."""

LEFT_BEHIND = (".bak", ".backup", ".disabled", ".md", ".old", ".orig", ".save", ".swp", ".tmp", ".txt")
"""Suffixes of files in `SITES` that are not configurations: backups, notes and the like."""

_FOR_FILES = frozenset([*SITES, *FOLDERS]) - {_BELOW}
"""Folders for configurations alone."""

_HIDDEN = lazy.pattern(
    r"\.(?:git|hg|svn|bzr|jj|repo|venv|virtualenv|tox|nox|direnv|eggs|bundle|gradle|m2|cargo|npm|yarn|pnpm-store|next|nuxt"
    r"|terraform|vagrant|idea|vscode|vs|Trash|nginxopt.*|(?:.*[._-])?cache)",
    re.IGNORECASE,
)
"""Hidden folders of tools, with nothing that anyone deploys; others, such as `.docker`, may have configurations."""

_COPIES = lazy.pattern(
    r"[._-]*(?:old|bak)[._-]*\d*|.*[._-](?:old|bak|orig)(?:[._-]*\d[\d._-]*)?|.*\.backup|.*[._-]backup[._-]*\d{4}[\d._-]*"
    r"|[._-]*(?:archived?|archives|deprecated|obsolete)|node_modules|bower_components",
    re.IGNORECASE,
)
"""Folders of files that are no longer deployed, or of other people's code."""

_VENDOR = "vendor"
_VENDORED = ("autoload.php", "bundle", "composer", "github.com", "modules.txt")
"""What is in a folder `_VENDOR` of other people's code."""

_DATED = lazy.pattern(r".*[._-](?:old|bak|backup)[._-]*\d{4}[\d._-]*\..*", re.IGNORECASE)
"""Files that are copies, by a date in their names."""

_DAY = lazy.pattern(r"(?P<name>.+?)[._-](?:19|20)\d{6}[\d._-]*|(?P<other>.+?)[._-](?:19|20)\d\d-\d\d-\d\d.*")
"""Folders named by a day, `vhosts.20170510`, which are copies if `vhosts` is beside them."""

_NUMBERED = lazy.pattern(r"(?P<name>.+?)(?: \(\d+\)| - Copy| copy(?: \d+)?)(?P<suffix>\.[^.]+)?")
"""Files as synchronised folders and file managers name a copy: `nginx (2).conf` beside `nginx.conf`."""


Excludes = Callable[[str], bool]
"""A function that returns whether to skip the file at a path."""


def nothing(_: str) -> bool:
    """Exclude no file."""
    return False


class SelectedFiles(NamedTuple):
    """The files that names on a command line stand for.

    Attributes:
        files: The paths of configurations, each once and in order.
        foreign: The paths of files that by their content belong to other programs, without those whose name and folder
            do not suggest a configuration, such as `nginx/Dockerfile`.
        found: The paths in `files` that were not named themselves, but found in a folder or by a pattern.
        errors: An error for each name that matches nothing.
    """

    files: list[str]
    foreign: list[str]
    found: frozenset[str]
    errors: list[InputError]


def select(names: Sequence[str], excludes: Excludes = nothing, *, by_content: bool = False) -> SelectedFiles:
    """Return the configurations that `names` stand for, as `named` does, without those of other programs.

    A file that is named itself is returned whatever its content is, unless `by_content`.
    """
    files: dict[str, tuple[str, bool]] = {}
    errors: list[InputError] = []
    for name in names:
        for path in _files(name, excludes, errors):
            identity = DISK.identity(path)
            is_named = path == name or files.get(identity, (path, False))[1]
            files[identity] = files.get(identity, (path, False))[0], is_named
    own: list[str] = []
    foreign: list[str] = []
    dumps: dict[str, Dump] = {}
    for path, is_named in files.values():
        is_judged = path == STDIN or (is_named and not by_content)
        where = own if is_judged else _place(path, own, foreign, dumps)
        where.append(path)
    if dumps:
        own = [path for path in own if path not in dumps or not _repeats(dumps[path], own)]
    if not own and not errors:
        errors += [_nothing(name, "its files do not look like those of nginx") for name in names if isdir(name)]
    return SelectedFiles(own, foreign, frozenset(path for path, is_named in files.values() if not is_named), errors)


def _place(path: str, own: list[str], foreign: list[str], dumps: dict[str, Dump]) -> list[str]:
    """Return the list that a found file belongs to, by its content; what cannot be read is an error of `own`.

    Enters the output of `nginx -T` into `dumps`.
    """
    from nginxopt.config import recognition  # which a named file does not need

    try:
        data = DISK.read(path)
    except (OSError, ValueError, InputError):
        return own
    if recognition.is_empty(data):
        return [] if Path(path).suffix in (*TEMPLATES, *PARTS) else own
    if recognition.is_configuration(data):
        dump = Dump.of(path, data)
        if dump is not None:
            dumps[path] = dump
        return own
    promises = Path(path).suffix or Path(path).absolute().parent.name in _FOR_FILES
    return foreign if promises else []


def _repeats(dump: Dump, own: Sequence[str]) -> bool:
    """Return whether a found output of `nginx -T` has a file that was found as well, with all its bytes."""
    for path in own:
        for name in dump.named(Path(path).name):
            try:
                if DISK.read(path).rstrip() == dump.read(name).rstrip():
                    return True
            except (OSError, InputError):
                continue
    return False


def named(names: Sequence[str], excludes: Excludes = nothing) -> tuple[list[str], list[InputError]]:
    """Return the files that `names` match, each once and in order, and an error for each name that matches none.

    A name may be that of a file (returned even if it does not exist, as reading it produces the error), a directory
    (see `_walk`), or a pattern with wildcards (`**`: directories at any depth) unless a file has that name. `excludes`
    applies to files found in directories and by patterns.
    """
    files: dict[str, str] = {}
    errors: list[InputError] = []
    for name in names:
        for path in _files(name, excludes, errors):
            files.setdefault(DISK.identity(path), path)
    return list(files.values()), errors


def _files(name: str, excludes: Excludes, errors: list[InputError]) -> Iterator[str]:
    """Yield the files of one name."""
    if name == STDIN:
        yield name
    elif isdir(name):
        yield from _folder(name, excludes, errors)
    elif glob.has_magic(name) and not lexists(name):
        yield from _wildcard(name, excludes, errors)
    else:
        yield name


def _folder(name: str, excludes: Excludes, errors: list[InputError]) -> Iterator[str]:
    inside = list(_walk(name, errors))
    kept = _without_twins([path for path in inside if not excludes(path)])
    if not kept:
        expected = f"expected files named *{', *'.join(SUFFIXES)}, or templates and parts of them"
        errors.append(_nothing(name, "all its configuration files are excluded" if inside else expected))
    yield from kept


def _without_twins(paths: list[str]) -> list[str]:
    """Return the paths without those of `sites-available` of which `sites-enabled` has a copy."""
    available, enabled = SITES
    given = set(paths)

    def has_twin(path: Path) -> bool:
        twin = path.parent.with_name(enabled) / path.name
        if path.parent.name != available or str(twin) not in given or islink(twin):
            return False
        try:
            return path.read_bytes() == twin.read_bytes()
        except OSError:
            return False

    return [path for path in paths if available not in path or not has_twin(Path(path))]


def _nothing(name: str, reason: str) -> InputError:
    return InputError("no configuration found", path=name, hint=reason)


def _wildcard(name: str, excludes: Excludes, errors: list[InputError]) -> Iterator[str]:
    paths = sorted(glob.glob(name, recursive=True))  # noqa: PTH207 - the name may be absolute or not
    if not paths:
        errors.append(InputError("no file matches", path=name))
    for path in paths:
        inside = _walk(path, errors) if isdir(path) else [path]
        yield from (file for file in inside if not excludes(file))


def _walk(folder: str, errors: list[InputError]) -> Iterator[str]:
    """Yield the configurations in a folder and below it, sorted.

    Skips hidden files, hidden folders of tools, copies and other people's code, and does not follow links.

    nginxopt's backups are hidden files (`nginxopt.system.files.BACKUP`).
    """

    def note(error: OSError) -> None:
        errors.append(InputError(f"cannot be read: {error.strerror}", path=str(error.filename)))

    for path, folders, files in os.walk(folder, onerror=note):
        inner = Path(path)
        folders[:] = sorted(name for name in folders if not _is_left_out(inner, name))
        is_below = _BELOW in inner.relative_to(folder).parts
        yield from (str(inner / name) for name in sorted(files) if _is_configuration(inner, name, is_below=is_below))


def _is_left_out(folder: Path, name: str) -> bool:
    """Return whether a folder has nothing that anyone here deploys."""
    is_vendored = name == _VENDOR and any(lexists(folder / name / known) for known in _VENDORED)
    day = _DAY.fullmatch(name)
    is_of_day = day is not None and isdir(folder / (day["name"] or day["other"]))
    return is_vendored or is_of_day or bool(_HIDDEN.fullmatch(name) or _COPIES.fullmatch(name))


def _is_copy(folder: Path, name: str) -> bool:
    """Return whether the name of a file says that it is a copy."""
    numbered = _NUMBERED.fullmatch(name)
    is_numbered = numbered is not None and lexists(folder / f"{numbered['name']}{numbered['suffix'] or ''}")
    return is_numbered or _DATED.fullmatch(name) is not None


def _is_configuration(folder: Path, name: str, *, is_below: bool) -> bool:
    suffix = Path(name).suffix
    if (
        name.startswith(".")
        or name.endswith("~")
        or _is_copy(folder, name)
        or not isfile(folder / name)
        or leads_to_installed(str(folder / name))
    ):
        return False
    where = folder.absolute().name
    if where in SITES:
        last = Path(name.removesuffix(suffix)).suffix if suffix[1:].isdigit() else suffix  # nano has x.save.1
        return not suffix.startswith((".dpkg-", ".rpm")) and last not in LEFT_BEHIND
    if suffix in SAMPLES:
        copy = folder / name.removesuffix(suffix)
        return copy.suffix in (*SUFFIXES, *TEMPLATES, *PARTS) and not lexists(copy)
    if suffix in (*SUFFIXES, *TEMPLATES, *PARTS):
        return True
    if suffix:
        return suffix in DOMAINS and _has_server(folder / name)
    return is_below or where in FOLDERS or _has_server(folder / name)


_SERVER = lazy.pattern(rb"^[ \t]*server[ \t]*\n?\{\s*(?:#.*\s*)*(?:listen|server_name)\s", re.MULTILINE)
_HEAD = 1 << 13


def _has_server(path: Path) -> bool:
    """Return whether a file begins with a server of nginx, such as `salt/default`, and is no script."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError:
        return False
    return not head.startswith(b"#!") and _SERVER.search(head) is not None


_MAIN = "nginx.conf"


@record(eq=True)
class Inputs:
    """The configurations, and an error for each file that could not be read; both in the order of the names.

    A named file that another one includes is part of that configuration and not a separate one. Included files that do
    not exist are in `Config.unread`. `foreign` are the files of folders that are other programs', and `templates` has
    an error for each template of a folder that could not be read: it may be right once it is rendered.
    """

    configs: tuple[Config, ...]
    errors: tuple[InputError, ...]
    foreign: tuple[str, ...] = ()
    templates: tuple[InputError, ...] = ()


@record(eq=True)
class InputOptions:
    """Options for reading files.

    Attributes:
        prefix: The folder from which relative includes start, as in `nginxopt.config.load`.
        context: Returns the context of the file at a path; None to infer it.
        stdin_name: The name of standard input in messages.
        templates: Whether to read templates, in all their readings, instead of refusing them.
        by_content: Whether files that are named are skipped, too, if they are those of other programs.
        files: The storage of the files.
    """

    prefix: str | None = None
    context: Callable[[str], str | Sequence[str] | None] = lambda _: None
    stdin_name: str = STDIN
    templates: bool = False
    by_content: bool = False
    files: Files = DISK


def read(names: Sequence[str], options: InputOptions | None = None, *, excludes: Excludes = nothing) -> Inputs:
    """Read the configurations of `names`, which may be anything that `nginxopt.config.inputs.named` accepts.

    Relative includes start from `InputOptions.prefix`. Without it they start from the folder of the file, or from one
    above it if more of them exist there: see `_above`. A file with the output of `nginx -T` is read as the
    configuration in it. Raises `UsageError` for an unknown context.
    """
    options = options or InputOptions()
    selected = select(names, excludes, by_content=options.by_content)
    reading = _Reading(options)
    for path in sorted(selected.files, key=_outer_first) if len(selected.files) > 1 else selected.files:
        reading.read(path)
    configs = tuple(config for path in selected.files for config in reading.roots(path))
    identity = options.files.identity
    read = {identity(file.path) for config in configs if not is_dump(config.origin) for file in config.files}
    told = [(path, error) for path in selected.files for error in reading.errors.get(path, ())]
    templates = [error for path, error in told if path in selected.found and isinstance(error, TemplateError)]
    errors = [error for path, error in told if not (path in selected.found and isinstance(error, TemplateError))]
    return Inputs(
        configs,
        tuple(_once([*selected.errors, *errors])),
        tuple(path for path in selected.foreign if identity(path) not in read),
        tuple(_once(templates)),
    )


def _outer_first(path: str) -> tuple[bool, bool, int]:
    """Return a sort key that puts main files first, and those that probably include others, so that these are not read
    separately.
    """
    return not _is_main(path), Path(path).name != _MAIN, len(Path(path).parts)


def _is_main(path: str) -> bool:
    from nginxopt.config import recognition  # which one file does not need

    try:
        return path != STDIN and recognition.is_main(DISK.read(path))
    except (OSError, ValueError, InputError):
        return False


class _Reading:
    """Reads files one after the other, and collects the errors of each path in `errors`."""

    def __init__(self, options: InputOptions) -> None:
        self._options = options
        self._sharing = Sharing()
        self._configs: dict[str, Config] = {}
        self._included: set[str] = set()
        self.errors: dict[str, list[InputError]] = {}
        self._identity = self._options.files.identity

    def roots(self, path: str) -> Iterator[Config]:
        """Yield the configuration at `path`, unless it could not be read or another one includes it."""
        if path in self._configs and self._identity(path) not in self._included:
            yield self._configs[path]

    def read(self, path: str) -> None:
        """Read the file at `path`, unless an earlier configuration includes it."""
        if self._identity(path) in self._included:
            return
        try:
            config = limited(lambda: self._config(path), path=path)
        except InputError as error:
            self.errors.setdefault(path, []).append(refused(error))
            return
        except FAULTS as error:
            if not is_bug(error):
                raise
            self.errors.setdefault(path, []).append(internal(error, "the file", path=path))
            return
        self._configs[path] = config
        if not is_dump(config.origin):
            self._included |= {self._identity(file.path) for file in config.files[1:]}

    def _config(self, path: str) -> Config:
        """Return the configuration at `path`, including templates if the options allow them."""
        name = self._options.stdin_name if path == STDIN else path
        data = source(path, self._options.files, is_nginx=True).data
        dump = Dump.of(name, data)
        try:
            config = (
                alone(data, name, self._options, files=self._options.files, sharing=self._sharing)
                if dump is None
                else self._load_dump(path, name, dump)
            )
            for file in config.files:
                refuse_tags(file.block, names=self._options.templates and dump is None)
        except InputError as error:
            is_read = self._options.templates and isinstance(refused(error), TemplateError)
            if dump is not None or not is_read:
                raise
            return self._load_templates(name, data)
        return config

    def _load_templates(self, name: str, data: bytes) -> Config:
        """Return a configuration of which some files are templates."""
        from nginxopt.config.templates import Templates

        files = places.of_main(self._options.files, name, self._options.prefix)
        return Templates(lambda files, text: alone(text, name, self._options, files=files), files, name, data).config()

    def _load_dump(self, path: str, name: str, dump: Dump) -> Config:
        """Return the configuration in the output of `nginx -T`."""
        main = dump.read(dump.main)
        config = load_text(main, dump.main, context=self._options.context(name), missing_ok=True, files=dump)
        self.errors.setdefault(path, []).extend(dump.left_over({file.path for file in config.files}))
        return config


def alone(
    data: bytes,
    name: str,
    options: InputOptions,
    *,
    files: Files = DISK,
    parse: Parse = parsed,
    inside: roots.Roots | None = None,
    sharing: Sharing | None = None,
) -> Config:
    """Read a text as the configuration at `name`, with all includes that exist; see `read`.

    `inside` is what the user has named; by default what the command line names. `sharing` is what it has in common with
    others; `parse` is then not used.
    """
    load = partial(
        load_text,
        data,
        name,
        context=options.context(name),
        missing_ok=True,
        files=files,
        sharing=Sharing(parse) if sharing is None else sharing,
        roots=roots.around(name) if inside is None else inside,
    )
    config = load(prefix=options.prefix)
    names = [str(include.args[0]) for include in config.includes if _is_open(config, include)]
    above = _above(name, names) if names and options.prefix is None else None
    if above is None:
        return config
    other = load(prefix=above)
    return other if len(other.files) > len(config.files) else config


def _above(name: str, names: Sequence[str]) -> str | None:
    """Return the folder above that of a file from which its relative includes may start; None for its own folder.

    This is the nearest one with an `nginx.conf`, or else the nearest one in the tree that has one of `names`.
    """
    folder = Path(name).absolute().parent
    if exists(folder / _MAIN):
        return None
    nearest = next((str(parent) for parent in folder.parents if exists(parent / _MAIN)), None)
    if nearest is None:
        above = places.above(str(folder))[1:]
        nearest = next((parent for parent in above if any(_is_there(parent, path) for path in names)), None)
    if nearest is None:
        return None
    return nearest if Path(name).is_absolute() else os.path.relpath(nearest)


def _is_there(folder: str, name: str) -> bool:
    return any(exists(path) for path in filesystem.matches(folder, name))


def _is_open(config: Config, include: Directive) -> bool:
    """Return whether an include has a relative path that does not exist."""
    return not include.args[0].startswith("/") and not config.included(include)


def _once(errors: Sequence[InputError]) -> list[InputError]:
    """Return the errors without duplicates, which occur if several configurations include a broken file."""
    first: dict[tuple[str, Span | None, str], InputError] = {}
    for error in errors:
        first.setdefault((DISK.identity(error.path or ""), error.span, error.message), error)
    return list(first.values())
