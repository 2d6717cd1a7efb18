"""Converts between the decoded URIs of nginx and the percent-encoded ones of clients."""

from __future__ import annotations

from collections.abc import Iterable

from nginxopt import lazy
from nginxopt.text import shorten

_UNRESERVED = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/-._~"
# Bytes that no URI contains after ngx_http_parse_complex_uri: NUL, two slashes (merge_slashes), the segments `.` and
# `..`.
_NEVER_RECEIVED = lazy.pattern(rb"\0|//|/\.\.?(?:/|\Z)")

_SHOWN = 120


def receivable(uri: bytes) -> bool:
    """Return whether a request can have `uri` as its `$uri`."""
    return uri.startswith(b"/") and not _NEVER_RECEIVED.search(uri)


def percent_encode(uri: bytes) -> bytes:
    """Return a request target that nginx decodes to `uri`, with everything but unreserved bytes encoded."""
    if not uri.translate(None, _UNRESERVED):
        return uri
    return b"".join(map(_ENCODED.__getitem__, uri))


def spellings(encoded: Iterable[int]) -> tuple[bytes, ...]:
    """Return how a request target spells each byte: percent-encoded if it is one of `encoded`, otherwise unchanged."""
    chosen = frozenset(encoded)
    return tuple(b"%%%02X" % byte if byte in chosen else bytes([byte]) for byte in range(256))


_ENCODED = spellings(set(range(256)) - set(_UNRESERVED))


def shown(uri: bytes) -> str:
    """Return a percent-encoded URI for messages, cut in the middle to at most 120 characters."""
    ends = uri if len(uri) <= _SHOWN else uri[:_SHOWN] + uri[-_SHOWN:]  # what is behind them is cut in any case
    return shorten(percent_encode(ends).decode(), _SHOWN)
