"""Values that are not known, by what they are made of: two that are equal here are equal in every request."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

URI = "uri"
ARGS = "args"
LIMIT_RATE = "limit_rate"
METHOD = "request_method"

CUT = "cut"
"""What stands for a text whose length nginx takes before what it reads may have changed."""

PERHAPS = "perhaps set"
"""What stands for a variable that may have been set; if it was not, it is looked up where it is read."""

_VARIABLE = re.compile(rb"\$(?:([0-9])|([A-Za-z0-9_]+)|\{([A-Za-z0-9_]+)\})")


@dataclass(frozen=True, slots=True)
class Text:
    """Bytes that are known."""

    value: bytes


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of a request; `uri` and `args` are those at the start of what is compared."""

    name: str


@dataclass(frozen=True, slots=True)
class Derived:
    """A variable that nginx computes from others, such as `arg_x` of changed arguments, or a map of its source."""

    name: str
    sources: tuple[Symbol, ...]


@dataclass(frozen=True, slots=True)
class Match:
    """What a pattern matched in a subject; None for both is what was matched before the start."""

    subject: Symbol | None
    pattern: bytes | None


@dataclass(frozen=True, slots=True)
class Capture:
    """A group of a match, by its number or name. `use` is where it stands, as nginx escapes it in some places."""

    match: Match
    group: str
    use: str


@dataclass(frozen=True, slots=True)
class Join:
    """Values in sequence, no two of them texts next to each other."""

    parts: tuple[Symbol, ...]


Symbol = Text | Variable | Derived | Capture | Join

EMPTY = Text(b"")
_MOST_PARTS = 200


def join(parts: Iterable[Symbol]) -> Symbol:
    """Return values in sequence."""
    flat: list[Symbol] = []
    for part in parts:
        for piece in part.parts if isinstance(part, Join) else (part,):
            if isinstance(piece, Text) and flat and isinstance(flat[-1], Text):
                flat[-1] = Text(flat[-1].value + piece.value)
            elif piece != EMPTY:
                flat.append(piece)
    if not flat:
        return EMPTY
    return flat[0] if len(flat) == 1 else Join(tuple(flat))


def may_be_empty(symbol: Symbol) -> bool:
    """Return whether a value may be the empty string: one with text in it is not."""
    parts = symbol.parts if isinstance(symbol, Join) else (symbol,)
    return not any(isinstance(part, Text) and part.value for part in parts)


def is_large(symbol: Symbol) -> bool:
    """Return whether a value is made of so much that it takes long to compare: one that doubles in a loop does."""
    parts, count = [symbol], 0
    while parts and count <= _MOST_PARTS:
        count += 1
        match parts.pop():
            case Join(inner) | Derived(_, inner):
                parts += inner
            case Capture(Match(subject, _), _, _) if subject is not None:
                parts.append(subject)
    return count > _MOST_PARTS


def derived(name: str, sources: tuple[Symbol, ...]) -> Symbol:
    """Return a variable that nginx computes, or its value if that is known now."""
    match name, sources:
        case "is_args", (Text(value),):
            return Text(b"?" if value else b"")
        case "redirect", (Text(value),) if b"%" not in value.partition(b"?")[0]:
            return Text(value)
    return Derived(name, sources)


@lru_cache(maxsize=1 << 14)
def pieces(value: bytes) -> tuple[bytes | str, ...]:
    """Return the parts of a value as nginx reads it: text as bytes, the names of variables and captures as strings."""
    parts: list[bytes | str] = []
    end = 0
    for match in _VARIABLE.finditer(value):
        if match.start() > end:
            parts.append(value[end : match.start()])
        parts.append((match[1] or match[2] or match[3]).decode().lower())
        end = match.end()
    if end < len(value):
        parts.append(value[end:])
    return tuple(parts)


def variables(value: bytes) -> set[str]:
    """Return the names of the variables in a value."""
    return {part for part in pieces(value) if isinstance(part, str)}
