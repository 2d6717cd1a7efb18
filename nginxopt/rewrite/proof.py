"""Proves that the emitted text answers every request like the original configuration.

The native prover parses the emitted text from scratch. `rust/src/prove` documents the theorem, and lists the code that
prover and planner share (the lexer, the PCRE translator, the model of nginx's hash tables).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import replace

from nginxopt import _native
from nginxopt.config import Config, File, may_read_more, reread
from nginxopt.errors import InputError
from nginxopt.records import record
from nginxopt.rewrite import captures, premises, sections, surroundings, unread
from nginxopt.rewrite.emission import Emission, FileChange, emit
from nginxopt.rewrite.evaluations import Evaluations
from nginxopt.rewrite.kinds.chains.planning import CompiledChain
from nginxopt.rewrite.kinds.locations.planning import CompiledRun
from nginxopt.rewrite.kinds.maps.planning import CompiledMap
from nginxopt.rewrite.limits import exceeded
from nginxopt.rewrite.planning import Plan, PlannedRun, without_groups, without_runs
from nginxopt.rewrite.premises import Premise
from nginxopt.rewrite.refutation import PartRefutation
from nginxopt.text import encode


@record(eq=True)
class Proof:
    """The result of a proof.

    Attributes:
        holds: Whether every request is answered as before.
        rules: The number of rules compared.
        gone: The number of rules removed, because a map replaces them or because they never fired.
        strings: The number of URIs on which both texts were run.
        any_case: The number of these URIs that stand for all spellings in upper and lower case.
        rows: The number of map patterns that were compared with their trees.
        refutation: The part of the proof that does not hold.
        counterexample: A URI on which the two texts differ, if one is known.
        of: The map, chain of `if`s or run of locations whose new form is refuted, if it is one of these.
        reason: The code of the reason for which that part stays.
        conditions: The number of conditions of chains that were compared with their lookups.
        locations: The number of regex locations that were compared with their groups.
        premises: The assumptions of the proof.
        is_too_much: Whether the proof of the rewrites took more work than it may.
    """

    holds: bool
    rules: int = 0
    gone: int = 0
    strings: int = 0
    any_case: int = 0
    rows: int = 0
    refutation: str | None = None
    counterexample: bytes | None = None
    of: CompiledMap | CompiledChain | CompiledRun | None = None
    reason: str = "unproved"
    premises: tuple[Premise, ...] = ()
    conditions: int = 0
    locations: int = 0
    is_too_much: bool = False

    @property
    def checked(self) -> int:
        """The number of URIs on which both texts were run."""
        return self.strings + self.any_case


def prove(emission: Emission) -> Proof:
    """Prove that an emission answers every request like the configuration of its plan. Linear in both texts."""
    plan = emission.plan
    refutation = _refutation_of_maps(emission) or _refutation_of_chains(emission) or _refutation_of_locations(emission)
    if refutation is not None:
        return _refuted(refutation)
    try:
        is_asked = not _is_of_maps_alone(emission) or not plan.maps.compiled
        checked = _rewrites(emission) if is_asked else (0, 0, 0, 0)
    except _native.Refuted as refuted:
        what, counterexample = refuted.args
        return Proof(False, refutation=what, counterexample=counterexample and bytes(counterexample))
    except _native.TooMuchWork:
        what = "the proof takes more work than for lists of this size it may"
        return Proof(False, refutation=what, is_too_much=True)
    if (of_whole := _refutation_of_whole(emission)) is not None:
        return _refuted(of_whole)
    assumed = premises.of(plan)
    unstated = [premise.name for premise in assumed if str(premise).encode() not in emission.maps]
    if unstated and emission.maps:
        return Proof(False, refutation=f"the maps do not state the premise {unstated[0]}")
    rows, conditions, in_groups = plan.maps.moved, plan.chains.moved, plan.locations.moved
    return Proof(True, *checked, rows=rows, premises=assumed, conditions=conditions, locations=in_groups)


def _refuted(refutation: PartRefutation[CompiledMap | CompiledChain | CompiledRun]) -> Proof:
    what, witness = refutation.what, refutation.counterexample
    return Proof(False, refutation=what, counterexample=witness, of=refutation.of, reason=refutation.reason)


def proved(plan: Plan) -> tuple[Emission, Proof]:
    """Return the emission of a plan and its proof.

    Maps, chains of `if`s and runs of locations whose new form cannot be proved stay, with the reason `unproved`, and so
    do rules whose groups cannot be proved. Lists of rewrites whose proof takes too much work stay with that reason.
    """
    while True:
        emission = emit(plan)
        proof = prove(emission)
        if isinstance(proof.of, CompiledMap):
            plan = replace(plan, maps=plan.maps.without(proof.of, proof.reason))
        elif isinstance(proof.of, CompiledChain):
            plan = replace(plan, chains=plan.chains.without(proof.of))
        elif isinstance(proof.of, CompiledRun):
            plan = replace(plan, locations=plan.locations.without(proof.of))
        elif proof.is_too_much and any(part.compiled for part in plan.parts):
            plan = _within_bounds(plan)
        elif (emission.groups or plan.filtered) and not proof.holds:
            plan = without_groups(plan, proof.refutation)
        else:
            return emission, proof


def _within_bounds(plan: Plan) -> Plan:
    """Return the plan without the lists of rewrites with which the proof takes too much work: few, and proved apart.

    Parts of the lists are added to those that can be proved together, and divided if that takes too much.
    """
    lists = [run for part in plan.parts for run in part.compiled]
    proved: list[PlannedRun] = []

    def with_only(runs: Collection[PlannedRun]) -> Plan:
        return without_runs(plan, [run for run in lists if run not in runs], "too-much-work")

    def add(runs: Sequence[PlannedRun]) -> None:
        if len(runs) < len(lists) and _takes_little(with_only([*proved, *runs])):
            proved.extend(runs)
        elif len(runs) > 1:
            add(runs[: len(runs) // 2])
            add(runs[len(runs) // 2 :])

    add(lists)
    return with_only(proved)


def _takes_little(plan: Plan) -> bool:
    """Return whether the proof of the rewrites of a plan is within its bound."""
    try:
        _rewrites(emit(plan))
    except _native.TooMuchWork:
        return False
    except _native.Refuted:
        pass  # `proved` will see why
    return True


def _refutation_of_maps(emission: Emission) -> PartRefutation[CompiledMap] | None:
    """Return the refutation of a map with regular expressions, or of the text around maps; None if all is proved."""
    plan = emission.plan
    if not plan.maps.compiled:
        return None
    from nginxopt.rewrite.kinds.maps import proof as maps

    texts = {change.file: change.after for change in emission.changes}
    refutation = maps.prove(plan.config, plan.maps, texts, _trees(emission))
    if refutation is not None:
        return refutation
    is_alone = _is_of_maps_alone(emission)
    texts = {
        change.file: change.after if is_alone else change.with_edits(*change.of_maps) for change in emission.changes
    }
    name = plan.maps_name if is_alone and emission.maps_path is not None else None
    difference = maps.difference(plan.config, plan.maps, maps.read_again(plan.config, texts), include=name)
    return PartRefutation(difference) if difference else None


def _is_of_maps_alone(emission: Emission) -> bool:
    """Return whether only maps with regular expressions change."""
    plan = emission.plan
    return not (emission.compiled or plan.chains.compiled or plan.locations.compiled)


def _trees(emission: Emission) -> bytes:
    """Return the last part of the emitted file of maps: `Emission.trees`."""
    return emission.maps[len(emission.maps_of_rewrites + emission.groups) :]


def _refutation_of_chains(emission: Emission) -> PartRefutation[CompiledChain] | None:
    """Return the refutation of a chain of `if`s, in the text in which only chains change; None if all is proved."""
    if not emission.plan.chains.compiled:
        return None
    from nginxopt.rewrite.kinds.chains import proof as chains

    texts = {change.file: change.with_edits(*change.of_chains) for change in emission.changes if change.of_chains}
    return chains.prove(emission.plan.config, emission.plan.chains, texts, _trees(emission))


def _refutation_of_locations(emission: Emission) -> PartRefutation[CompiledRun] | None:
    """Return the refutation of a run of locations, in the text in which only these change; None if all is proved."""
    if not emission.plan.locations.compiled:
        return None
    from nginxopt.rewrite.kinds.locations import proof as locations

    changes = emission.changes
    texts = {change.file: change.with_edits(*change.of_locations) for change in changes if change.of_locations}
    return locations.prove(emission.plan.config, emission.plan.locations, texts)


def _refutation_of_whole(emission: Emission) -> PartRefutation[CompiledMap | CompiledChain] | None:
    """Return the refutation of a map or chain that is right alone, but exceeds a limit in the finished configuration.

    The limits are those of `nginxopt.rewrite.limits`; both texts are read again. None if none is exceeded.
    """
    plan = emission.plan
    if not emission.maps:
        return None
    texts = {change.file.path: change.after for change in emission.changes}
    try:
        before = Evaluations.of(plan.config)
        after = Evaluations.of(reread(plan.config, texts), emission.blocks)
    except (InputError, ValueError) as error:
        return PartRefutation(f"the result cannot be read: {error}")
    changed = frozenset(name for name in after.definitions if not after.is_same(name, before))
    for limit in exceeded(before, after):
        for name in sorted(changed & limit.names):
            return PartRefutation(f"the evaluation of ${name} may exceed a limit [{limit.reason}]", of=_of(plan, name))
    return None


def _of(plan: Plan, name: str) -> CompiledMap | CompiledChain | None:
    """Return the map or chain to whose lookup a variable belongs."""
    for compiled in plan.maps.compiled:
        if name in (compiled.map.variable[1:].lower(), *compiled.native.variables):
            return compiled
    return next((chain for chain in plan.chains.compiled if name in chain.variables), None)


def _rewrites(emission: Emission) -> tuple[int, int, int, int]:
    """Return the counts of the native proof of rewrites. Raises `Refuted`."""
    plan = emission.plan
    texts = {change.file: change.before for change in emission.changes}
    pairs = [change for change in emission.changes if change.before != change.after]
    changed = {change.file for change in pairs}
    others = [
        (texts.get(file, file.source.data), captures.holds_rows(plan.config, file))
        for file in plan.config.files
        if file not in changed and _may_be_http(plan, file)
    ]
    return _native.prove_rewrites(
        [_pair(plan, change) for change in pairs],
        others + ([(emission.trees, False)] if emission.trees else []),
        emission.maps_of_rewrites,
        emission.groups,
        readings=plan.options.readings,
        transparent=sorted(sections.transparent()),
        harmless=sorted(captures.harmless()),
        inherited=sorted(surroundings.inherited()),
        is_complete=unread.is_known(plan.config),
        include=_include(emission),
        may_set_sizes=_may_set_sizes(plan.config),
        compiled=[compiled.run.native for compiled in emission.compiled],
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
        holds_rows=captures.holds_rows(plan.config, change.file),
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
    if config.http is None or unread.is_http_known(config):
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
