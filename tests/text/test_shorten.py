"""Sentences shortened to a width: their longest words are cut in the middle."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nginxopt.text import fit, shorten
from tests.rows import every_row


@every_row(
    ("sentence", "width", "cut"),
    [
        ("as it is", 8, "as it is"),
        (f"/{'a' * 30}z is redirected", 35, "/aaaaaaaaa…aaaaaaaaaz is redirected"),
        (f"{'a' * 30} -> {'b' * 30}", 34, "aaaaaaa…aaaaaaa -> bbbbbbb…bbbbbbb"),
        (f"{'a' * 30} -> short", 28, "aaaaaaaaa…aaaaaaaaa -> short"),
        ("many short words are cut as one", 11, "many …s one"),
        (f"/{'a' * 30} matches double-encoded URLs", 43, "/aaaaaa…aaaaaaa matches double-encoded URLs"),
    ],
)
def test_the_longest_words_are_cut(sentence: str, width: int, cut: str) -> None:
    """Words are cut evenly, and the sentence only if that is not enough."""
    assert fit(sentence, width) == cut


@pytest.mark.parametrize(
    ("sentence", "cut"),
    [
        ("/reference/a/the-network.html -> /reference/b/the-network.html", "/refe…a/th…html -> /refe…b/th…html"),
        ("/guides/old-tutorial.html -> /guides/new-tutorial.html", "/guid…old-…html -> /guid…new-…html"),
    ],
)
def test_words_that_differ_look_different(sentence: str, cut: str) -> None:
    """Words that would be cut to the same keep the part in which they differ."""
    assert fit(sentence, len(cut)) == cut


@given(st.sets(st.text("ab", min_size=20, max_size=60), min_size=2, max_size=4))
def test_no_two_steps_of_a_chain_look_alike(words: set[str]) -> None:
    """Whatever the words are, those that differ look different if there is room for them."""
    cut = fit(" ".join(sorted(words)), 20 * len(words)).split(" ")
    assert len(set(cut)) == len(words)


@given(st.text(), st.integers(1, 200))
def test_nothing_is_longer_than_it_may_be(sentence: str, width: int) -> None:
    """What fits stays as it is; what does not is cut to the width."""
    for cut in (fit(sentence, width), shorten(sentence, width)):
        assert cut == sentence if len(sentence) <= width else len(cut) <= width
