"""Positions of the protocol and byte offsets are converted into each other."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol.types import Position, PositionEncodingKind

from nginxopt.lsp.lines import Lines

_TEXTS = st.text(st.sampled_from("ab é€😀\n\r\t;"), max_size=40)
_WIDTHS = {"utf-8": 1, "utf-16": 2, "utf-32": 4}


@pytest.mark.parametrize("encoding", list(_WIDTHS))
@given(text=_TEXTS)
def test_each_place_has_its_line_and_the_units_before_it(encoding: str, text: str) -> None:
    """A position counts line ends (LF, CRLF, CR), then the code units of the encoding; it leads back to its place."""
    lines = Lines(text.encode(), encoding)
    for number in range(len(text) + 1):
        if text[number - 1 : number + 1] == "\r\n":
            continue  # inside a line end
        *before, line = re.split(r"\r\n|\r|\n", text[:number])
        width = _WIDTHS[encoding]
        units = len(line.encode(encoding + ("-le" if width > 1 else ""))) // width
        offset = len(text[:number].encode())
        assert lines.position(offset) == Position(len(before), units)
        assert lines.offset(Position(len(before), units)) == offset


def test_places_behind_the_end_are_the_end() -> None:
    """A column behind the end of a line is its end, and a line behind the last one the end of the text."""
    lines = Lines("a é\r\nb".encode(), PositionEncodingKind.Utf16)
    assert lines.offset(Position(0, 99)) == 4
    assert lines.offset(Position(7, 0)) == 7


def test_bytes_that_are_not_utf8_count_as_one_unit() -> None:
    """A file in Latin-1 on the disk has a unit for each byte, as an editor shows it."""
    lines = Lines(b"# caf\xe9 x", "utf-16")
    assert lines.position(7) == Position(0, 7)
    assert lines.offset(Position(0, 7)) == 7


def test_a_hidden_byte_order_mark_takes_no_column() -> None:
    """What the editor does not show counts for no position."""
    lines = Lines("\ufefflisten 80;".encode(), "utf-16", hidden=3)
    assert lines.position(0) == lines.position(3) == Position(0, 0)
    assert lines.offset(Position(0, 6)) == 9
