"""Recognises nginx configurations by their content, as other programs also use names such as `x.conf`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice, pairwise

from nginxopt import lazy
from nginxopt.config.templating import CURLY, PERCENT_BRACES
from nginxopt.config.tree import Token, statements
from nginxopt.errors import InputError
from nginxopt.facts import lexicon, vendors
from nginxopt.facts.table import declarations, names
from nginxopt.text import Source

_MOST = 200
"""The maximum number of words that are checked."""

_MOST_BYTES = 1 << 17
"""The maximum number of bytes of a found file that are looked at."""

_MARK = "\ufeff".encode()
_COMMON = frozenset(["break", "if", "include", "return", "set", "user"])
"""Directives whose names are also words of other languages; they count as evidence only before a `;`."""

_WORD = lazy.pattern(rb"[^\s;{}]+")
_NAME = lazy.pattern(r"\w+")
_ENDS = lazy.pattern(rb"^(?![^\S\n]*#).*[;{}]", re.MULTILINE)
"""A line with the end of a statement."""

_TAG_LINES = lazy.pattern(
    rb"^[ \t]*(?:\{\{-?[^\n]{0,1000}?\}\}|<%[\s\S]{0,1000}?%>|[@%$]\{?\w+\}?[@%]?);?[ \t\r]*$", re.MULTILINE
)
_HIDDEN_TAGS = lazy.pattern(
    rb"\{%[\s\S]{0,1000}?%\}|\{\#[\s\S]{0,1000}?\#\}|<%[^=][\s\S]{0,1000}?%>|\{\{-?\s*(?:if|else|end|range|with|define|/\*)[^\n]{0,1000}?\}\}"
)
_VALUE_TAGS = lazy.pattern(rb"\{\{[\s\S]{0,1000}?\}\}|<%=[\s\S]{0,1000}?%>|\{!![\s\S]{0,1000}?!!\}")
"""Tags of templates: alone in a line, without a text of their own, and in place of a text."""

_NAMES = lazy.pattern(b"|".join([CURLY, PERCENT_BRACES]))
"""Placeholders whose braces would be those of blocks."""

_MAIN = lazy.pattern(rb"^[ \t]*(?:http|stream|events|mail)\s*\{", re.MULTILINE)

_VENDORS = (vendors.OLDER, vendors.PLUS, vendors.ANGIE, vendors.MODULES)


def is_configuration(data: bytes) -> bool:
    """Return whether a file that was found, not named by the user, is a configuration of nginx, or a template of one.

    It is if it `looks_like_nginx`, even if it does not parse, or if it parses and has more directives of nginx, with
    blocks where nginx has them, than other statements. Rows of a map alone may belong to any program.
    """
    text = without_tags(data if len(data) <= _MOST_BYTES else data[: data.rfind(b"\n", 0, _MOST_BYTES) + 1])
    return looks_like_nginx(text) or _parses_as_nginx(text)


def is_main(data: bytes) -> bool:
    """Return whether a text looks like that of a main file."""
    return bool(_MAIN.search(data))


def is_empty(data: bytes) -> bool:
    """Return whether a text has only blanks and comments, so that nothing shows whose it is."""
    lines = (line.strip() for line in data.removeprefix(_MARK).splitlines())
    return not any(line and not line.startswith(b"#") for line in lines)


def without_tags(data: bytes) -> bytes:
    """Return a template with a word in place of each tag that writes a value, and without its other tags."""
    data = _NAMES.sub(b"x", data)
    if not any(tag in data for tag in (b"{{", b"{%", b"<%", b"{#", b"{!!", b"@", b"${")):
        return data
    return _VALUE_TAGS.sub(b"x", _TAG_LINES.sub(b"", _HIDDEN_TAGS.sub(b"", data)))


def looks_like_nginx(data: bytes) -> bool:
    """Return whether most of the words in place of directives are directives of nginx.

    While the text parses, these are the names of its statements, and misspelt directives count, too. The rest of the
    text is judged by the first words of its lines, as the files of other programs have neither `;` nor `{`.
    """
    if data.startswith(b"#!") or not _ENDS.search(data):
        return False
    found = list(islice(_evidence(Source("", data.removeprefix(_MARK))), _MOST))
    names = [is_known for name, is_known in found if name != "include"] or [is_known for _, is_known in found]
    return sum(names) * 2 > len(names)


def _parses_as_nginx(data: bytes) -> bool:
    """Return whether a text parses, and has more directives of nginx than assignments and names that nginx lacks."""
    if data.startswith(b"#!"):
        return False
    blocks = _Blocks()
    own = foreign = 0
    try:
        for statement in statements(Source("", data.removeprefix(_MARK))):
            if statement.kind == "}":
                blocks.close()
            elif statement.kind != "#":
                if blocks.are_known:
                    foreign += _is_assignment(statement.words) or not _NAME.fullmatch(str(statement.words[0]))
                    own += _is_directive(statement.words, is_block=statement.kind == "{")
                if statement.kind == "{":
                    blocks.open(str(statement.words[0]))
    except InputError:
        return False
    return own > foreign


class _Blocks:
    """The open blocks of a text, of which there may be a hundred thousand."""

    def __init__(self) -> None:
        self._are_known: list[bool] = []

    @property
    def are_known(self) -> bool:
        """Whether directives of nginx stand here: no block has values."""
        return not self._are_known or self._are_known[-1]

    def open(self, name: str) -> None:
        """Enter a block."""
        self._are_known.append(self.are_known and name in lexicon.BLOCKS)

    def close(self) -> None:
        """Leave a block."""
        self._are_known.pop()


def _is_directive(words: Sequence[Token], *, is_block: bool) -> bool:
    name = str(words[0])
    return name not in _COMMON and is_block in _shapes(name)


@cache
def _shapes(name: str) -> frozenset[bool]:
    """Return whether a directive has a block: both for one of either kind, nothing for an unknown name.

    Names of `further.tsv` may be words of other languages, so only those with an underscore count.
    """
    if name.endswith("_by_lua_block"):  # whose block is read as a word
        return frozenset([True, False])
    if name in names():
        return frozenset(row.has_block for row in declarations(name))
    tables = (*_VENDORS, vendors.FURTHER) if "_" in name else _VENDORS
    return frozenset(row.has_block for table in tables for row in vendors.declarations(table, name))


def _evidence(source: Source) -> Iterator[tuple[str, bool]]:
    """Yield each name outside blocks of values with whether it is a directive; then the same for unparsed lines."""
    end = 0
    blocks = _Blocks()
    try:
        for statement in statements(source):
            end = statement.end
            if statement.kind == "}":
                blocks.close()
                continue
            if statement.kind == "#":
                continue
            found = list(_of_statement(source.data, statement.words, is_block=statement.kind == "{"))
            if blocks.are_known:
                yield from found
            if statement.kind == "{":
                blocks.open(found[-1][0])
    except InputError:
        if blocks.are_known:
            yield from _in_lines(source.data[end:])


def _of_statement(data: bytes, words: Sequence[Token], *, is_block: bool) -> Iterator[tuple[str, bool]]:
    """Yield the name of a statement, with whether it is a directive.

    If not, also yield each later word at the start of a line, as it may begin another statement.
    """
    name = str(words[0])
    is_known = not _is_assignment(words) and _fits(name, is_block=is_block)
    yield name, is_known
    if not is_known:
        lines = (word for before, word in pairwise(words) if b"\n" in data[before.end : word.start])
        yield from dict.fromkeys((str(word), word in lexicon.NAMES and word not in _COMMON) for word in lines)


def _fits(name: str, *, is_block: bool) -> bool:
    """Return whether a name is a directive, perhaps misspelt, and that one has a block or has none."""
    if not _NAME.fullmatch(name):
        return False
    meant = (name,) if _shapes(name) else lexicon.nearest(name)
    return any(is_block in _shapes(other) for other in meant)


def _in_lines(data: bytes) -> Iterator[tuple[str, bool]]:
    """Yield each first word of lines once, with whether it is a directive."""
    seen = set()
    for line in data.splitlines():
        words = [word.decode("latin-1") for word in _WORD.findall(line)]
        if words and not words[0].startswith("#") and words[0] not in _COMMON and words[0] not in seen:
            seen.add(words[0])
            yield words[0], words[0] in lexicon.NAMES and not _is_assignment(words)


def _is_assignment(words: Sequence[str]) -> bool:
    """Return whether a statement is an assignment, which nginx does not have."""
    return words[0] != "location" and list(words[1:2]) in (["="], [":"], [":="])
