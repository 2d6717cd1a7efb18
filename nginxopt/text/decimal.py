"""Decimal numbers in what others wrote: `int` also takes digits of other scripts, and raises for too many."""

from __future__ import annotations

_MOST_DIGITS = 18
"""How many digits a number has at most: each fits 64 bits."""


def number(text: str) -> int | None:
    """Return the value of ASCII digits; None for any other text, and for more digits than a number has."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else None
