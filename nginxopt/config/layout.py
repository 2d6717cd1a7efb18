"""Makes edits in the style of the file, with its indentation and line ends, and keeps comments.

All functions return a `Change`, a byte span of a file and its new text. Inserted text is a list of lines, each a whole
statement or a line of one, indented relative to the place. Lines get the line ends of the file, except line ends inside
a word, which are part of its value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from nginxopt import lazy
from nginxopt.config.tree import Block, Bulk, Comment, Directive, Token, statements
from nginxopt.text import Change, Edit, Source, Span, encode

# A backslash stands for itself, unless what follows makes it stand for something else (ngx_conf_read_token).
_PLAIN = lazy.pattern(r"(?:\$\{\w+\}|\\[^\s;{}\"'\\#trn]|[^\s;{}\"'\\#])+")
_ESCAPED = lazy.pattern(r"\"|\\(?=[\"'\\trn]|\Z)")
_UNIT = lazy.pattern(rb"^([ \t]*)[^\s#][^\n]*\{[ \t\r]*\n\1([ \t]+)[^\s#}]", re.MULTILINE)
_BLANKS = b" \t"
_BEHIND = lazy.pattern(rb"[ \t\r]*#([^\n]*)")
_NEXT_LINE = lazy.pattern(rb"[ \t\r]*\n[ \t]*")


def replace(directive: Directive, token: Token, word: str) -> Change:
    """Replace a word of a directive by `word`, quoted if necessary."""
    return Change(directive.source, Edit(token.span, encode(quoted(word))))


def rewrite(directive: Directive, text: str) -> Change:
    """Replace a directive by the statement `text`; comments between its words move before it."""
    lines = [*_comments(directive), text]
    return _change(directive.source, directive.span, f"\n{indent(directive)}".join(lines))


def delete(directive: Directive) -> Change:
    """Delete a directive, with its line if that is empty otherwise; keep all comments except those in its block."""
    source, span = directive.source, directive.span
    start, end = _blanks_before(source, span.start), _blanks_after(source, span.end)
    first, last = _starts_line(source, start), _ends_line(source, end)
    if comments := _comments(directive):
        between = f"\n{indent(directive)}"
        return _change(source, Span(span.start, end), between.join(comments) + ("" if last else between))
    if first and last:
        return _change(source, Span(start, _line_end(source, end)), "")
    return _change(source, Span(span.start, end) if first else Span(start, span.end), "")


def delete_all(directives: Sequence[Directive]) -> Change:
    """Delete directives, each of which `is_next_line` of the one before it."""
    first, last = delete(directives[0]), delete(directives[-1])
    return Change(first.source, Edit(Span(first.edit.span.start, last.edit.span.end), first.edit.text))


def is_next_line(directive: Directive, other: Directive) -> bool:
    """Return whether two directives have neighbouring lines to themselves, and no comments between their words."""
    source, span = directive.source, directive.span
    if other.source is not source or directive.comments or other.comments:
        return False
    if _NEXT_LINE.fullmatch(source.data, span.end, other.span.start) is None:
        return False
    return _starts_line(source, span.start) and _ends_line(source, other.span.end)


def without(directive: Directive, words: Sequence[Token]) -> tuple[Change, ...]:
    """Delete some words of a directive, but not all, with their blanks or lines; keep comments."""
    changes = []
    run: list[Token] = []
    before = directive.name
    chosen = {id(word) for word in words}  # equal words may stay
    for word in (*directive.args, None):
        if word is not None and id(word) in chosen:
            run.append(word)
            continue
        if run:
            changes += _without_run(directive, before, run, word)
        run = []
        before = word or before
    return tuple(changes)


def after(directive: Directive | Bulk, lines: Sequence[str]) -> Change:
    """Insert statements after a directive, on separate lines, after a comment at the end of its line."""
    source, end = directive.source, directive.span.end
    rest = _rest_of_line(source, end)
    if _starts_line(source, directive.span.start) and rest.strip(b" \t\r")[:1] in (b"", b"#"):
        return _insert(source, end + len(rest), "".join(f"\n{indent(directive)}{line}" for line in lines))
    return _insert(source, end, "".join(f" {line}" for line in lines))


def before(directive: Directive | Bulk, lines: Sequence[str], *, in_any_order: bool = False) -> Change:
    """Insert statements before a directive, on separate lines if it begins a line. `in_any_order` is that of `Edit`."""
    source, start = directive.source, directive.span.start
    between = f"\n{indent(directive)}" if _starts_line(source, start) else " "
    return _insert(source, start, "".join(f"{line}{between}" for line in lines), in_any_order=in_any_order)


def append(block: Block, lines: Sequence[str]) -> Change:
    """Append statements to a block or file."""
    nodes = list(_statements(block))
    if nodes and block.nodes[-1] is nodes[-1]:
        return after(nodes[-1], lines)
    if _is_file(block):
        return _at_end_of_file(block.source, lines, indent(nodes[-1]) if nodes else "")
    source, close = block.source, block.span.end - 1
    if not _starts_line(source, close):  # the block is empty: a comment would end with its line
        return _change(source, Span(block.span.start + 1, close), "".join(f" {line}" for line in lines) + " ")
    inner = indent(nodes[-1]) if nodes else _brace_indent(block) + unit(source)
    return _insert(source, _blanks_before(source, close), "".join(f"{inner}{line}\n" for line in lines))


def prepend(block: Block, lines: Sequence[str]) -> Change:
    """Insert statements at the beginning of a block, or of a file after its leading comments."""
    first = next(_statements(block), None)
    return append(block, lines) if first is None else before(first, lines)


def written(directive: Directive) -> str:
    """Return a directive as it is written in its file, comments and all."""
    return directive.source.text(directive.span)


def remarks(directive: Directive) -> tuple[str, ...]:
    """Return the comments between the words of a directive, and the one behind it on its line, which `format` keeps."""
    match = _BEHIND.match(directive.source.data, directive.span.end)
    behind = (match[1].decode(errors="replace"),) if match else ()
    return (*_comments(directive), *behind)


def above(directive: Directive) -> Iterator[str]:
    """Yield the comments on the lines right above a directive."""
    data = directive.source.data
    end = data.rfind(b"\n", 0, directive.span.start)
    while end >= 0:
        start = data.rfind(b"\n", 0, end) + 1
        line = data[start:end]
        if not line.lstrip().startswith(b"#"):
            return
        yield line.decode(errors="replace")
        end = start - 1


def begins_line(directive: Directive, word: Token) -> bool:
    """Return whether only blanks are before a word of a directive on its line."""
    data = directive.source.data
    return not data[data.rfind(b"\n", 0, word.start) + 1 : word.start].strip()


def has_comments_inside(directive: Directive) -> bool:
    """Return whether the block of a directive has comments, which are lost if the directive is deleted or replaced."""
    inner = directive.block.nodes if directive.block else ()
    return any(
        isinstance(node, Comment) or (isinstance(node, Directive) and (node.comments or has_comments_inside(node)))
        for node in inner
    )


def indent(directive: Directive | Bulk) -> str:
    """Return the blanks before the first statement in the line of a directive."""
    data, start = directive.source.data, directive.span.start
    first = data.rfind(b"\n", 0, start) + 1
    return data[first : _blanks_after(directive.source, first)].decode()


def unit(source: Source) -> str:
    """Return one indentation step: that of the first indented block of a file, or four blanks."""
    match = _UNIT.search(source.data)
    return match[2].decode() if match else "    "


def quoted(word: str) -> str:
    """Return a word as written in a configuration, quoted if necessary.

    A `$` still begins a variable.
    """
    if _PLAIN.fullmatch(word):
        return word
    return '"' + _ESCAPED.sub(lambda match: f"\\{match[0]}", word) + '"'


def _statements(block: Block) -> Iterator[Directive | Bulk]:
    """Yield the nodes of a block without comments."""
    return (node for node in block.nodes if not isinstance(node, Comment))


def _without_run(directive: Directive, before: Token, run: Sequence[Token], following: Token | None) -> list[Change]:
    """Delete consecutive words."""
    source = directive.source
    stop = following.start if following else directive.span.end - 1
    if not any(before.end <= comment.span.start < stop for comment in directive.comments):
        return [_change(source, Span(run[0].start if following else before.end, stop), "")]
    return [_change(source, _with_blanks(source, word), "") for word in run]


def _with_blanks(source: Source, word: Token) -> Span:
    """Return the line of a word if it is alone there, otherwise the word and the blanks before it."""
    start, end = _blanks_before(source, word.start), _blanks_after(source, word.end)
    if _starts_line(source, start) and _ends_line(source, end):
        return Span(start, _line_end(source, end))
    return Span(word.start, end) if _starts_line(source, start) else Span(start, word.end)


def _comments(directive: Directive) -> list[str]:
    """Return the comments between the words of a directive, without line ends."""
    return [directive.source.text(comment.span).removesuffix("\r") for comment in directive.comments]


def _insert(source: Source, at: int, text: str, *, in_any_order: bool = False) -> Change:
    return _change(source, Span(at, at), text, in_any_order=in_any_order)


def _change(source: Source, span: Span, text: str, *, in_any_order: bool = False) -> Change:
    return Change(source, Edit(span, _with_line_ends(encode(text), _newline(source)), in_any_order))


def _newline(source: Source) -> bytes:
    """Return the line end of a file: that of its first line."""
    first = source.data.find(b"\n")
    return b"\r\n" if first > 0 and source.data[first - 1 : first] == b"\r" else b"\n"


def _with_line_ends(text: bytes, newline: bytes) -> bytes:
    """Return statements with this line end between words; line ends inside words belong to their values."""
    if b"\n" not in text or (newline == b"\n" and b"\r\n" not in text):
        return text
    pieces = []
    at = 0
    for statement in statements(Source("", text)):
        for word in statement.words:
            pieces += [_lines(text[at : word.start], newline), text[word.start : word.end]]
            at = word.end
    return b"".join([*pieces, _lines(text[at:], newline)])


def _lines(text: bytes, newline: bytes) -> bytes:
    return re.sub(rb"\r?\n", lambda _: newline, text)


def _starts_line(source: Source, offset: int) -> bool:
    start = _blanks_before(source, offset)
    return start == 0 or source.data[start - 1 : start] == b"\n"


def _ends_line(source: Source, offset: int) -> bool:
    return not _rest_of_line(source, offset).strip(b" \t\r")


def _blanks_before(source: Source, offset: int) -> int:
    while offset and source.data[offset - 1] in _BLANKS:
        offset -= 1
    return offset


def _blanks_after(source: Source, offset: int) -> int:
    while offset < len(source.data) and source.data[offset] in _BLANKS:
        offset += 1
    return offset


def _rest_of_line(source: Source, offset: int) -> bytes:
    """Return the bytes of a line from `offset` on, without the line end."""
    end = source.data.find(b"\n", offset)
    rest = source.data[offset : len(source.data) if end < 0 else end]
    return rest.removesuffix(b"\r")


def _line_end(source: Source, offset: int) -> int:
    """Return the offset behind the line of `offset` and its line end."""
    end = source.data.find(b"\n", offset)
    return len(source.data) if end < 0 else end + 1


def _is_file(block: Block) -> bool:
    return block.span == Span(0, len(block.source.data))


def _at_end_of_file(source: Source, lines: Sequence[str], inner: str) -> Change:
    start = "" if not source.data or source.data.endswith(b"\n") else "\n"
    return _insert(source, len(source.data), start + "".join(f"{inner}{line}\n" for line in lines))


def _brace_indent(block: Block) -> str:
    """Return the blanks before the closing brace of a block, if it begins a line."""
    close = block.span.end - 1
    return block.source.data[_blanks_before(block.source, close) : close].decode()
