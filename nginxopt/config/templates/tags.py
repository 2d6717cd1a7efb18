"""Finds the tags of a template and determines what each does: stand for a value, open or close a block, or nothing.

The delimiters and the words in them identify the language: Jinja (and Twig, Nunjucks, Liquid), Go (and
Helm), Handlebars and Mustache, ERB (and EJS, esh), the placeholders of `nginxopt.config.templating`, and a line
`${NAME}` for envsubst. A tag that could do more than one thing is `Action.UNKNOWN`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum

from nginxopt import lazy
from nginxopt.config import templating
from nginxopt.records import record

LONGEST = 8192
"""The maximum length of a tag in bytes."""


class Action(Enum):
    """What a tag does."""

    VALUE = "stands for text"
    NOTHING = "writes nothing"
    CHOICE = "opens a block that is there or not"
    LOOP = "opens a block that is there any number of times"
    SCOPE = "opens a block that is there once"
    HIDDEN = "opens a block that is used elsewhere, if at all"
    DEFAULT = "opens a block that another template may replace"
    BRANCH = "begins another branch, under a condition"
    ELSE = "begins the last branch"
    CLOSE = "closes a block"
    JUMP = "may leave out the rest of a loop"
    UNKNOWN = "is not understood"


class Trim(Enum):
    """How much of the white space beside it a tag removes."""

    NOTHING = 0
    NEWLINE = 1
    BLANKS = 2


@record(eq=True)
class Tag:
    """A tag.

    Attributes:
        closers: The words that close the block, for a tag that opens one; the word itself, for a tag that closes one.
        before: What it removes before it.
        after: What it removes after it.
        is_silent: Whether it writes nothing; some engines then drop the line end after it.
        is_comments: Whether it stands for comments of nginx.
    """

    start: int
    end: int
    action: Action
    closers: frozenset[str] = frozenset()
    before: Trim = Trim.NOTHING
    after: Trim = Trim.NOTHING
    is_silent: bool = False
    is_comments: bool = False


_NAMES = b"|".join([*templating.CERTAIN, *templating.LIKELY, templating.ESCAPED])
_OPENING = lazy.pattern(
    rb"""\{\{\{ | \{\{ | \{% | \{\# | \{!! | <%
    | (?P<php><\?(?:php\b|=))
    | ^[ \t]*(?P<line>\$(?:\{[A-Z][A-Z0-9_]*\}|[A-Z][A-Z0-9_]*))[ \t]*;?[ \t]*\r?$
    | (?P<name>"""
    + _NAMES
    + b")",
    re.MULTILINE | re.VERBOSE,
)
_CLOSING = {b"{%": b"%}", b"{#": b"#}", b"{!!": b"!!}", b"<%": b"%>", b"{{{": b"}}}"}
_STRING = rb"""'(?:\\.|[^'\\\n])*' | "(?:\\.|[^"\\\n])*" | `[^`]*`"""
_PART = lazy.pattern(rb"%s | \}\}\} | \}\} | %%\} | [{}]" % _STRING, re.VERBOSE)
_END_OF_RAW = lazy.pattern(rb"\{%[-+]?\s*end(?:raw|verbatim)\s*[-+]?%\}")


def tags(data: bytes) -> Iterator[Tag]:
    """Yield the tags of a text in order. Linear in its size; each unclosed tag costs up to `LONGEST` bytes more."""
    at = 0
    while (opening := _OPENING.search(data, at)) is not None:
        name = opening["name"] or opening["line"]
        if name is not None:
            start = opening.start("name" if opening["name"] else "line")
            yield Tag(start, start + len(name), Action.VALUE)
            at = start + len(name)
            continue
        if opening[0] == b"{#" and data.find(b"#}", opening.end(), opening.end() + LONGEST) < 0:
            at = opening.start() + 1  # a brace and a comment of nginx
            continue
        *_, tag = found = _tags(data, opening.start(), opening[0])
        yield from found
        at = max(tag.end, opening.end())
        if tag.closers == _RAW:
            raw = _END_OF_RAW.search(data, at)
            if raw is None:
                return
            yield Tag(raw.start(), raw.end(), Action.NOTHING, is_silent=True)
            at = raw.end()


_RAW = frozenset(["raw"])


def _tags(data: bytes, start: int, opening: bytes) -> list[Tag]:
    """Return a `Tag` for each statement of the tag that begins at `start`; an unknown one if it is not closed."""
    end = None if opening.startswith(b"<?") else _end(data, start, opening)
    if end is None:
        return [Tag(start, start + len(opening), Action.UNKNOWN)]
    closing = _CLOSING.get(opening, b"}}")
    inner = data[start + len(opening) : end - len(closing)]
    if opening == b"<%":
        return list(_erb(start, end, inner))
    read = {b"{%": _jinja, b"{{": _braces, b"{#": _comment}.get(opening)
    return [read(start, end, inner) if read else Tag(start, end, Action.VALUE)]


def _end(data: bytes, start: int, opening: bytes) -> int | None:
    """Return the end of a tag. Strings and braces inside the tag do not end it, as in its engine."""
    first, limit = start + len(opening), min(len(data), start + LONGEST)
    comment = re.compile(rb"-?\s?/\*|!--").match(data, first) if opening == b"{{" else None
    if comment is not None:
        closing = re.compile(rb"\*/\s?-?\}\}" if b"*" in comment[0] else rb"--~?\}\}").search(data, first, limit)
        return closing.end() if closing else None
    if opening not in (b"{{", b"{%"):
        closing_at = data.find(_CLOSING[opening], first, limit)
        return None if closing_at < 0 else closing_at + len(_CLOSING[opening])
    return _end_of_expression(data, first, limit, b"}}" if opening == b"{{" else b"%}")


def _end_of_expression(data: bytes, first: int, limit: int, closing: bytes) -> int | None:
    depth = 0
    at = first
    while (part := _PART.search(data, at, limit)) is not None:
        at = part.end()
        if part[0] == b"{":
            depth += 1
        elif part[0] == b"%}" and closing == b"%}":
            return at
        elif part[0][:1] == b"}":
            if depth == 0 and closing == b"}}" and part[0].startswith(b"}}"):
                return part.start() + 2
            depth -= 1 if depth else 0
            at = part.start() + 1
    return None


def _trims(inner: bytes) -> tuple[Trim, Trim, str]:
    """Return what `-` (or Handlebars' `~`) at the start and end of a tag trims, and the words between them."""
    before = Trim.BLANKS if inner[:1] in (b"-", b"~") else Trim.NOTHING
    after = Trim.BLANKS if inner[-1:] in (b"-", b"~") else Trim.NOTHING
    start = 1 if inner[:1] in (b"-", b"~", b"+") else 0
    end = len(inner) - (inner[-1:] in (b"-", b"~", b"+"))
    return before, after, inner[start:end].decode("latin-1").strip()


_COMMENTS = lazy.pattern(r"""\|\s*comment(?:\s*\(.*\))?$""", re.DOTALL)
"""Matches Ansible's filter `comment`, which makes comment lines of any text."""


def _comment(start: int, end: int, inner: bytes) -> Tag:
    before, after, _ = _trims(inner)
    return Tag(start, end, Action.NOTHING, before=before, after=after, is_silent=True)


_JINJA = {
    "if": Action.CHOICE,
    "unless": Action.CHOICE,
    "for": Action.LOOP,
    "with": Action.SCOPE,
    "macro": Action.HIDDEN,
    "block": Action.DEFAULT,
    "break": Action.JUMP,
    "continue": Action.JUMP,
    "comment": Action.HIDDEN,
    "elif": Action.BRANCH,
    "elseif": Action.BRANCH,
    "elsif": Action.BRANCH,
    "else": Action.ELSE,
    "include": Action.VALUE,
    "import": Action.NOTHING,
    "from": Action.NOTHING,
    "do": Action.NOTHING,
    "assign": Action.NOTHING,
    "raw": Action.NOTHING,
    "verbatim": Action.NOTHING,
}


def _jinja(start: int, end: int, inner: bytes) -> Tag:
    before, after, text = _trims(inner)
    word = re.match(r"\w*", text)
    name = word[0] if word else ""
    action = _JINJA.get(name, Action.UNKNOWN)
    closers = frozenset([f"end{name}"])
    if name.startswith("end"):
        action, closers = Action.CLOSE, frozenset([name])
    elif name == "set":
        action = Action.NOTHING if "=" in text else Action.HIDDEN
    elif name in ("raw", "verbatim"):
        closers = _RAW
    return Tag(start, end, action, closers, before, after, is_silent=action is not Action.VALUE)


_GO = lazy.pattern(
    r"(if|with|range|else|end|define|block|template|break|continue|return)\b(?!\s*[=|\[+]|[.(-])(.*)", re.S
)
_ASSIGNMENT = lazy.pattern(r"\$\w*(?:\s*,\s*\$\w+)?\s*:?=(?!=)")
_SECTION = lazy.pattern(r"([#^/])\s*([\w.@-]*)")
_GO_ACTIONS = {
    "if": Action.CHOICE,
    "with": Action.CHOICE,
    "range": Action.LOOP,
    "define": Action.HIDDEN,
    "block": Action.DEFAULT,
    "break": Action.JUMP,
    "continue": Action.JUMP,
    "template": Action.VALUE,
    "end": Action.CLOSE,
}


def _braces(start: int, end: int, inner: bytes) -> Tag:
    """Return the tag for a `{{ }}`: an expression, or a control tag of Go, Handlebars or Mustache."""
    before, after, text = _trims(inner)
    if text.startswith(("/*", "!")) or inner.startswith(b"!"):
        return Tag(start, end, Action.NOTHING, before=before, after=after, is_silent=True)
    section = _SECTION.match(text)
    action, closers = _section(section[1], section[2], text) if section and not text.startswith("#}") else _go(text)
    is_silent = action is not Action.VALUE
    is_comments = action is Action.VALUE and bool(_COMMENTS.search(text))
    return Tag(start, end, action, closers, before, after, is_silent=is_silent, is_comments=is_comments)


def _section(sign: str, name: str, text: str) -> tuple[Action, frozenset[str]]:
    if sign == "/":
        return Action.CLOSE, frozenset([f"/{name}"])
    if not name or name[0] in "*>":
        return (Action.ELSE, frozenset()) if text == "^" else (Action.UNKNOWN, frozenset())
    action = Action.CHOICE if sign == "^" or name in ("if", "unless", "with") else Action.LOOP
    return action, frozenset([f"/{name}"])


def _go(text: str) -> tuple[Action, frozenset[str]]:
    if _ASSIGNMENT.match(text):
        return Action.NOTHING, frozenset()
    control = _GO.match(text)
    if control is None:
        return Action.VALUE, frozenset()
    word, rest = control[1], control[2].strip()
    if word == "else":
        return (Action.BRANCH if rest else Action.ELSE), frozenset()
    if word == "end" and rest:
        return Action.UNKNOWN, frozenset()
    return _GO_ACTIONS.get(word, Action.UNKNOWN), frozenset(["end"])


_OUTPUT_OR_JUMP = lazy.pattern(
    r"\b(?:next|break|return|exit|redo|continue|raise|throw|_?erbout|concat|echo|puts|printf?|render|cat|write)\b"
)
_ERB_ASSIGNMENT = lazy.pattern(
    r"(?:local\s+|var\s+|let\s+|const\s+)?[@$]{0,2}\w[\w.]*(?:\[[^\]]*\])?\s*(?:\|\||[+?:])?=(?![=~])\s*(?!(?:if|unless|case|begin)\b)"
)
_ERB_CLOSE = lazy.pattern(r"(end|fi|done|esac|\}\s*\)?)\s*;?$")
_BODY = lazy.pattern(r"(?:\bdo|\{)(?:\s*\|[^|]*\|)?$")


_RUBY_COMMENTS = lazy.pattern(r"^=begin\b.*?^=end\b[^\n]*|^\s*#[^\n]*", re.MULTILINE | re.DOTALL)


def _erb(start: int, end: int, inner: bytes) -> Iterator[Tag]:
    """Yield a tag for each line of Ruby, JavaScript or shell code in a `<% %>`."""
    after = Trim.NEWLINE if inner[-1:] == b"-" else Trim.NOTHING
    text = inner.removeprefix(b"-").removesuffix(b"-").decode("latin-1")
    if inner[:1] == b"%":
        yield Tag(start, end, Action.UNKNOWN)
    elif inner[:1] == b"=":
        action = Action.UNKNOWN if _BODY.search(text.strip()) else Action.VALUE
        yield Tag(start, end, action, after=after)
    elif inner[:1] == b"#":
        yield Tag(start, end, Action.NOTHING, after=after, is_silent=True)
    else:
        lines = re.sub(r";\s*\n\s*(then|do)\b", r"; \1", _RUBY_COMMENTS.sub("", text)).split("\n")
        *statements, last = [line.strip() for line in lines if line.strip()] or [""]
        for statement in statements:
            action, closers = _statement(statement)
            yield Tag(start, start, action, closers, is_silent=True)
        action, closers = _statement(last)
        yield Tag(start, end, action, closers, after=after, is_silent=True)


_JUMP = lazy.pattern(r"(?:next|break|continue)(?:\s+(?:if|unless)\b.*)?;?$")


def _statement(text: str) -> tuple[Action, frozenset[str]]:
    closing = _ERB_CLOSE.match(text)
    if closing:
        return Action.CLOSE, frozenset([re.sub(r"\s", "", closing[1])])
    if re.fullmatch(r"else|\}\s*else\s*\{", text):
        return Action.ELSE, frozenset()
    if re.match(r"(?:elsif|elif|when)\b", text) or re.fullmatch(r"\}\s*else\s+if\b.*\{", text, re.DOTALL):
        return Action.BRANCH, frozenset()
    word = re.match(r"\w*", text)
    name = word[0] if word else ""
    if name in ("if", "unless", "case"):
        return _choice(name, text)
    if name in ("for", "while", "until"):
        return Action.LOOP, frozenset(["end", "done"] if not text.endswith("{") else ["}"])
    if _BODY.search(text):
        return Action.LOOP, frozenset(["end"] if not re.search(r"\{(?:\s*\|[^|]*\|)?$", text) else ["}", "})"])
    if _JUMP.match(text):
        return Action.JUMP, frozenset()
    if _ERB_ASSIGNMENT.match(text) and not _OUTPUT_OR_JUMP.search(text):
        return Action.NOTHING, frozenset()
    return (Action.UNKNOWN if text else Action.NOTHING), frozenset()


def _choice(name: str, text: str) -> tuple[Action, frozenset[str]]:
    if name == "case" and re.search(r"\bin$", text):
        return Action.UNKNOWN, frozenset()  # the patterns of a shell
    if re.search(r"\bend$|\bthen\b.+", text):  # the whole condition, or the start of its branch, is in this tag
        return Action.UNKNOWN, frozenset()
    if text.endswith("{"):
        return Action.CHOICE, frozenset(["}"])
    return Action.CHOICE, frozenset(["fi" if re.search(r"\bthen$", text) else "end"])
