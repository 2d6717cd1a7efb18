"""The proof refutes each seeded fault by the obligation that it breaks; see `tests/rewrite/mutations`."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from nginxopt.config import load_text
from nginxopt.rewrite import Options, emit, plan, prove
from tests.rewrite.mutations import (
    directives,
    filtered,
    grouped,
    guards,
    kept,
    kinds,
    lines,
    listed,
    missing,
    residuals,
    rows,
    stops,
    surroundings,
    tables,
    targets,
)
from tests.rewrite.mutations.fault import Mutation
from tests.rewrite.mutations.forged import FORGERIES, Forgery
from tests.rewrite.mutations.obligations import Refutation
from tests.rewrite.mutations.programs import (
    FILTERS,
    KEPT,
    KINDS,
    NOT_KEPT,
    NOT_STOPPED,
    SITES,
    STOPPED,
    WHOLES,
    program,
)
from tests.rows import every_row
from tests.support import ROOT

pytestmark = pytest.mark.no_cover

MUTATIONS = (
    *guards.MUTATIONS,
    *rows.MUTATIONS,
    *tables.MUTATIONS,
    *directives.MUTATIONS,
    *residuals.MUTATIONS,
    *listed.MUTATIONS,
    *lines.MUTATIONS,
    *grouped.MUTATIONS,
    *kinds.MUTATIONS,
    *filtered.MUTATIONS,
    *surroundings.MUTATIONS,
    *missing.MUTATIONS,
    *targets.MUTATIONS,
    *kept.MUTATIONS,
    *stops.MUTATIONS,
)


@every_row("name", [*KINDS, *WHOLES, *FILTERS, *SITES, "missing", "groups-location", "of-kinds-location"])
def test_the_text_without_a_fault(name: str) -> None:
    """The emissions that the faults are put into are proved."""
    right = program(name)
    assert prove(right).holds


def test_what_is_kept() -> None:
    """Targets are volatile where the rules may run again with a URI for which they are wrong, and only there."""
    targets = {name: program(name).maps.split(b"$m_to {\n")[1] for name in (*KEPT, *NOT_KEPT)}
    assert {name for name, rows in targets.items() if not rows.startswith(b"    volatile;")} == set(KEPT)


def test_where_a_script_ends() -> None:
    """A `break` skips the last statements of a server, and only these."""
    texts = {name: program(name).changes[0].after for name in (*STOPPED, *NOT_STOPPED)}
    assert {name for name, text in texts.items() if b"    break;" in text} == set(STOPPED)


@every_row("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_fault_is_refuted(mutation: Mutation) -> None:
    """Each fault changes the emission, and is refuted by the obligation that it breaks."""
    right = program(mutation.program)
    wrong = mutation.damage(right)
    assert wrong != right
    assert Refutation.of(prove(wrong).refutation) is mutation.refuted_by, mutation.says


@every_row("forgery", FORGERIES, ids=lambda forgery: forgery.why)
def test_a_forged_move_is_refuted(forgery: Forgery) -> None:
    """A rule that cannot be moved is not proved, whoever moves it; what is emitted for its look-alikes is."""
    around = b"events {} http { map $host $site { default main; } server { %s } }"
    options = Options(readings=forgery.readings, name="m")
    honest, alike = (plan(load_text(around % rules), options) for rules in (forgery.rules, forgery.alike))
    emission = emit(alike)
    assert not emit(honest).changes
    assert prove(emission).holds
    [change] = emission.changes
    moved = replace(change, file=honest.config.main, after=change.after.replace(*forgery.swap, 1))
    proof = prove(replace(emission, plan=honest, changes=(moved,)))
    assert Refutation.of(proof.refutation) is forgery.refuted_by


def test_each_fault_is_named_once() -> None:
    """The suite only grows."""
    assert len({mutation.name for mutation in MUTATIONS}) == len(MUTATIONS) >= 156
    assert len({forgery.why for forgery in FORGERIES}) == len(FORGERIES) >= 13


def test_each_obligation_is_broken_by_a_fault() -> None:
    """There is no obligation of the prover that nothing shows to be one."""
    broken = {mutation.refuted_by for mutation in MUTATIONS} | {forgery.refuted_by for forgery in FORGERIES}
    assert set(Refutation) - broken == set()


_TOKEN = re.compile(r"""//[^\n]*|b?'(?:\\.|[^\\'])'|(b?)"((?:\\.|[^"\\])*)\"""", re.DOTALL)
_REASON = re.compile(r"\{(why|what|problem)\}")


def sentences_of_the_prover() -> tuple[set[str], set[str]]:
    """The strings with words in the prover's sources: the sentences that a reason fills, and all others."""
    words = set()
    for path in (ROOT / "rust" / "src" / "prove").rglob("*.rs"):
        code = path.read_text().split("#[cfg(test)]")[0]
        words |= {token[2] for token in _TOKEN.finditer(code) if token[2] and not token[1] and " " in token[2]}
    frames = {word for word in words if _REASON.search(word)}
    return {_REASON.sub("REASON", frame) for frame in frames}, {word for word in words - frames if word != " ({})"}


def test_all_obligations_are_known() -> None:
    """The table of refutations has the prover's sentences: all of them, as they stand in its sources, and no others."""
    frames, others = sentences_of_the_prover()
    frames, others = ({re.sub(r"\{\w*\}", "{}", text) for text in texts} for texts in (frames, others))
    filled = {frame.replace("REASON", reason): reason for frame in frames for reason in others}
    known = {refutation.value for refutation in Refutation} - {Refutation.PREMISE_NOT_STATED.value}
    assert known <= others | set(filled)
    assert others <= known | {filled[sentence] for sentence in known if sentence in filled}
