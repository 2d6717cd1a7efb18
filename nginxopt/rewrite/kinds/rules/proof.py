"""Proves that the emitted text answers every request like the original rules.

The native prover parses the emitted text from scratch. `rust/src/prove` documents the theorem, and lists the code that
prover and planner share (the lexer, the PCRE translator, the model of nginx's hash tables). It compares whole files, so
it also finds that nothing else changes in them.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from nginxopt import _native
from nginxopt.config import Config, File, may_read_more
from nginxopt.records import record
from nginxopt.rewrite import surroundings
from nginxopt.rewrite.kinds.kind import TOO_MUCH, Proved, Refutation
from nginxopt.rewrite.kinds.rules import reading
from nginxopt.text import encode

if TYPE_CHECKING:
    from nginxopt.rewrite.compilation import Plan
    from nginxopt.rewrite.proving import Emission, FileChange

_TOO_MUCH = "the proof takes more work than for lists of this size it may"


def prove(emission: Emission) -> Proved | Refutation:
    """Compare the texts in which all other lists are compiled already. Linear in both."""
    try:
        rules, gone, strings, any_case = _prove(emission)
    except _native.Refuted as refuted:
        what, counterexample = refuted.args
        return Refutation(what, counterexample and bytes(counterexample))
    except _native.TooMuchWork:
        return Refutation(_TOO_MUCH, reason=TOO_MUCH)
    return Proved(rules, gone, strings, any_case)


def _prove(emission: Emission) -> tuple[int, int, int, int]:
    """Return the counts of the native proof of rewrites. Raises `Refuted`."""
    plan = emission.plan
    texts = {change.file: change.before for change in emission.changes}
    pairs = [change for change in emission.changes if change.before != change.after]
    changed = {change.file for change in pairs}
    others = [
        (texts.get(file, file.source.data), surroundings.holds_rows(plan.config, file))
        for file in plan.config.files
        if file not in changed and _may_be_http(plan, file)
    ]
    return _native.prove_rewrites(
        [_pair(plan, change) for change in pairs],
        others + ([(emission.trees, False)] if emission.trees else []),
        emission.maps_of_rewrites,
        emission.groups,
        readings=plan.options.readings,
        transparent=sorted(reading.transparent()),
        harmless=sorted(surroundings.reading_no_captures()),
        rerunning=sorted(surroundings.rerunning()),
        inherited=sorted(surroundings.inherited()),
        quiet=sorted(surroundings.Surroundings.of(plan.config).quiet),
        is_complete=surroundings.is_known(plan.config),
        include=_include(emission),
        may_set_sizes=_may_set_sizes(plan.config),
        compiled=[run.native for run in plan.rules.compiled],
        share=plan.options.effort,
    )


def _may_be_http(plan: Plan, file: File) -> bool:
    """Return whether a file may be in http; stream and mail have variables and sizes of their own."""
    return not all(context[:1] in (("stream",), ("mail",)) for context in plan.config.contexts(file) or [()])


@record(eq=True)
class _Pair:
    """A file for the native prover; see `prove::Pair`."""

    before: bytes
    after: bytes
    in_location: bool
    in_http: bool
    holds_rows: bool
    takes_rules: bool


def _pair(plan: Plan, change: FileChange) -> _Pair:
    kinds = {context[-1:] for context in plan.config.contexts(change.file)}
    return _Pair(
        change.before,
        change.after,
        in_location=("location",) in kinds,
        in_http=("http",) in kinds,
        holds_rows=surroundings.holds_rows(plan.config, change.file),
        takes_rules=_takes_rules(plan, change, kinds),
    )


def _takes_rules(plan: Plan, change: FileChange, kinds: set[tuple[str, ...]]) -> bool:
    """Return whether the top level of a file may contain rules, and an `if` in their place.

    If the main file fits several contexts, it is assumed to be in an `if` only if no other context is possible.
    """
    if change.file is plan.config.main and kinds != {("if",)}:
        kinds = kinds - {("if",)}
    return kinds <= {("server",), ("location",)}


def _include(emission: Emission) -> list[bytes] | None:
    """Return the words of the include of the maps.

    None without maps, and for a fragment, whose user adds the include.
    """
    if emission.maps_path is None:
        return None
    return [b"include", os.fsencode(os.path.basename(emission.maps_path))]  # noqa: PTH119


def _may_set_sizes(config: Config) -> set[bytes] | None:
    """Return the arguments of the includes that may set map hash sizes in an http block with unread files.

    None if all were read, or if there is no http block.
    """
    if config.http is None or surroundings.is_http_known(config):
        return None
    http = [directive for scope in config.scope.scopes if scope.context == ("http",) for directive in scope.directives]
    includes = [directive for directive in http if directive.name == "include"]
    leading = {include for include in includes if may_read_more(config, include)}
    sources = {include.source for include in leading}
    sources |= {directive.source for directive in http if directive.name in _MAP_SIZES}
    while True:
        parents = {include for include in includes if any(file.source in sources for file in config.included(include))}
        if parents <= leading:
            return {encode(str(include.args[0])) for include in leading}
        leading |= parents
        sources |= {include.source for include in parents}


_MAP_SIZES = ("map_hash_max_size", "map_hash_bucket_size")
