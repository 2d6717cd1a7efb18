"""The hash sizes that the keys of a map need."""

from __future__ import annotations

import pytest

from nginxopt.semantics.maphash import Verdict, suitable, verdict


@pytest.mark.parametrize(
    ("keys", "sizes"),
    [([b"k" * 47], (2048, 128)), ([b"k%d" % n for n in range(5000)], (8192, 64)), ([b"k"], (2048, 64))],
)
def test_suitable_sizes(keys: list[bytes], sizes: tuple[int, int]) -> None:
    """Sizes grow no further than they must, and the keys fit them."""
    assert suitable([keys], 2048, 64) == sizes
    assert verdict(keys, *sizes) == Verdict.FITS
