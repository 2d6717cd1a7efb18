"""What is planned comes true under every declared reading: the lookups of groups are proved as declared."""

from __future__ import annotations

from dataclasses import fields
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nginxopt import load_text
from nginxopt.rewrite import Options, Readings, plan
from nginxopt.rewrite.proof import proved

FIXTURES = Path(__file__).parents[2] / "fixtures"
NAMES = [field.name for field in fields(Readings)]
EVERY = [Readings(**dict(zip(NAMES, chosen, strict=True))) for chosen in product([False, True], repeat=len(NAMES))]
SAFE = [readings for readings in EVERY if not readings.ignore_case]
"""The readings for which the law holds. `test_ignored_case` has the known gap."""
SHAPES = (
    "rewrite ^/old{}$ /new{} permanent;",
    "rewrite ^/old{} /new{} redirect;",
    "rewrite ^/Page{}.html /page/{} permanent;",
    "rewrite ^/Page{}.html$ /page/{} permanent;",
    "rewrite ^/dir{}/(.*)$ /to/{}/$1 permanent;",
    "rewrite ^/dir{}/(.*)\\.php$ https://example.com/{} permanent;",
    "rewrite ^/dir{}/[a-z]+/x$ /classes/{} redirect;",
)


def comes_true(text: bytes, readings: Readings) -> None:
    """Check that the result has exactly what was planned, and that the proof holds."""
    planned = plan(load_text(text, "rules.conf", context="server"), Options(readings, groups=True))
    emission, proof = proved(planned)
    assert proof.holds, proof.refutation
    assert emission.plan.broken == []
    assert (emission.plan.moved, emission.plan.cost) == (planned.moved, planned.cost)


@pytest.mark.parametrize("readings", SAFE, ids=str)
@pytest.mark.parametrize("size", [1, 30, 100, 300])
def test_generated_lists(readings: Readings, size: int) -> None:
    """A list of mixed rules, some of which are never the first to match, is written as it was planned."""
    rules = [SHAPES[number % len(SHAPES)].format(number % 77, number) for number in range(size)]
    comes_true("\n".join(rules).encode(), readings)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(SHAPES), st.integers(0, 60)), min_size=1, max_size=300), st.sampled_from(SAFE)
)
def test_any_list(rules: list[tuple[str, int]], readings: Readings) -> None:
    """So is any other list."""
    comes_true("\n".join(shape.format(number, number) for shape, number in rules).encode(), readings)


@pytest.mark.parametrize("name", ["fec/redirects-transition.conf", "fec/exact.conf", "fec/redirects-sers.conf"])
@pytest.mark.parametrize("readings", SAFE[1:], ids=str)
def test_real_lists(name: str, readings: Readings) -> None:
    """So are the published redirects of a site."""
    comes_true((FIXTURES / name).read_bytes(), readings)


@pytest.mark.xfail(strict=True, reason="groups are not proved where an earlier kept rule may match another spelling")
def test_ignored_case() -> None:
    """With `--ignore-case`, a list with groups is written as planned, too."""
    comes_true((FIXTURES / "fec/exact.conf").read_bytes(), Readings(ignore_case=True))
