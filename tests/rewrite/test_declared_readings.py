"""What is planned comes true under every declared reading: the lookups of groups are proved as declared."""

from __future__ import annotations

from dataclasses import fields
from itertools import product
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nginxopt import load_text
from nginxopt.rewrite import Options, Readings, plan
from nginxopt.rewrite.proving import proved
from tests.rows import every_row

FIXTURES = Path(__file__).parents[2] / "fixtures"
NAMES = [field.name for field in fields(Readings)]
EVERY = [Readings(**dict(zip(NAMES, chosen, strict=True))) for chosen in product([False, True], repeat=len(NAMES))]
SHAPES = (
    "rewrite ^/old{}$ /new{} permanent;",
    "rewrite ^/old{} /new{} redirect;",
    "rewrite ^/Page{}.html /page/{} permanent;",
    "rewrite ^/Page{}.html$ /page/{} permanent;",
    "rewrite ^/dir{}/(.*)$ /to/{}/$1 permanent;",
    "rewrite ^/dir{}/(.*)\\.php$ https://example.com/{} permanent;",
    "rewrite ^/dir{}/[a-z]+/x$ /classes/{} redirect;",
    "rewrite ^/Dir{}/(.*)$ /To/{}/$1 permanent;",
    "rewrite ^/dir{}/Special.shtml$ /special/{} last;",
    "rewrite (?i)^/old{}$ /any/{} permanent;",
    "rewrite ^/OLD{}$ /upper/{} permanent;",
    "rewrite ^/[ao]ld{}.?$ /class/{} permanent;",
    "rewrite old{}$ /anywhere/{} redirect;",
    # PCRE releases read the first differently, and may give up on the second. The third sets a variable.
    'rewrite "^/x{{,3}}{}(.*)$" /unknown/{} redirect;',
    "rewrite ^/dir{}/(a+)+$ /effort/{} redirect;",
    "rewrite ^/(?<name>old{}.*)$ /named/{} permanent;",
)
BETWEEN = (
    "set $other 1;",
    "if ($host = other) { return 404; }",
    "rewrite ^/dir(.*)$ /later/$1;",
    "if ($http_x) { set $other $1; }",
)
"""What divides a list into runs, or reads captures."""


def comes_true(text: bytes, readings: Readings) -> None:
    """Check that the result has exactly what was planned, and that the proof holds."""
    planned = plan(load_text(text, "rules.conf", context="server"), Options(readings, groups=True))
    emission, proof = proved(planned)
    assert proof.holds, proof.refutation
    assert emission.plan.broken == []
    assert (emission.plan.rules.moved, emission.plan.cost) == (planned.rules.moved, planned.cost)


@pytest.mark.no_cover
@every_row("readings", EVERY, ids=str)
@every_row("size", [1, 30, 100, 300])
def test_generated_lists(readings: Readings, size: int) -> None:
    """A list of mixed rules, some of which are never the first to match, is written as it was planned."""
    rules = [SHAPES[number % len(SHAPES)].format(number % 77, number) for number in range(size)]
    comes_true("\n".join(rules).encode(), readings)


@settings(max_examples=25, deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from([5, 40, 150, 300]), st.sampled_from(EVERY))
def test_any_list(random: Random, size: int, readings: Readings) -> None:
    """So is any other list: with rules that stay before, between and behind others, and with several groups.

    Equal rules are left out: where those of two lists are alike, the proof may miss which of them is gone.
    """
    shapes = random.sample(SHAPES, random.randint(1, 8))
    numbers = [random.randrange(random.choice([5, 60, 300])) for _ in range(size)]
    rules = list(dict.fromkeys(random.choice(shapes).format(number, number) for number in numbers))
    for _ in range(random.choice([0, 0, 1, 3])):
        rules.insert(random.randrange(len(rules)), random.choice(BETWEEN))
    comes_true("\n".join(rules).encode(), readings)


@pytest.mark.no_cover
@every_row("name", ["fec/redirects-transition.conf", "fec/exact.conf", "fec/redirects-sers.conf"])
@every_row("readings", EVERY[1:], ids=str)
def test_real_lists(name: str, readings: Readings) -> None:
    """So are the published redirects of a site."""
    comes_true((FIXTURES / name).read_bytes(), readings)


@pytest.mark.parametrize(
    ("kept", "dead", "readings"),
    [
        ("^/shop/(.*)$", "^/shop/all$", Readings(ignore_case=True)),
        ("^/shop/(.*)$", "(?i)^/shop/all$", Readings()),
        ("^/s{,3}(.*)/(.*)$", "^/shop/all$", Readings()),
        ("^/shop/(.*)$", "^/shop.all", Readings(ignore_case=True, literal_dots=True, literal_ends=True)),
    ],
    ids=str,
)
def test_dead_rule_that_stays(kept: str, dead: str, readings: Readings) -> None:
    """A rule that stays because of an earlier one, and that no lookup has because it never matches, did not move."""
    rules = [f"rewrite '{kept}' /shop-{number} permanent;" for number in range(2)]
    rules += [f"rewrite ^/dir{number}/(.*)$ /to/{number}/$1 permanent;" for number in range(150)]
    rules += ["rewrite ^/shop/(.*)$ /all permanent;", f"rewrite {dead} /new permanent;"]
    comes_true("\n".join(rules).encode(), readings)
