"""The proof that an emission does what its configuration did.

The native prover reads the emitted text again, from nothing; see `rust/src/prove` for the theorem and for what it
shares with the planner (the lexer, the PCRE translator, the model of nginx's hash tables).
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from nginxopt import _native
from nginxopt.config import Config, File
from nginxopt.rewrite import captures, premises, sections, unread
from nginxopt.rewrite.emission import Change, Emission
from nginxopt.rewrite.planning import Plan
from nginxopt.rewrite.premises import Premise
from nginxopt.text import encode


@dataclass(frozen=True, slots=True)
class Proof:
    """What was decided.

    Attributes:
        holds: Whether every request is answered as before.
        rules: The rules that were compared.
        gone: Those of them that maps answer, or that never fired.
        strings: The URIs on which both texts were run.
        any_case: The URIs that each stood for all spellings of their letters.
        refutation: The obligation that does not hold.
        counterexample: A URI on which the two texts differ, where one was found.
        premises: What it takes as given.
    """

    holds: bool
    rules: int = 0
    gone: int = 0
    strings: int = 0
    any_case: int = 0
    refutation: str | None = None
    counterexample: bytes | None = None
    premises: tuple[Premise, ...] = ()

    @property
    def checked(self) -> int:
        """The URIs on which both texts were run."""
        return self.strings + self.any_case


def prove(emission: Emission) -> Proof:
    """Decide whether `emission` answers every request as the configuration of its plan does. Linear in both texts."""
    plan = emission.plan
    changed = {change.file for change in emission.changes}
    try:
        checked = _native.prove_rewrites(
            [_pair(plan, change) for change in emission.changes],
            [
                (file.source.data, captures.holds_rows(plan.config, file))
                for file in plan.config.files
                if file not in changed and _may_be_http(plan, file)
            ],
            emission.maps,
            readings=plan.options.readings,
            transparent=sorted(sections.transparent()),
            harmless=sorted(captures.harmless()),
            is_complete=unread.is_known(plan.config),
            include=_include(emission),
            may_set_sizes=_may_set_sizes(plan.config),
        )
    except _native.Refuted as refuted:
        what, counterexample = refuted.args
        return Proof(False, refutation=what, counterexample=counterexample and bytes(counterexample))
    relied = premises.of(plan)
    unstated = [premise.name for premise in relied if str(premise).encode() not in emission.maps]
    if unstated:
        return Proof(False, refutation=f"the maps do not state the premise {unstated[0]}")
    return Proof(True, *checked, premises=relied)


def _may_be_http(plan: Plan, file: File) -> bool:
    """Return whether a file may stand in http; variables and sizes of another module are its own."""
    return not all(context[:1] in (("stream",), ("mail",)) for context in plan.config.contexts(file) or [()])


@dataclass(frozen=True, slots=True)
class _Pair:
    """A file for the native prover; see `prove::Pair`."""

    before: bytes
    after: bytes
    in_location: bool
    in_http: bool
    holds_rows: bool
    takes_rules: bool


def _pair(plan: Plan, change: Change) -> _Pair:
    kinds = {context[-1:] for context in plan.config.contexts(change.file)}
    return _Pair(
        change.file.source.data,
        change.after,
        in_location=("location",) in kinds,
        in_http=("http",) in kinds,
        holds_rows=captures.holds_rows(plan.config, change.file),
        takes_rules=_takes_rules(plan, change, kinds),
    )


def _takes_rules(plan: Plan, change: Change, kinds: set[tuple[str, ...]]) -> bool:
    """Return whether the top level of a file takes rules, and an `if` in place of them.

    The main file may be meant for several places: for an `if` only if it cannot be meant for anything else.
    """
    if change.file is plan.config.main and kinds != {("if",)}:
        kinds = kinds - {("if",)}
    return kinds <= {("server",), ("location",)}


def _include(emission: Emission) -> list[bytes] | None:
    """Return the words that have to include the maps; a fragment's user does it outside of what is proved."""
    if emission.plan.config.http is None:
        return None
    return [b"include", os.fsencode(os.path.basename(emission.maps_path or ""))]  # noqa: PTH119


def _may_set_sizes(config: Config) -> set[bytes] | None:
    """Return what the includes name of a http block that is not known whole, where they may lead to sizes of maps.

    None if it is known, or if there is none.
    """
    if config.http is None or unread.is_http_known(config):
        return None
    in_http = [each for scope in config.scope.scopes if scope.context == ("http",) for each in scope.directives]
    includes = [each for each in in_http if each.name == "include"]
    leading = {each for each in includes if config.is_missing(each)}
    sources = {each.source for each in (*leading, *in_http) if each in leading or each.name in _MAP_SIZES}
    while True:
        found = {each for each in includes if any(file.source in sources for file in config.included(each))}
        if found <= leading:
            return {encode(str(each.args[0])) for each in leading}
        leading |= found
        sources |= {each.source for each in found}


_MAP_SIZES = ("map_hash_max_size", "map_hash_bucket_size")
