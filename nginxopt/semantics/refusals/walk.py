"""Goes through a configuration as nginx does, and yields what it refuses."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from nginxopt.config import Directive, Token, has_placeholder
from nginxopt.errors import InputError
from nginxopt.records import record
from nginxopt.semantics import directives
from nginxopt.semantics.commands import TOGETHER, Declared, declared, place
from nginxopt.semantics.inherit import Level
from nginxopt.semantics.refusals import (
    gateways,
    http,
    listens,
    logs,
    main,
    merged,
    names,
    slots,
    tables,
    upstreams,
    zones,
)
from nginxopt.semantics.refusals.patterns import of_patterns
from nginxopt.semantics.refusals.reading import ReadState, Setter, Stated
from nginxopt.semantics.refusals.variables import is_of_nginx, of_variables
from nginxopt.version import Version

SETTERS: dict[str, Setter] = {}
for _module in (slots, main, zones, listens, upstreams, logs, gateways, http, tables, names):
    SETTERS.update(_module.SETTERS)

_PROTOCOLS = ("http", "stream", "mail")
_COUNTING = ("events", *_PROTOCOLS)
"""The blocks for which nginx counts its modules, after which it loads no more (`ngx_count_modules`)."""


class RefusalStage(Enum):
    """When nginx refuses a directive."""

    UNKNOWN = "no module of nginx has it, though it differs from one of its directives by a letter or two"
    HANDLER = "before its setter: its name, place, block, number of arguments"
    TWICE = "as the second of its block"
    SETTER = "when it is read"
    MERGE = "when the block around it, or the file, has ended"
    VARIABLE = "when it looks for the definitions of variables"
    EVENTS = "after the file: a main configuration needs an events block, which a part of one does not have"
    LOCATION = "when the locations of a server are sorted"
    PATTERN = "when PCRE compiles it"


@record(eq=True)
class Refusal:
    """A fault for which nginx does not start.

    Attributes:
        directive: The directive.
        word: The word that is wrong, or the name of the directive.
        message: What nginx says, without the place.
        stage: When nginx says it.
    """

    directive: Directive
    word: Token
    message: str
    stage: RefusalStage

    @property
    def error(self) -> InputError:
        """The refusal as an error, with what nginx says and the place that it adds."""
        is_located = self.stage not in (RefusalStage.MERGE, RefusalStage.VARIABLE, RefusalStage.EVENTS)
        nginx = self.directive.located(self.message) if is_located else self.message
        return self.directive.error(self.message, at=self.word, nginx=nginx)


def refusals(
    root: Level, target: Version, extra: frozenset[str] = frozenset(), *, is_whole: bool | None = None
) -> Iterator[Refusal]:
    """Yield what nginx refuses of a configuration, in the order of reading. Takes time linear in the text.

    `root` is its outermost level; `extra` are directives that the build has besides those of its release. Of a fragment
    only that is said which holds wherever it is included. `is_whole` is whether all text was read, for levels that are
    taken as given.
    """
    whole = root.is_whole if is_whole is None else is_whole
    is_part = is_whole is not None and root.kind != "main"
    reading = ReadState(target, whole and root.kind == "main", is_of_nginx(root), is_part)
    stack = [_Open(root, reading, extra, _protocol(root))]
    while stack:
        level = stack[-1]
        inner = None
        for item in level.steps:
            if isinstance(item, _Open):
                inner = item
                break
            yield item
        if inner is not None:
            stack.append(inner)
            continue
        stack.pop()
        if level.level.kind in _PROTOCOLS:
            yield from _of_protocol(level.level, reading)
    yield from _at(RefusalStage.MERGE, merged.of_file(root, reading))
    if root.kind == "main" and not root.is_open and not root.own("events") and root.directives:
        yield _refusal(root.directives[0], 'no "events" section in configuration', RefusalStage.EVENTS)


def _of_protocol(level: Level, reading: ReadState) -> Iterator[Refusal]:
    if not reading.is_part:
        yield from _at(RefusalStage.MERGE, merged.of_protocol(level, reading))
    if level.kind == "http":
        yield from _at(RefusalStage.LOCATION, merged.of_locations(level))
    if level.kind != "mail":
        yield from _at(RefusalStage.VARIABLE, of_variables(level, reading))
        yield from _at(RefusalStage.PATTERN, of_patterns(level))


def _protocol(level: Level) -> str:
    around = (level.around(kind) for kind in _PROTOCOLS)
    found = next((each for each in around if each is not None), None)
    return found.kind if found is not None else ""


class _Open:
    """A level that is being read."""

    def __init__(self, level: Level, reading: ReadState, extra: frozenset[str], protocol: str) -> None:
        self.level = level
        self._reading = reading
        self._extra = extra
        self._protocol = level.kind if level.kind in _PROTOCOLS else protocol
        kind = place(level.kind, level.parent.kind if level.parent else "")
        self._here = declared(kind, reading.target, extra)
        self._earlier: dict[str, Directive] = {}
        self.steps = iter(self._steps())

    def _steps(self) -> Iterator[Refusal | _Open]:
        inner = iter(self.level.levels)
        for directive in self.level.directives:
            block = next(inner) if directive.block is not None else None
            yield from self._of(directive, block, self._here)
            if block is not None:
                self._reading.is_late |= block.kind in _COUNTING
                yield _Open(block, self._reading, self._extra, self._protocol)
        for block in inner:  # around a fragment there is nothing but its level
            yield _Open(block, self._reading, self._extra, self._protocol)

    def _of(self, directive: Directive, block: Level | None, here: Declared) -> Iterator[Refusal]:
        fault = here.fault(directive)
        if fault is not None:
            yield _refusal(directive, fault.message, RefusalStage.HANDLER)
            return
        declaration = here.declaration(directive.name)
        if declaration is None:
            if here.is_known and directives.is_misspelt(str(directive.name)):
                yield _refusal(directive, f'unknown directive "{directive.name}"', RefusalStage.UNKNOWN)
            return
        name = declaration.name
        if declaration.is_once:
            first = self._earlier.setdefault(TOGETHER.get(name, name), directive)
            if first is not directive:
                yield _refusal(directive, _twice(first, directive), RefusalStage.TWICE)
                return
        setter = SETTERS.get(declaration.setter.partition(" ")[0])
        if setter is None or any(has_placeholder(word) for word in directive.args if _may_be_one(word)):
            return
        stated = Stated(directive, directive.args, declaration, self.level, block, self._protocol, self._reading)
        for message in setter(stated):
            yield _refusal(directive, message, RefusalStage.SETTER)
        rows = tables.BLOCKS.get(declaration.setter)
        if rows is not None and block is not None:
            for row, message in rows(stated):
                if not any(has_placeholder(word) for word in (row.name, *row.args) if _may_be_one(word)):
                    yield _refusal(row, message, RefusalStage.SETTER)


def _may_be_one(word: str) -> bool:
    """Return whether a word may have a placeholder: a quick look, as most have none."""
    return "$" in word or "@" in word or "%" in word or "__" in word


def _twice(first: Directive, second: Directive) -> str:
    is_same = first.name == second.name
    message = f'"{second.name}" directive is duplicate'
    return message if is_same else f'{message}, "{first.name}" directive was specified earlier'


def _at(stage: RefusalStage, found: Iterator[tuple[Directive, str]]) -> Iterator[Refusal]:
    return (_refusal(directive, message, stage) for directive, message in found)


def _refusal(directive: Directive, message: str, stage: RefusalStage) -> Refusal:
    """Return a refusal at the word that the message quotes."""
    words = (word for word in directive.args if word and f'"{word}"' in message)
    return Refusal(directive, next(words, directive.name), message, stage)
