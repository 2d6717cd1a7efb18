"""Writes sites in another way that answers alike, so that two ways to write the same meet.

A group of a pattern with a name becomes one with a number, an `alias` that ends with the path of its location becomes a
`root`, and an upstream with one server becomes its address. Each form has conditions under which nobody can see which
of both was written. What does not meet them stays as it is.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property

from nginxopt import lazy
from nginxopt.config import Directive, reread
from nginxopt.config.tree import Token
from nginxopt.errors import NginxoptError
from nginxopt.facts import group
from nginxopt.request.model import SiteModel
from nginxopt.semantics import Level
from nginxopt.semantics.inherit import origin
from nginxopt.verify.names import host_of_pass, is_own
from nginxopt.verify.patterns import group_names
from nginxopt.verify.side import SHOWN_NAME, VerifiedSide
from nginxopt.verify.symbols import variables

_NAMED = rb"\(\?(?:P?<NAME>|'NAME')"
_READ = rb"\$(?:\{NAME\}|NAME(?![A-Za-z0-9_]))"
_HARD = lazy.pattern(rb"\\[kgQEN]|\(\?(?:P[=>]|&|\(|\||J|[a-z]*x|R|[0-9+-])|\(\*")
"""What refers to groups, numbers them otherwise, or hides them in a pattern."""

_TOKEN = lazy.pattern(rb"\\.|\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\]|\((?:\?(?:P?<(?![=!])|')|(?!\?))|.", re.DOTALL)
"""An escape, a class, the start of a group that captures, or any other byte."""

_MOST_GROUPS = 9
_SCRIPTS = ("set", "if", "rewrite", "break")
_LOGS = ("access_log", "log_format")
_READS_ROOT = lazy.pattern(r"\$\{?(?:document_root|realpath_root)\b")
_UNLIKE = group("named_file")
"""Directives of a location with an `alias` under which a `root` may be something else."""

_REDIRECTS = lazy.pattern(r"^https?://|^\$|\?")
"""A target that may be a redirect, or has arguments."""

_ADDRESS = lazy.pattern(r"[\w.-]+:\d+|unix:/[^\s:]+")
_IN_URLS = ("proxy_pass", "grpc_pass")
"""The directives that pass requests on to a URL, in which a socket is written otherwise."""

_Edit = tuple[int, int, bytes]


def reshaped(model: SiteModel) -> SiteModel:
    """Return a site that answers alike, as far as one can be written; the same model otherwise.

    Nothing is written otherwise where what was not read, or a program, may see it.
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


def _may_break(level: Level) -> bool:
    """Return whether a script may keep a changed URI in its location, where an `alias` has nothing to replace then
    (`r->valid_location`)."""
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
            self._as_addresses()
        return {path: found for path, found in self._edits.items() if found[1]}

    def _edit(self, directive: Directive, start: int, end: int, text: bytes) -> None:
        source = directive.source
        self._edits.setdefault(source.path, (source.data, []))[1].append((start, end, text))

    def _is_repeated(self, directive: Directive) -> bool:
        return directive.source.original is not None or self._places[directive.origin] > 1

    # alias and root

    def _as_root(self, level: Level) -> None:
        """Write `location /a/ { alias D/a/; }` as `root D`: the path is D with the URI in both."""
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
        """Write the groups of a pattern as numbered ones that nothing else reads but its own directive, and others that
        may."""
        if self._is_repeated(opener):
            return
        for name, number in _numbers(_raw(pattern, opener)).items():
            readers = self._reading.get(name, [])
            is_mine = all(each is opener or id(each) in readers_allowed for each in readers)
            is_free = self._groups[name] == 1 and not is_own(name)
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

    @cached_property
    def _groups(self) -> Counter[str]:
        """How often each name of a group stands in a pattern."""
        words = (word for _, directive in self._all for word in (directive.name, *directive.args) if "(?" in word)
        return Counter(name for word in words for name in group_names(word.encode("utf-8", "surrogateescape")))

    @cached_property
    def _may_match_later(self) -> bool:
        """Whether a map with patterns may be looked up, what is folded may match, a setting has a pattern
        (`proxy_redirect ~`), or a subrequest may try the same location, which sets the same variables."""
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
        for host in addresses.keys() & passing.keys():
            for directive in passing[host]:
                self._pass_to(directive, host, addresses[host])

    def _pass_to(self, directive: Directive, host: str, address: str) -> None:
        if not self._is_repeated(directive):
            word = directive.args[0]
            found = re.search(re.escape(host.encode()), _raw(word, directive), re.IGNORECASE)
            assert found is not None
            start = word.span.start + found.start()
            self._edit(directive, start, start + len(found[0]), address.encode())


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
