"""Determines the format of a table from the name and content of its file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from nginxopt import lazy
from nginxopt.request import columns, sheets

if TYPE_CHECKING:
    from nginxopt.rewrite.tables.table import Table, TableKind
    from nginxopt.text import Source

KINDS: tuple[TableKind, ...] = ("csv", "netlify", "cloudflare", "apache")

_APACHE = lazy.pattern(rb"(?i)(?:redirect(?:match|permanent|temp)?|rewriteengine|rewriterule)\s|<ifmodule\s")
_COMMENT = lazy.pattern(rb"\s*#.*")
_LOOKED_AT = 65_536
"""The number of bytes in which the first line that is not a comment is searched."""


def kind_of(source: Source) -> TableKind | None:
    """Return the format of a table; None if the file is not a table.

    Raises `InputError` for a `_redirects` file that does not show its platform.
    """
    name = os.path.basename(source.path)  # noqa: PTH119 - a name of any file
    if name.lower().endswith((".csv", ".tsv", *sheets.SPREADSHEETS)):
        return "csv"
    if name == "_redirects":
        return _platform_of(source)
    if name == ".htaccess":
        return "apache"
    line = _first_line(source.data)
    if b"\r" in line or not (_APACHE.match(line) or _is_nginx(line)):  # another encoding, or other line ends
        line = _first_line(source.data if sheets.is_spreadsheet(source) else sheets.as_text(source).source.data)
    if _APACHE.match(line):
        return "apache"
    if _is_nginx(line):
        return None
    if any(columns.is_header(line, bytes([byte])) for byte in columns.DELIMITERS) or _is_csv(line):
        return "csv"
    words = line.split()
    is_list = len(words) > 1 and columns.is_address(words[0]) and columns.is_address(words[1])
    return _platform_of(source) if is_list else None


def read(source: Source, kind: TableKind) -> Table:
    """Return the table of a file. Raises `InputError` if it is invalid."""
    from nginxopt.rewrite.tables import apache, delimited, hosted

    if kind == "csv":
        return delimited.read(source)
    if kind == "apache":
        return apache.read(source)
    return hosted.read(source, kind)


def _platform_of(source: Source) -> TableKind:
    from nginxopt.rewrite.tables import hosted

    return hosted.platform_of(source)


def _first_line(data: bytes) -> bytes:
    """Return the first line that is neither empty nor a comment."""
    lines = data[:_LOOKED_AT].removeprefix(b"\xef\xbb\xbf").split(b"\n")
    return next((line.strip() for line in lines if line.strip() and not line.strip().startswith(b"#")), b"")


def _is_nginx(line: bytes) -> bool:
    """Return whether a line ends a statement or opens a block. Rows of a map also begin with paths."""
    return _COMMENT.sub(b"", line).endswith((b";", b"{", b"}"))


def _is_csv(line: bytes) -> bool:
    """Return whether a line is a row with delimiters."""
    rows = (line.replace(b'"', b"").split(bytes([byte])) for byte in columns.DELIMITERS)
    return any(
        len(cells) in (2, 3) and all(map(columns.is_address, (cells[0].strip(), cells[1].strip()))) for cells in rows
    )
