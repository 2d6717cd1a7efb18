"""Rewrites a site in one shape that answers alike, so that two ways to write the same thing become equal.

A named group of a pattern becomes a numbered one, an `alias` that ends with the path of its location becomes a `root`,
`?$args` behind a fallback `$is_args$args`, an upstream with one server its address, a map whose first value is right
for a whole request `volatile`, and `deny all` a `return 403`. Each of these has conditions under which neither clients
nor upstreams can tell both ways apart. What does not meet them stays as it is.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property

from nginxopt import lazy
from nginxopt.config import Directive, reread
from nginxopt.config.tree import Token
from nginxopt.errors import NginxoptError
from nginxopt.facts import group
from nginxopt.facts.lexicon import ROWS
from nginxopt.records import record
from nginxopt.request.model import SiteModel
from nginxopt.semantics import Level
from nginxopt.semantics.inherit import origin
from nginxopt.semantics.values import is_url
from nginxopt.verify.denials import denials
from nginxopt.verify.influences import reads
from nginxopt.verify.names import host_of_pass, is_own
from nginxopt.verify.patterns import group_names
from nginxopt.verify.side import SHOWN_NAME, VerifiedSide
from nginxopt.verify.symbols import variables

_NAMED = rb"\(\?(?:P?<NAME>|'NAME')"
_READ = rb"\$(?:\{NAME\}|NAME(?![A-Za-z0-9_]))"
_HARD = lazy.pattern(rb"\\[kgQEN]|\(\?(?:P[=>]|&|\(|\||J|[a-z]*x|R|[0-9+-])|\(\*")
"""What refers to groups of a pattern, changes their numbers, or hides them."""

_TOKEN = lazy.pattern(rb"\\.|\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\]|\((?:\?(?:P?<(?![=!])|')|(?!\?))|.", re.DOTALL)
"""An escape, a class, the start of a group that captures, or any other byte."""

_MOST_GROUPS = 9  # nginx reads `$10` as `$1` and a zero
_MOST_INNER = 9  # maps that read each other, in a chain
_SCRIPTS = ("set", "if", "rewrite", "break")
_LOGS = ("access_log", "log_format")
_READS_ROOT = lazy.pattern(r"\$\{?(?:document_root|realpath_root)\b")
_ARGUMENTS = {"args", "query_string", "is_args"}
_READS_ARGUMENTS = lazy.pattern(r"\$\{?(?:args|query_string)\b", re.IGNORECASE)
_ARGUMENTS_BEHIND = lazy.pattern(r"(/[^?$]*)\?\$(?:\{(?:args|query_string)\}|args|query_string)", re.IGNORECASE)
"""A path with the arguments of the request behind it."""

_UNLIKE = group("named_file")
"""Directives of a location with an `alias` under which a `root` may be something else."""

_REDIRECTS = lazy.pattern(r"^https?://|^\$|\?")
"""A target that may be a redirect, or has arguments."""

_ANY_SPELLING, _NO_CAPITALS = "^", r"^[^A-Z]*\z"
"""The patterns of a redirect whose target is found in a map, which ignores letter case."""

_REST = lazy.pattern(r"\(\?s\)\^\(\?<(\w+)>\.\+\)")
"""The pattern of a condition that reads a target once."""

_NEVER_MATCHES = lazy.pattern(r"[^|]*\(\?!\)")
_ENDS_LINE = "\n\\z"
"""The pattern of a condition that is true where a newline ends the URI."""

_ODD = lazy.pattern(r"[$\n]")
_FAILURE = lazy.pattern(r"[45]\d\d|=\d*")
_CAPTURES = frozenset("123456789")

_ADDRESS = lazy.pattern(r"[\w.-]+:\d+|unix:/[^\s:]+")
_IN_URLS = ("proxy_pass", "grpc_pass")
"""The directives that pass requests on to a URL, in which a socket is written otherwise."""

_Edit = tuple[int, int, bytes]


@record(eq=True)
class _Table:
    """A map of texts: what it looks up, and its keys in lower case."""

    source: str
    keys: frozenset[bytes]


@record(eq=True)
class _Runs:
    """The URIs with which an internal redirect may run the script of a server again: whole URIs, and ends of URIs such
    as `/index.html`, in lower case. `changes`: whether an end may follow a URI other than the client's."""

    uris: frozenset[bytes]
    ends: tuple[bytes, ...]
    changes: bool

    def reach(self, keys: Collection[bytes]) -> bool:
        """Return whether the script may run again with one of these URIs, in any spelling."""
        return not self.uris.isdisjoint(keys) or any(key.endswith(self.ends) for key in keys)


