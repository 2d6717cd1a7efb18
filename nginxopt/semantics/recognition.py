"""Recognises nginx configurations by their content, as other programs also use names such as `x.conf`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from nginxopt import lazy
from nginxopt.config import Source, Token, statements
from nginxopt.errors import InputError
from nginxopt.semantics import directives

_MOST = 200
"""The maximum number of words that are checked."""

_MARK = "\ufeff".encode()
_COMMON = frozenset(["break", "if", "include", "return", "set", "user"])
"""Directives whose names are also words of other languages; they count as evidence only before a `;`."""

_WORD = lazy.pattern(rb"[^\s;{}]+")


def looks_like_nginx(data: bytes) -> bool:
    """Return whether most of the words in place of directives are directives of nginx.

    While the text parses, these are the names of its statements, and misspelt directives count, too. The rest of the
    text is judged by the first words of its lines, as the files of other programs have neither `;` nor `{`.
    """
    if data.startswith(b"#!"):
        return False
    known = list(islice(_evidence(Source("", data.removeprefix(_MARK))), _MOST))
    return sum(known) * 2 > len(known)


def _evidence(source: Source) -> Iterator[bool]:
    """Yield for each name outside blocks of values whether it is a directive; then the same for unparsed lines."""
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
                yield from _of_statement(source.data, statement.words)
            if statement.kind == "{":
                blocks.append(str(statement.words[0]))
    except InputError:
        if directives.BLOCKS.issuperset(blocks):
            yield from _in_lines(source.data[end:])


def _of_statement(data: bytes, words: Sequence[Token]) -> Iterator[bool]:
    """Yield whether the name of a statement is a directive.

    If not, also yield True for each later word at the start of a line that is one: it may begin another statement.
    """
    name = str(words[0])
    is_known = not _is_assignment(words) and (name in directives.NAMES or bool(directives.nearest(name)))
    yield is_known
    if not is_known:
        for word in words[1:]:
            if str(word) in directives.NAMES and not data[data.rfind(b"\n", 0, word.start) + 1 : word.start].strip():
                yield True


def _in_lines(data: bytes) -> Iterator[bool]:
    for line in data.splitlines():
        words = [word.decode("latin-1") for word in _WORD.findall(line)]
        if words and not words[0].startswith("#") and words[0] not in _COMMON:
            yield words[0] in directives.NAMES and not _is_assignment(words)


def _is_assignment(words: Sequence[str]) -> bool:
    """Return whether a statement is an assignment, which nginx does not have."""
    return words[0] != "location" and list(words[1:2]) in (["="], [":"], [":="])
