"""What nginx knows while it reads a configuration from top to bottom, and the setters of its core.

For each directive that it reads, nginx calls a function, its *setter*, such as `ngx_conf_set_size_slot` for a size.
Here, a setter yields what that function refuses, and records in `ReadState` what it declares for later directives.
`SETTERS` has all of them by nginx's names. Those of `ngx_conf_file.c` are in this module, as every module of nginx uses
them, and so are the patterns that PCRE cannot compile.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import field

from nginxopt import _native, lazy
from nginxopt.config import Directive, Token
from nginxopt.facts.lexicon import ROWS
from nginxopt.facts.table import Declaration
from nginxopt.records import record
from nginxopt.semantics.inherit import Level
from nginxopt.semantics.values import Address, milliseconds, number, seconds, size
from nginxopt.text import encode
from nginxopt.version import Version

PAGE = 4096
"""`ngx_pagesize` of most machines. The least size of a zone is a multiple of it."""


_ZONE = lazy.pattern(r"(?:keys_)?zone=([^:]+):")
_UNKNOWN = -1
"""The size of a zone whose directive cannot be read."""


@record(eq=True, frozen=False)
class Zone:
    """A shared memory zone: the module that it belongs to, its size (0 if none was given yet), and what uses it."""

    module: str
    size: int
    user: str | None = None


@record(eq=True, frozen=False)
class Listened:
    """An address of `listen`: the servers that use it, and whether one sets its options or is its default server."""

    servers: set[Level] = field(default_factory=set)
    is_set: bool = False
    has_default: bool = False


@record(eq=True, frozen=False)
class ReadState:
    """The state of nginx while it reads: what earlier directives have declared.

    Attributes:
        target: The release of nginx.
        is_whole: Whether all text was read, so that a name that nothing declares is not declared elsewhere.
        declares_all: Whether all text outside of servers was read, where zones, caches and formats are declared.
        is_of_nginx: Whether every directive is of a module that comes with nginx.
        is_part: Whether it is a fragment that is taken as given, so that what is around it may set anything.
        zones: The zones of shared memory by name (`ngx_shared_memory_add`).
        formats: The names of log formats of each protocol, in lower case where nginx ignores case.
        paths: The levels, places and managers of the directories that nginx makes, by path (`ngx_add_path`).
        buffers: The parameters of buffered logs by path.
        pools: The thread pools, and those that were only named, by name.
        charsets: The pair of the first `charset_map`.
        listens: The addresses of each protocol.
        is_plain: Whether nothing shows a build with more than nginx, so that a name that no table has is unknown.
        is_late: Whether a block was read after which nginx loads no more modules.
    """

    target: Version
    is_whole: bool
    declares_all: bool
    is_of_nginx: bool
    is_part: bool
    zones: dict[str, Zone] = field(default_factory=dict)
    formats: dict[str, set[str]] = field(default_factory=dict)
    paths: dict[str, tuple[str, str, bool]] = field(default_factory=dict)
    buffers: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    pools: dict[str, Directive | None] = field(default_factory=dict)
    charsets: tuple[str, str] | None = None
    listens: dict[tuple[str, Address], Listened] = field(default_factory=dict)
    is_late: bool = False
    is_plain: bool = False

    def add_zone(self, name: str, size: int, module: str) -> Iterator[str]:
        """Declare or use a zone, and yield what `ngx_shared_memory_add` refuses. A size of 0 stands for any."""
        zone = self.zones.get(name)
        if zone is None:
            self.zones[name] = Zone(module, size)
        elif zone.module != module:
            yield f'the shared memory zone "{name}" is already declared for a different use'
        elif zone.size == 0:
            zone.size = size
        elif size and size != zone.size and zone.size != _UNKNOWN:
            yield (f'the size {size} of shared memory zone "{name}" conflicts with already declared size {zone.size}')

    def take_names(self, directive: Directive, protocol: str, module: str) -> None:
        """Declare what a directive names that is refused, or cannot be read: `limit_req_zone $NAME zone=a:1m ...`."""
        for match in filter(None, map(_ZONE.match, directive.args)):
            self.zones.setdefault(match[1], Zone(module, _UNKNOWN))
        if directive.name == "log_format":
            self.formats.setdefault(protocol, set()).add(str(directive.args[0]))


@record(eq=True)
class Stated:
    """A directive as its setter gets it.

    Attributes:
        directive: The directive.
        args: Its arguments.
        declaration: The declaration of the directive in this release.
        level: The level in which it stands.
        block: The level of its block; None if it has none.
        protocol: `http`, `stream` or `mail`; empty outside of these.
        reading: What was read before.
    """

    directive: Directive
    args: tuple[Token, ...]
    declaration: Declaration
    level: Level
    block: Level | None
    protocol: str
    reading: ReadState

    @property
    def name(self) -> str:
        """The name of the directive."""
        return self.declaration.name

    @property
    def module(self) -> str:
        """The module that declares it."""
        return self.declaration.module

    def says(self, words: str) -> str:
        """Return a message that nginx puts behind the name of the directive: `"root" directive is duplicate`."""
        return f'"{self.name}" directive {words}'


Setter = Callable[[Stated], Iterator[str]]
"""Yields what nginx says of a directive that it refuses; mostly at most one message, as nginx stops at the first."""


SETTERS: dict[str, Setter] = {}
"""The setters by nginx's names for them."""