def reshaped(model: SiteModel) -> SiteModel:
    """Return a model of the site in its one shape; the same model if it is in that shape, or cannot be rewritten.

    Nothing is rewritten that code or an unread file may see.
    """
    shaping = _Shaping(model)
    if shaping.side.has_code:
        return model
    texts = {path: _edited(data, edits) for path, (data, edits) in shaping.edits().items()}
    if not texts:
        return model
    try:
        return SiteModel(reread(model.config, texts), model.build)
    except NginxoptError:
        return model


def _around(level: Level | None) -> Iterator[Level]:
    """Yield a block and those around it."""
    while level is not None:
        yield level
        level = level.parent


def _matches(level: Level) -> bool:
    """Return whether a location or an `if` has a pattern, which sets or clears the captures."""
    words = level.args[:1] if level.kind == "location" else level.args[1:2]
    return level.kind in ("location", "if") and "".join(words).lstrip("!").startswith("~")


def _may_break(level: Level) -> bool:
    """Return whether a script may change the URI and stay in its location, so that an `alias` may have nothing to
    replace (`r->valid_location`)."""
    blocks = (level, *(inner for inner in level.levels if inner.kind == "if"))
    words = ((each.name, *each.args[2:3]) for block in blocks for each in block.directives)
    return any(block.bulks for block in blocks) or any("break" in each for each in words)


def _edited(data: bytes, edits: Sequence[_Edit]) -> bytes:
    for start, end, text in sorted(edits, reverse=True):
        data = data[:start] + text + data[end:]
    return data


