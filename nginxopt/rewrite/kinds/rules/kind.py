"""Rewrites as a kind of list."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nginxopt.config import File
from nginxopt.rewrite.kinds.kind import (
    TOO_MUCH,
    HttpPart,
    Kind,
    Offsets,
    PlanRequest,
    Proved,
    Readings,
    Refutation,
    remedy,
)
from nginxopt.rewrite.kinds.rules import planning, proof
from nginxopt.rewrite.kinds.rules.planning import Dead, PlannedRun, RulesPlan, reasons
from nginxopt.text import Edit, Span
from nginxopt.text.display import count, percent_encode

if TYPE_CHECKING:
    from nginxopt.rewrite.compilation import Plan
    from nginxopt.rewrite.kinds.kind import Question
    from nginxopt.rewrite.proving import Emission

_FEW = 3
"""The number of examples per line."""
_MANY = 1_000
"""The largest number of kept rules that are checked for dead ones without -v: 50 ms."""

# Such a change may alter responses, which is why only the user can decide on it.
RULE_REMEDIES: Mapping[str, str] = {
    "no-flag": "end the rule with `last`, if no later rule is for the URI that it writes",
    "break-redirect": "write `redirect` for `break`",
    "unanchored": "begin the pattern with `^`, if it is meant for URIs that begin so",
    "prefix": "end the pattern with `$`, if it is meant for this URI only",
    "unescaped-dot": r"write `\.` for a dot that is meant as one",
    "too-many-strings": "state --max-strings, which may be up to 1,024",
    "pattern-not-understood": "write the pattern without look-arounds and references to groups",
    "pcre-dependent": "write what every PCRE reads alike, such as `{0,3}` for `{,3}`",
    "behind-pcre-dependent": "write the earlier rule so that every PCRE reads it alike, such as `{0,3}` for `{,3}`",
    "named-capture": "write `(...)` and `$1` for the named group, if nothing else reads its variable",
    "captures-in-location": "write `(?:...)` for groups whose text nothing reads",
    "empty-target": "begin the target with text, such as `/`",
    "capture-escaping": "write a rule for each string, with the captured text in its target",
    "capture-case": "leave out `(?i)`, if one spelling is meant",
    "capture-variable": "write a rule for each string, with the captured text in its target",
    "case-overlap": "put the rule before the one that stays, if both are meant for different URIs",
    "match-limit": "write `[^/]+` for a `.+` before a slash in the earlier rule, so that PCRE has one way to match it",
    "backtracking": "write `[^/]+` for a `.+` before a slash, so that PCRE has one way to match it",
    "inside-if": "put the rules before the `if`, if they are meant for all requests",
}
"""What to change by hand, so that a rewrite moves: by the code of the reason for which it stays."""


class Rules(Kind[RulesPlan]):
    """Rewrites that nginx tries in sequence become keys of maps, or stay in groups that a tree of maps selects."""

    name = "rules"
    counted = "rules"

    def plan(self, asked: PlanRequest, changing: Offsets) -> RulesPlan:  # noqa: ARG002 - it comes first
        """Plan the rewrites."""
        return planning.plan(asked)

    def edits(self, plan: RulesPlan, maps_name: str) -> Mapping[File, Sequence[Edit]]:
        """Return the edits that replace rules."""
        return planning.edits(plan, maps_name)

    def http(self, plan: RulesPlan) -> HttpPart:
        """Return the trees of groups."""
        return planning.http(plan)

    def begun(self, plan: RulesPlan, head: bytes) -> bytes:
        """Return a text with the maps of keys. There may be a million keys."""
        return planning.maps(plan, head)

    def moved_in_words(self, plan: RulesPlan) -> str:
        """Return the number of rules that move."""
        return count(plan.moved, "rewrite") if plan.moved else ""

    def note(self, plan: RulesPlan) -> str:
        """Return what the keys of the maps are."""
        return planning.KEYS_NOTE if plan.moved else ""

    def prove(self, emission: Emission) -> Proved | Refutation:
        """Prove that rules and the rest of the files answer as before, unless the proof of maps alone shows that."""
        return Proved() if emission.plan.changing == {"maps"} else proof.prove(emission)

    def fallback(
        self, plan: RulesPlan, refutation: Refutation, prove: Callable[[RulesPlan], Proved | Refutation]
    ) -> RulesPlan | None:
        """Return a plan with fewer runs if the proof took too much work, otherwise one without groups."""
        if refutation.of is not None:
            return None
        if refutation.reason == TOO_MUCH and plan.compiled:
            return _within_bounds(plan, prove)
        if plan.grouped or plan.filtered:
            return replace(planning.without_groups(plan), unproved=refutation.what)
        return None

    def questions(self, emission: Emission) -> list[Question]:
        """Return the comparisons of runs: one for all runs of a fragment, otherwise one for each run."""
        from nginxopt.rewrite.kinds.rules import differential

        return list(differential.questions(emission))

    def uris(self, emission: Emission) -> Iterator[bytes]:
        """Yield URIs that rules match, and some near them."""
        from nginxopt.rewrite.kinds.rules import differential

        return differential.uris(emission.plan.rules)

    def heading(self, plan: RulesPlan) -> str:
        """Return the number of rewrites, in words."""
        return count(plan.total, "rewrite")

    def result(self, planned: Plan) -> Iterator[str]:
        """Yield what moves, unless the configuration has other lists only."""
        plan = planned.rules
        if plan.total or not any(other.total for other in planned.lists.values()):
            yield f"  moved       {plan.moved:>9,}" + (f"  into {count(plan.keys, 'key')}" if plan.keys else "")
        if plan.grouped:
            yield f"  in groups   {plan.grouped:>9,}  of them: a tree of maps selects the few rules to try"

    def lines(self, planned: Plan, *, verbose: bool) -> Iterator[str]:
        """Yield what stays, with the reasons, and which rules never fire."""
        plan = planned.rules
        yield from _kept(plan, verbose)
        yield from _dead(plan, verbose)
        yield from _duplicates(plan, verbose)
        for name, rules in plan.changed.items():
            yield f"  declared    {rules:>9,}  {Readings.flag(name)}: {Readings.sentences()[name]}"

    def proof_lines(self, planned: Plan, proved: Proved) -> Iterator[str]:
        """Yield how many URIs or rules were compared."""
        if not proved.lists:
            return
        as_declared = " except as declared" if any(planned.rules.changed.values()) else ""
        checked = proved.strings + proved.any_case
        if checked:
            yield f"  proved      {checked:>9,}  URIs decide all others: no response changes{as_declared}"
        else:
            yield f"  proved      {proved.lists:>9,}  rewrites: no response changes"

    def report(self, planned: Plan) -> dict[str, Any]:
        """Return the figures, the rules that move, stay and never fire, and the files that no rule moves across."""
        plan, why = planned.rules, reasons()
        return {
            "rules": plan.total,
            "moved": plan.moved,
            "keys": plan.keys,
            "moved_rules": [_place(file, span) for file, span in plan.moved_rules()],
            "kept": [
                {**_place(kept.file, kept.span), "reason": kept.reason, "why": why[kept.reason]} for kept in plan.kept()
            ],
            "dead": [
                {
                    **_place(dead.file, dead.span),
                    "shadowed_by": None if dead.by is None else _line(dead.file, dead.by),
                    "witness": None if dead.witness is None else percent_encode(dead.witness).decode("ascii"),
                    "removed": dead.removed,
                }
                for dead in plan.dead()
            ],
            "duplicates": [
                {**_place(duplicate.file, duplicate.span), "of": _line(duplicate.file, duplicate.of)}
                for duplicate in plan.duplicates()
            ],
            "missing": [
                {"file": include.source.path, "line": include.line, "includes": str(include.args[0])}
                for include in planned.config.missing
            ],
        }


RULES = Rules()


def _within_bounds(plan: RulesPlan, prove: Callable[[RulesPlan], Proved | Refutation]) -> RulesPlan:
    """Return the plan without the runs with which the proof takes too much work, so that few stay.

    Adds runs to those that can be proved together, and halves a part with which the proof would take too much work.
    """
    lists = plan.compiled
    proved: list[PlannedRun] = []

    def with_only(runs: Sequence[PlannedRun]) -> RulesPlan:
        return plan.without_runs([run for run in lists if run not in runs], TOO_MUCH)

    def takes_little(runs: Sequence[PlannedRun]) -> bool:
        result = prove(with_only(runs))
        return not (isinstance(result, Refutation) and result.reason == TOO_MUCH)

    def add(runs: Sequence[PlannedRun]) -> None:
        if len(runs) < len(lists) and takes_little([*proved, *runs]):
            proved.extend(runs)
        elif len(runs) > 1:
            add(runs[: len(runs) // 2])
            add(runs[len(runs) // 2 :])

    add(lists)
    return with_only(proved)


def _kept(plan: RulesPlan, verbose: bool) -> Iterator[str]:
    counts = plan.reasons()
    if not counts:
        return
    yield f"  kept        {counts.total():>9,}"
    why = reasons()
    for place, (reason, rules) in enumerate(counts.most_common()):
        yield f"    {rules:>13,}  {reason}: {why[reason]}"
        if verbose or not place:
            yield from remedy(RULE_REMEDIES, reason)
    if plan.filtered:
        yield f"    {plan.filtered:>13,}  of them behind a pattern for several, and tried only where it matches"
    if verbose:
        for kept in plan.kept():
            yield f"    {_rule(kept.file, kept.span)}  [{kept.reason}]"


def _dead(plan: RulesPlan, verbose: bool) -> Iterator[str]:
    kept = plan.reasons().total()
    checks_kept = verbose or kept <= _MANY
    dead = list(plan.dead(among_kept=checks_kept))
    if dead:
        yield f"  dead        {len(dead):>9,}  never the first to match"
        for rule in dead if verbose else dead[:_FEW]:
            yield f"    {_rule(rule.file, rule.span)}  {_shadow(rule)}"
        if not verbose and len(dead) > _FEW:
            yield f"    ... and {len(dead) - _FEW:,} more (-v lists them)"
    if not checks_kept:
        yield f"  not checked for dead rules: the {kept:,} that stay (use -v)"


def _shadow(rule: Dead) -> str:
    if rule.by is None or rule.witness is None:
        return "[matches no URI]"
    line = rule.file.source.position(rule.by.start).line
    return f"[line {line} matches {percent_encode(rule.witness).decode()} first]"


def _duplicates(plan: RulesPlan, verbose: bool) -> Iterator[str]:
    duplicates = list(plan.duplicates())
    if not duplicates:
        return
    yield f"  duplicates  {len(duplicates):>9,}"
    for rule in duplicates if verbose else duplicates[:_FEW]:
        line = rule.file.source.position(rule.of.start).line
        yield f"    {_rule(rule.file, rule.span)}  [as line {line}]"
    if not verbose and len(duplicates) > _FEW:
        yield f"    ... and {len(duplicates) - _FEW:,} more (-v lists them)"


def _rule(file: File, span: Span) -> str:
    text = " ".join(file.source.text(span).split()).encode("utf-8", "replace").decode()
    shown = text if len(text) <= 70 else f"{text[:69]}…"
    return f"{file.path}:{file.source.position(span.start).line}: {shown}"


def _place(file: File, span: Span) -> dict[str, Any]:
    text = file.source.data[span.start : span.end].decode("utf-8", "backslashreplace")
    return {"file": file.path, "line": _line(file, span), "text": text}


def _line(file: File, span: Span) -> int:
    return file.source.position(span.start).line
