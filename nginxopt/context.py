"""The contexts of nginx: where a directive may stand, and where a file by itself may be meant to be included.

A context is the tuple of the names of the enclosing blocks: `()` is the main one, `("http", "server")` a
server's. Which directive may stand where is known from crossplane's table, which was made from nginx's
sources (the `NGX_HTTP_SRV_CONF`-like masks of `ngx_command_t`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from crossplane.analyzer import CONTEXTS, DIRECTIVES, NGX_CONF_BLOCK

from nginxopt.errors import UsageError
from nginxopt.tree import Block, Bulk, Directive

Context = tuple[str, ...]

_LOCATION = ("http", "server", "location")


def _full(context: Context) -> Context:
    """crossplane says `("http", "location")` for a location wherever it stands."""
    return _LOCATION + context[2:] if context[:2] == ("http", "location") else context


_MASKS: dict[Context, int] = {_full(tuple(context)): mask for context, mask in CONTEXTS.items()}

_SHORT: dict[str, Context] = {
    "main": (),
    "events": ("events",),
    "http": ("http",),
    "server": ("http", "server"),
    "location": _LOCATION,
    "upstream": ("http", "upstream"),
}


def known() -> tuple[Context, ...]:
    """Return every context of the table, outer ones first."""
    return tuple(sorted(_MASKS, key=lambda context: (len(context), context)))


def stated(context: str | Sequence[str]) -> Context:
    """Return the context a user means: `server`, `http,server`, `("http", "server")`; `UsageError` if none.

    A name by itself is short for the usual place of that block in http.
    """
    names = tuple(name.strip() for name in context.split(",")) if isinstance(context, str) else tuple(context)
    full = _full(_SHORT.get(names[0], names) if len(names) == 1 else names)
    if _flat(full) not in _MASKS:
        raise UsageError(
            f"there is no context {','.join(names)!r} in nginx",
            hint=f"one of {', '.join(_SHORT)}, or block names such as http,server,if",
        )
    return full


def _flat(context: Context) -> Context:
    """Return the context with nested locations as one, as they have the same directives."""
    names = [name for name, before in zip(context, (None, *context), strict=False) if name != before]
    return tuple(names)


def possible(block: Block) -> tuple[Context, ...]:
    """Return the contexts in which every known directive of `block` is allowed, outer ones first.

    Empty if none is known, as in a file of map rows, or if they contradict each other. `include` says
    nothing.
    """
    masks = [_mask(name, is_block) for name, is_block in _names(block.nodes)]
    told = [mask for mask in masks if mask is not None]
    if not told:
        return ()
    return tuple(context for context in known() if all(mask & _MASKS[context] for mask in told))


def _names(nodes: Iterable[object]) -> set[tuple[str, bool]]:
    """Return the distinct directives: name, and whether it has a block."""
    names = set()
    for node in nodes:
        if isinstance(node, Directive):
            names.add((str(node.name), node.block is not None))
        elif isinstance(node, Bulk):
            names.add((node.name, False))
    return names - {("include", False)}


def _mask(name: str, is_block: bool) -> int | None:
    """Return the contexts of a directive as a mask; None if it is not known."""
    if name not in DIRECTIVES:
        return None
    masks = [mask for mask in DIRECTIVES[name] if bool(mask & NGX_CONF_BLOCK) == is_block]
    result = 0
    for mask in masks:
        result |= mask
    return result
