"""Summarises a compilation for the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import File
from nginxopt.rewrite import premises
from nginxopt.rewrite.options import Readings
from nginxopt.rewrite.planning import LITERAL_READINGS, Dead, Plan, reasons
from nginxopt.rewrite.proof import Proof
from nginxopt.rewrite.uris import percent_encode
from nginxopt.text import Span
from nginxopt.text.plural import count

REGEX_MAP_RULE = "map-regex-bulk"
"""The rule of `lint` that judges maps with many regular expressions."""
_FEW = 3
"""The number of examples per line."""
_PAYS_FROM = 5
"""The number of rules from which a map costs less: a look-up and a guard cost as much as two to five patterns."""
_MANY = 1_000
"""The largest number of kept rules that are checked for dead ones without -v: 50 ms."""


def lines(compiled: Plan, proof: Proof | None, *, moved_by_literals: int = 0, verbose: bool = False) -> Iterator[str]:
    """Yield the lines of the summary; with `verbose`, one for each rule that stays or never fires.

    `moved_by_literals` is the result of `planning.moved_by_literals`.
    """
    yield f"{compiled.subject.path}: {count(compiled.rules, 'rewrite')}"
    yield f"  moved       {compiled.moved:>9,}" + (f"  into {count(compiled.keys, 'key')}" if compiled.keys else "")
    yield from _kept(compiled, verbose)
    yield from _dead(compiled, verbose)
    yield from _duplicates(compiled, verbose)
    for name, rules in compiled.changed.items():
        yield f"  declared    {rules:>9,}  {Readings.flag(name)}: {Readings.sentences()[name]}"
    yield from _regex_maps(compiled)
    yield from _missing(compiled, verbose)
    if proof is not None:
        yield from _proof(compiled, proof)
    for premise in premises.of(compiled):
        yield f"  premise  {premise}"
    yield from _cost(compiled)
    yield from _hints(compiled, moved_by_literals)


def _missing(compiled: Plan, verbose: bool) -> Iterator[str]:
    missing = compiled.config.missing
    if missing:
        yield f"  missing     {len(missing):>9,}  no rule moves across a missing file, as it may hold anything"
    for include in missing if verbose else missing[:_FEW]:
        yield f"    {include.source.path}:{include.line} includes {include.args[0]}"
    if not verbose and len(missing) > _FEW:
        yield f"    ... and {len(missing) - _FEW:,} more (-v lists them)"


def _regex_maps(compiled: Plan) -> Iterator[str]:
    maps = compiled.regex_maps
    for regex_map in maps:
        name = f"the map {regex_map.variable}" if regex_map.variable else "a map"
        yield f"  regexes     {len(regex_map.rows):>9,}  rows of {name}: each lookup without a match tries all of them"
    if maps:
        yield f"  hint: nginxopt lint --select {REGEX_MAP_RULE} checks maps with many regular expressions"


def _kept(compiled: Plan, verbose: bool) -> Iterator[str]:
    counts = compiled.reasons()
    if not counts:
        return
    yield f"  kept        {counts.total():>9,}"
    why = reasons()
    for reason, rules in counts.most_common():
        yield f"    {rules:>13,}  {reason}: {why[reason]}"
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
    if not proof.rules:
        return
    as_declared = " except as declared" if any(compiled.changed.values()) else ""
    yield f"  proved      {proof.checked:>9,}  URIs decide all others: no response changes{as_declared}"


def _cost(compiled: Plan) -> Iterator[str]:
    before, after = compiled.regexes
    if compiled.moved:
        yield f"  cost        {before:>9,}  patterns tried for a URI that none matches; now {after:,}, plus the maps"
        if after < before:
            yield "              a hit on the first rule gets slightly slower, every other request faster"


def _hints(compiled: Plan, moved_by_literals: int) -> Iterator[str]:
    small = sum(1 for part in compiled.parts for run in part.compiled if len(run.native) < _PAYS_FROM)
    if small:
        yield f"  hint: {count(small, 'run')} of fewer than {_PAYS_FROM} rules, which cost less than a map"
    if moved_by_literals:
        declared = compiled.options.readings
        flags = [Readings.flag(name) for name in LITERAL_READINGS.values() if not getattr(declared, name)]
        yield (
            f"  hint: {moved_by_literals:,} more would move with {' '.join(sorted(flags))}, which declare differences"
        )
