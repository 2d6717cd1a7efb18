"""Goes through a configuration as nginx does, and yields what it refuses.

nginx looks for undefined variables when the block of http or stream ends (`ngx_http_variables_init_vars`). What may
define a variable without saying so (text that was not read, code, a module that is not part of nginx) makes any
variable possible. If there is a syntax error, nginx has acted on each directive before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Sequence, Set
from dataclasses import replace
from enum import Enum
from functools import cache, lru_cache

from nginxopt import lazy
from nginxopt.config import Directive, Token, has_placeholder, load_text, statements
from nginxopt.errors import InputError
from nginxopt.facts import group, having
from nginxopt.facts.lexicon import ROWS, distance, is_misspelt
from nginxopt.facts.table import HTTP_VARIABLES, STREAM_VARIABLES, is_fixed_variable, is_variable, names
from nginxopt.records import record
from nginxopt.semantics.commands import TOGETHER, Declared, FaultKind, came_after, declared, is_plain, place
from nginxopt.semantics.inherit import Level, levels
from nginxopt.semantics.refusals import connections, cycle, http, merged
from nginxopt.semantics.refusals.http import is_empty_condition
from nginxopt.semantics.refusals.setters import SETTERS, ReadState, Stated, of_patterns
from nginxopt.semantics.tables import MIXED_VALUES
from nginxopt.version import Version

_ENTERING = (cycle, connections, http)
"""The modules that enter setters into `SETTERS` when they are imported, besides `setters`."""

_PROTOCOLS = ("http", "stream", "mail")
_COUNTING = ("events", *_PROTOCOLS)
"""The blocks for which nginx counts its modules, after which it loads no more (`ngx_count_modules`)."""


_NOWHERE = lazy.pattern(
    r"invalid server name or wildcard|\d+ worker_connections|no \w+_trusted_certificate for|no ssl_client_certificate"
    r'|zero size|could not build|resolving names|no "charset_map"'
    r'|no "\w+_certificate_key" is defined for certificate "[^"]*"$|the "none" or "blocked" referers'
    r'|"(ssl_ocsp|ssl_stapling)" is incompatible|.* in "ssl_ocsp_responder"$'
)
"""The beginnings of messages in which nginx names no place."""
_COMPILED = lazy.pattern(r"invalid variable name$|the closing bracket in ")
"""What nginx says of a `$` (`ngx_http_script_compile`)."""
_CHECKED = lazy.pattern(
    r'invalid return code|invalid variable name "|"expires" directive|invalid value "='
    r"|the \$\w+ variable cannot be used|unknown log format escaping"
)
"""What setters say before they compile a value, as `rewrite` does of all others."""
_WORD_BY_WORD = frozenset({"access_log", "disable_symlinks", "sticky"})
"""The directives whose setters compile a value when they come to its word, and not before all others."""
_COUNTED = lazy.pattern(r"invalid number of the (map|geo) parameters|unexpected")
"""What nginx says of a row before it looks at its words."""
_OF_ITS_OWN = lazy.pattern(
    r'no ("(ssl_certificate|ssl_certificate_key|listen|auth_http)"|(servers|port) in upstream|handler|resolver)'
    r'|upstream ".*" may not|unknown (mail protocol|thread pool)|"ssl_protocols" must'
)
"""The beginnings of messages in which nginx names the place of a directive, although it has read on since."""


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
        since: The first release that has the directive, if that came after the target.
    """

    directive: Directive
    word: Token
    message: str
    stage: RefusalStage
    ended: Directive | None = None
    since: Version | None = None

    @property
    def error(self) -> InputError:
        """The refusal as an error, with what nginx says and the place that it adds."""
        hint = f"nginx has it since {self.since}: set --target-version" if self.since else None
        if self.is_unopened and any(word.endswith("${") for word in self.directive.args):
            hint = 'a space before the "{": "${" is the start of a variable, and opens no block'
        return self.directive.error(self.message, at=self.word, nginx=self.sentence, hint=hint)

    @property
    def sentence(self) -> str:
        """What nginx says, with the place that it adds: the last line that it has read, or that of the directive."""
        if self.stage in (RefusalStage.VARIABLE, RefusalStage.EVENTS) or _NOWHERE.match(self.message):
            return self.message
        if self.ended is not None and self.stage is not RefusalStage.LOCATION and not _OF_ITS_OWN.match(self.message):
            return f"{self.message} in {self.ended.source.path}:{self.ended.source.position(self.ended.end - 1).line}"
        return self.directive.located(self.message)

    @property
    def is_unopened(self) -> bool:
        """Whether a block has no `{`: what follows stands a level too high, and its `}` closes another one."""
        return self.stage is RefusalStage.HANDLER and self.message.endswith('has no opening "{"')

    @property
    def is_while_reading(self) -> bool:
        """Whether nginx says it before it has read the whole file."""
        return self.stage not in _AFTER

    @property
    def at(self) -> int:
        """The offset at which nginx is reading when it says it, in bytes, with all files taken as one text."""
        if self.ended is not None:
            return self.ended.end
        return self.directive.block.span.start if self.directive.block else self.directive.end


