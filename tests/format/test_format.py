"""The layout of the formatter, case by case, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from nginxopt.errors import DefectError, InputError
from nginxopt.format import IndentStyle, edits, formatted
from nginxopt.format import formatting as module
from nginxopt.text import Edit, Source, Span, apply
from tests.cases import cases, expect
from tests.rows import every_row

ODD = {
    "blanks behind a comment": (b"# 1 \t\na; # 2  ", b"# 1\na; # 2\n"),
    "no line end at the end": (b"a;", b"a;\n"),
    "CRLF": (
        b"a {\r\nb;\n\r\n\r\n\r\n# c\r\nd; # e\r\n}",
        b"a {\r\n    b;\r\n\r\n    # c\r\n    d; # e\r\n}\r\n",
    ),
    "LF, with CRLF in quotes and later": (b'a "x\r\ny"\n;\r\nb;\r\n', b'a "x\r\ny";\nb;\n'),
    "a carriage return alone is a blank": (b"a\rb;\rc;\r", b"a b;\nc;\n"),
    "any bytes": (b"a  \x00  \xff\xfe;\n#\xff\x00\n", b"a \x00 \xff\xfe;\n#\xff\x00\n"),
    "a byte order mark": (b"\xef\xbb\xbfuser   www;", b"\xef\xbb\xbfuser www;\n"),
    "a word as long as nginx's buffer": (b"y" * 4095 + b"{}", b"y" * 4095 + b"{}\n"),
    "a quoted word as long as nginx's buffer": (
        b"a  '" + b"y" * 4094 + b"'{b;}",
        b"a '" + b"y" * 4094 + b"'{\n    b;\n}\n",
    ),
    "a comment as long as nginx's buffer": (b"a;  #" + b"c" * 4095, b"a; #" + b"c" * 4095),
    "a Lua block longer than nginx's buffer": (
        b"a_by_lua_block {--" + b"y" * 5000 + b"\n}",
        b"a_by_lua_block {--" + b"y" * 5000 + b"\n}\n",
    ),
}
FOLDER = Path(__file__).parent / "cases"
TEXTS = {path.stem: path.read_bytes() for path in FOLDER.glob("*.conf")} | {
    name: before for name, (before, _) in ODD.items()
}
"""All texts that are laid out here."""


@every_row("case", cases(FOLDER))
def test_layout(case: Path) -> None:
    """A text becomes the layout that is documented (`cases/`), and stays as it is from then on."""
    after = formatted(case.read_bytes())
    expect(case, after)
    stays(after)


@every_row("name", ODD)
def test_layout_of_odd_bytes(name: str) -> None:
    """So does a text that an editor would not keep as it is."""
    before, after = ODD[name]
    assert formatted(before) == after
    stays(after)


def stays(after: bytes) -> None:
    """Check that a text has its layout already."""
    assert formatted(after) == after
    assert edits(Source("f", after)) == ()


def test_style() -> None:
    """A step is a number of spaces, or a tab."""
    assert formatted(b"a{b{c;}}", IndentStyle(width=2)) == b"a {\n  b {\n    c;\n  }\n}\n"
    assert formatted(b"a{b{c;}}", IndentStyle(tabs=True)) == b"a {\n\tb {\n\t\tc;\n\t}\n}\n"


@pytest.mark.parametrize("width", [-1, 0, 17])
def test_invalid_width(width: int) -> None:
    """A width that no editor offers is an error."""
    with pytest.raises(ValueError, match=str(width)):
        IndentStyle(width)


@every_row(
    ("text", "message", "column"),
    [
        (b"a { };\n", "missing directive before this", 6),
        (b"a {\n", "this block is not closed", 3),
        (b"a; }\n", "this closes no block in this file", 4),
        (b'a "x"y;\n', "unexpected character after a closing quote", 6),
        (b"a " + b"y" * 4096 + b" ;\n", "this word or comment is too long", 3),
        (b"{% if x %}\na;\n{% endif %}\n", "this is a Jinja template: check the rendered file", 1),
        (b"listen {{ port }};\n", "this is a Jinja or Mustache template: check the rendered file", 8),
        (b'root "{{ root }}";\n', "this is a Jinja or Mustache template: check the rendered file", 7),
        (b"listen <%= port %>;\n", "this is a template with ERB tags: check the rendered file", 8),
        (b"\xef\xbb\xbf# comment\nuser www;\n", "nginx reads the byte order mark as a word", 1),
        (b"\xef\xbb\xbf\nuser www;\n", "nginx reads the byte order mark as a word", 1),
    ],
)
def test_refused(text: bytes, message: str, column: int) -> None:
    """What nginx would not read, templates, and a mark that hides a comment are errors with their place."""
    with pytest.raises(InputError, match=message) as caught:
        formatted(text, path="x.conf")
    assert caught.value.render().startswith(f"x.conf:1:{column}: ")


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (Edit(Span(1, 2), b""), "differs at line 1"),  # `a b` becomes `ab`
        (Edit(Span(1, 2), b"\t;\n"), "differs at line 1"),
        (Edit(Span(4, 5), b" # "), "differs at line 2"),
        (Edit(Span(7, 8), b"{"), "differs|cannot be read"),
        (Edit(Span(9, 10), b" d;"), "ends elsewhere"),
        (Edit(Span(9, 10), b""), None),
    ],
)
def test_a_fault_is_a_defect(monkeypatch: pytest.MonkeyPatch, fault: Edit, message: str | None) -> None:
    """Edits that change more than white space are refused, whatever made them."""
    text = b"a b;\nc  ;\n"
    monkeypatch.setattr(module, "_changes", lambda *_: iter([fault]))
    if message is None:
        assert formatted(text) == apply(text, [fault])
        return
    with pytest.raises(DefectError, match=message):
        formatted(text)
