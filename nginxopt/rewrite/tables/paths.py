"""Parses the two main columns of a table: the request of a row, and the `Location` of its response.

`$uri` is decoded, and has no `//` and no `.` or `..` segments (`ngx_http_parse_complex_uri`). nginx cannot distinguish
requests that differ only in these. A row for one of them is refused, as it would answer the others as well.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from nginxopt import lazy
from nginxopt.rewrite.tables.table import CannotAnswer
from nginxopt.text import decode, shorten
from nginxopt.text.display import printable

LONGEST = 4_095
"""The longest parameter in bytes that nginx accepts (`ngx_conf_read_token`)."""

_PLAIN_PATH = lazy.pattern(rb"/[A-Za-z0-9/._~!$&'()+,;=@-]*\Z")
_PLAIN_TARGET = lazy.pattern(rb"(?:/(?!/)|https?://[A-Za-z0-9])[A-Za-z0-9/._~!$&'()*+,;=:@?#-]*\Z")
_SITE = lazy.pattern(rb"(https?)://([^/?#]*)", re.IGNORECASE)
_SCHEME = lazy.pattern(rb"[A-Za-z][A-Za-z0-9+.-]*:")
_HOST = lazy.pattern(rb"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?\Z")
_ESCAPE = lazy.pattern(rb"%([0-9A-Fa-f]{2})?")
_NO_URI = lazy.pattern(rb"[^A-Za-z0-9/._~!$&'()*+,;=:@?#\[\]%-]")
_CONTROL = lazy.pattern(rb"[\x00-\x1f\x7f]")
_DOTS = lazy.pattern(rb"/\.\.?(?:/|\Z)")


class From(NamedTuple):
    """The conditions of a row: scheme and host (empty for any), the decoded path, and arguments (None for any)."""

    site: bytes
    path: bytes
    query: bytes | None


def read_from(text: bytes) -> From:
    """Parse the request of a row. Raises `CannotAnswer` if it is invalid, or like others to nginx."""
    if _PLAIN_PATH.match(text) and b"//" not in text and b"/." not in text:
        return From(b"", text, None)
    if _CONTROL.search(text):
        raise CannotAnswer("control-character", "a control character cannot be part of an address", "percent-encode it")
    site, rest = split_site(text)
    if b"#" in rest:
        raise CannotAnswer("fragment", "no request has a fragment: clients keep what follows # to themselves")
    path, mark, query = rest.partition(b"?")
    if mark and not query:
        raise CannotAnswer("empty-query", "nginx cannot tell a path with an empty query from the path", "remove the ?")
    return From(site, decoded_path(path), escaped(query) if mark else None)


def split_site(text: bytes) -> tuple[bytes, bytes]:
    """Return the scheme and host of an address in lower case, and the rest. Raises `CannotAnswer` if it is invalid."""
    match = _SITE.match(text)
    if match is None:
        if not text:
            raise CannotAnswer("no-path", "the row has no path", "begin with / or http:// or https://")
        if not text.startswith(b"/"):
            raise CannotAnswer("no-path", f"{_shown(text)} is not a path", "begin with / or http:// or https://")
        return b"", text
    scheme, host = match[1].lower(), match[2].lower().removesuffix(b".")
    if not host:
        raise CannotAnswer("host", f"{_shown(text)} has no host", "begin with / or http://HOST/")
    if not _HOST.match(host):
        message = "nginx compares host names only: without port, user or letters beyond ASCII"
        is_more = b":" in host or b"@" in host
        hint = "remove port and user" if is_more else "write an international name as clients send it: xn--..."
        raise CannotAnswer("host", message, hint)
    rest = text[match.end() :]
    return scheme + b"://" + host, rest if rest.startswith(b"/") else b"/" + rest


def decoded_path(path: bytes) -> bytes:
    """Return the `$uri` of a request for a path. Raises `CannotAnswer` if no request, or another one, has the path."""
    if not path.startswith(b"/"):
        raise CannotAnswer("no-path", f"{_shown(path)} is not a path", "begin with /")
    if b"//" in path:
        raise CannotAnswer("unreachable", "no request has this path: nginx merges slashes", "write one slash")
    decoded = _ESCAPE.sub(_decode, path)
    if b"\0" in decoded:
        raise CannotAnswer("unreachable", "no request has this path: nginx refuses %00")
    if _DOTS.search(decoded):
        raise CannotAnswer("unreachable", "no request has this path: nginx resolves . and .. segments")
    return decoded


def _decode(escape: re.Match[bytes]) -> bytes:
    if escape[1] is None:
        raise CannotAnswer("escape", "% without two hexadecimal digits", "write %25 for a percent sign")
    byte = bytes.fromhex(escape[1].decode())
    if byte == b"/":
        raise CannotAnswer("encoded-slash", "nginx does not distinguish %2F from / in a path")
    return byte


def read_target(text: bytes) -> bytes:
    """Return the `Location` for a target: as written, with invalid bytes percent-encoded (RFC 3987, 3.1)."""
    if _PLAIN_TARGET.match(text):
        return _short(text)
    if text.startswith(b"//"):
        message = "nginx puts its own scheme and host before a target that begins with //"
        raise CannotAnswer("protocol-relative", message, "write the scheme: https://...")
    if not text:
        raise CannotAnswer("target", "the row has no target", "begin with / or http:// or https://")
    site = _SITE.match(text)
    if site is None and not text.startswith(b"/"):
        what = "neither a path nor an http address" if _SCHEME.match(text) else "not a path"
        raise CannotAnswer("target", f"the target {_shown(text)} is {what}", "begin with / or http:// or https://")
    if site is not None and not site[2]:
        raise CannotAnswer("target", f"the target {_shown(text)} has no host")
    return _short(escaped(text))


def escaped(text: bytes) -> bytes:
    """Percent-encode all bytes that a URI cannot contain. Control characters are refused."""
    if _CONTROL.search(text):
        raise CannotAnswer("control-character", "a control character cannot be part of an address", "percent-encode it")
    for escape in _ESCAPE.finditer(text):
        if escape[1] is None:
            raise CannotAnswer("escape", "% without two hexadecimal digits", "write %25 for a percent sign")
    return _NO_URI.sub(lambda match: b"%%%02X" % match[0][0], text)


def _short(text: bytes) -> bytes:
    if len(text) > LONGEST:
        raise CannotAnswer("too-long", f"nginx does not accept parameters longer than {LONGEST:,} bytes")
    return text


def _shown(text: bytes) -> str:
    return shorten(f"'{printable(decode(text))}'", 40)