def first(found: Iterable[Refusal]) -> list[Refusal]:
    """Return refusals in the order in which nginx would say them, if it did not stop at the first.

    All files are taken as one text.
    """
    return sorted(found, key=_order)


def _order(refusal: Refusal) -> tuple[int, ...]:
    name = refusal.directive.name
    after = _AFTER.index(refusal.stage) + 1 if refusal.stage in _AFTER else 0
    if refusal.stage in _AT_END:
        return after, refusal.at, _AT_END.index(refusal.stage)
    if refusal.stage in _BEFORE_SETTERS or _COUNTED.match(refusal.message):
        return after, refusal.at, -4
    if name in _WORD_BY_WORD:
        return after, refusal.at, -2, _number(refusal)
    if _COMPILED.match(refusal.message):
        return after, refusal.at, -2
    # Most setters compile a value before they look at others, but a pattern before a value. Blocks of rows compile
    # their source, and the value of a row, before the name or pattern beside it.
    is_pattern = refusal.stage is RefusalStage.PATTERN and not name.startswith("~")
    is_first = name == "rewrite" or is_pattern or (name not in ROWS and _CHECKED.match(refusal.message))
    return after, refusal.at, -3 if is_first else -1


def _number(refusal: Refusal) -> int:
    """Return the number of the argument that a message is about; how many there are if it is about all of them."""
    args, message = refusal.directive.args, refusal.message
    if "syslog" in message:
        return 0
    if _COMPILED.match(message):
        return next(number for number, word in enumerate(args) if any(map(_is_wrong, _IN_VALUE.finditer(word))))
    quoted = message.rpartition('"')[0].rpartition('"')[2]
    if not quoted or message.startswith("no buffer"):
        return len(args)
    return next((number for number, word in enumerate(args) if quoted in (word, *word.split("=", 1))), len(args))


def _is_wrong(match: re.Match[str]) -> bool:
    return match["wrong"] is not None


def refusals(
    root: Level, target: Version, extra: frozenset[str] = frozenset(), *, is_whole: bool | None = None
) -> Iterator[Refusal]:
    """Yield what nginx refuses of a configuration, in the order of reading. Takes time linear in the text.

    `root` is its outermost level; `extra` are directives that the build has besides those of its release. For a
    fragment, only what nginx refuses wherever it is included. `is_whole` is whether all text was read, for levels that
    are taken as given (`inherit.levels`).
    """
    is_main = root.kind == "main"
    is_part = is_whole is not None and not is_main
    is_all = is_main and (root.has_all if is_whole is None else is_whole)
    declares_all = is_main and (root.declares_all if is_whole is None else is_whole)
    bare = is_all and not extra and is_plain(root, target)
    reading = ReadState(target, is_all, declares_all, is_of_nginx(root), is_part, is_plain=bare)

    @cache
    def declared_in(place: str | None) -> Declared:
        return declared(place, target, extra)

    stack = [_Open(root, reading, declared_in, _protocol(root))]
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
        yield from _at(RefusalStage.MERGE, cycle.oversized(level), ended)
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


_SIZES_OF_MAPS = ("map_hash_max_size", "map_hash_bucket_size")


_DeclaredIn = Callable[[str | None], Declared]
"""Returns what the build declares in a place."""


