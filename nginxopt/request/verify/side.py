"""One of the two configurations that are compared, as a site."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from nginxopt._native import request_settings
from nginxopt.config import statements
from nginxopt.request.verify.influences import INVISIBLE, READING
from nginxopt.request.verify.named import is_own, named_groups
from nginxopt.semantics.site.effects import effect
from nginxopt.semantics.site.form import (
    GeoForm,
    LevelForm,
    MapForm,
    OpaqueVariableForm,
    ServerForm,
    SiteForm,
    StatementForm,
)
from nginxopt.semantics.site.script import latin
from nginxopt.semantics.site.settings import ROWS
from nginxopt.text import Source

if TYPE_CHECKING:
    from nginxopt.config import Directive
    from nginxopt.semantics import Level
    from nginxopt.semantics.site import LoweredSite

_HANDLERS = (
    "proxy_pass", "fastcgi_pass", "uwsgi_pass", "scgi_pass", "grpc_pass", "memcached_pass", "stub_status", "empty_gif",
    "flv", "mp4",
)  # fmt: skip
_ORDERED = (("allow", "deny"), _HANDLERS)
"""Settings whose order among each other counts: the first rule of access that fits, and the last handler."""

_STRUCTURE = {"server", "location", "if", "limit_except", "listen", "server_name", "include", "upstream"}
_DEFINED = {"map", "geo", "split_clients"}
_SCRIPT = {"set", "rewrite", "return", "break"}

_HOST = re.compile(r"[\w.-]+", re.ASCII)
"""A host as a `*_pass` names it, between what may stand around it."""

Definition = MapForm | GeoForm | OpaqueVariableForm

Words = tuple[str, ...]
"""The arguments of a directive."""

Headers = TypeVar("Headers", list[int], tuple[Words, ...])
"""The directives of a block that add headers or trailers."""


@dataclass(frozen=True, slots=True)
class LocationName:
    """The modifier and the path, pattern or name of a location."""

    modifier: str
    text: bytes


class Side:
    """A site, with what is asked of it again and again.

    `form` is that of the site, or that with other names; `counting` are directives that count as an answer, though they
    would not everywhere (`influences.counting`).
    """

    def __init__(self, site: LoweredSite, form: SiteForm, counting: frozenset[str] = frozenset()) -> None:
        self.site = site
        self.form = form
        self._invisible = INVISIBLE - counting
        self._scripts: dict[int, Sequence[StatementForm]] = {}
        self._known: dict[int, dict[str, tuple[Words, ...] | None]] = {}
        self._others: dict[int, dict[str, tuple[Words, ...]]] = {}

    def level(self, number: int) -> LevelForm:
        """Return a block by its number."""
        return self.form["levels"][number]

    def server(self, number: int) -> ServerForm:
        """Return a server by its number."""
        return self.form["servers"][number]

    def script(self, number: int) -> Sequence[StatementForm]:
        """Return the statements of a block, those of folded runs one by one."""
        known = self._scripts.get(number)
        if known is None:
            statements = self.level(number)["script"]
            known = self._scripts[number] = [inner for statement in statements for inner in self._unfolded(statement)]
        return known

    def _unfolded(self, statement: StatementForm) -> Iterator[StatementForm]:
        if statement["kind"] != "rewrites":
            yield statement
            return
        source = Source("", self.site.texts[statement["text"]])
        rules = statements(source, start=statement["start"], end=statement["end"])
        for node, rule in enumerate((rule for rule in rules if rule.kind == ";"), statement["node"]):
            _, *words = map(latin, rule.words)
            yield {
                "kind": "rewrite",
                "node": node,
                "pattern": words[0],
                "replacement": words[1],
                "flag": words[2] if len(words) > 2 else None,
            }

    def text(self, node: int) -> str:
        """Return a directive as it is written."""
        return self.site.nodes.place(node).text

    def handler(self, number: int) -> str | None:
        """Return the directive that makes a block handle requests, the last of its own; "unknown" if one may be.

        A `limit_except` has one that passes requests on from the location around it (`ngx_http_proxy_merge_loc_conf`).
        """
        form = self.level(number)
        is_limit = form["kind"] == "limit_except"
        around = self._in_force(number) if is_limit else {}
        passing = {name: directives for name, directives in around.items() if name.endswith("_pass")}
        own = {**passing, **form["settings"]}
        if any(own.get(name, []) is None for name in _HANDLERS):
            return "unknown"
        nodes = {
            self.form["directives"][directive]["node"]: name for name in _HANDLERS for directive in own.get(name) or ()
        }
        return nodes[max(nodes)] if nodes else None

    def setting(self, number: int, name: str) -> tuple[Words, ...] | None:
        """Return the directives in force at a block by their arguments; None if they are not known."""
        return self._settings(number).get(name, ())

    def settings(self, number: int) -> Mapping[str, tuple[Words, ...] | None]:
        """Return all settings of a block that the model reads and something sets, by name."""
        return self._settings(number)

    def _settings(self, number: int) -> dict[str, tuple[Words, ...] | None]:
        known = self._known.get(number)
        if known is None:
            in_force = self._in_force(number)
            known = {name: self._all_words(directives) for name, directives in in_force.items()}
            known |= {f"order of {'/'.join(group)}": self._order(in_force, group) for group in _ORDERED}
            known = self._known[number] = {name: words for name, words in known.items() if words != ()}
        return known

    def _in_force(self, number: int) -> dict[str, list[int] | None]:
        form = self.level(number)
        around = {} if form["parent"] is None else self._in_force(form["parent"])
        own = form["settings"]
        in_force = {**around, **own} if own else around
        if "add_header_inherit" not in in_force:
            return in_force
        inherit, outer, inner = in_force["add_header_inherit"], around.get("add_header", []), own.get("add_header", [])
        if inherit is None or outer is None or inner is None:
            return {**in_force, "add_header": None}
        return {**in_force, "add_header": _with_inherited(self._words(inherit[-1]), outer, inner)}

    def _all_words(self, directives: list[int] | None) -> tuple[Words, ...] | None:
        return None if directives is None else tuple(map(self._words, directives))

    def _order(self, in_force: Mapping[str, list[int] | None], group: tuple[str, ...]) -> tuple[Words, ...]:
        """Return the names of a group in the order in which they are written, if there are several."""
        stated = [
            (self.form["directives"][directive]["node"], name)
            for name in group
            for directive in in_force.get(name) or ()
        ]
        names = tuple(name for _, name in sorted(stated))
        return (names,) if len(set(names)) > 1 else ()

    def _words(self, directive: int) -> Words:
        return tuple(self.form["directives"][directive]["args"])

    def uncounted(self) -> Counter[Words]:
        """Return the directives that do not count as an answer, as they are written."""
        return Counter(
            (str(directive.name), *map(str, directive.args))
            for level in self.site.levels
            for name in level.names & self._invisible
            for directive in level.own(name)
        )

    @cached_property
    def stated(self) -> frozenset[str]:
        """The names of the settings that are stated anywhere."""
        return frozenset(name for level in self.form["levels"] for name in level["settings"])

    def others(self, number: int) -> dict[str, tuple[Words, ...]]:
        """Return the directives in force that the model does not read and that may change what is answered or passed
        on, by name, with the variables that nginx reads under some directives.
        """
        known = self._others.get(number)
        if known is None:
            parent = self.level(number)["parent"]
            around = {} if parent is None else self.others(parent)
            own = self._own_others(self.site.levels[number])
            known = {**around, **own} if own else around
            if inherit := known.get("add_trailer_inherit"):
                trailers = around.get("add_trailer", ()), own.get("add_trailer", ())
                known = {**known, "add_trailer": _with_inherited(inherit[-1], *trailers)}
            self._others[number] = known
        return known

    def _own_others(self, level: Level) -> dict[str, tuple[Words, ...]]:
        others: dict[str, list[Words]] = {}
        stated: list[tuple[str, Words]] = []
        for directive in level.directives:
            name = str(directive.name)
            if (name not in self._read or _is_without_rows(directive)) and self._counts(directive):
                others.setdefault(name, []).append(_whole(directive))
                stated.append((name, tuple(directive.args)))
        for name in READING.keys() & level.names:
            others.setdefault(name, []).append((READING[name],))
        acting = tuple(name for name, words in stated if effect(name, words) is not None)
        order = {"order": [acting]} if len(set(acting)) > 1 else {}
        return {name: tuple(words) for name, words in (others | order).items()}

    def _counts(self, directive: Directive) -> bool:
        return str(directive.name) not in self._invisible

    @cached_property
    def _read(self) -> frozenset[str]:
        return frozenset(request_settings()) | _STRUCTURE | _DEFINED | _SCRIPT

    @cached_property
    def definitions(self) -> dict[str, Definition]:
        """The variables that the configuration defines outside of scripts, by name; the last of a name counts, if no
        named group behind it has that name, too.
        """
        forms = {form["variable"].removeprefix("$").lower(): form for form in self.form["variables"]}
        return {name: form for name, form in forms.items() if self.named_groups.get(name, -1) < form["node"]}

    @cached_property
    def named_groups(self) -> dict[str, int]:
        """The names of the groups of all patterns, with the node of the last directive that has it."""
        named: dict[str, int] = {}
        script = (statement for number in range(len(self.form["levels"])) for statement in self.script(number))
        for name, node in named_groups(self.form, script):
            named[name] = max(node, named.get(name, node))
        return named

    @cached_property
    def taken(self) -> frozenset[str]:
        """The variables of nginx itself that it no longer looks up, as named groups have their names."""
        return frozenset(filter(is_own, self.named_groups))

    @cached_property
    def stated_in_locations(self) -> frozenset[str]:
        """The directives of locations, and of the blocks inside them."""
        inner = (level for level, form in zip(self.site.levels, self.form["levels"], strict=True) if _is_inner(form))
        return frozenset(str(directive.name) for level in inner for directive in level.directives)

    @property
    def has_opaque(self) -> bool:
        """Return whether a script or the http block has something that is not understood."""
        scripts = (self.script(number) for number in range(len(self.form["levels"])))
        return bool(self.form["opaque"]) or any(item["kind"] == "opaque" for script in scripts for item in script)

    @cached_property
    def upstreams(self) -> dict[str, tuple[Words, ...]]:
        """What each upstream says, by its name; a zone counts where a limit of connections is one of all workers."""
        contents = {}
        for upstream in self.form["upstreams"]:
            directive = self.site.nodes.directive(upstream["node"])
            inner = directive.block.directives() if directive is not None and directive.block is not None else ()
            words = [
                (str(item.name), *map(latin, item.args)) for item in inner if not item.name.startswith("keepalive")
            ]
            is_limited = any(word.startswith("max_conns=") for each in words for word in each)
            contents[upstream["name"]] = tuple(each for each in words if each[0] != "zone" or is_limited)
        return contents

    @cached_property
    def all_upstreams(self) -> tuple[tuple[str, tuple[Words, ...]], ...]:
        """The upstreams with what they say, by name."""
        return tuple(sorted(self.upstreams.items()))

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

    def open_servers(self) -> list[int]:
        """Return the servers with something that is missing or not understood, which may say where they listen."""
        levels = ((number, server["level"]) for number, server in enumerate(self.form["servers"]))
        return [number for number, level in levels if self.level(level)["opaque"]]

    def server_name(self, server: int) -> str:
        """Return the first name of a server, as `$server_name` has it."""
        names = self.server(server)["names"]
        return names[0]["text"] if names else ""

    def server_name_of(self, level: int) -> str:
        """Return the first name of the server around a block."""
        number: int | None = level
        while number is not None and self.level(number)["kind"] != "server":
            number = self.level(number)["parent"]
        server = self._server_at.get(number if number is not None else -1)
        return "" if server is None else self.server_name(server)

    @cached_property
    def _server_at(self) -> dict[int, int]:
        return {server["level"]: number for number, server in enumerate(self.form["servers"])}

    def location_name(self, number: int) -> LocationName:
        """Return the name of a location."""
        args = self.level(number)["args"]
        word = args[0] if args else ""
        if len(args) > 1:
            return LocationName(word, args[1].encode("latin-1"))
        modifier = next((sign for sign in ("~*", "^~", "=", "~", "@") if word.startswith(sign)), "")
        text = word if modifier == "@" else word.removeprefix(modifier)
        return LocationName(modifier, text.encode("latin-1"))


def _with_inherited(inherit: Words, around: Headers, own: Headers) -> Headers:
    """Return the headers of a block by the `add_header_inherit` in force there (`ngx_http_headers_merge`)."""
    match inherit[0].lower():
        case "off":
            return own
        case "merge":
            return own + around
        case _:
            return own or around


def _is_inner(form: LevelForm) -> bool:
    return form["kind"] in ("location", "if", "limit_except")


def _is_without_rows(directive: Directive) -> bool:
    """Return whether a directive is an empty block of types: without a block, nginx has some of its own
    (`ngx_http_core_default_types`).
    """
    return directive.name == ROWS and directive.block is not None and not any(directive.block.directives())


def _whole(directive: Directive) -> Words:
    """Return the arguments of a directive with the content of its block, as Latin-1 like all words of forms."""
    words = map(latin, directive.args)
    if directive.block is None:
        return tuple(words)
    block = directive.source.data[directive.block.span.start : directive.block.span.end]
    return (*words, block.decode("latin-1"))


def unlike_settings(old: Side, level: int, new: Side, other: int) -> list[str]:
    """Return the names of the settings that are in force at only one of two blocks, or otherwise."""
    mine, theirs = {**old.others(level), **old.settings(level)}, {**new.others(other), **new.settings(other)}
    return sorted(name for name in mine.keys() | theirs.keys() if mine.get(name, ()) != theirs.get(name, ()))
