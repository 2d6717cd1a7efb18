"""Splits a file into statements (`Statement`) of words (`Token`), with the native lexer.

`rust/src/lexer.rs` implements the syntax of nginx (`ngx_conf_read_token`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, Self

from nginxopt import lazy
from nginxopt._native import Events, LexError
from nginxopt.errors import InputError
from nginxopt.records import record
from nginxopt.text import Source, Span


class Token(str):
    """A word: a string with the value that nginx uses, and its position.

    `start` and `end` are the byte offsets of the word as written, with its quotes; `quoted`: whether it has quotes.
    """

    __slots__ = ("_form", "start")

    start: int
    _form: int  # twice the length, and 1 if it has quotes: a small number, of which Python has one object

    def __new__(cls, value: str, start: int, end: int, quoted: bool = False) -> Self:  # noqa: D102 - as the class
        token = super().__new__(cls, value)
        token.start = start
        token._form = (end - start) * 2 + quoted
        return token

    def __getnewargs__(self) -> tuple[str, int, int, bool]:  # type: ignore[override] # a string has one
        """Return what another process makes it of."""
        return str.__str__(self), self.start, self.end, self.quoted

    @property
    def end(self) -> int:
        """The offset after the token as written."""
        return self.start + (self._form >> 1)

    @property
    def quoted(self) -> bool:
        """Whether it has quotes."""
        return bool(self._form & 1)

    @property
    def span(self) -> Span:
        """The bytes of the token as written, quotes included."""
        return Span(self.start, self.end)


@record()
class Comment:
    """A comment, from its `#` up to the line end."""

    text: str
    span: Span
    line: int
    source: Source


class Statement(NamedTuple):
    """A statement, comment, or end of a block.

    Attributes:
        kind: `;` for `words ;`, `{` for `words {`, `}` for the end of a block, `#` for a comment outside statements,
            `*` for a folded run of rewrites.
        start: The offset of its first byte.
        end: The offset after its last byte, which is the `;`, `{` or `}`.
        line: The line of `start`.
        rewrites: The number of rewrites in a folded run.
        words: The words; empty for other kinds than `;` and `{`.
        comments: The comments between the words, or the comment itself.
    """

    kind: str
    start: int
    end: int
    line: int
    rewrites: int
    words: tuple[Token, ...]
    comments: tuple[Comment, ...]


def statements(
    source: Source, *, fold: int = 0, start: int = 0, end: int | None = None, line: int = 1
) -> Iterator[Statement]:
    """Yield the statements of `source`, or of its part from `start` (in `line`) to `end`.

    Runs of at least `fold` rewrites are folded into one statement (0: none). Raises `InputError` at the first syntax
    error, where nginx stops.
    """
    comments: list[Comment] = []
    try:
        for batch in Events(source.data, fold=fold, start=start, end=end, line=line):
            for kind, first, last, number, count, words in batch:
                if kind == "#":
                    comments.append(Comment(words[0][0], Span(first, last), number, source))
                    continue
                within: tuple[Comment, ...] = ()
                if comments:
                    yield from (_alone(comment) for comment in comments if comment.span.start < first)
                    within = tuple(comment for comment in comments if comment.span.start > first)
                    comments.clear()
                tokens = tuple([Token(text, at, to, quoted) for text, at, to, _, quoted in words])
                yield Statement(kind, first, last, number, count, tokens, within)
    except LexError as error:
        raise _input_error(source, *error.args) from None
    yield from map(_alone, comments)


def _alone(comment: Comment) -> Statement:
    return Statement("#", comment.span.start, comment.span.end, comment.line, 0, (), (comment,))


class _Refusal(NamedTuple):
    """The message for a kind of `LexError`, shown at `offset` (the refused byte) or `opened` (the unfinished part)."""

    message: str
    expected: str
    where: str


_REFUSALS = {
    "no-directive": _Refusal("missing directive before this", "a directive name", "offset"),
    "close-in-statement": _Refusal(
        "the block ends inside a statement", '";" at the end of the statement in line {line}', "offset"
    ),
    "unmatched-close": _Refusal("this closes no block in this file", "a directive or the end", "offset"),
    "after-quote": _Refusal(
        "unexpected character after a closing quote", 'a space, ";", "{" or ")" after the quote', "offset"
    ),
    "end-in-statement": _Refusal(
        "the file ends inside this statement", '";" or "{" at the end of the statement', "opened"
    ),
    "unclosed-quote": _Refusal("the file ends inside this quoted string", "a closing quote", "opened"),
    "unclosed-block": _Refusal("this block is not closed", '"}" at the end of the block', "opened"),
    "too-long": _Refusal(
        "this word or comment is too long", "at most 4096 bytes, the size of nginx's buffer", "offset"
    ),
    "too-long-quote": _Refusal(
        "this quoted string is too long", "a closing quote within 4096 bytes, the size of nginx's buffer", "offset"
    ),
}


_QUANTIFIER = lazy.pattern(
    rb"""^[ \t]*(?:rewrite|location|if)[ \t][^;\n"'#]*?[^\s${;"']({(?:\d+(?:,\d*)?|,\d+)})""", re.MULTILINE
)
"""Matches an unquoted `{2,3}` in a pattern: `{` ends an unquoted word (ngx_conf_read_token)."""

_QUOTE = 'quote words that contain "{", such as regular expressions'


def _input_error(source: Source, kind: str, message: str, offset: int, line: int, opened: int | None) -> InputError:
    brace = _QUANTIFIER.search(source.data, 0, offset)
    if brace is not None:  # nginx refuses the text after it, with a message that depends on the directive
        return InputError(
            "this { ends the pattern and opens a block",
            source=source,
            span=Span(brace.start(1), brace.end(1)),
            hint=_QUOTE,
        )
    refusal = _REFUSALS[kind]
    begin = offset if opened is None else opened
    start = begin if refusal.where == "opened" else offset
    return InputError(
        refusal.message,
        source=source,
        span=Span(start, min(start + 1, len(source.data))),
        expected=refusal.expected.replace("{line}", str(source.position(begin).line)),
        nginx=f"{message} in {source.path}:{line}",
        hint=_hint(source.data[:start][-1:], source.data[start : start + 1]),
    )


def _hint(before: bytes, byte: bytes) -> str | None:
    """Return a hint for a `{` that does not open a block."""
    if byte != b"{" or not before or before in b" \t\r\n;}":
        return None
    if before == b"{":
        return "this looks like a template: use the rendered file"
    return _QUOTE
