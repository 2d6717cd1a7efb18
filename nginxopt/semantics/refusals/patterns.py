"""Patterns that PCRE cannot compile."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from nginxopt import _native, lazy
from nginxopt.config import Directive, Token
from nginxopt.records import record
from nginxopt.semantics import locations
from nginxopt.semantics.directives import ROWS
from nginxopt.semantics.inherit import Level
from nginxopt.text import encode

Found = Iterator[tuple[Directive, str]]

_MATCHES = ("~", "~*", "!~", "!~*")


@record(eq=True)
class RefusedPattern:
    """A pattern that no PCRE compiles: its directive, its word, its text in that word, and the error of PCRE."""

    directive: Directive
    word: Token
    text: str
    error: str


def of_patterns(outer: Level) -> Found:
    """Yield the directives of a block of http or stream whose pattern every PCRE refuses."""
    return ((each.directive, _said(each.error, each.text)) for each in refused_patterns(outer))


def refused_patterns(outer: Level) -> Iterator[RefusedPattern]:
    """Yield the patterns of a level, and of those inside of it, that every PCRE refuses."""
    for level in outer.walk():
        for directive, word, text in _patterns(level):
            error = pattern_error(encode(text))
            if error is not None:
                yield RefusedPattern(directive, word, text, error)


def pattern_error(pattern: bytes) -> str | None:
    """Return the error for a pattern that no version of PCRE compiles, with a byte offset; None if one may."""
    return _native.pattern_error(pattern) or _unfinished(pattern)


_ESCAPED = lazy.pattern(rb"\\Q.*?(?:\\E|$)|\\.|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]|\(\?#[^)]*\)", re.DOTALL)
"""What has no groups: escapes, classes, comments."""
_WRONG_GROUP = lazy.pattern(
    rb"\(\?(?P<at>$|[a-zA-Z^-]+$|P?[<'](?![=!])\w*$)|\(\?(?:P?<[^=!\w]|[^a-zA-Z0-9:=!<>'|&#()*^+-])"
)
_NAME = lazy.pattern(rb"\(\?(?:P?<|')(?P<name>[a-zA-Z_]\w*)[>']")


def _unfinished(pattern: bytes) -> str | None:
    """Return the error for a group that does not end or begin as any may, or whose name another one has."""
    if b"(?" not in pattern:
        return None
    bare = _ESCAPED.sub(lambda match: b"." * len(match[0]), pattern)
    wrong = _WRONG_GROUP.search(bare)
    if wrong is not None:
        what = "missing closing parenthesis" if wrong["at"] is not None else "unrecognized character after (? or (?-"
        return f"{what} at byte {min(wrong.end(), len(pattern))}"
    seen: set[bytes] = set()
    for match in _NAME.finditer(bare):
        if match["name"] in seen and b"(?J" not in bare and b"(?|" not in bare:
            return f"two named subpatterns have the same name at byte {match.end()}"
        seen.add(match["name"])
    return None


def _said(error: str, pattern: str) -> str:
    """Return an error as `ngx_regex_compile` says it."""
    reason, _, place = error.partition(" at byte ")
    rest = encode(pattern)[int(place) :].decode("utf-8", "surrogateescape") if place else ""
    message = f'pcre2_compile() failed: {reason} in "{pattern}"'
    return f'{message} at "{rest}"' if rest else message


def _patterns(level: Level) -> Iterator[tuple[Directive, Token, str]]:
    """Yield the directives with a pattern, its word, and its text."""
    if level.kind == "map":
        rows = (row for row in level.directives if row.name.startswith("~"))
        yield from ((row, row.name, _of_row(row.name)) for row in rows)
    if level.kind in ROWS:
        return
    if level.kind == "location" and level.opener is not None and locations.modifier(level) in ("~", "~*"):
        yield level.opener, level.opener.args[-1], locations.path(level)
    for name in level.names & _TAKING.keys():
        for directive in level.own(name):
            yield from ((directive, word, text) for word, text in _TAKING[name](directive.args))


_Taken = Iterable[tuple[Token, str]]


def _of_row(key: str) -> str:
    """Return the pattern of a row (`ngx_http_map`): `~*` ignores case."""
    return key.removeprefix("~").removeprefix("*")


def _of_if(args: Sequence[Token]) -> _Taken:
    return [(args[2], str(args[2]))] if len(args) == 3 and args[1] in _MATCHES else []


def _of_names(args: Sequence[Token]) -> _Taken:
    return ((word, word[1:]) for word in args if word.startswith("~") and len(word) > 1)


def _of_first(args: Sequence[Token]) -> _Taken:
    return ((word, str(word)) for word in args[:1])


def _of_rewriting(args: Sequence[Token]) -> _Taken:
    return ((word, _of_row(word)) for word in args[:1] if word.startswith("~"))


_TAKING: Mapping[str, Callable[[Sequence[Token]], _Taken]] = {
    **dict.fromkeys(("rewrite", "fastcgi_split_path_info"), _of_first),
    **dict.fromkeys(("server_name", "valid_referers"), _of_names),
    **dict.fromkeys(("proxy_redirect", *map("proxy_cookie_{}".format, ("path", "domain", "flags"))), _of_rewriting),
    "if": _of_if,
}
