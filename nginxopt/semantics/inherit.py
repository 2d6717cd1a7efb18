"""Inheritance: levels as nginx merges them, and the effective value of a directive at each of them.

nginx reads the configuration of a block, then merges into it what the block around it says (`ngx_http_merge_servers`,
`ngx_http_merge_locations` in ngx_http.c): a directive that a level does not have comes from the nearest level around
it that has it, all occurrences at once. So one `proxy_set_header` in a location drops every one of the server. An
`if` or `limit_except` is a level of its own inside its location. Blocks such as `upstream` or `map` take nothing from
outside, although they use names that mean something there (`keepalive_timeout`).

What was not read is not guessed: an `include` that cannot be read, or the unknown outside of a fragment, makes a level
*open*, and what may be set there is unknown; so is what else a list may have. Only `mime.types` is taken for what it is
everywhere: `types`. A block that nginx does not allow where it stands is open as well: nothing is merged into it.
"""

from __future__ import annotations

from collections.abc import Iterator, KeysView, Mapping
from dataclasses import dataclass, field

from nginxopt.config import Block, Bulk, Config, Directive, Scope
from nginxopt.config.unread import unread_names
from nginxopt.records import record
from nginxopt.semantics.defaults import default
from nginxopt.semantics.headers import INHERITANCE
from nginxopt.text import Source, Span
from nginxopt.version import Version

FRAGMENT = "fragment"
"""The kind of the outermost level of a file that may stand in several contexts."""

_MERGED = {"main", "http", "stream", "server", "location", "if", "limit_except", FRAGMENT}
"""The kinds of levels that inherit values, or pass them on."""

_AROUND = {
    "http": {"main"},
    "server": {"http", "stream", "mail"},
    "location": {"server", "location"},
    "if": {"server", "location"},
    "limit_except": {"location"},
}
"""The contexts in which nginx allows the blocks that it merges (the masks of their `ngx_command_t`)."""

# A handler belongs to its location. An `if` inherits it, another location does not; a `limit_except` inherits the
# handlers of those modules that see to it (`lmt_excpt` in ngx_http_proxy_merge_loc_conf).
_GATEWAYS = {"proxy_pass", "fastcgi_pass", "uwsgi_pass", "scgi_pass", "grpc_pass"}
_HANDLERS = _GATEWAYS | {"memcached_pass", "stub_status", "empty_gif", "flv", "mp4", "perl"}

# The rewrite module keeps a script for each level, and hands none on (ngx_http_rewrite_merge_loc_conf); the others
# belong to one block by their nature.
_OWN = {
    "rewrite", "return", "set", "break", "if", "try_files", "listen", "server_name", "location",
    "limit_except", "include", "server", "upstream", "map", "geo", "types_hash",
}  # fmt: skip

# A level that has one of these has its own value for all of them: `root` and `alias` are one field, `allow` and `deny`
# one list (ngx_http_core_merge_loc_conf, ngx_http_access_merge_loc_conf), and a request has one handler.
_TOGETHER = [{"root", "alias"}, {"allow", "deny"}, _HANDLERS]
RIVALS = {name: names - {name} for names in _TOGETHER for name in names}
"""The directives that a level does not inherit if it has the directive itself."""

# Directives that a level may have more than once, each adding to the others.
_LISTS = {
    "access_log", "add_header", "add_trailer", "allow", "auth_request_set", "deny", "error_log", "error_page",
    "fastcgi_param", "grpc_set_header", "index", "limit_conn", "limit_req", "proxy_cookie_domain", "proxy_cookie_flags",
    "proxy_cookie_path", "proxy_redirect", "proxy_set_header", "scgi_param", "set_real_ip_from", "ssl_certificate",
    "ssl_certificate_key", "sub_filter", "types", "uwsgi_param",
    *(f"{protocol}_{name}" for protocol in ("proxy", "fastcgi", "uwsgi", "scgi", "grpc") for name in (
        "cache_bypass", "cache_valid", "hide_header", "no_cache", "pass_header")),
}  # fmt: skip

_STOCK = {"mime.types": ("types",)}
"""Files that come with nginx, and the one directive that is in them."""

_OF_CERTBOT = {
    "options-ssl-nginx.conf": (
        "ssl_session_cache", "ssl_session_timeout", "ssl_session_tickets", "ssl_protocols",
        "ssl_prefer_server_ciphers", "ssl_ciphers",
    ),
}  # fmt: skip
"""The file that Certbot writes and keeps (certbot-nginx, `tls_configs`), and the directives that are in it."""

