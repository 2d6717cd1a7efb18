"""Names of shared memory zones, which all modules of nginx share, including `stream` and Lua.

nginx rejects a name that two kinds of directives use: "is already declared for a different use"
(ngx_shared_memory_add in ngx_cycle.c).
"""

from __future__ import annotations

from itertools import chain, count

from nginxopt import lazy
from nginxopt.lint.queries.model import Model

_BORDERS = lazy.pattern(r"[:=,;]")


def free_name(model: Model, preferred: str) -> str | None:
    """Return `preferred`, if necessary with a number, as the name of a new zone; None if no name is certain to be free.

    Modules name zones in different ways, so any part of any parameter may be a name in use, except in `upstream` and
    `*_pass` directives. A missing file may use any name, and `:` ends a name.
    """
    if not model.is_whole or _BORDERS.search(preferred):
        return None
    taken = {
        part
        for directive, _ in model.config.walk()
        if directive.name != "upstream" and not directive.name.endswith("_pass")
        for word in directive.args
        for part in _BORDERS.split(word)
    }
    names = chain([preferred], (f"{preferred}_{number}" for number in count(2)))
    return next(name for name in names if name not in taken)
