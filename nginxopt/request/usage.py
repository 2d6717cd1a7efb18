"""Which servers, locations and rules of a site take part in answering requests, and how often.

Rules are the statements that choose among requests or answer them, and the rows of tables (`map`, `geo`,
`split_clients`), so that the use of a list is known in whichever form it is. A row takes part if its value is computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from nginxopt.records import record
from nginxopt.semantics.site.form import GeoForm, LevelForm, MapForm, Node, SiteForm, StatedForm

Part = Literal["server", "location", "rule"]

PARTS: tuple[Part, ...] = ("server", "location", "rule")

_RULES = ("rewrite", "rewrites", "return", "if")
"""The statements that are rules: those that choose among requests, or answer."""

_PARAMETERS = {
    "map": frozenset(["hostnames", "volatile"]),
    "geo": frozenset(["ranges", "proxy_recursive", "volatile", "proxy", "delete"]),
    "split_clients": frozenset[str](),
}
"""The first words of statements in a table that are parameters, not rows: without a value, or those of `_WITH_VALUE`
with one."""
_WITH_VALUE = frozenset(["proxy", "delete"])


@record(eq=True)
class UsedDirective:
    """A directive, and the number of requests that it took part in."""

    node: Node
    part: Part
    requests: int


@record(eq=True)
class Usage:
    """The servers, locations and rules of a site, in the order of reading."""

    uses: tuple[UsedDirective, ...]

    def of(self, part: Part) -> tuple[UsedDirective, ...]:
        """Return the directives of one kind of part, in the order in which nginx reads them."""
        return tuple(use for use in self.uses if use.part == part)

    def by_use(self, part: Part) -> list[UsedDirective]:
        """Return the directives of one kind of part that were used, the most used first."""
        return sorted((use for use in self.of(part) if use.requests), key=lambda use: -use.requests)

    def unused(self, part: Part) -> list[UsedDirective]:
        """Return the directives of one kind of part that no request used, in the order in which nginx reads them."""
        return [use for use in self.of(part) if not use.requests]


def usage(site: SiteForm, requests: Mapping[Node, int]) -> Usage:
    """Return the use of a site; `requests` are the numbers of requests by the directives that took part in them."""
    nodes: dict[Node, Part] = {server["node"]: "server" for server in site["servers"]}
    for level in site["levels"]:
        if level["kind"] == "location":
            nodes[level["node"]] = "location"
        nodes |= dict.fromkeys(_rules(level), "rule")
    for table in site["variables"]:
        if table["kind"] != "opaque":
            nodes |= dict.fromkeys((row["node"] for row in table["rows"] if _is_row(table, row)), "rule")
    return Usage(tuple(UsedDirective(node, part, requests.get(node, 0)) for node, part in sorted(nodes.items())))


def _rules(level: LevelForm) -> Iterator[Node]:
    for statement in level["script"]:
        if statement["kind"] == "rewrites":
            yield from range(statement["node"], statement["node"] + statement["count"])
        elif statement["kind"] in _RULES:
            yield statement["node"]


def _is_row(table: MapForm | GeoForm, row: StatedForm) -> bool:
    """Return whether a statement in a table is a row rather than a parameter (`ngx_http_map`, `ngx_http_geo`).

    A default is not a row: it is the value if no row applies.
    """
    first, *values = row["args"]
    return first != "default" and (first not in _PARAMETERS[table["kind"]] or bool(values) != (first in _WITH_VALUE))
