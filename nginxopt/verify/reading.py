"""What one of two compared configurations says: its blocks, scripts, names and definitions, and what was not read."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence, Set
from functools import cached_property
from typing import TYPE_CHECKING

from nginxopt import lazy
from nginxopt.config import words_of
from nginxopt.facts import script
from nginxopt.records import record
from nginxopt.semantics.inherit import origin
from nginxopt.semantics.site.form import (
    GeoForm,
    LevelForm,
    MapForm,
    OpaqueVariableForm,
    ServerForm,
    SiteForm,
    StatementForm,
)
from nginxopt.semantics.site.levels import ROWS, latin
from nginxopt.text import Source
from nginxopt.verify.canonical import canonical_words, folded
from nginxopt.verify.influences import runs_code
from nginxopt.verify.names import Names, is_own, named_groups
from nginxopt.verify.premises import BOTH_START, HOST_HEADER
from nginxopt.verify.symbols import ARGS
from nginxopt.verify.unread import (
    Places,
    Silent,
    Words,
    is_stated_once,
    places,
)

if TYPE_CHECKING:
    from nginxopt.config import Directive
    from nginxopt.semantics import Level
    from nginxopt.semantics.site import LoweredSite

_DEFINING = ("map", "geo", "split_clients", "upstream")
"""The blocks of http that define variables, and upstreams."""

_LONG = 10_000
"""A block of more bytes than this is compared by its text, including comments."""

_WORD = lazy.pattern(r"\w+", re.ASCII)

Definition = MapForm | GeoForm | OpaqueVariableForm


@record(eq=True)
class LocationName:
    """The modifier and the path, pattern or name of a location."""

    modifier: str
    text: bytes

    @property
    def replaced(self) -> tuple[str, str]:
        """The part of a URI that a handler such as `alias` replaces: the same for `/a`, `= /a` and `^~ /a`."""
        return ("~" if self.modifier == "~" else "", self.text.decode("latin-1"))


class SideReading:
    """What a site says, in canonical form.

    Attributes:
        site: The site.
        form: Its form, or that with other names of variables.
    """

    def __init__(self, site: LoweredSite, form: SiteForm, invisible: Set[str], silent: Silent, names: Names) -> None:
        self.site = site
        self.form = form
        self._invisible = invisible
        self._silent = silent
        self._names = names
        self._scripts: dict[int, Sequence[StatementForm]] = {}

    def level(self, number: int) -> LevelForm:
        """Return a block by its number."""
        return self.form["levels"][number]

    def server(self, number: int) -> ServerForm:
        """Return a server by its number."""
        return self.form["servers"][number]

    def levels_of(self, server: int) -> Sequence[int]:
        """Return the numbers of the blocks of a server: its own, and those inside of it."""
        return self._levels_by_server[self.server(server)["level"]]

    @cached_property
    def _levels_by_server(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for number, level in enumerate(self.form["levels"]):
            inside = found.get(level["parent"]) if level["parent"] is not None else None
            if level["kind"] == "server":
                inside = []
            if inside is not None:
                inside.append(number)
                found[number] = inside
        return found

    def written(self, server: int) -> Words | None:
        """Return the text of a server with what it includes; None if it is not a block of the configuration."""
        level = self.site.levels[self.server(server)["level"]]
        opener = level.opener
        if opener is None or opener.block is None:
            return None
        text = opener.source.data[opener.block.span.start : opener.block.span.end].decode("latin-1")
        return (text, *self._included(level, opener.source)) if "include" in text else (text,)

    def _included(self, level: Level, source: Source) -> Iterator[str]:
        """Yield the text that a level has from other files, with the borders of blocks, and whether each was read."""
        for each in level.walk():
            yield "{"
            for directive in each.directives:
                if directive.name == "include":
                    yield "missing" if self.site.nodes.is_missing(directive) else "read"
                if directive.source is not source:
                    yield from (str(directive.name), *map(latin, directive.args), ";")
            for bulk in each.bulks:
                if bulk.source is not source:
                    yield bulk.source.data[bulk.span.start : bulk.span.end].decode("latin-1")

    @cached_property
    def http_settings(self) -> tuple[Words, ...]:
        """The directives of the http block that may change an answer, without servers and definitions, in order."""
        return tuple(
            (str(each.name), *self._whole(each), *(["missing"] if self.site.nodes.is_missing(each) else []))
            for each in self.site.levels[0].directives
            if each.name not in (*_DEFINING, "server") and self.counts(str(each.name))
        )

    @cached_property
    def http_definitions(self) -> dict[str, tuple[Words, ...]]:
        """What the http block says of each variable and upstream, by the longest word in its name."""
        found: dict[str, tuple[Words, ...]] = {}
        for name in _DEFINING:
            for each in self.site.levels[0].own(name):
                words = _WORD.findall(str(each.args[-1]).lower()) if each.args else []
                key = max(words, key=len, default="")
                found[key] = (*found.get(key, ()), (name, *self._whole(each)))
        return found

    @property
    def has_unread_definitions(self) -> bool:
        """Whether the rows of a table, or what defines a variable, are not known."""
        return any(form["kind"] == "opaque" for form in self.definitions.values())

    @cached_property
    def variables_set(self) -> frozenset[str]:
        """The variables that scripts set."""
        scripts = (statement for number in range(len(self.form["levels"])) for statement in self.script(number))
        return frozenset(each["variable"].removeprefix("$").lower() for each in scripts if each["kind"] == "set")

    def counts(self, name: str) -> bool:
        """Return whether a directive may change an answer."""
        return name not in self._invisible

    @property
    def has_other_names(self) -> bool:
        """Whether any name of this side stands for a different one of the other side."""
        return self.is_renamed or self._names != Names()

    def script(self, number: int) -> Sequence[StatementForm]:
        """Return the statements of a block, those of folded runs one by one."""
        known = self._scripts.get(number)
        if known is None:
            statements = self.level(number)["script"]
            known = self._scripts[number] = [inner for statement in statements for inner in self._unfolded(statement)]
        return known

    def _unfolded(self, statement: StatementForm) -> Iterator[StatementForm]:
        if statement["kind"] == "opaque" and self._is_no_script(statement["node"]):
            return
        if statement["kind"] != "rewrites":
            yield statement
            return
        source = Source("", self.site.texts[statement["text"]])
        rules = words_of(source, statement["start"], statement["end"])
        for node, rule in enumerate(rules, statement["node"]):
            _, *words = map(latin, rule)
            yield {
                "kind": "rewrite",
                "node": node,
                "pattern": words[0],
                "replacement": words[1],
                "flag": words[2] if len(words) > 2 else None,
            }

    def _is_no_script(self, node: int) -> bool:
        """Return whether a statement stands for a file that was not read and has no statements."""
        include = self.site.nodes.directive(node)
        if include is None or include.name != "include":
            return False
        return all(self._silent.about(include, name) for name in sorted(script()))

    def text(self, node: int) -> str:
        """Return a directive as it is written."""
        return self.site.nodes.place(node).text

    @property
    def has_host_header(self) -> bool:
        """Whether each request has a host, by a premise."""
        return self._silent.asked.holds(HOST_HEADER)

    @property
    def has_opaque(self) -> bool:
        """Whether a script or the http block has something that is not understood."""
        statements = (item for level in self.form["levels"] for item in level["script"] if item["kind"] == "opaque")
        return bool(self.form["opaque"]) or not all(self._is_no_script(item["node"]) for item in statements)

    @property
    def is_renamed(self) -> bool:
        """Whether its variables have been given other names; code still uses those that are written."""
        return self.form is not self.site.site

    @cached_property
    def definitions(self) -> dict[str, Definition]:
        """The variables that the configuration defines outside of scripts, by name. The last definition of a name
        counts, unless a named group behind it has that name, too.
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
        """The variables of nginx itself that something else of the same name replaces: a named group, or a table for
        the arguments."""
        return frozenset([*filter(is_own, self.named_groups), *self.definitions.keys() & {ARGS}])

    @cached_property
    def stated(self) -> frozenset[str]:
        """The names of the settings that are stated anywhere."""
        return frozenset(name for level in self.form["levels"] for name in level["settings"])

    @cached_property
    def stated_in_locations(self) -> frozenset[str]:
        """The directives of locations, and of the blocks inside them."""
        inner = (level for level, form in zip(self.site.levels, self.form["levels"], strict=True) if _is_inner(form))
        return frozenset(str(directive.name) for level in inner for directive in level.directives)

    @cached_property
    def passes(self) -> bool:
        """Whether any request is passed on to an upstream server, which may lead it elsewhere by X-Accel-Redirect."""
        return any(name.endswith("_pass") for level in self.site.levels for name in level.names)

    def location_name(self, number: int) -> LocationName:
        """Return the name of a location."""
        args = self.level(number)["args"]
        word = args[0] if args else ""
        modifier = word
        text = args[1] if len(args) > 1 else ""
        if len(args) < 2:
            modifier = next((sign for sign in ("~*", "^~", "=", "~", "@") if word.startswith(sign)), "")
            text = word if modifier == "@" else word.removeprefix(modifier)
        if modifier == "~*":
            modifier, text = "~", f"(?i){text}"
        if modifier == "@":
            text = self._names.locations.get(text, text)
        return LocationName(modifier, text.encode("latin-1"))

    def server_name(self, server: int) -> str:
        """Return the first name of a server, as `$server_name` has it."""
        names = self.server(server)["names"]
        text = names[0]["text"] if names else ""
        return text if text.startswith("~") else folded(text.removeprefix("."))

    def knows_server_name(self, server: int) -> bool:
        """Return whether no file that was not read may state a name before the first one of a server."""
        level = self.site.levels[self.server(server)["level"]]
        unknown = self._unknown(level)
        for directive in level.directives:
            if directive.name == "server_name":
                break
            if directive in unknown and not self._silent.about(directive, "server_name"):
                return False
        return True

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

    def open_servers(self) -> list[int]:
        """Return the servers with something that is missing or not understood, which may say where they listen."""
        levels = ((number, server["level"]) for number, server in enumerate(self.form["servers"]))
        return [number for number, level in levels if self.level(level)["opaque"]]

    def said(self, node: int) -> str:
        """Return a directive in canonical form; one with a block, or none of this site, as it is written."""
        directive = self.site.nodes.directive(node)
        if directive is None or directive.block is not None:
            return self.text(node)
        return " ".join((str(directive.name), *map(repr, self._whole(directive))))

    def _words(self, name: str, directive: int) -> Words:
        """Return the canonical arguments of a directive of a setting."""
        args = tuple(self.form["directives"][directive]["args"])
        return args if name == ROWS else self._canonical(name, args)

    def _canonical(self, name: str, words: Words) -> Words:
        return canonical_words(name, self._names.words(name, words), self.site.levels[0].target, self.taken)

    def _whole(self, directive: Directive) -> Words:
        """Return the arguments of a directive with the content of its block, and of the files included in it."""
        words = tuple(map(latin, directive.args))
        if directive.block is None:
            return self._canonical(str(directive.name), words)
        level = self._blocks.get(directive)
        inner = (item for each in ([] if level is None else level.walk()) for item in each.directives)
        included = (item for item in inner if item.source is not directive.source)
        read = (word for item in included for word in ("", str(item.name), *map(latin, item.args)))
        return (*words, *_content(directive), *read)

    def _content(self, node: int) -> Iterator[Directive]:
        """Return the directives of a block that is not a level of the site, with those of included files."""
        directive = self.site.nodes.directive(node)
        level = None if directive is None else self._blocks.get(directive)
        return iter(()) if level is None else self._content_of(level)

    def _content_of(self, level: Level) -> Iterator[Directive]:
        return (item for item in level.directives if item.name != "include" or self.site.nodes.is_missing(item))

    @cached_property
    def _blocks(self) -> dict[Directive, Level]:
        """The blocks that are not levels of the site, by the directives that open them."""
        inner = (inner for level in self.site.levels for inner in level.levels)
        return {level.opener: level for each in inner for level in each.walk() if level.opener is not None}

    def is_open(self, number: int) -> bool:
        """Return whether a block includes a file of which nothing is known. Blocks in that file would inherit its
        settings.
        """
        return bool(self._unknown(self.site.levels[number]))

    def may_add(self, number: int, *names: str) -> bool:
        """Return whether a file that was not read may state one of some directives in a block."""
        includes = self._unknown(self.site.levels[number])
        return any(not self._silent.about(include, name) for include in includes for name in names)

    @cached_property
    def has_open(self) -> bool:
        """Whether any block includes such a file, which may read all that is defined."""
        return any(map(self.is_open, range(len(self.site.levels))))

    @cached_property
    def may_lead(self) -> bool:
        """Whether such a file may lead a request to another URI. A neutral file does not; no list of names excludes
        it, as the file may have directives of any module.
        """
        includes = (include for level in self.site.levels for include in self._unknown(level))
        return not all(self._silent.asked.is_neutral(str(include.args[0])) for include in includes)

    @cached_property
    def unread(self) -> tuple[str, ...]:
        """The files that are included and of which nothing is known, as they are written."""
        return tuple(dict.fromkeys(str(each.args[0]) for level in self.site.levels for each in self._unknown(level)))

    def unread_places(self, names: Collection[str]) -> Places:
        """Return where files of which nothing is known are included; see `places`."""
        return places(self.site.levels[0], self._unknown, names)

    def _unread(self, level: Level) -> tuple[Directive, ...]:
        """Return the includes of a block whose files were not read, also those of files that come with a package."""
        return tuple(include for include in level.own("include") if self.site.nodes.is_missing(include))

    def _unknown(self, level: Level) -> tuple[Directive, ...]:
        """Return the includes of a block whose files were not read and do not come with a package."""
        return tuple(include for include in self._unread(level) if origin(include) is None)

    def _is_silent(self, number: int, name: str) -> bool:
        """Return whether no file that a block includes, and that was not read, states a setting."""
        level = self.site.levels[number]
        unread = self._unread(level)
        is_all = len(unread) == len(level.own("include"))  # others may read more where the configuration is installed
        return is_all and bool(unread) and all(self._silent.about(include, name) for include in unread)

    def _is_stated_once(self, name: str) -> bool:
        """Return whether a file beside a directive cannot state it again (`both-start`)."""
        is_given = self._silent.asked.premises.holds(BOTH_START)
        return is_given and is_stated_once(name, self.site.levels[0].target)

    def _is_inherited(self, number: int, name: str) -> bool:
        """Return whether a block certainly has a setting of the block around it, whatever was not read."""
        level = self.site.levels[number]
        return not level.own(name) and level.inherits(name) and self._is_silent(number, name)

    def _blocks_around(self, number: int) -> Iterator[Level]:
        """Yield a block and those around it."""
        at: int | None = number
        while at is not None:
            yield self.site.levels[at]
            at = self.level(at)["parent"]


def _content(directive: Directive) -> Iterator[str]:
    """Yield the words of a block; its text if that is long, or code."""
    block = directive.block
    if block is None:
        return
    name, length = str(directive.name), block.span.end - block.span.start
    if name in _DEFINING or length > _LONG or not block.nodes or runs_code(name, tuple(directive.args)):
        yield directive.source.data[block.span.start : block.span.end].decode("latin-1")
        return
    for item in block.directives():
        yield from ("", str(item.name), *map(latin, item.args), "{" if item.block else ";", *_content(item))
    yield "}"


def _is_inner(form: LevelForm) -> bool:
    return form["kind"] in ("location", "if", "limit_except")