class _Open:
    """A level that is being read."""

    def __init__(self, level: Level, reading: ReadState, declared: _DeclaredIn, protocol: str) -> None:
        self.level = level
        self._reading = reading
        self._declared = declared
        self._protocol = level.kind if level.kind in _PROTOCOLS else protocol
        kind = place(level.kind, level.parent.kind if level.parent else "")
        self._here = declared(kind)
        self._earlier: dict[str, Directive] = {}
        self.steps = iter(self._steps())

    def _steps(self) -> Iterator[Refusal | _Open]:
        inner = iter(self.level.levels)
        for directive in self.level.directives:
            block = next(inner) if directive.block is not None else None
            yield from self._of(directive, block, self._here)
            if block is not None:
                self._reading.is_late |= block.kind in _COUNTING
                yield _Open(block, self._reading, self._declared, self._protocol)
        for block in inner:  # around a fragment there is nothing but its level
            yield _Open(block, self._reading, self._declared, self._protocol)

    def _of(self, directive: Directive, block: Level | None, here: Declared) -> Iterator[Refusal]:
        fault = here.fault(directive)
        if fault is not None and fault.kind is FaultKind.ARGUMENTS and is_empty_condition(directive):
            yield _refusal(directive, 'invalid condition ")"', RefusalStage.SETTER)
            return
        if fault is not None and fault.kind is not FaultKind.FLAG:
            refusal = _refusal(directive, fault.message, RefusalStage.HANDLER)
            is_absent = fault.kind is FaultKind.UNKNOWN
            yield replace(refusal, since=came_after(directive.name, self._reading.target)) if is_absent else refusal
            return
        declaration = here.declaration(directive.name)
        if declaration is None:
            is_wrong = directive.name != "include" and (self._reading.is_plain or is_misspelt(str(directive.name)))
            if here.is_known and is_wrong:
                yield _refusal(directive, f'unknown directive "{directive.name}"', RefusalStage.UNKNOWN)
            return
        name = declaration.name
        if declaration.is_once:
            first = self._earlier.setdefault(TOGETHER.get(name, name), directive)
            if first.name == "map":
                yield _refusal(directive, f'"{name}" directive is duplicate', RefusalStage.SETTER)
                return
            if first is not directive:
                yield _refusal(directive, _twice(first, directive), RefusalStage.TWICE)
                return
        if fault is not None:
            yield _refusal(directive, fault.message, RefusalStage.HANDLER)
            return
        if name == "map":  # the first one settles the sizes of all (ngx_http_map_block)
            for size in _SIZES_OF_MAPS:
                self._earlier.setdefault(size, directive)
        refuses = SETTERS.get(declaration.setter.partition(" ")[0])
        rows = http.BLOCKS.get(declaration.setter)
        if refuses is None and rows is None:
            return
        if _has_placeholder(directive.args):
            self._reading.take_names(directive, self._protocol, declaration.module)
            return
        stated = Stated(directive, directive.args, declaration, self.level, block, self._protocol, self._reading)
        for message in refuses(stated) if refuses is not None else ():
            yield _refusal(directive, message, RefusalStage.SETTER)
            self._reading.take_names(directive, self._protocol, declaration.module)
        if rows is not None and block is not None:
            for row, message in http.with_blocks(stated, rows):
                if not _has_placeholder((row.name, *row.args)):
                    yield _refusal(row, message, RefusalStage.SETTER, row if row is directive else None)


def _has_placeholder(words: Sequence[str]) -> bool:
    """Return whether a word has a placeholder, after a quick look at all of them, as most have none."""
    return _SIGN.search(" ".join(words)) is not None and any(map(has_placeholder, words))


_SIGN = lazy.pattern(r"[$@%{<]|__")


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


# Variables: names that nothing defines, definitions of those that nginx has itself, and `$` without a name.

Found = Iterator[tuple[Directive, str]]

_ALL = having("variables", "all") | {"disable_symlinks"}
"""The directives with variables in all arguments, except patterns. For `disable_symlinks`, that argument is `from=`.

Not `http2_push`, which nginx 1.25.1 and later ignore.
"""
_REWRITING = ("proxy_redirect", "proxy_cookie_")
"""The beginnings of the names of directives whose first argument is a pattern, without variables, behind a `~`."""
_FIRST = having("variables", "first") | {"pass"}
_PER_REQUEST = having("variables", "passed")
"""The directives whose variables nginx looks up only where a server inherits them."""
_LATER = _PER_REQUEST | having("variables", "later")
_NAMES = having("variables", "name")
_TAKING = _ALL | _FIRST | _LATER | _NAMES | having("variables", "source", "condition", "format") | {"sticky"}
"""All directives with variables: in their first argument, in later ones, or as the only argument."""

