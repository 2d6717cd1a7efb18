"""Summarises a compilation for the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import File
from nginxopt.rewrite import premises
from nginxopt.rewrite.kinds.chains import summary as chains
from nginxopt.rewrite.kinds.locations import summary as locations
from nginxopt.rewrite.kinds.maps import summary as maps
from nginxopt.rewrite.options import Readings
from nginxopt.rewrite.planning import LITERAL_READINGS, Dead, Plan, reasons
from nginxopt.rewrite.proof import Proof
from nginxopt.rewrite.uris import percent_encode
from nginxopt.text import Span
from nginxopt.text.plural import count

_BROKEN = "the plan does not come true, which is an error of nginxopt; please report this"
_FEW = 3
"""The number of examples per line."""
_PAYS_FROM = 5
"""The number of rules from which a map costs less: a lookup and a guard cost as much as two to five patterns."""
_MANY = 1_000
"""The largest number of kept rules that are checked for dead ones without -v: 50 ms."""


def lines(compiled: Plan, proof: Proof | None, *, moved_by_literals: int = 0, verbose: bool = False) -> Iterator[str]:
    """Yield the lines of the summary; with `verbose`, one for each rule that stays or never fires.

    `moved_by_literals` is the result of `planning.moved_by_literals`.
    """
    yield _heading(compiled)
    yield from maps.cost(*compiled.cost)
    if compiled.rules or not (compiled.maps.found or compiled.chains.conditions or compiled.locations.locations):
        yield f"  moved       {compiled.moved:>9,}" + (f"  into {count(compiled.keys, 'key')}" if compiled.keys else "")
    if compiled.grouped:
        yield f"  in groups   {compiled.grouped:>9,}  of them: a tree of maps selects the few rules to try"
    for broken in compiled.broken:
        yield f"  error: {_BROKEN}: {broken}"
    yield from _kept(compiled, verbose)
    yield from _dead(compiled, verbose)
    yield from _duplicates(compiled, verbose)
    for name, rules in compiled.changed.items():
        yield f"  declared    {rules:>9,}  {Readings.flag(name)}: {Readings.sentences()[name]}"
    yield from maps.lines(compiled.maps, verbose=verbose)
    yield from chains.lines(compiled.chains, verbose=verbose)
    yield from locations.lines(compiled.locations, verbose=verbose)
    yield from _rows_alone(compiled)
    yield from _missing(compiled, verbose)
    if proof is not None:
        yield from _proof(compiled, proof)
    for premise in premises.of(compiled):
        yield f"  premise  {premise}"
    yield from _hit(compiled)
    yield from _hints(compiled, moved_by_literals)


def _missing(compiled: Plan, verbose: bool) -> Iterator[str]:
    missing = compiled.config.missing
    if missing:
        yield f"  missing     {len(missing):>9,}  no rule moves across a missing file, as it may hold anything"
    for include in missing if verbose else missing[:_FEW]:
        yield f"    {include.source.path}:{include.line} includes {include.args[0]}"
    if not verbose and len(missing) > _FEW:
        yield f"    ... and {len(missing) - _FEW:,} more (-v lists them)"


def _heading(compiled: Plan) -> str:
    others = [maps.heading(compiled.maps)] if compiled.maps.found else []
    others += [chains.heading(compiled.chains)] if compiled.chains.conditions else []
    others += [locations.heading(compiled.locations)] if compiled.locations.locations else []
    parts = ([count(compiled.rules, "rewrite")] if compiled.rules or not others else []) + others
    return f"{compiled.subject.path}: {', '.join(parts)}"


def _rows_alone(compiled: Plan) -> Iterator[str]:
    """Yield what to do with the rows of a file whose map is not known."""
    scope = compiled.config.scope
    rows = 0 if scope.context else sum(row.name.startswith("~") for row in scope.directives)
    if rows:
        named = "row" if rows == 1 else "rows"
        yield f"  regexes     {rows:>9,}  {named} of a map: each lookup without a match tries all of them"
        yield "  hint: name the map that includes them: --context 'map $uri $new', or its nginx.conf with -c"


def _kept(compiled: Plan, verbose: bool) -> Iterator[str]:
    counts = compiled.reasons()
    if not counts:
        return
    yield f"  kept        {counts.total():>9,}"
    why = reasons()
    for reason, rules in counts.most_common():
        yield f"    {rules:>13,}  {reason}: {why[reason]}"
    if compiled.filtered:
        yield f"    {compiled.filtered:>13,}  of them behind a pattern for several, and tried only where it matches"
    if verbose:
        for kept in compiled.kept():
            yield f"    {_rule(kept.file, kept.span)}  [{kept.reason}]"


def _dead(compiled: Plan, verbose: bool) -> Iterator[str]:
    kept = compiled.reasons().total()
    checks_kept = verbose or kept <= _MANY
    dead = list(compiled.dead(among_kept=checks_kept))
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


def _duplicates(compiled: Plan, verbose: bool) -> Iterator[str]:
    duplicates = list(compiled.duplicates())
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


def _proof(compiled: Plan, proof: Proof) -> Iterator[str]:
    if proof.rows:
        yield f"  proved      {proof.rows:>9,}  patterns of maps: the trees answer every value as they did"
    if proof.conditions:
        yield f"  proved      {proof.conditions:>9,}  conditions: no response changes"
    if proof.locations:
        yield f"  proved      {proof.locations:>9,}  regex locations: each URI finds the location that it found before"
    if not proof.rules:
        return
    as_declared = " except as declared" if any(compiled.changed.values()) else ""
    if proof.checked:
        yield f"  proved      {proof.checked:>9,}  URIs decide all others: no response changes{as_declared}"
    else:
        yield f"  proved      {proof.rules:>9,}  rewrites: no response changes"


def _hit(compiled: Plan) -> Iterator[str]:
    before, after = compiled.cost
    if compiled.moved and after.worst < before.worst:
        yield "  a hit on the first rule gets slightly slower, every other request faster"


def _hints(compiled: Plan, moved_by_literals: int) -> Iterator[str]:
    small = sum(1 for part in compiled.parts for run in part.compiled if run.has_maps and len(run.native) < _PAYS_FROM)
    if small:
        yield f"  hint: {count(small, 'run')} of fewer than {_PAYS_FROM} rules, which cost less than a map"
    if moved_by_literals:
        declared = compiled.options.readings
        flags = [Readings.flag(name) for name in LITERAL_READINGS.values() if not getattr(declared, name)]
        yield (
            f"  hint: {moved_by_literals:,} more would move with {' '.join(sorted(flags))}, which declare differences"
        )
