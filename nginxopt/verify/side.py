"""One of the two configurations that are compared: the settings in force in each of its blocks, in canonical form."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from nginxopt import lazy
from nginxopt.facts import group, having
from nginxopt.facts.table import declarations
from nginxopt.facts.vendors import has
from nginxopt.semantics.inherit import HOST_ALWAYS, MERGED_SINCE, origin, packaged_names
from nginxopt.semantics.site.form import SiteForm
from nginxopt.semantics.site.levels import ROWS
from nginxopt.semantics.values import addresses, is_url
from nginxopt.verify.canonical import access
from nginxopt.verify.influences import INVISIBLE, SETTINGS
from nginxopt.verify.names import Names, host_of_pass
from nginxopt.verify.premises import COLD_CACHE, HOST_HEADER, REDIRECTS_BY_NAME
from nginxopt.verify.unmodelled import LIMITS, UnmodelledReading, blocks_of, with_inherited, words_of, zone_of
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

if TYPE_CHECKING:
    from nginxopt.config import Directive
    from nginxopt.semantics.site import LoweredSite

_OF_UPSTREAMS = ("proxy_host", "proxy_port", "upstream_addr", "proxy_internal")
"""Variables that may have the name of an upstream."""

_OF_FOLDERS = frozenset(["root", "index"])
"""Settings that count only where files are looked for."""

_OF_TYPES = frozenset(["default_type", ROWS])
"""Settings that count only where nginx finds the type of a response (`ngx_http_set_content_type`): not in the response
of an upstream, except for memcached, which sends none."""

_DECIDING = frozenset().union(*SETTINGS.values())
_HTTP = 0  # the number of the http block

_FOLDER_VARIABLES = tuple(name for name, deciding in SETTINGS.items() if deciding == group("root"))
"""Variables that name the folder or the file of a request."""

_HANDLERS = tuple(sorted(having("inherited", "handler") - {"perl"}))
_ORDERED = (("allow", "deny"), _HANDLERS)
"""Settings whose order counts: the first access rule that fits decides, and the last handler."""

_UNCOUNTED_OF_LISTEN = {
    "accept_filter", "backlog", "bind", "deferred", "fastopen", "http2", "multipath", "rcvbuf", "reuseport", "setfib",
    "sndbuf", "so_keepalive", "spdy",
}  # fmt: skip
"""The parameters of `listen` that change how nginx accepts connections, but no answer."""

_EVALUATED = {"root": 0, **dict.fromkeys(group("fields"), 1)}
"""Settings whose text with variables means to nginx what the same text without them does, with its place."""

_FOLDER = lazy.pattern(r"/[^$]*[^/$]")
"""A folder that nginx takes as it is: it completes others, and cuts a slash off only where there is no variable
(`ngx_http_core_root`)."""

_PATH = lazy.pattern(r"[/@=]|off\Z|\$(?:uri|document_uri)(?!\w)|\$\{(?:uri|document_uri)\}", re.ASCII)
"""The beginning of a target that is a path, a named location, or a status."""

_VARIABLE = lazy.pattern(r"\$(?:\w+|\{\w+\})", re.ASCII)
_HOST_VARIABLE = lazy.pattern(r"\$\{?(http_)?host\}?", re.ASCII)
"""The host of a request, which is empty only if it names none; `$host` is the name of the server then."""

SHOWN_NAME = "the name of the upstream"
"""The key in the settings of a block for the name of its upstream, if a client or the upstream may see that name."""

_LONGEST = 100
"""The most characters of a value in a doubt."""

_InForce = dict[str, list[int] | Value]
"""Settings by name: the numbers of their directives, or what is known of them where not all was read."""


class VerifiedSide(UnmodelledReading):
    """A site, with cached answers to what is asked of it repeatedly.

    `form` is that of the site, or that with other names. `counting` are the directives that are visible in this
    comparison although they change no answer by themselves (`influences.counting`). `silent` says what files that were
    not read certainly do not state, `names` which names stand for others, and `shown` are the upstreams of this side
    that have another name on the other one. `is_part`: whether other files may have further blocks inside of its own.

    Attributes:
        stated_once: The settings that an unread file in the same block cannot state as well, since nginx refuses
            duplicates, with their places. Only those that were asked for so far.
    """

    def __init__(
        self,
        site: LoweredSite,
        form: SiteForm,
        counting: frozenset[str] = frozenset(),
        silent: Silent | None = None,
        names: Names | None = None,
        shown: frozenset[str] = frozenset(),
        *,
        is_part: bool = True,
    ) -> None:
        silent, names = silent or Silent(), names or Names()
        super().__init__(site, form, INVISIBLE - counting, silent, names)
        self.stated_once: set[tuple[str, Place]] = set()
        self._shown = shown
        self._is_part = is_part
        self._stated: dict[int, _InForce] = {}
        self._known: dict[int, dict[str, Value]] = {}
        self._counted: dict[int, dict[str, Value]] = {}

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
            known = self._known[number] = self._settings(number, filled=True)
        return known

    def early_settings(self, number: int) -> Mapping[str, Value]:
        """Return the settings of a server for a request that nginx answers before its script, which sets constants."""
        return self._settings(number, filled=False) if self._constants_at(number) else self.settings(number)

    def _settings(self, number: int, *, filled: bool) -> dict[str, Value]:
        in_force = self._in_force(number)
        known = {name: self._value(name, stated) for name, stated in in_force.items()}
        if filled and self.constants:
            known |= {name: self._filled(number, name, known[name]) for name in _EVALUATED.keys() & known.keys()}
        known |= {f"order of {'/'.join(group)}": self._order(in_force, group) for group in _ORDERED}
        known = {name: value for name, value in known.items() if value}
        if "proxy_pass" in known and (redirects := self._redirects(number)) != self._nearest_default(number):
            known["proxy_redirect"] = redirects
        known = self._with_access(number, known) | self._shown_name(number, known) | self._zones_of(known)
        known = {name: self._ordered(name, value) for name, value in known.items()}
        known = {name: value for name, value in known.items() if value and not self._is_default(name, value)}
        if not _OF_FOLDERS.isdisjoint(known) and "try_files" not in known and self._only_passes(number):
            known = {name: value for name, value in known.items() if name not in _OF_FOLDERS}
        if not _OF_TYPES.isdisjoint(known) and self._finds_no_type(number):
            known = {name: value for name, value in known.items() if name not in _OF_TYPES}
        return self._without_idle(number, known)

    def _filled(self, number: int, name: str, value: Value) -> Value:
        return tuple(
            Unread(part.what, self._filled(number, name, part.around))
            if isinstance(part, Unread)
            else self.filled(number, name, part)
            for part in value
        )

    def filled(self, number: int, name: str, words: Words) -> Words:
        """Return the words of a setting with the texts of the constants at a block."""
        at = _EVALUATED.get(name, len(words))
        constants = self._constants_at(number) if len(words) > at and "$" in words[at] else None
        if not constants:
            return words
        text = _VARIABLE.sub(lambda found: constants.get(found[0].strip("${}").lower(), found[0]), words[at])
        if text == words[at] or (name == "root" and not _FOLDER.fullmatch(text)):
            return words
        return self._canonical(name, (*words[:at], text, *words[at + 1 :]))

    def _constants_at(self, number: int) -> Mapping[str, str]:
        at: int | None = number
        while at is not None and self.level(at)["kind"] != "server":
            at = self.level(at)["parent"]
        return {} if at is None else self.constants.get(at, {})

    def others(self, number: int) -> Mapping[str, Value]:
        """Return the directives of `stated_others` that count in a block."""
        known = self._counted.get(number)
        if known is None:
            known = self._counted[number] = self._without_idle(number, self.stated_others(number))
        return known

    def _without_idle(self, number: int, known: Mapping[str, Value]) -> dict[str, Value]:
        """Return settings without those of modules that pass nothing on from a block. Those that decide variables count
        anywhere, and so does what was not read."""
        idle = self._idle(number) if known else frozenset()
        return {name: value for name, value in known.items() if not idle or not _is_of(name, value, idle)}

    def _idle(self, number: int) -> frozenset[str]:
        """Return the modules that pass nothing on from a block; none if there may be blocks in it that were not read,
        or directives that are not nginx's own, as these may use the settings of one."""
        if self._is_part:
            return frozenset()
        blocks = [number]
        while self.level(blocks[-1])["kind"] not in ("location", "server", "http"):
            blocks.append(self.level(blocks[-1])["parent"] or _HTTP)  # an `if` passes on as the location around it does
        if any(map(self.is_open, blocks)) or not all(map(declarations, self.stated_others(number))):
            return frozenset()
        used = {name for block in blocks for name in self._in_force(block)}
        return frozenset(declarations(name)[0].module for name in group("pass") - used)

    def _only_passes(self, number: int) -> bool:
        """Return whether a location passes on all that it does not answer by its script, and nothing looks for a file
        under its `root`: nginx runs no other handler then (`ngx_http_core_content_phase`).
        """
        if self.level(number)["kind"] != "location" or not (self.handler(number) or "").endswith("_pass"):
            return False
        return not self._looks_for_files

    def _finds_no_type(self, number: int) -> bool:
        """Return whether all that a location answers are responses of an upstream, pages of errors and redirects."""
        if self.level(number)["kind"] != "location" or self.has_code or self.is_open(number):
            return False
        handler = self.handler(number) or ""
        answers = any(statement["kind"] in ("return", "opaque") for statement in self.script(number))
        is_of_nginx = all(map(declarations, self.stated_others(number)))
        return handler.endswith("_pass") and handler != "memcached_pass" and not answers and is_of_nginx

    @cached_property
    def _looks_for_files(self) -> bool:
        """Whether anything may read the folder of a location besides the handlers of files: a program, a variable, or
        what stores responses."""
        if self.has_code or self.has_unread_definitions or self._may_read(*_FOLDER_VARIABLES):
            return True
        if any(name.endswith("_store") for level in self.site.levels for name in level.names):
            return True
        unread = (include for level in self.site.levels for include in self._unread(level))
        return any(origin(each) is None or "types" not in packaged_names(each) for each in unread)

    def _zones_of(self, known: Mapping[str, Value]) -> dict[str, Value]:
        """Return the definitions of those zones that the limits in force use, if nothing else uses zones (`zones`)."""
        found: dict[str, Value] = {}
        for limit, defining in LIMITS.items():
            names = dict.fromkeys(zone_of(words) for words in known.get(limit, ()) if not isinstance(words, Unread))
            rows = tuple(self.zones[defining][name] for name in names if name in self.zones[defining])
            found |= {defining: rows} if rows else {}
        return found

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
        is_host = not self._states_host(number, known.get("proxy_set_header", ()))
        if is_host or _names_in_tls("proxy", known["proxy_pass"], others):
            return True
        asked = self._silent.asked
        return (has_default and not asked.holds(REDIRECTS_BY_NAME)) or (is_key and not asked.holds(COLD_CACHE))

    def _shows_grpc(self, number: int, known: Mapping[str, Value]) -> bool:
        """Return whether the name is the authority of a request, or in TLS."""
        others = self.others(number)
        is_host = not self._states_host(number, others.get("grpc_set_header", ()))
        return is_host or _names_in_tls("grpc", known["grpc_pass"], others)

    def _states_host(self, number: int, headers: Value) -> bool:
        """Return whether headers that were all read set Host to something else than the name of the upstream."""
        known = [part for part in headers if not isinstance(part, Unread)]
        is_whole = len(known) == len(headers)
        return is_whole and any(words[0].lower() == "host" and self._is_other_host(number, words[1]) for words in known)

    def _is_other_host(self, number: int, value: str) -> bool:
        """Return whether a Host is never the name of the upstream, which nginx sends in place of an empty value since
        `HOST_ALWAYS`."""
        if "proxy_host" in value:
            return False
        if self.site.levels[0].target < HOST_ALWAYS or _VARIABLE.sub("", value):
            return True
        host = _HOST_VARIABLE.fullmatch(value)
        if host is None:
            return False
        is_named = host[1] is None and not self.unread and bool(self.server_name_of(number))
        return is_named or self._silent.asked.holds(HOST_HEADER)

    @cached_property
    def _reads_names(self) -> bool:
        """Whether anything may read the names of upstreams: a program, or a variable."""
        return self.has_code or self._may_read(*_OF_UPSTREAMS)

    def _may_read(self, *variables: str) -> bool:
        """Return whether a word or a rule that was read has the name of a variable in it."""
        words = (
            str(word)
            for level in self.site.levels
            for directive in level.directives
            if directive.name not in self._invisible
            for word in directive.args
        )
        rows = (word for form in self.form["variables"] for word in words_of(form))
        upstreams = (word for content in self._contents.values() for words in content for word in words)
        folded = (
            bulk.source.data[bulk.span.start : bulk.span.end] for level in self.site.levels for bulk in level.bulks
        )
        text, bulks = "\n".join((*words, *rows, *upstreams)).lower(), b"\n".join(folded).lower()
        return any(name in text or name.encode() in bulks for name in variables)

    def _with_access(self, number: int, known: dict[str, Value]) -> dict[str, Value]:
        """Return settings with what the access rules decide in place of these rules, if all of them were read. If not,
        drop the denials behind the last unread file where they decide nothing."""
        rules = [(name, known.get(name, ())) for name in ("allow", "deny")]
        is_any = self._is_any(known.get("satisfy", ()))
        # A block in an unread file would inherit the rules, and might ask for no password.
        is_asked = is_any and _asks_password(known) and not self.may_add(number, "location", "limit_except")
        if any(isinstance(part, Unread) for _, value in rules for part in value):
            if not is_asked:
                return known
            allow, deny = (_without_last_denied(name, value) for name, value in rules)
            return {**known, "allow": () if allow == deny else allow, "deny": deny}  # both are the same unread file
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
        """Return the `proxy_redirect` that the pass of a block implies; nothing if it has no pass, or variables in
        it."""
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
            merged = with_inherited(self._words("add_header_inherit", inherit[-1]), outer, inner)
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
            (str(directive.name), *self._whole(directive), *blocks_of(level))
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
        if self.may_lead or self.has_opaque or self.has_read_code:
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

    @cached_property
    def may_read_early(self) -> bool:
        """Whether the body of a request may be read before the script of a server runs (`ngx_http_read_early_body`)."""
        if self.runs_code or any(_READS_EARLY in level.names for level in self.site.levels):
            return True
        return (self._is_part or bool(self.unread)) and has(self.site.levels[0].target, _READS_EARLY)

    @property
    def has_state(self) -> bool:
        """Whether answers depend on earlier requests, by limits or caches."""
        names = set().union(*(level.names for level in self.site.levels))
        return any(name in ("limit_req", "limit_conn") or name.endswith(("_cache", "_store")) for name in names)

    @cached_property
    def shares_variables(self) -> bool:
        """Whether a location may answer a subrequest, whose variables are those of its request
        (`ngx_http_subrequest`)."""
        names = group("subrequest")
        levels = enumerate(self.site.levels)
        return self.has_code or any(names & level.names or self.may_add(at, *names) for at, level in levels)


