"""The summary only renders: what it tells of is handed to it."""

from __future__ import annotations

import pytest

from nginxopt.config import load_text
from nginxopt.rewrite import Options, Plan, Proof, Readings, compilation, output, plan, proving
from nginxopt.rewrite.kinds.kind import Refutation
from nginxopt.rewrite.kinds.maps.kind import MAP_REMEDIES
from nginxopt.rewrite.kinds.maps.planning import REASONS
from nginxopt.rewrite.kinds.rules.kind import RULE_REMEDIES
from nginxopt.rewrite.kinds.rules.planning import reasons

RULES = b"""rewrite ^/a\\.html$ /new/a permanent;
rewrite ^/b.html$ /new/b permanent;
rewrite ^/c.html$ /new/c permanent;
rewrite ^/d /new/d permanent;
"""


def planned(readings: Readings) -> Plan:
    """The plan of rules of which three are no plain literals."""
    return plan(load_text(RULES, context="server"), Options(readings))


@pytest.mark.parametrize(
    ("readings", "count", "flags"),
    [
        (Readings(), 3, "--literal-dots --literal-ends"),
        (Readings(literal_dots=True), 1, "--literal-ends"),
        (Readings(literal_ends=True), 2, "--literal-dots"),
        (Readings(literal_dots=True, literal_ends=True), 0, None),
    ],
)
def test_what_the_declared_differences_would_move(readings: Readings, count: int, flags: str | None) -> None:
    """The rules that a declared difference would move are counted by planning and told with its options."""
    compiled = planned(readings)
    assert compilation.moved_by_literals(compiled) == count
    lines = list(output.summary(compiled, None, moved_by_literals=count))
    hint = f"  hint: {count:,} more would move with {flags}, which declare differences"
    assert (hint in lines) == (flags is not None)


def test_the_summary_plans_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What nobody has counted is not told."""
    compiled = planned(Readings())

    def refuse(*_: object) -> None:
        raise AssertionError("planned again")

    monkeypatch.setattr(compilation, "plan", refuse)
    monkeypatch.setattr("nginxopt._native.compile_rewrites", refuse)
    assert not any("would move" in line for line in output.summary(compiled, None))


def test_groups_that_are_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the proof refuses groups, their rules stay, and the summary says why."""
    rules = b"".join(b"rewrite ^/p%d/(.*)$ /to/%d/$1 permanent;\n" % (number, number) for number in range(20))
    compiled = plan(load_text(RULES + rules, context="server"), Options(groups=True))
    assert compiled.rules.grouped > 9
    refuted = Proof(Refutation("because"))
    monkeypatch.setattr(proving, "prove", lambda emission: refuted if emission.groups else Proof())
    emission, proof = proving.proved(compiled)
    assert proof.holds
    assert (emission.plan.rules.grouped, emission.plan.rules.unproved) == (0, "because")
    (line,) = (line for line in output.summary(emission.plan, proof) if "error:" in line)
    assert "the plan does not come true" in line
    assert line.endswith("but the proof failed: because")


def test_each_remedy_is_for_a_reason() -> None:
    """What to change by hand is told of reasons that there are, below the line of the reason."""
    assert set(RULE_REMEDIES) <= set(reasons())
    assert set(MAP_REMEDIES) <= set(REASONS)
    compiled = planned(Readings())
    told = list(output.summary(compiled, None, verbose=True))
    for reason in compiled.rules.reasons():
        place = next(number for number, line in enumerate(told) if f"  {reason}: " in line)
        assert told[place + 1].strip() == f"by hand: {RULE_REMEDIES[reason]}"


@pytest.mark.parametrize(
    ("condition", "reason"),
    [('$uri ~ "/shop/|^/old"', "guarded"), ("$nxo_0a1b2c_to", "guarded"), ("$host = a.test", "inside-if")],
)
def test_rules_behind_a_condition_on_their_uris(condition: str, reason: str) -> None:
    """Rules in an `if` as the command writes it are not to be put before it."""
    rules = "rewrite ^/.*/shop/(.*)$ /a/$1; rewrite ^/old/(.*)$ /b/$1 last;"
    compiled = plan(load_text(f"if ({condition}) {{ {rules} }}".encode(), context="server"), Options())
    assert compiled.rules.reasons() == {reason: 2}
    told = list(output.summary(compiled, None))
    assert any("by hand: put the rules before the `if`" in line for line in told) == (reason == "inside-if")
