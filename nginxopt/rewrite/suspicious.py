"""Finds suspicious rewrites, quickly even among a great number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from nginxopt import _native
from nginxopt.config import Bulk, Directive, directive_at
from nginxopt.semantics import Level
from nginxopt.text import Span

Never = _native.Never


def suspicious_rewrites(levels: Iterable[Level]) -> Iterator[tuple[Directive, Level]]:
    """Yield the rewrites of some levels; from folded runs, only suspicious ones (rewrite/suspicious.rs).

    Raises `InputError` for a rewrite of a folded run that nginx refuses.
    """
    for level in levels:
        for directive in level.own("rewrite"):
            yield directive, level
        for bulk in level.bulks:
            for directive in _suspicious(bulk):
                yield directive, level


def _suspicious(bulk: Bulk) -> Iterator[Directive]:
    try:
        spans = _native.suspicious_rewrites(bulk.source.data, [(bulk.span.start, bulk.span.end)])
    except _native.RefusedError as error:
        from nginxopt.rewrite.kinds.rules.planning import refusal  # which most runs do not need

        raise refusal(error, bulk.source) from None
    return (directive_at(bulk.source, Span(*span)) for span in spans)


@lru_cache(maxsize=1 << 12)
def why_never(pattern: bytes, *, merge_slashes: bool) -> tuple[Never | None, int]:
    """Return why no ordinary request matches a pattern, None if one may or if it takes long to know, and the steps.

    Takes about 30 us, and up to a tenth of a second, a million steps, for groups that are repeated in one another.

    nginx matches `$uri`, which is decoded, normalised, and without arguments. The reasons are:

    - `IMPOSSIBLE`: no URI matches.
    - `PERCENT`: only a URI that contains `%XX` after decoding matches.
    - `QUERY`: only a URI with an encoded `?` and text after it that looks like arguments matches.
    """
    return _native.never(pattern, merge_slashes)


def without_captures(pattern: bytes) -> bytes:
    """Return a pattern with `(?:...)` in place of `(...)`, which matches the same. Takes some microseconds.

    Raises `ValueError`, with the reason, for a pattern with a named group, or with a part that may refer to a group.
    """
    return _native.without_captures(pattern)
