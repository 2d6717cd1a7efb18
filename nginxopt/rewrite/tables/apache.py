"""Apache's `Redirect`, `RedirectPermanent`, `RedirectTemp` and `RedirectMatch` (mod_alias).

https://httpd.apache.org/docs/2.4/mod/mod_alias.html; details are those of `try_alias_list`, `alias_matches` and
`fixup_redir` in modules/mappers/mod_alias.c.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from nginxopt import lazy
from nginxopt.errors import InputError
from nginxopt.rewrite.tables import patterns
from nginxopt.rewrite.tables.paths import decoded_path, escaped, read_target
from nginxopt.rewrite.tables.table import REDIRECTS, Arguments, CannotAnswer, Pattern, Row, Table, TableRows, unanswered
from nginxopt.text import Source, Span, decode
from nginxopt.text.source import decimal

DEFAULT_STATUS = 302
GONE = (403, 404, 410, 451)
"""The codes without a target."""

_STATUS = {"permanent": 301, "temp": 302, "seeother": 303, "gone": 410}
_LINE = lazy.pattern(rb"(?:[^\n\\]|\\(?:\r?\n|.)?)*(?:\n|\Z)")
_WORD = lazy.pattern(rb"\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'|((?:[^\s\\]|\\\S)+)", re.DOTALL)
_REDIRECTS = ("redirect", "redirectpermanent", "redirecttemp", "redirectmatch")
_CONDITIONS = ("<ifmodule", "<ifversion", "<ifdefine", "<iffile", "<ifdirective", "<ifsection")
_FLAGS = lazy.pattern(rb"\(\?[a-z]+\)")
_ESCAPE = lazy.pattern(rb"%([0-9A-Fa-f]{2})")
_CAPTURE = lazy.pattern(rb"\$[0-9]")
_ESCAPED_AND_DECODED = b"<>\\^`{|}"
"""Characters that a target with captures cannot have: they are escaped, and nginx decodes the escapes."""
_NAMED_GROUP = lazy.pattern(rb"\(\?(?:P?<[A-Za-z_]|')")


class Line(NamedTuple):
    """The words of a directive, and its place."""

    words: list[bytes]
    span: Span

    @property
    def name(self) -> str:
        """The name of the directive in lower case, that of a section with its `<`."""
        return self.words[0].decode("utf-8", "replace").lower().rstrip(">")


def read(source: Source) -> Table:
    """Return the table of a file with Apache's redirects. Other directives are rejected rows."""
    table = TableRows()
    sections: list[Line] = []
    for line in lines(source):
        try:
            if line.name.startswith("<"):
                _enter(line, sections)
                continue
            for section in reversed(sections):
                _check_section(section)
            table.rows.append(_row(line))
        except CannotAnswer as verdict:
            table.reject(verdict.at(line.span), _requests(line))
    premises = ("plain-rest",) if any(row.paths and b"?" in row.target for row in table.answerable) else ()
    return Table(source, "apache", tuple(table.rows), tuple(table.rejected), in_order=True, premises=premises)


def lines(source: Source) -> Iterator[Line]:
    """Yield the directives. `InputError` for a quote that is not closed."""
    data = source.data
    at = 3 if data.startswith(b"\xef\xbb\xbf") else 0
    while at < len(data):
        match = _LINE.match(data, at)
        assert match is not None
        text = re.sub(rb"\\\r?\n", b"  ", match[0].rstrip(b"\r\n"))
        start = at + len(text) - len(text.lstrip())
        text = text.strip()
        if text and not text.startswith(b"#"):
            yield Line(_words(source, text, start), Span(start, start + len(text)))
        at = match.end()


def _words(source: Source, text: bytes, start: int) -> list[bytes]:
    """Return the words of a line; in quotes, a backslash stands before a quote or a backslash (`ap_getword_conf`)."""
    words = []
    for match in _WORD.finditer(text):
        quoted = match[1] if match[1] is not None else match[2]
        if quoted is None and match[3].startswith((b'"', b"'")):
            span = Span(start + match.start(), start + len(text))
            raise InputError("this quote is not closed", source=source, span=span)
        words.append(match[3] if quoted is None else re.sub(rb"\\([\"'\\])", rb"\1", quoted))
    return words


def _enter(line: Line, sections: list[Line]) -> None:
    """Update the open sections."""
    if not line.name.startswith("</"):
        sections.append(line)
    elif sections:
        sections.pop()


