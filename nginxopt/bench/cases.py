"""The cases of a benchmark of patterns: values that none of them matches, and values that the first and last match."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nginxopt import _native

_JUNK = b"zqvx7"


def cases(patterns: Sequence[bytes], matched: Sequence[bytes], far: bytes) -> dict[str, bytes]:
    """Return values by their case: `far` and a near miss, and those of `matched` that come first, middle and last.

    `matched` are values that the patterns probably match, in their order. A miss that a pattern matches is left out,
    and so is a hit that none does.
    """
    known = _native.Patterns(patterns)
    hits = [value for value in matched if _first(known, value) is not None]
    near = (value for hit in reversed(hits) for value in _beside(hit) if _first(known, value) is None)
    chosen = {"far miss": None if _first(known, far) is not None else far, "near miss": next(near, None)}
    if hits:
        chosen |= {"hit first": hits[0], "hit middle": hits[len(hits) // 2], "hit last": hits[-1]}
    return {case: value for case, value in chosen.items() if value is not None}


def _beside(hit: bytes) -> Iterator[bytes]:
    """Yield values that begin like a hit, the longest first."""
    yield hit + _JUNK
    yield hit[:-1] + _JUNK
    yield hit[: 2 * len(hit) // 3] + _JUNK


def _first(patterns: _native.Patterns, value: bytes) -> int | None:
    """Return the first pattern that matches; None if there is none, or PCRE2 gives up on one."""
    try:
        return patterns.first(value)
    except ValueError:
        return None
