"""Inheritance: the blocks of a configuration as *levels*, and the effective setting of a directive at each level.

After reading a block, nginx merges the settings of the block around it into it (`ngx_http_merge_servers`,
`ngx_http_merge_locations` in ngx_http.c). A level without a directive inherits all occurrences of it from the nearest
level around it that has the directive. So one `proxy_set_header` in a location replaces all of the server. An `if` or
`limit_except` is a separate level inside its location. Blocks such as `upstream` or `map` inherit nothing, even if a
directive has the same name inside and outside of them (`keepalive_timeout`).

Text that was not read may set anything. So an `include` that cannot be read, or that may read other files where the
configuration is installed (`nginxopt.config.places`), makes its level *open*: settings that may be changed there are
unknown, and lists may have further entries. The unknown levels around a fragment are open, too. Exceptions are
`mime.types`, which is assumed to contain nothing but `types`, and the folders of packages that load modules. A
misplaced block is open as well, as nginx merges nothing into it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, KeysView, Mapping, Set
from dataclasses import field
from functools import partial

from nginxopt import lazy
from nginxopt.config import Block, Bulk, Config, Directive, Scope, may_read_more
from nginxopt.config.templating import unread_names
from nginxopt.facts import fact, group, having
from nginxopt.facts.lexicon import ROWS
from nginxopt.facts.table import declarations
from nginxopt.records import record
from nginxopt.text import Source, Span, encode
from nginxopt.version import Version

PIVOT = Version(1, 29, 7)
"""The first version with a connection pool by default (CHANGES 1.29.7): `keepalive 32 local`, `proxy_http_version 1.1`,
and no `Connection` header."""

HOST_ALWAYS = Version(1, 31, 4)
"""The first version that sends the name of the upstream as Host, or `:authority`, where the one that is stated is empty
(CHANGES 1.31.4; `host_value` in ngx_http_proxy_module.c and ngx_http_grpc_module.c). HTTP/1.0 has no Host then."""


def default(name: str, target: Version) -> str | None:
    """Return the default of the directive `name` in a version; None if it has none, or if it is not listed here.

    For a version that does not have the directive, this is the default of the first version that has it.
    """
    known = fact(name)
    if known is None or known.default != "declared":
        return (known and known.default) or None
    rows = declarations(name)
    return next((row.default for row in rows if row.is_in(target)), rows[0].default)


INHERITANCE = {"add_header": "add_header_inherit", "add_trailer": "add_trailer_inherit"}
"""The directives that add headers and trailers, each with the directive that controls its inheritance."""

MERGED_SINCE = Version(1, 29, 3)
"""The first release with these directives."""


FRAGMENT = "fragment"
"""The kind of the outermost level of a file that may be included in several contexts."""

_MERGED = {"main", "http", "stream", "server", "location", "if", "limit_except", FRAGMENT}
"""The kinds of levels that inherit settings, or pass them on."""

_AROUND = {
    "http": {"main"},
    "server": {"http", "stream", "mail"},
    "location": {"server", "location"},
    "if": {"server", "location"},
    "limit_except": {"location"},
}
"""The contexts in which nginx allows the blocks that it merges (the masks of their `ngx_command_t`)."""

# An `if` inherits the handler of a location, an inner location does not; a `limit_except` inherits it only from the
# modules of `_GATEWAYS` (`lmt_excpt` in ngx_http_proxy_merge_loc_conf).
_HANDLERS = having("inherited", "handler")
_GATEWAYS = group("pass") - {"memcached_pass"}

# The directives of the rewrite module are not inherited, as each level has a script of its own
# (ngx_http_rewrite_merge_loc_conf), and neither are those that concern only their block.
_OWN = having("inherited", "no")

# Groups of directives that set the same thing: a level that has one of them inherits none of the group. `root` and
# `alias` are one field, `allow` and `deny` one list (ngx_http_core_merge_loc_conf, ngx_http_access_merge_loc_conf), and
# a request has one handler.
_TOGETHER = [group("root"), group("allow"), _HANDLERS]
DISPLACED = {name: names - {name} for names in _TOGETHER for name in names}
"""For each directive, the others that a level does not inherit if it has that directive."""

_LISTS = having("inherited", "list")
"""Directives that a level may have more than once, and that add up to a list."""

_STOCK = {"mime.types": ("types",)}
"""A file that comes with nginx, and the only directive in it."""

_MODULES = lazy.pattern(r"(?:.*/)?(?:modules(?:-enabled)?|modules\.d)/\*\.conf")
"""The includes of the main level by which packages load modules (Debian, Fedora, Alpine): nothing else is in there."""

_OF_CERTBOT = {
    "options-ssl-nginx.conf": (
        "ssl_session_cache", "ssl_session_timeout", "ssl_session_tickets", "ssl_protocols",
        "ssl_prefer_server_ciphers", "ssl_ciphers",
    ),
}  # fmt: skip
"""The file that Certbot writes and maintains (certbot-nginx, `tls_configs`), and the directives in it."""

_PACKAGED = {
    **_STOCK,
    **_OF_CERTBOT,
    "fastcgi.conf": ("fastcgi_param",),
    "fastcgi_params": ("fastcgi_param",),
    "proxy_params": ("proxy_set_header",),
    "scgi_params": ("scgi_param",),
    "uwsgi_params": ("uwsgi_param",),
}
"""All such files, including those of nginx's packages that people sometimes change, and the directives in them."""