_IN_VALUE = lazy.pattern(r"\$(?:\{(?P<braced>\w+)\}|[1-9]|(?P<bare>\w+)|(?P<wrong>))", re.ASCII)
"""A variable or a capture (`ngx_http_script_compile`): `$1` is a capture, and `${1}` a variable."""
_IN_FORMAT = lazy.pattern(r"\$(?:\{(?P<braced>\w+)\}|(?P<bare>\w+)|(?P<wrong>))", re.ASCII)
"""A variable where there are no captures: in a `log_format` (`ngx_http_log_compile_format`)."""
_UNCLOSED = lazy.pattern(r"\{(\w*)(?![\w}])", re.ASCII)
_IN_BULK = lazy.pattern(rb"\$[{a-zA-Z_]")
_GROUP = lazy.pattern(rb"\(\?P?[<'](\w+)", re.ASCII)

_MATCHING = group("pattern")
_OF_PROXY = ("proxy_redirect", "proxy_cookie_")
"""The directives, by the beginnings of their names, that take a pattern after `~`, as `server_name` does."""

_DEFINING = {name: -1 if name in ROWS else int(name == "keyval") for name in group("defines")}
"""The directives that define a variable, with the number of the argument that names it."""
_OF_MODULES = (
    "acme_", "angie_", "ascii_", "brotli_", "echo_", "f4f_", "fancyindex_", "geoip_", "geoip2_", "grpc_", "jwt_",
    "lua_", "memc_", "modsecurity_", "nchan_", "oidc_", "opentracing_", "otel_", "p8s_", "passenger_", "postgres_",
    "proxy_", "push_", "quic_", "session_", "srcache_", "ssl_", "sts_", "tcpinfo_", "upload_", "uploadprogress_",
    "upstream_", "vod_", "vts_", "zstd_",
)  # fmt: skip
"""Prefixes of variables that NGINX Plus, later releases and built-in modules may define."""
_KNOWN = {"http": HTTP_VARIABLES, "stream": STREAM_VARIABLES}
_PREFIXES = {kind: (*(name for name in known if name.endswith("_")), *_OF_MODULES) for kind, known in _KNOWN.items()}
_CERTIFICATES = ("ssl_certificate", "ssl_certificate_key")


def is_merged(name: str) -> bool:
    """Return whether nginx compiles the variables of a directive only when it merges levels, so only if a server has
    it."""
    return name in _PER_REQUEST or name.endswith(_CERTIFICATES)


def of_variables(outer: Level, reading: ReadState) -> Found:
    """Yield what nginx refuses of the variables of a block of http or stream."""
    seen: set[tuple[int, str]] = set()
    defined = {*_defined(outer)}
    is_known = reading.is_whole and reading.is_of_nginx

    @cache
    def is_unknown(name: str) -> bool:
        return is_known and name not in defined and not _is_of_nginx(name, outer.kind, reading.target)

    for directive, found, is_name in _uses(outer, reading.target):
        if is_name and not is_unknown(found):
            continue
        message = f'unknown "{found}" variable' if is_name else found
        if (id(directive), message) not in seen:
            seen.add((id(directive), message))
            yield directive, message
    yield from _redefined(outer, reading.target)


def undefined(blocks: Sequence[Level], target: Version, apart: Container[str] = ()) -> set[str]:
    """Return the variables, in lower case, that blocks of http read and none of them defines. Directives named in
    `apart` do not count as readers."""
    read = {
        (name, outer.kind)
        for outer in blocks
        for directive, name, is_name in _uses(outer, target)
        if is_name and directive.name not in apart
    }
    defined = {name for outer in blocks for name in _defined(outer)}
    return {name for name, kind in read if name not in defined and not _is_of_nginx(name, kind, target)}


def _is_of_nginx(name: str, kind: str, target: Version) -> bool:
    if name in _KNOWN[kind]:
        return is_variable(name, kind, target)
    return name.startswith(_PREFIXES[kind]) and name not in _PREFIXES[kind] and not _is_misspelt(name, kind)


@lru_cache(maxsize=1 << 10)
def _is_misspelt(name: str, kind: str) -> bool:
    """Return whether a name with the prefix of a module is most likely that of a variable of nginx, misspelt."""
    own = [prefix for prefix in _KNOWN[kind] if prefix.endswith("_")]
    if name.startswith(tuple(own)):  # nginx takes any name behind it
        return False
    likely = (known for known in _KNOWN[kind] if known.startswith(_OF_MODULES) and abs(len(known) - len(name)) <= 1)
    return any(distance(name, known) == 1 for known in likely)


