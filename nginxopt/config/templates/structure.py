"""Parses a template into a tree of texts, values, and blocks with alternative options.

An option is what a block may write: one branch of a condition, or the body of a loop zero, one or two times.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import field, replace

from nginxopt import budget, lazy
from nginxopt.config.templates.tags import Action, Tag, Trim, tags
from nginxopt.records import record
from nginxopt.text import Source, Span

_DEFINITIONS = frozenset(["end", "endmacro"])
"""The words that close a definition (a macro or named template), which is written only where it is called."""

_NO_DIRECTIVE = lazy.pattern(rb"\s*(?:#[^\n]*(?:\n\s*|$))*")


_NOTHING_MORE = lazy.pattern(
    rb"(?>[^\S\n]|\{%.*?%\}|\{#.*?#\}|<%(?!=).*?%>|\{\{-?[^\S\n]*(?:end|else)\b.*?\}\})*+(?:#.*)?$", re.MULTILINE
)
"""Matches the rest of a line without text. A tag is matched in one way only, as trying others would never end."""

DEPTH = 100
"""How deeply blocks may be nested, counting those that a jump skips: the functions that read them are recursive."""


class UnreadableTag(Exception):  # noqa: N818 - as InputError, it says what the file is
    """A tag whose effect on the file is unknown; `because` is the reason."""

    def __init__(self, tag: Span, because: str) -> None:
        super().__init__(because)
        self.tag = tag
        self.because = because


@record(eq=True)
class TagText:
    """The text between two tags.

    `drops_newline`: whether it follows a tag after which some engines drop the line end.
    """

    start: int
    end: int
    drops_newline: bool


@record(eq=True)
class ValueTag:
    """A tag that is replaced by text.

    `is_alone`: whether only blanks, a comment or tags that write nothing follow it on its line. `is_comments`: whether
    it is replaced by nothing but comments of nginx.
    """

    number: int
    span: Span
    is_alone: bool
    is_comments: bool


Pieces = tuple["TagText | ValueTag | TagBlock", ...]


@record(eq=True)
class TagBlock:
    """A block of control tags and its options, the usual one first. An option is a series of parts to write."""

    number: int
    span: Span
    options: tuple[tuple[Pieces, ...], ...]


Chain = tuple[tuple[int, int], ...]
"""The blocks around a piece, from the outermost in: the number of each block and of its option that has the piece."""


@record(eq=True, slots=False)
class Template:
    """A parsed template.

    Attributes:
        source: The file.
        pieces: The top level of the tree.
        values: The values; a value's number is its index.
        blocks: The blocks; a block's number is its index.
        chains: The blocks around each block, by its number. Blocks that are never written are missing.
        places: The texts in order, each with the blocks around it.
    """

    source: Source
    pieces: Pieces
    values: tuple[ValueTag, ...]
    blocks: tuple[TagBlock, ...]
    chains: dict[int, Chain] = field(repr=False)
    places: tuple[tuple[TagText, Chain], ...] = field(repr=False)

    def chain(self, span: Span) -> Chain | None:
        """Return the blocks around a span that lies in one text; None for any other span."""
        number = bisect_right(self.places, span.start, key=lambda place: place[0].start)
        near = self.places[max(0, number - 1) : number]
        return next((chain for text, chain in near if span.end <= text.end), None)


@record(eq=True, frozen=False)
class _Open:
    """A block that is not closed yet.

    Attributes:
        parts: Its branches so far, each a list of pieces.
        before: The beginnings of the last branch, each up to a tag (`continue`, `break`) that may skip its rest.
        jumps: Whether one of its tags skips the rest of a loop around the block.
    """

    tag: Tag
    parts: list[list[TagText | ValueTag | TagBlock]]
    has_else: bool = False
    before: list[list[TagText | ValueTag | TagBlock]] = field(default_factory=list)
    jumps: bool = False

    def jump(self) -> None:
        """Begin the rest of a branch, which may be skipped."""
        self.before.append(self.parts[-1])
        self.parts[-1] = []
        self.jumps = self.tag.action is not Action.LOOP


def read_template(source: Source) -> Template:
    """Parse a template. Raises `UnreadableTag` at a tag that is not understood, or not closed."""
    reader = _Reader(source)
    pieces = reader.read()
    chains: dict[int, Chain] = {}
    places: list[tuple[TagText, Chain]] = []
    _place(pieces, (), chains, places)
    blocks = tuple(sorted(reader.blocks, key=lambda block: block.number))
    return Template(source, pieces, tuple(reader.values), blocks, chains, tuple(places))


class _Reader:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._data = source.data
        self.values: list[ValueTag] = []
        self.blocks: list[TagBlock] = []
        self._definitions: dict[int, Pieces] = {}

    def read(self) -> Pieces:
        """Return the pieces of the file."""
        top = _Open(Tag(0, 0, Action.SCOPE), [[]])
        opened = [top]
        before: Tag | None = None
        count = budget.Meter("template-tags")
        for tag in tags(self._data):
            count.spend(source=self._source, span=_span(tag))
            opened[-1].parts[-1].extend(self._text(before, tag))
            self._take(tag, opened)
            before = tag
        opened[-1].parts[-1].extend(self._text(before, None))
        if len(opened) > 1:
            raise UnreadableTag(_span(opened[-1].tag), "its block is not closed")
        return self._shown(tuple(top.parts[0]))

    def _take(self, tag: Tag, opened: list[_Open]) -> None:
        """Add a value to the open block, or open a block, start its next branch or close it."""
        block = opened[-1]
        match tag.action:
            case Action.UNKNOWN:
                raise UnreadableTag(_span(tag), "what it does is not known")
            case Action.VALUE:
                value = ValueTag(len(self.values), _span(tag), self._is_alone(tag), tag.is_comments)
                self.values.append(value)
                block.parts[-1].append(value)
            case Action.NOTHING:
                pass
            case Action.BRANCH | Action.ELSE:
                if block.tag.action not in (Action.CHOICE, Action.LOOP) or block.has_else:
                    raise UnreadableTag(_span(tag), "it belongs to no condition")
                self._join(block)
                block.parts.append([])
                block.has_else = tag.action is Action.ELSE
            case Action.CLOSE:
                if len(opened) == 1 or not tag.closers & block.tag.closers:
                    raise UnreadableTag(_span(tag), "it does not close the block that is open")
                self._join(block)
                opened.pop()
                opened[-1].parts[-1].append(self._block(block, tag))
                if block.jumps:
                    opened[-1].jump()
                    _refuse_deep(tag, opened)
            case Action.JUMP:
                if all(outer.tag.action is not Action.LOOP for outer in opened):
                    raise UnreadableTag(_span(tag), "it belongs to no loop")
                block.jump()
                _refuse_deep(tag, opened)
            case _:
                opened.append(_Open(tag, [[]]))
                _refuse_deep(tag, opened)

    def _join(self, block: _Open) -> None:
        """Turn the parts of a branch that may be skipped into optional blocks."""
        while block.before:
            rest, block.parts[-1] = tuple(block.parts[-1]), block.before.pop()
            closed = TagBlock(len(self.blocks), _span(block.tag), ((rest,), ()))
            self.blocks.append(closed)
            block.parts[-1].append(closed)

    def _text(self, before: Tag | None, after: Tag | None) -> Iterator[TagText]:
        """Yield the text between two tags, without the white space that they trim."""
        start = before.end if before else 0
        end = after.start if after else len(self._data)
        text = self._data[start:end]
        if before and before.after is not Trim.NOTHING:
            blanks = re.match(rb"\s*" if before.after is Trim.BLANKS else rb"[ \t]*\r?\n|", text)
            start += blanks.end() if blanks else 0
        if after and after.before is Trim.BLANKS:
            end = start + len(self._data[start:end].rstrip())
        drops = before is not None and before.is_silent and before.after is Trim.NOTHING
        if start < end:
            yield TagText(start, end, drops)

    def _is_alone(self, tag: Tag) -> bool:
        """Return whether only blanks, a comment or tags that write nothing follow a tag on its line."""
        return _NOTHING_MORE.match(self._data, tag.end) is not None

    def _block(self, block: _Open, closing: Tag) -> TagBlock:
        parts = [tuple(part) for part in block.parts]
        number = len(self.blocks)
        span = Span(block.tag.start, closing.end)
        options = tuple(_options(block, parts))
        if block.tag.action is Action.DEFAULT:
            options = ((parts[0],), ((self._anything(_span(block.tag)),),))
        closed = TagBlock(number, span, options)
        if block.tag.action is Action.HIDDEN and block.tag.closers & _DEFINITIONS:
            self._definitions[number] = parts[0]
        self.blocks.append(closed)
        return closed

    def _anything(self, span: Span) -> ValueTag:
        """Return a value in place of a block whose content another template may replace."""
        value = ValueTag(len(self.values), span, is_alone=True, is_comments=False)
        self.values.append(value)
        return value

    def _shown(self, pieces: Pieces) -> Pieces:
        """Return the pieces of a file; if it consists of definitions only, each of them is written in place."""
        if not self._definitions or not all(map(self._is_definition, pieces)):
            return pieces
        shown = tuple(self._defined(piece) if isinstance(piece, TagBlock) else piece for piece in pieces)
        self.blocks = [
            next((piece for piece in shown if isinstance(piece, TagBlock) and piece.number == block.number), block)
            for block in self.blocks
        ]
        return shown

    def _is_definition(self, piece: TagText | ValueTag | TagBlock) -> bool:
        if isinstance(piece, TagBlock):
            return piece.number in self._definitions
        return isinstance(piece, TagText) and _NO_DIRECTIVE.fullmatch(self._data, piece.start, piece.end) is not None

    def _defined(self, block: TagBlock) -> TagBlock:
        return replace(block, options=((self._definitions[block.number],), ()))


def _refuse_deep(tag: Tag, opened: Sequence[_Open]) -> None:
    """Raise `UnreadableTag` if blocks are nested too deeply."""
    if len(opened) - 1 + sum(len(block.before) for block in opened) > DEPTH:
        raise UnreadableTag(_span(tag), f"its blocks are nested more than {DEPTH} deep")


def _options(block: _Open, parts: list[Pieces]) -> Iterator[tuple[Pieces, ...]]:
    match block.tag.action:
        case Action.HIDDEN:
            yield ()
        case Action.SCOPE:
            yield (parts[0],)
        case Action.LOOP:
            yield (parts[0],)
            yield (parts[0], parts[0])
            yield from ((part,) for part in parts[1:])
            if not block.has_else:
                yield ()
        case _:
            yield from ((part,) for part in parts)
            if not block.has_else:
                yield ()


def _place(pieces: Pieces, chain: Chain, chains: dict[int, Chain], places: list[tuple[TagText, Chain]]) -> None:
    """Record the blocks around each block (in `chains`) and text (in `places`) of some pieces."""
    for piece in pieces:
        if isinstance(piece, TagText):
            places.append((piece, chain))
        elif isinstance(piece, TagBlock):
            chains[piece.number] = chain
            seen: set[int] = set()
            for number, option in enumerate(piece.options):
                for part in option:
                    if id(part) not in seen:
                        seen.add(id(part))
                        _place(part, (*chain, (piece.number, number)), chains, places)


def _span(tag: Tag) -> Span:
    return Span(tag.start, tag.end)
