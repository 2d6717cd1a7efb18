"""Determines whether anything may read `$1` to `$9` after the rules, so that the result must preserve them.

Some readers are visible in the text. Others look up variables by name at run time: Lua, njs, Perl, SSI, and possibly
any module. So captures count as read unless it is certain that nothing reads them.
"""

from __future__ import annotations

from functools import cache

from nginxopt import lazy
from nginxopt.config import Block, Comment, Config, Directive, File, Scope
from nginxopt.rewrite.unread import is_known
from nginxopt.semantics.directives import NGINX, ROWS

_CAPTURE = lazy.pattern(r"\$\{?[1-9]")

_READERS = lazy.pattern(r"load_module|ssi|perl.*|js_.*|.*_by_lua.*|lua_.*")
"""Directives of nginx that run code, or that load modules that may run code."""

_FOLLOWS_AT_ONCE = frozenset(["set", "return", "break"])
"""The directives that nginx runs in an `if` right after its condition."""


@cache
def harmless() -> frozenset[str]:
    """Return the directives that read no captures except those in their own parameters."""
    return frozenset(name for name in NGINX if not _READERS.fullmatch(name))


def may_be_read(config: Config) -> bool:
    """Return whether a configuration may read `$1` to `$9`. False is certain, True is not."""
    return not is_known(config) or any(_may_read(directive, scope) for directive, scope in config.walk())


def holds_rows(config: Config, file: File) -> bool:
    """Return whether a file is included only in blocks such as `map`, whose statements are not directives."""
    kinds = [context[-1:] for context in config.contexts(file)]
    return bool(kinds) and all(kind and kind[0] in ROWS for kind in kinds)


def _may_read(directive: Directive, scope: Scope) -> bool:
    if scope.context and scope.context[-1] in ROWS:
        # A row with a regex sets them before it reads them.
        return _holds_capture(directive) and not directive.name.startswith("~")
    if directive.name not in harmless():
        return directive.name != "ssi" or directive.args != ("off",)
    if directive.name == "rewrite" or not _holds_capture(directive):
        return False
    here = [parent for parent in scope.parents if parent.source is directive.source]
    return not any(_sets_captures(parent, directive) for parent in here)


def _holds_capture(directive: Directive) -> bool:
    return any("$" in arg and _CAPTURE.search(arg) for arg in directive.args)


def _sets_captures(block: Directive, directive: Directive) -> bool:
    """Return whether `directive` can only read captures that entering `block` has set.

    The statements of an `if` run right after its condition; the captures of a location are read after its rules.
    """
    if block.name == "if":
        return directive.name in _FOLLOWS_AT_ONCE and len(block.args) == 3 and block.args[1] in ("~", "~*")
    is_regex = block.name == "location" and block.args[:1] != () and block.args[0].startswith("~")
    return is_regex and block.block is not None and not _may_have_rules(block.block)


def _may_have_rules(block: Block) -> bool:
    """Return whether a block or an inner block contains or may include a rewrite."""
    return any(
        not isinstance(node, Comment)
        and (
            node.name in ("rewrite", "include")
            or (isinstance(node, Directive) and node.block is not None and _may_have_rules(node.block))
        )
        for node in block.nodes
    )