def setter(*names: str) -> Callable[[Setter], Setter]:
    """Return a decorator that adds a function to `SETTERS`, by nginx's names for it."""

    def enter(function: Setter) -> Setter:
        SETTERS.update(dict.fromkeys(names, function))
        return function

    return enter


def before(stated: Stated) -> Iterator[Directive]:
    """Yield the directives of the same name before one in its level."""
    for other in stated.level.own(stated.name):
        if other is stated.directive:
            return
        yield other


def parameter(word: str, names: Mapping[str, object] | tuple[str, ...]) -> tuple[str, str] | None:
    """Split `name=value` if the name is known; None otherwise."""
    name, equals, value = word.partition("=")
    return (name, value) if equals and name in names else None


# Setters of ngx_conf_file.c (`ngx_conf_set_*_slot`), and the checks behind them.

_ACCESS = {"user", "group", "all"}
_MOST_LEVELS = 3  # NGX_MAX_PATH_LEVEL
_MOST_LETTERS = 10  # of the levels of a path


@setter("ngx_conf_set_num_slot")
def _number(stated: Stated) -> Iterator[str]:
    if number(stated.args[0]) is None:
        yield stated.says("invalid number")
    else:
        yield from _checked(stated)


@setter("ngx_conf_set_size_slot")
def _size(stated: Stated) -> Iterator[str]:
    if size(stated.args[0]) is None:
        yield stated.says("invalid value")
    else:
        yield from _checked(stated)


@setter("ngx_conf_set_off_slot")
def _offset(stated: Stated) -> Iterator[str]:
    if size(stated.args[0], giga=True) is None:
        yield stated.says("invalid value")


@setter("ngx_conf_set_msec_slot")
def _milliseconds(stated: Stated) -> Iterator[str]:
    if milliseconds(stated.args[0]) is None:
        yield stated.says("invalid value")


@setter("ngx_conf_set_sec_slot")
def _seconds(stated: Stated) -> Iterator[str]:
    if seconds(stated.args[0]) is None:
        yield stated.says("invalid value")


@setter("ngx_conf_set_bufs_slot")
def _buffers(stated: Stated) -> Iterator[str]:
    count, each = number(stated.args[0]), size(stated.args[1])
    if not count or not each:
        yield stated.says("invalid value")


@setter("ngx_http_ssl_enable", "ngx_mail_ssl_enable")
def _flag(stated: Stated) -> Iterator[str]:
    if stated.args[0].lower() not in ("on", "off"):
        yield f'invalid value "{stated.args[0]}" in "{stated.name}" directive, it must be "on" or "off"'


