"""Compares an emission with its configuration on a real nginx: part by part, and as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from nginxopt.records import record
from nginxopt.rewrite import sizes
from nginxopt.rewrite.comparison import Differential
from nginxopt.rewrite.emission import Compiled, Emission
from nginxopt.rewrite.kinds.chains.differential import differential as differential_of_chain
from nginxopt.rewrite.kinds.locations.differential import differential as differential_of_locations
from nginxopt.rewrite.kinds.maps.differential import Limits
from nginxopt.rewrite.kinds.maps.differential import differential as differential_of_map
from nginxopt.rewrite.kinds.maps.proof import EmittedMap, read
from nginxopt.rewrite.nginx import differential
from nginxopt.rewrite.planning import PlannedRun
from nginxopt.rewrite.sections import Phase
from nginxopt.rewrite.surroundings import Entering
from nginxopt.rewrite.whole import differential as differential_of_whole
from nginxopt.system.nginx import Binary
from nginxopt.text import Span, apply

REQUESTS = 20_000
"""The most requests to each side."""
SECONDS = 60.0
"""The time limit for all, in seconds."""
_WITNESSES = 500


@record(eq=True)
class _Question:
    """Two texts for a server or a location that are to be compared, the second with its maps, and the runs from which
    their URIs come.
    """

    before: bytes
    after: bytes
    maps: bytes
    phase: Phase
    captures: bool
    runs: tuple[PlannedRun, ...]
    tries_files: bool = True


def ask(
    emission: Emission, binary: Binary, *, progress: Callable[[int, int], None] | None = None
) -> list[Differential]:
    """Return the results of the comparisons part by part, with at most `REQUESTS` and `SECONDS` in total.

    The runs of a fragment are compared together, and those of a whole configuration one by one, as are maps, chains of
    `if`s and runs of regex locations. Parts that are right alone may differ together: see `ask_whole`.
    """
    questions, maps, chains = list(_questions(emission)), _maps(emission), emission.plan.chains.compiled
    locations = emission.plan.locations.compiled
    share = max(1, len(questions) + len(maps) + len(chains) + len(locations))
    limits = Limits(max(500, REQUESTS // share), SECONDS / share, progress)
    of_rewrites = [
        differential(
            before=question.before,
            after=question.after,
            maps=question.maps,
            phase=question.phase,
            keys=[key for run in question.runs for key in run.native.sample],
            witnesses=[uri for run in question.runs for uri in run.native.witnesses(_WITNESSES)],
            binary=binary,
            captures=question.captures,
            tries_files=question.tries_files,
            limit=limits.requests,
            seconds=limits.seconds,
            progress=limits.progress,
        )
        for question in questions
    ]
    needed = sizes.text(emission.sizes)
    of_maps = [differential_of_map(emitted, sizes=needed, binary=binary, limits=limits) for emitted in maps]
    of_chains = [differential_of_chain(chain, sizes=needed, binary=binary, limits=limits) for chain in chains]
    of_locations = [differential_of_locations(run, binary=binary, limits=limits) for run in locations]
    return of_rewrites + of_maps + of_chains + of_locations


def ask_whole(
    emission: Emission, binary: Binary, *, progress: Callable[[int, int], None] | None = None
) -> list[Differential]:
    """Return the result of the comparison of the whole configuration, if it changes, with a quarter of the limits."""
    limits = Limits(REQUESTS // 4, SECONDS / 4, progress)
    return [differential_of_whole(emission, binary=binary, limits=limits)] if emission.changes else []


def _maps(emission: Emission) -> list[EmittedMap]:
    """Return the results for the maps with regular expressions."""
    plan, trees = emission.plan, emission.trees
    texts = {change.file: change.after for change in emission.changes}
    return list(read(plan.config, plan.maps, texts, trees)) if plan.maps.compiled else []


def _questions(emission: Emission) -> Iterator[_Question]:
    config = emission.plan.config
    if emission.maps_path is None and len(config.files) == 1 and not (config.missing or _has_blocks(emission)):
        runs = tuple(compiled.run for compiled in emission.compiled)
        if runs:
            edits = [edit for run in runs for edit in run.declared]
            before = apply(config.main.source.data, edits)
            maps = emission.http.removesuffix(emission.trees)
            yield _Question(before, emission.after(config.main), maps, runs[0].phase, True, runs)
        return
    for compiled in emission.compiled:
        before, after = _alone(compiled)
        captures = compiled.part.rewrites.captures_matter
        run = compiled.run
        # In a location with `try_files`, groups have no rules with `break`, and filters match only if a rule does.
        is_in_if = run.native.grouped or run.native.filtered
        tries_files = not (is_in_if and run.phase == "location" and run.place.entering == Entering.ALL)
        maps = sizes.text(emission.sizes) + compiled.maps
        yield _Question(before, after, maps, run.phase, captures, (run,), tries_files)


def _has_blocks(emission: Emission) -> bool:
    """Return whether the file contains locations or servers, which the scene of the comparison also has."""
    return any(directive.block and directive.name != "if" for directive, _ in emission.plan.config.walk())


def _alone(compiled: Compiled) -> tuple[bytes, bytes]:
    """Return the text of the rules of a run, and the text that replaces them."""
    data = compiled.part.file.source.data
    read = {edit.span: edit.text for edit in compiled.run.declared}
    spans = [Span(start, end) for start, end in compiled.run.native.spans()]
    rules = [read.get(span, data[span.start : span.end]) for span in spans]
    # If some rules are in groups or behind filters, the new text also contains the others.
    has_all = compiled.run.native.grouped or compiled.run.native.filtered
    stay = [] if has_all else compiled.run.native.kept()
    kept = [data[start:end] for start, end, _ in stay]
    leading = sum(start < compiled.run.stands_before.start for start, _, _ in stay)
    after = [*kept[:leading], compiled.text, *kept[leading:]]
    return b"\n".join([*rules, b""]), b"\n".join([*after, b""])
