"""Who reads a variable: the words of a configuration show most readers, but not those in code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from nginxopt import values
from nginxopt.config import Directive
from nginxopt.model import Model

_CODE = re.compile(r".*_by_lua.*|js_\w+|perl\w*|proxy_wasm|wasm\w*|modsecurity\w*|passenger\w*|pagespeed")


def is_read_by_code(model: Model) -> bool:
    """Return whether something may read any variable by its name, without a word that shows it: Lua, njs, Perl, SSI.

    What was not read may hold such code.
    """
    if not model.is_whole:
        return True
    return any(
        _CODE.fullmatch(directive.name) or (directive.name == "ssi" and values.flag(directive.args[0]) is not False)
        for directive, _ in model.config.outline()
        if directive.args or directive.block is not None
    )


def readers(model: Model, names: Iterable[str]) -> Iterator[Directive]:
    """Yield the directives that have one of these variables in a word; not the `map` that defines it."""
    either = "|".join(map(re.escape, names))
    use = re.compile(rf"\$(?:\{{(?:{either})\}}|(?:{either})(?!\w))", re.IGNORECASE)
    for directive, _ in model.config.outline():
        words = directive.args[:1] if directive.name in ("map", "geo", "split_clients") else directive.args
        if any(use.search(word) for word in words):
            yield directive
