"""The main file around a fragment: the one that includes it, the one that is named, or the one that comes with nginx.

The text of a file in `sites-enabled`, `conf.d` or `snippets` does not show the blocks around it; the main file does.
This is an `nginx.conf` in a parent folder, or at the usual place of an nginx installation.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from nginxopt.config import roots
from nginxopt.config.configuration import Config, load, load_text
from nginxopt.config.filesystem import DISK, Files
from nginxopt.config.includes import File
from nginxopt.config.places import INSTALLED, tree
from nginxopt.errors import InputError, UsageError
from nginxopt.records import record

_NAMES = ("nginx.conf", "conf/nginx.conf")
"""The paths of a main file in a folder: in its own folder, and in nginx's prefix."""


Load = Callable[[str, Files], Config]
"""A function that reads the main file at a path and its includes. Raises `InputError` if it cannot be read."""


@record(eq=True)
class FoundMain:
    """The main configuration that a file belongs to, and the file in it.

    Attributes:
        config: The whole configuration. Includes of files that do not exist are in its `missing`.
        file: The file in that configuration.
        installed: The folder that stands for the main file's folder in absolute includes (such as `/etc/nginx`); None
            if absolute includes were read as written.
    """

    config: Config
    file: File
    installed: str | None = None


@record(eq=True)
class Alone:
    """The result of `find` if no configuration includes the file; `because` is the reason, as a clause."""

    because: str


def find(path: str, *, prefix: str | None = None, main: str | None = None, files: Files = DISK) -> FoundMain | Alone:
    """Return the configuration that includes the file at `path`.

    `main` is the main file, if known: raises `UsageError` if it does not include the file, `InputError` if it cannot be
    read. Otherwise this is the nearest `nginx.conf` that includes the file: in `prefix`, in the folders above the file
    (and above the target if it is a link), or where packages install it. `files` is the storage.
    """
    if main is not None:
        surroundings = around(path, main, files=files)
        if surroundings is None:
            raise UsageError(f"{main} does not include {path}", hint="-c takes the main configuration, like nginx -c")
        return surroundings
    reasons: list[str] = []
    for candidate in candidates(path, prefix):
        try:
            surroundings = around(path, candidate, files=files)
        except InputError as error:
            reasons.append(f"{candidate} cannot be read ({error.message})")
            continue
        if surroundings is not None:
            return surroundings
        reasons.append(f"{candidate} does not include it")
    return Alone(reasons[0] if reasons else "no nginx.conf in a parent directory")


def candidates(path: str, prefix: str | None) -> Iterator[str]:
    """Yield the main files in places where they may include a file, the nearest first, each once."""
    folders = [] if prefix is None else [Path(prefix)]
    for name in (os.path.abspath(path), os.path.realpath(path)):  # noqa: PTH100 - links of the folders stay
        folders += Path(name).parents
    mains: dict[str, str] = {}
    for folder in [*folders, *map(Path, INSTALLED)]:
        for name in _NAMES:
            candidate = folder / name
            if os.path.isfile(candidate):
                mains.setdefault(DISK.identity(str(candidate)), str(candidate))
    mains.pop(DISK.identity(path), None)
    yield from mains.values()


def _load(main: str, files: Files) -> Config:
    return load(main, missing_ok=True, files=files, roots=roots.beside(main))


def around(path: str, main: str, load: Load = _load, files: Files = DISK) -> FoundMain | None:
    """Return the configuration of a main file if it includes the file at `path`; otherwise None.

    The file may be included at its own path, or at the path that it will have once it is installed
    (`nginxopt.config.places`). Raises `InputError` if the main file cannot be read.
    """
    config = load(main, files)
    try:
        file = config.file(path)
    except KeyError:
        return None
    if config.http is None or file is config.main:
        return None
    return FoundMain(config, file, _installed(config))


def _installed(config: Config) -> str | None:
    """Return the folder for which one of the tree stands in absolute includes."""
    around = tree(config.origin)
    names = (str(include.args[0]) for include in config.includes if include.args)
    return None if around is None else next(filter(None, map(around.installed, names)), None)


# One that is named

STOCK = "stock"
"""The name of the main file that comes with nginx."""

_STOCK_TEXT = b"""\
user nginx;
worker_processes auto;
error_log /var/log/nginx/error.log notice;
pid /run/nginx.pid;
events {
    worker_connections 1024;
}
http {
    types {
        text/html html htm shtml;
        text/css css;
        text/xml xml;
        application/javascript js;
        application/json json;
        image/gif gif;
        image/jpeg jpeg jpg;
        image/png png;
        image/svg+xml svg svgz;
    }
    default_type application/octet-stream;
    log_format main '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent';
    access_log /var/log/nginx/access.log main;
    sendfile on;
    keepalive_timeout 65;
}
"""
"""The nginx.conf of nginx's own packages (pkg-oss, debian/nginx.conf), with the most common types."""


def is_main(name: str) -> bool:
    """Return whether a name that is assumed is that of a main file rather than of a premise."""
    return name == STOCK or os.sep in name or os.path.isfile(name)


def assumed(name: str, files: Files = DISK) -> Config:
    """Return the main configuration at a path of a storage, or the stock one.

    Raises `InputError` for a file that cannot be read, `UsageError` for one without an http block.
    """
    if name == STOCK:
        return load_text(_STOCK_TEXT, "nginx.conf", prefix="/nonexistent", missing_ok=True)
    config = load(name, missing_ok=True, files=files)
    if config.http is None:
        raise UsageError(f"{name} has no http block", hint="name the main file, or assume a stock one")
    return config
