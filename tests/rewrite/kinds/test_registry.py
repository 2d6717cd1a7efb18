"""A kind of list is one package and one line: whatever is in the registry is planned, written, proved and told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from nginxopt.config import Directive, File, load_text
from nginxopt.records import record
from nginxopt.rewrite import (
    Emission,
    Options,
    Plan,
    compilation,
    differential,
    emit,
    output,
    plan,
    prove,
    proving,
)
from nginxopt.rewrite.kinds.kind import UNPROVED, Kind, ListsPlan, Offsets, PlanRequest, Proved, Refutation
from nginxopt.rewrite.kinds.registry import KINDS, PROVED
from nginxopt.rewrite.proving import proved
from nginxopt.text import Edit

SITE = b"""events {}
http {
    server {
        charset UTF-8;
        location /a { charset UTF-8; }
        rewrite ^/old$ /new permanent;
    }
}
"""


@record(eq=True)
class ToyPlan(ListsPlan[Directive]):
    """The directives `charset` that are written anew, and how many stay."""

    unit = "charset"
    compiled: tuple[Directive, ...] = ()
    kept: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.moved + self.kept

    @property
    def moved(self) -> int:
        """Those that change."""
        return len(self.compiled)

    def reasons(self) -> Counter[str]:
        """All stay for one reason."""
        return Counter({UNPROVED: self.kept})

    def without(self, compiled: Directive, reason: str = UNPROVED) -> ToyPlan:  # noqa: ARG002
        """One more stays."""
        return replace(self, compiled=tuple(each for each in self.compiled if each is not compiled), kept=self.kept + 1)


class Toy(Kind[ToyPlan]):
    """Writes the names of charsets in small letters; the proof refutes those that begin with `bad`, in one file."""

    name = "toys"
    counted = "toys"
    files: Sequence[File] = ()

    def plan(self, asked: PlanRequest, changing: Offsets) -> ToyPlan:  # noqa: ARG002
        """All directives `charset`."""
        return ToyPlan(tuple(each for each, _ in asked.config.walk() if each.name == "charset"))

    def edits(self, plan: ToyPlan, maps_name: str) -> Mapping[File, Sequence[Edit]]:  # noqa: ARG002
        """The word, in small letters."""
        edits = [Edit(each.args[0].span, each.args[0].lower().encode()) for each in plan.compiled]
        return {file: edits for file in self.files if edits}

    def prove(self, emission: Emission) -> Proved | Refutation:
        """The text is there in small letters."""
        lists = emission.plan.of(self)
        refuted = next((each for each in lists.compiled if each.args[0].startswith("bad")), None)
        return Proved(lists.moved) if refuted is None else Refutation("a bad charset", of=refuted)

    def questions(self, emission: Emission) -> list[Any]:  # noqa: ARG002
        """Nothing is asked."""
        return []

    def heading(self, plan: ToyPlan) -> str:
        """Their number."""
        return f"{plan.total} charsets"

    def lines(self, planned: Plan, *, verbose: bool) -> Iterator[str]:  # noqa: ARG002
        """Those that change."""
        yield f"  toys {planned.of(self).moved}"

    def proof_lines(self, planned: Plan, proved: Proved) -> Iterator[str]:  # noqa: ARG002
        """Those that are proved."""
        yield f"  proved toys {proved.lists}"

    def report(self, planned: Plan) -> dict[str, Any]:
        """Those that change."""
        return {"toys": planned.of(self).moved}


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Toy:
    """A kind in the registry."""
    kind = Toy()
    for module in (compilation, differential, output, proving):
        monkeypatch.setattr(module, "KINDS", (*KINDS, kind))
    for module in (compilation, output, proving):
        monkeypatch.setattr(module, "PROVED", (*KINDS[1:], kind, KINDS[0]))
    return kind


def compiled(toy: Toy, text: bytes) -> Plan:
    """The plan of a text."""
    config = load_text(text, "nginx.conf")
    toy.files = config.files
    return plan(config, Options(groups=True))


def test_a_kind_in_the_registry_is_compiled(toy: Toy) -> None:
    """Its lists are planned beside the others, written, proved, and told in summary and report."""
    planned = compiled(toy, SITE)
    assert (planned.of(toy).moved, planned.rules.moved, planned.moving) == (2, 1, 3)
    result = emit(planned)
    (change,) = result.changes
    assert change.after.count(b"charset utf-8;") == 2
    assert result.texts_of("toys")[change.file] == SITE.replace(b"UTF-8", b"utf-8")
    proof = prove(result)
    assert (proof.holds, proof.of["toys"].lists, proof.rules.lists) == (True, 2, 1)
    lines = list(output.summary(planned, proof))
    assert lines[0] == "nginx.conf: 1 rewrite, 2 charsets"
    assert {"  toys 2", "  proved toys 2"} <= set(lines)
    told = output.report(planned, proof)
    assert (told["toys"], told["proof"]["toys"]) == (2, 2)


def test_a_refuted_list_stays(toy: Toy) -> None:
    """What its proof refutes stays, and everything else moves."""
    result, proof = proved(compiled(toy, SITE.replace(b"UTF-8", b"bad-UTF", 1)))
    assert proof.holds
    assert (result.plan.of(toy).moved, result.plan.of(toy).kept, result.plan.rules.moved) == (1, 1, 1)
    assert result.plan.broken == ["1 charset would have moved, but the proof failed"]


def test_all_kinds_are_proved() -> None:
    """The order of proofs has each kind once."""
    assert {kind.name for kind in PROVED} == {kind.name for kind in KINDS}
    assert len({kind.name for kind in KINDS}) == len(PROVED) == len(KINDS)
