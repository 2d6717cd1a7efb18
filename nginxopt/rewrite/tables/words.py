"""Quotes texts as parameters of nginx directives."""

from __future__ import annotations

from nginxopt import lazy

_ESCAPES = {b"\\": b"\\\\", b'"': b'\\"', b"\n": b"\\n", b"\r": b"\\r", b"\t": b"\\t"}
_ESCAPED = lazy.pattern(rb"""\\(?=[\\"'trn\n\r\t]|\Z)|["\n\r\t]""")
"""The bytes to escape. A backslash before any other character is literal."""


def quoted(text: bytes) -> bytes:
    """Return a text in double quotes, escaped so that `ngx_conf_read_token` reads it unchanged."""
    if _ESCAPED.search(text):
        text = _ESCAPED.sub(lambda match: _ESCAPES[match[0]], text)
    return b'"' + text + b'"'


def without_variables(text: bytes, dollar: bytes) -> bytes:
    """Escape the dollar signs of a text that nginx expands; `dollar` is the name of a variable with the value `$`."""
    return text.replace(b"$", b"${" + dollar + b"}") if b"$" in text else text
