"""Faults beside missing files: rules that move across one, and what one may hold taken for known."""

from __future__ import annotations

from nginxopt.config import load_text
from nginxopt.rewrite import Emission, Options, emit, plan
from nginxopt.rewrite.premises import MISSING_SIZES, OWN_NAMES, RewritePremise
from tests.rewrite.mutations.fault import Damage, Mutation, both, maps, text
from tests.rewrite.mutations.obligations import Refutation
from tests.rewrite.mutations.programs import MISSING, NEVER

INCLUDE = b"        include part.conf;\n"
MAPS = b"    include m.conf;\n"


def swap_run_and_include(emission: Emission) -> Emission:
    """Put what stands in place of the first rules behind the include."""
    server = emission.changes[0].after.partition(b"server {\n")[2]
    run = server.partition(INCLUDE)[0]
    return both(text(run, b""), text(INCLUDE, INCLUDE + run))(emission)


def as_one_run(emission: Emission) -> Emission:
    """Put in what is right if a directive of another module stands in place of the include."""
    without = MISSING.replace(b"include part.conf;", b"gzip on;")
    other = emit(plan(load_text(without, "nowhere/nginx.conf", missing_ok=True), Options(name="m")))
    after = other.changes[0].after.replace(b"gzip on;", b"include part.conf;")
    return both(
        maps(emission.maps, other.maps),
        text(emission.changes[0].after, after),
    )(emission)


def unstated(premise: RewritePremise) -> Damage:
    """Take a premise out of the header of the maps."""
    return maps(str(premise).encode(), b"")


MUTATIONS = (
    Mutation(
        "run behind a missing file",
        "The file may answer what the rules answered before it.",
        "missing",
        Refutation.CAPTURES_NOT_EMPTIED,
        swap_run_and_include,
    ),
    Mutation(
        "missing file before a run",
        "The same, and the include stands first.",
        "missing",
        Refutation.CAPTURES_NOT_EMPTIED,
        both(text(INCLUDE, b""), text(b"server {\n", b"server {\n" + INCLUDE)),
    ),
    Mutation(
        "one run across a missing file",
        "The rules behind the file answer before it.",
        "missing",
        Refutation.FIRES_ANEW,
        as_one_run,
    ),
    Mutation(
        "no include of a missing file",
        "It is gone.",
        "missing",
        Refutation.NEITHER_GUARD_NOR_CLASS,
        text(INCLUDE, b""),
    ),
    Mutation(
        "captures before a missing file",
        "It may read them.",
        "missing",
        Refutation.CAPTURES_NOT_EMPTIED,
        text(b"        " + NEVER, b""),
    ),
    Mutation(
        "maps before a missing file",
        "It may set the sizes of their tables, which nginx takes before maps only.",
        "missing",
        Refutation.MISSING_SIZE_BEHIND_THE_MAPS,
        both(text(MAPS, b""), text(b"http {\n", b"http {\n" + MAPS)),
    ),
    Mutation(
        "sizes of missing files not stated",
        "The premise stands nowhere.",
        "missing",
        Refutation.PREMISE_NOT_STATED,
        unstated(MISSING_SIZES),
    ),
    Mutation(
        "names of missing files not stated",
        "The premise stands nowhere.",
        "missing",
        Refutation.PREMISE_NOT_STATED,
        unstated(OWN_NAMES),
    ),
)