def _redefined(outer: Level, target: Version) -> Found:
    """Yield definitions of variables that nginx has (`ngx_http_add_variable`, `ngx_stream_add_variable`)."""
    matching = {name for name in outer.names_anywhere if name in _MATCHING or name.startswith(_OF_PROXY)}
    defining = _DEFINING.keys() & outer.names_anywhere
    for level in outer.walk():
        for name in defining & level.names if level.kind not in ROWS else ():
            for directive in level.own(name):
                word = _defined_by(directive)
                if word.startswith("$") and is_fixed_variable(word[1:].lower(), outer.kind, target):
                    yield directive, f'the duplicate "{word[1:]}" variable'
        for directive, pattern in _patterns(level, matching):
            for match in _GROUP.finditer(pattern.encode("utf-8", "surrogateescape")):
                name = match[1].decode()
                if is_fixed_variable(name.lower(), outer.kind, target):
                    yield directive, f'the duplicate "{name}" variable'


def _patterns(level: Level, matching: Set[str]) -> Iterator[tuple[Directive, str]]:
    """Yield the words of a level that nginx compiles as patterns and that have named groups. `matching` are the names
    of all directives of the configuration that take patterns."""
    if level.kind == "map":
        yield from ((row, row.name) for row in level.directives if row.name.startswith("~") and "(?" in row.name)
    for name in matching & level.names if level.kind not in ROWS else ():
        is_marked = name == "server_name" or name not in _MATCHING
        for directive in level.own(name):
            for word in directive.args:
                if "(?" in word and (word.startswith("~") or not is_marked):
                    yield directive, word


def is_of_nginx(root: Level) -> bool:
    """Return whether every directive is of a module that comes with nginx, or misspelt."""
    if root.own("load_module"):
        return False
    known = names() | {"include"}
    if known.issuperset(root.names_anywhere):
        return True
    nginx = (level for level in root.walk() if place(level.kind, level.parent.kind if level.parent else ""))
    return all(is_misspelt(name) for level in nginx for name in level.names - known)


def _defined(outer: Level) -> Iterator[str]:
    """Yield the names that a directive or a named group of a pattern defines, in lower case."""
    sources = {item.source for level in outer.walk() for items in (level.directives, level.bulks) for item in items}
    for source in sources:
        yield from (match[1].decode().lower() for match in _GROUP.finditer(source.data))
    defining = _DEFINING.keys() & outer.names_anywhere
    for level in outer.walk():
        for name in defining & level.names if level.kind not in ROWS else ():
            for directive in level.own(name):
                word = _defined_by(directive)
                if word.startswith("$"):
                    yield word[1:].lower()
        if level.kind == "geoip2":
            yield from (row.name[1:].lower() for row in level.directives if row.name.startswith("$"))


def _defined_by(directive: Directive) -> str:
    """Return the variable that a directive defines, empty without one."""
    number = _DEFINING[str(directive.name)]
    return directive.args[number] if len(directive.args) > max(number, 0) else ""


_Use = Iterator[tuple[Directive, str, bool]]
"""A directive with the name of a variable, in lower case (True), or with what nginx says of a `$` (False)."""


def _uses(outer: Level, target: Version) -> _Use:
    for level in outer.walk():
        if level.kind == "map":
            for row in level.directives:
                if row.name != "include":
                    yield from _in_row(row, target)
        elif level.kind not in ROWS and not level.names.isdisjoint(_TAKING):
            for directive in level.directives:
                if directive.name in _TAKING and _is_looked_up(directive, level):
                    yield from _of(directive)
        for bulk in level.bulks:
            if _IN_BULK.search(bulk.source.data, bulk.span.start, bulk.span.end):
                for rewrite in bulk:
                    yield from _of(rewrite)


def _is_looked_up(directive: Directive, level: Level) -> bool:
    """Return whether nginx looks up the variables of a directive: those of headers only where a server has them."""
    if level.kind != "http" or not is_merged(str(directive.name)):
        return True
    merged = (inner for server in level.levels if server.kind == "server" for inner in server.walk())
    return any(
        inner.setting(str(directive.name)).level is level
        for inner in merged
        if inner.kind in ("server", "location", "if", "limit_except")
    )


def _in_row(row: Directive, target: Version) -> _Use:
    """Yield the variables in the value of a map."""
    if target >= MIXED_VALUES:
        yield from _in(row, row.args[:1])
    elif row.args and row.args[0].startswith("$"):
        yield row, row.args[0][1:].lower(), True


def _of(directive: Directive) -> Iterable[tuple[Directive, str, bool]]:
    """Return the variables of a directive, after a quick look, as most have none."""
    has_none = "$" not in " ".join(directive.args) and directive.name != "memcached_pass"
    return () if has_none else _in_args(directive)


