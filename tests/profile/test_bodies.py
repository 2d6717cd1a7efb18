"""Bodies of measurements: their size, and how much they shrink."""

from __future__ import annotations

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nginxopt.profile.bodies import text
from tests.rows import every_row


@given(st.integers(0, 200_000), st.sampled_from([1.0, 1.4, 2.2, 3.0, 4.5, 8.0]))
def test_it_has_the_size(size: int, ratio: float) -> None:
    """Whatever the size, and it is the same each time."""
    made = text(size, ratio)
    assert len(made) == size
    text.cache_clear()
    assert text(size, ratio) == made


@every_row("size", [3_000, 20_000, 150_000])
@every_row("ratio", [1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0])
def test_it_shrinks_as_much(size: int, ratio: float) -> None:
    """gzip shrinks it by about the factor that is asked for."""
    made = text(size, ratio)
    assert len(made) / len(zlib.compress(made, 6)) == pytest.approx(ratio, rel=0.25 if size < 10_000 else 0.1)
