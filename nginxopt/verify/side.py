"""One of the two configurations that are compared: what is in force in each of its blocks, in canonical form."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, reduce
from itertools import chain
from operator import or_
from typing import TYPE_CHECKING, TypeVar

from nginxopt import lazy
from nginxopt.facts import group, having
from nginxopt.facts.table import declarations
from nginxopt.semantics.inherit import MERGED_SINCE
from nginxopt.semantics.site.form import (
    OpaqueStatementForm,
    SiteForm,
)
from nginxopt.semantics.site.levels import ROWS, effect
from nginxopt.semantics.values import addresses, is_url
from nginxopt.verify.canonical import (
    access,
    default_words,
    is_of_fields,
    merged,
    ordered,
    own_headers,
    server_of_upstream,
    without_defaults,
)
from nginxopt.verify.influences import INVISIBLE, READING, SHOWS_READING, Reads, reads, reads_as_definition
from nginxopt.verify.names import Names, host_of_pass
from nginxopt.verify.premises import COLD_CACHE, REDIRECTS_BY_NAME, UNREAD_NAMES
from nginxopt.verify.reading import Definition, SideReading
from nginxopt.verify.symbols import variables
from nginxopt.verify.unread import (
    Place,
    Silent,
    Unread,
    Value,
    Words,
    beside,
    interleaved,
    is_only_unread,
)
from nginxopt.version import Version

if TYPE_CHECKING:
    from nginxopt.config import Directive
    from nginxopt.semantics import Level
    from nginxopt.semantics.site import LoweredSite

_LIMITS = {"limit_req": "limit_req_zone", "limit_conn": "limit_conn_zone"}
"""The directives that limit requests, with those that define their zones."""

_OF_UPSTREAMS = ("proxy_host", "proxy_port", "upstream_addr", "proxy_internal")
"""Variables that may have the name of an upstream."""

_HANDLERS = tuple(sorted(having("inherited", "handler") - {"perl"}))
_ADDED = having("inherited", "added")
_ORDERED = (("allow", "deny"), _HANDLERS)
"""Settings whose order counts: the first access rule that fits decides, and the last handler."""

_UNCOUNTED_OF_LISTEN = {
    "accept_filter", "backlog", "bind", "deferred", "fastopen", "http2", "multipath", "rcvbuf", "reuseport", "setfib",
    "sndbuf", "so_keepalive", "spdy",
}  # fmt: skip
"""The parameters of `listen` that change how connections come, and no answer."""

_PATH = lazy.pattern(r"[/@=]|off\Z|\$(?:uri|document_uri)(?!\w)|\$\{(?:uri|document_uri)\}", re.ASCII)
"""The beginning of a target that is a path, a named location, or a status."""

SHOWN_NAME = "the name of the upstream"
"""What stands among the settings of a block for the name of an upstream that somebody may see."""

_LONGEST = 100
"""The most characters of a value in a doubt."""

_HOST = lazy.pattern(r"[\w.-]+", re.ASCII)
"""A host as a `*_pass` names it, with what may surround it."""


_TARGET = lazy.pattern(r"((?:[a-z]+://)?(?![0-9.]+(?::|/|\Z))[^/:\[]+(?::[0-9]+)?)(?:/.*)?", re.ASCII)
"""Where a `*_pass` leads that names a host, without its path."""

_PASS, _HOST_OF_PASS = "proxy_pass", "proxy_host"
_HTTP2_SINCE = Version(1, 29, 4)
"""The first release with `proxy_http_version 2`, and whose default Host is no variable."""

Headers = TypeVar("Headers", list[int], Value)
"""The directives of a block that add headers or trailers."""

_InForce = dict[str, list[int] | Value]
"""Settings by name: the numbers of their directives, or what is known of them where not all was read."""


class VerifiedSide(SideReading):
    """A site, with cached answers to what is asked of it repeatedly.

    `form` is that of the site, or that with other names. `counting` are the directives that are visible in this
    comparison although they change no answer by themselves (`influences.counting`). `silent` says what files that were
    not read certainly do not state, `names` which names stand for others, and `shown` are the upstreams of this side
    that have another name on the other one.

    Attributes:
        arranged: The lists of fields that are in another order than written, as far as they were asked for.
        stated_once: The settings that no unread file beside them can state, with their places, likewise.
    """

    def __init__(
        self,
        site: LoweredSite,
        form: SiteForm,
        counting: frozenset[str] = frozenset(),
        silent: Silent | None = None,
        names: Names | None = None,
        shown: frozenset[str] = frozenset(),
    ) -> None:
        silent, names = silent or Silent(), names or Names()
        super().__init__(site, form, INVISIBLE - counting, silent, names)
        self.arranged: set[tuple[str, Value]] = set()
        self.stated_once: set[tuple[str, Place]] = set()
        self._shown = shown
        self._stated: dict[int, _InForce] = {}
        self._known: dict[int, dict[str, Value]] = {}
        self._others: dict[int, dict[str, Value]] = {}
        self._code: dict[int, dict[str, Reads]] = {}

    def handler(self, number: int) -> str | None:
        """Return the directive by which a block handles requests, the last that it states. If an unread file may state
        one, return a phrase that is equal only for the same files between the same directives.

        A `limit_except` has one that passes requests on from the location around it (`ngx_http_proxy_merge_loc_conf`).
        """
        form = self.level(number)
        is_limit = form["kind"] == "limit_except"
        names = [name for name in _HANDLERS if name in form["settings"] or (is_limit and name.endswith("_pass"))]
        nodes: dict[int, str] = {}
        unread: list[Value] = []
        for name in names:
            is_own = name in form["settings"]
            stated = self._stated_in(number, name) if is_own else self._in_force(number).get(name, [])
            if isinstance(stated, tuple):
                unread.append(stated)
            else:
                nodes |= {self.form["directives"][directive]["node"]: name for directive in stated}
        if unread:
            return f"unknown: {unread}"
        return nodes[max(nodes)] if nodes else None

    def passing(self, number: int) -> bool | Value:
        """Return whether a block itself passes requests on. If only an unread file may say so, return that file with
        what is in force without it.
        """
        names = [name for name in self.level(number)["settings"] if name.endswith("_pass")]
        stated = [self._stated_in(number, name) for name in names]
        if any(isinstance(each, list) and each for each in stated):
            return True
        unread = [each for each in stated if isinstance(each, tuple)]
        if any(not isinstance(part, Unread) for value in unread for part in value):
            return True  # its own words, before or behind what was not read
        return unread[0] if unread else False

    def settings(self, number: int) -> Mapping[str, Value]:
        """Return by name each setting of a block that the model reads and that something states, or may state."""
        known = self._known.get(number)
        if known is None:
            in_force = self._in_force(number)
            known = {name: self._value(name, stated) for name, stated in in_force.items()}
            known |= {f"order of {'/'.join(group)}": self._order(in_force, group) for group in _ORDERED}
            known = {name: value for name, value in known.items() if value}
            if "proxy_pass" in known and (redirects := self._redirects(number)) != self._nearest_default(number):
                known["proxy_redirect"] = redirects
            known = self._with_access(number, known) | self._shown_name(number, known) | self._zones_of(known)
            known = {name: self._ordered(name, value) for name, value in known.items()}
            known = {name: value for name, value in known.items() if value and not self._is_default(name, value)}
            self._known[number] = known
        return known

    def _zones_of(self, known: Mapping[str, Value]) -> dict[str, Value]:
        """Return the definitions of the zones of limits in force, where a block does not have those of all zones."""
        found: dict[str, Value] = {}
        for limit, defining in _LIMITS.items():
            names = dict.fromkeys(_zone_of(words) for words in known.get(limit, ()) if not isinstance(words, Unread))
            rows = tuple(self.zones[defining][name] for name in names if name in self.zones[defining])
            found |= {defining: rows} if rows else {}
        return found

    @cached_property
    def zones(self) -> dict[str, dict[str, Words]]:
        """The definitions of zones of limits by directive and name, if nothing but the limits uses them; otherwise they
        are settings of all blocks.
        """
        names = {str(name) for level in self.site.levels for name in level.names} - {"include"}
        http = self.site.levels[0]
        if self.unread or self._unread(http) or any(map(reads, names)):
            return {defining: {} for defining in _LIMITS.values()}
        return {
            defining: {_zone_of(words): words for words in map(self._whole, http.own(defining))}
            for defining in _LIMITS.values()
        }

    def _shown_name(self, number: int, known: Mapping[str, Value]) -> dict[str, Value]:
        """Return the name of the upstream that requests are passed on to, if it has another name on the other side, and
        the upstream or a client may see it.
        """
        for name, shows in (("proxy_pass", self._shows_proxied), ("grpc_pass", self._shows_grpc)):
            stated = self._in_force(number).get(name, []) if name in known and self._shown else []
            for directive in stated if isinstance(stated, list) else ():
                host = host_of_pass(self.form["directives"][directive]["args"][0])
                if host in self._shown and (self._reads_names or shows(number, known)):
                    return {SHOWN_NAME: ((host,),)}
        return {}

    def _shows_proxied(self, number: int, known: Mapping[str, Value]) -> bool:
        """Return whether the name is the header Host, in redirects that `proxy_redirect default` is about, in the key
        of a cache, or in TLS."""
        others = self.others(number)
        redirects = known.get("proxy_redirect", ())
        has_default = not redirects or any(isinstance(part, Unread) or part[0] == "default" for part in redirects)
        is_key = "proxy_cache" in known and known["proxy_cache"] != (("off",),) and "proxy_cache_key" not in others
        is_host = not _states_host(known.get("proxy_set_header", ()))
        if is_host or _names_in_tls("proxy", known["proxy_pass"], others):
            return True
        asked = self._silent.asked
        return (has_default and not asked.holds(REDIRECTS_BY_NAME)) or (is_key and not asked.holds(COLD_CACHE))

    def _shows_grpc(self, number: int, known: Mapping[str, Value]) -> bool:
        """Return whether the name is the authority of a request, or in TLS."""
        others = self.others(number)
        is_host = not _states_host(others.get("grpc_set_header", ()))
        return is_host or _names_in_tls("grpc", known["grpc_pass"], others)

    @cached_property
    def _reads_names(self) -> bool:
        """Whether anything may read the names of upstreams: a program, or a variable."""
        words = (
            word
            for level in self.site.levels
            for directive in level.directives
            if directive.name not in self._invisible
            for word in map(str, directive.args)
        )
        rows = (word for form in self.form["variables"] for word in _words_of(form))
        folded = (
            bulk.source.data[bulk.span.start : bulk.span.end] for level in self.site.levels for bulk in level.bulks
        )
        is_read = any(name in word.lower() for word in (*words, *rows) for name in _OF_UPSTREAMS)
        return is_read or self.has_code or any(b"proxy_" in text or b"upstream_" in text for text in folded)

    def _with_access(self, number: int, known: dict[str, Value]) -> dict[str, Value]:
        """Return settings with what rules of access decide for the rules, if all of them were read; otherwise without
        those behind the last unread file that decide nothing."""
        rules = [(name, known.get(name, ())) for name in ("allow", "deny")]
        is_any = self._is_any(known.get("satisfy", ()))
        # A block in an unread file would inherit the rules, and might ask for no password.
        is_asked = is_any and _asks_password(known) and not self.may_add(number, "location", "limit_except")
        if any(isinstance(part, Unread) for _, value in rules for part in value):
            if not is_asked:
                return known
            allow, deny = (_without_last_denied(name, value) for name, value in rules)
            return {**known, "allow": () if allow == deny else allow, "deny": deny}  # both are what one file says
        in_force = self._in_force(number)
        nodes = {
            self.form["directives"][directive]["node"]: (name, self._words(name, directive)[0])
            for name, value in rules
            for directive in in_force.get(name, ())
            if value
            if isinstance(directive, int)
        }
        decided = access([rule for _, rule in sorted(nodes.items())], is_any=is_any, is_asked=is_asked)
        if decided is None:
            return known
        rest = {name: value for name, value in known.items() if name not in ("allow", "deny", "order of allow/deny")}
        return {**rest, "deny": (decided,)} if decided else rest

    def _is_any(self, satisfy: Value) -> bool:
        """Return whether one check that allows access may be enough."""
        return bool(satisfy) and satisfy != (("all",),)

    def _ordered(self, name: str, value: Value) -> Value:
        """Return the directives of a setting in canonical order."""
        found = ordered(name, value, self._is_entangled)
        is_moved = found != value
        if not any(isinstance(part, Unread) for part in value):
            found = without_defaults(name, merged(name, found, self.site.levels[0].target), self._own_headers)
        if is_of_fields(name) and is_moved:
            self.arranged.add((name, value))
        return found

    @cached_property
    def _own_headers(self) -> Mapping[str, str]:
        """The headers that nginx sends to an upstream by itself."""
        version = self.site.levels[0].target
        stated = (each for level in self.site.levels for each in level.own("proxy_http_version"))
        is_http2 = version >= _HTTP2_SINCE and (bool(self.unread) or any("2" in each.args for each in stated))
        return own_headers(version, has_host=not is_http2 and not self._replaces_host)

    @cached_property
    def _replaces_host(self) -> bool:
        """Whether `$proxy_host` may have another value than the one of nginx."""
        return any(_HOST_OF_PASS in names for names in (self.variables_set, self.named_groups, self.definitions))

    @property
    def _reads_host(self) -> bool:
        """Whether a pass reads such a value for the header Host."""
        return self._replaces_host and self.site.levels[0].target < _HTTP2_SINCE

    def _is_entangled(self, run: tuple[Words, ...]) -> bool:
        """Return whether words may read what a lookup among them captures, or the fields that those before them add
        (`ngx_http_headers_filter`).
        """
        names = _read_in(word for words in run for word in words)
        looked_up = [self.definitions[name] for name in names & self.definitions.keys()]
        if any(name.startswith("sent_") or name in SHOWS_READING.values() for name in self._read_through(names)):
            return True
        captures = {name for name in names if name.isdigit() or name in self.named_groups}
        if looked_up and captures:
            return True
        if len(names & {*self.variables_set, *self.definitions}) > 1 and any(map(_runs, looked_up)):
            return True  # a program may set the others
        return len(looked_up) > 1 and any(map(self._reads_captures, looked_up))

    def _read_through(self, names: Iterable[str]) -> set[str]:
        """Return variables with those that the lookups among them read, directly or by others."""
        found: set[str] = set()
        new = set(names)
        while new:
            found |= new
            forms = [self.definitions[name] for name in new & self.definitions.keys()]
            new = _read_in(chain(*map(_words_of, forms))) - found
        return found

    def _reads_captures(self, form: Definition) -> bool:
        """Return whether a lookup may read captures of another one."""
        if form["kind"] == "opaque":
            return True
        read = _read_in((form["source"] or "", *(word for row in form["rows"] for word in row["args"][1:])))
        return any(name.isdigit() or name in self.named_groups or name in self.definitions for name in read)

    def _is_default(self, name: str, value: Value) -> bool:
        """Return whether a setting is what nginx does if nothing is stated."""
        default = default_words(name, self.site.levels[0].target)
        return default is not None and value == (default,)

    def _redirects(self, number: int) -> Value:
        """Return the `proxy_redirect` in force, with the pass that `default` stands for.

        A block without any inherits that of the block around it, also the one that a pass there implies
        (`ngx_http_proxy_merge_loc_conf`): what its own pass implies counts only if there is none.
        """
        form = self.level(number)
        around = () if form["parent"] is None else self._redirects(form["parent"])
        stated, default = self._stated_in(number, "proxy_redirect"), self._default(number)
        if isinstance(stated, list) and stated:
            words = [self._words("proxy_redirect", directive) for directive in stated]
            return tuple(part for each in words for part in (default if each == ("default",) else (each,)))
        if isinstance(stated, tuple) or any(isinstance(part, Unread) for part in default):
            return Unread("", around), Unread("", self._value("proxy_redirect", stated)), Unread("", default)
        return around or default

    def _default(self, number: int) -> Value:
        """Return what the pass of a block implies: none if it has none, or one with variables."""
        passing = self._stated_in(number, "proxy_pass")
        if isinstance(passing, tuple):
            return (Unread("", passing),)
        words = [word for directive in passing for word in self.form["directives"][directive]["args"]]
        if not words or any("$" in word for word in words):
            return ()
        has_uri = "/" in words[0].partition("://")[2]
        name = self.location_name(number) if has_uri and self.level(number)["kind"] == "location" else None
        return (("default", *words, *(() if name is None else name.replaced)),)

    def _nearest_default(self, number: int) -> Value:
        """Return what the pass that a block has, or inherits, implies."""
        level: int | None = number
        while level is not None:
            if default := self._default(level):
                return default
            level = self.level(level)["parent"] if self.level(level)["kind"] in ("if", "limit_except") else None
        return ()

    def _stated_in(self, number: int, name: str) -> list[int] | Value:
        """Return what a block itself states of a setting."""
        settings = self.level(number)["settings"]
        if name not in settings or (settings[name] is None and self._is_unstated(number, name)):
            return []
        return self._in_force(number)[name]

    def _is_unstated(self, number: int, name: str) -> bool:
        """Return whether neither a block itself nor a file that it includes states a setting."""
        return not self.site.levels[number].own(name) and self._is_silent(number, name)

    def _in_force(self, number: int) -> _InForce:
        known = self._stated.get(number)
        if known is None:
            known = self._stated[number] = self._merged(number)
        return known

    def _merged(self, number: int) -> _InForce:
        form = self.level(number)
        around = {} if form["parent"] is None else self._in_force(form["parent"])
        own = {
            name: self._own(number, name, [] if stated is None and self._is_unstated(number, name) else stated, around)
            for name, stated in form["settings"].items()
            if stated is not None or not self._is_inherited(number, name)
        }
        in_force = {**around, **own} if own else around
        if "add_header_inherit" not in in_force:
            return in_force
        inherit, outer, inner = in_force["add_header_inherit"], around.get("add_header", []), own.get("add_header", [])
        if isinstance(inherit, tuple) and self.site.levels[number].target < MERGED_SINCE:
            return in_force
        if isinstance(inherit, list) and isinstance(outer, list) and isinstance(inner, list):
            merged = _with_inherited(self._words("add_header_inherit", inherit[-1]), outer, inner)
            return {**in_force, "add_header": merged}
        stated = ("add_header_inherit", inherit), ("add_header", outer), ("add_header", inner)
        unread = tuple(Unread("", self._value(*each)) for each in stated)
        return {**in_force, "add_header": unread}

    def _own(self, number: int, name: str, stated: list[int] | None, around: _InForce) -> list[int] | Value:
        """Return what a block states, or may state, of a setting."""
        level = self.site.levels[number]
        unread = self._unread(level)
        is_single = name not in _HANDLERS and self._is_stated_once(name)
        if stated is not None and (is_single or not stated or not unread):
            if unread and stated:
                self.stated_once.add((name, beside(level, name, unread)))
            return stated
        inherited = around.get(name, []) if level.inherits(name) else []
        outer = self._value(name, inherited)
        return interleaved(level, name, self._whole, unread, () if self._is_default(name, outer) else outer)

    def _value(self, name: str, stated: list[int] | Value) -> Value:
        if not isinstance(stated, list):
            return stated
        return tuple(self._words(name, directive) for directive in stated)

    def _order(self, in_force: _InForce, group: tuple[str, ...]) -> Value:
        """Return the names of a group of settings in the order in which they are written, if there are several. Unread
        includes are among them already."""
        nodes: dict[int, str] = {}
        for name in group:
            stated = in_force.get(name, [])
            if isinstance(stated, list):
                nodes |= {self.form["directives"][directive]["node"]: name for directive in stated}
        names = tuple(name for _, name in sorted(nodes.items()))
        return (names,) if len(set(names)) > 1 else ()

    def uncounted(self) -> Counter[Words]:
        """Return what changes no answer, in canonical form and with its place: directives, also those of upstreams, and
        parameters of `listen`."""
        directives = Counter(
            (str(directive.name), *self._whole(directive), *_around(level))
            for level in self.site.levels
            for name in level.names & self._invisible
            for directive in level.own(name)
        )
        upstreams = Counter(
            (words[0], name, *words[1:])
            for name, content in self._contents.items()
            for words in content
            if words not in self.upstreams[name]
        )
        listens = Counter(
            (f"listen {word.partition('=')[0]}", *map(str, addresses(directive.args, level.target)), word)
            for level in self.site.levels
            for directive in level.own("listen")
            for word in map(str, directive.args[1:])
            if word.partition("=")[0] in _UNCOUNTED_OF_LISTEN
        )
        return directives + upstreams + listens

    @cached_property
    def keeps_paths(self) -> bool:
        """Whether each URI to which nginx itself leads a request begins with a slash, so that it is in a location "/"
        if there is one."""
        if self.has_open or self.has_opaque or self.has_code:
            return False
        statements = (statement for number in range(len(self.form["levels"])) for statement in self.script(number))
        rewrites = (statement for statement in statements if statement["kind"] == "rewrite")
        targets = [
            each["replacement"]
            for each in rewrites
            if each["flag"] not in ("redirect", "permanent") and not is_url(each["replacement"])
        ]
        for level in self.site.levels:
            for name in group("leads") & level.names:
                targets += [str(word) for directive in level.own(name) for word in directive.args]
        return all(map(_PATH.match, targets))

    @property
    def has_state(self) -> bool:
        """Return whether answers depend on earlier requests, by limits or caches."""
        names = set().union(*(level.names for level in self.site.levels))
        return any(name in ("limit_req", "limit_conn") or name.endswith(("_cache", "_store")) for name in names)

    @cached_property
    def shares_variables(self) -> bool:
        """Whether a location may answer a subrequest, whose variables are those of its request
        (`ngx_http_subrequest`)."""
        names = group("subrequest")
        levels = enumerate(self.site.levels)
        return self.has_code or any(names & level.names or self.may_add(at, *names) for at, level in levels)

    def others(self, number: int) -> dict[str, Value]:
        """Return the directives in force that the model does not read and that may change what is answered or passed
        on, by name, with the variables that nginx reads under some directives.
        """
        known = self._others.get(number)
        if known is None:
            parent = self.level(number)["parent"]
            around = {} if parent is None else self.others(parent)
            own = self._own_others(self.site.levels[number], around)
            own |= {name: (*around.get(name, ()), *own[name]) for name in _ADDED & own.keys()}
            stated = {**around, **own} if own else around
            if inherit := stated.get("add_trailer_inherit"):
                trailers = around.get("add_trailer", ()), own.get("add_trailer", ())
                stated = {**stated, "add_trailer": _with_trailers(inherit, *trailers)}
            formed = {name: self._ordered(name, value) if name in own else value for name, value in stated.items()}
            known = {
                name: value
                for name, value in formed.items()
                if (value and not self._is_default(name, value)) or not self._is_read_around(number, name)
            }
            self._others[number] = known
        return known

    def _is_read_around(self, number: int, name: str) -> bool:
        """Return whether no file that was not read states a setting, in a block or in those around it. Otherwise, a
        block that does not state it may have another value than the default.
        """
        if not self._is_stated_once(name):
            return not any(self._unread(level) for level in self._blocks_around(number))
        return all(
            self._silent.about(include, name)
            for level in self._blocks_around(number)
            for include in self._unread(level)
        )

    def _own_others(self, level: Level, around: Mapping[str, Value]) -> dict[str, Value]:
        stated = [
            directive
            for directive in level.directives
            if self._is_other(directive) and not self.zones.get(str(directive.name))
        ]
        names = dict.fromkeys(str(directive.name) for directive in stated)
        others: dict[str, Value] = {
            name: tuple(self._whole(directive) for directive in level.own(name) if self._is_other(directive))
            for name in names
        }
        unread = self._unread(level)
        if unread:
            several = [name for name in names if not self._is_stated_once(name)]
            others |= {name: interleaved(level, name, self._whole, unread, ()) for name in several}
            # What is in force around the block may be set, or not, in what was not read.
            outer = [name for name in around if self._may_state(level, name)]
            of_packages = [name for name in level.unread if self._is_other_name(name)]
            others |= {
                name: interleaved(level, name, self._whole, unread, around.get(name, ()))
                for name in dict.fromkeys([*outer, *of_packages])
                if name not in names
            }
        unnamed = READING.keys() & level.names
        for name in unnamed if self._reads_host else unnamed - {_PASS}:
            others[name] = (*others.get(name, ()), (READING[name],))
        for name in SHOWS_READING.keys() & others.keys():
            others[name] += tuple((text,) for text in self.readers(SHOWS_READING[name]))
        if any("server_names" in words for words in others.get("valid_referers", ()) if not isinstance(words, Unread)):
            others["valid_referers"] = (*others["valid_referers"], tuple(_names_of_server(level)))
        acting = tuple(str(each.name) for each in stated if self._acts_in_order(each))
        if len(set(acting)) > 1:
            others["order"] = (acting,)
        unknown = self._unknown(level)
        if acting and unknown:
            others["order"] = tuple(
                Unread(str(each.args[0])) if each in unknown else (str(each.name),)
                for each in level.directives
                if each in unknown or str(each.name) in acting
            )
        return others

    def _acts_in_order(self, directive: Directive) -> bool:
        """Return whether the place of a directive among others may count. The modules of nginx itself have their places
        in every request from its build, but for those that answer: the last one does.
        """
        name, found = str(directive.name), effect(str(directive.name), tuple(directive.args))
        return found is not None and (not declarations(name) or name in having("model", "content", "in order"))

    def _may_state(self, level: Level, name: str) -> bool:
        """Return whether a file of which nothing is known may state a setting in a block."""
        is_one = bool(declarations(name))  # and no note of this module, such as an order
        return is_one and any(not self._silent.about(include, name) for include in self._unknown(level))

    def _is_other(self, directive: Directive) -> bool:
        name = str(directive.name)
        is_left = name not in self._read or self._is_without_rows(directive)
        return is_left and name not in self._invisible

    def _is_without_rows(self, directive: Directive) -> bool:
        """Return whether a directive is an empty block of types: without a block, nginx has some of its own
        (`ngx_http_core_default_types`).
        """
        if directive.name != ROWS or directive.block is None:
            return False
        level = self._blocks.get(directive)
        return level is not None and not any(self._content_of(level))

    def _is_other_name(self, name: str) -> bool:
        return name not in self._read and name not in self._invisible

    @cached_property
    def _read(self) -> frozenset[str]:
        return having("model", "read", "structure")

    def code(self, number: int) -> dict[str, Reads]:
        """Return the directives in force at a block with code that may read more than their words name, by name."""
        known = self._code.get(number)
        if known is None:
            parent = self.level(number)["parent"]
            around, outer = ({}, {}) if parent is None else (self.others(parent), self.code(parent))
            code = {
                name: outer.get(name, Reads.NOTHING) if found is around.get(name) else _read_by(name, found)
                for name, found in self.others(number).items()
                if name != "order"
            }
            if self._has_unread(number) and not self._silent.asked.holds(UNREAD_NAMES):
                code["include"] = reads("include")
            known = self._code[number] = {name: read for name, read in code.items() if read}
        return known

    @cached_property
    def code_of_upstreams(self) -> dict[str, Reads]:
        """The directives in upstreams with such code."""
        inner = {words[0]: reads(words[0], words[1:]) for content in self.upstreams.values() for words in content}
        return {name: read for name, read in inner.items() if read}

    def _has_unread(self, number: int | None) -> bool:
        """Return whether a block, or one around it, has an include that was not read."""
        while number is not None:
            form = self.level(number)
            if any(self._name(item["node"]) == "include" for item in form["opaque"]):
                return True
            number = form["parent"]
        return any(self._name(item["node"]) == "include" for item in self.form["opaque"])

    def code_of(self, statement: OpaqueStatementForm) -> Reads:
        """Return what a statement that is not understood may read besides its words."""
        return reads(self._name(statement["node"]))

    def _name(self, node: int) -> str:
        directive = self.site.nodes.directive(node)
        return "" if directive is None else str(directive.name)

    def readers(self, name: str) -> tuple[str, ...]:
        """Return what may read a variable, with all scripts, each with its place; nothing if nothing does."""
        readers = {name, *(each for each in self.definitions if name in self._read_through((each,)))}
        stated = [
            (directive, level, not _read_in(map(str, directive.args)).isdisjoint(readers))
            for level in self.site.levels
            for directive in level.directives
            if directive.name not in self._invisible
        ]
        bulks = (bulk for level in self.site.levels for bulk in level.bulks)
        folded = tuple(bulk.source.data[bulk.span.start : bulk.span.end].decode("latin-1") for bulk in bulks)
        if not any(is_reader for _, _, is_reader in stated) and not any(name in text for text in folded):
            return ()
        scripts = having("effect", "script")
        return folded + tuple(
            " ".join((str(directive.name), *self._whole(directive), *_around(level)))
            for directive, level, is_reader in stated
            if is_reader or directive.name in scripts
        )

    @cached_property
    def has_code(self) -> bool:
        """Return whether code anywhere may read any variable."""
        return self.has_code_in_upstreams or self.has_code_in(range(len(self.form["levels"])))

    def has_code_in(self, levels: Iterable[int]) -> bool:
        """Return whether code of some blocks may read any variable."""
        if not self._may_have_code:
            return False
        return any(Reads.VARIABLES in read for number in levels for read in self.code(number).values())

    @cached_property
    def has_code_in_upstreams(self) -> bool:
        """Whether code in an upstream may."""
        return any(Reads.VARIABLES in read for read in self.code_of_upstreams.values())

    @cached_property
    def _may_have_code(self) -> bool:
        """Whether the name of a directive, or a file that was not read, says that there may be code."""
        names = {str(name) for level in self.site.levels for name in level.names} - {"include"}
        is_read = not self.form["opaque"] and not any(level["opaque"] for level in self.form["levels"])
        return not is_read or any(map(reads, names))

    @cached_property
    def runs_anything(self) -> bool:
        """Whether anything runs, or is shown, whose words do not say what it reads."""
        if self.has_opaque or any(self.code_of_upstreams.values()):
            return True
        levels = range(len(self.form["levels"])) if self._may_have_code else ()
        return any(read for number in levels for read in self.code(number).values())

    @cached_property
    def upstreams(self) -> dict[str, tuple[Words, ...]]:
        """What each upstream says that counts, by its name; a zone counts where a limit of connections is one of all
        workers.
        """
        return {name: tuple(_counted(content)) for name, content in self._contents.items()}

    @cached_property
    def _contents(self) -> dict[str, list[Words]]:
        """What each upstream says, by its name."""
        return {
            self._names.upstream(upstream["name"]): [
                (str(item.name), *self._in_upstream(item)) for item in self._content(upstream["node"])
            ]
            for upstream in self.form["upstreams"]
        }

    def _in_upstream(self, directive: Directive) -> Words:
        words = self._whole(directive)
        return server_of_upstream(words) if directive.name == "server" else words

    @cached_property
    def all_upstreams(self) -> tuple[tuple[str, tuple[Words, ...]], ...]:
        """The upstreams with what they say, by name."""
        return tuple(sorted(self.upstreams.items()))

    @cached_property
    def implied_upstreams(self) -> tuple[tuple[str, tuple[Words, ...]], ...]:
        """The servers that a pass names by a host: nginx knows their addresses, without a resolver, wherever a variable
        has that host and port (`ngx_http_upstream_init_request`).
        """
        passes = (word for level in self.site.levels for name in group("pass") for word in _passed(level, name))
        targets = (_TARGET.fullmatch(word) for word in passes if "$" not in word)
        found = {each[1].lower() for each in targets if each is not None}
        stated = {name.lower() for name in self.upstreams}
        return tuple((text, ()) for text in sorted(found) if text.rpartition("://")[2] not in stated)

    def upstreams_in(self, words: Iterable[str]) -> tuple[tuple[str, tuple[Words, ...]], ...]:
        """Return those upstreams that words without variables may name, in any case of letters."""
        text = "\0".join(words).lower()
        by_name, others = self._upstream_names
        names = {name for host in set(_HOST.findall(text)) for name in by_name.get(host, ())}
        names.update(name for name in others if name.lower() in text)
        return tuple((name, self.upstreams[name]) for name in sorted(names))

    @cached_property
    def _upstream_names(self) -> tuple[dict[str, list[str]], list[str]]:
        """The names of upstreams as they may stand in words: those that are hosts, in lower case, and the others."""
        by_host: dict[str, list[str]] = {}
        others = []
        for name in self.upstreams:
            if _HOST.fullmatch(name.lower()):
                by_host.setdefault(name.lower(), []).append(name)
            else:
                others.append(name)
        return by_host, others


def _runs(form: Definition) -> bool:
    """Return whether a definition is code."""
    return form["kind"] == "opaque" and Reads.VARIABLES in reads_as_definition(form["content"][0])


def _passed(level: Level, name: str) -> Iterator[str]:
    """Yield where a block passes requests on to."""
    return (str(each.args[0]) for each in level.own(name) if each.args)


def _zone_of(words: Words) -> str:
    """Return the name of the zone in the words of a limit, or of the definition of one."""
    named = next((word for word in words if word.startswith("zone=")), words[0])
    return named.removeprefix("zone=").partition(":")[0]


def _read_by(name: str, value: Value) -> Reads:
    """Return what a directive may read besides its words, wherever a block states it."""
    return reduce(or_, (reads(name, tuple(words)) for words in value), Reads.NOTHING)


def _asks_password(known: Mapping[str, Value]) -> bool:
    """Return whether `auth_basic` certainly lets a client pass or not, whatever else does (`satisfy any`)."""
    words = [part for name in ("auth_basic", "auth_basic_user_file") for part in known.get(name, ())]
    is_read = len(words) == 2 and not any(isinstance(part, Unread) for part in words)
    return is_read and words[0] != ("off",) and not any("$" in word for part in words for word in part)


def _without_last_denied(name: str, rules: Value) -> Value:
    """Return rules of access without the denials at their end."""
    parts = list(rules)
    while parts and not isinstance(parts[-1], Unread) and (len(parts[-1]) == 1) == (name == "deny"):
        parts.pop()
    return tuple(parts)


def _states_host(headers: Value) -> bool:
    """Return whether headers that were all read set Host to something else than the name of the upstream."""
    known = [part for part in headers if not isinstance(part, Unread)]
    is_whole = len(known) == len(headers)
    return is_whole and any(words[0].lower() == "host" and "proxy_host" not in words[1] for words in known)


def _names_in_tls(gateway: str, passed: Value, others: Mapping[str, Value]) -> bool:
    """Return whether a connection to an upstream asks for the name of it, or checks it."""
    if not any(word.startswith(("https:", "grpcs:")) for directive in passed for word in directive):
        return False
    is_named = f"{gateway}_ssl_name" in others
    return not is_named and bool({f"{gateway}_ssl_server_name", f"{gateway}_ssl_verify"} & others.keys())


def _read_in(words: Iterable[str]) -> set[str]:
    """Return the variables in words that nginx evaluates."""
    return set().union(*(variables(word.encode("latin-1")) for word in words if "$" in word))


def _words_of(form: Definition) -> Iterator[str]:
    """Yield the words of a definition."""
    if form["kind"] == "opaque":
        yield from form["content"]
        return
    yield form["source"] or ""
    for row in form["rows"]:
        yield from row["args"]


def _with_inherited(inherit: Words, around: Headers, own: Headers) -> Headers:
    """Return the headers of a block by the `add_header_inherit` in force there (`ngx_http_headers_merge`)."""
    match inherit[0].lower():
        case "off":
            return own
        case "merge":
            return own + around
        case _:
            return own or around


def _around(level: Level | None) -> Iterator[str]:
    """Yield the words of a block and of those around it, with the names of a server."""
    while level is not None:
        yield level.kind
        if level.opener is not None:
            yield from map(str, level.opener.args)
        yield from _names_of(level)
        level = level.parent


def _names_of_server(level: Level | None) -> Iterator[str]:
    """Yield the names of the server around a block; nothing outside of servers."""
    while level is not None and level.kind != "server":
        level = level.parent
    if level is not None:
        yield from _names_of(level)


def _names_of(level: Level) -> Iterator[str]:
    """Yield the names that a block states, if it is a server."""
    if level.kind == "server":
        yield from sorted(str(word) for names in level.own("server_name") for word in names.args)


def _counted(content: Sequence[Words]) -> Iterator[Words]:
    """Yield what an upstream says that counts."""
    is_limited = any(word.startswith("max_conns=") for words in content for word in words)
    for words in content:
        if not words[0].startswith("keepalive") and (words[0] != "zone" or is_limited):
            yield words


def _with_trailers(inherit: Value, around: Value, own: Value) -> Value:
    """Return the trailers of a block, as `_with_inherited`, if all of it was read."""
    value = inherit[-1]
    if isinstance(value, Unread) or any(isinstance(part, Unread) for part in (*around, *own)):
        return Unread("", inherit), Unread("", around), Unread("", own)
    return _with_inherited(value, around, own)


def unlike_values(old: VerifiedSide, level: int, new: VerifiedSide, other: int) -> dict[str, tuple[Value, Value]]:
    """Return the settings that are in force at only one of two blocks, or otherwise, with what both say of them."""
    mine: dict[str, Value] = {**old.others(level), **old.settings(level)}
    theirs: dict[str, Value] = {**new.others(other), **new.settings(other)}
    unlike = {name: (mine.get(name, ()), theirs.get(name, ())) for name in mine.keys() | theirs.keys()}
    return {name: values for name, values in unlike.items() if values[0] != values[1]}


def unlike_settings(old: VerifiedSide, level: int, new: VerifiedSide, other: int) -> list[str]:
    """Return the names of the settings that are in force at only one of two blocks, or otherwise, and the files that
    were not read and may state further ones.
    """
    unlike = unlike_values(old, level, new, other)
    unread = {name for name, values in unlike.items() if any(map(is_only_unread, values))}
    files = {part.what for name in unread for value in unlike[name] for part in value if isinstance(part, Unread)}
    return [*sorted(unlike.keys() - unread), *sorted(f"those of {file}" for file in files if file)]


def both_values(old: VerifiedSide, level: int, new: VerifiedSide, other: int) -> str:
    """Return both values of the first setting that is in force at only one of two blocks, or otherwise, as a clause;
    nothing if it is long, or of unread files.
    """
    for name in unlike_settings(old, level, new, other):
        said = [_said(side.site.levels[at].setting(name).directives) for side, at in ((old, level), (new, other))]
        own = [[each for each in side if each not in others] for side, others in (said, said[::-1])]
        if any(own):
            texts = [
                ", ".join(mine) or ("without that" if all_ else "not stated")
                for mine, all_ in zip(own, said, strict=True)
            ]
            return f" ({name} {texts[0]} before, {texts[1]} now)" if max(map(len, texts)) <= _LONGEST else ""
    return ""


def _said(directives: Iterable[Directive]) -> list[str]:
    return [" ".join(map(str, directive.args)) for directive in directives]
