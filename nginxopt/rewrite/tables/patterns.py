"""Patterns of rows in nginx's syntax, and targets that repeat what they captured.

A target with captures becomes that of a `rewrite`, which percent-encodes what it repeats. `return` would not, and a
newline in a capture would end the header. A rewrite sends only 301 and 302, and decodes `%XX` in its target, except
what it has to keep (`ngx_unescape_uri` with `NGX_UNESCAPE_REDIRECT`). A target that this would change is refused.
"""

from __future__ import annotations

import re
from dataclasses import replace

from nginxopt import _native, lazy
from nginxopt.rewrite.tables.paths import escaped
from nginxopt.rewrite.tables.table import Arguments, CannotAnswer, Pattern
from nginxopt.semantics.subjects import shortest

SEGMENT = rb"([^/?]+)"
"""A placeholder. It matches no `?`, as a rewrite would take what follows as arguments."""
REST = rb"[^?]*"
PLAIN_REST = rb"[^?&+;=#%]*"
"""A rest of a path without characters that nginx escapes differently in a path and behind a `?`."""

NO_MARK = rb"(?![^?]*\?)"
"""Put after the `^` of a pattern, it excludes paths with `?`."""
_MARKLESS = lazy.pattern(rb"(\(\?s\)(?:\(\?[a-z]+\))?\^)" + re.escape(NO_MARK))

_MOST_CAPTURES = 9
_PLACEHOLDER = lazy.pattern(rb":([A-Za-z][A-Za-z0-9_]*)")
_ESCAPE = lazy.pattern(rb"%([0-9A-Fa-f]{2})")
_BY_REWRITE = (301, 302)


def literal(text: bytes) -> bytes:
    """Return a pattern that matches a text."""
    return re.escape(text)


def prefix(below: bytes) -> bytes | None:
    """Return the prefix of which such a pattern answers every path; None if it has a `?`, which the rest never has."""
    return None if b"?" in below else below


def substituted(target: bytes, names: dict[bytes, int]) -> tuple[bytes | int, ...]:
    """Return a target with the numbers of captures in place of `:name`; names that are not known are text."""
    pieces: list[bytes | int] = []
    at = 0
    for match in _PLACEHOLDER.finditer(target):
        number = names.get(match[1])
        if number is not None:
            pieces += [target[at : match.start()], number]
            at = match.end()
        elif any(match[1].startswith(name) for name in names):
            raise CannotAnswer("placeholder", f"a placeholder of the row begins like :{match[1].decode()}")
    return tuple(piece for piece in (*pieces, target[at:]) if piece != b"")


def for_plain_paths(regex: bytes) -> bytes:
    """Return a pattern that matches the same paths without `?`.

    Without the look-around, the index of `_native.Patterns` knows what a path must begin with.
    """
    return _MARKLESS.sub(lambda match: match[1], regex, count=1) if _MARKLESS.match(regex) else regex


def checked(pattern: Pattern, status: int, arguments: Arguments, *, is_plain: bool = False) -> Pattern:
    """Return a pattern that nginx can answer exactly. Raises `CannotAnswer` for any other.

    `is_plain`: its captures hold nothing that nginx escapes differently behind a `?`.
    """
    if pattern.has_captures:
        _check_captures(pattern, status, arguments, is_plain=is_plain)
    return pattern


def with_sample(pattern: Pattern) -> Pattern:
    """Return a pattern with a path that it matches in every PCRE release, and what it captures, if one is found."""
    path = shortest((pattern.regex,), is_uri=True)
    captured = None if path is None or not _matches(pattern.regex, path) else captures(pattern.regex, path)
    return pattern if captured is None else replace(pattern, sample=path, captured=captured)


def captures(regex: bytes, path: bytes) -> tuple[bytes, ...] | None:
    """Return what the groups of a pattern capture in a path; None if it does not match, or PCRE releases may differ."""
    match = _native.captures(regex, path)
    return None if match is None else tuple(group or b"" for group in match[0][1:])


def _matches(regex: bytes, path: bytes) -> bool:
    """Return whether a pattern certainly matches a path."""
    try:
        return _native.Patterns([regex]).first(path) is not None
    except ValueError:
        return False


def may_match(pattern: Pattern, path: bytes) -> bool:
    """Return whether a pattern matches a path in at least one PCRE release."""
    if pattern.below is not None:
        return path.startswith(pattern.below) and b"?" not in path
    try:
        return _native.Patterns([pattern.regex]).first(path) is not None
    except ValueError:
        return True


def check_regex(regex: bytes) -> None:
    """Refuse a regular expression that PCRE releases read differently, or not at all."""
    try:
        _native.Patterns([regex]).first(b"/")
    except ValueError as error:
        raise CannotAnswer("pattern", f"the pattern cannot be taken over: {error}") from None


def _check_captures(pattern: Pattern, status: int, arguments: Arguments, *, is_plain: bool) -> None:
    if status not in _BY_REWRITE:
        raise CannotAnswer(
            "status-with-captures",
            f"nginx cannot send status {status} with a part of the URI in the target",
            "use 301 or 302, or a target without the part",
        )
    numbers = [piece for piece in pattern.pieces if isinstance(piece, int)]
    if max(numbers) > _MOST_CAPTURES:
        raise CannotAnswer("captures", f"nginx has {_MOST_CAPTURES} captures")
    before = b""
    for piece in pattern.pieces:
        if isinstance(piece, bytes):
            before += piece
        elif b"?" in before and not is_plain:
            raise CannotAnswer("capture-in-query", "nginx escapes a part of the path differently in a query")
    if b"#" in before and arguments == "insert":
        raise CannotAnswer("fragment", "nginx puts the arguments behind the fragment of such a target")
    if before.endswith(b"?") and arguments == "insert" and isinstance(pattern.pieces[-1], bytes):
        raise CannotAnswer("empty-query", "nginx drops the arguments for a target that ends in ?", "remove the ?")
    if not before:
        raise CannotAnswer("target", "the target may be anything", "begin with / or http:// or https://")
    for escape in _ESCAPE.finditer(before.partition(b"?")[0]):
        if 0x25 < int(escape[1], 16) < 0x7F:
            message = f"nginx decodes {escape[0].decode()} in a target with a part of the URI"
            raise CannotAnswer("escape-in-target", message, _instead(before, escape))


def _instead(target: bytes, escape: re.Match[bytes]) -> str:
    """Return the advice for an escape that nginx decodes: its character, unless that is escaped or has a meaning."""
    character = bytes.fromhex(escape[1].decode())
    plain = target[: escape.start()] + character + target[escape.end() :]
    has_meaning = character == b"?" or plain.startswith(b"//") or _PLACEHOLDER.match(plain, escape.start())
    if has_meaning or escaped(character) != character:
        return "only a target without a part of the URI can have it"
    return f"write {character.decode()} itself, if that means the same"
