"""What is known of the values of a request at a place in a configuration: which patterns they match and which not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from nginxopt._native import Patterns, common_subject
from nginxopt.request.verify.symbols import URI, Symbol, Text, Variable

FALSE = rb"^0?\z"
"""What an `if` takes for false: the empty string and `0`."""

_RESOLVED = (rb"//|/\.\.?(?:/|\z)", rb"[\x00-\x1f]")

_PLAIN = re.compile(rb"[A-Za-z0-9/_ -]+")


@dataclass(frozen=True, slots=True)
class Matches:
    """Whether a value matches a pattern, in PCRE's syntax; `(?i)` at the start ignores case."""

    subject: Symbol
    pattern: bytes


@dataclass(frozen=True, slots=True)
class Fact:
    """Any other question that a configuration asks of a request, such as whether a file exists."""

    name: str
    values: tuple[Symbol, ...]


Atom = Matches | Fact


def equal_to(value: bytes) -> bytes:
    """Return a pattern that matches these bytes only."""
    return b"^" + escaped(value) + rb"\z"


def starts_with(prefix: bytes) -> bytes:
    """Return a pattern that matches what starts with these bytes."""
    return b"^" + escaped(prefix)


def escaped(text: bytes) -> bytes:
    """Return bytes as a pattern that matches just them."""
    if _PLAIN.fullmatch(text):
        return text
    return b"".join(bytes([byte]) if _PLAIN.fullmatch(bytes([byte])) else b"\\x%02x" % byte for byte in text)


@dataclass(frozen=True, slots=True)
class Region:
    """The requests for which some questions have these answers."""

    answers: Mapping[Atom, bool] = field(default_factory=dict)

    def with_answer(self, atom: Atom, answer: bool) -> Region:
        """Return the part of the region with that answer."""
        return Region({**self.answers, atom: answer})

    def in_common(self, other: Region) -> Region:
        """Return a region that holds the requests of both."""
        return Region({atom: answer for atom, answer in self.answers.items() if other.answers.get(atom) is answer})

    def answer(self, atom: Atom) -> bool | None:
        """Return the answer that all requests of the region have; None if that is not known."""
        known = self.answers.get(atom)
        if known is not None or isinstance(atom, Fact):
            return known
        if isinstance(atom.subject, Text):
            return _matches(atom.pattern, atom.subject.value)
        inside, outside = self.patterns(atom.subject)
        if is_empty((*inside, atom.pattern), outside):
            return False
        return True if is_empty(inside, (*outside, atom.pattern)) else None

    def patterns(self, subject: Symbol) -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
        """Return the patterns that a value matches, and those that it does not."""
        atoms = [
            (atom.pattern, answer)
            for atom, answer in self.answers.items()
            if isinstance(atom, Matches) and atom.subject == subject
        ]
        inside = tuple(pattern for pattern, answer in atoms if answer)
        return inside, tuple(pattern for pattern, answer in atoms if not answer)

    def subjects(self) -> Iterator[Symbol]:
        """Yield the values of which something is known, each once."""
        yield from dict.fromkeys(atom.subject for atom in self.answers if isinstance(atom, Matches))

    def facts(self) -> Iterator[tuple[Fact, bool]]:
        """Yield the other questions with their answers."""
        return ((atom, answer) for atom, answer in self.answers.items() if isinstance(atom, Fact))

    @property
    def is_empty(self) -> bool:
        """Whether certainly no request is in it."""
        return any(is_empty(*self.patterns(subject)) for subject in self.subjects())


def is_empty(inside: tuple[bytes, ...], outside: tuple[bytes, ...]) -> bool:
    """Return whether certainly no value matches all of `inside` and none of `outside`."""
    if not inside:
        return False
    if _exclude_each_other(inside):
        return True
    return _example(inside, outside, False)[0]


def example(inside: tuple[bytes, ...], outside: tuple[bytes, ...], subject: Symbol) -> bytes | None:
    """Return a value that seems to match all of `inside` and none of `outside`.

    Of `$uri` it is one that a client can send, if possible without what nginx resolves.
    """
    if subject != Variable(URI):
        return _example(inside, outside, False)[1]
    return _example(inside, (*outside, *_RESOLVED), True)[1] or _example(inside, outside, True)[1]


@lru_cache(maxsize=1 << 16)
def _example(inside: tuple[bytes, ...], outside: tuple[bytes, ...], is_uri: bool) -> tuple[bool, bytes | None]:
    if not is_uri and _takes(inside, outside, b""):  # nothing is tried on the empty string by `common_subject`
        return False, b""
    return common_subject(inside, outside, is_uri)


def _takes(inside: tuple[bytes, ...], outside: tuple[bytes, ...], value: bytes) -> bool:
    """Return whether a value may match all of `inside` and none of `outside`."""
    return all(_matches(pattern, value) is not False for pattern in inside) and not any(
        _matches(pattern, value) for pattern in outside
    )


def overlap(pattern: bytes, inside: tuple[bytes, ...]) -> bool:
    """Return whether a value may match a pattern and all of `inside`, as far as that is clear at a glance."""
    return not _exclude_each_other((pattern, *inside))


def _exclude_each_other(patterns: tuple[bytes, ...]) -> bool:
    """Return whether the plain beginnings of two patterns differ: a short way to see that nothing matches both."""
    beginnings = [beginning for beginning in map(_beginning, patterns) if beginning is not None]
    first = max(beginnings, key=len, default=b"")
    return any(not first.startswith(beginning) for beginning in beginnings)


@lru_cache(maxsize=1 << 16)
def _beginning(pattern: bytes) -> bytes | None:
    """Return the plain bytes that a match begins with; None if that is not clear at a glance."""
    if not pattern.startswith(b"^") or b"|" in pattern:
        return None
    match = _PLAIN.match(pattern, 1)
    if match is None:
        return b""
    rest = pattern[match.end() : match.end() + 1]
    return match[0][:-1] if rest and rest in b"*?+{" else match[0]


@lru_cache(maxsize=1 << 16)
def _matches(pattern: bytes, value: bytes) -> bool | None:
    try:
        return Patterns([pattern]).first(value) is not None
    except ValueError:
        return None
