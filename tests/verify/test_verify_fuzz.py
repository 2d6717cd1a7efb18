"""Pairs of sites made at random: what `verify` calls equivalent is answered alike by the model."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from nginxopt.verify import Verification, searching
from tests.fuzz.sites.around import http_without_logs
from tests.fuzz.verify import by_model, captures, maps, scripts, sites
from tests.fuzz.verify.case import Case, Figures

pytestmark = [pytest.mark.extended, pytest.mark.no_cover]

SEED, VERSION = 11, (1, 22, 1)


def played(cases: Iterator[Case]) -> Figures:
    """What comes out for some sites."""
    figures = Figures()
    for case in cases:
        by_model.play(case, http_without_logs(random.Random(case.name)), figures)
    return figures


def whole_sites(count: int) -> Iterator[Case]:
    """Whole sites, each edited twice."""
    return (sites.case(SEED, number, VERSION, edits=2, requests=60) for number in range(count))


def around_maps(count: int) -> Iterator[Case]:
    """Sites around maps, each edited twice."""
    return (maps.case(SEED, number, edits=2) for number in range(count))


def around_scripts(count: int) -> Iterator[Case]:
    """Sites around scripts, each edited six times."""
    return (scripts.case(SEED, number, edits=6) for number in range(count))


def around_captures(count: int) -> Iterator[Case]:
    """Sites around captures, each edited four times."""
    return (captures.case(SEED, number, edits=4) for number in range(count))


@pytest.mark.slow
def test_pairs_at_random() -> None:
    """No pair is called equivalent that requests tell apart, and each verdict occurs."""
    figures = played(whole_sites(25))
    assert (figures.wrong, figures.failed) == (0, 0)
    assert all((figures.equivalent, figures.different, figures.unknown))


@pytest.mark.slow
def test_maps_at_random() -> None:
    """No pair of sites around maps is called equivalent that requests tell apart, and each verdict occurs."""
    figures = played(around_maps(20))
    assert (figures.wrong, figures.failed) == (0, 0)
    assert all((figures.equivalent, figures.different, figures.unknown))


@pytest.mark.slow
def test_scripts_at_random() -> None:
    """No pair of sites around scripts is called equivalent that requests tell apart, and each verdict occurs."""
    figures = played(around_scripts(20))
    assert (figures.wrong, figures.failed) == (0, 0)
    assert all((figures.equivalent, figures.different, figures.unknown))


@pytest.mark.slow
def test_captures_at_random(monkeypatch: pytest.MonkeyPatch) -> None:
    """No pair of sites around captures is called equivalent that requests tell apart, though none are tried."""
    monkeypatch.setattr(searching, "probes", lambda *_: iter(()))
    monkeypatch.setattr(searching, "of_locations", lambda *_: iter(()))
    figures = played(around_captures(12))
    assert (figures.wrong, figures.failed) == (0, 0)
    assert all((figures.equivalent, figures.different, figures.unknown))


def test_a_wrong_verdict_is_seen(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """If everything is called equivalent, the fuzzer finds pairs that are not, among sites of each kind."""
    monkeypatch.setattr(by_model, "verify", lambda *_: Verification(None, (), 1, 0, ()))
    assert played(whole_sites(10)).wrong
    assert played(around_maps(5)).wrong
    assert played(around_scripts(5)).wrong
    assert played(around_captures(2)).wrong
    assert "WRONG" in capfd.readouterr().out
