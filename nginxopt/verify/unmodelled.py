"""What one of the two configurations says that the model of requests does not read: other directives, code, upstreams.

All of it is in canonical form. Lists are sorted, unless one of their directives may read what another one sets.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property, reduce
from itertools import chain
from operator import or_
from typing import TYPE_CHECKING, TypeVar

from nginxopt import lazy
from nginxopt.facts import group, having
from nginxopt.facts.table import declarations
from nginxopt.semantics.site.form import OpaqueStatementForm, SetForm, SiteForm, StatementForm
from nginxopt.semantics.site.levels import ROWS, effect, latin
from nginxopt.verify.canonical import (
    default_words,
    is_of_fields,
    merged,
    ordered,
    own_headers,
    server_of_upstream,
    without_defaults,
)
from nginxopt.verify.influences import READING, SHOWS_READING, Reads, reads, reads_as_definition
from nginxopt.verify.names import Names
from nginxopt.verify.premises import UNREAD_NAMES
from nginxopt.verify.reading import Definition, SideReading
from nginxopt.verify.symbols import variables
from nginxopt.verify.unread import Silent, Unread, Value, Words, interleaved
from nginxopt.version import Version

if TYPE_CHECKING:
    from nginxopt.config import Directive
    from nginxopt.semantics import Level
    from nginxopt.semantics.site import LoweredSite

LIMITS = {"limit_req": "limit_req_zone", "limit_conn": "limit_conn_zone"}
"""The directives that limit requests, with those that define their zones."""

_ADDED = having("inherited", "added")

_HOST = lazy.pattern(r"[\w.-]+", re.ASCII)
"""A host as a `*_pass` names it, with what may surround it."""

_TARGET = lazy.pattern(r"((?:[a-z]+://)?(?![0-9.]+(?::|/|\Z))[^/:\[]+(?::[0-9]+)?)(?:/.*)?", re.ASCII)
"""Where a `*_pass` leads that names a host, without its path."""

_PASS, _HOST_OF_PASS = "proxy_pass", "proxy_host"

_HTTP2_SINCE = Version(1, 29, 4)
"""The first release with `proxy_http_version 2`, and with a default Host that does not depend on a variable."""

Headers = TypeVar("Headers", list[int], Value)
"""The directives of a block that add headers or trailers."""


class UnmodelledReading(SideReading):
    """What a site says besides what the model of requests reads, with cached answers.

    Attributes:
        arranged: The lists of header fields that were sorted. Only those that were asked for so far.
    """

    def __init__(self, site: LoweredSite, form: SiteForm, invisible: Set[str], silent: Silent, names: Names) -> None:
        super().__init__(site, form, invisible, silent, names)
        self.arranged: set[tuple[str, Value]] = set()
        self._others: dict[int, dict[str, Value]] = {}
        self._code: dict[int, dict[str, Reads]] = {}

    @cached_property
    def zones(self) -> dict[str, dict[str, Words]]:
        """The definitions of zones of limits by directive and name, if nothing but the limits uses them; otherwise they
        are settings of all blocks.
        """
        names = {str(name) for level in self.site.levels for name in level.names} - {"include"}
        http = self.site.levels[0]
        if self.unread or self._unread(http) or any(map(reads, names)):
            return {defining: {} for defining in LIMITS.values()}
        return {
            defining: {zone_of(words): words for words in map(self._whole, http.own(defining))}
            for defining in LIMITS.values()
        }

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
        """Return whether the order of a list may matter: words of it may read what a lookup in it captures, or fields
        that earlier ones add (`ngx_http_headers_filter`).
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
            new = _read_in(chain(*map(words_of, forms))) - found
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

    def stated_others(self, number: int) -> dict[str, Value]:
        """Return the directives in force that the model does not read and that may change what is answered or passed
        on, by name, with the variables that nginx reads under some directives.
        """
        known = self._others.get(number)
        if known is None:
            parent = self.level(number)["parent"]
            around = {} if parent is None else self.stated_others(parent)
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
            # An unread file may replace what is in force around the block, or leave it as it is.
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
        """Return whether the place of a directive among others may count. The build of nginx decides in which order its
        own modules act, but of several directives that set the content handler, the last one wins.
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
            around, outer = ({}, {}) if parent is None else (self.stated_others(parent), self.code(parent))
            code = {
                name: outer.get(name, Reads.NOTHING) if found is around.get(name) else _read_by(name, found)
                for name, found in self.stated_others(number).items()
                if name != "order"
            }
            if self._has_unread(number) and not self._silent.asked.holds(UNREAD_NAMES):
                code["include"] = reads("include")
            known = self._code[number] = {name: read for name, read in code.items() if read}
        return known

    @cached_property
    def code_of_upstreams(self) -> dict[str, Reads]:
        """The directives in upstreams with code that may read more than their words name, by name."""
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
            " ".join((str(directive.name), *self._whole(directive), *blocks_of(level)))
            for directive, level, is_reader in stated
            if is_reader or directive.name in scripts
        )

    @cached_property
    def has_code(self) -> bool:
        """Whether code anywhere may read any variable."""
        return self.has_code_in_upstreams or self.has_code_in(range(len(self.form["levels"])))

    @cached_property
    def has_read_code(self) -> bool:
        """Whether code may read any variable, that of unread files apart."""
        levels = range(len(self.form["levels"]))
        return self.has_code_in_upstreams or self.has_code_in(levels, besides="include")

    def has_code_in(self, levels: Iterable[int], besides: str = "") -> bool:
        """Return whether code of some blocks may read any variable, besides that of a directive."""
        if not self._may_have_code:
            return False
        code = ((name, read) for number in levels for name, read in self.code(number).items())
        return any(Reads.VARIABLES in read for name, read in code if name != besides)

    @cached_property
    def constants(self) -> Mapping[int, Mapping[str, str]]:
        """The variables that have one text in a server and in all blocks of it, by the number of its level.

        The server sets them before its script does anything else, and nothing else sets them. nginx runs that script
        before it chooses a location, but not before an early error, which may lead to a named location.
        """
        if not self.variables_set or self.has_opaque or self.has_code or (self.unread and self.may_lead):
            return {}
        if any(name.endswith("_set") for level in self.site.levels for name in level.names):  # `auth_request_set`
            return {}
        first = {server["level"]: dict(_first_set(self.script(server["level"]))) for server in self.form["servers"]}
        scripts = (statement for number in range(len(self.form["levels"])) for statement in self.script(number))
        often = Counter(_name_set(each) for each in scripts if each["kind"] == "set")
        often.subtract(name for texts in first.values() for name in texts)
        others = {*self.definitions, *self.named_groups, *(name for name, number in often.items() if number)}
        return {
            number: {name: text for name, text in texts.items() if text and name not in others}
            for number, texts in first.items()
            if not self._may_skip_script(number)
        }

    def _may_skip_script(self, server: int) -> bool:
        """Return whether nginx may lead a request to a named location without having run the script of the server."""
        around = [each for level in self._blocks_around(server) for each in level.directives]
        pages = (each.args[-1] for each in around if each.name == "error_page" and each.args)
        return any(page[:1] in "@$" for page in pages) or any(each.name == "post_action" for each in around)

    @cached_property
    def has_code_in_upstreams(self) -> bool:
        """Whether code in an upstream may read any variable."""
        return any(Reads.VARIABLES in read for read in self.code_of_upstreams.values())

    @cached_property
    def _may_have_code(self) -> bool:
        """Whether the name of a directive, or a file that was not read, says that there may be code."""
        names = {str(name) for level in self.site.levels for name in level.names} - {"include"}
        is_read = not self.form["opaque"] and not any(level["opaque"] for level in self.form["levels"])
        return not is_read or any(map(reads, names))

    @cached_property
    def runs_anything(self) -> bool:
        """Whether there is code, or something that is not understood, whose words do not say what it reads."""
        return bool(self._running)

    @property
    def runs_code(self) -> bool:
        """Whether there is such a thing in what was read."""
        return not self._running <= {"include"}

    @cached_property
    def _running(self) -> frozenset[str]:
        """The names of such directives; `upstream` for those of upstreams, and what is not understood."""
        if self.has_opaque or any(self.code_of_upstreams.values()):
            return frozenset(["upstream"])
        levels = range(len(self.form["levels"])) if self._may_have_code else ()
        return frozenset(name for number in levels for name, read in self.code(number).items() if read)

    @cached_property
    def upstreams(self) -> dict[str, tuple[Words, ...]]:
        """The directives of each upstream that may change an answer, by its name. A `zone` does so if a server limits
        its connections, as that limit then holds for all workers together.
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