_READS_EARLY = "client_body_early_read"


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


def _is_of(name: str, value: Value, modules: frozenset[str]) -> bool:
    """Return whether a setting that was read is one of some modules, and decides no variable."""
    if name in _DECIDING or any(isinstance(part, Unread) for part in value):
        return False
    return any(each.module in modules for each in declarations(name))


def _names_in_tls(gateway: str, passed: Value, others: Mapping[str, Value]) -> bool:
    """Return whether a connection to an upstream asks for the name of it, or checks it."""
    if not any(word.startswith(("https:", "grpcs:")) for directive in passed for word in directive):
        return False
    is_named = f"{gateway}_ssl_name" in others
    return not is_named and bool({f"{gateway}_ssl_server_name", f"{gateway}_ssl_verify"} & others.keys())


def unlike_values(old: VerifiedSide, level: int, new: VerifiedSide, other: int) -> dict[str, tuple[Value, Value]]:
    """Return the settings in which two blocks differ, with both values; no value if a block does not have it."""
    mine: dict[str, Value] = {**old.others(level), **old.settings(level)}
    theirs: dict[str, Value] = {**new.others(other), **new.settings(other)}
    unlike = {name: (mine.get(name, ()), theirs.get(name, ())) for name in mine.keys() | theirs.keys()}
    return {name: values for name, values in unlike.items() if values[0] != values[1]}


def unlike_settings(old: VerifiedSide, level: int, new: VerifiedSide, other: int) -> list[str]:
    """Return the names of the settings in which two blocks differ, and the files that were not read and may state
    further ones.
    """
    unlike = unlike_values(old, level, new, other)
    unread = {name for name, values in unlike.items() if any(map(is_only_unread, values))}
    files = {part.what for name in unread for value in unlike[name] for part in value if isinstance(part, Unread)}
    return [*sorted(unlike.keys() - unread), *sorted(f"those of {file}" for file in files if file)]


def both_values(old: VerifiedSide, level: int, new: VerifiedSide, other: int) -> str:
    """Return both values of the first setting in which two blocks differ, as a clause; nothing if they are long, or in
    unread files.
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