class _Shaping:
    def __init__(self, model: SiteModel) -> None:
        self._model, self._levels = model, model.site.levels
        self.side = VerifiedSide(model.site, model.site.site)
        self._all = [*self._directives()]
        self._places = Counter(directive.origin for _, directive in self._all)
        self._elsewhere = {include.origin for include in model.config.elsewhere}
        self._edits: dict[str, tuple[bytes, list[_Edit]]] = {}
        self._tables: dict[str, _Table | None] = {}
        self._order: dict[int, dict[int, int]] = {}

    def _directives(self) -> Iterator[tuple[Level, Directive]]:
        for top in self._levels[:1]:
            for level in top.walk():
                yield from ((level, directive) for directive in level.directives)

    def edits(self) -> dict[str, tuple[bytes, list[_Edit]]]:
        """Return the edits of each file, by its path and with its text."""
        is_read = not any(map(self._has_unread, self._levels))
        for level in self._levels:
            if level.kind == "location" and level.opener is not None and not self._is_repeated(level.opener):
                self._as_root(level)
                if is_read:
                    self._number(level)
            if is_read:
                self._number_in_script(level)
        if is_read:
            self._with_mark()
            self._as_addresses()
            self._as_volatile()
            for denial in denials(self._levels):
                if not self._is_repeated(denial):
                    self._edit(denial, denial.start, denial.end, b"return 403;")
        return {path: found for path, found in self._edits.items() if found[1]}

    def _edit(self, directive: Directive, start: int, end: int, text: bytes) -> None:
        source = directive.source
        self._edits.setdefault(source.path, (source.data, []))[1].append((start, end, text))

    def _is_repeated(self, directive: Directive) -> bool:
        return directive.source.original is not None or self._places[directive.origin] > 1

    # alias and root

    def _as_root(self, level: Level) -> None:
        """Write `location /a/ { alias D/a/; }` as `root D`: either way, the path of a file is D with the URI behind."""
        stated, around = level.own("alias"), list(_around(level))
        words = [str(word) for word in level.args]
        modifier, path = words if len(words) == 2 else ("", words[0] if words else "")
        if len(stated) != 1 or modifier not in ("", "=", "^~") or not path.startswith("/") or path == "/":
            return
        [alias] = stated
        folder = str(alias.args[0])
        if self._is_repeated(alias) or "$" in folder or not folder.endswith(path) or len(folder) <= len(path):
            return
        inside = list(level.walk())
        if any(each.own(name) for each in inside for name in (*_SCRIPTS, *_UNLIKE)) or len(inside) > 1:
            return
        if any(map(self._has_unread, around)) or any(map(_may_break, around)) or self._shows_root(around):
            return
        self._edit(alias, alias.start, alias.end, b"root %s;" % _quoted(folder.removesuffix(path)))

    # arguments

    def _with_mark(self) -> None:
        """Write `/a?$args`, to which a file that is missing or an error leads, as `/a$is_args$args`.

        Without arguments, the second form leaves them of length 0 wherever they point (`ngx_http_split_args`), which
        SSI, code and logs may show as none (`ngx_http_variable_request`) instead of empty.
        """
        if not self.side.taken.isdisjoint(_ARGUMENTS):
            return
        for _, directive in self._all:
            shows = directive.name == "log_format" and any(_READS_ARGUMENTS.search(word) for word in directive.args)
            if directive.name == "ssi" or shows:
                return
        for _, directive in self._all:
            if directive.name in ("try_files", "error_page") and directive.args:
                word = directive.args[-1]
                found = _ARGUMENTS_BEHIND.fullmatch(word)
                if found is not None and not self._is_repeated(directive):
                    self._edit(directive, word.span.start, word.span.end, _quoted(f"{found[1]}$is_args$args"))

    def _shows_root(self, around: Sequence[Level]) -> bool:
        """Return whether a setting in force, or what defines a variable, reads the folder of a location."""
        others = (level for level, _ in self._all if level.kind not in ("server", "location", "if", "limit_except"))
        directives = (each for level in dict.fromkeys((*around, *others)) for each in level.directives)
        return any(_READS_ROOT.search(word) for each in directives for word in each.args)

    def _has_unread(self, level: Level) -> bool:
        """Return whether anything in a block was not read, or may be read where the configuration is installed."""
        includes = (each for each in level.own("include") if origin(each) is None)
        return any(self._model.site.nodes.is_missing(each) or each.origin in self._elsewhere for each in includes)

    # captures

    def _number(self, level: Level) -> None:
        """Write the named groups of a location with a pattern as numbered ones, where only its own settings and
        answers read them, and no other pattern is tried before."""
        opener = level.opener
        if opener is None or not opener.args or not opener.args[0].startswith("~"):
            return
        inner = list(level.walk())
        if any(each.own("rewrite") or (each is not level and each.kind == "location") for each in inner):
            return
        if any("~" in str(each.args[1:2]) for one in inner for each in one.own("if")) or self._may_match_later:
            return
        mine = {id(each) for each in level.directives if each.name not in _SCRIPTS and each.block is None}
        self._as_numbers(opener, opener.args[-1], mine)

    def _number_in_script(self, level: Level) -> None:
        """Write the named groups of an `if` that answers, and those of rewrites that only their targets read, as
        numbered ones. nginx escapes numbered ones in redirects and arguments (`ngx_http_script_copy_capture_code`).
        """
        opener = level.opener
        is_match = level.kind == "if" and opener is not None and opener.args[1:2] in (("~",), ("~*",))
        if opener is not None and is_match and not any(map(level.own, _SCRIPTS)):
            self._as_numbers(opener, opener.args[2], {id(each) for each in level.own("return")})
        for rule in level.own("rewrite"):
            flag = str(rule.args[2]) if len(rule.args) > 2 else ""
            if len(rule.args) > 1 and flag in ("", "last", "break") and not _REDIRECTS.search(rule.args[1]):
                self._as_numbers(rule, rule.args[0], set())

    def _as_numbers(self, opener: Directive, pattern: Token, readers_allowed: set[int]) -> None:
        """Write those named groups of a pattern as numbered ones that only its own directive reads, and the directives
        with an id in `readers_allowed`."""
        if self._is_repeated(opener):
            return
        for name, number in _numbers(_raw(pattern, opener)).items():
            readers = self._reading.get(name, [])
            is_mine = all(each is opener or id(each) in readers_allowed for each in readers)
            is_free = self._groups[name] == 1 and not is_own(name) and not self._is_folded(name)
            if is_free and is_mine and not any(map(self._is_repeated, readers)):
                self._rename(opener, pattern, name)
                for reader in readers:
                    self._read(reader, name, number)

    def _rename(self, opener: Directive, word: Token, name: str) -> None:
        raw = _raw(word, opener)
        found = re.search(_NAMED.replace(b"NAME", name.encode()), raw, re.IGNORECASE)
        assert found is not None
        start = word.span.start + found.start()
        self._edit(opener, start, start + len(found[0]), b"(")

    def _read(self, reader: Directive, name: str, number: int) -> None:
        pattern = _READ.replace(b"NAME", name.encode())
        for word in reader.args:
            for found in re.finditer(pattern, _raw(word, reader), re.IGNORECASE):
                self._edit(reader, word.span.start + found.start(), word.span.start + found.end(), b"$%d" % number)

    @cached_property
    def _reading(self) -> dict[str, list[Directive]]:
        """The directives that read, set or define each variable."""
        found: dict[str, list[Directive]] = defaultdict(list)
        for _, directive in self._all:
            words = (word for word in (directive.name, *directive.args) if "$" in word)
            for name in set().union(*(variables(word.encode("utf-8", "surrogateescape")) for word in words)):
                found[name].append(directive)
        return found

    def _is_folded(self, name: str) -> bool:
        """Return whether a folded rewrite may name a variable."""
        return name.encode() in self._folded

    @cached_property
    def _folded(self) -> bytes:
        bulks = {
            (bulk.source.path, bulk.span): bulk for level in self._levels[0].walk() for bulk in level.bulks
        }.values()
        return b"\n".join(bulk.source.data[bulk.span.start : bulk.span.end] for bulk in bulks).lower()

    @cached_property
    def _groups(self) -> Counter[str]:
        """How often each name of a group stands in a pattern."""
        words = (word for _, directive in self._all for word in (directive.name, *directive.args) if "(?" in word)
        return Counter(name for word in words for name in group_names(word.encode("utf-8", "surrogateescape")))

    @cached_property
    def _may_match_later(self) -> bool:
        """Whether something may set the captures after the choice of a location: the lookup of a map with patterns, a
        folded rewrite, a setting with a pattern (`proxy_redirect ~`), or a subrequest, which shares the variables."""
        if self.side.shares_variables or any(level.bulks for level in self._levels[0].walk()):
            return True
        settings = (each for _, each in self._all if each.name not in group("pattern"))
        if any(str(word).startswith("~") for each in settings for word in each.args):
            return True
        maps = (level for level in self._levels[0].walk() if level.kind == "map" and level.opener is not None)
        return any(
            reader is not level.opener and reader.name not in _LOGS
            for level in maps
            if any(row.name.startswith("~") for row in level.directives)
            for reader in self._reading.get(str(level.args[-1]).removeprefix("$").lower(), ())
        )

    # upstreams and addresses

    def _as_addresses(self) -> None:
        """Write the address of the only server of an upstream where requests are passed on to the upstream."""
        addresses = {
            name: content[0][1]
            for name, content in self.side.upstreams.items()
            if len(content) == 1 and content[0][0] == "server" and len(content[0]) == 2
            if _ADDRESS.fullmatch(content[0][1])
        }
        if not addresses or any("$" in str(each.args[:1]) for _, each in self._all if each.name in group("pass")):
            return
        shown = VerifiedSide(self._model.site, self._model.site.site, shown=frozenset(addresses))
        passing: dict[str, list[Directive]] = defaultdict(list)
        for number, level in enumerate(self._levels):
            for name in group("pass") & level.names:
                for directive in level.own(name):
                    host = host_of_pass(str(directive.args[0]))
                    if host in addresses:
                        passing[host].append(directive)
                        is_socket = addresses[host].startswith("unix:") and name in _IN_URLS
                        if is_socket or SHOWN_NAME in shown.settings(number):
                            addresses.pop(host)
        passed = addresses.keys() & passing.keys()
        blocks = {each.args[0].lower(): each for _, each in self._all if each.name == "upstream"}
        hosts = {name: addresses[name].partition(":")[0].lower() for name in passed}
        # nginx refuses a host with a port if it is the name of an upstream, so that has to go.
        while stuck := {name for name in passed if not self._may_go(hosts[name], blocks, passed, passing)}:
            passed -= stuck
        for name in passed:
            for directive in passing[name]:
                self._pass_to(directive, name, addresses[name])
        for block in {hosts[name]: blocks[hosts[name]] for name in passed if hosts[name] in blocks}.values():
            self._edit(block, block.start, block.end, b"")

    def _may_go(
        self,
        host: str,
        blocks: Mapping[str, Directive],
        passed: Collection[str],
        passing: Mapping[str, Sequence[Directive]],
    ) -> bool:
        """Return whether no upstream has the name of a host once requests are `passed` to addresses instead."""
        if host not in blocks:
            return True
        users = [
            each for _, each in self._all if each.name in group("pass") and host_of_pass(str(each.args[0])) == host
        ]
        are_written = len(users) == len(passing.get(host, ()))
        return host in passed and are_written and not any(map(self._is_repeated, (blocks[host], *users)))

    def _pass_to(self, directive: Directive, host: str, address: str) -> None:
        if not self._is_repeated(directive):
            word = directive.args[0]
            found = re.search(re.escape(host.encode()), _raw(word, directive), re.IGNORECASE)
            assert found is not None
            start = word.span.start + found.start()
            self._edit(directive, start, start + len(found[0]), address.encode())

    # maps that keep their values

    def _as_volatile(self) -> None:
        """Write maps of `$uri` as `volatile` that only redirects and internal redirects of a server read.

        nginx keeps the value of the first lookup, also where an internal redirect runs the script again. That makes no
        difference if no URI with which the script runs again is a key of the map:

        - A target behind `if ($key = $uri)` is read in one run only.
        - A target that is its own condition is read in each run. Its first value is empty, unless the first URI is a
          key or another spelling of one. A key has ended the request by its redirect. Another spelling has a capital
          letter, and so has the URI of an index behind it, which the pattern of the redirect does not match.
        """
        if (runs := self._runs_again) is None:
            return
        for level in self._levels[0].walk():
            opener = level.opener
            if level.kind != "map" or opener is None or opener.block is None or self._is_repeated(opener):
                continue
            name = str(level.args[-1]).removeprefix("$").lower()
            table = self._table(name)
            if table is None or self._is_volatile(name) or self._groups[name] or self._is_folded(name):
                continue
            readers = [reader for reader in self._reading[name] if reader is not opener]
            if all(self._is_read_safely(reader, name, table, runs) for reader in readers):
                start = opener.block.span.start + 1
                self._edit(opener, start, start, b" volatile;")

    def _is_read_safely(self, reader: Directive, name: str, table: _Table, runs: _Runs) -> bool:
        level = self._level_of[id(reader)]
        if level is None:
            return False
        if level.kind == "if" and reader.name in ("rewrite", "set") and level.opener is not None:
            if self._is_guarded(level, table.source, runs):
                return True
            return reader.name == "rewrite" and self._is_read_safely(level.opener, name, table, runs)
        is_condition = reader.name == "if" and level.kind == "server" and table.source == "$uri"
        return is_condition and self._is_own_condition(reader, name, table.keys, runs)

    def _is_guarded(self, level: Level, source: str, runs: _Runs, around: tuple[Level, ...] = ()) -> bool:
        """Return whether the script of a server enters an `if` only with a URI that is a key: the condition compares
        the key with the URI, or tests a variable that is set only behind such a comparison in the same run."""
        server, opener, condition = level.parent, level.opener, [str(word) for word in level.args]
        if server is None or server.kind != "server" or opener is None or condition[1:2] != ["="]:
            return False
        tested, text = condition[0].removeprefix("$").lower(), condition[2]
        guard = self._table(tested)
        if guard is not None:
            is_same = guard.source == source == text and (source == "$uri" or self._is_line(source, server, opener))
            return is_same and self._is_volatile(tested) and not runs.reach(guard.keys)
        setters = self._setters(tested)
        if not text or "$" in text or setters is None:
            return False
        cleared = [each for each, at in setters if at is server and str(each.args[1]) == ""]
        inner = [at for each, at in setters if not (at.kind == "server" and str(each.args[1]) == "")]
        is_cleared = any(self._is_before(each, opener, server) for each in cleared)
        seen = (*around, level)
        return is_cleared and all(
            at.kind == "if" and at not in seen and self._is_guarded(at, source, runs, seen) for at in inner
        )

    def _is_line(self, source: str, server: Level, opener: Directive) -> bool:
        """Return whether a variable is `$uri`, except for a newline at its end, before a statement, and is not set
        afterwards."""
        setters = self._setters(source.removeprefix("$").lower())
        if setters is None:
            return False
        own = [(each, at) for each, at in setters if server in (at, at.parent)]
        behind = [at.opener if at.kind == "if" else each for each, at in own]
        is_set = any(at is server for _, at in own)
        return (
            is_set
            and all(each is not None and self._is_before(each, opener, server) for each in behind)
            and all(
                str(each.args[1]) == "$uri"
                if at.kind == "server"
                else [*map(str, at.args)] == [source, "~", _ENDS_LINE]
                for each, at in own
            )
        )

    def _setters(self, name: str) -> list[tuple[Directive, Level]] | None:
        """Return the statements that set a variable, with their blocks; None if something else may set it."""
        readers = [(each, self._level_of[id(each)]) for each in self._reading.get(name, ())]
        found = [(each, at) for each, at in readers if each.name == "set" and str(each.args[0]).lower() == f"${name}"]
        is_known = name not in self.side.definitions and not self._groups[name] and not self._is_folded(name)
        known = [(each, at) for each, at in found if at is not None and at.kind in ("server", "if")]
        return known if is_known and len(known) == len(found) and not is_own(name) else None

    def _is_before(self, one: Directive, other: Directive, level: Level) -> bool:
        """Return whether a statement of a block stands before another one of it."""
        places = self._order.setdefault(id(level), {id(each): at for at, each in enumerate(level.directives)})
        return places.get(id(one), len(places)) < places.get(id(other), -1)

    def _is_own_condition(self, opener: Directive, name: str, keys: Collection[bytes], runs: _Runs) -> bool:
        """Return whether an `if` does nothing but redirect to the value that it tests."""
        inside = [] if opener.block is None else list(opener.block.directives())
        if len(inside) != 1 or inside[0].name != "rewrite" or runs.reach(keys):
            return False
        [redirect] = inside
        words = [str(word) for word in redirect.args]
        if words[2:] not in (["redirect"], ["permanent"]) or words[0] not in (_ANY_SPELLING, _NO_CAPITALS):
            return False
        if not self._are_texts(name):
            return False
        if words[0] == _NO_CAPITALS and (runs.uris or runs.changes):
            return False
        condition = [str(word) for word in opener.args]
        if condition == [f"${name}"]:
            return not self._reads_captures
        rest = _REST.fullmatch(condition[2]) if condition[:2] == [f"${name}", "~"] and len(condition) == 3 else None
        return rest is not None and all(each is redirect for each in self._reading.get(rest[1].lower(), ()))

    def _table(self, name: str) -> _Table | None:
        """Return what a map looks up, and its keys; None if a row has a pattern, or if a second lookup may change the
        value of a key."""
        form = self.side.definitions.get(name)
        if form is None or form["kind"] != "map" or form["source"] is None or name in self._tables:
            return self._tables.get(name)
        keys = set()
        for key, *values in (row["args"] for row in form["rows"]):
            if key == "volatile" and not values:
                continue
            is_text = len(values) == 1 and key[:1] not in ("~", "\\") and (key != "default" or not values[0])
            if not is_text or not self._is_same_again(values[0]):
                self._tables[name] = None
                return None
            keys.add(key.encode("latin-1").lower())
        self._tables[name] = _Table(form["source"].lower(), frozenset(keys - {b"default"}))
        return self._tables[name]

    def _are_texts(self, name: str) -> bool:
        """Return whether the values of a map have no variables."""
        form = self.side.definitions[name]
        return form["kind"] != "opaque" and not any("$" in row["args"][-1] for row in form["rows"])

    def _is_same_again(self, value: str, around: tuple[str, ...] = ()) -> bool:
        """Return whether a text has the same value if it is evaluated again at once: no map in it sets captures."""
        return all(self._sets_nothing(name, around) for name in variables(value.encode("latin-1")))

    def _sets_nothing(self, name: str, around: tuple[str, ...]) -> bool:
        form = self.side.definitions.get(name)
        if name.isdigit() or name in around or len(around) > _MOST_INNER:
            return False
        if form is None:
            return True
        if form["kind"] != "map" or any(row["args"][0].startswith("~") for row in form["rows"]):
            return False
        texts = [form["source"] or "", *(row["args"][-1] for row in form["rows"])]
        return all(self._is_same_again(text, (*around, name)) for text in texts if "$" in text)

    def _is_volatile(self, name: str) -> bool:
        form = self.side.definitions[name]
        return form["kind"] != "opaque" and any(row["args"] == ["volatile"] for row in form["rows"])

    @cached_property
    def _level_of(self) -> dict[int, Level | None]:
        """The block in which each directive stands; None if it stands in several."""
        found: dict[int, Level | None] = {}
        for level, directive in self._all:
            found[id(directive)] = None if id(directive) in found else level
        return found

    @cached_property
    def _reads_captures(self) -> bool:
        """Whether anything reads `$1` to `$9` that no pattern of its own has set before, as that of a rewrite does."""
        readers = (reader for name in _CAPTURES for reader in self._reading.get(name, ()))
        others = (each for each in readers if each.name != "rewrite" and not each.name.startswith("~"))
        return any(not any(map(_matches, _around(self._level_of[id(reader)]))) for reader in others)

    @cached_property
    def _runs_again(self) -> _Runs | None:
        """The URIs with which scripts of servers may run again; None if they may be any, or if a script may go on with
        a changed URI."""
        if self.side.has_open or self.side.has_opaque:
            return None
        changes = False
        for number in range(len(self._levels)):
            for rule in (each for each in self.side.script(number) if each["kind"] == "rewrite"):
                is_redirect = rule["flag"] in ("redirect", "permanent") or is_url(rule["replacement"])
                if is_redirect or _NEVER_MATCHES.fullmatch(rule["pattern"]):
                    continue
                if rule["flag"] not in ("last", "break"):
                    return None
                changes = True
        uris, ends = set[bytes](), {b"/index.html"}
        for level, directive in self._all:
            if level.kind in ROWS or directive.name == "include":
                continue
            leads = _leads(directive)
            if leads is None or reads(directive.name, directive.args) or any(_ODD.search(each) for each in leads):
                return None
            for uri in (each.partition("?")[0].encode("latin-1", "replace").lower() for each in leads):
                (uris if uri.startswith(b"/") else ends).add(uri if uri.startswith(b"/") else b"/" + uri)
            changes |= directive.name == "try_files" and not {"$uri", "$uri/"}.issuperset(directive.args[:-1])
        return _Runs(frozenset(uris), tuple(sorted(ends)), changes)


