"""Generates values that may distinguish a map from a wrong tree: matches of its patterns, keys, and close variants."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from nginxopt import lazy
from nginxopt.rewrite.kinds.maps.reading import RegexMap
from nginxopt.text import encode

_ATOM = lazy.pattern(
    rb"""\\(?P<escape>.)|(?P<group>\((?:\?(?:[:=!>]|<[=!]|P?<\w+>|[a-z]+\)))?)|(?P<end>\))|(?P<alternative>\|)"""
    rb"""|(?P<class>\[\^?\]?(?:\\.|[^]\\])*\])|(?P<repeat>[*+?]|\{\d*,?\d*\})[?+]?|(?P<anchor>[$^])|(?P<any>\.)"""
    rb"""|(?P<byte>.)""",
    re.DOTALL,
)
_ESCAPES = {b"d": b"1", b"w": b"w", b"s": b" ", b"n": b"\n", b"S": b"x", b"D": b"x", b"W": b"-"}

Variant = Callable[[bytes], bytes]
VARIANTS: tuple[Variant, ...] = (
    lambda value: value,
    lambda value: value + b"x",
    lambda value: value[:-1],
    lambda value: value.swapcase(),
    lambda value: value + b"\n",
    lambda value: value + b"/x",
    lambda value: value[:-1] + bytes([(value[-1] + 1) % 256]) if value else b"",
    lambda value: value[:-1] + bytes([(value[-1] - 1) % 256]) if value else b"",
    lambda value: value + b"\nx",
    lambda value: value.replace(b"/", b"//", 1),
    lambda value: b"/x" + value,
    lambda value: value[1:],
)
"""Functions that return a value and close variants: a byte more or less, other bytes or case, newlines, slashes."""


def of_map(regex_map: RegexMap, keys: Iterable[bytes]) -> Iterator[bytes]:
    """Yield values for which a map and a tree with these `keys` might differ, the most likely ones first."""
    known = [text for row in regex_map.patterns for text in examples(encode(row.name).lstrip(b"~*"))]
    known += [encode(row.name) for row in regex_map.rows if row.args and not row.name.startswith("~")]
    return variants([b"", *known, *keys])


def variants(values: Iterable[bytes]) -> Iterator[bytes]:
    """Yield values and their close variants, the values themselves first."""
    distinct = list(dict.fromkeys(values))
    return (variant(value) for variant in VARIANTS for value in distinct)


def examples(pattern: bytes) -> list[bytes]:
    """Return two strings that a pattern may match: without and with its optional parts."""
    return list(dict.fromkeys(example(pattern, most=most) for most in (False, True)))


def example(pattern: bytes, *, most: bool = False) -> bytes:
    """Return a string that a pattern may match: the first part of each alternation, the first byte of each class.

    With `most`, it contains optional parts.
    """
    out: list[bytes] = []
    opened: list[int] = []
    skipping = 0  # the depth of groups within an alternative that is skipped
    for match in _ATOM.finditer(pattern):
        kind, text = match.lastgroup, match[0]
        if kind == "group":
            if not text.endswith(b")"):
                opened.append(len(out))
                skipping += skipping > 0
        elif kind == "end" and opened:
            start = opened.pop()
            skipping -= skipping > 0
            if not skipping:
                out[start:] = [b"".join(out[start:])]
        elif kind == "alternative":
            if not opened:
                break
            skipping = skipping or 1
        elif not skipping:
            _append(kind, text, match["escape"], most, out)
    return b"".join(out)


def _append(kind: str | None, text: bytes, escape: bytes | None, most: bool, out: list[bytes]) -> None:
    """Add a match of an atom outside groups."""
    if escape is not None:
        out.append(_ESCAPES.get(escape, b"" if escape in b"bBAzZ" else escape))
    elif kind == "class":
        out.append(_member(text[1:-1]))
    elif kind == "repeat":
        if text[:1] == b"?" and out and not most:
            out[-1] = b""
    elif kind == "any":
        out.append(b"x")
    elif kind == "byte":
        out.append(text)


def _member(members: bytes) -> bytes:
    """Return a byte of a class."""
    if members.startswith(b"^"):
        return next(bytes([byte]) for byte in b"xyz1-_." if byte not in members)
    escape = members[:1] == b"\\"
    return _ESCAPES.get(members[1:2], members[1:2]) if escape else members[:1]
