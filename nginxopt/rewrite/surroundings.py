"""Decides from the enclosing blocks which rules may stand in an `if`.

In a location, a true `if` replaces the request's configuration by its own (`ngx_http_script_if_code`). That has all
that the location has, but for `try_files`, for headers where `add_header_inherit` is `off`, and for what an earlier
`if` says.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

from nginxopt.config import Block, Bulk, Comment, Config, Directive
from nginxopt.rewrite.unread import is_known
from nginxopt.semantics.directives import NGINX, PLUS
from nginxopt.semantics.headers import INHERITANCE

Entering = Literal["nothing", "all but break", "all"]
"""The rules that may stand in an `if` which certainly ends the script."""

_SCRIPT = frozenset(["break", "if", "return", "rewrite", "set"])
"""The directives of the rewrite module: an `if` that holds nothing else has the location's configuration."""

_HEADERS = frozenset(INHERITANCE)

_NOT_TRIED = re.compile(
    r"include|api|auth_jwt.*|f4f.*|health_check|hls.*|js_.*|perl.*|session_log|status.*|upstream_conf|.*_cache_purge|spdy_.*"
)
"""Directives for which it was not tried whether an `if` inherits them: those of NGINX Plus, and those that run code."""


@cache
def inherited() -> frozenset[str]:
    """Return the directives that an `if` inherits, or that no longer matter once nginx has found the location.

    All modules of nginx merge the configuration of a location with what is around it, but that of `try_files`.
    """
    return frozenset(
        name for name in NGINX - PLUS - _SCRIPT - _HEADERS - {"try_files"} if not _NOT_TRIED.fullmatch(name)
    )


def inherits_headers(config: Config) -> bool:
    """Return whether a block has the headers of the block around it if it adds none; True is certain."""
    return is_known(config) and not any(directive.name in INHERITANCE.values() for directive, _ in config.walk())


def of_location(block: Block, *, headers_inherited: bool) -> Entering:
    """Return which rules may stand in an `if` of a location."""
    nodes = [node for node in block.nodes if not isinstance(node, Comment)]
    if not all(_keeps(node, headers_inherited) for node in nodes):
        return "nothing"
    return "all but break" if any(node.name == "try_files" for node in nodes) else "all"


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
