"""The directives of vendors, and target versions that name one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nginxopt.errors import UsageError
from nginxopt.facts import vendors
from nginxopt.facts.table import declarations
from nginxopt.facts.vendors import target, vendor_of
from nginxopt.semantics import commands
from nginxopt.version import Version
from tests.rows import every_row

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "nginxopt" / "facts" / "vendors"
TABLES = (vendors.OLDER, vendors.MODULES, vendors.FURTHER, *vendors.TABLES)


@every_row("table", TABLES)
def test_every_line_is_read(table: str) -> None:
    """Each line of a table is a declaration, in the order of names, and what nginx has always had is in none."""
    stated = sorted(vendors.names(table))
    assert stated
    for name in stated:
        rows = vendors.declarations(table, name)
        assert all(row.name == name and row.module and row.arguments for row in rows)
        assert (table in vendors.VENDORS and vendors.VENDORS[table].is_fork) or not declarations(name)


def test_every_vendor_has_releases_and_a_table() -> None:
    """Each file of the folder belongs to a vendor or has a name, and a user can state a release of each vendor."""
    files = {file.stem for file in FOLDER.glob("*.tsv")}
    assert files == {*TABLES, "releases"}
    stated = {line.partition("\t")[0] for line in (FOLDER / "releases.tsv").read_text().splitlines()[1:]}
    assert stated == set(vendors.VENDORS)
    settings = (ROOT / "docs" / "guide" / "settings.md").read_text()
    for vendor in vendors.VENDORS:
        example = re.search(rf'"({vendor}-[^"]+)"', settings)
        assert example, f"docs/guide/settings.md names no release of {vendor}"
        assert vendors.vendor_of(vendors.target(example[1])) == vendor


@every_row(
    ("text", "nginx", "build"),
    [
        ("1.22.1", "1.22.1", ""),
        ("plus-R34", "1.27.4", "plus-R34"),
        ("plus-r34-p1", "1.27.4", "plus-R34"),
        ("plus-R9", "1.9.13", "plus-R9"),
        ("angie-1.10", "1.27.5", "angie-1.10.3"),
        ("angie-1.10.0", "1.27.5", "angie-1.10.0"),
        ("angie-1.1", "1.23.3", "angie-1.1.0"),
        ("openresty-1.27", "1.27.1", "openresty-1.27.1"),
        ("tengine-3.1", "1.24.0", "tengine-3.1.0"),
        ("freenginx-1.27.1", "1.27.1", "freenginx-1.27.1"),
        ("openresty-1.27.1.2", "1.27.1", "openresty-1.27.1.2"),
        ("OpenResty-1.21.4.1", "1.21.4", "openresty-1.21.4.1"),
    ],
)
def test_a_target_names_a_vendor(text: str, nginx: str, build: str) -> None:
    """A release of a vendor stands for the nginx that it is based on; without its last number, the newest counts."""
    version = target(text)
    assert (str(version), version.build) == (nginx, build)
    assert vendor_of(version) == build.partition("-")[0]


@every_row("text", ["plus-R99", "plus-34x", "angie-9.9", "openresty-2.0", "tengine-1.4", "angie-", "2.4"])
def test_other_targets_are_refused(text: str) -> None:
    """What no table names is no target; the hint names one that is."""
    with pytest.raises(UsageError) as error:
        target(text)
    assert error.value.hint


def test_builds_compare_by_their_numbers() -> None:
    """The release of a vendor is neither older nor newer than its nginx, and still another one."""
    plus, nginx = target("plus-R34"), Version(1, 27, 4)
    assert plus <= nginx <= plus
    assert not plus < nginx
    assert not plus > nginx
    assert plus != nginx
    assert plus < Version(1, 27, 5)


def test_a_vendor_has_its_directives() -> None:
    """Angie and OpenResty have what their sources say in that release; of NGINX Plus it is not known since when."""
    assert vendors.declared(target("angie-1.12"), "metric_zone")
    assert not vendors.declared(target("angie-1.2"), "metric_zone")
    assert not vendors.declared(target("1.28.0"), "metric_zone")
    assert vendors.declared(target("openresty-1.27"), "content_by_lua_block")
    assert not vendors.declared(target("angie-1.12"), "content_by_lua_block")
    assert vendors.may_have(target("plus-R34"), "sticky")


def test_what_a_vendor_had_before_nginx() -> None:
    """A directive that came into nginx later is no mistake in the release of a vendor that has it already."""
    assert commands.came_after("sticky", target("1.27.5")) is not None
    assert commands.came_after("sticky", target("angie-1.10")) is None
    assert commands.came_after("sticky", target("plus-R34")) is None
    assert commands.came_after("sticky", target("openresty-1.27")) is not None
