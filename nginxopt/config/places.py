"""Finds the files of absolute includes of a configuration that is not where nginx reads it: a copy.

A repository, an image or a backup has a folder that will be `/etc/nginx`, say, and its files include each other by the
paths that they will have there. On this machine these paths lead to another configuration, or nowhere. So a path below
the configuration's *own prefix* is looked for in the tree around its main file. Own prefixes are what the user states
(`[include]` of the settings, `-p`), the folders of `INSTALLED`, folders with the name of a server such as
`/opt/x/nginx/conf`, and the deepest folder that all absolute includes of the main file have in common, unless this
machine has it.

A configuration below one of `INSTALLED` is in its own place, and so is a file below the folder of its main file: their
paths mean what they say. For a copy, a path below an own prefix is

1. where the user says;
2. for a pattern, the files that a Dockerfile or a compose file beside it puts into that folder one by one, if it says
   so of the main file, too: another file of the folder is for another image;
3. the same path below a folder above the main file, which is a root file system (`rootfs/etc/nginx/mime.types`);
4. the rest of the path, below the nearest folder above the main file where that exists; a folder stands for one folder
   only: where it is `/etc/nginx/conf.d`, `/home/app/nginx/conf.d/*.conf` is another one. Of two files `nginx.conf`,
   the one above has the files of a pattern that are beside it;
5. for a file of nginx's packages (`STOCK`), this machine's;
6. missing. A configuration of this machine is no part of another one.

A tree ends at its repository (`.git`), else at the folder with the `nginx.conf`, or at the root file system with the
`etc` that it is in, as in a package. No path leads out of it by `..` or links, but into a folder that the user states.
A link to a path below an own prefix, as `sites-enabled` has them, is followed in the tree. Other absolute paths are
read as they are written.

Where a configuration is installed, an include may read more than here (`may_read_more`). A repository seldom has all
files of an nginx. `include conf.d/*.conf` matches nothing in it, because another part of the image or another role
writes that folder; `include /etc/nginx/conf.d/*.conf` names a folder of another machine, whatever the folder of that
name on this one has. So an include is believed only if it is certain to read the same files there:

- those of a dump (`nginx -T`), and of a main file in a folder of `INSTALLED`: this is the machine. Even there, a
  wildcard without matches is believed only if its folder exists;
- elsewhere, those of files below the folder of the main file, or below the prefix, and those that were found in the
  tree around the main file. A wildcard must match something: a folder with files is where the files of this
  configuration are kept, so these are taken to be all. Another part fills an empty one;
- a relative path of one file that exists, wherever it leads: the file stays beside the main file.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from nginxopt import lazy
from nginxopt.config import filesystem
from nginxopt.config.filesystem import (
    STDIN,
    Disk,
    Files,
    Overlay,
    has_folder,
    is_descriptor,
    is_dump,
    is_pattern,
    is_whole_dump,
    rooted,
)

if TYPE_CHECKING:
    from nginxopt.config.configuration import Config
    from nginxopt.config.tree import Directive

# ruff: noqa: PTH100, PTH115, PTH118, PTH119, PTH120, PTH123, PTH208 - paths are text here, as nginx has them

INSTALLED: tuple[str, ...] = (
    "/etc/nginx",
    "/usr/local/nginx/conf",
    "/usr/local/etc/nginx",
    "/usr/local/openresty/nginx/conf",
    "/opt/bitnami/nginx/conf",
    "/opt/homebrew/etc/nginx",
)
"""The folders of main files in packages and images."""

MAIN = "nginx.conf"

STOCK = frozenset(
    [
        *("mime.types", "fastcgi_params", "fastcgi.conf", "uwsgi_params", "scgi_params", "proxy_params"),
        *("koi-utf", "koi-win", "win-utf", "snippets/fastcgi-php.conf"),
    ]
)
"""Files that packages install beside the main file, the same on all machines."""

BUILDS = lazy.pattern(r"(?i)((.*[.-])?(docker|container)file([.-].*)?|(docker-|container-)?compose.*\.ya?ml)")
"""The names of the files by which images are built and containers started."""
_COPY = lazy.pattern(r"(?:COPY|ADD)((?: +\S+)+) +(\S+)", re.IGNORECASE)
_MOUNT = lazy.pattern(r"""- *["']?([^\s:"']+):([^\s:"']+)(?::\w+)?["']?""")
_WITHOUT_FILES = lazy.pattern(
    r"#|VOLUME|(?:RUN|&&) +(?:rm|mkdir|touch|chown|chmod) (?!.*(?:cp|mv|ln|sed|tee|install|>) )", re.IGNORECASE
)
"""How lines begin that put no files into the folders that they name."""
_PATH = lazy.pattern(r"/[\w./-]+")
_MOST_BYTES = 1 << 18

