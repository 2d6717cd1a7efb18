"""The premises of a compilation: assumptions about nginx that the text of the configuration cannot confirm.

A premise has a name, for reports and tests, and a sentence. The summary, the header of the maps, the report and
`docs/rewrite-to-map.md` state the premises of a plan, and the proof refuses maps that do not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from nginxopt.config import Directive, File
from nginxopt.records import record
from nginxopt.rewrite import unread
from nginxopt.rewrite.kinds.maps.readers import is_program
from nginxopt.rewrite.lengths import Lengths
from nginxopt.semantics.directives import ROWS
from nginxopt.semantics.values import flag

if TYPE_CHECKING:
    from nginxopt.rewrite.compilation import Plan
    from nginxopt.rewrite.kinds.rules.planning import PlannedRun

LONGEST_SUBJECT = 65_536
"""The longest string for which it is known whether PCRE reaches its match limit: 8 of nginx's default buffers."""


@record(eq=True)
class RewritePremise:
    """An assumption that no configuration can confirm; `sentence` states it, without a full stop."""

    name: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.name}: {self.sentence}"


SERVER_CONTEXT = RewritePremise(
    "server-context",
    "the fragment is included in servers only, not in locations (--context location works in both)",
)
HTTP_CONTEXT = RewritePremise("http-context", "the fragment is included in the http block, not in stream")
MAP_BLOCK = RewritePremise("map-block", "one map includes the file of rows, the stated one, and has no other rows")
CAPTURES_AFTER_MAPS = RewritePremise(
    "captures-after-maps",
    "no unread file reads captures ($1 to $9, named groups) after it evaluates one of the compiled maps",
)
EVALUATION_DEPTH = RewritePremise(
    "evaluation-depth",
    "no unread file or program makes nginx nest more than 100 evaluations of variables around the compiled maps",
)
OWN_NAMES = RewritePremise("own-names", "no other part of the configuration uses the variable names of the maps")
TABLE_SIZES = RewritePremise(
    "table-sizes",
    "hash tables have at least nginx's default sizes and those that the result states; nginx -t reports smaller ones",
)
MISSING_SIZES = RewritePremise(
    "missing-sizes",
    "no unread file sets a hash table size that is set here, or one below the default; nginx -t reports it",
)
SERVER_INCLUDES = RewritePremise(
    "server-includes",
    "no unread file includes a changed file of rules, except directly in a server",
)
PCRE_INTERPRETER = RewritePremise(
    "pcre-interpreter",
    "pcre_jit is off, or the JIT compiler of nginx's PCRE has no bug in these patterns",
)
PCRE_JIT = RewritePremise(
    "pcre-jit",
    "pcre_jit is on, and the JIT compiler of nginx's PCRE matches like its interpreter, which depends on the release",
)
LONG_SUBJECTS = RewritePremise(
    "long-subjects",
    "no URI, and no other string that a pattern is matched against, is longer than 65,536 bytes",
)


def _may_nest_more(plan: Plan) -> bool:
    """Whether lookups replace lists, and unread text or programs may evaluate them, or what they read."""
    if not _sources(plan):
        return False
    return not unread.is_known(plan.config) or any(
        is_program(directive) for directive, scope in plan.config.walk() if not ROWS.intersection(scope.context[-1:])
    )


def _has_jit(plan: Plan) -> bool:
    """Whether the configuration turns JIT on (`ngx_core_module`)."""
    return any(map(_turns_jit_on, plan.config.scope.directives))


def _turns_jit_on(directive: Directive) -> bool:
    return directive.name == "pcre_jit" and any(flag(arg) for arg in directive.args)


def _may_have_jit(plan: Plan) -> bool:
    return not _has_jit(plan) and not unread.is_main_known(plan.config)


def _may_have_long_subjects(plan: Plan) -> bool:
    """Whether the configuration allows subjects longer than `LONGEST_SUBJECT`: URIs, or the sources of maps."""
    lengths = Lengths(plan.config)
    return any(lengths.of(source) > LONGEST_SUBJECT for source in {"$uri", *_sources(plan)})


def _sources(plan: Plan) -> set[str]:
    """The values that lookups are made with."""
    return {source for lists in plan.lists.values() for source in lists.sources()}


def _is_compiled_for_a_server(plan: Plan) -> bool:
    return any(run.phase == "server" for part in plan.rules.parts for run in part.compiled)


def _may_be_included_elsewhere(plan: Plan) -> bool:
    """Whether a changed file is known to be included in servers, and may be included elsewhere, too."""
    if unread.is_known(plan.config):
        return False
    parts = (part for part in plan.rules.parts if part.file is not plan.config.main)
    return any(run.phase == "server" and _is_on_top(part.file, run) for part in parts for run in part.compiled)


def _is_on_top(file: File, run: PlannedRun) -> bool:
    """Whether a run is at the top level of its file."""
    blocks = (node.span for node in file.block.unfolded() if node.block)
    return not any(span.start < run.first.start < span.end for span in blocks)


def _may_lack_sizes(plan: Plan) -> bool:
    return bool(plan.maps_name) and plan.config.http is not None and not unread.is_known(plan.config)


_APPLIES: dict[RewritePremise, Callable[[Plan], bool]] = {
    SERVER_CONTEXT: lambda plan: plan.assumed == ("http", "server") and _is_compiled_for_a_server(plan),
    HTTP_CONTEXT: lambda plan: plan.assumed == ("http",),
    MAP_BLOCK: lambda plan: plan.options.around is not None,
    CAPTURES_AFTER_MAPS: lambda plan: bool(plan.maps.compiled) and not unread.is_known(plan.config),
    EVALUATION_DEPTH: _may_nest_more,
    SERVER_INCLUDES: _may_be_included_elsewhere,
    OWN_NAMES: lambda plan: bool(plan.maps_name) and not unread.is_known(plan.config),
    TABLE_SIZES: lambda plan: bool(plan.maps_name) and plan.config.http is None,
    MISSING_SIZES: _may_lack_sizes,
    PCRE_INTERPRETER: _may_have_jit,
    PCRE_JIT: _has_jit,
    LONG_SUBJECTS: _may_have_long_subjects,
}
"""Each premise, with a function that returns whether a plan that moves rules depends on it, in summary order."""

PREMISES = tuple(_APPLIES)
"""All premises."""


def of(plan: Plan) -> tuple[RewritePremise, ...]:
    """Return the premises of a plan: none if it changes nothing."""
    if not plan.changes:
        return ()
    return tuple(premise for premise, applies in _APPLIES.items() if applies(plan))
