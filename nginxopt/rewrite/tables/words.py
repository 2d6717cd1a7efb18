"""Texts as parameters of nginx."""

from __future__ import annotations

import re

_ESCAPES = {b"\\": b"\\\\", b'"': b'\\"', b"\n": b"\\n", b"\r": b"\\r", b"\t": b"\\t"}
_ESCAPED = re.compile(rb"""\\(?=[\\"'trn\n\r\t]|\Z)|["\n\r\t]""")
"""A backslash stands for itself before any other character."""


def quoted(text: bytes) -> bytes:
    """Return a text in double quotes, as `ngx_conf_read_token` reads it."""
    if _ESCAPED.search(text):
        text = _ESCAPED.sub(lambda match: _ESCAPES[match[0]], text)
    return b'"' + text + b'"'


def without_variables(text: bytes, dollar: bytes) -> bytes:
    """Return a text that stands for itself where nginx expands variables; `dollar` names one that is a dollar sign."""
    return text.replace(b"$", b"${" + dollar + b"}") if b"$" in text else text