def _name_set(statement: SetForm) -> str:
    return statement["variable"].removeprefix("$").lower()


def _first_set(script: Iterable[StatementForm]) -> Iterator[tuple[str, str]]:
    """Yield the variables that a script sets before it does anything else, with their texts."""
    for statement in script:
        if statement["kind"] != "set" or "$" in statement["value"]:
            return
        yield _name_set(statement), statement["value"]


def _runs(form: Definition) -> bool:
    """Return whether a definition is code."""
    return form["kind"] == "opaque" and Reads.VARIABLES in reads_as_definition(form["content"][0])


def _passed(level: Level, name: str) -> Iterator[str]:
    """Yield where a block passes requests on to."""
    return (str(each.args[0]) for each in level.own(name) if each.args)


def zone_of(words: Words) -> str:
    """Return the name of the zone in the words of a limit, or of the definition of one."""
    named = next((word for word in words if word.startswith("zone=")), words[0])
    return named.removeprefix("zone=").partition(":")[0]


def _read_by(name: str, value: Value) -> Reads:
    """Return what a directive may read besides its words, wherever a block states it."""
    return reduce(or_, (reads(name, tuple(words)) for words in value), Reads.NOTHING)


def _read_in(words: Iterable[str]) -> set[str]:
    """Return the variables in words that nginx evaluates."""
    return set().union(*(variables(word.encode("latin-1")) for word in words if "$" in word))


