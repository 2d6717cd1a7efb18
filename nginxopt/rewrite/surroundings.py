"""Decides from the enclosing blocks which rules may be moved into an `if`.

In a location, a true `if` replaces the configuration of the request by that of the `if` (`ngx_http_script_if_code`).
This inherits everything from the location except `try_files`, headers if `add_header_inherit` is `off`, and the
settings of an earlier `if`.
"""

from __future__ import annotations

from functools import cache

from nginxopt import _native
from nginxopt.config import Block, Bulk, Comment, Config, Directive
from nginxopt.facts import group, known, script
from nginxopt.rewrite.unread import is_known
from nginxopt.semantics.directives import NGINX
from nginxopt.semantics.headers import INHERITANCE

Entering = _native.Entering
"""The rules that may be moved into an `if` that certainly ends the script."""

_SCRIPT = script()
"""The directives of the rewrite module. An `if` with no other directives has the configuration of the location."""

_HEADERS = frozenset(INHERITANCE)


@cache
def inherited() -> frozenset[str]:
    """Return the directives that an `if` inherits, or that have no effect after nginx has chosen the location.

    All modules of nginx except that of `try_files` merge the configuration of a location into that of its `if`s.
    """
    return (NGINX & known()) - group("untried") - _SCRIPT - _HEADERS - {"try_files"}


def inherits_headers(config: Config) -> bool:
    """Return whether every block without headers inherits those of the block around it. True is certain."""
    return is_known(config) and not any(directive.name in INHERITANCE.values() for directive, _ in config.walk())


def of_location(block: Block, *, headers_inherited: bool) -> Entering:
    """Return which rules may be moved into an `if` of a location."""
    nodes = [node for node in block.nodes if not isinstance(node, Comment)]
    if not all(_keeps(node, headers_inherited) for node in nodes):
        return Entering.NOTHING
    return Entering.ALL_BUT_BREAK if any(node.name == "try_files" for node in nodes) else Entering.ALL


def _keeps(node: Directive | Bulk, headers_inherited: bool) -> bool:
    """Return whether a directive of a location also works in an `if` of the location."""
    if isinstance(node, Bulk):
        return node.name == "rewrite"
    if node.name == "if":
        return node.block is not None and all(
            isinstance(inner, Comment) or inner.name in _SCRIPT for inner in node.block.nodes
        )
    if node.name in _HEADERS:
        return headers_inherited
    return node.name == "try_files" or node.name in _SCRIPT or node.name in inherited()