_PACKAGED = {
    **_STOCK,
    **_OF_CERTBOT,
    "fastcgi.conf": ("fastcgi_param",),
    "fastcgi_params": ("fastcgi_param",),
    "proxy_params": ("proxy_set_header",),
    "scgi_params": ("scgi_param",),
    "uwsgi_params": ("uwsgi_param",),
}
"""Such files of nginx and its packages that people do change at times, and the directives that are in them."""


@dataclass(eq=False, slots=True)
class _Stated:
    """What all levels within one another state together, so that a name that none of them has needs no search.

    `names` are those of their directives, `is_whole` is whether all of the levels was read.
    """

    target: Version
    names: set[str] = field(default_factory=set)
    is_whole: bool = True
    _missing: dict[str, Setting] = field(default_factory=dict)

    def missing(self, name: str) -> Setting | None:
        """Return the setting of a directive that certainly no level has; None if one may have it."""
        if not self.is_whole or name in self.names or name in RIVALS:
            return None
        setting = self._missing.get(name)
        if setting is None:
            setting = self._missing[name] = Setting(name, (), None, True, default(name, self.target))
        return setting


@dataclass(eq=False, slots=True)
class Level:
    """A block of the configuration, with the files that it includes.

    Attributes:
        kind: The name of the block (`http`, `server`, `location`, `upstream` ...), `main` for the outermost one, or
            `FRAGMENT`.
        scope: What was read of it; None for the unknown levels around a fragment.
        parent: The level around it.
        is_open: Whether something of it was not read that may be anything.
        unread: The directives that may stand in what was not read and cannot be anything.
        directives: All that stands directly in it, in nginx's order of reading, without folded runs of rewrites.
        bulks: Those folded runs.
        levels: The levels directly in it.
        unknown: The names of settings that were asked for here and may be in what was not read.
        opener: The directive whose block it is; None for `main`, for the outermost level of a fragment, and for the
            unknown levels around it.
        args: The words behind the name of the block.
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
    _own: dict[str, list[Directive]] = field(default_factory=dict, repr=False)
    _settings: dict[str, Setting] = field(default_factory=dict, repr=False)
    _stated: _Stated = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._stated = self.parent._stated if self.parent else _Stated(self.target)
        if self.is_open:
            self._stated.is_whole = False
        self.opener = self.scope.opener if self.scope else None
        self.args = self.opener.args if self.opener else ()

    def own(self, name: str) -> tuple[Directive, ...]:
        """Return the directives of that name that stand directly in this level."""
        directives = self._own.get(name)
        return tuple(directives) if directives else ()

    @property
    def is_whole(self) -> bool:
        """Whether all was read of it, of the levels around it and of all within them."""
        return self._stated.is_whole

    @property
    def names(self) -> KeysView[str]:
        """The names of the directives that stand directly in this level."""
        return self._own.keys()

    def setting(self, name: str) -> Setting:
        """Return the effective setting of the directive `name`, own, inherited or by default."""
        setting = self._settings.get(name) or self._stated.missing(name)
        if setting is None:
            may_be_own = name in self._own or self.is_open or name in self.unread or name in RIVALS
            own = self._own_setting(name) if may_be_own else None
            setting = self._settings[name] = own or self._inherited(name)
        if not setting.known and setting.level is not None:
            setting.level.unknown.add(name)
        return setting

    def headers(self, name: str) -> Setting:
        """Return the headers or trailers in force, of this level and of those around it, as `add_header_inherit` says
        (`ngx_http_headers_merge`).
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
        """Return the own setting of a directive at this level; None if it certainly has none."""
        directives = self.own(name)
        is_open = self.is_open or name in self.unread
        if not directives:
            if name in RIVALS and any(rival in self._own for rival in RIVALS[name]):
                return Setting(name, (), self, True, None)
            if not is_open:
                return None
        known = bool(directives) and not (is_open and name in _LISTS)
        return Setting(name, directives, self, known, default(name, self.target))

    def _inherited(self, name: str) -> Setting:
        outer = self._outer(name)
        return Setting(name, (), None, True, default(name, self.target)) if outer is None else outer.setting(name)

    def inherits(self, name: str) -> bool:
        """Return whether the level takes a directive from the level around it if it does not have it itself."""
        return self._outer(name) is not None

    def around(self, kind: str) -> Level | None:
        """Return the nearest enclosing level of that kind, which may be this one; None if there is none."""
        level: Level | None = self
        while level is not None and level.kind != kind:
            level = level.parent
        return level

    def walk(self) -> Iterator[Level]:
        """Yield this level and all inner levels, in the order of reading."""
        waiting = [self]
        while waiting:
            level = waiting.pop()
            yield level
            waiting += reversed(level.levels)

    @property
    def block(self) -> Block | None:
        """The block for new text at this level; None for the unknown levels around a fragment."""
        return self.scope.block if self.scope else None

    @property
    def span(self) -> Span:
        """The place of a finding about the level: its name, or the first directive of its file."""
        first = self.opener or next(iter(self.directives), None)
        return first.name.span if first else Span(0, 0)

    @property
    def source(self) -> Source | None:
        """The file in which the block begins."""
        return self.block.source if self.block else None

    def _outer(self, name: str) -> Level | None:
        """Return the level that `name` is inherited from, None if it is from none."""
        if self.kind not in _MERGED or name in _OWN:
            return None
        if name in _HANDLERS and self.kind != "if" and not (name in _GATEWAYS and self.kind == "limit_except"):
            return None
        return self.parent

    def _add(self, directive: Directive) -> None:
        name = str(directive.name)
        self.directives.append(directive)
        own = self._own.get(name)
        if own is None:
            self._own[name] = [directive]
            self._stated.names.add(name)
        else:
            own.append(directive)


