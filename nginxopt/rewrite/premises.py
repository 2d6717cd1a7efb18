"""The premises of a compilation: what must hold outside the text that was read, as nothing in it tells.

A premise has a name, for reports and tests, and a sentence. The summary, the header of the maps, the report and
`docs/rewrite-to-map.md` state the premises of a plan, and the proof refuses a text that does not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from nginxopt.config import Directive
from nginxopt.rewrite import sections
from nginxopt.rewrite.planning import Plan
from nginxopt.semantics.values import flag


@dataclass(frozen=True, slots=True)
class Premise:
    """A condition that no configuration tells: `sentence` says what must hold, without a full stop."""

    name: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.name}: {self.sentence}"


SERVER_CONTEXT = Premise(
    "server-context",
    "the fragment is included in a server and not in a location (--context location is right in both)",
)
OWN_NAMES = Premise("own-names", "no other part of the configuration has variables of the names in the maps")
TABLE_SIZES = Premise(
    "table-sizes",
    "nginx's hash tables have its own sizes (with a cache line of 64 bytes) or larger ones, and those of hash.conf if"
    " there is one; nginx -t names variables_hash if it needs more room",
)
PCRE_INTERPRETER = Premise(
    "pcre-interpreter",
    "nginx runs without pcre_jit, or the JIT compiler of its PCRE has no bug in these patterns",
)
PCRE_JIT = Premise(
    "pcre-jit",
    "pcre_jit is on, and the JIT compiler of the PCRE that nginx has answers as its interpreter does: releases differ",
)


def _has_jit(plan: Plan) -> bool:
    """Whether the configuration turns JIT on (`ngx_core_module`)."""
    return any(map(_turns_jit_on, plan.config.scope.directives))


def _turns_jit_on(directive: Directive) -> bool:
    return directive.name == "pcre_jit" and any(flag(arg) for arg in directive.args)


def _may_have_jit(plan: Plan) -> bool:
    return not _has_jit(plan) and not sections.is_known(plan.config)


def _is_compiled_for_a_server(plan: Plan) -> bool:
    return any(run.phase == "server" for part in plan.parts for run in part.compiled)


_APPLIES: dict[Premise, Callable[[Plan], bool]] = {
    SERVER_CONTEXT: lambda plan: plan.assumes_server and _is_compiled_for_a_server(plan),
    OWN_NAMES: lambda plan: not sections.is_known(plan.config),
    TABLE_SIZES: lambda plan: not sections.is_known(plan.config),
    PCRE_INTERPRETER: _may_have_jit,
    PCRE_JIT: _has_jit,
}
"""Each premise, and whether a plan that moves rules depends on it, in the order of the summary."""

PREMISES = tuple(_APPLIES)
"""All premises."""


def of(plan: Plan) -> tuple[Premise, ...]:
    """Return the premises of a plan: none if it changes nothing."""
    if not any(part.compiled for part in plan.parts):
        return ()
    return tuple(premise for premise, applies in _APPLIES.items() if applies(plan))
