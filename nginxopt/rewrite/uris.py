"""URIs as nginx has them, and as clients write them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from nginxopt.text import shorten

_UNRESERVED = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/-._~"
# What ngx_http_parse_complex_uri never leaves in a URI: NUL, two slashes (merge_slashes), the segments `.`
# and `..`.
_NEVER_RECEIVED = re.compile(rb"\0|//|/\.\.?(?:/|\Z)")

_SHOWN = 120


def receivable(uri: bytes) -> bool:
    """Return whether a client can make nginx see `uri` as `$uri`."""
    return uri.startswith(b"/") and not _NEVER_RECEIVED.search(uri)


def percent_encode(uri: bytes) -> bytes:
    """Return a request target that nginx decodes to `uri`, with everything but unreserved bytes encoded."""
    if not uri.translate(None, _UNRESERVED):
        return uri
    return b"".join(map(_ENCODED.__getitem__, uri))


def spellings(encoded: Iterable[int]) -> tuple[bytes, ...]:
    """Return for each byte how a request target has it: as it is, or with a percent sign if it is one of `encoded`."""
    chosen = frozenset(encoded)
    return tuple(b"%%%02X" % byte if byte in chosen else bytes([byte]) for byte in range(256))


_ENCODED = spellings(set(range(256)) - set(_UNRESERVED))


def shown(uri: bytes) -> str:
    """Return a URI as a client writes it, of at most 120 characters: the middle of a longer one is cut."""
    ends = uri if len(uri) <= _SHOWN else uri[:_SHOWN] + uri[-_SHOWN:]  # what is behind them is cut in any case
    return shorten(percent_encode(ends).decode(), _SHOWN)
