"""Finds where the values of a template stand: in a word of a directive, or in place of whole directives.

The template is rendered with a unique mark for each value and then split into statements. The statement and word in
which a mark turns up is the place of its value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from typing import NamedTuple

from nginxopt import budget, lazy
from nginxopt.config.templates.lines import kind_of_file, passes
from nginxopt.config.templates.rendering import Rendered, Writer, render
from nginxopt.config.templates.structure import TagBlock, Template, UnreadableTag, ValueTag
from nginxopt.config.templating import unread
from nginxopt.config.tree import Statement, statements
from nginxopt.records import record
from nginxopt.text import Source, Span, decode


@record(eq=True)
class ValuePlace:
    """A value in a word of a directive.

    Attributes:
        directive: The name of the directive.
        index: The number of the argument, from 0; -1 for the name of the directive.
        count: The number of arguments of the directive.
        before: The text of the word before the value.
        after: The text of the word after the value.
        is_quoted: Whether the word is in quotes.
        has_block: Whether the directive has a block.
        tag: The tag as written.
        others: What the value would be in similar words of the template: these without `before` and `after`.
    """

    directive: str
    index: int
    count: int
    before: str
    after: str
    is_quoted: bool
    has_block: bool
    tag: str
    others: tuple[str, ...]


class MarkedWord(NamedTuple):
    """The mark of a value in a word, and where it stands."""

    start: int
    end: int
    value: ValueTag
    place: ValuePlace


class Header(NamedTuple):
    """A directive with values in its words, up to and including its `;` or `{`; `span` is its place in the template."""

    start: int
    end: int
    name: str
    span: Span
    words: tuple[MarkedWord, ...]
    has_block: bool


class Gap(NamedTuple):
    """A value in place of whole directives.

    `kind` is the name of the block around it, `present` are the names of the directives in that block, and `passes` are
    the `*_pass` directives that a location of the file may have (`lines.passes`).
    """

    start: int
    end: int
    value: ValueTag
    kind: str
    present: frozenset[str]
    passes: tuple[str, ...]


class PlacedRendering(NamedTuple):
    """A rendered template and the places of its values.

    Attributes:
        rendered: The text, with a mark for each value in a word or a comment.
        headers: The directives with values in their words.
        gaps: The values that stand for whole directives.
    """

    rendered: Rendered
    headers: tuple[Header, ...]
    gaps: tuple[Gap, ...]


_ROUNDS = 4
_EACH = 40
"""What a value counts for in the budget `template-work`: it takes as long as reading so many bytes."""


def placed(template: Template, choose: Callable[[TagBlock], int], *, drops_newlines: bool = False) -> PlacedRendering:
    """Render a template, with the option of each block that `choose` names, and return the places of its values.

    Raises `InputError` if the result does not parse, `UnreadableTag` for a value whose place is not understood.
    """
    mark = _mark(template)
    words: set[int] = set()
    for _ in range(_ROUNDS):
        rendered = _marked(template, choose, mark, words, drops_newlines=drops_newlines)
        source = Source(template.source.path, rendered.data, outside=template.source.outside)
        read = [statement for statement in statements(source) if statement.kind != "#"]
        starts = {statement.start for statement in read}
        wrong = {
            value.number
            for start, _, value in rendered.values
            if rendered.data.startswith(b"include ", start) and start not in starts
        }
        if not wrong:
            return _Placing(template, rendered, mark, read).placed()
        words |= wrong
    raise UnreadableTag(template.values[min(words)].span, "its place is not understood")


def _mark(template: Template) -> str:
    """Return a word that does not occur in a template."""
    mark = "nginxopt-tag-"
    while mark.encode() in template.source.data:
        mark += "x-"
    return mark


def _marked(
    template: Template, choose: Callable[[TagBlock], int], mark: str, words: set[int], *, drops_newlines: bool
) -> Rendered:
    def write(value: ValueTag, writer: Writer) -> bytes:
        if value.is_alone and value.number not in words and _begins_statement(writer.data):
            return b"" if value.is_comments else unread()
        return f"{mark}{writer.count}-".encode()

    return render(template, choose, write, drops_newlines=drops_newlines)


_COMMENT = lazy.pattern(rb"(?:^|[\s;{}])#.*$")


def _begins_statement(data: bytearray) -> bool:
    """Return whether a statement seems to begin after a text. A guess, which `placed` checks against the statements."""
    end = len(data)
    while True:
        start = data.rfind(b"\n", 0, end) + 1
        line = _COMMENT.sub(b"", data[start:end]).strip()
        if line:
            return line[-1:] in (b";", b"{", b"}")
        if not start:
            return True
        end = start - 1


class _Placing:
    """Finds the marks in the statements of a rendered template."""

    def __init__(self, template: Template, rendered: Rendered, mark: str, read: list[Statement]) -> None:
        self._template = template
        self._rendered = rendered
        self._read = read
        self._pattern = re.compile(re.escape(mark).encode() + rb"(\d+)-")
        self._known = _known_words(read, mark)
        self._others: dict[tuple[str, int, tuple[str, str]], tuple[str, ...]] = {}
        self._work = budget.meter("template-work")
        self._passes = passes((name, word) for (name, at), words in self._known.items() if at == 1 for word in words)

    def placed(self) -> PlacedRendering:
        """Return the rendered text with the places of its values."""
        headers: list[Header] = []
        gaps: list[Gap] = []
        alone = {written.start: written.value for written in self._rendered.values}
        for statement, around in _with_blocks(self._read):
            words = tuple(self._words(statement))
            value = words[0].value if words else alone.get(statement.start)
            if value is None:
                continue
            name = statement.words[0]
            is_unread = not words or words[0].start < name.end or name == "include"
            if is_unread and statement.kind == "{":
                raise UnreadableTag(value.span, "it names a block")
            if is_unread:
                kind = around.name or kind_of_file(around.names)
                names = frozenset(around.names)
                gaps.append(Gap(statement.start, statement.end, value, kind, names, self._passes))
            else:
                headers.append(self._header(statement, words))
        return PlacedRendering(self._rendered, tuple(headers), tuple(gaps))

    def _words(self, statement: Statement) -> Iterator[MarkedWord]:
        data = self._rendered.data
        if not self._pattern.search(data, statement.start, statement.end):
            return
        count = len(statement.words) - 1
        for index, word in enumerate(statement.words):
            for mark in self._pattern.finditer(data, word.start, word.end):
                before, after = data[word.start : mark.start()], data[mark.end() : word.end]
                value = self._rendered.values[int(mark[1])].value
                self._work.spend(_EACH, source=self._template.source, span=value.span)
                around = decode(before[word.quoted :]), decode(after[: len(after) - word.quoted])
                name = str(statement.words[0])
                place = ValuePlace(
                    name,
                    index - 1,
                    count,
                    *around,
                    word.quoted,
                    statement.kind == "{",
                    self._template.source.text(value.span),
                    self._others_of(name, index, around),
                )
                yield MarkedWord(mark.start(), mark.end(), value, place)

    def _others_of(self, name: str, index: int, around: tuple[str, str]) -> tuple[str, ...]:
        """Return `_others`, which many values of a template have in common."""
        key = name, index, around
        if key not in self._others:
            kinds = ((name, index), *_places(name, index))
            looked_at = sum(len(self._known.get(kind, ())) for kind in kinds)
            self._work.spend(looked_at, path=self._template.source.path)
            self._others[key] = _others(self._known, name, index, around)
        return self._others[key]

    def _header(self, statement: Statement, words: tuple[MarkedWord, ...]) -> Header:
        ends = [end for word in statement.words for end in self._rendered.origins(word.end)]
        starts = self._rendered.origins(statement.start)
        last = max(*ends, *(word.value.span.end for word in words), 0)
        span = Span(min(*starts, *(word.value.span.start for word in words), last), last)
        name = str(statement.words[0])
        return Header(statement.start, statement.end, name, span, words, statement.kind == "{")


@record(eq=True, frozen=False)
class _Around:
    """A block: its name, and the names of the directives in it; the file itself has no name."""

    name: str = ""
    names: set[str] = field(default_factory=set)


def _with_blocks(read: Iterable[Statement]) -> list[tuple[Statement, _Around]]:
    """Return each statement with the block around it."""
    opened = [_Around()]
    pairs: list[tuple[Statement, _Around]] = []
    for statement in read:
        if statement.kind == "}":
            opened.pop()
            continue
        name = str(statement.words[0])
        opened[-1].names.add(name)
        pairs.append((statement, opened[-1]))
        if statement.kind == "{":
            opened.append(_Around(name))
    return pairs


_HOST = lazy.pattern(r"(?:https?|grpcs?)://([\w.-]+)")
_AUTHORITY = lazy.pattern(r"(?:\w+://)?[^/]*")
_SERVERS = ("upstream", 1)
_PATHS = (("location", 1), ("location", 2))
_MOST_OTHERS = 8

_Kind = tuple[str, int]


def _known_words(read: Iterable[Statement], mark: str) -> dict[_Kind, dict[str, None]]:
    """Return the words without values, by directive and place (1 for the first argument).

    The hosts of `*_pass` directives also count as names of upstreams.
    """
    known: dict[_Kind, dict[str, None]] = {}
    for statement in read:
        if statement.kind == "}":
            continue
        name = str(statement.words[0])
        for index, word in enumerate(statement.words[1:], 1):
            if mark not in word:
                known.setdefault((name, index), {})[str(word)] = None
                if name.endswith("_pass"):
                    hosts = _HOST.findall(word) if "://" in word else [word.partition(":")[0]]
                    known.setdefault(_SERVERS, {}).update(dict.fromkeys(hosts))
    return known


def _places(name: str, index: int) -> tuple[_Kind, ...]:
    """Return the other places of words that may stand in a place."""
    if name == "location" or (name, index) == ("rewrite", 2):
        return _PATHS
    return (_SERVERS,) if name.endswith("_pass") else ()


def _others(
    known: Mapping[_Kind, Mapping[str, None]], name: str, index: int, around: tuple[str, str]
) -> tuple[str, ...]:
    """Return what may stand between the two texts `around` a value: the middles of known words of the same place."""
    words = [*known.get((name, index), ())]
    places = _places(name, index)
    paths = [word for kind in places if kind in _PATHS for word in known.get(kind, ()) if word[:1] in ("/", "^", "\\")]
    if (name, index) == ("rewrite", 2):
        words += [path for path in paths if path[0] == "/"]
        words += [f"/{path.split('/')[1]}/$1" for path in paths if path[0] == "/"]
    if name == "location":
        words = [*paths, *(f"{path}." for path in paths[:_MOST_OTHERS]), *words]
    if name.endswith("_pass"):
        servers = [word for kind in places for word in known.get(kind, ())]
        has_scheme = name == "proxy_pass" and not around[0].endswith("//")
        words += [f"http://{server}" for server in servers] if has_scheme else servers
        words += [found[0] for found in map(_AUTHORITY.match, words) if found]
    before, after = around
    fitting = (word for word in words if word.startswith(before) and word.endswith(after))
    parts = [word[len(before) : len(word) - len(after)] for word in fitting]
    parts += words if before.endswith("//") else []
    if name.endswith("_pass"):
        parts += [found[0] for found in map(_AUTHORITY.match, parts) if found]
        host = "" if "//" in after else after.partition("/")[0]
        parts += [word.removesuffix(host) for word in words if host and not before and word.endswith(host)]
    return tuple(part for part in parts if part and not re.search(r"[\s;{}\"']", part))[: 2 * _MOST_OTHERS]
