"""Escapes text from files, which may contain any byte, for terminals, encoders and XML."""

from __future__ import annotations

import re

# Not compiled here: classes of such ranges take longer than all other start-up, and plain text needs neither.
_SURROGATE = r"[\ud800-\udfff]"
_NOT_XML = r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"


def printable(text: str) -> str:
    r"""Return `text` for a terminal: what does not print, line ends included, is escaped as `\n`, `\x1b`, `\u202e`."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escape(char) for char in text)


def unicode(text: str) -> str:
    r"""Return `text` with bytes that are not UTF-8 as `\xff`, so that it can be encoded."""
    return re.sub(_SURROGATE, lambda match: _escape(match[0]), text)


def xml(text: str) -> str:
    """Return `text` for XML 1.0 and HTML: as `unicode` does, and characters that XML does not have as U+FFFD."""
    return re.sub(_NOT_XML, "\ufffd", unicode(text))


def _escape(char: str) -> str:
    if "\udc80" <= char <= "\udcff":
        return f"\\x{ord(char) - 0xDC00:02x}"
    return char.encode("unicode_escape").decode()
