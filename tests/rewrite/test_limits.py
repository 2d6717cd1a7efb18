"""Limits of nginx that hold for a whole request: what each part adds may be right alone and too much together."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from nginxopt.config import load, load_text, reread
from nginxopt.rewrite import Options, evaluations, plan, prove
from nginxopt.rewrite.compilation import Plan, within_limits
from nginxopt.rewrite.evaluations import DEEPEST, Evaluations
from nginxopt.rewrite.kinds.registry import MAPS
from nginxopt.rewrite.proving import emit, proved
from tests.rewrite import composed
from tests.rows import every_row


def planned(text: str) -> Plan:
    """The plan for a configuration."""
    return plan(load_text(text.encode(), "nginx.conf"), Options(groups=True))


def reasons(compiled: Plan) -> Counter[str]:
    """The number of maps and conditions that stay, by reason."""
    return Counter(each.reason for each in compiled.maps.kept) + compiled.chains.reasons()


@pytest.mark.parametrize("levels", [10, 30])
def test_few_levels_are_compiled(levels: int) -> None:
    """Chains of maps that keep within the limit become trees, all of them."""
    compiled = planned(composed.site(composed.by_default(levels)))
    assert (len(compiled.maps.compiled), reasons(compiled)) == (levels, Counter())


@every_row(
    ("http", "fewest"),
    [
        (composed.by_default(52), 20),
        (composed.by_default(50), 20),
        (composed.by_source(45), 20),
        (composed.by_text(52), 20),
        (composed.by_row(98), 90),
        (composed.beyond_plain_maps(20, 60), 5),
        (composed.below_others(20, 60), 5),
        (composed.joined(40, ["a", "b"]), 40),
    ],
    ids=["default", "fifty", "source", "text", "row", "plain maps below", "others above", "joined"],
)
def test_as_many_as_fit_are_compiled(http: str, fewest: int) -> None:
    """Of too deep a chain some maps stay, the result keeps within the limit, and one more map would exceed it."""
    compiled = planned(composed.site(http))
    assert len(compiled.maps.compiled) >= fewest
    assert set(reasons(compiled)) == {"evaluation-depth"}
    emission = emit(compiled)
    assert prove(emission).holds
    assert Evaluations.of(compiled.config, emission.blocks).longest <= DEEPEST
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluations, "too_much", lambda *_: {})
        everything = planned(composed.site(http))
    chosen = {each.map.variable for each in compiled.maps.compiled}
    for other in islice((each for each in everything.maps.compiled if each.map.variable not in chosen), 3):
        more = (*(each for each in everything.maps.compiled if each.map.variable in chosen), other)
        with_more = compiled.with_lists(MAPS, replace(everything.maps, compiled=more))
        assert within_limits(with_more) != with_more


@every_row(
    "http",
    [
        composed.in_a_circle(1),
        composed.in_a_circle(3),
        composed.by_default(100),
        composed.by_default(130),
        composed.by_default(3, end="$c0") + "map $uri $c0 { default $c1; } map $uri $c1 { default $c0; }",
        composed.by_default(2) + "map $uri $c0 { default $c1$m0; } map $uri $c1 { default $c0; }",
    ],
    ids=["itself", "circle", "a hundred", "more", "before a circle", "behind a circle"],
)
def test_nothing_changes_where_nginx_stops(http: str) -> None:
    """Where the evaluation is too deep already, what nginx takes as empty depends on each level: all maps stay."""
    compiled = planned(composed.site(http))
    assert compiled.maps.compiled == ()
    assert set(reasons(compiled)) == {"evaluation-depth"}


def test_other_maps_are_compiled_beside_a_circle() -> None:
    """A map that no circle evaluates, and that evaluates none, becomes a tree."""
    http = composed.in_a_circle(3) + f"map $uri $other {{ default no; {composed.rows(77)} }}"
    compiled = planned(composed.site(http, "$m0 $other"))
    assert [each.map.variable for each in compiled.maps.compiled] == ["$other"]


def test_lookups_of_volatile_maps_do_not_multiply() -> None:
    """Each map of a tree evaluates its source: 40 volatile maps in a row would be evaluated 2^40 times."""
    compiled = planned(composed.site(composed.by_source(30, flags="volatile;")))
    assert compiled.maps.compiled
    assert "evaluation-count" in reasons(compiled)
    after = Evaluations.of(compiled.config).with_maps(emit(compiled).blocks)
    assert max(after.counts.values()) <= evaluations.MOST


def test_hundreds_of_levels_are_read() -> None:
    """Sources that lead through more volatile maps than nginx evaluates are not stable."""
    compiled = planned(composed.site(composed.by_source(300, flags="volatile;")))
    assert reasons(compiled)["unstable-source"] >= 200


def test_values_that_nginx_keeps_are_evaluated_once() -> None:
    """Maps that are not volatile may look up each other."""
    compiled = planned(composed.site(composed.by_source(20)))
    assert len(compiled.maps.compiled) == 20


CHAIN = "".join(f'if ($m0 ~ "^/k{number}/") {{ return 301 /n{number}$m0; }}' for number in range(12))


def test_a_chain_stays_before_deep_maps() -> None:
    """The lookup of a chain of `if`s evaluates its variable more deeply than the conditions do."""
    deep = composed.site(f"map $uri $m0 {{ default $p0; }} {composed.plain_maps(97)}", server=CHAIN)
    compiled = planned(deep)
    assert reasons(compiled)["evaluation-depth"] == 12
    shallow = planned(composed.site("map $uri $m0 { default /x; }", server=CHAIN))
    assert shallow.chains.moved == 12


@pytest.mark.parametrize(
    ("http", "reason"),
    [
        (composed.by_default(52), "evaluation-depth"),
        (composed.in_a_circle(3), "evaluation-depth"),
        (composed.by_source(30, flags="volatile;"), "evaluation-count"),
    ],
)
def test_the_proof_reads_the_finished_configuration(http: str, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan that ignores the limits is refuted, and what exceeds them stays."""
    monkeypatch.setattr(evaluations, "too_much", lambda *_: {})
    wrong = planned(composed.site(http))
    proof = prove(emit(wrong))
    assert not proof.holds
    assert reason in (proof.refutation or "")
    assert proof.refuted is not None
    assert proof.refuted.of in wrong.maps.compiled
    emission, final = proved(wrong)
    assert final.holds
    assert reasons(emission.plan)["unproved"]


