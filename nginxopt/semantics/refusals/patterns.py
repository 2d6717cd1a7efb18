"""Patterns that PCRE cannot compile."""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt import _native
from nginxopt.config import Directive
from nginxopt.semantics import locations
from nginxopt.semantics.inherit import Level
from nginxopt.semantics.refusals.reading import ROWS
from nginxopt.text import encode

Found = Iterator[tuple[Directive, str]]

_MATCHES = ("~", "~*", "!~", "!~*")
_REWRITES = ("proxy_redirect", "proxy_cookie_path", "proxy_cookie_domain")


def of_patterns(outer: Level) -> Found:
    """Yield the directives of a block of http or stream whose pattern every PCRE refuses."""
    for level in outer.walk():
        for directive, pattern in _patterns(level):
            error = pattern_error(encode(pattern))
            if error is not None:
                yield directive, _said(error, pattern)


def pattern_error(pattern: bytes) -> str | None:
    """Return the error for a pattern that no version of PCRE compiles, with a byte offset; None if one may."""
    return _native.pattern_error(pattern)


def _said(error: str, pattern: str) -> str:
    """Return an error as `ngx_regex_compile` says it."""
    reason, _, place = error.partition(" at byte ")
    rest = encode(pattern)[int(place) :].decode("utf-8", "surrogateescape") if place else ""
    message = f'pcre2_compile() failed: {reason} in "{pattern}"'
    return f'{message} at "{rest}"' if rest else message


def _patterns(level: Level) -> Iterator[tuple[Directive, str]]:
    if level.kind == "map":
        yield from ((row, row.name.removeprefix("~").removeprefix("*")) for row in level.directives
                    if row.name.startswith("~"))  # fmt: skip
        return
    if level.kind in ROWS:
        return
    if level.kind == "location" and level.opener is not None and locations.modifier(level) in ("~", "~*"):
        yield level.opener, locations.path(level)
    for name in level.names & _TAKING.keys():
        for directive in level.own(name):
            yield from ((directive, pattern) for pattern in _TAKING[name](directive.args))


def _of_if(args: tuple[str, ...]) -> list[str]:
    return [args[2]] if len(args) == 3 and args[1] in _MATCHES else []


def _of_names(args: tuple[str, ...]) -> list[str]:
    return [word[1:] for word in args if word.startswith("~") and len(word) > 1]


def _of_first(args: tuple[str, ...]) -> list[str]:
    return [args[0].removeprefix("~").removeprefix("*")] if args and args[0].startswith("~") else []


_TAKING = {
    "rewrite": lambda args: list(args[:1]),
    "if": _of_if,
    "server_name": _of_names,
    "valid_referers": _of_names,
    "fastcgi_split_path_info": lambda args: list(args[:1]),
    **dict.fromkeys(_REWRITES, _of_first),
}
