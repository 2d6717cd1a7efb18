"""Finds the files named on the command line: files, folders, wildcards, and standard input.

A file that is named is a configuration. In a folder, the name of a file says that it may be one, and its content that
it is one (`nginxopt.config.recognition`): many programs have files named `x.conf`, and many templates end with `.j2`.
"""

# ruff: noqa: PTH112, PTH113 - for a path that cannot be checked, os.path returns False and Path raises

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Iterator, Sequence
from os.path import isdir, isfile, lexists
from pathlib import Path
from typing import NamedTuple

from nginxopt import lazy
from nginxopt.config.filesystem import DISK, STDIN
from nginxopt.config.places import leads_to_installed
from nginxopt.errors import InputError

SUFFIXES = (".conf", ".nginx", ".ngx", ".vhost")
"""Suffixes of configurations in any folder."""

TEMPLATES = (
    ".template", ".j2", ".jinja", ".jinja2", ".erb", ".epp", ".tmpl", ".tpl", ".gotmpl", ".ctmpl", ".sigil",
    ".mustache", ".in",
)  # fmt: skip
"""Suffixes of templates, of which those of configurations are found by their content."""

PARTS = (".inc",)
"""Suffixes of parts of configurations, which are found by their content."""

FOLDERS = ("conf.d", "http.d", "nginx", "sites", "snippets", "stream.d", "vhosts", "vhosts.d")
"""Folders in which names without a suffix are configurations too."""

_BELOW = "nginx"
"""A folder in which those at any depth are, too."""

SITES = ("sites-available", "sites-enabled")
"""Folders in which almost any name is a configuration: sites are often named by domain, `example.com`."""

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


Excludes = Callable[[str], bool]
"""A function that returns whether to skip the file at a path."""


def nothing(_: str) -> bool:
    """Exclude no file."""
    return False


class Selected(NamedTuple):
    """The files that names on a command line stand for.

    Attributes:
        files: The paths of configurations, each once and in order.
        foreign: The paths of files that are those of other programs by their content, without those whose name and
            folder promise nothing, such as `nginx/Dockerfile`.
        found: The paths in `files` that no name is, but a folder or a pattern has.
        errors: An error for each name that matches nothing.
    """

    files: list[str]
    foreign: list[str]
    found: frozenset[str]
    errors: list[InputError]


def select(names: Sequence[str], excludes: Excludes = nothing, *, by_content: bool = False) -> Selected:
    """Return the configurations that `names` stand for, as `named` does, without those of other programs.

    A file that is named is judged whatever it has, unless `by_content`.
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
    for path, is_named in files.values():
        is_judged = path == STDIN or (is_named and not by_content)
        where = own if is_judged else _place(path, own, foreign)
        where.append(path)
    if not own and not errors:
        errors += [_nothing(name, "its files do not look like those of nginx") for name in names if isdir(name)]
    return Selected(own, foreign, frozenset(path for path, is_named in files.values() if not is_named), errors)


def _place(path: str, own: list[str], foreign: list[str]) -> list[str]:
    """Return the list that a found file belongs to, by its content; what cannot be read is an error of `own`."""
    from nginxopt.config import recognition  # which a named file does not need

    try:
        data = DISK.read(path)
    except (OSError, ValueError, InputError):
        return own
    if recognition.is_empty(data):
        return [] if Path(path).suffix in (*TEMPLATES, *PARTS) else own
    if recognition.is_configuration(data):
        return own
    promises = Path(path).suffix or Path(path).absolute().parent.name in _FOR_FILES
    return foreign if promises else []


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
    kept = [path for path in inside if not excludes(path)]
    if not kept:
        expected = f"expected files named *{', *'.join(SUFFIXES)}, or templates and parts of them"
        errors.append(_nothing(name, "all its configuration files are excluded" if inside else expected))
    yield from kept


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

    Skips hidden files, and hidden folders of tools, and does not follow links.

    nginxopt's backups are hidden files (`nginxopt.system.files.BACKUP`).
    """

    def note(error: OSError) -> None:
        errors.append(InputError(f"cannot be read: {error.strerror}", path=str(error.filename)))

    for path, folders, files in os.walk(folder, onerror=note):
        folders[:] = sorted(name for name in folders if not _HIDDEN.fullmatch(name))
        inner = Path(path)
        is_below = _BELOW in inner.relative_to(folder).parts
        yield from (str(inner / name) for name in sorted(files) if _is_configuration(inner, name, is_below=is_below))


def _is_configuration(folder: Path, name: str, *, is_below: bool) -> bool:
    suffix = Path(name).suffix
    if (
        name.startswith(".")
        or name.endswith("~")
        or not isfile(folder / name)
        or leads_to_installed(str(folder / name))
    ):
        return False
    where = folder.absolute().name
    if where in SITES:
        return not suffix.startswith((".dpkg-", ".rpm")) and suffix not in LEFT_BEHIND
    return suffix in (*SUFFIXES, *TEMPLATES, *PARTS) or (not suffix and (is_below or where in FOLDERS))
