"""Which servers and locations write to a log, as `access_log` says."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from nginxopt import lazy
from nginxopt.semantics import Level
from nginxopt.semantics.site import LoweredSite
from nginxopt.semantics.site.form import Node

_ROTATED = lazy.pattern(r"(?:[.-][0-9_-]+)?(?:\.(?:gz|zst))?\Z")
_VARIABLE = lazy.pattern(r"\\\$(?:\\\{\w+\\\}|\w+)")
_DEFAULT = "access.log"
"""The log of a configuration without `access_log`."""


@dataclass(frozen=True)
class LogPlaces:
    """The levels of a site that write to certain files.

    The folders and rotation suffixes of the files are left out, as logs are often copied. Where no level writes to any
    file of these names, all levels that write anywhere are taken as those that do.
    """

    site: LoweredSite
    paths: tuple[str, ...]

    @cached_property
    def levels(self) -> frozenset[int]:
        """The levels that write every request to one of the files, by number."""
        names = {log_name(path) for path in self.paths}
        targets = [list(_targets(level)) for level in self.site.levels]
        own = [any(_is_named(target, name) for target in each for name in names) for each in targets]
        chosen = own if any(own) else [bool(each) for each in targets]
        return frozenset(number for number, writes in enumerate(chosen) if writes)

    @cached_property
    def servers(self) -> frozenset[int]:
        """The servers of which a level writes to one of the files, by number."""
        servers = self.site.site["servers"]
        return frozenset(number for number, server in enumerate(servers) if server["level"] in self._around)

    def logs_here(self, node: Node) -> bool:
        """Return whether a directive may take part in requests that the logs have; a row of a table may always."""
        level = self._level_of.get(node)
        return level is None or level in self._around

    @cached_property
    def _level_of(self) -> dict[Node, int]:
        """The level of each server, location and statement."""
        found: dict[Node, int] = {}
        for number, level in enumerate(self.site.site["levels"]):
            for statement in level["script"]:
                last = statement["count"] if statement["kind"] == "rewrites" else 1
                found |= dict.fromkeys(range(statement["node"], statement["node"] + last), number)
            if level["kind"] in ("server", "location"):
                found[level["node"]] = number
        return found

    @cached_property
    def _around(self) -> frozenset[int]:
        """The levels that write, and those around them."""
        forms = self.site.site["levels"]
        found: set[int] = set()
        for level in self.levels:
            outer: int | None = level
            while outer is not None and outer not in found:
                found.add(outer)
                outer = forms[outer]["parent"]
        return frozenset(found)


def log_name(path: str) -> str:
    """Return the name of a log without its folder, and without what rotation adds to it."""
    return _ROTATED.sub("", os.path.basename(path))  # noqa: PTH119 - a name of any file


def _targets(level: Level) -> Iterator[str]:
    """Yield the files that a level writes all its requests to."""
    setting = level.setting("access_log")
    if not setting.is_set:
        yield _DEFAULT
    for directive in setting.directives:
        args = [str(arg) for arg in directive.args]
        if args and args[0] != "off" and not any(arg.startswith("if=") for arg in args):
            yield args[0]


def _is_named(target: str, name: str) -> bool:
    """Return whether a file of a configuration, whose name may have variables, has a name."""
    pattern = _VARIABLE.sub(".*", re.escape(os.path.basename(target)))  # noqa: PTH119
    return re.fullmatch(pattern, name) is not None