def _check_section(line: Line) -> None:
    """Raise `CannotAnswer` unless the redirects of a section hold. As the list is in use, its modules are there."""
    if line.name == "<ifmodule" and line.words[1:] and not line.words[1].startswith(b"!"):
        return
    section = decode(b" ".join(line.words)).rstrip(">") + ">"
    if line.name in _CONDITIONS:
        message = f"whether a redirect inside {section} holds depends on the server"
        raise CannotAnswer("section", message, "remove the section, or only its two lines, as it is on yours")
    raise CannotAnswer("section", f"a redirect inside {section} holds for a part of the requests")


def _row(line: Line) -> Row:
    name, words = line.name, line.words[1:]
    if name not in _REDIRECTS:
        hint = "write it as a rewrite of nginx" if name == "rewriterule" else None
        raise CannotAnswer("directive", f"{decode(line.words[0])} is not a Redirect", hint)
    status = {"redirectpermanent": 301, "redirecttemp": 302}.get(name)
    if status is None:
        status, words = _status(words)
    _check_fields(line, words, status)
    target = words[1] if len(words) == 2 else b""
    if name == "redirectmatch":
        return _match(line, words[0], target, status)
    return _prefix(line, words[0], target, status)


def _check_fields(line: Line, words: list[bytes], status: int) -> None:
    """Raise `CannotAnswer` unless there is a path, and a target if the status has one."""
    if status in GONE and len(words) == 2:
        raise CannotAnswer("status", f"a response with status {status} has no target", "remove the target")
    if status not in GONE and words[1:] == [b""]:
        read_target(b"")
    if len(words) == (1 if status in GONE else 2):
        return
    wanted = "a path" if status in GONE else "a path and a target"
    hint = "put what has a space in quotes" if len(words) > 2 else None
    raise CannotAnswer("fields", f"{decode(line.words[0])} needs {wanted}", hint)


def _status(words: list[bytes]) -> tuple[int, list[bytes]]:
    first = words[0].decode("utf-8", "replace").lower() if words else ""
    if first in _STATUS:
        return _STATUS[first], words[1:]
    if not first.isdigit():
        return DEFAULT_STATUS, words
    status = decimal(first)
    if status not in (*REDIRECTS, *GONE):
        raise CannotAnswer("status", f"status {first} is neither a redirect nor one of {', '.join(map(str, GONE))}")
    return status, words[1:]


def _prefix(line: Line, path: bytes, target: bytes, status: int) -> Row:
    """Return the row of a `Redirect`, for a path and all paths below it; their rest is appended to the target."""
    decoded = _decoded(path)
    location = read_target(target) if target else b""
    is_plain = b"?" in location
    arguments = _arguments(location)
    pattern = replace(_below(decoded, is_plain=is_plain), pieces=(location, 1) if target else ())
    patterns.checked(pattern, status, arguments, is_plain=is_plain)
    return Row(line.span.start, line.span.end, b"", (decoded,), None, pattern, status, location, arguments)


def _decoded(path: bytes) -> bytes:
    """Return the path of a `Redirect`, which Apache compares with the decoded one."""
    _refuse_escapes(path, "escape", "Apache compares this with the decoded path", special=b"?")
    if b"?" in path:
        raise CannotAnswer("query-condition", "Redirect compares paths only, which have no query")
    return decoded_path(path.replace(b"%", b"%25"))


def _refuse_escapes(text: bytes, reason: str, message: str, *, special: bytes) -> None:
    """Raise `CannotAnswer` for `%XX`: Apache reads the `%` as a plain character, which is hardly what the user means.

    `special` are the characters that have a meaning here, so that the hint cannot recommend them in place of an escape.
    """
    escape = _ESCAPE.search(text)
    if escape is None:
        return
    character = bytes.fromhex(escape[1].decode())
    plain = character + text[escape.end() :]
    has_meaning = character < b" " or character == b"\x7f" or character in special or _ESCAPE.match(plain)
    raise CannotAnswer(reason, message, None if has_meaning else "write the character itself, a space in quotes")


def _below(path: bytes, *, is_plain: bool) -> Pattern:
    """Return the pattern of all paths below one; `is_plain`: of those that may follow a `?`."""
    slash = b"" if path.endswith(b"/") else b"/"
    rest = patterns.PLAIN_REST if is_plain else patterns.REST
    regex = b"^" + patterns.literal(path) + b"(" + slash + rest + rb")\z"
    covered = None if is_plain else patterns.prefix(path + slash)
    return Pattern(regex, (), path + slash + b"x", covered, (slash + b"x",))


