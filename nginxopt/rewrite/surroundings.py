"""Decides from the enclosing blocks which rules may be moved into an `if`.

In a location, a true `if` replaces the configuration of the request by that of the `if` (`ngx_http_script_if_code`).
This inherits everything from the location except `try_files`, headers if `add_header_inherit` is `off`, and the
settings of an earlier `if`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache

from nginxopt import _native
from nginxopt.config import Block, Bulk, Comment, Config, Directive
from nginxopt.facts import group, known, script
from nginxopt.records import record
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


@record(eq=True)
class Surroundings:
    """What is known of the configuration around all locations.

    Attributes:
        headers_inherited: Whether every block without headers inherits those of the block around it, as far as the
            configuration was read.
        quiet: The arguments of includes whose files, as far as they were read, have nothing that an `if` does not
            inherit.
        is_known: Whether everything was read that may affect HTTP requests.
    """

    headers_inherited: bool
    quiet: frozenset[str]
    is_known: bool

    @classmethod
    def of(cls, config: Config) -> Surroundings:
        """Read them from a configuration."""
        inherited = not any(directive.name in INHERITANCE.values() for directive, _ in config.walk())

        def is_quiet(node: Directive | Bulk, quiet: Collection[str]) -> bool:
            return node.name != "try_files" and _keeps(node, quiet, headers_inherited=inherited)

        return cls(inherited, quiet_includes(config, is_quiet), is_known(config))

    def entering(self, block: Block) -> Entering:
        """Return which rules may be moved into an `if` of a location."""
        nodes = [node for node in block.nodes if not isinstance(node, Comment)]
        if not all(_keeps(node, self.quiet, headers_inherited=self.headers_inherited) for node in nodes):
            return Entering.NOTHING
        return Entering.ALL_BUT_BREAK if any(node.name == "try_files" for node in nodes) else Entering.ALL

    def is_assumed(self, block: Block) -> bool:
        """Return whether that depends on text that was not read: an include, or headers."""
        nodes = (node for node in block.nodes if not isinstance(node, Comment))
        return not self.is_known and any(node.name in _HEADERS or node.name == "include" for node in nodes)


def quiet_includes(config: Config, is_quiet: Callable[[Directive | Bulk, Collection[str]], bool]) -> frozenset[str]:
    """Return the arguments of the includes whose files, as far as they were read, hold only quiet directives.

    `is_quiet` gets a directive, and the arguments of the includes that may be quiet.
    """
    blocks = {
        str(include.args[0]): [file.block for file in config.included(include)]
        for include in config.includes
        if include.args
    }
    quiet = frozenset(blocks)
    while True:
        nodes = {name: [node for block in blocks[name] for node in block.nodes] for name in quiet}
        left = frozenset(
            name
            for name, inner in nodes.items()
            if all(isinstance(node, Comment) or is_quiet(node, quiet) for node in inner)
        )
        if left == quiet:
            return quiet
        quiet = left


def _keeps(node: Directive | Bulk, quiet: Collection[str], *, headers_inherited: bool) -> bool:
    """Return whether a directive of a location also works in an `if` of the location."""
    if isinstance(node, Bulk):
        return node.name == "rewrite"
    if node.name == "include":
        return bool(node.args) and str(node.args[0]) in quiet
    if node.name == "if":
        return node.block is not None and all(
            isinstance(inner, Comment) or inner.name in _SCRIPT for inner in node.block.nodes
        )
    if node.name in _HEADERS:
        return headers_inherited
    return node.name == "try_files" or node.name in _SCRIPT or node.name in inherited()
