"""What others declare besides nginx's directives, in tables like that of nginx, and the nginx they are based on.

- `vendors/plus.tsv`: NGINX Plus, as nginx.org/en/docs and crossplane name them, as its source is not public.
- `vendors/angie.tsv`: Angie, by its source (`docs/directives.py`), with its own releases.
- `vendors/freenginx.tsv`, `vendors/tengine.tsv`: these forks, by their source, with their own releases.
- `vendors/older.tsv`: what nginx had before the oldest release of its own table.
- `vendors/modules.tsv`: the most common modules, by their source or nginx.org/en/docs.
- `vendors/further.tsv`: more modules by their source, whose names, such as `echo`, are no signs of nginx.
- `vendors/releases.tsv`: the releases of vendors, and the nginx they are based on.

The columns are those of `nginxopt.facts.table.Declaration`, the places those of `PLACES` there. A row without places is
for a directive in blocks that nginx itself does not have, or its places are not known.
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple

from nginxopt.errors import UsageError
from nginxopt.facts.table import Declaration, lines, parse
from nginxopt.facts.table import declarations as nginx_declarations
from nginxopt.version import Version

OLDER = "older"
PLUS = "plus"
ANGIE = "angie"
OPENRESTY = "openresty"
FREENGINX = "freenginx"
TENGINE = "tengine"
MODULES = "modules"
FURTHER = "further"


class Vendor(NamedTuple):
    """A vendor of nginx.

    Attributes:
        name: Its full name.
        image: The last part of the names of its container images.
        has_table: Whether `vendors/` has a table of what it adds.
        is_fork: Whether the releases in that table are its own, and not those of nginx.
    """

    name: str
    image: str
    has_table: bool = True
    is_fork: bool = True


VENDORS: Mapping[str, Vendor] = {
    PLUS: Vendor("NGINX Plus", "nginx-plus", is_fork=False),
    ANGIE: Vendor("Angie", "angie"),
    OPENRESTY: Vendor("OpenResty", "openresty", has_table=False, is_fork=False),
    FREENGINX: Vendor("freenginx", "freenginx"),
    TENGINE: Vendor("Tengine", "tengine"),
}
"""The vendors that a target version may name, such as `plus-R34`; `releases.tsv` has the releases of each."""

TABLES = tuple(vendor for vendor, facts in VENDORS.items() if facts.has_table)
"""The vendors that have a table."""

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

    A release without its last number stands for the newest such release. Raises `UsageError` for an unknown one.
    """
    vendor, dash, release = text.strip().lower().partition("-")
    if not dash or vendor not in VENDORS:
        try:
            return Version.target(text)
        except UsageError as error:
            raise UsageError(error.message, hint=f"{error.hint or ''}, or a vendor's, {_examples()}") from None
    if vendor == PLUS:
        release = re.sub(r"-p\d+$", "", release).upper()  # R34-P1 repairs R34
    if vendor == OPENRESTY and (numbers := re.match(r"1\.\d+\.\d+", release)):
        return Version(*Version.parse(numbers[0]).numbers, f"{vendor}-{release}")  # its numbers are those of nginx
    known = _releases()[vendor]
    found = [each for each in known if each == release or each.startswith(f"{release}.")]
    if not found:
        raise UsageError(
            f"nginxopt does not know {VENDORS[vendor].name} {release}", hint=f"for example {vendor}-{list(known)[-1]}"
        )
    return Version(*known[found[-1]].numbers, f"{vendor}-{found[-1]}")


def _examples() -> str:
    return ", ".join(f"{vendor}-{list(releases)[-1]}" for vendor, releases in _releases().items())


def newest(vendor: str, limit: Version, uses: Iterable[str] = ()) -> Version:
    """Return a release of a vendor: the newest that is based on nginx `limit` or an older one. If that lacks one of the
    directives that a configuration `uses`, the first later release that has all of them."""
    known = [target(f"{vendor}-{release}") for release in _releases()[vendor]]
    early = [release for release in known if release <= limit] or known[:1]
    words = set(uses)
    for release in known[len(early) - 1 :]:
        if all(has(release, word) for word in words):
            return release
    return early[-1]


def has(version: Version, name: str) -> bool:
    """Return whether a release has a directive, as far as tables say so."""
    return any(row.is_in(version) for row in nginx_declarations(name)) or may_have(version, name)


_COMMON = (
    "ngx_http_js_module", "ngx_stream_js_module", "ngx_http_lua_module", "ngx_http_lua_fake_shm_module",
    "ngx_http_upstream_check_module", "ngx_http_concat_module",
    "ngx_http_dyups_module", "ngx_http_proxy_connect_module", "ngx_http_upstream_session_sticky_module",
    "ngx_http_upstream_dynamic_module", "ngx_http_upstream_vnswrr_module", "ngx_http_upstream_iwrr_module",
    "ngx_http_zstd_filter_module", "ngx_http_zstd_static_module", "ngx_http_footer_filter_module",
    "ngx_http_slice_module", "ngx_http_upstream_consistent_hash_module", "ngx_rtsig_module",
)  # fmt: skip
"""Modules of vendors that others add to nginx as well."""
_PURGE = "_cache_purge"


@cache
def signs() -> Mapping[str, str]:
    """Return the directives that one vendor alone has, with that vendor."""
    others = names(OLDER) | names(MODULES) | names(FURTHER)
    found: dict[str, str] = {}
    for vendor in TABLES:
        elsewhere = others.union(*(names(other) for other in TABLES if other != vendor))
        for name in names(vendor) - elsewhere:
            rows = declarations(vendor, name)
            is_common = name.endswith(_PURGE) or any(row.module in _COMMON or not row.places for row in rows)
            if not is_common and not nginx_declarations(name):
                found[name] = vendor
    return found


def vendor_of(version: Version) -> str:
    """Return the vendor of a target version, one of `VENDORS`; empty for nginx itself."""
    return version.build.partition("-")[0]


def declared(version: Version, name: str) -> tuple[Declaration, ...]:
    """Return what the vendor of a version declares of a directive, as far as its source says so."""
    vendor, _, release = version.build.partition("-")
    if vendor in VENDORS and VENDORS[vendor].is_fork:
        return tuple(row for row in declarations(vendor, name) if row.is_in(Version.parse(release)))
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
