"""Escapes text from files, which may contain any byte, for terminals, encoders and XML."""

from __future__ import annotations

import re

from nginxopt import lazy

# Not compiled here: classes of such ranges take longer than all other start-up, and plain text needs neither.
_SURROGATE = r"[\ud800-\udfff]"
_NUMBER = lazy.pattern(r"[-+]?[0-9.]+(?:e[-+]?[0-9]+)?")
_NOT_XML = r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"


def printable(text: str) -> str:
    r"""Return `text` for a terminal: what does not print, line ends included, is escaped as `\n`, `\x1b`, `\u202e`."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escape(char) for char in text)


def line(text: str) -> str:
    """Return `text` as `printable` does, with tabs, as a line that is no command to a runner."""
    return inert(text if text.isprintable() else "\t".join(map(printable, text.split("\t"))))


def inert(text: str) -> str:
    """Return a line that is no command to a runner of GitHub Actions, whatever program prints it.

    A runner takes a line for a command that begins with `::`, or has `##[` anywhere (actions/runner,
    src/Runner.Common/ActionCommand.cs).
    """
    if text.lstrip().startswith("::"):
        text = text.replace("::", "\\x3a:", 1)
    return text.replace("##[", "#\\x23[")


def cell(text: str) -> str:
    """Return a text for a cell of CSV: as `printable` does, and as no formula to a spreadsheet.

    A spreadsheet computes what begins with `=`, `+`, `-` or `@`, perhaps after blanks (OWASP, CSV Injection). An
    apostrophe in front makes it a text; numbers stay.
    """
    shown = printable(text)
    is_formula = shown.lstrip().startswith(("=", "+", "-", "@", "\\t", "\\r")) or text[:1] in ("\t", "\r")
    return f"'{shown}" if is_formula and not _NUMBER.fullmatch(shown) else shown


def terminal(text: str) -> str:
    """Return `text` as `printable` does, with line ends, tabs, and colors as `nginxopt.text.style` writes them."""
    parts = re.split(r"(\x1b\[[0-9;]*m|[\n\t])", text)
    return "".join(part if number % 2 else printable(part) for number, part in enumerate(parts))


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
