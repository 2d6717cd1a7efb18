"""Symbolic values: terms over what is not known. Terms that are equal here have equal values in every request.

Terms are shared: there is one object for each, so they are compared by identity, and a value that doubles with each
statement of a script grows by one term. Functions that walk through a value visit each term once (`mapped`).
`Interner` numbers other things in the same way, so that what two sides have is compared by number.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from weakref import WeakValueDictionary

from nginxopt import lazy
from nginxopt._native import captures
from nginxopt.text import encode
from nginxopt.verify.patterns import are_groups_plain

URI = "uri"
ARGS = "args"
LIMIT_RATE = "limit_rate"
METHOD = "request_method"

CUT = "cut"
"""Marks a text whose values may change after nginx has computed its length."""

PERHAPS = "perhaps set"
"""Marks a variable that may have been set; if it was not, it is looked up where it is read."""

_VARIABLE = lazy.pattern(rb"\$(?:([0-9])|([A-Za-z0-9_]+)|\{([A-Za-z0-9_]+)\})")


_TERMS: WeakValueDictionary[tuple[Any, ...], Any] = WeakValueDictionary()


class _Shared(type):
    """Returns the same object for equal arguments, as long as it is in use."""

    def __call__(cls, *args: Any) -> Any:
        key = (cls, *args)
        term = _TERMS.get(key)
        if term is None:
            term = _TERMS[key] = super().__call__(*args)
        return term


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class KnownBytes(metaclass=_Shared):
    """Bytes that are known."""

    value: bytes


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class Variable(metaclass=_Shared):
    """A variable of a request; `uri` and `args` are those at the start of what is compared."""

    name: str


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class Derived(metaclass=_Shared):
    """A variable that nginx computes from others, such as `arg_x` of changed arguments, or a map of its source."""

    name: str
    sources: tuple[Symbol, ...]


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class Match(metaclass=_Shared):
    """What a pattern matched in a subject; None for both is what was matched before the start."""

    subject: Symbol | None
    pattern: bytes | None


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class Capture(metaclass=_Shared):
    """A group of a match, by its number or name. `use` is where it stands, as nginx escapes it in some places."""

    match: Match
    group: str
    use: str


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class Join(metaclass=_Shared):
    """Values in sequence. Unless it is too long, texts in it are joined, and other sequences are flattened (`join`)."""

    parts: tuple[Symbol, ...]


Symbol = KnownBytes | Variable | Derived | Capture | Join

EMPTY = KnownBytes(b"")

_MOST_PARTS = 200
"""The maximum number of parts of a sequence into which others are flattened."""

_LONGEST_TEXT = 4096
"""The maximum length of texts that are joined, in bytes."""


def join(parts: Iterable[Symbol]) -> Symbol:
    """Return values in sequence. Sequences among them are flattened, unless that makes too many parts."""
    given = [part for part in parts if part is not EMPTY]
    flat: list[Symbol] = []
    for part in given:
        for piece in part.parts if isinstance(part, Join) else (part,):
            last = flat[-1] if flat else None
            if isinstance(piece, KnownBytes) and isinstance(last, KnownBytes) and _are_short(last, piece):
                flat[-1] = KnownBytes(last.value + piece.value)
            else:
                flat.append(piece)
    if not flat:
        return EMPTY
    if len(flat) > max(_MOST_PARTS, len(given)):
        flat = given
    return flat[0] if len(flat) == 1 else Join(tuple(flat))


def _are_short(*texts: KnownBytes) -> bool:
    return sum(len(text.value) for text in texts) <= _LONGEST_TEXT


def may_be_empty(symbol: Symbol) -> bool:
    """Return whether a value may be the empty string, as it has no text of its own."""
    seen, waiting = {symbol}, [symbol]
    while waiting:
        part = waiting.pop()
        if isinstance(part, KnownBytes) and part.value:
            return False
        inner = set(part.parts) - seen if isinstance(part, Join) else set()
        seen |= inner
        waiting += inner
    return True


def parts_of(symbol: Symbol) -> tuple[Symbol, ...]:
    """Return the values that one is made of, in their order."""
    # Nothing is called as often, and `match` takes longer.
    if isinstance(symbol, (KnownBytes, Variable)):
        return ()
    if isinstance(symbol, Derived):
        return symbol.sources
    if isinstance(symbol, Join):
        return symbol.parts
    subject = symbol.match.subject
    return () if subject is None else (subject,)


def all_parts(symbol: Symbol) -> Iterator[Symbol]:
    """Yield a value and all values that it is made of, each once."""
    seen, waiting = {symbol}, [symbol]
    while waiting:
        here = waiting.pop()
        yield here
        new = [part for part in parts_of(here) if part not in seen]
        seen.update(new)
        waiting += new


def mapped(
    symbol: Symbol, known: dict[Symbol, Symbol], build: Callable[[Symbol, tuple[Symbol, ...]], Symbol]
) -> Symbol:
    """Convert a value from its innermost parts outwards: `build` converts a value, given its converted parts.

    `known` has values that are converted already, and receives all others.
    """
    waiting = [symbol] if symbol not in known else []
    while waiting:
        here = waiting[-1]
        parts = parts_of(here)
        missing = [part for part in parts if part not in known]
        if missing:
            waiting += missing
            continue
        known[here] = build(here, tuple([known[part] for part in parts]))
        while waiting and waiting[-1] in known:
            waiting.pop()
    return known[symbol]


def derived(name: str, sources: tuple[Symbol, ...]) -> Symbol:
    """Return a variable that nginx computes, or its value if that is known now."""
    match name, sources:
        case "is_args", (KnownBytes(value),):
            return KnownBytes(b"?" if value else b"")
        case "redirect", (KnownBytes(value),) if b"%" not in value.partition(b"?")[0]:
            return KnownBytes(value)
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
    return {(number or name or braced).decode().lower() for number, name, braced in _VARIABLE.findall(value)}


def variables_in(words: Iterable[str]) -> set[str]:
    """Return the names of the variables in any of the words, which are searched as one text: no name has a line end."""
    found = [word for word in words if "$" in word]
    return variables(encode("\n".join(found))) if found else set()


class Interner:
    """Gives equal values the same number, counted from 0 in the order in which they are first seen."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}

    def number(self, thing: Hashable) -> int:
        """Return the number of a value, a new one if no equal value has been seen."""
        return self._numbers.setdefault(thing, len(self._numbers))


