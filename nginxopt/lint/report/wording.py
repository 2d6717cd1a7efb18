"""Words that several formats share, and the characters that each may carry."""

from __future__ import annotations

import re

from nginxopt.lint.diagnostic import Diagnostic, Safety
from nginxopt.lint.premises import listed

# Not compiled here: classes of such ranges take longer than all other start-up, and plain text needs neither.
_SURROGATE = r"[\ud800-\udfff]"
_NOT_XML = r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"


def count(number: int, noun: str) -> str:
    """Return `1 file`, `2,000 files`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def advice(diagnostic: Diagnostic) -> list[str]:
    """Return what to do about a finding, a line each: the fix with the option that makes it, then the help."""
    lines = []
    if diagnostic.fix is not None:
        lines.append(f"fix: {diagnostic.fix.title} ({_option(diagnostic.fix.safety)})")
    if diagnostic.finding.help:
        lines.append(f"help: {diagnostic.finding.help}")
    return lines


def _option(safety: Safety) -> str:
    """Return the option that makes a fix of that safety."""
    if safety.premises is None:
        return "unsafe: --unsafe-fixes"
    return f"--assume {listed(safety.premises)}" if safety.premises else "--fix"


def printable(text: str) -> str:
    r"""Return `text` for a terminal: what does not print, line ends included, is escaped as `\n`, `\x1b`, `\u202e`."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escape(char) for char in text)


def unicode(text: str) -> str:
    r"""Return `text` with bytes that are no UTF-8 as `\xff`, so that it can be encoded."""
    return re.sub(_SURROGATE, lambda match: _escape(match[0]), text)


def xml(text: str) -> str:
    """Return `text` for XML 1.0: as `unicode` does, and characters that XML does not have as U+FFFD."""
    return re.sub(_NOT_XML, "\ufffd", unicode(text))


def _escape(char: str) -> str:
    if "\udc80" <= char <= "\udcff":
        return f"\\x{ord(char) - 0xDC00:02x}"
    return char.encode("unicode_escape").decode()
