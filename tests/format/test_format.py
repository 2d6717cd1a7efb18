"""The layout of the formatter, case by case, and what it refuses."""

from __future__ import annotations

import pytest

from nginxopt.errors import DefectError, InputError
from nginxopt.format import IndentStyle, edits, formatted
from nginxopt.format import formatting as module
from nginxopt.text import Edit, Source, Span, apply

CASES = {
    "an indentation step for each block": (
        b"http {\nserver {\nlisten 80;\n}\n}\n",
        b"http {\n    server {\n        listen 80;\n    }\n}\n",
    ),
    "one directive a line": (b"a 1; b 2; c { d; e; } f;\n", b"a 1;\nb 2;\nc {\n    d;\n    e;\n}\nf;\n"),
    "nothing is aligned": (
        b"map $a $b {\n  default   0;\n  /long      1;  # c\n}\n",
        b"map $a $b {\n    default 0;\n    /long 1; # c\n}\n",
    ),
    "a blank before a brace, none before an end": (b"a{b ;}\nc\n{\nd\n;\n}\n", b"a {\n    b;\n}\nc {\n    d;\n}\n"),
    "an empty block": (b"a {}\nb { }\nc {\n\n}\n", b"a {}\nb {}\nc {}\n"),
    "a block with a comment is not empty": (b"a { # c\n}\nb {\n# d\n}\n", b"a { # c\n}\nb {\n    # d\n}\n"),
    "one empty line at most": (b"\n\na;\n\n\n\nb;\n \t\nc {\n\n\nd;\n\n}\n\n\n", b"a;\n\nb;\n\nc {\n    d;\n}\n"),
    "a comment at the end of a line": (
        b"a;# 1\nb {# 2\nc;   # 3\n}   # 4\n",
        b"a; # 1\nb { # 2\n    c; # 3\n} # 4\n",
    ),
    "a comment on its line": (
        b"# 1\n  # 2\na {\n# 3\nb;\n     # 4\n}\n",
        b"# 1\n# 2\na {\n    # 3\n    b;\n    # 4\n}\n",
    ),
    "blanks behind a comment": (b"# 1 \t\na; # 2  ", b"# 1\na; # 2\n"),
    "words on lines of their own": (
        b"log_format m '$a '\n                '$b'\n\n\n   \"$c\"\n;\n",
        b"log_format m '$a '\n    '$b'\n\n    \"$c\";\n",
    ),
    "comments between words": (
        b"server_name a # 1\n# 2\nb # 3\n;\nlocation / # 4\n{\nc;\n}\n",
        b"server_name a # 1\n    # 2\n    b # 3\n;\nlocation / # 4\n{\n    c;\n}\n",
    ),
    "quoted text": (
        b"a \"  x;\n  {  # }\t\"   '\n' ;\n",
        b"a \"  x;\n  {  # }\t\" '\n';\n",
    ),
    "escapes and variables": (
        b'a  \\;  ${b}   x\\ ;\nrewrite  ^/\\{2}$   "/a\\"b";',
        b'a \\; ${b} x\\ ;\nrewrite ^/\\{2}$ "/a\\"b";\n',
    ),
    "a quote and a parenthesis": (b'if ($a = "b") {c;}', b'if ($a = "b") {\n    c;\n}\n'),
    "a Lua block": (
        b"a {content_by_lua_block{\n  x = '}'  -- }\n\n\n if y then { } end\n      }}\n",
        b"a {\n    content_by_lua_block {\n  x = '}'  -- }\n\n\n if y then { } end\n      }\n}\n",
    ),
    "no line end at the end": (b"a;", b"a;\n"),
    "nothing at all": (b" \n\t\n", b""),
    "CRLF": (
        b"a {\r\nb;\n\r\n\r\n\r\n# c\r\nd; # e\r\n}",
        b"a {\r\n    b;\r\n\r\n    # c\r\n    d; # e\r\n}\r\n",
    ),
    "LF, with CRLF in quotes and later": (b'a "x\r\ny"\n;\r\nb;\r\n', b'a "x\r\ny";\nb;\n'),
    "a carriage return alone is a blank": (b"a\rb;\rc;\r", b"a b;\nc;\n"),
    "any bytes": (b"a  \x00  \xff\xfe;\n#\xff\x00\n", b"a \x00 \xff\xfe;\n#\xff\x00\n"),
    "a byte order mark": (b"\xef\xbb\xbfuser   www;", b"\xef\xbb\xbfuser www;\n"),
    "rows of maps and types": (
        b"types{text/html html\n   htm;}\nsplit_clients $a $b{0.5%   .one;* '';}",
        b"types {\n    text/html html\n        htm;\n}\nsplit_clients $a $b {\n    0.5% .one;\n    * '';\n}\n",
    ),
    "directives of which a suppression speaks": (
        b"a; b; # nginxopt: ignore[x] c\nd;  e;\n# nginxopt: ignore[x] c\nf;  g {h;}\n",
        b"a; b; # nginxopt: ignore[x] c\nd;\ne;\n# nginxopt: ignore[x] c\nf; g { h; }\n",
    ),
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


@pytest.mark.parametrize("name", CASES)
def test_layout(name: str) -> None:
    """A text becomes the layout that is documented, and stays as it is from then on."""
    before, after = CASES[name]
    assert formatted(before) == after
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


@pytest.mark.parametrize(
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
