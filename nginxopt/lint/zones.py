"""Shared memory: the names of its zones, which all modules of nginx share, those of `stream` and Lua included.

nginx refuses a name that two kinds of directives use: "is already declared for a different use"
(ngx_shared_memory_add in ngx_cycle.c).
"""

from __future__ import annotations

import re
from itertools import chain, count

from nginxopt.lint.model import Model

_BORDERS = re.compile(r"[:=,;]")


def free_name(model: Model, preferred: str) -> str | None:
    """Return `wanted`, or that with a number, as the name of a new zone; None if no name is surely free.

    Each module has its own way to name a zone, so that any part of any word may be a name that is taken, but for the
    words of an upstream and of what is passed to it. What was not read may have any name; and `:` ends one.
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