_NEVER = group("pass") | group("again") | group("leads") - {"try_files"} | group("untried") - {"include"}
"""Directives that may run the script of a server again with any URI."""


def _leads(directive: Directive) -> list[str] | None:
    """Return the URIs and names of indexes to which a directive leads; None if they may be any."""
    args = [str(word) for word in directive.args]
    match directive.name:
        case "index":
            return args
        case "try_files":
            return [] if args[-1][:1] in ("=", "@") else args[-1:] if args[-1].startswith("/") else None
        case "error_page":
            is_known = all(map(_FAILURE.fullmatch, args[:-1]))
            return (
                None if not is_known or args[-1].startswith("$") else [uri for uri in args[-1:] if uri.startswith("/")]
            )
    return None if directive.name in _NEVER else []


def _raw(word: Token, directive: Directive) -> bytes:
    return directive.source.data[word.span.start : word.span.end]


def _quoted(text: str) -> bytes:
    return b'"%s"' % text.replace("\\", "\\\\").replace('"', '\\"').encode("utf-8", "surrogateescape")


def _numbers(pattern: bytes) -> dict[str, int]:
    """Return the numbers of the named groups of a pattern; none if something else refers to groups, or may."""
    if _HARD.search(pattern):
        return {}
    found: dict[str, int] = {}
    number = 0
    for token in _TOKEN.finditer(pattern):
        if token[0].startswith(b"("):
            if token[0] == b"(" and pattern[token.end() : token.end() + 1] == b"?":
                continue
            number += 1
            names = group_names(pattern[token.start() :])
            if token[0] != b"(" and names:
                found[names[0]] = number
    return {name: at for name, at in found.items() if at <= _MOST_GROUPS}
