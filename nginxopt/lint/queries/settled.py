"""Targets whose variable has one value: `set $app http://app; proxy_pass $app;` names the upstream `app`.

nginx looks up the upstream by the value (ngx_http_upstream_init_request), so such a pass uses its pool.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nginxopt import lazy
from nginxopt.facts import group
from nginxopt.records import record
from nginxopt.semantics import Level

if TYPE_CHECKING:
    from nginxopt.lint.queries.model import Model

_TARGET = lazy.pattern(r"((?:\w+://)?)\$(?:\{(\w+)\}|(\w+))((?:[/?$].*)?)", re.DOTALL)
_DEFINERS = sorted(group("defines") - {"keyval", "num_map", "set"})
_CODE = lazy.pattern(r".*_by_lua.*|perl|js_.*")


_GROUP = lazy.pattern(r"\(\?P?[<'](\w+)[>']")


@record(eq=True)
class DefinedVariables:
    """What may define variables, whose names are in lower case.

    Attributes:
        values: What `set` gives each variable of each server.
        others: The variables that anything else may define: another directive, or a group of a pattern.
        has_code: Whether there is code, which may set any.
    """

    values: dict[tuple[Level, str], set[str]]
    others: set[str]
    has_code: bool


def definitions(model: Model) -> DefinedVariables:
    """Return what may define variables in a model."""
    values: dict[tuple[Level, str], set[str]] = {}
    for directive, place in model.each("set"):
        server = place.around("server")
        if len(directive.args) == 2 and server is not None:
            values.setdefault((server, _name(directive.args[0])), set()).add(str(directive.args[1]))
    others = {_name(word) for directive, _ in model.each(*_DEFINERS) for word in directive.args}
    has_code = False
    for level in model.root.walk():
        for directive in level.directives:
            has_code = has_code or _CODE.fullmatch(directive.name) is not None
            others.update(name.lower() for word in directive.args if "(?" in word for name in _GROUP.findall(word))
    return DefinedVariables(values, others, has_code)


def settled(model: Model, level: Level, target: str) -> str | None:
    """Return a target with the value of the variable that it begins with; None if that may have another value."""
    match = _TARGET.fullmatch(target)
    server = level.around("server")
    if match is None or server is None:
        return None
    scheme, name, rest = match[1], (match[2] or match[3]).lower(), match[4]
    definitions = model.definitions
    values = definitions.values.get((server, name), ())
    if len(values) != 1 or name in definitions.others or definitions.has_code:
        return None
    (value,) = values
    return None if "$" in value else f"{scheme}{value}{rest}"


def _name(word: str) -> str:
    return word.removeprefix("$").strip("{}").lower()