@setter("ngx_conf_set_enum_slot")
def _enum(stated: Stated) -> Iterator[str]:
    if stated.args[0].lower() not in stated.declaration.values.lower().split("|"):
        yield f'invalid value "{stated.args[0]}"'


@setter("ngx_conf_set_bitmask_slot")
def _bits(stated: Stated) -> Iterator[str]:
    known = stated.declaration.values.lower().split("|")
    wrong = next((word for word in stated.args if word.lower() not in known), None)
    if wrong is not None:
        yield f'invalid value "{wrong}"'


@setter("ngx_conf_set_path_slot")
def _path(stated: Stated) -> Iterator[str]:
    levels = [number(word) for word in stated.args[1:]]
    if any(not level for level in levels) or sum(level or 0 for level in levels) > _MOST_LETTERS:
        yield stated.says("invalid value")
    else:
        yield from add_path(stated, str(stated.args[0]), tuple(map(str, levels)))


def add_path(stated: Stated, path: str, levels: tuple[str, ...], *, is_cache: bool = False) -> Iterator[str]:
    """Record a directory that nginx makes, and yield what it refuses (`ngx_add_path` in ngx_file.c). A cache shares its
    directory with nothing."""
    here = stated.directive.located("")[len(" in ") :]
    if path not in stated.reading.paths:
        stated.reading.paths[path] = (":".join(levels), here, is_cache)
        return
    earlier, place, is_of_cache = stated.reading.paths[path]
    name = path.removesuffix("/")  # to nginx, a path with the slash and the same path without it are two
    if is_cache or is_of_cache:
        yield f'the same path name "{name}" used in {place} and'
    elif earlier != ":".join(levels):
        yield f'the same path name "{name}" in {place} has the different levels than'


@setter("ngx_conf_set_access_slot")
def _access(stated: Stated) -> Iterator[str]:
    for word in stated.args:
        who, _, how = word.partition(":")
        if who not in _ACCESS or how not in ("r", "rw"):
            yield f'invalid value "{word}"'
            return


def _checked(stated: Stated) -> Iterator[str]:
    """Yield what the check behind a setter says of the value (`post`)."""
    _, _, check = stated.declaration.setter.partition(" ")
    if ".." in check:
        low, high = map(int, check.split(".."))
        if not low <= (number(stated.args[0]) or 0) <= high:
            yield f"value must be between {low} and {high}"
    elif check in _CHECKS:
        yield from _CHECKS[check](size(stated.args[0]) or 0, stated.reading.target)


_Check = Callable[[int, Version], Iterator[str]]
_LEAST_POOL = 112  # NGX_MIN_POOL_SIZE
_POOL_ALIGNMENT = 16
_MOST_PREREAD = 2**31 - 1


def _of_pool(value: int, _: Version) -> Iterator[str]:
    if value < _LEAST_POOL:
        yield f"the pool size must be no less than {_LEAST_POOL}"
    elif value % _POOL_ALIGNMENT:
        yield f"the pool size must be a multiple of {_POOL_ALIGNMENT}"


def _of_gzip(name: str, *sizes: str) -> _Check:
    known = {size(text) for text in sizes}
    *first, last = sizes

    def check(value: int, _: Version) -> Iterator[str]:
        if value not in known:
            yield f'"{name}" directive must be {", ".join(first)}, or {last}'

    return check


def _of_preread(value: int, _: Version) -> Iterator[str]:
    if value > _MOST_PREREAD:
        yield f"the maximum body preread buffer size is {_MOST_PREREAD}"


def _of_chunk(value: int, _: Version) -> Iterator[str]:
    if value == 0:
        yield "the http2 chunk size cannot be zero"