_SAME_IN_URIS = lazy.pattern(rb"[A-Za-z0-9/_.~-]*")
"""What nginx does not escape when it copies a capture into a URI (`ngx_http_script_copy_capture_code`)."""


def replaced(symbol: Symbol, old: Symbol, new: Symbol) -> Symbol:
    """Return a value in which a part is replaced wherever it stands."""
    return mapped(symbol, {old: new}, _with_parts)


def _with_parts(symbol: Symbol, parts: tuple[Symbol, ...]) -> Symbol:
    """Return a value with other parts."""
    if parts == parts_of(symbol):
        return symbol
    match symbol:
        case Derived(name, _):
            return derived(name, parts)
        case Capture(Match(_, pattern), group, use):
            return captured(Capture(Match(parts[0], pattern), group, use))
    return join(parts)


class Substitution:
    """Replaces one part of values. The result for each value is computed once."""

    def __init__(self, old: Symbol) -> None:
        self._old = old
        self._known: dict[Symbol, dict[Symbol, Symbol]] = {}

    @property
    def work(self) -> int:
        """The number of values that were visited."""
        return sum(map(len, self._known.values()))

    def into(self, symbol: Symbol, new: Symbol) -> Symbol:
        """Return a value in which the part is replaced."""
        if not parts_of(symbol):
            return new if symbol == self._old else symbol
        known = self._known.get(new)
        if known is None:
            known = self._known[new] = {self._old: new}
        return known[symbol] if symbol in known else mapped(symbol, known, _with_parts)


def is_raw(capture: Capture) -> bool:
    """Return whether a capture is used as it was matched."""
    return capture.use in ("map", "name")


_GROUP = lazy.pattern(rb"\((?!\?(?:[:!=>]|<[!=]|[a-z-]+[:)]))")
"""What may be the start of a group that captures; an escaped parenthesis is one, too."""


def may_capture(pattern: bytes) -> bool:
    """Return whether a pattern may have numbered groups; the empty pattern stands for an unknown one."""
    return not pattern or _GROUP.search(pattern) is not None


def captured(capture: Capture) -> Symbol:
    """Return the text that was captured, if the subject is known; otherwise the capture itself."""
    subject, pattern = capture.match.subject, capture.match.pattern
    if not isinstance(subject, KnownBytes) or pattern is None:
        return capture
    text = _group(pattern, subject.value, capture.group)
    if text is None or not (is_raw(capture) or _SAME_IN_URIS.fullmatch(text)):
        return capture
    return KnownBytes(text)


@lru_cache(maxsize=1 << 12)
def _group(pattern: bytes, subject: bytes, name: str) -> bytes | None:
    """Return what a group captures, empty if it takes no part in the match; None if that is not known."""
    found = captures(pattern, subject)
    if found is None:
        return None
    groups, named = found
    if not name.isdigit():
        return {key.decode().lower(): text for key, text in named}.get(name)
    number = int(name)
    return (groups[number] if number < len(groups) else None) or b""


# The canonical form of values that come from different patterns and are equal in every request.
#
# Let P be plain text that begins and ends with a slash. A group of `^PR` captures the same as that group of
# `^/[^/]*/...R` with as many slashes before R. A subject that `^PR` matches begins with P, and each `[^/]*/` ends at
# the next slash, so both patterns try R from the same place. Nothing in R may depend on what is before it in the
# pattern: R does not begin with a quantifier, has neither alternatives outside of groups nor back references, and no
# flags are set.
_SEGMENTS = lazy.pattern(rb"\^((?:/(?:[A-Za-z0-9_~%!,;:=&@-]|\\[^A-Za-z0-9/])*)*/)(?![*+?{])")


def canonical(value: object) -> object:
    """Return a value in canonical form; tuples and sets are converted with all values in them."""
    match value:
        case tuple():
            return tuple(map(canonical, value))
        case frozenset():
            return frozenset(map(canonical, value))
        case Match():
            return _canonical_match(value, value.subject and mapped(value.subject, {}, _of_canonical_parts))
        case Capture() | Derived() | Join():
            return mapped(value, {}, _of_canonical_parts)
    return value


def _of_canonical_parts(symbol: Symbol, parts: tuple[Symbol, ...]) -> Symbol:
    """Return a value of canonical parts."""
    match symbol:
        case Capture(match, group, use):
            return Capture(_canonical_match(match, parts[0] if parts else None), group, use)
        case Derived(name, _):
            return Derived(name, parts)
        case Join():
            return Join(parts)
    return symbol


def _canonical_match(match: Match, subject: Symbol | None) -> Match:
    return Match(subject, match.pattern and behind_segments(match.pattern))


@lru_cache(maxsize=1 << 12)
def behind_segments(pattern: bytes) -> bytes:
    """Return a pattern with `[^/]*` for the segments at its start; its groups capture the same where both patterns
    match."""
    segments = _SEGMENTS.match(pattern)
    if segments is None or not are_groups_plain(pattern):
        return pattern
    return b"^/" + b"[^/]*/" * (segments[1].count(b"/") - 1) + pattern[segments.end() :]