def test_names_in_another_case_are_the_same() -> None:
    """nginx ignores the case of the names of variables."""
    compiled = planned(composed.site(composed.by_default(52).replace("default $m", "default $M"), "$M0"))
    assert reasons(compiled)["evaluation-depth"]


@pytest.mark.parametrize("context", ["http", None])
def test_unread_text_is_a_premise(context: str | None) -> None:
    """How deeply unread files and programs evaluate the maps is not known."""
    from nginxopt.rewrite import premises

    http = composed.by_default(3)
    text = http if context else composed.site("load_more; " + http)
    config = load_text(text.encode(), "nginx.conf", context=context)
    assert premises.EVALUATION_DEPTH in premises.of(plan(config))
    known = planned(composed.site(http))
    assert premises.EVALUATION_DEPTH not in premises.of(known)


def test_two_runs_after_each_other(tmp_path: Path) -> None:
    """A second run counts the levels that the first one added to maps that were added to since."""
    main = tmp_path / "nginx.conf"
    main.write_text(composed.site(composed.by_default(25)))
    first = emit(plan(load(main), Options(groups=True)))
    assert len(first.plan.maps.compiled) == 25
    assert first.maps_path is not None
    Path(first.maps_path).write_bytes(first.maps)
    added = composed.by_default(20, end="$LAST").replace("$m", "$n").replace("/k", "/n").replace("$LAST", "$m0")
    text = first.after(first.plan.config.main).decode().replace("server {", f"{added} server {{", 1)
    main.write_text(text.replace("[$m0]", "[$n0]"))
    emission, proof = proved(plan(load(main), Options(groups=True)))
    assert proof.holds
    assert 0 < len(emission.plan.maps.compiled) < 20
    assert set(reasons(emission.plan)) == {"evaluation-depth"}
    texts = {str(main): emission.after(emission.plan.config.main)}
    assert Evaluations.of(reread(emission.plan.config, texts), emission.blocks).longest <= DEEPEST
