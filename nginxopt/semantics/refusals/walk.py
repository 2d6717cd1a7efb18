"""Goes through a configuration as nginx does, and yields what it refuses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum

from nginxopt import lazy
from nginxopt.config import Directive, Token, has_placeholder
from nginxopt.errors import InputError
from nginxopt.records import record
from nginxopt.semantics import directives
from nginxopt.semantics.commands import TOGETHER, Declared, FaultKind, declared, place
from nginxopt.semantics.inherit import Level
from nginxopt.semantics.plain import is_plain
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
from nginxopt.semantics.refusals.http import is_empty_condition
from nginxopt.semantics.refusals.patterns import of_patterns
from nginxopt.semantics.refusals.reading import ReadState, Setter, Stated
from nginxopt.semantics.refusals.variables import is_merged, is_of_nginx, of_variables
from nginxopt.version import Version

SETTERS: dict[str, Setter] = {}
for _module in (slots, main, zones, listens, upstreams, logs, gateways, http, tables, names):
    SETTERS.update(_module.SETTERS)

_PROTOCOLS = ("http", "stream", "mail")
_COUNTING = ("events", *_PROTOCOLS)
"""The blocks for which nginx counts its modules, after which it loads no more (`ngx_count_modules`)."""


_NOWHERE = lazy.pattern(
    r"invalid server name or wildcard|\d+ worker_connections|no \w+_trusted_certificate for|no ssl_client_certificate"
    r"|zero size|resolving names"
    r'|no "\w+_certificate_key" is defined for certificate "[^"]*"$|the "none" or "blocked" referers'
    r'|"(ssl_ocsp|ssl_stapling)" is incompatible|.* in "ssl_ocsp_responder"$'
)
"""How messages begin with which nginx names no place."""
_COMPILED = lazy.pattern(r"invalid variable name$|the closing bracket in ")
"""What nginx says of a `$` (`ngx_http_script_compile`)."""
_COUNTED = lazy.pattern(r"invalid number of the (map|geo) parameters|unexpected")
"""What nginx says of a row before it looks at its words."""
_OF_ITS_OWN = lazy.pattern(
    r'no ("(ssl_certificate|ssl_certificate_key|listen|auth_http)"|(servers|port) in upstream|handler|resolver)'
    r'|upstream ".*" may not|unknown (mail protocol|thread pool)|"ssl_protocols" must'
)
"""How messages begin with which nginx names the place of a directive, though it has read on."""


class RefusalStage(Enum):
    """When nginx refuses a directive."""

    UNKNOWN = "no module of nginx has it, though it differs from one of its directives by a letter or two"
    HANDLER = "before its setter: its name, place, block, number of arguments"
    TWICE = "as the second of its block"
    SETTER = "when it is read"
    MERGE = "when the block around it, or the file, has ended"
    VARIABLE = "when it looks for the definitions of variables"
    EVENTS = "after the file: a main configuration needs an events block, which a part of one does not have"
    SHARED = "when it makes shared memory, after the file"
    LOCATION = "when the locations of a server are sorted"
    PATTERN = "when PCRE compiles it"


_BEFORE_SETTERS = (RefusalStage.UNKNOWN, RefusalStage.HANDLER, RefusalStage.TWICE)
_AT_END = (RefusalStage.MERGE, RefusalStage.LOCATION, RefusalStage.VARIABLE)
"""What nginx says at the end of a block of http, stream or mail, in its order."""
_AFTER = (RefusalStage.EVENTS, RefusalStage.SHARED)
"""What nginx says after the file, in its order."""


@record(eq=True)
class Refusal:
    """A fault for which nginx does not start.

    Attributes:
        directive: The directive.
        word: The word that is wrong, or the name of the directive.
        message: What nginx says, without the place.
        stage: When nginx says it.
        ended: The block at whose end nginx says it; None if it is another place.
    """

    directive: Directive
    word: Token
    message: str
    stage: RefusalStage
    ended: Directive | None = None

    @property
    def error(self) -> InputError:
        """The refusal as an error, with what nginx says and the place that it adds."""
        return self.directive.error(self.message, at=self.word, nginx=self.sentence)

    @property
    def sentence(self) -> str:
        """What nginx says, with the place that it adds: the line that it has read last, or where the directive is."""
        if self.stage in (RefusalStage.VARIABLE, RefusalStage.EVENTS) or _NOWHERE.match(self.message):
            return self.message
        if self.ended is not None and self.stage is not RefusalStage.LOCATION and not _OF_ITS_OWN.match(self.message):
            return f"{self.message} in {self.ended.source.path}:{self.ended.source.position(self.ended.end - 1).line}"
        return self.directive.located(self.message)

    @property
    def is_while_reading(self) -> bool:
        """Whether nginx says it before it has read the whole file."""
        return self.stage not in _AFTER

    @property
    def at(self) -> int:
        """Where nginx reads when it says it, as a number of bytes, if the files are taken to be one."""
        if self.ended is not None:
            return self.ended.end
        return self.directive.block.span.start if self.directive.block else self.directive.end


def first(found: Iterable[Refusal]) -> list[Refusal]:
    """Return refusals in the order in which nginx would say them, if it did not stop at the first.

    The files are taken to be one.
    """
    return sorted(found, key=_order)


def _order(refusal: Refusal) -> tuple[int, int, int]:
    after = _AFTER.index(refusal.stage) + 1 if refusal.stage in _AFTER else 0
    if refusal.stage in _AT_END:
        return after, refusal.at, _AT_END.index(refusal.stage)
    if refusal.stage in _BEFORE_SETTERS or _COUNTED.match(refusal.message):
        return after, refusal.at, -3
    # Setters compile a value before they look at others.
    return after, refusal.at, -2 if _COMPILED.match(refusal.message) else -1


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
    is_all = whole and root.kind == "main"
    bare = is_all and not extra and is_plain(root, target)
    reading = ReadState(target, is_all, is_of_nginx(root), is_part, is_plain=bare)
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
    yield from _at(RefusalStage.SHARED, merged.of_file(root, reading))
    if root.kind == "main" and not root.is_open and not root.own("events") and root.directives:
        yield _refusal(root.directives[0], 'no "events" section in configuration', RefusalStage.EVENTS)


def _of_protocol(level: Level, reading: ReadState) -> Iterator[Refusal]:
    ended = level.opener
    if not reading.is_part:
        yield from _at(RefusalStage.MERGE, merged.of_protocol(level, reading), ended)
    if level.kind == "http":
        yield from _at(RefusalStage.LOCATION, merged.of_locations(level), ended)
    if level.kind != "mail":
        for directive, message in of_variables(level, reading):
            if message.startswith("unknown"):
                yield _refusal(directive, message, RefusalStage.VARIABLE, ended)
            elif is_merged(str(directive.name)):
                yield _refusal(directive, message, RefusalStage.MERGE, ended)
            else:
                yield _refusal(directive, message, RefusalStage.SETTER)
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
        if fault is not None and fault.kind is FaultKind.ARGUMENTS and is_empty_condition(directive):
            yield _refusal(directive, 'invalid condition ")"', RefusalStage.SETTER)
            return
        if fault is not None and fault.kind is not FaultKind.FLAG:
            yield _refusal(directive, fault.message, RefusalStage.HANDLER)
            return
        declaration = here.declaration(directive.name)
        if declaration is None:
            is_strange = self._reading.is_plain and directive.name != "include"
            if here.is_known and (is_strange or directives.is_misspelt(str(directive.name))):
                yield _refusal(directive, f'unknown directive "{directive.name}"', RefusalStage.UNKNOWN)
            return
        name = declaration.name
        if declaration.is_once:
            first = self._earlier.setdefault(TOGETHER.get(name, name), directive)
            if first is not directive:
                yield _refusal(directive, _twice(first, directive), RefusalStage.TWICE)
                return
        if fault is not None:
            yield _refusal(directive, fault.message, RefusalStage.HANDLER)
            return
        setter = SETTERS.get(declaration.setter.partition(" ")[0])
        if setter is None or any(has_placeholder(word) for word in directive.args if _may_be_one(word)):
            return
        stated = Stated(directive, directive.args, declaration, self.level, block, self._protocol, self._reading)
        for message in setter(stated):
            yield _refusal(directive, message, RefusalStage.SETTER)
        rows = tables.BLOCKS.get(declaration.setter)
        if rows is not None and block is not None:
            for row, message in tables.with_blocks(stated, rows):
                if not any(has_placeholder(word) for word in (row.name, *row.args) if _may_be_one(word)):
                    yield _refusal(row, message, RefusalStage.SETTER, row if row is directive else None)


def _may_be_one(word: str) -> bool:
    """Return whether a word may have a placeholder: a quick look, as most have none."""
    return "$" in word or "@" in word or "%" in word or "__" in word


def _twice(first: Directive, second: Directive) -> str:
    is_same = first.name == second.name
    message = f'"{second.name}" directive is duplicate'
    return message if is_same else f'{message}, "{first.name}" directive was specified earlier'


def _at(
    stage: RefusalStage, found: Iterator[tuple[Directive, str]], ended: Directive | None = None
) -> Iterator[Refusal]:
    return (_refusal(directive, message, stage, ended) for directive, message in found)


def _refusal(directive: Directive, message: str, stage: RefusalStage, ended: Directive | None = None) -> Refusal:
    """Return a refusal at the word that the message quotes."""
    if message == merged.NO_SERVERS:
        ended = directive
    elif message.startswith("duplicate upstream"):
        ended = None
    words = (word for word in directive.args if word and f'"{word}"' in message)
    return Refusal(directive, next(words, directive.name), message, stage, ended)
