"""Infers the contexts in which a file may be included from the directives in it.

A context is a tuple of the names of the enclosing blocks: `()` is the main context, `("http", "server")` that of a
server. A directive counts as allowed where any release of nginx allows it, or NGINX Plus does.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_

from nginxopt.config.tree import Block, Bulk, Directive
from nginxopt.errors import UsageError
from nginxopt.facts import vendors
from nginxopt.facts.declarations import PLACES, declarations

Context = tuple[str, ...]

_LOCATION = ("http", "server", "location")


def _full(context: Context) -> Context:
    """Return the context with the server around a location, which crossplane's `("http", "location")` leaves out."""
    return _LOCATION + context[2:] if context[:2] == ("http", "location") else context


_MASKS: dict[Context, int] = {
    _full(() if place == "main" else tuple(place.split("/"))): bit for place, bit in PLACES.items()
}

_BLOCKS = {context[-1] for context in _MASKS if context}
"""The names of the blocks that are contexts."""

_SHORT: dict[str, Context] = {
    "main": (),
    "events": ("events",),
    "http": ("http",),
    "server": ("http", "server"),
    "location": _LOCATION,
    "upstream": ("http", "upstream"),
}


def known() -> tuple[Context, ...]:
    """Return all contexts that nginx knows, outer ones first."""
    return tuple(sorted(_MASKS, key=lambda context: (len(context), context)))


def parse_context(context: str | Sequence[str]) -> Context:
    """Return the context that a user names: `server`, `http,server`, `("http", "server")`.

    A single name stands for the usual place of that block in http. Raises `UsageError` for an unknown context.
    """
    names = tuple(name.strip() for name in context.split(",")) if isinstance(context, str) else tuple(context)
    full = _full(_SHORT.get(names[0], names) if len(names) == 1 else names)
    if _flat(full) not in _MASKS:
        raise UsageError(
            f"unknown context {','.join(names)!r}",
            hint=f"use one of {', '.join(_SHORT)}, or block names such as http,server,if",
        )
    return full


def _flat(context: Context) -> Context:
    """Return the context with nested locations reduced to one: all of them allow the same directives."""
    names = [name for name, before in zip(context, (None, *context), strict=False) if name != before]
    return tuple(names)


def possible(block: Block) -> tuple[Context, ...]:
    """Return the contexts in which every known directive of `block` is allowed, outer ones first.

    If several fit, only those remain in which the fewest directives of inner blocks are misplaced. Empty if no
    directive is known, as in a file of map rows, or if no context allows all of them. Exception: a file with an `http`
    or `events` block is a main configuration, whatever else is in it. `include` and the rows of blocks such as `map`
    are ignored.
    """
    used: set[_Use] = set()
    _collect(block, (), used)
    masks = [(inner, mask) for inner, name, is_block in used if (mask := _mask(name, is_block)) is not None]
    outer = [mask for inner, mask in masks if not inner]
    if not outer:
        return ()
    candidates = [context for context in known() if all(mask & _MASKS[context] for mask in outer)]
    if not candidates and not {("http", True), ("events", True)}.isdisjoint(use[1:] for use in used if not use[0]):
        return ((),)  # a main configuration, whatever else is in it
    faults = {context: sum(_contradicts(context + inner, mask) for inner, mask in masks) for context in candidates}
    return tuple(context for context in candidates if faults[context] == min(faults.values()))


_Use = tuple[Context, str, bool]
"""A directive somewhere in a file: the blocks around it, its name, and whether it has a block."""


def _collect(block: Block, inner: Context, used: set[_Use]) -> None:
    """Add every distinct use of a directive in a block and its inner blocks to `used`."""
    for node in block.nodes:
        if isinstance(node, Directive):
            name = str(node.name)
            if node.block is None:
                used.add((inner, name, False))
                continue
            used.add((inner, name, True))
            if name in _BLOCKS:
                _collect(node.block, _flat((*inner, name)), used)
        elif isinstance(node, Bulk):
            used.add((inner, node.name, False))
    used.discard((inner, "include", False))


def _contradicts(context: Context, mask: int) -> bool:
    """Return whether a context forbids a directive with the places `mask`; False for a block that is not a context."""
    return not mask & _MASKS.get(_flat(context), mask)


def _mask(name: str, is_block: bool) -> int | None:
    """Return the places of a directive as a mask; None for an unknown one."""
    rows = declarations(name) or [
        row for vendor in (vendors.OLDER, vendors.PLUS) for row in vendors.declarations(vendor, name) if row.places
    ]
    if not rows:
        return None
    return reduce(or_, (row.places for row in rows if row.has_block == is_block), 0)
