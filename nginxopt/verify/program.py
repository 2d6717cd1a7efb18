"""A server as a program: what nginx does with a request, one operation after the other.

The script of the server comes first, then the choice of a location, as tests of the URI whose bodies are the scripts
of the locations. For example, `rewrite ^/a$ /b; location /b { return 204; }` is the program

    rewrite ^/a$ /b
    locating
    locate ^/b: enter /b, return 204, end
    end

Equal operations of two programs have equal keys, whatever the files and lines in which they stand. A key also has what
the variables and names in the operation stand for, so a `rewrite` to `$target` differs if the map of `$target` does.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, reduce
from operator import or_

from nginxopt.facts import fact, group
from nginxopt.records import record
from nginxopt.semantics.site.form import StatementForm
from nginxopt.semantics.values import is_url
from nginxopt.verify.definitions import SideDefinitions
from nginxopt.verify.influences import SETTINGS, Reads, reads
from nginxopt.verify.patterns import beginning, equal_to, is_plain, starts_with
from nginxopt.verify.side import VerifiedSide
from nginxopt.verify.symbols import Interner, variables_in
from nginxopt.verify.unread import Unread, Value, Words


@record()
class Operation:
    """An operation.

    Attributes:
        kind: The kind, one of these:
            `set`, `rewrite`, `if`, `return`, `break`, `opaque`: a statement;
            `enter`: from here on, the settings of another block are in force;
            `locating`: the script of a server has ended;
            `locate`: tests the URI for a location; a request that enters its body never returns from it;
            `except`: tests the method for a `limit_except`, under which the script of a location does not run;
            `slash`: redirects to the name of a location;
            `length`: tests whether the URI of a rewrite is empty;
            `end`: the script has ended, and a handler answers.
        words: Its words as written.
        level: The block that `if` and `enter` lead to.
        body: The operations inside an `if` or a location.
        node: The directive.
        key: Equal for operations that do the same.
        test: Equal for operations that ask the same question; None for those that ask nothing.
    """

    kind: str
    words: tuple[str | None, ...]
    level: int | None
    body: Program
    node: int | None
    key: Hashable
    test: Hashable


Program = tuple[Operation, ...]

_ANSWERING = group("answer")
"""The settings that the answer of a `return` depends on."""

_OF_SERVER = {"server_name", "host"}
"""The variables whose value depends on the name of the server."""

_ENTERING = {"internal", "client_max_body_size"}
"""The settings that nginx checks before it runs the script of a location."""

_UNLIMITED = (("0",),)
"""The value of a size that nginx does not check."""

_PASSING = ("proxy_", "fastcgi_", "uwsgi_", "scgi_", "grpc_", "memcached_")


_EARLY = {"400", "405", "408", "414", "421", "431", "494", "495", "496", "497", "501", "505"}
"""The errors that nginx answers under the settings of a server, before it chooses a location (ngx_http_request.c)."""


def _changes_errors(name: str) -> bool:
    """Return whether a setting may change the response to a request that no location has handled, or what follows it
    (`ngx_http_post_action`)."""
    known = fact(name)
    return (
        known is None or name == "post_action" or (known.effect in ("header", "body") and name not in group("of_files"))
    )


def _passes_to_variable(name: str, directives: Value) -> bool:
    """Return whether a setting passes requests on to the server in a variable, which may be any upstream."""
    return name.endswith("_pass") and any("$" in word for directive in directives for word in directive)


class Compiler:
    """Compiles the servers of a side to programs. Both sides share `keys`, so equal things have one number on both."""

    def __init__(self, side: VerifiedSide, keys: Interner) -> None:
        self._side = side
        self._keys = keys
        self._reference: dict[int, Hashable] = {}
        self._answering: dict[int, Hashable] = {}
        self._handlers: dict[int, Hashable] = {}
        self._choices: dict[int, Program] = {}
        self._scripts: dict[int, Program] = {}
        self.definitions = SideDefinitions(side, keys)

    def place(self, level: int) -> Hashable:
        """Return a number, equal for servers and locations that do the same, whatever locations are inside of them."""
        is_location = self._side.level(level)["kind"] == "location"
        program = self._location(level) if is_location else self.script(level)
        return self._keys.number(("place", tuple(each.key for each in program), self.settings(level)))

    def server(self, level: int) -> Program:
        """Return the program of a server from its script on."""
        return (*self.script(level), self._operation("locating", (), None, ()), *self.locate(level))

    def locate(self, level: int) -> Program:
        """Return the operations that choose a location of a server, and what follows in each location."""
        if level not in self._choices:
            self._choices[level] = self._locate(level)
        return self._choices[level]

    def _locate(self, level: int) -> Program:
        return (*self._choice(level, ()), self._enter(level), self._end(level))

    def named(self, level: int) -> dict[bytes, Program]:
        """Return the named locations of a server."""
        side = self._side
        inner = [(side.location_name(number), number) for number in side.level(level)["locations"]]
        return {name.text: self._location(number) for name, number in inner if name.modifier == "@"}

    def script(self, level: int) -> Program:
        """Return the statements of a block."""
        known = self._scripts.get(level)
        if known is None:
            known = self._scripts[level] = self._script(level)
        return known

    def _script(self, level: int) -> Program:
        name = self._side.server_name_of(level)
        return tuple(_arranged(self._statement(statement, name) for statement in self._side.script(level)))

    def settings(self, level: int) -> Hashable:
        """Return a number, equal for blocks with equal settings in force."""
        known = self._reference.get(level)
        if known is None:
            side = self._side
            modelled = frozenset(side.settings(level).items())
            others = frozenset(side.others(level).items())
            unread = self._unread(level)
            meaning = self._meaning(level, (*modelled, *others))
            known = self._keys.number(("settings", modelled, others, self._except(level), unread, meaning))
            self._reference[level] = known
        return known

    def handler(self, level: int) -> Hashable:
        """Return a number, equal for blocks whose handlers answer alike."""
        known = self._handlers.get(level)
        if known is None:
            around = self.location_of(level)
            name = self._names_around(around, level) if around is not None and self._names_itself(level) else None
            known = self._handlers[level] = self._keys.number(("handler", self.settings(level), name))
        return known

    def _names_around(self, location: int, inner: int) -> tuple[tuple[tuple[str, str], bool], ...]:
        """Return the name of a location if it passes requests on, or `inner` does, a block in it; and those of the
        locations from there outwards that state an `alias`. With each name, return whether its location does that.

        An `alias` replaces the name of the location that states it, also in the locations that inherit it. Nothing else
        of those around a location uses their names: it does not inherit a `proxy_pass`.
        """
        names = []
        passes = any(name.endswith("_pass") for at in {location, inner} for name in self._side.settings(at))
        level: int | None = location
        while level is not None and self._side.level(level)["kind"] == "location":
            form = self._side.level(level)
            has_alias = "alias" in form["settings"]
            if (level == location and passes) or has_alias:
                names.append((self._side.location_name(level).replaced, has_alias))
            level = form["parent"]
        return tuple(names)

    def answering(self, level: int) -> Hashable:
        """Return a number, equal for blocks in which a `return` answers alike if the state is the same."""
        known = self._answering.get(level)
        if known is None:
            known = self._answering[level] = self._answers(level)
        return known

    def _answers(self, level: int) -> Hashable:
        location = self.location_of(level)
        settings = self._read(level, _ANSWERING)
        name = self._names_around(location, level) if location is not None and "alias" in settings else None
        meaning = self._meaning(level, settings.items())
        key = (frozenset(settings.items()), name, self._except(level), self._unread(level), meaning)
        return self._keys.number(("answering", key))

    def early(self, level: int) -> Hashable:
        """Return a number, equal for servers that answer alike what nginx refuses before it chooses a location."""
        settings = self.of_early_errors(level)
        meaning = self._meaning(level, settings.items())
        return self._keys.number(("early", frozenset(settings.items()), self._unread(level), meaning))

    def of_early_errors(self, level: int) -> dict[str, Value]:
        """Return the settings of a server on which the responses to early errors depend: error pages, headers that are
        sent with errors, and what changes every response. If an early error has an error page, that page may be a
        redirect, which has all headers.
        """
        known = self._side.early_settings(level)
        settings = {name: value for name, value in known.items() if name in _ANSWERING}
        others = self._side.others(level)
        settings |= {name: value for name, value in others.items() if _changes_errors(name)}
        pages = tuple(part for part in known.get("error_page", ()) if isinstance(part, Unread) or part[0] in _EARLY)
        if not pages:
            headers = settings.get("add_header", ())
            settings["add_header"] = tuple(part for part in headers if isinstance(part, Unread) or "always" in part[2:])
        settings["error_page"] = pages
        shown = settings.keys() if pages else settings.keys() - group("no_error")
        return self._with_deciding(level, known, {name: settings[name] for name in shown if settings[name]})

    def _read(self, level: int, names: Collection[str]) -> dict[str, Value]:
        """Return settings in force at a block: those with these names, those that are not simulated, and those that
        decide variables in any of them. What is sent to a backend is left out.
        """
        settings, others = self._side.settings(level), self._side.others(level)
        read = {name: words for name, words in settings.items() if name in names}
        read |= {name: words for name, words in others.items() if not name.startswith(_PASSING)}
        return self._with_deciding(level, settings, read)

    def _with_deciding(self, level: int, settings: Mapping[str, Value], read: dict[str, Value]) -> dict[str, Value]:
        """Return some of the settings of a block with those that decide the variables in their values. Code may read
        any variable, so all such settings are added if there is code."""
        others = self._side.others(level)
        code = self._side.code(level).items()
        is_any = any(Reads.VARIABLES in found for name, found in code if name in read or name == "include")
        waiting = list(read.values())
        found = set().union(*SETTINGS.values()) if is_any else set[str]()
        while waiting or found:
            more = {name: settings.get(name, others.get(name, ())) for name in found - read.keys()}
            read |= {name: value for name, value in more.items() if value}
            waiting += more.values()
            words = (word for directives in waiting for directive in directives for word in directive)
            found, waiting = self._deciding(words) - read.keys(), []
        return read

    def _deciding(self, words: Iterable[str]) -> set[str]:
        """Return the settings that decide the variables in words."""
        used = self.used(words)
        is_any = any(map(self.definitions.is_opaque, filter(self.definitions.defines, used)))
        return set().union(*SETTINGS.values()) if is_any else {name for each in used for name in SETTINGS.get(each, ())}

    def entering(self, level: int, *, is_internal: bool) -> frozenset[tuple[str, Hashable]]:
        """Return the settings by which nginx may refuse a request once it has looked for a location, before the script
        of that location runs (`ngx_http_core_find_config_phase`), each with a value that is equal if both sides refuse
        alike. Where no location takes the URI, those of the server count.

        `is_internal`: whether the request was led there by a rewrite, so that `internal` lets it in.
        """
        if self._side.level(level)["kind"] not in ("server", "location"):
            return frozenset()
        settings = self._side.settings(level)
        names = {"client_max_body_size"} if is_internal else _ENTERING & ({"client_max_body_size"} | settings.keys())
        if settings.get("client_max_body_size") == _UNLIMITED:
            names = names - {"client_max_body_size"}
        return frozenset((name, (settings.get(name, ()), self.answering(level))) for name in names)

    def _meaning(self, level: int, settings: Collection[tuple[str, Value]]) -> Hashable:
        """Return the definitions behind the names in settings: variables, upstreams, and the name of the server."""
        words = {word for _, directives in settings for directive in directives for word in directive}
        is_any = any(_passes_to_variable(*setting) for setting in settings)
        upstreams = self._side.all_upstreams if is_any else self._side.upstreams_in(words)
        if is_any and all(name != "resolver" for name, _ in settings):
            upstreams += self._side.implied_upstreams
        words.update(word for _, content in upstreams for directive in content for word in directive)
        meaning = self._words_meaning(words, self._side.server_name_of(level))
        return meaning, upstreams, self._code(level, {name for name, _ in settings}, upstreams)

    def _code(
        self, level: int, names: Collection[str], upstreams: tuple[tuple[str, tuple[Words, ...]], ...]
    ) -> Hashable:
        """Return what code may read under some of the settings of a block, and in upstreams."""
        code = self._side.code(level)
        read = [found for name, found in code.items() if name in names or name == "include"]
        read += [reads(name, tuple(words)) for _, content in upstreams for name, *words in content]
        return self._all_of(reduce(or_, read, Reads.NOTHING), self._side.server_name_of(level))

    def _all_of(self, read: Reads, server_name: str) -> Hashable:
        """Return the definitions that code may read: those of all variables, all upstreams, both or none."""
        variables = (self.definitions.everything, server_name) if Reads.VARIABLES in read else None
        return variables, self._side.all_upstreams if Reads.UPSTREAMS in read else None

    def depends(self, level: int) -> bool:
        """Return whether more than the text of a `return` depends on the state: headers with variables, error pages,
        and what follows a subrequest."""
        settings = self._side.settings(level)
        words = (word for name in _ANSWERING for directive in settings.get(name, ()) for word in directive)
        is_kept = self._side.shares_variables or "error_page" in settings or bool(self._side.others(level))
        return is_kept or any("$" in word for word in words)

    def location_of(self, level: int) -> int | None:
        """Return the location that a block is or stands in; None in a server."""
        form = self._side.level(level)
        while form["kind"] not in ("location", "server", "http") and form["parent"] is not None:
            level, form = form["parent"], self._side.level(form["parent"])
        return level if form["kind"] == "location" else None

    def _except(self, level: int) -> Hashable:
        """Return what the `limit_except` of the location around says, its methods and settings; None without one."""
        location = self.location_of(level)
        inner = None if location is None else self._side.level(location)["limit_except"]
        if inner is None or inner == level:
            return None
        return tuple(self._methods(inner)), self.settings(inner)

    def _unread(self, level: int) -> Hashable:
        """Return the directives in force that are not understood, as written."""
        unread = []
        number: int | None = level
        while number is not None:
            form = self._side.level(number)
            unread += [self._side.said(item["node"]) for item in (*form["opaque"], *form["filters"])]
            number = form["parent"]
        return tuple(unread)

    def _statement(self, statement: StatementForm, server_name: str) -> Operation:
        """Return the operation of a statement. `server_name` is the value of `$server_name`, and of `$host` in a
        request without a host."""
        node = statement["node"]
        words: tuple[str | None, ...]
        match statement["kind"]:
            case "set":
                words = (statement["variable"].lower(), statement["value"])
                return self._evaluating("set", words, server_name, node)
            case "rewrite":
                words = (statement["pattern"], statement["replacement"], statement["flag"])
                targets = (statement["replacement"],)  # the `$` of a pattern is an anchor
                return self._evaluating("rewrite", words, server_name, node, test=statement["pattern"], read=targets)
            case "if":
                level = statement["level"]
                body = (self._enter(level), *self.script(level))
                words = tuple(statement["condition"])
                return self._evaluating("if", words, server_name, node, level=level, body=body, test=words)
            case "return":
                return self._evaluating("return", tuple(statement["args"]), server_name, node)
            case "break":
                return self._operation("break", (), None, (), node)
            case "opaque":
                words = (statement["reason"], self._side.text(node))
                read = self._all_of(self._side.code_of(statement), server_name)
                return self._operation("opaque", words, None, (), node, also=read)
            case _:
                raise AssertionError(statement)

    def _evaluating(
        self,
        kind: str,
        words: tuple[str | None, ...],
        server_name: str,
        node: int,
        *,
        level: int | None = None,
        body: Program = (),
        test: Hashable = None,
        read: Iterable[str] | None = None,
    ) -> Operation:
        """Return an operation with variables in its words, or in those of them that it reads."""
        found = (word for word in words if word is not None) if read is None else read
        meaning = self._words_meaning(found, server_name)
        return self._operation(kind, words, level, body, node, test=test, also=meaning)

    def _enter(self, level: int) -> Operation:
        return self._operation("enter", (), level, (), self._side.level(level)["node"], also=self._entered(level))

    def _entered(self, level: int) -> Hashable:
        return self.settings(level), self._side.handler(level)

    def moves(self, operation: Operation) -> bool:
        """Return whether other settings or another handler may be in force behind an `if` than before it."""
        if operation.kind != "if" or any(inner.kind in ("return", "break") for inner in operation.body):
            return False
        assert operation.level is not None
        around = self._side.level(operation.level)["parent"]
        assert around is not None
        return (
            self.settings(operation.level) != self.settings(around) or self._side.handler(operation.level) is not None
        )

    def _end(self, level: int) -> Operation:
        return self._operation("end", (), None, (), self._side.level(level)["node"])

    def _location(self, level: int) -> Program:
        """Return the operations in a location, after it was chosen."""
        names = self._names_around(level, level) if self._names_itself(level) else ()
        used = [name for name, _ in names[:1]] + [name for name, states_alias in names if states_alias][:1]
        identity = tuple(word for name in used for word in name)
        enter = self._operation(
            "enter", identity, level, (), self._side.level(level)["node"], also=self._entered(level)
        )
        return (*self._limit_except(level), enter, *self.script(level), self._end(level))

    def _limit_except(self, level: int) -> Program:
        """Return the operation for the methods that a `limit_except` limits: its settings hold, and no script runs."""
        inner = self._side.level(level)["limit_except"]
        if inner is None:
            return ()
        words = (f"^(?:{'|'.join(self._methods(inner))})\\z",)
        body = (self._enter(inner), self._end(inner))
        return (self._operation("except", words, inner, body, self._side.level(inner)["node"], test=words),)

    def _methods(self, level: int) -> list[str]:
        """Return the methods that a `limit_except` does not limit; with GET, HEAD is one."""
        methods = {method.upper() for method in self._side.level(level)["args"]}
        return sorted(methods | ({"HEAD"} if "GET" in methods else set()))

    def _names_itself(self, level: int) -> bool:
        """Return whether the handler of a location may use its name, as `alias` and a `proxy_pass` with a URI do."""
        settings = self._side.settings(level)
        return "alias" in settings or any(name.endswith("_pass") for name in settings)

    def replaces_name(self, level: int) -> bool:
        """Return whether the handler of a location replaces its name in the URI, as `alias` and some `proxy_pass` do.

        After a rewrite, the URI may not begin with that name (`r->valid_location`).
        """
        settings = self._side.settings(level)
        passing = [word for words in settings.get("proxy_pass", ()) for word in words]
        return "alias" in settings or any("$" in word or "/" in word.partition("://")[2] for word in passing)

    def _choice(self, level: int, tail: Program) -> Iterator[Operation]:
        """Yield the tests of the locations directly in a block, in an order that chooses as nginx does.

        `tail` has the regular expressions of the blocks around it. nginx tries them after those of this block, unless
        the prefix that matched here is final, as with `^~` (`ngx_http_core_find_location`).
        """
        exact: list[tuple[bytes, int]] = []
        prefixes: list[tuple[bytes, int, bool]] = []
        regexes: list[int] = []
        for inner in self._side.level(level)["locations"]:
            name = self._side.location_name(inner)
            if name.modifier == "=":
                exact.append((name.text, inner))
            elif name.modifier == "~":
                regexes.append(inner)
            elif name.modifier != "@":
                prefixes.append((name.text, inner, name.modifier == "^~"))
        beside = tuple(map(self._regex, regexes))
        yield from self._slashes(exact, prefixes)
        for text, inner in sorted(exact):
            yield self._located("=", equal_to(text), self._location(inner), inner)
        for text, inner, guards in sorted(prefixes, key=lambda prefix: (-len(prefix[0]), prefix[0])):
            after = tail if guards else (*beside, *tail)
            body = (*self._choice(inner, after), *after, *self._location(inner))
            yield self._located("", starts_with(text), body, inner)
        yield from beside

    def _slashes(self, exact: list[tuple[bytes, int]], prefixes: list[tuple[bytes, int, bool]]) -> Iterator[Operation]:
        """Yield the redirects from `/a` to `/a/`, the name of a location that passes requests on.

        They are sent under the settings of that location; if an exact and a prefix location have the name, of the exact
        one.
        """
        static = sorted([*exact, *((text, inner) for text, inner, _ in prefixes)])
        names = [text for text, _ in static]
        exactly = dict(exact)
        for at, (text, inner) in enumerate(static):
            stem = text[:-1]
            first = bisect_left(names, stem)
            if not text.endswith(b"/") or names[first] == stem:
                continue
            passing = self._side.passing(inner)
            if passing is False:
                continue
            # nginx finds it only on its way through the tree of names, and a name between both may lead past it
            # (ngx_http_core_module.c).
            between = tuple(name.decode("latin-1") for name in names[first:at])
            node, words = self._side.level(inner)["node"], (text.decode("latin-1"), *between)
            if passing is True:
                redirect = self._operation("slash", words, None, (), node)
            else:
                redirect = self._operation("opaque", ("slash", *words), None, (), node, also=passing)
            yield self._located("=", equal_to(stem), (self._enter(exactly.get(text, inner)), redirect), inner)

    def _regex(self, level: int) -> Operation:
        name = self._side.location_name(level)
        inner = self._side.level(level)["locations"]
        nested = [number for number in inner if self._side.location_name(number).modifier == "~"]
        body = (*map(self._regex, nested), *self._location(level))
        return self._located("~", name.text, body, level)

    def _located(self, sign: str, pattern: bytes, body: Program, level: int) -> Operation:
        text = pattern.decode("latin-1")
        return self._operation("locate", (sign, text), level, body, self._side.level(level)["node"], test=(sign, text))

    def _operation(
        self,
        kind: str,
        words: tuple[str | None, ...],
        level: int | None,
        body: Program,
        node: int | None = None,
        *,
        test: Hashable = None,
        also: Hashable = None,
    ) -> Operation:
        key = self._keys.number((kind, words, also, tuple(operation.key for operation in body)))
        return Operation(kind, words, level, body, node, key, None if test is None else (kind, test))

    def _words_meaning(self, words: Iterable[str], server_name: str) -> Hashable:
        """Return what the variables in words stand for."""
        used = self.used(words)
        if not used:
            return (), None
        defined = sorted(filter(self.definitions.defines, used))
        of_server = _OF_SERVER & used
        if of_server == {"host"} and self._side.has_host_header:  # then `$host` is never the name of the server
            of_server = set()
        is_read = of_server or any(map(self.definitions.is_opaque, defined))
        name = server_name if is_read else None
        return tuple((name, self.definitions.number(name)) for name in defined), name

    def used(self, words: Iterable[str]) -> set[str]:
        """Return the variables in words, and those by which the maps among them are looked up in the end."""
        used = variables_in(words)
        return used and used.union(*map(self.definitions.bases, filter(self.definitions.defines, used)))


def ends_script(operation: Operation) -> bool:
    """Return whether a rewrite ends the script if it matches."""
    return operation.words[2] is not None or is_url(operation.words[1] or "")


def _arranged(operations: Iterable[Operation]) -> Iterator[Operation]:
    """Yield the operations of a script. Neighbours whose order does not matter are sorted, so that both sides agree.

    A rewrite that does not match only clears the captures, and one that ends the script is the last that runs. So if
    two of them are next to each other, their order counts only for a URI that both match.
    """
    run: list[tuple[bytes, Operation]] = []
    for operation in operations:
        start = _start(operation.words[0] or "") if operation.kind == "rewrite" and ends_script(operation) else None
        if start is not None:
            run.append((start, operation))
            continue
        yield from _in_order(run)
        run = []
        yield operation
    yield from _in_order(run)


def _in_order(run: Sequence[tuple[bytes, Operation]]) -> Iterator[Operation]:
    """Yield rewrites in the order of the texts that their URIs begin with; those that may match the same URI keep their
    order.

    That is possible only if one text begins with the other. In the order of texts, all that begin with a text directly
    follow it. O(n log n) for n rewrites.
    """
    groups: list[list[int]] = []
    first: bytes | None = None
    for at in sorted(range(len(run)), key=lambda at: run[at][0]):
        start = run[at][0]
        if first is not None and start.startswith(first):
            groups[-1].append(at)
        else:
            groups.append([at])
            first = start
    return (run[at][1] for group in groups for at in sorted(group))


_END = b"\n"
"""Stands for the end of a text. A pattern that ends with `$` also matches a line end there."""


@lru_cache(maxsize=1 << 16)
def _start(text: str) -> bytes | None:
    """Return the text with which each URI begins that a pattern matches, in lower case; None if that is not clear.

    If the pattern matches only this text, `_END` is appended, so that no longer text begins with it.
    """
    pattern = text.encode("latin-1")
    start = beginning(pattern)
    return start + _END if start is not None and is_plain(pattern) else start