_CHECKS: Mapping[str, _Check] = {
    "ngx_http_core_pool_size": _of_pool,
    "ngx_http_v2_pool_size": _of_pool,
    "ngx_http_v2_preread_size": _of_preread,
    "ngx_http_v2_chunk_size": _of_chunk,
    "ngx_http_gzip_window": _of_gzip("gzip_window", "512", "1k", "2k", "4k", "8k", "16k", "32k"),
    "ngx_http_gzip_hash": _of_gzip("gzip_hash", "512", "1k", "2k", "4k", "8k", "16k", "32k", "64k", "128k"),
}


Found = Iterator[tuple[Directive, str]]

# Patterns that PCRE cannot compile.

_MATCHES = ("~", "~*", "!~", "!~*")


@record(eq=True)
class RefusedPattern:
    """A pattern that no PCRE compiles: its directive, its word, its text in that word, and the error of PCRE."""

    directive: Directive
    word: Token
    text: str
    error: str


def of_patterns(outer: Level) -> Found:
    """Yield the directives of a block of http or stream whose pattern every PCRE refuses."""
    return ((each.directive, _said(each.error, each.text)) for each in refused_patterns(outer))


def refused_patterns(outer: Level) -> Iterator[RefusedPattern]:
    """Yield the patterns of a level, and of those inside of it, that every PCRE refuses."""
    taking = _TAKING.keys() & outer.names_anywhere
    for level in outer.walk():
        for directive, word, text in _patterns(level, taking):
            error = pattern_error(encode(text))
            if error is not None:
                yield RefusedPattern(directive, word, text, error)


def pattern_error(pattern: bytes) -> str | None:
    """Return the error for a pattern that no version of PCRE compiles, with a byte offset; None if one may."""
    return _native.pattern_error(pattern) or _unfinished(pattern) or _repeated(pattern) or _property(pattern)


_BARE = rb"\\Q.*?(?:\\E|$)|\\.|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]|\(\?#[^)]*\)"
_ESCAPED = lazy.pattern(_BARE, re.DOTALL)
"""What has no groups: escapes, classes, comments."""
_ITEM = lazy.pattern(rb"\\c.|\\[gkNopPx]\{[^}]*\}|" + _BARE, re.DOTALL)
"""What has no quantifiers: the same, with what belongs to an escape."""
_WRONG_GROUP = lazy.pattern(
    rb"\(\?(?P<at>$|[a-zA-Z^-]+$|P?[<'](?![=!])\w*$)|\(\?(?:P?<[^=!*\w]|[^a-zA-Z0-9:=!<>'|&#()*^+-])"
)
_NAME = lazy.pattern(rb"\(\?(?:P?<|')(?P<name>[a-zA-Z_]\w*)[>']")


_COUNT = rb"(?:[*+?]|\{\d+(?:,\d*)?\})"
_TWICE = lazy.pattern(rb"(?:(?<!\()" + _COUNT + rb"[?+]?+|[$^]|\\[ABGKZbz])(?=(?P<second>" + _COUNT + rb"))")
_ASSERTION = lazy.pattern(rb"\\[ABGKZbz]")
_EXTENDED = lazy.pattern(rb"\(\?[a-zA-Z^-]*x")


def _repeated(pattern: bytes) -> str | None:
    """Return the error for a quantifier after another one or after an assertion, as in `a**` and `$*`.

    `a*?` is lazy, and `a*+` possessive.
    """
    if _TWICE.search(pattern) is None:
        return None
    bare = _ITEM.sub(lambda match: (b"^" if _ASSERTION.fullmatch(match[0]) else b".") * len(match[0]), pattern)
    twice = None if _EXTENDED.search(bare) else _TWICE.search(bare)
    return f"quantifier does not follow a repeatable item at byte {twice.start('second')}" if twice else None


def _unfinished(pattern: bytes) -> str | None:
    """Return the error for a group without its end or with an invalid beginning, or with the name of another group."""
    if b"(?" not in pattern:
        return None
    bare = _ESCAPED.sub(lambda match: b"." * len(match[0]), pattern)
    wrong = _WRONG_GROUP.search(bare)
    if wrong is not None:
        what = "missing closing parenthesis" if wrong["at"] is not None else "unrecognized character after (? or (?-"
        return f"{what} at byte {min(wrong.end(), len(pattern))}"
    seen: set[bytes] = set()
    for match in _NAME.finditer(bare):
        if match["name"] in seen and b"(?J" not in bare and b"(?|" not in bare:
            return f"two named subpatterns have the same name at byte {match.end()}"
        seen.add(match["name"])
    return None