@record(frozen=False)
class _Stated:
    """A summary that all levels of a configuration share, so that a directive that none of them has needs no search.

    `names` are the names of all their directives; `is_whole` is whether all of their text was read. `is_open` is
    whether text that was not read may state anything somewhere, `is_open_outside` whether it may outside of servers.
    `known_missing` are the answers of `missing`.
    """

    target: Version
    names: set[str] = field(default_factory=set)
    is_whole: bool = True
    is_open: bool = False
    is_open_outside: bool = False
    known_missing: dict[str, Setting] = field(default_factory=dict)

    def missing(self, name: str) -> Setting | None:
        """Return the setting of a directive if certainly no level has it; None if one may."""
        if not self.is_whole or name in self.names or name in DISPLACED:
            return None
        return self.known_missing.setdefault(name, Setting(name, (), None, True, default(name, self.target)))


MODIFIERS = ("=", "^~", "~", "~*")
"""The modifiers of locations."""


@record(frozen=False)
class Level:
    """A block of the configuration, with the files that it includes.

    Attributes:
        kind: The name of the block (`http`, `server`, `location`, `upstream` ...), `main` for the outermost level, or
            `FRAGMENT`.
        scope: The content that was read; None for the unknown levels around a fragment.
        parent: The level around this one.
        target: The nginx version, which determines defaults.
        is_open: Whether a part of it that was not read may contain any directive.
        unread: The directives that unread files with a known content, such as `mime.types`, may contain.
        directives: The directives directly in it, in the order in which nginx reads them, without folded rewrites.
        bulks: The folded runs of rewrites directly in it.
        levels: The levels directly in it.
        unknown: The names of settings that were requested and turned out to be unknown, because of this level.
        opener: The directive whose block this is; None for `main`, for the outermost level of a fragment, and for the
            unknown levels around a fragment.
        args: The arguments of `opener`.
    """

    kind: str
    scope: Scope | None
    parent: Level | None
    target: Version
    is_open: bool = False
    unread: set[str] = field(default_factory=set)
    directives: list[Directive] = field(default_factory=list)
    bulks: list[Bulk] = field(default_factory=list)
    levels: list[Level] = field(default_factory=list)
    unknown: set[str] = field(default_factory=set, repr=False)
    opener: Directive | None = field(init=False, repr=False)
    args: tuple[str, ...] = field(init=False, repr=False)
    _by_name: dict[str, list[Directive]] | None = field(default=None, repr=False)
    _settings: dict[str, Setting] = field(default_factory=dict, repr=False)
    _stated: _Stated = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._stated = self.parent._stated if self.parent else _Stated(self.target)
        if self.is_open:
            self._tell_open()
        self.opener = self.scope.opener if self.scope else None
        self.args = self.opener.args if self.opener else ()

    def own(self, name: str) -> tuple[Directive, ...]:
        """Return the directives with a name directly in this level."""
        directives = (self._by_name or self._own).get(name)
        return tuple(directives) if directives else ()

    @property
    def is_whole(self) -> bool:
        """Whether the text of all levels of the configuration was read."""
        return self._stated.is_whole

    @property
    def has_all(self) -> bool:
        """Whether unread text of the configuration can hold nothing but what files that come with nginx hold."""
        return not self._stated.is_open

    @property
    def declares_all(self) -> bool:
        """Whether `has_all` is true at least outside of servers, where zones, log formats and caches are declared."""
        return not self._stated.is_open_outside

    def _tell_open(self) -> None:
        self._stated.is_whole, self._stated.is_open = False, True
        if self.around("server") is None:
            self._stated.is_open_outside = True

    @property
    def names(self) -> KeysView[str]:
        """The names of the directives directly in this level."""
        return (self._by_name or self._own).keys()

    @property
    def names_anywhere(self) -> Set[str]:
        """The names of the directives of all levels of the configuration, without rows of tables."""
        return self._stated.names

    @property
    def modifier(self) -> str:
        """The modifier of a location, such as `=`; empty for a prefix or a named location."""
        first = self.args[0] if self.args else ""
        if len(self.args) > 1 and first in MODIFIERS:
            return first
        if first[:1] not in ("~", "^", "="):
            return ""
        return next((sign for sign in ("~*", "^~", "=", "~") if first.startswith(sign)), "")

    @property
    def path(self) -> str:
        """The URI, prefix or pattern of a location, without its modifier (which need not be a separate word)."""
        if len(self.args) > 1:
            return self.args[1]
        return self.args[0].removeprefix(self.modifier) if self.args else ""

    @property
    def pattern(self) -> bytes:
        """The pattern of a regex location; `~*` becomes `(?i)` (`NGX_REGEX_CASELESS`)."""
        return (b"(?i)" if self.modifier == "~*" else b"") + encode(self.path)

    def second_locations(self) -> Iterator[tuple[Level, Level]]:
        """Yield each location whose path an earlier one has, after that one (`ngx_http_join_exact_locations`).

        `location /a` and `location ^~ /a` are the same to nginx; patterns and names may stand twice.
        """
        seen: dict[tuple[bool, str], Level] = {}
        for location in self.levels:
            if location.kind != "location" or not location.args:
                continue
            sign, text = location.modifier, location.path
            if sign in ("~", "~*") or (text.startswith("@") and not sign):
                continue
            first = seen.setdefault((sign == "=", text), location)
            if first is not location:
                yield first, location

    def setting(self, name: str) -> Setting:
        """Return the effective setting of the directive `name`: its own, an inherited one, or the default."""
        setting = self._settings.get(name) or self._stated.known_missing.get(name) or self._stated.missing(name)
        if setting is None:
            may_be_own = name in self._own or self.is_open or name in self.unread or name in DISPLACED
            own = self._own_setting(name) if may_be_own else None
            setting = self._settings[name] = own or self._inherited(name)
        if not setting.known and setting.level is not None:
            setting.level.unknown.add(name)
        return setting

    def headers(self, name: str) -> Setting:
        """Return the headers or trailers of this level, including inherited ones as controlled by `add_header_inherit`
        (`ngx_http_headers_merge`). `name` is `add_header` or `add_trailer`.
        """
        stated, own, outer = self.setting(name), self.own(name), self._outer(name)
        inherit = self.setting(INHERITANCE[name]).value
        if inherit == "off":
            return stated if own else Setting(name, (), self, True, None)
        if outer is None or (own and inherit != "merge") or (not own and stated.level is self):
            return stated
        around = outer.headers(name)
        return Setting(name, own + around.directives, self, stated.known and around.known, None) if own else around

    def _own_setting(self, name: str) -> Setting | None:
        """Return the setting of a directive at this level itself; None if it certainly has none."""
        directives = self.own(name)
        is_open = self.is_open or name in self.unread
        if not directives:
            if name in DISPLACED and any(rival in self._own for rival in DISPLACED[name]):
                return Setting(name, (), self, True, None)
            if not is_open:
                return None
        known = bool(directives) and not (is_open and name in _LISTS)
        return Setting(name, directives, self, known, default(name, self.target))

    def _inherited(self, name: str) -> Setting:
        outer = self._outer(name)
        return Setting(name, (), None, True, default(name, self.target)) if outer is None else outer.setting(name)

    def inherits(self, name: str) -> bool:
        """Return whether a level without a directive inherits it from the level around it."""
        return self._outer(name) is not None

    def around(self, kind: str) -> Level | None:
        """Return the nearest level of a kind: this one or one around it; None if there is none."""
        level: Level | None = self
        while level is not None and level.kind != kind:
            level = level.parent
        return level

    def walk(self) -> Iterator[Level]:
        """Yield this level and all inner levels, in the order in which nginx reads them."""
        waiting = [self]
        while waiting:
            level = waiting.pop()
            yield level
            if level.levels:
                waiting += reversed(level.levels)

    @property
    def block(self) -> Block | None:
        """The block that new directives of this level go to; None for the unknown levels around a fragment."""
        return self.scope.block if self.scope else None

    @property
    def span(self) -> Span:
        """The place of a finding about the level: the name of its block, or the first directive of its file."""
        first = self.opener or next(iter(self.directives), None)
        return first.name.span if first else Span(0, 0)

    @property
    def source(self) -> Source | None:
        """The file in which the block begins."""
        return self.block.source if self.block else None

    def _outer(self, name: str) -> Level | None:
        """Return the level from which the directive `name` is inherited; None if it is not inherited."""
        if self.kind not in _MERGED or name in _OWN:
            return None
        if name in _HANDLERS and self.kind != "if" and not (name in _GATEWAYS and self.kind == "limit_except"):
            return None
        return self.parent

    @property
    def _own(self) -> dict[str, list[Directive]]:
        """The directives by name, indexed on first use: most blocks of rows, which are many, are never asked."""
        if self._by_name is None:
            self._by_name = {}
            for directive in self.directives:
                self._by_name.setdefault(str(directive.name), []).append(directive)
        return self._by_name


