"""Finds the readers of a variable: the configuration shows most of them, but not those in code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from nginxopt import lazy
from nginxopt.config import Directive, Scope
from nginxopt.lint.queries.model import Model
from nginxopt.semantics.directives import BLOCKS, NAMES

_CODE = lazy.pattern(r".*_by_lua.*|lua_.*|js_.*|perl.*|ssi|.*wasm.*|modsecurity.*|passenger.*|pagespeed.*")


def is_read_by_code(model: Model) -> bool:
    """Return whether Lua, njs, Perl or SSI may read any variable by name, which the configuration does not show.

    An unknown module may run such code. So may a file that was not read: fixes need a premise for that in any case
    (`nginxopt.lint.queries.whole`).
    """
    return any(_is_code(*directive_and_scope) for directive_and_scope in model.config.walk())


def readers(model: Model, names: Iterable[str]) -> Iterator[Directive]:
    """Yield the directives that use one of these variables, without the `map` that defines it."""
    either = "|".join(map(re.escape, names))
    use = re.compile(rf"\$(?:\{{(?:{either})\}}|(?:{either})(?!\w))", re.IGNORECASE)
    for directive, _ in model.config.walk():
        words = directive.args[:1] if directive.name in ("map", "geo", "split_clients") else directive.args
        if any(use.search(word) for word in words):
            yield directive


def _is_code(directive: Directive, scope: Scope) -> bool:
    if not BLOCKS.issuperset(scope.context):
        return False  # a row of a map or similar block
    if directive.name == "ssi":
        return directive.args != ("off",)
    return directive.name not in NAMES or bool(_CODE.fullmatch(directive.name))