def _in_args(directive: Directive) -> _Use:
    name, args = str(directive.name), directive.args
    if name == "access_log":
        file = [word for word in args[:1] if not word.startswith("syslog:")]
        yield from _in(directive, [*file, *(word for word in args[1:] if word.startswith("if="))])
    elif name == "error_page":
        yield from _in(directive, args[-1:])
    elif name == "memcached_pass":  # the address takes none
        yield directive, "memcached_key", True
    elif name in _ALL:
        is_pattern = name.startswith(_REWRITING) and args[:1] and args[0].startswith("~")
        yield from _in(directive, args[1:] if is_pattern else args)
    elif name in _FIRST:
        yield from _in(directive, args[:1])
    elif name in _LATER:
        yield from _in(directive, args[1:2] if name == "rewrite" else args[1:])
        if name in ("set", "auth_request_set") and args[:1] == ("$",):
            yield directive, 'invalid variable name "$"', False
    elif name == "log_format":
        yield from _in(directive, args[1:], _IN_FORMAT)
    elif name == "if":
        yield from _in_condition(directive, args)
    elif name == "sticky":
        for word in args[1:]:
            parameter, equals, value = word.partition("=")
            if args[0] == "route" or parameter in ("create", "lookup"):  # all after the $ is the name
                yield from _named(directive, word if args[0] == "route" else value)
            elif parameter != "path" and equals:
                yield from _in(directive, [value])
    elif name in _NAMES or len(args) > 1:  # `geo $address $variable` as well
        yield from _named(directive, *args[:1])


def _named(directive: Directive, word: str = "") -> _Use:
    """Yield the variable that a whole word names."""
    if word.startswith("$"):
        is_named = len(word) > 1
        yield directive, word[1:].lower() if is_named else 'invalid variable name "$"', is_named


def _in_condition(directive: Directive, args: Sequence[str]) -> _Use:
    """Yield the variables of a condition (`ngx_http_rewrite_if_condition`); a pattern has none."""
    if args and args[0].startswith("$") and len(args[0]) > 1:
        yield directive, args[0][1:].lower(), True
    if len(args) > 1 and (args[1] in ("=", "!=") or args[0].startswith(("-", "!"))):
        yield from _in(directive, args[-1:])


def _in(directive: Directive, words: Sequence[str], pattern: re.Pattern[str] = _IN_VALUE) -> _Use:
    for word in words:
        if "$" not in word:
            continue
        for match in pattern.finditer(word):
            name = match["braced"] or match["bare"]
            if name:
                yield directive, name.lower(), True
            elif match["wrong"] is not None:
                yield directive, _fault(word, match.end(), pattern), False
                break


def _fault(word: str, end: int, pattern: re.Pattern[str]) -> str:
    """Return nginx's message for a `$` that ends at `end` and has no name after it."""
    name = _UNCLOSED.match(word, end)
    if name is not None and word[end:] != "{":
        return f'the closing bracket in "{name[1]}" variable is missing'
    return f'invalid parameter "{word[end - 1 :]}"' if pattern is _IN_FORMAT else "invalid variable name"


# What nginx refuses before it comes to a syntax error.


def before(error: InputError, target: Version) -> list[Refusal]:
    """Return what nginx refuses of a file before its syntax error, in nginx's order. Takes time linear in the file.

    The statements before the error are judged with their open blocks closed, without what nginx says at the end of
    these, and up to a block without its `{`.
    """
    source = error.source
    if source is None or source.outside or error.nginx is None:
        return []
    end = depth = 0
    try:
        for statement in statements(source):
            end = statement.end
            depth += {"{": 1, "}": -1}.get(statement.kind, 0)
    except InputError:
        pass
    text = source.data[:end] + b"}" * depth
    try:
        config = load_text(text, source.path, missing_ok=True)
        if not config.candidates:  # what would show the context may stand behind the error, or in the wrong place
            config = load_text(text, source.path, missing_ok=True, context="main")
        found = first(refusals(levels(config, target), target))
    except InputError:
        return []
    found = [refusal for refusal in found if refusal.is_while_reading and refusal.at <= end]
    unopened = next((number for number, refusal in enumerate(found, 1) if refusal.is_unopened), None)
    return found[:unopened]  # what follows stands a level too high


def cause(error: InputError, target: Version) -> InputError:
    """Return the error of a block without its `{`, of which a `}` that closes nothing is the end; else the error."""
    if error.nginx is None or not error.nginx.startswith('unexpected "}"'):
        return error
    return next((refusal.error for refusal in before(error, target) if refusal.is_unopened), error)