@record(eq=True)
class Setting:
    """The effective setting of a directive at a level.

    Attributes:
        name: The name of the directive.
        directives: The directives that set it: one, or all of a list such as `proxy_set_header`; empty if it is not
            set.
        level: The level of these directives, or the level whose unread text may set it; None if nothing sets it.
        known: Whether it is certain: for a list, whether it is complete.
        default: nginx's default; None if there is none, or if it is not in `defaults`.
    """

    name: str
    directives: tuple[Directive, ...]
    level: Level | None
    known: bool
    default: str | None

    @property
    def is_set(self) -> bool:
        """Whether it is set explicitly."""
        return bool(self.directives)

    @property
    def is_unset(self) -> bool:
        """Whether it is certainly not set."""
        return self.known and not self.directives

    @property
    def directive(self) -> Directive | None:
        """The last directive, which is the effective one; None if it is not set."""
        return self.directives[-1] if self.directives else None

    @property
    def value(self) -> str | None:
        """The first argument, or the default; None if the setting is unknown or has no default."""
        if not self.known:
            return None
        if self.directives:
            args = self.directives[-1].args
            return str(args[0]) if args else ""
        return self.default


def levels(
    config: Config, target: Version, *, as_given: bool = False, is_all: bool = False, around: Level | None = None
) -> Level:
    """Return the outermost level of a configuration, with all inner levels. Linear in the size of the text.

    The content of a file that is included several times appears in each place, with a separate source (see
    `Source.original`). With `as_given`, the blocks around a fragment are assumed to be empty, and missing files of
    packages to be unchanged. With `as_given` or `is_all`, the files that an include reads here are assumed to be all
    that it ever reads. `around` is the level of an http block that includes a fragment of http.
    """
    root = _within(config, around) or _outermost(config, target, is_open=not as_given)
    is_unread = config.is_missing if as_given or is_all else partial(may_read_more, config)
    _fill(root, is_unread, _PACKAGED if as_given else _STOCK)
    return root


