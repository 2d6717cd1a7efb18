r"""The domains that a pattern for an origin, a referrer or a host names, and the shortest foreign name that it accepts.

A pattern names domains as text: `example\.com`, `example.com`, `example\.(com|org)`. A name is foreign if it is neither
one of these nor below the domain that their owner registered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal

from nginxopt import lazy
from nginxopt.semantics.subjects import shortest
from nginxopt.text import encode

Kind = Literal["origin", "referrer", "referrer without scheme", "host"]
"""What a pattern is compared with."""

_LABEL = "[a-z0-9-]"
_TOP = "(?:com|net|org|test|[a-z]{2})"
_EVIL = (r"evil\.test", rf"{_LABEL}+\.evil\.test", rf"{_LABEL}+(?:\.{_LABEL}+)*\.evil\.test", r"evil[a-z0-9-]*\.com")
_ANY = (rf"(?:{_LABEL}+\.)+{_TOP}",)
"""Names that an attacker could register, the most telling first."""
_FORMS: dict[Kind, tuple[str, str]] = {
    "origin": ("https?://", "(?::[0-9]+)?"),
    "referrer": ("https?://", "(?::[0-9]+)?/[!-~]*"),
    "referrer without scheme": ("", "(?::[0-9]+)?/[!-~]*"),
    "host": ("", ""),
}
_EXACT: dict[Kind, str] = {
    "origin": r"(?i)^https?://(?:[^.]+\.)*(?:{owned})(?::[0-9]+)?$",  # no origin has a path, so labels may be anything
    "referrer": r"(?i)^https?://(?:[^/.:?#@]+\.)*(?:{owned})(?::[0-9]+)?(?:[/?#].*)?$",
    "referrer without scheme": r"(?i)^(?:[^/.:?#@]+\.)*(?:{owned})(?::[0-9]+)?(?:[/?#].*)?$",
    "host": r"(?i)^(?:.*\.)?(?:{owned})(?::[0-9]+)?$",
}
"""The most that a pattern for a domain should accept."""
_GROUP = lazy.pattern(r"\((?:\?:)?((?:[\w-]|\\[.-]|\.|\|)+)\)(?![*+?{])")
_PROGRAMS = (".php", ".html", ".htm", ".asp", ".aspx", ".jsp", ".cgi")
"""Extensions of files in paths of referrers, which look like the end of a domain."""
_PIECE = lazy.pattern(r"(?:[a-z0-9-]+\.)+[a-z]{2,}")
_SECOND_LEVEL = {"ac", "co", "com", "edu", "gob", "gov", "net", "or", "org"}
_COUNTRY = 2
_MOST_TEXTS = 32


@lru_cache(maxsize=1 << 12)
def foreign(pattern: str, kind: Kind, *, caseless: bool) -> str | None:
    """Return a value with a foreign name that a pattern accepts; None if it names no domain, or none was found."""
    names = domains(pattern)
    if not names:
        return None
    head, tail = _FORMS[kind]
    owned = "|".join(re.escape(name) for name in names)
    own = encode(rf"(?i)^(?:https?://)?(?:[a-z0-9_-]+\.)*(?:{owned})(?::[0-9]+)?(?:/.*)?$")
    text = ("(?i)" if caseless else "") + pattern
    for name in (*_EVIL, *_ANY):
        form = encode(rf"^{head}{name}{tail}$")
        subject = shortest((encode(text), form), (own,))
        if subject is not None:
            return subject.decode("ascii")
    return None


@lru_cache(maxsize=1 << 12)
def inexact(pattern: str, kind: Kind, *, caseless: bool) -> str | None:
    """Return a text that a pattern accepts, although it is no value for a domain that it names or for a name below one.

    None if it names no domain, or accepts nothing else.
    """
    names = domains(pattern)
    if not names:
        return None
    owned = "|".join(re.escape(name) for name in names)
    exact = encode(_EXACT[kind].format(owned=owned))
    subject = shortest((encode(("(?i)" if caseless else "") + pattern), rb"^[!-~]+$"), (exact,))
    return None if subject is None else subject.decode("ascii")


def domains(pattern: str) -> tuple[str, ...]:
    """Return the registered domains that a pattern names, in their order."""
    pieces = (piece for text in _expanded(pattern) for piece in _pieces(text) if not piece.endswith(_PROGRAMS))
    return tuple(dict.fromkeys(map(_registered, pieces)))


def _expanded(pattern: str) -> Sequence[str]:
    """Return a pattern for each choice of its groups of plain alternatives."""
    texts = [pattern]
    for _ in range(_MOST_TEXTS):
        group = next((match for text in texts if (match := _GROUP.search(text))), None)
        if group is None or len(texts) > _MOST_TEXTS:
            break
        choices = group[1].split("|")
        texts = [text.replace(group[0], choice) for text in texts for choice in choices]
    return texts


def _pieces(text: str) -> Iterator[str]:
    """Yield the names that stand in a pattern as text."""
    plain = re.sub(r"\[[^]]*\]|\\[A-Za-z]|\(\?[a-zA-Z:<>=!]*", " ", text)
    plain = re.sub(r"\\([./-])", r"\1", plain)
    plain = re.sub(r"(?:.[?*]|\.\+|[+{}()|^$\\:/?*])", " ", plain)
    for word in plain.lower().split():
        name = word.strip(".-")
        if _PIECE.fullmatch(name):
            yield name


def _registered(name: str) -> str:
    """Return the part of a name that is registered: `example.co.uk` for `www.example.co.uk`."""
    labels = name.split(".")
    has_three = len(labels) > _COUNTRY and len(labels[-1]) == _COUNTRY and labels[-2] in _SECOND_LEVEL
    return ".".join(labels[-3:] if has_three else labels[-2:])