def words_of(form: Definition) -> Iterator[str]:
    """Yield the words of a definition."""
    if form["kind"] == "opaque":
        yield from form["content"]
        return
    yield form["source"] or ""
    for row in form["rows"]:
        yield from row["args"]


def with_inherited(inherit: Words, around: Headers, own: Headers) -> Headers:
    """Return the headers of a block by the `add_header_inherit` in force there (`ngx_http_headers_merge`)."""
    match inherit[0].lower():
        case "off":
            return own
        case "merge":
            return own + around
        case _:
            return own or around


def blocks_of(level: Level | None) -> Iterator[str]:
    """Yield the words of a block and of those around it, with the names of a server."""
    while level is not None:
        yield level.kind
        if level.opener is not None:
            yield from map(latin, level.opener.args)
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
        yield from sorted(latin(word) for names in level.own("server_name") for word in names.args)


def _counted(content: Sequence[Words]) -> Iterator[Words]:
    """Yield the directives of an upstream that may change an answer."""
    is_limited = any(word.startswith("max_conns=") for words in content for word in words)
    for words in content:
        if not words[0].startswith("keepalive") and (words[0] != "zone" or is_limited):
            yield words


def _with_trailers(inherit: Value, around: Value, own: Value) -> Value:
    """Return the trailers of a block, as `with_inherited`, if all of it was read."""
    value = inherit[-1]
    if isinstance(value, Unread) or any(isinstance(part, Unread) for part in (*around, *own)):
        return Unread("", inherit), Unread("", around), Unread("", own)
    return with_inherited(value, around, own)
