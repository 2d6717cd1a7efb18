"""What others declare besides nginx's directives, in tables like that of nginx, and the nginx they are based on.

- `vendors/plus.tsv`: NGINX Plus, as nginx.org/en/docs and crossplane name them, as its source is not public.
- `vendors/angie.tsv`: Angie, by its source (`docs/directives.py`), with its own releases.
- `vendors/older.tsv`: what nginx had before the oldest release of its own table.
- `vendors/modules.tsv`: the most common modules, by their source or nginx.org/en/docs.
- `vendors/further.tsv`: more modules by their source, whose names, such as `echo`, are no signs of nginx.
- `vendors/releases.tsv`: the releases of vendors, and the nginx they are based on.

Where places are missing, the directives stand in blocks that are none of nginx's, or nobody looked.
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Mapping
from functools import cache

from nginxopt.errors import UsageError
from nginxopt.facts.declarations import Declaration, lines, parse
from nginxopt.version import Version

OLDER = "older"
PLUS = "plus"
ANGIE = "angie"
OPENRESTY = "openresty"
MODULES = "modules"
FURTHER = "further"

VENDORS: Mapping[str, str] = {PLUS: "NGINX Plus", ANGIE: "Angie", OPENRESTY: "OpenResty"}
"""The vendors that a target version may name, such as `plus-R34`, with their full names."""

_BUNDLED = ("lua-nginx-module", "headers-more-nginx-module", "echo-nginx-module")
"""The modules of OpenResty whose directives are in the tables."""


@cache
def names(table: str) -> frozenset[str]:
    """Return the directives in a table of this package."""
    return frozenset(_lines(table))


@cache
def declarations(table: str, name: str) -> tuple[Declaration, ...]:
    """Return what a table declares of a directive; empty if it has none of that name."""
    return tuple(map(parse, _lines(table).get(name, ())))


def target(text: str) -> Version:
    """Return the version that a user states: one of nginx, or the nginx of a vendor, `plus-R34`, `angie-1.10`.

    Of a release without its last number, the newest counts. Raises `UsageError` for what is not known.
    """
    vendor, dash, release = text.strip().lower().partition("-")
    if not dash or vendor not in VENDORS:
        return Version.target(text)
    if vendor == PLUS:
        release = re.sub(r"-p\d+$", "", release).upper()  # R34-P1 repairs R34
    if vendor == OPENRESTY and (numbers := re.match(r"1\.\d+\.\d+", release)):
        return Version(*Version.parse(numbers[0]).numbers, f"{vendor}-{release}")  # its numbers are those of nginx
    known = _releases()[vendor]
    found = [each for each in known if each == release or each.startswith(f"{release}.")]
    if not found:
        raise UsageError(
            f"nginxopt does not know {VENDORS[vendor]} {release}", hint=f"for example {vendor}-{list(known)[-1]}"
        )
    return Version(*known[found[-1]].numbers, f"{vendor}-{found[-1]}")


def vendor_of(version: Version) -> str:
    """Return the vendor of a target version, one of `VENDORS`; empty for nginx itself."""
    return version.build.partition("-")[0]


def declared(version: Version, name: str) -> tuple[Declaration, ...]:
    """Return what the vendor of a version declares of a directive, as far as its source says so."""
    vendor, _, release = version.build.partition("-")
    if vendor == ANGIE:
        return tuple(row for row in declarations(ANGIE, name) if row.is_in(Version.parse(release)))
    if vendor == OPENRESTY:
        rows = declarations(MODULES, name) + declarations(FURTHER, name)
        return tuple(row for row in rows if row.module in _BUNDLED)
    return ()


def may_have(version: Version, name: str) -> bool:
    """Return whether the vendor of a version may have a directive that the nginx it is based on does not have.

    NGINX Plus has had directives before nginx, and no table says since when.
    """
    return vendor_of(version) == PLUS or bool(declared(version, name))


@cache
def _lines(table: str) -> Mapping[str, list[str]]:
    return lines(f"vendors/{table}.tsv")


@cache
def _releases() -> Mapping[str, Mapping[str, Version]]:
    """Return the releases of each vendor, oldest first, with the nginx they are based on."""
    data = pkgutil.get_data("nginxopt.facts", "vendors/releases.tsv")
    assert data is not None, "releases.tsv belongs to the package"
    releases: dict[str, dict[str, Version]] = {}
    for line in data.decode().splitlines()[1:]:
        vendor, release, nginx = line.split("\t")
        releases.setdefault(vendor, {})[release] = Version.parse(nginx)
    return releases
