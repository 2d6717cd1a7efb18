"""Places in a text of any bytes: lines, columns and snippets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nginxopt.text import Position, Source, Span, decode, encode

texts = st.lists(st.sampled_from([b"a", b" ", b"\t", b"\n", b"\r\n", b"\r", "ä中".encode(), b"\xff", b"\0"])).map(
    b"".join
)


def snippet(text: bytes, start: int, end: int) -> list[str]:
    """The two lines of a snippet."""
    return Source("f", text).snippet(Span(start, end)).split("\n")


@given(st.binary())
def test_any_bytes_survive(data: bytes) -> None:
    """Text made of any bytes gives the same bytes back."""
    assert encode(decode(data)) == data


@given(texts)
def test_positions_count_lines_and_characters(data: bytes) -> None:
    """The position of each character of each line is its line and column, CRLF being one line end."""
    source = Source("f", data)
    offset = 0
    for number, line in enumerate(data.split(b"\n"), 1):
        for column, char in enumerate(decode(line), 1):
            assert source.position(offset) == Position(number, column)
            offset += len(encode(char))
        assert source.position(offset) == Position(number, len(decode(line)) + 1)
        ending = b"\r" if number <= data.count(b"\n") else b""
        assert encode(source.line(number)) == line.removesuffix(ending)
        offset += 1
    with pytest.raises(ValueError, match="no offset"):
        source.position(len(data) + 1)


@given(texts, st.data())
def test_snippets_of_any_text(data: bytes, draw: st.DataObject) -> None:
    """A snippet is two lines that can be printed, with at least one caret, for any span of any text."""
    start = draw.draw(st.integers(0, len(data)))
    end = draw.draw(st.integers(start, len(data)))
    line, carets = snippet(data, start, end)
    assert line.replace("\t", "").isprintable()
    assert set(carets) <= set("\t ^")
    assert carets.strip("\t ").strip("^") == ""
    assert carets.endswith("^")


def test_carets_stand_under_the_span() -> None:
    """Carets mark the span's part of its first line; tabs stay, and wide characters take two columns."""
    assert snippet(b"\trewrite a;\n", 1, 8) == ["\trewrite a;", "\t^^^^^^^"]
    assert snippet("中 ä x;".encode(), 4, 6) == ["中 ä x;", "   ^"]
    assert snippet("a 中;".encode(), 2, 5) == ["a 中;", "  ^^"]
    assert snippet(b"a {\r\nb;\r\n}", 2, 10) == ["a {", "  ^"]
    assert snippet(b"a\xff\x01\r\n", 1, 2) == ["a\ufffd\ufffd", " ^"]


def test_carets_at_the_end() -> None:
    """An empty span, and one at the end of a line or of the text, still has a caret."""
    assert snippet(b"ab\ncd", 5, 5) == ["cd", "  ^"]
    assert snippet(b"ab\r\ncd", 2, 4) == ["ab", "  ^"]
    assert snippet(b"", 0, 0) == ["", "^"]


@pytest.mark.parametrize("start", [0, 50, 500, 995])
def test_long_lines_are_cut_around_the_carets(start: int) -> None:
    """Of a long line the part around the span is shown, and the carets stand under the same characters."""
    data = b"".join(b"%d," % number for number in range(2000))
    line, carets = snippet(data, start, start + 4)
    assert len(line) <= 102
    marked = "".join(char for char, caret in zip(line, carets, strict=False) if caret == "^")
    assert marked == data[start : start + 4].decode()
    assert line.startswith("…") == (start > 33)
    assert line.endswith("…")


@pytest.mark.parametrize(("start", "end"), [(-1, 0), (2, 1)])
def test_a_span_must_be_one(start: int, end: int) -> None:
    """A span before the text or ending before it starts cannot be built."""
    with pytest.raises(ValueError, match="not a span"):
        Span(start, end)


def test_an_empty_span_is_a_place() -> None:
    """A span is true even if it is empty, so that `if span` asks whether there is one."""
    assert Span(3, 3)
    assert len(Span(3, 5)) == 2
