"""Counts with plural nouns."""

from __future__ import annotations


def count(number: int, noun: str, plural: str | None = None) -> str:
    """Return `1 file`, `2,000 files`; the default plural adds an s."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def be(number: int) -> str:
    """Return `is` for 1 and `are` for any other number."""
    return "is" if number == 1 else "are"
