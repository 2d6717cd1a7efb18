"""Whether a configuration is for a build of nginx alone: nothing in it is of a module or a vendor that tables know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache

from nginxopt.facts import vendors
from nginxopt.facts.declarations import names
from nginxopt.semantics.commands import place
from nginxopt.semantics.inherit import Level
from nginxopt.version import Version


@cache
def _of_others() -> frozenset[str]:
    """Return the directives that tables have and nginx never had."""
    tables = (vendors.MODULES, vendors.FURTHER, vendors.PLUS, vendors.ANGIE, vendors.TENGINE, vendors.FREENGINX)
    return frozenset[str]().union(*map(vendors.names, tables)) - _known()


def is_plain(root: Level, target: Version) -> bool:
    """Return whether a main configuration shows no more than nginx: then a name that no table has is unknown to it.

    It shows more if it loads a module, has a directive of a common module or a vendor or several of one that is not
    known, or is for the release of a vendor.
    """
    if root.kind != "main" or root.own("load_module") or vendors.vendor_of(target):
        return False
    levels = (level for level in root.walk() if place(level.kind, level.parent.kind if level.parent else ""))
    used = frozenset[str]().union(*(level.names for level in levels))
    return used.isdisjoint(_of_others()) and not _is_module(used)


def _is_module(used: Iterable[str]) -> bool:
    """Return whether unknown names begin alike, and as none of nginx does: they are those of a module that no table
    has."""
    prefixes = Counter(name.partition("_")[0] for name in used if name not in _known())
    return any(count > 1 and prefix not in _prefixes() for prefix, count in prefixes.items())


@cache
def _known() -> frozenset[str]:
    return names() | vendors.names(vendors.OLDER) | {"include"}


@cache
def _prefixes() -> frozenset[str]:
    return frozenset(name.partition("_")[0] for name in _known())
