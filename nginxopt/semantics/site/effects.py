"""Classifies the directives that the request model does not simulate by their effect on the outcome of a request.

Some have no effect. For others, the model reports that it does not know the outcome from a certain point on. Directives
that are not listed here may do anything and do it first, as an unknown module may answer in any phase.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Literal

from nginxopt.facts import fact, known
from nginxopt.records import record
from nginxopt.semantics.directives import NAMES
from nginxopt.text.display import unicode

When = Literal["first", "in order", "after", "body", "headers", "response"]
"""When a directive that is not simulated takes effect.

- `first`: before the rewrite script of a level.
- `in order`: at its place in the script.
- `after`: after the script, before or as the handler.
- `body`, `headers`, `response`: on the outgoing response: its body, its headers except `Location`, or all of it.
"""


@record(eq=True)
class Effect:
    """The effect of a directive that is not simulated.

    `reason` is a phrase that names the cause in messages. `is_inherited`: whether inner locations inherit it.
    """

    when: When
    reason: str
    is_inherited: bool = True


_WHEN: Mapping[str, When] = {
    "first": "first",
    "in order": "in order",
    "after": "after",
    "content": "after",
    "body": "body",
    "headers": "headers",
    "response": "response",
}
"""When directives take effect, by the column `model` of their facts."""

_SIMULATED = ("read", "structure", "opaque")

_MODULES = {"_by_lua": "Lua", "js_": "JavaScript", "perl": "Perl"}


def effect(name: str, args: tuple[str, ...] = ()) -> Effect | None:
    """Return the effect of a directive; None if it changes no outcome.

    Must not be called for directives that the model reads.
    """
    model = _model(name)
    if is_off(name, args) or not (model in _WHEN or model in ("", *_SIMULATED)):
        return None
    when = _WHEN.get(model, "first")
    if when == "headers" and any("location" in arg.lower() for arg in args):
        when = "response"
    return Effect(when, _reason(name), is_inherited=model != "content")


def is_off(name: str, args: tuple[str, ...]) -> bool:
    """Return whether the arguments of a directive are those with which it has no effect.

    For `ssl_verify_client optional`, this assumes a client without a certificate.
    """
    row = fact(name)
    return bool(args) and row is not None and args[0] in row.off.split()


@cache
def listed() -> frozenset[str]:
    """Return the directives that are not simulated and whose effect is known, be it one or none."""
    return frozenset(name for name in known() if _model(name) not in ("", *_SIMULATED))


def _model(name: str) -> str:
    row = fact(name)
    return row.model if row else ""


def _reason(name: str) -> str:
    for part, language in _MODULES.items():
        if part in name:
            return f"{language} ({name})"
    return f"{name} is not modelled" if name in NAMES or _model(name) else f'unknown directive "{unicode(name)}"'
