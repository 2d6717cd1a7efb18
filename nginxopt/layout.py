"""Edits that look as if the author of the file had made them: indentation, line ends and comments stay as they are.

All of them return a `Change`, a byte span of one file and its new text. What is put in is a list of lines, each a
whole statement (or a line of one), indented relative to the place.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from nginxopt.config import Directive
from nginxopt.diagnostic import Change
from nginxopt.edit import Edit
from nginxopt.source import Source, Span, encode
from nginxopt.tokens import Token
from nginxopt.tree import Block

_PLAIN = re.compile(r"(?:\$\{\w+\}|[^\s;{}\"'\\#])+")
_INDENT = "    "


def replace(directive: Directive, token: Token, word: str) -> Change:
    """Put `word`, quoted if it must be, in the place of one word of a directive."""
    return Change(directive.source, Edit(token.span, encode(quoted(word))))


def rewrite(directive: Directive, text: str) -> Change:
    """Put the statement `text` in the place of a directive."""
    return Change(directive.source, Edit(directive.span, encode(text)))


def delete(directive: Directive) -> Change:
    """Take a directive away, with its line if nothing else stands in it; comments stay."""
    source, span = directive.source, directive.span
    start, end = _blanks_before(source, span.start), _blanks_after(source, span.end)
    first = start == 0 or source.data[start - 1 : start] == b"\n"
    last = end == len(source.data) or source.data[end : end + 1] in (b"\n", b"\r")
    if first and last:
        return Change(source, Edit(Span(start, _line_end(source, end)), b""))
    if first:
        return Change(source, Edit(Span(span.start, end), b""))
    return Change(source, Edit(Span(start, span.end), b""))


def after(directive: Directive, lines: Sequence[str]) -> Change:
    """Put statements behind a directive: on lines of their own, behind a comment at the end of its line."""
    source, end = directive.source, directive.span.end
    rest = _rest_of_line(source, end)
    if _starts_line(source, directive.span.start) and (not rest.strip() or rest.strip().startswith(b"#")):
        at = end + len(rest.rstrip())
        return _insert(source, at, "".join(f"\n{indent(directive)}{line}" for line in lines))
    return _insert(source, end, "".join(f" {line}" for line in lines))


def before(directive: Directive, lines: Sequence[str]) -> Change:
    """Put statements before a directive: on lines of their own if it begins one."""
    source, start = directive.source, directive.span.start
    between = f"\n{indent(directive)}" if _starts_line(source, start) else " "
    return _insert(source, start, "".join(f"{line}{between}" for line in lines))


def append(block: Block, lines: Sequence[str]) -> Change:
    """Put statements at the end of a block, or of a file."""
    directives = list(block.unfolded())
    if directives and block.nodes[-1] is directives[-1]:
        return after(directives[-1], lines)
    if _is_file(block):
        return _at_end_of_file(block.source, lines)
    source, close = block.source, block.span.end - 1
    if not _starts_line(source, close):
        return _insert(source, close, "".join(f" {line}" for line in lines) + " ")
    inner = indent(directives[-1]) if directives else _brace_indent(block) + _INDENT
    return _insert(source, _blanks_before(source, close), "".join(f"{inner}{line}\n" for line in lines))


def prepend(block: Block, lines: Sequence[str]) -> Change:
    """Put statements at the beginning of a block, or of a file behind the comments that open it."""
    first = next(block.unfolded(), None)
    return append(block, lines) if first is None else before(first, lines)


def written(directive: Directive) -> str:
    """Return a directive as it is written in its file, comments and all."""
    return directive.source.text(directive.span)


def indent(directive: Directive) -> str:
    """Return the blanks before the first statement in the line of a directive."""
    data, start = directive.source.data, directive.span.start
    line = data[data.rfind(b"\n", 0, start) + 1 : start]
    return re.match(rb"[ \t]*", line)[0].decode()  # type: ignore[index] # it matches anywhere


def quoted(word: str) -> str:
    """Return a word as it may stand in a configuration: in quotes if it needs them.

    A `$` stays what it is, the beginning of a variable.
    """
    if _PLAIN.fullmatch(word):
        return word
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _insert(source: Source, at: int, text: str) -> Change:
    return Change(source, Edit(Span(at, at), encode(text.replace("\n", _newline(source)))))


def _newline(source: Source) -> str:
    """The line end of a file: that of its first line."""
    first = source.data.find(b"\n")
    return "\r\n" if first > 0 and source.data[first - 1 : first] == b"\r" else "\n"


def _starts_line(source: Source, offset: int) -> bool:
    start = _blanks_before(source, offset)
    return start == 0 or source.data[start - 1 : start] == b"\n"


def _blanks_before(source: Source, offset: int) -> int:
    while offset and source.data[offset - 1 : offset] in (b" ", b"\t"):
        offset -= 1
    return offset


def _blanks_after(source: Source, offset: int) -> int:
    while source.data[offset : offset + 1] in (b" ", b"\t"):
        offset += 1
    return offset


def _rest_of_line(source: Source, offset: int) -> bytes:
    end = source.data.find(b"\n", offset)
    return source.data[offset : len(source.data) if end < 0 else end]


def _line_end(source: Source, offset: int) -> int:
    """The offset behind the line end at `offset`."""
    match = re.compile(rb"\r?\n?").match(source.data, offset)
    return match.end() if match else offset


def _is_file(block: Block) -> bool:
    return block.span == Span(0, len(block.source.data)) and block.source.data[:1] != b"{"


def _at_end_of_file(source: Source, lines: Sequence[str]) -> Change:
    start = "" if not source.data or source.data.endswith(b"\n") else "\n"
    return _insert(source, len(source.data), start + "".join(f"{line}\n" for line in lines))


def _brace_indent(block: Block) -> str:
    """The blanks before the closing brace of a block, which begins its line."""
    close = block.span.end - 1
    return block.source.data[_blanks_before(block.source, close) : close].decode()
