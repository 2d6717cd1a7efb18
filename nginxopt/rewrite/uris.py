"""URIs as nginx has them, and as clients write them."""

from __future__ import annotations

import re

from nginxopt.text import shorten

_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/-._~")
# What ngx_http_parse_complex_uri never leaves in a URI: NUL, two slashes (merge_slashes), the segments `.`
# and `..`.
_NEVER_RECEIVED = re.compile(rb"\0|//|/\.\.?(?:/|\Z)")

_SHOWN = 120


def receivable(uri: bytes) -> bool:
    """Return whether a client can make nginx see `uri` as `$uri`."""
    return uri.startswith(b"/") and not _NEVER_RECEIVED.search(uri)


def percent_encode(uri: bytes) -> bytes:
    """Return a request target that nginx decodes to `uri`, with everything but unreserved bytes encoded."""
    return b"".join(bytes([byte]) if byte in _UNRESERVED else b"%%%02X" % byte for byte in uri)


def shown(uri: bytes) -> str:
    """Return a URI as a client writes it, of at most 120 characters: the middle of a longer one is cut."""
    ends = uri if len(uri) <= _SHOWN else uri[:_SHOWN] + uri[-_SHOWN:]  # what is behind them is cut in any case
    return shorten(percent_encode(ends).decode(), _SHOWN)
