"""Premises of fixes: a fix that is safe under premises is applied only when they are declared."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nginxopt.errors import UsageError
from nginxopt.lint import HTTP11_BACKENDS, IDLE_CONNECTIONS, Premise, Rule, Safety
from nginxopt.lint.catalogue import catalogue
from nginxopt.lint.check import Judge, check_and_fix
from nginxopt.lint.diagnostic import Grade
from nginxopt.lint.run import Selected
from nginxopt.settings.file import Settings
from nginxopt.settings.vocabulary import PREMISES, listed, named
from tests.lint.test_fix import becomes
from tests.lintrules import TARGET, about, configuration

premises = st.frozensets(st.sampled_from(sorted(PREMISES.values())))
safeties = st.builds(Safety, st.none() | premises)


def judge(*rules: Rule, assumed: frozenset[Premise] = frozenset()) -> Judge:
    """A judge with these rules, under names of the catalogue."""
    renamed = (replace(rule, id=name) for rule, name in zip(rules, catalogue(), strict=False))
    return Judge(tuple(Selected(rule, None) for rule in renamed), TARGET, Settings(), assumed=assumed)


def test_the_names_are_words() -> None:
    """A premise has a name that a command line takes, a sentence without a full stop, and a way to find out."""
    for name, premise in PREMISES.items():
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)
        assert name == premise.name
        assert re.fullmatch(r"[a-z][^\n]*[^.\n]", premise.sentence)
        assert premise.check.endswith(".")


def test_names_are_found() -> None:
    """A name selects its premise; an unknown name is wrong usage, with a suggestion or the list of names."""
    assert named(PREMISES) == frozenset(PREMISES.values())
    with pytest.raises(UsageError) as close:
        named(["http11-backend"])
    assert (close.value.message, close.value.hint) == (
        'unknown premise "http11-backend"',
        'did you mean "http11-backends"?',
    )
    with pytest.raises(UsageError) as far:
        named(["0"])
    assert all(name in (far.value.hint or "") for name in PREMISES)


@given(premises)
def test_what_is_listed_is_read_again(some: frozenset[Premise]) -> None:
    """`--assume` accepts the list of premises in a report."""
    assert named(filter(None, listed(some).split(","))) == some


@given(safeties, safeties, premises)
def test_two_fixes_made_as_one_need_what_both_need(first: Safety, second: Safety, assumed: frozenset[Premise]) -> None:
    """Two fixes combined into one are safe only where both are."""
    both = (first & second).given(assumed)
    assert (both.grade is Grade.SAFE) == (first.given(assumed) == second.given(assumed) == Safety.SAFE)
    assert first & second == second & first
    assert first & Safety.SAFE == first


@given(safeties, premises)
def test_what_is_assumed_is_needed_no_more(safety: Safety, assumed: frozenset[Premise]) -> None:
    """Declared premises only make a fix safer; an unsafe fix stays unsafe."""
    left = safety.given(assumed)
    assert (left.grade is Grade.UNSAFE) == (safety.grade is Grade.UNSAFE)
    assert not (left.premises or frozenset()) & assumed
    assert safety.given(frozenset()) == safety


@pytest.mark.parametrize(
    ("assumed", "unsafe", "expected"),
    [
        ((), False, b"http { a; c; f; }"),
        ((HTTP11_BACKENDS,), False, b"http { a; d; f; }"),
        ((IDLE_CONNECTIONS,), False, b"http { a; c; f; }"),
        ((HTTP11_BACKENDS, IDLE_CONNECTIONS), False, b"http { b; d; f; }"),
        ((), True, b"http { b; d; f; }"),
    ],
)
def test_a_fix_is_made_once_all_its_premises_are_declared(
    assumed: tuple[Premise, ...], unsafe: bool, expected: bytes
) -> None:
    """Safe fixes are always applied, conditional ones if all their premises are declared, all fixes with `unsafe`."""
    rules = (
        becomes("a", "b", Safety.under(HTTP11_BACKENDS, IDLE_CONNECTIONS)),
        becomes("c", "d", Safety.under(HTTP11_BACKENDS)),
        becomes("e", "f", Safety.SAFE),
    )
    config = configuration({"nginx.conf": b"http { a; c; e; }"})
    outcome = check_and_fix([config], judge(*rules, assumed=frozenset(assumed)), unsafe=unsafe)
    assert outcome.configs[0].main.source.data == expected


def test_a_finding_names_what_is_not_declared_yet() -> None:
    """The fix of a finding lists its premises without the declared ones."""
    rule = becomes("a", "b", Safety.under(HTTP11_BACKENDS, IDLE_CONNECTIONS))
    linted = judge(rule, about("c"), assumed=frozenset([IDLE_CONNECTIONS]))(
        configuration({"nginx.conf": b"http { a; c; }"})
    )
    assert [diagnostic.fix and diagnostic.fix.safety for diagnostic in linted.diagnostics] == [
        Safety.under(HTTP11_BACKENDS),
        None,
    ]
