"""Hosts: their names, and where their configurations are. Their contents are read later, by workers."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Protocol

from nginxopt import lazy
from nginxopt.errors import UsageError
from nginxopt.fleet.content import HostContent
from nginxopt.records import record
from nginxopt.settings.file import FILE, PYPROJECT
from nginxopt.text.display import unicode

NOT_HOSTS = frozenset([FILE, PYPROJECT])
"""The names of files with settings."""

_SUFFIXES = lazy.pattern(r"(?:\.(?:conf|dump|nginx|out|txt))+\Z")


class Recipe(Protocol):
    """How to read the configuration of a host, from any machine."""

    def read(self) -> HostContent:
        """Return the configuration. Raises `OSError` or `InputError` if it cannot be read."""

    def __str__(self) -> str:
        """Return the place, for messages."""


@record(eq=True)
class FleetHost:
    """A host, by its name and the place of its configuration. Bytes of a name that are not UTF-8 are escaped."""

    name: str
    recipe: Recipe

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", unicode(self.name))


def named_by(pattern: str, option: str = "--host-from") -> Callable[[str], str | None]:
    """Return a function that finds the host in a path, by `--host-from`; it returns None if the path has no host.

    A pattern is a path that is compared with the end of other paths. It has `{host}` and the wildcards `*` and `?`
    inside a part of the path, and `**` for any parts. A pattern with a group `(?P<host>...)` is a regular expression
    that is searched in the path. Raises `UsageError` for a pattern that names no host.

    """
    if "(?P<host>" in pattern:
        compiled = _compiled(pattern, option)
    elif pattern.count("{host}") == 1:
        compiled = _compiled(rf"(?:\A|/){_translated(pattern)}\Z", option)
    else:
        raise UsageError(f'{option} "{pattern}" names no host', hint="such as {host}/nginx.conf, or (?P<host>...)")

    def host(path: str) -> str | None:
        found = compiled.search(path)
        return found["host"] if found else None

    return host


def default_name(path: str) -> str:
    """Return the name of the host at a path: that of its folder for a `nginx.conf`, else its own without a suffix."""
    folder, _, name = path.rstrip("/").rpartition("/")
    if name == "nginx.conf" and folder:
        return default_name(folder)
    return _SUFFIXES.sub("", name) or name


def _compiled(pattern: str, option: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise UsageError(f'{option} "{pattern}": {error}') from None


def _translated(pattern: str) -> str:
    """Return the regular expression of a path pattern."""
    tokens = {"{host}": "(?P<host>[^/]+)", "**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = re.split(r"(\{host\}|\*\*/|\*\*|\*|\?)", pattern.strip("/"))
    return "".join(tokens.get(part, re.escape(part)) for part in parts)
