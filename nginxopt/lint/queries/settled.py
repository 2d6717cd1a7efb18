"""Targets whose variable has one value: `set $app http://app; proxy_pass $app;` names the upstream `app`.

nginx looks up the upstream by the value (ngx_http_upstream_init_request), so such a pass uses its pool.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nginxopt import lazy
from nginxopt.facts import group
from nginxopt.semantics import Level

if TYPE_CHECKING:
    from nginxopt.lint.queries.model import Model

_TARGET = lazy.pattern(r"((?:\w+://)?)\$(?:\{(\w+)\}|(\w+))((?:[/?$].*)?)", re.DOTALL)
_DEFINERS = sorted(group("defines") - {"keyval", "num_map", "set"})
_CODE = lazy.pattern(r".*_by_lua.*|perl|js_.*")


def settled(model: Model, level: Level, target: str) -> str | None:
    """Return a target with the value of the variable that it begins with; None if that may have another value."""
    match = _TARGET.fullmatch(target)
    if match is None:
        return None
    scheme, name, rest = match[1], (match[2] or match[3]).lower(), match[4]
    server = level.around("server")
    values = {
        str(directive.args[1])
        for directive, place in model.each("set")
        if len(directive.args) == 2 and _name(directive.args[0]) == name and place.around("server") is server
    }
    if server is None or len(values) != 1 or _is_defined_elsewhere(model, name):
        return None
    (value,) = values
    return None if "$" in value else f"{scheme}{value}{rest}"


def _is_defined_elsewhere(model: Model, name: str) -> bool:
    """Return whether something other than `set` may define a variable: another directive, a group, or code."""
    if any(_CODE.fullmatch(directive.name) for level in model.root.walk() for directive in level.directives):
        return True
    named_group = re.compile(rf"\(\?P?[<']{name}[>']", re.IGNORECASE)
    return any(_name(word) == name for directive, _ in model.each(*_DEFINERS) for word in directive.args) or any(
        named_group.search(word) for level in model.root.walk() for d in level.directives for word in d.args
    )


def _name(word: str) -> str:
    return word.removeprefix("$").strip("{}").lower()
