"""Suggestions for misspelt names."""

from __future__ import annotations

from collections.abc import Iterable


def suggestion(name: str, known: Iterable[str]) -> str | None:
    """Return `did you mean "..."?` with the known name that is closest to `name`; None if none is close."""
    from difflib import get_close_matches  # of which most runs need none

    close = get_close_matches(name, sorted(known), n=1)
    return f'did you mean "{close[0]}"?' if close else None
