"""The rewrites that are worth a closer look, out of any number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from nginxopt import _native
from nginxopt.config import Bulk, Directive, directive_at
from nginxopt.semantics import Level
from nginxopt.text import Span


def suspicious_rewrites(levels: Iterable[Level]) -> Iterator[tuple[Directive, Level]]:
    """Yield the rewrites of some levels; of a folded run only those that are suspicious (rewrite/suspicious.rs).

    Raises `InputError` at a rewrite of such a run that nginx refuses.
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
        from nginxopt.rewrite.planning import refusal  # which most runs do not need

        raise refusal(error, bulk.source) from None
    return (directive_at(bulk.source, Span(*span)) for span in spans)


def why_never(pattern: bytes, *, merge_slashes: bool) -> str | None:
    """Return why no ordinary request of a client matches a pattern; None if one may. Some 30 us.

    `impossible`: no URI does. `percent`: only one that holds `%XX` when it is decoded. `query`: only one that holds an
    encoded `?` and what looks like arguments behind it. nginx matches `$uri`: decoded, normalised, without arguments.
    """
    return _native.never(pattern, merge_slashes)


def without_captures(pattern: bytes) -> bytes:
    """Return a pattern with `(?:...)` for `(...)`; what it matches stays the same. Some microseconds.

    `ValueError`, with what it has, for a pattern with a named group or one whose groups something may refer to.
    """
    return _native.without_captures(pattern)
