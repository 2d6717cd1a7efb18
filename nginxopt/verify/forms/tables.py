"""Definitions of variables by tables, in canonical form: rows that nginx looks up by their keys in one order."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Hashable

from nginxopt.semantics.site.form import GeoForm, MapForm, OpaqueVariableForm
from nginxopt.verify.forms.values import network, variables

_Row = tuple[str, ...]

_RANGES = frozenset(["ranges", "delete", "include", "proxy", "proxy_recursive"])
"""Rows of `geo` that are about the other rows, or about other addresses."""


def content(form: MapForm | GeoForm | OpaqueVariableForm, taken: Collection[str]) -> tuple[Hashable, ...]:
    """Return the content of a definition, without the name of the variable. `taken` as in `canonical_words`."""
    if form["kind"] == "opaque":
        return "opaque", form["variable"], form["reason"], tuple(form["content"])
    source = variables(form["source"] or "$remote_addr", taken)
    rows = tuple(tuple(row["args"]) for row in form["rows"])
    if form["kind"] == "map":
        return "map", source, _of_map(rows, taken)
    return form["kind"], source, _of_geo(rows) if form["kind"] == "geo" else rows


def _of_map(rows: tuple[_Row, ...], taken: Collection[str]) -> tuple[_Row, ...]:
    """Return the rows of a map with those first that are looked up in a table, whatever their order and the case of
    their keys; `hostnames` counts for the rows behind it (`ngx_http_map`).
    """
    rows = tuple((_key(row[0]), *(variables(word, taken) for word in row[1:])) for row in rows)
    if any(row[0] == "hostnames" for row in rows):
        return rows
    plain = sorted(row for row in rows if not row[0].startswith("~") and row != ("default", ""))
    return (*plain, *(row for row in rows if row[0].startswith("~")))


def _key(key: str) -> str:
    if key.startswith("~*"):
        return f"~(?i){key[2:]}"
    return key if key.startswith("~") else key.lower()


def _of_geo(rows: tuple[_Row, ...]) -> tuple[_Row, ...]:
    """Return the rows of a `geo` by their networks, if no network is there twice and no row is about others."""
    if any(row[0] in _RANGES for row in rows):
        return rows
    found = tuple((network(row[0]), *row[1:]) for row in rows)
    names = [row[0] for row in found]
    return tuple(sorted(found)) if len(set(names)) == len(names) and all(map(_is_network, names)) else rows


def _is_network(name: str) -> bool:
    if name == "default":
        return True
    try:
        ipaddress.ip_network(name)
    except ValueError:
        return False
    return True
