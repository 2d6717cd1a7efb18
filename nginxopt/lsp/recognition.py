"""Recognises nginx configurations by their content: a name such as `x.conf` is also that of other programs' files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from nginxopt.config import Source, statements
from nginxopt.errors import InputError
from nginxopt.semantics import directives

_MOST = 200
"""The number of words to look at."""

_MARK = "\ufeff".encode()
_COMMON = frozenset(["break", "if", "include", "return", "set", "user"])
"""Directives whose names are words of other languages too; without a `;` they show nothing."""

_WORD = re.compile(rb"[^\s;{}]+")


def looks_like_nginx(data: bytes) -> bool:
    """Return whether most of the words that could be directives are directives of nginx.

    Where the text does not parse, those are the words at the starts of its lines, as other programs' files have
    neither `;` nor `{`.
    """
    if data.startswith(b"#!"):
        return False
    names = list(islice(_names(Source("", data.removeprefix(_MARK))), _MOST))
    known = sum(name in directives.NAMES for name in names)
    return known * 2 > len(names)


def _names(source: Source) -> Iterator[str]:
    """Yield the names of the directives that are in no block of values, and what may be names in the rest."""
    end = 0
    blocks: list[str] = []
    try:
        for statement in statements(source):
            end = statement.end
            if statement.kind == "}":
                blocks.pop()
                continue
            if statement.kind == "#":
                continue
            if directives.BLOCKS.issuperset(blocks):
                yield from _evidence([str(word) for word in statement.words])
            if statement.kind == "{":
                blocks.append(str(statement.words[0]))
    except InputError:
        if directives.BLOCKS.issuperset(blocks):
            yield from _first_words(source.data[end:])


def _evidence(words: list[str]) -> Iterator[str]:
    """Yield the name of a statement; of an assignment, which nginx does not have, one that no directive has."""
    is_assignment = words[0] != "location" and words[1:2] in (["="], [":"], [":="])
    yield "=" if is_assignment else words[0]


def _first_words(data: bytes) -> Iterator[str]:
    for line in data.splitlines():
        words = [word.decode("latin-1") for word in _WORD.findall(line)]
        if words and not words[0].startswith("#"):
            yield from (name for name in _evidence(words) if name not in _COMMON)