def origin(include: Directive) -> str | None:
    """Return what an included file belongs to by its name: `nginx` (including its packages) or `Certbot`, or None."""
    name = _name(include)
    return "Certbot" if name in _OF_CERTBOT else "nginx" if name in _PACKAGED else None


def packaged_names(include: Directive) -> tuple[str, ...]:
    """Return the directives in an included file that belongs to a package, by its name; none for other files."""
    return _PACKAGED.get(_name(include), ())


def opens(config: Config, include: Directive, kind: str) -> bool:
    """Return whether an include opens a level of a kind: it may read more elsewhere, and that may be anything."""
    return may_read_more(config, include) and not _known_names(include, kind, _STOCK)


def _within(config: Config, around: Level | None) -> Level | None:
    """Return the level of a fragment of http, inside the level that includes it; None for any other file."""
    if around is None or ("http",) not in config.candidates or _is_main(config.readings):
        return None
    return Level("http", config.readings, around, around.target)


def _outermost(config: Config, target: Version, *, is_open: bool) -> Level:
    """Return the level of the main file; for a fragment, inside the unknown levels around it."""
    scope = config.readings
    if len(config.candidates) != 1:
        outer = None if config.candidates else Level("main", None, None, target, is_open)
        if () in config.candidates and _is_main(scope):
            return Level("main", scope, None, target)
        return Level(FRAGMENT, scope, outer, target, is_open)
    context = config.candidates[0]
    if not context:
        return Level("main", scope, None, target)
    level = Level("main", None, None, target, is_open)
    for kind in context[:-1]:
        level = Level(kind, None, level, target, is_open)
    return Level(context[-1], scope, level, target, is_open)


