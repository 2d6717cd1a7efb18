"""Pairs of sites made at random: what `verify` calls equivalent is answered alike by the model."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from nginxopt.request.verify import Verification
from tests.verify_fuzz import maps, pairs
from tests.verify_fuzz.pairs import Figures, pair, play

SEED = 11


def played(count: int, requests: int) -> Figures:
    """What comes out for some pairs."""
    figures = Figures()
    for number in range(count):
        play(pair(random.Random(f"{SEED}-{number}"), SEED, number), requests, figures, Counter())
    return figures


def test_pairs_at_random() -> None:
    """No pair is called equivalent that requests tell apart, and each verdict occurs."""
    figures = played(30, 60)
    assert (figures.wrong, figures.failed) == (0, 0)
    assert figures.equivalent
    assert figures.different


def test_maps_at_random() -> None:
    """No pair of sites around maps is called equivalent that requests tell apart, and each verdict occurs."""
    figures = Figures()
    for number in range(40):
        maps.play(f"{SEED}-{number}", figures)
    assert figures.wrong == 0
    assert all((figures.equivalent, figures.different, figures.unknown))


def test_a_wrong_verdict_about_maps_is_seen(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """If every pair of sites around maps is called equivalent, some are seen not to be."""
    monkeypatch.setattr(maps, "verify", lambda *_: Verification(None, (), 1, 0, ()))
    figures = Figures()
    for number in range(10):
        maps.play(f"{SEED}-{number}", figures)
    assert figures.wrong
    assert "WRONG" in capfd.readouterr().out


def test_a_wrong_verdict_is_seen(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """If everything is called equivalent, the fuzzer finds pairs that are not."""
    monkeypatch.setattr(pairs, "verify", lambda *_: Verification(None, (), 1, 0, ()))
    assert played(20, 60).wrong
    assert "WRONG" in capfd.readouterr().out
