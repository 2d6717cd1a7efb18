"""The directives that others declare besides those of nginx, in tables like that of nginx's own.

- `vendors/plus.tsv`: NGINX Plus, as crossplane and nginx.org/en/docs name them, as its source is not public.
- `vendors/older.tsv`: what nginx had before the oldest release of its own table.
- `vendors/modules.tsv`: the most common modules of third parties, by their source.

Where places are missing, these are not known. The tables are incomplete.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from nginxopt.facts.declarations import Declaration, lines, parse

OLDER = "older"
PLUS = "plus"
MODULES = "modules"


@cache
def names(vendor: str) -> frozenset[str]:
    """Return the directives in the table of a vendor."""
    return frozenset(_lines(vendor))


@cache
def declarations(vendor: str, name: str) -> tuple[Declaration, ...]:
    """Return what a vendor declares of a directive; empty if it has none of that name."""
    return tuple(map(parse, _lines(vendor).get(name, ())))


@cache
def _lines(vendor: str) -> Mapping[str, list[str]]:
    return lines(f"vendors/{vendor}.tsv")