_PROPERTY = lazy.pattern(
    rb"\\Q.*?(?:\\E|$)|\(\?#[^)]*\)|\\c.|\\[pP](?P<wrong>\{\^?(?:\}|[^CLMNPSZ]\}|[^}]*$)|[^CLMNPSZ{]|$)|\\.",
    re.DOTALL | re.IGNORECASE,
)
"""A property of characters: the letter of a category, or a name in braces, of which newer libraries know more."""


def _property(pattern: bytes) -> str | None:
    """Return the error for a property that no PCRE knows, as in `\\php`; PCRE2 from 10.40 on ignores case."""
    if b"\\p" not in pattern.lower() or _EXTENDED.search(pattern):
        return None
    wrong = next((match for match in _PROPERTY.finditer(pattern) if match["wrong"] is not None), None)
    if wrong is None:
        return None
    is_cut = wrong.end() == len(pattern) and not wrong["wrong"].endswith(b"}")
    what = "malformed \\P or \\p sequence" if is_cut else "unknown property after \\P or \\p"
    return f"{what} at byte {wrong.end()}"


def _said(error: str, pattern: str) -> str:
    """Return an error as `ngx_regex_compile` says it."""
    reason, _, place = error.partition(" at byte ")
    rest = encode(pattern)[int(place) :].decode("utf-8", "surrogateescape") if place else ""
    message = f'pcre2_compile() failed: {reason} in "{pattern}"'
    return f'{message} at "{rest}"' if rest else message


def _patterns(level: Level, taking: Set[str]) -> Iterator[tuple[Directive, Token, str]]:
    """Yield the directives with a pattern, its word, and its text. `taking` are the names of all such directives."""
    if level.kind == "map":
        rows = (row for row in level.directives if row.name.startswith("~"))
        yield from ((row, row.name, _of_row(row.name)) for row in rows)
    if level.kind in ROWS:
        return
    if level.kind == "location" and level.opener is not None and level.modifier in ("~", "~*"):
        yield level.opener, level.opener.args[-1], level.path
    for name in taking & level.names:
        for directive in level.own(name):
            yield from ((directive, word, text) for word, text in _TAKING[name](directive.args))


_Taken = Iterable[tuple[Token, str]]


def _of_row(key: str) -> str:
    """Return the pattern of a row (`ngx_http_map`): `~*` ignores case."""
    return key.removeprefix("~").removeprefix("*")


def _of_if(args: Sequence[Token]) -> _Taken:
    return [(args[2], str(args[2]))] if len(args) == 3 and args[1] in _MATCHES else []


def _of_names(args: Sequence[Token]) -> _Taken:
    return ((word, word[1:]) for word in args if word.startswith("~") and len(word) > 1)


def _of_browsers(args: Sequence[Token]) -> _Taken:
    return ((word, str(word)) for word in args if word != "msie6")


def _of_first(args: Sequence[Token]) -> _Taken:
    return ((word, str(word)) for word in args[:1])


def _of_rewriting(args: Sequence[Token]) -> _Taken:
    return ((word, _of_row(word)) for word in args[:1] if word.startswith("~"))


_TAKING: Mapping[str, Callable[[Sequence[Token]], _Taken]] = {
    **dict.fromkeys(("rewrite", "fastcgi_split_path_info"), _of_first),
    **dict.fromkeys(("server_name", "valid_referers"), _of_names),
    **dict.fromkeys(("proxy_redirect", *map("proxy_cookie_{}".format, ("path", "domain", "flags"))), _of_rewriting),
    "gzip_disable": _of_browsers,
    "if": _of_if,
}
