"""Numbers of things, in words."""

from __future__ import annotations


def count(number: int, noun: str, plural: str | None = None) -> str:
    """Return `1 file`, `2,000 files`; the plural is the noun with an s unless it is given."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def be(number: int) -> str:
    """Return `is` of one thing and `are` of any other number."""
    return "is" if number == 1 else "are"