_TOPS = (".git", ".hg", "nginxopt.toml")
"""What the top folder of a tree has."""

_SERVER = lazy.pattern(
    r"(/(?!usr/(?:share|lib)|var/(?:lib|log|cache|run)|run)(?:[^/]+/)*(?:nginx|openresty|tengine|angie|freenginx)(?:/conf)?)/"
)
"""A folder with the name of a server, and `conf` in it."""

_SHORTEST = 2
"""How many folders a common one is at least below the root."""


def of_main(files: Files, main: str, prefix: str | None = None, names: Iterable[str] = ()) -> Files:
    """Return the files of a configuration, with the disk in `files` replaced by a `Tree`.

    `main` is the path of the main file, `names` is what it includes, as far as that is known, and `prefix` is the one
    that the user states.
    """
    base = files.base if isinstance(files, Overlay) else files
    if type(base) is not Disk:
        return files
    around = Tree(main, prefix, names, base.stated)
    return files.on(around) if isinstance(files, Overlay) else around


def tree(files: Files) -> Tree | None:
    """Return the tree from which files are read; None for a dump."""
    base = files.base if isinstance(files, Overlay) else files
    return base if isinstance(base, Tree) else None


class Tree(Disk):
    """The files of this machine, as the configuration with a main file at `main` reads them; see `of_main`."""

    def __init__(
        self,
        main: str,
        prefix: str | None = None,
        names: Iterable[str] = (),
        stated: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        super().__init__({os.path.normpath(installed): folder for installed, folder in stated.items()})
        is_file = main != STDIN and not is_descriptor(main)
        self._folder = (os.path.dirname(main) or ".") if is_file else "."
        self._main = main if is_file else None
        self._prefix = prefix
        self._names = names
        self._led_out: set[str] = set()
        self._known: dict[str, list[str] | None] = {}
        self._stands_for: dict[str, str] = {}
        self._written: dict[tuple[str, str], list[str]] = {}

    @property
    def reading(self) -> tuple[object, ...]:
        """What decides how the tree reads its files: trees in which it is the same read the same."""
        return self._folder, self._prefix, self._common, tuple(sorted(self.stated.items()))

    @cached_property
    def top(self) -> str:
        """The top folder of the tree, without links."""
        return os.path.realpath(self._above[-1])

    @cached_property
    def is_installed(self) -> bool:
        """Whether the main file is where nginx reads it on this machine."""
        return _is_installed(self._folder)

    def read(self, path: str) -> bytes:
        """Return the bytes of a file. Raises `OSError`, also for a link out of the tree to what is installed here."""
        is_led_out = not self.is_installed and leads_to_installed(path) and not self.has(path)
        if is_led_out or path in self._led_out:
            raise PermissionError(errno.EACCES, "leads out of the tree", path)
        return super().read(path)

    def matches(self, prefix: str, name: str) -> list[str]:
        """Return the paths of `include name`, in nginx's order."""
        found = self._found(name)
        if found is None and not filesystem.is_pattern(name):
            found = self._written.get((prefix, name))
            if found is None:
                found = self._written[prefix, name] = self._unlinked(filesystem.matches(prefix, name))
        return self._unlinked(filesystem.matches(prefix, name)) if found is None else found

    def reads(self, prefix: str, name: str, path: str) -> bool:
        """Return whether `include name` would read a file at `path`."""
        here = [(prefix, name)] if self._found(name) is None else self._places(name)
        return any(filesystem.reads(folder, rest, path) for folder, rest in here)

    def installed(self, name: str) -> str | None:
        """Return the folder for which one of the tree stands in the path of an include; None if it is as written."""
        if self._found(name) is None:
            return None
        return next(self._prefixes(os.path.normpath(name)), "/")

    def has(self, path: str) -> bool:
        """Return whether a file is in the tree, or in a folder that the user states."""
        real = os.path.realpath(path)
        return any(
            _is_below(real, os.path.realpath(folder)) for folder in (self.top, *self.stated.values(), *self._own)
        )

    @property
    def _own(self) -> tuple[str, ...]:
        return () if self._prefix is None else (self._prefix,)

    def _found(self, name: str) -> list[str] | None:
        """Return the paths of an include for which the tree has a place; None for any other, which is as written."""
        if not name.startswith("/"):
            return None
        if name not in self._known:
            self._known[name] = self._sought(name)
        return self._known[name]

    def _sought(self, name: str) -> list[str] | None:
        put = self._put(name)
        if put is not None:
            return put
        for folder, rest in self._places(name):
            paths = [path for path in self._unlinked(filesystem.matches(folder, rest)) if os.path.lexists(path)]
            led_out = [path for path in paths if not self.has(path)]
            if len(led_out) < len(paths) and self._is_free(folder, rest, name):
                self._led_out |= set(led_out)
                return paths
        home = self._place(name)
        if home is None:
            return None
        if filesystem.is_pattern(name):
            return []
        is_stock = home[1] in STOCK and os.path.exists(name) and self._stated_place(name) is None
        return [name if is_stock else str(Path(*home))]

    def _is_free(self, folder: str, rest: str, name: str) -> bool:
        """Return whether the folder of a pattern does not stand for another one; from now on it stands for this one."""
        if not filesystem.is_pattern(name):
            return True
        meant = os.path.dirname(os.path.normpath(name))
        return (
            self._stands_for.setdefault(os.path.realpath(os.path.join(folder, os.path.dirname(rest))), meant) == meant
        )

    def _put(self, name: str) -> list[str] | None:
        """Return the files that a build puts one by one where a pattern looks for files; None if none says so."""
        folder, pattern = os.path.split(os.path.normpath(name))
        if self.is_installed or self._stated_place(folder) is not None or not filesystem.is_pattern(pattern):
            return None
        found: list[list[str]] = []
        for put in self._puts:
            files = put.get(folder)
            if files:
                found.append([files[each] for each in sorted(files) if fnmatchcase(each, pattern)])
        return found[0] if found and all(each == found[0] for each in found) else None

    @cached_property
    def _puts(self) -> list[dict[str, dict[str, str] | None]]:
        """For each build that puts the main file into place, its folders, with the paths of files by their names there;
        None for what is put there in another way."""
        if self._main is None:
            return []
        puts = [_put_by(os.path.join(folder, name), self._above) for folder in self._above for name in _builds(folder)]
        return [put for put in puts if any(_is_main(files, self._main) for files in put.values())]

    def _places(self, name: str) -> Iterator[tuple[str, str]]:
        """Yield where the file of an absolute include may be in the tree: a folder, and the name in it."""
        path = os.path.normpath(name)
        stated = self._stated_place(path)
        if stated is not None:
            yield stated
            return
        if self._is_as_written(path):
            return
        for folder in self._above:
            yield folder, path.lstrip("/")
        for installed in self._prefixes(path):
            rest = os.path.relpath(path, installed)
            is_pattern = filesystem.is_pattern(rest)
            if "/" in rest or not is_pattern:  # `*.conf` of the folder has the main file, too
                for folder in (*self._own, *self._above):
                    if is_pattern and self._is_of_another(folder):
                        return
                    yield folder, rest
                    yield os.path.join(folder, "nginx"), rest

    def _is_of_another(self, folder: str) -> bool:
        """Return whether a folder above that of an `nginx.conf` has another one."""
        is_above = self._main is not None and folder not in (*self._own, self._above[0])
        return is_above and os.path.basename(self._main or "") == MAIN and os.path.exists(os.path.join(folder, MAIN))

    def _place(self, name: str) -> tuple[str, str] | None:
        """Return where a path below an own prefix belongs in the tree; None for any other."""
        path = os.path.normpath(name)
        stated = self._stated_place(path)
        if stated is not None or self._is_as_written(path):
            return stated
        installed = next(self._prefixes(path), None)
        return None if installed is None else (self._home, os.path.relpath(path, installed))

    def _is_as_written(self, path: str) -> bool:
        return self.is_installed or _is_below(path, os.path.abspath(self._folder))

    def _stated_place(self, path: str) -> tuple[str, str] | None:
        """Return where the settings say that a path is."""
        installed = max((folder for folder in self.stated if _is_below(path, folder)), key=len, default=None)
        return None if installed is None else (self.stated[installed], os.path.relpath(path, installed))

    def _prefixes(self, path: str) -> Iterator[str]:
        """Yield the own prefixes that a path is below, the most likely first."""
        yield from _prefixes(path)
        if self._common is not None and _is_below(path, self._common):
            yield self._common

    @cached_property
    def _common(self) -> str | None:
        """The deepest folder that the absolute includes of the main file have in common, unless this machine has it."""
        names = (os.path.normpath(name).split("*")[0] for name in self._names if name.startswith("/"))
        folders = {os.path.dirname(name) for name in names}
        common = os.path.commonpath(folders) if len(folders) > 1 else "/"
        return common if common.count("/") >= _SHORTEST and not os.path.isdir(common) else None

    @cached_property
    def _above(self) -> tuple[str, ...]:
        """The folder of the main file and those above it in its tree, the nearest first, named as the main file is."""
        return above(self._folder)

    @cached_property
    def _home(self) -> str:
        """The folder that stands for the own prefix."""
        if self._prefix is not None:
            return self._prefix
        return next((folder for folder in self._above if os.path.exists(os.path.join(folder, MAIN))), self._folder)

    def _unlinked(self, paths: list[str]) -> list[str]:
        """Return paths with links to what is below an own prefix replaced by where that is in the tree."""
        return paths if self.is_installed and not self.stated else [self._led(path) for path in paths]

    def _led(self, path: str) -> str:
        try:
            target = os.readlink(path)
        except (OSError, ValueError):  # it is not a link
            return path
        if not target.startswith("/"):
            return path
        found = (str(Path(*place)) for place in self._places(target))  # without `./`
        return next((file for file in found if os.path.isfile(file) and self.has(file)), path)


def _builds(folder: str) -> list[str]:
    try:
        return sorted(filter(BUILDS.fullmatch, os.listdir(folder)))
    except OSError:
        return []


def _is_main(files: dict[str, str] | None, main: str) -> bool:
    path = (files or {}).get(MAIN)
    return path is not None and os.path.realpath(path) == os.path.realpath(main)


def _put_by(build: str, roots: Iterable[str]) -> dict[str, dict[str, str] | None]:
    """Return what a Dockerfile or a compose file puts into each folder of `INSTALLED`. A Dockerfile names its sources
    from a folder that it does not state: the nearest of `roots` that has them."""
    try:
        with open(build, "rb") as file:
            text = file.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return {}
    put: dict[str, dict[str, str] | None] = {}
    for line in map(str.strip, text.splitlines()):
        if not any(installed in line for installed in INSTALLED) or _WITHOUT_FILES.match(line):
            continue
        match = _COPY.fullmatch(line) or _MOUNT.fullmatch(line)
        sources = [word for word in match[1].split() if not word.startswith("--")] if match else []
        place = match[2] if match else ""
        path = _source(sources[0], build, roots) if len(sources) == 1 and "--from=" not in line else None
        if path is None:
            put.update((folder, None) for folder in _named(line))
            continue
        folder, name = os.path.split(place)
        files = put.setdefault(folder, {})
        if files is not None:
            files[name or os.path.basename(path)] = path
    return put


def _named(line: str) -> Iterator[str]:
    """Yield the folders that a line may fill: each path in it, and the folder of that."""
    for path in _PATH.findall(line):
        yield os.path.normpath(path)
        yield os.path.dirname(path)


def _source(name: str, build: str, roots: Iterable[str]) -> str | None:
    """Return the path of a file that a build names; None if it is a folder, several files, or not there."""
    paths = (os.path.normpath(os.path.join(root, name)) for root in (os.path.dirname(build), *roots))
    return next((path for path in paths if os.path.isfile(path)), None)


def above(folder: str) -> tuple[str, ...]:
    """Return a folder and those above it in its tree, relative to the working directory if the folder is."""
    names = [os.path.abspath(folder)]
    while os.path.dirname(names[-1]) not in ("/", names[-1]):  # the root has all trees
        names.append(os.path.dirname(names[-1]))
    tops = (index for index, name in enumerate(names) if any(os.path.exists(f"{name}/{top}") for top in _TOPS))
    homes = (index for index, name in enumerate(names) if os.path.exists(f"{name}/{MAIN}"))
    roots = (index for index, name in enumerate(names[:-1], start=1) if os.path.basename(name) == "etc")
    inside = names[: next(tops, max(next(homes, 0), next(roots, 0))) + 1]
    return tuple(inside) if folder.startswith("/") else tuple(map(os.path.relpath, inside))


def _is_installed(path: str) -> bool:
    """Return whether a path is below one of `INSTALLED`, by its name or where its links lead."""
    names = ((os.path.abspath(path), place) for place in INSTALLED)
    real = ((os.path.realpath(path), os.path.realpath(place)) for place in INSTALLED)
    return any(_is_below(name, place) for name, place in (*names, *real))


def own_prefix(names: Iterable[str]) -> str:
    """Return the own prefix that the includes of a main file show; `/etc/nginx` if they show none."""
    return next((prefix for name in names for prefix in _prefixes(os.path.normpath(name))), INSTALLED[0])


def _prefixes(path: str) -> Iterator[str]:
    """Yield the folders of packages that a path is below, and the one with the name of a server."""
    yield from (folder for folder in INSTALLED if _is_below(path, folder))
    server = _SERVER.match(path)
    if server and server[1] not in INSTALLED:
        yield server[1]


def leads_to_installed(path: str) -> bool:
    """Return whether a file is a link to what this machine has installed, from a folder that is not installed."""
    return os.path.islink(path) and _is_installed(os.path.realpath(path)) and not _is_installed(os.path.dirname(path))


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def may_read_more(config: Config, include: Directive) -> bool:
    """Return whether an `include` could not be read, or may read other files where the configuration is installed."""
    if not include.args:
        return False
    name = str(include.args[0])
    if config.is_missing(include):
        return True
    files = config.included(include)
    if is_whole_dump(config.origin):
        return False
    if not files:
        root = rooted(config.origin)
        here = name if root is None else root.here(name)
        return not _is_where_read(config) or not has_folder(config.prefix, here)
    if is_dump(config.origin) or _is_where_read(config):
        return False
    if is_moved(config, include):
        return not all(_is_in_tree(config, file.path) for file in files)
    is_certain = not is_pattern(name) and not os.path.isabs(name)  # noqa: PTH117 - a path is text here
    return not is_certain and not all(_is_inside(config, file.path) for file in files)


def is_moved(config: Config, include: Directive) -> bool:
    """Return whether the path of an include was looked for in the tree around the main file instead of as written."""
    around = tree(config.origin)
    return around is not None and around.installed(str(include.args[0])) is not None


def is_of_machine(config: Config, include: Directive) -> bool:
    """Return whether an include of a copy reads files of this machine that are not in its tree."""
    around = tree(config.origin)
    if around is None or around.is_installed:
        return False
    return any(not around.has(file.path) for file in config.included(include))


def is_borrowed(config: Config, path: str) -> bool:
    """Return whether a file that a configuration includes is one of this machine's, and not of its tree."""
    around = tree(config.origin) if any(map(path.endswith, STOCK)) else None  # few have such names
    return around is not None and not around.is_installed and _is_installed(path) and not around.has(path)


def _is_in_tree(config: Config, path: str) -> bool:
    around = tree(config.origin)
    return around is not None and around.has(path)


def _is_where_read(config: Config) -> bool:
    """Return whether a configuration on the disk is where the nginx of this machine, or of a tree, reads it."""
    root = rooted(config.origin)
    if root is not None:
        return root.has(config.main.path)
    return not is_dump(config.origin) and _folder(config.main.path) in INSTALLED


def _is_inside(config: Config, path: str) -> bool:
    """Return whether a file is below the folder of the main file, or below the prefix."""
    trees = (_folder(config.main.path), _absolute(config.prefix or "."))
    return any(_absolute(path).startswith(tree.rstrip("/") + "/") for tree in trees)


def _folder(path: str) -> str:
    return os.path.dirname(_absolute(path))


def _absolute(path: str) -> str:
    """Return an absolute path without `..` and double slashes; links stay, as an include names a file by them."""
    return os.path.abspath(path)