@record(eq=True)
class Setting:
    """The effective setting of a directive at a level.

    Attributes:
        directives: Those that set it: one, or all of a list such as `proxy_set_header`; none if it is not set.
        level: Where they stand, or where something may stand that was not read; None if nothing sets it.
        known: Whether it is certain; of a list, that nothing of it stands in what was not read.
        default: The value that nginx takes if nothing sets it, None if there is none or it is not in `defaults`.
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
        """The effective directive: the last one."""
        return self.directives[-1] if self.directives else None

    @property
    def value(self) -> str | None:
        """The first argument, or the default; None if it is unknown or there is none."""
        if not self.known:
            return None
        if self.directives:
            args = self.directives[-1].args
            return str(args[0]) if args else ""
        return self.default


def levels(config: Config, target: Version, *, as_given: bool = False, around: Level | None = None) -> Level:
    """Return the outermost level of `config` with all within it. Linear in the text that is read.

    What a file says that is read several times stands in each of those places, with a source of its own for each
    reading (`Source.original`). With `as_given`, nothing is taken to be around a fragment, and missing files of
    packages to be as they come. `around` is the level of an http block that includes a fragment of http.
    """
    root = _within(config, around) or _outermost(config, target, is_open=not as_given)
    _fill(config, root, _PACKAGED if as_given else _STOCK)
    return root


def origin(include: Directive) -> str | None:
    """Return what the file of an include comes with, by its name: nginx with its packages, or Certbot."""
    name = _name(include)
    return "Certbot" if name in _OF_CERTBOT else "nginx" if name in _PACKAGED else None


def _within(config: Config, around: Level | None) -> Level | None:
    """Return the level of a fragment of http in the http block that includes it; None for another file."""
    if around is None or ("http",) not in config.candidates or _is_main(config.readings):
        return None
    return Level("http", config.readings, around, around.target)


def _outermost(config: Config, target: Version, *, is_open: bool) -> Level:
    """Return the level of the main file, within open levels if it is a fragment."""
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


def _fill(config: Config, level: Level, stock: Mapping[str, tuple[str, ...]]) -> None:
    """Add the content of its scope to a level, and the levels inside."""
    if level.scope is None:
        return
    scopes = iter(level.scope.scopes)
    for node in level.scope.nodes:
        if isinstance(node, Bulk):
            level.bulks.append(node)
            continue
        level._add(node)
        if node.block is not None:
            inner = Level(str(node.name), next(scopes), level, level.target, _is_misplaced(node, level))
            level.levels.append(inner)
            _fill(config, inner, stock)
        elif node.name == "include" and config.is_missing(node):
            _open(level, unread_names(node) or stock.get(_name(node), ()))


def _is_misplaced(block: Directive, level: Level) -> bool:
    around = _AROUND.get(block.name)
    return around is not None and level.kind not in around and level.kind != FRAGMENT


def _name(include: Directive) -> str:
    """Return the name of an included file, without its folder."""
    return include.args[0].rpartition("/")[2]


def _open(level: Level, stock: tuple[str, ...]) -> None:
    """Record that an include of a level was not read; `stock` are the directives that certainly are all in it."""
    level._stated.is_whole = False
    if stock:
        level.unread.update(stock)
    else:
        level.is_open = True