def _is_main(scope: Scope) -> bool:
    return any(directive.name in ("http", "events", "stream", "mail") for directive in scope.directives)


def _fill(level: Level, is_unread: Callable[[Directive], bool], stock: Mapping[str, tuple[str, ...]]) -> None:
    """Fill a level with the content of its scope, including inner levels.

    `is_unread` returns whether an include makes the level open in which it stands.
    """
    if level.scope is None:
        return
    scopes = iter(level.scope.scopes)
    for node in level.scope.nodes:
        if isinstance(node, Bulk):
            level.bulks.append(node)
            continue
        level.directives.append(node)
        if node.block is not None:
            inner = Level(str(node.name), next(scopes), level, level.target, _is_misplaced(node, level))
            level.levels.append(inner)
            _fill(inner, is_unread, stock)
        elif node.name == "include" and is_unread(node):
            _open(level, _known_names(node, level.kind, stock))
    if level.kind not in ROWS:
        level._stated.names.update(level.names)


def _known_names(include: Directive, kind: str, stock: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return all directives that the unread files of an include of a level may contain; empty if these may be any."""
    if kind == "main" and _MODULES.fullmatch(include.args[0]):
        return ("load_module",)
    return unread_names(include) or stock.get(_name(include), ())


def _is_misplaced(block: Directive, level: Level) -> bool:
    around = _AROUND.get(block.name)
    return around is not None and level.kind not in around and level.kind != FRAGMENT


def _name(include: Directive) -> str:
    """Return the name of an included file, without its folder."""
    return include.args[0].rpartition("/")[2]


def _open(level: Level, stock: tuple[str, ...]) -> None:
    """Record that an include of a level was not read. `stock` are all directives in it, if these are known."""
    if stock:
        level._stated.is_whole = False
        level._stated.is_open |= "load_module" in stock  # whose modules may define anything
        level.unread.update(stock)
    else:
        level.is_open = True
        level._tell_open()
