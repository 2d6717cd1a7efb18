"""Chooses the cases of a benchmark of patterns: values that no pattern matches, and that early and late ones match."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nginxopt import _native

_JUNK = b"zqvx7"


def cases(patterns: Sequence[bytes], matched: Sequence[bytes], far: bytes) -> dict[str, bytes]:
    """Return values by case: the misses `far` and a near one, and the first, middle and last hit of `matched`.

    `matched` are values that the patterns probably match, in the order of the patterns. Misses that a pattern matches
    and hits that no pattern matches are left out.
    """
    known = _native.Patterns(patterns)
    hits = [value for value in matched if _first(known, value) is not None]
    near = (value for hit in reversed(hits) for value in _beside(hit) if _first(known, value) is None)
    chosen = {"far miss": None if _first(known, far) is not None else far, "near miss": next(near, None)}
    if hits:
        chosen |= {"hit first": hits[0], "hit middle": hits[len(hits) // 2], "hit last": hits[-1]}
    return {case: value for case, value in chosen.items() if value is not None}


def _beside(hit: bytes) -> Iterator[bytes]:
    """Yield values that begin like a hit, those with the longest common beginning first."""
    yield hit + _JUNK
    yield hit[:-1] + _JUNK
    yield hit[: 2 * len(hit) // 3] + _JUNK


def _first(patterns: _native.Patterns, value: bytes) -> int | None:
    """Return the index of the first pattern that matches; None if none does, or if PCRE2 gives up on one."""
    try:
        return patterns.first(value)
    except ValueError:
        return None