def _requests(line: Line) -> Row | None:
    """Return the requests of a line that is not answered; None if they cannot be read."""
    words = line.words[1:]
    if words and (words[0].isdigit() or words[0].decode("utf-8", "replace").lower() in _STATUS):
        words = words[1:]
    if line.name not in _REDIRECTS or not words:
        return None
    try:
        if line.name == "redirectmatch":
            written = _as_nginx_reads(words[0], without_mark=False)
            patterns.check_regex(written)
            return unanswered(line.span, pattern=patterns.with_sample(Pattern(written, ())))
        path = _decoded(words[0])
    except CannotAnswer:
        return None
    return unanswered(line.span, paths=(path,), pattern=_below(path, is_plain=False))


def _match(line: Line, regex: bytes, target: bytes, status: int) -> Row:
    """Return the row of a `RedirectMatch`: a regular expression on the decoded path."""
    path, mark, query = target.partition(b"?")
    special = b"?#$" + (_ESCAPED_AND_DECODED if _CAPTURE.search(target) else b"")
    _refuse_escapes(path, "escape-in-target", "Apache encodes the % of such a target", special=special)
    target = path.replace(b"%", b"%25") + mark + query
    if _NAMED_GROUP.search(regex):
        raise CannotAnswer("named-group", "a named group defines a variable in nginx", "remove the name")
    pieces = _pieces(target)
    has_captures = any(isinstance(piece, int) for piece in pieces)
    written = _as_nginx_reads(regex, without_mark=has_captures)
    patterns.check_regex(written)
    location = b"".join(piece for piece in pieces if isinstance(piece, bytes))
    arguments = _arguments(location)
    pattern = patterns.with_sample(patterns.checked(Pattern(written, pieces), status, arguments))
    return Row(line.span.start, line.span.end, b"", (), None, pattern, status, location, arguments)


def _as_nginx_reads(regex: bytes, *, without_mark: bool) -> bytes:
    r"""Return a regex of Apache for nginx: with `(?s)`, and `\z` for `$` (`RegexDefaultOptions`).

    `without_mark`: it matches only URIs without `?`, which a rewrite would make the beginning of the arguments.
    """
    written, in_class, at = b"", False, 0
    while at < len(regex):
        size = 2 if regex[at : at + 1] == b"\\" else 1
        item = regex[at : at + size]
        if item in (b"\\Q", b"\\E"):
            raise CannotAnswer("pattern", r"\Q in a pattern is not understood", "escape the characters")
        if not in_class and item == b"[":
            in_class = True
            literal_close = re.match(rb"\[\^?\]", regex[at:])
            if literal_close:
                item, size = literal_close[0], literal_close.end()
        elif in_class and item == b"[" and regex[at : at + 2] == b"[:":
            close = regex.find(b":]", at)
            size = close + 2 - at if close > 0 else 1
            item = regex[at : at + size]
        elif in_class and item == b"]":
            in_class = False
        elif not in_class and item == b"$":
            item = rb"\z"
        written += item
        at += size
    if not without_mark:
        return b"(?s)" + written
    flags = _FLAGS.match(written)
    written = written[flags.end() :] if flags else written
    head = b"(?s)" + (flags[0] if flags else b"") + b"^" + patterns.NO_MARK
    is_anchored = written.startswith(b"^") and b"|" not in written
    return head + (written[1:] if is_anchored else b".*?(?:" + written + b")")


def _pieces(target: bytes) -> tuple[bytes | int, ...]:
    r"""Return a target with the numbers of captures: `$1`, and `\$` for a dollar sign (`regsub_core`)."""
    if not target:
        return ()
    pieces: list[bytes | int] = []
    for match in re.finditer(rb"\$([0-9])|\\([$&])|([^$\\]+|.)", target, re.DOTALL):
        if match[1] == b"0":
            raise CannotAnswer("captures", "nginx has no $0", "put the pattern in parentheses")
        if match[1]:
            pieces.append(int(match[1]))
        elif pieces and isinstance(pieces[-1], bytes):
            pieces[-1] += match[2] or match[3]
        else:
            pieces.append(match[2] or match[3])
    if not isinstance(pieces[0], bytes):
        raise CannotAnswer("target", "the target may be anything", "begin with / or http:// or https://")
    head = read_target(pieces[0])
    rest = [piece if isinstance(piece, int) else escaped(piece) for piece in pieces[1:]]
    return (head, *rest)


def _arguments(target: bytes) -> Arguments:
    """Return the treatment of the arguments: they follow the target, unless it has arguments itself."""
    return "drop" if not target or b"?" in target else "append"
