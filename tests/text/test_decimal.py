"""Numbers in what others wrote."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nginxopt.text.source import decimal
from tests.rows import every_row


@given(st.integers(0, 10**18 - 1))
def test_a_number_is_read(value: int) -> None:
    """Each number that fits is the one that was written."""
    assert decimal(str(value)) == value


@every_row("text", ["", "-1", "+1", " 1", "1_0", "1e5", "\u00b2", "\u0661", "9" * 19, "9" * 5_000])
def test_any_other_text_is_none(text: str) -> None:
    """Signs, digits of other scripts, and more digits than `int` takes are no numbers, and raise nothing."""
    assert decimal(text) is None
