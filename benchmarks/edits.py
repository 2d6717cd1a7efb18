"""Refactorings of a configuration, one at a time, that change no answer.

An edit is a function of a `Text` and a random draw that returns the text of the file then; None if there is nothing to
edit. What only a premise makes equal (a renamed upstream whose name is the header Host) is left alone.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise

from nginxopt.config import Config, Directive, Scope
from nginxopt.facts.table import Declaration, declarations
from nginxopt.version import Version

VERSION = Version(1, 28, 0)

_VARIABLE = re.compile(r"\$([a-z_]\w*)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Text:
    """A main file, with its directives and the blocks in which they stand.

    Attributes:
        config: The configuration.
        data: The text of the main file.
        placed: The directives of the main file, each with the directives that open the blocks around it.
    """

    config: Config
    data: bytes
    placed: list[tuple[Directive, tuple[Directive, ...]]] = field(default_factory=list)

    @classmethod
    def of(cls, config: Config) -> Text:
        """Return the text of a configuration."""
        text = cls(config, config.main.source.data)
        text._walk(config.readings, ())
        return text

    def _walk(self, scope: Scope, around: tuple[Directive, ...]) -> None:
        inner = {id(each.opener): each for each in scope.scopes}
        for directive in scope.directives:
            if directive.source is self.config.main.source and scope.context[:1] not in (("stream",), ("mail",)):
                self.placed.append((directive, around))
                if id(directive) in inner:
                    self._walk(inner[id(directive)], (*around, directive))

    @property
    def words(self) -> str:
        """The whole text."""
        return self.data.decode("latin-1")

    def named(self, *names: str) -> list[Directive]:
        """Return the directives with one of these names, outside of tables."""
        return [each for each, around in self.placed if each.name in names and not is_table(around)]

    def rows(self, *tables: str) -> Iterator[list[Directive]]:
        """Yield the rows of each table."""
        for each, _ in self.placed:
            if each.name in tables and each.block is not None:
                yield [row for row, around in self.placed if around[-1:] == (each,)]

    def inside(self, opener: Directive) -> list[Directive]:
        """Return the directives directly in a block."""
        return [each for each, around in self.placed if around[-1:] == (opener,)]

    def around(self, directive: Directive) -> tuple[Directive, ...]:
        """Return the directives that open the blocks around one."""
        return next(around for each, around in self.placed if each is directive)

    def replaced(self, edits: Iterable[tuple[int, int, str]]) -> bytes:
        """Return the text with other bytes from each start to its end."""
        data = self.data
        for start, end, text in sorted(edits, reverse=True):
            data = data[:start] + text.encode("utf-8", "surrogateescape") + data[end:]
        return data

    def written(self, directive: Directive) -> str:
        """Return a directive as it is written."""
        return self.data[directive.start : directive.end].decode("utf-8", "surrogateescape")

    def is_read(self, directive: Directive) -> bool:
        """Whether nothing is included in the blocks around a directive."""
        openers = {id(each) for each in (*self.around(directive), directive)}
        includes = [around for each, around in self.placed if each.name == "include"]
        return all(around and id(around[-1]) not in openers for around in includes)


Edit = Callable[[Text, random.Random], bytes | None]
_Edits = list[list[tuple[int, int, str]]]


def is_table(around: Sequence[Directive]) -> bool:
    """Return whether the innermost block is a table, whose rows are no directives."""
    return bool(around) and around[-1].name in ("map", "geo", "types", "split_clients", "upstream", "charset_map")


def declared_as(directive: Directive) -> Declaration | None:
    """Return what nginx's sources say of a directive of http; None if several modules declare it, or none."""
    rows = [
        row for row in declarations(str(directive.name)) if row.module.startswith("ngx_http") and row.is_in(VERSION)
    ]
    return rows[0] if len(rows) == 1 else None


def chosen(text: Text, draw: random.Random, options: _Edits) -> bytes | None:
    """Return the text with one of some edits; None if there are none."""
    return text.replaced(draw.choice(options)) if options else None


def word_at(directive: Directive, number: int, new: str) -> tuple[int, int, str]:
    """Return the edit that writes another word for an argument."""
    span = directive.args[number].span
    return (span.start, span.end, new)


def _values(convert: Callable[[Directive, Declaration], str | None], text: Text, draw: random.Random) -> bytes | None:
    """Write one value otherwise."""
    options = []
    for directive, around in text.placed:
        declared = None if is_table(around) or len(directive.args) != 1 else declared_as(directive)
        if declared is not None and (new := convert(directive, declared)) is not None:
            options.append([word_at(directive, 0, new)])
    return chosen(text, draw, options)


def _flag(directive: Directive, declared: Declaration) -> str | None:
    return str(directive.args[0]).upper() if declared.compared == "flag" else None


def _time(directive: Directive, declared: Declaration) -> str | None:
    found = re.fullmatch(r"(\d+)([smh]?)", directive.args[0])
    if found is None or declared.compared not in ("milliseconds", "seconds"):
        return None
    seconds = int(found[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[found[2]]
    return f"{seconds // 60}m" if seconds and seconds % 60 == 0 and found[2] != "m" else f"0{seconds}"


def _size(directive: Directive, declared: Declaration) -> str | None:
    found = re.fullmatch(r"(\d+)([kKmM])", directive.args[0])
    if found is None or declared.compared not in ("size", "offset"):
        return None
    return str(int(found[1]) << 10) + ("" if found[2].lower() == "k" else "k")


def _sets(text: Text, draw: random.Random) -> bytes | None:
    """Turn the words of a set round."""
    sets = ("gzip_types", "proxy_hide_header", "ssi_types", "sub_filter_types")
    options = []
    for directive, around in text.placed:
        declared = None if is_table(around) else declared_as(directive)
        is_set = declared is not None and (declared.compared == "set" or directive.name in sets)
        if is_set and len(set(directive.args)) > 1:
            words = [str(word) for word in reversed(directive.args)]
            options.append([word_at(directive, at, word) for at, word in enumerate(words)])
    return chosen(text, draw, options)


def _quoted(text: Text, draw: random.Random) -> bytes | None:
    """Put quotes around a word."""
    options = [
        [word_at(directive, at, f'"{word}"')]
        for directive, around in text.placed
        if not is_table(around) and directive.name not in ("if", "location", "include")
        for at, word in enumerate(directive.args)
        if re.fullmatch(r"[\w./:$-]+", word) and text.data[word.span.start : word.span.end].decode() == word
    ]
    return chosen(text, draw, options)


_EVALUATED = ("add_header", "proxy_set_header", "return", "fastcgi_param", "uwsgi_param", "root", "proxy_pass")


def _variables(pattern: str, new: str, text: Text, draw: random.Random) -> bytes | None:
    """Write a variable otherwise where nginx evaluates it."""
    options = [
        [word_at(directive, at, f'"{changed}"')]
        for directive in text.named(*_EVALUATED)
        for at, word in enumerate(directive.args)
        if '"' not in word and "\\" not in word and (changed := re.sub(pattern, new, word, count=1)) != word
    ]
    return chosen(text, draw, options)


def _upper(text: Text, draw: random.Random) -> bytes | None:
    """Write a variable in capitals."""
    options = [
        [word_at(directive, at, f'"{_VARIABLE.sub(lambda found: found[0].upper(), word, count=1)}"')]
        for directive in text.named(*_EVALUATED)
        for at, word in enumerate(directive.args)
        if '"' not in word and "\\" not in word and _VARIABLE.search(word)
    ]
    return chosen(text, draw, options)


_DEFAULTS = {
    "server": ("etag on", "if_modified_since exact", "server_tokens on", "client_max_body_size 1m", "satisfy all",
               "autoindex off", "port_in_redirect on", "recursive_error_pages off", "merge_slashes on"),
    "proxy": ("proxy_buffering on", "proxy_intercept_errors off", "proxy_connect_timeout 60s", "proxy_read_timeout 1m",
              "proxy_request_buffering on", "proxy_pass_request_headers on", "proxy_next_upstream error timeout",
              "proxy_cache off", "proxy_ssl_server_name off"),
}  # fmt: skip


def _default(text: Text, draw: random.Random) -> bytes | None:
    """State a default in a block all of whose text was read, where none of the blocks around states another."""
    options = []
    for directive, around in text.placed:
        kind = "server" if directive.name == "server" and not is_table(around) else ""
        inside = text.inside(directive) if directive.block is not None else []
        if directive.name == "location" and any(each.name == "proxy_pass" for each in inside):
            kind = "proxy"
        for stated in _DEFAULTS.get(kind, ()) if text.is_read(directive) else ():
            name = stated.partition(" ")[0]
            above = [each for opener in around for each in text.inside(opener) if each.name == name]
            top = [each for each, outer in text.placed if not outer and each.name == name]
            if not above and not top and not any(each.name == name for each in inside):
                start = text.data.index(b"{", directive.args[-1].span.end if directive.args else directive.start) + 1
                options.append([(start, start, f" {stated};")])
    return chosen(text, draw, options)


def swapped(first: Directive, second: Directive, text: Text) -> list[tuple[int, int, str]]:
    """Return the edits that write each of two directives in the place of the other."""
    return [
        (first.start, first.end, text.written(second)),
        (second.start, second.end, text.written(first)),
    ]


def neighbours(text: Text) -> Iterator[tuple[Directive, Directive]]:
    """Yield directives that follow each other in a block."""
    last: dict[int, Directive] = {}
    for directive, around in text.placed:
        key = id(around[-1]) if around else 0
        if key in last:
            yield last[key], directive
        last[key] = directive


def _swap(may: Callable[[Directive, Directive], bool], text: Text, draw: random.Random) -> bytes | None:
    """Swap two neighbours."""
    options = [swapped(*pair, text) for pair in neighbours(text) if may(*pair) and not is_table(text.around(pair[0]))]
    return chosen(text, draw, options)


def _are_fields(name: str, first: Directive, second: Directive) -> bool:
    both = first.name == second.name == name and bool(first.args) and bool(second.args)
    return (
        both
        and first.args[0].lower() != second.args[0].lower()
        and not re.search(r"\$\d", f"{first.args}{second.args}")
    )


def _are_pages(first: Directive, second: Directive) -> bool:
    both = first.name == second.name == "error_page"
    return both and not {str(word) for word in first.args[:-1]} & {str(word) for word in second.args[:-1]} - {"="}


def _are_rules(first: Directive, second: Directive) -> bool:
    return first.name == second.name and first.name in ("allow", "deny")


def _are_plain_locations(first: Directive, second: Directive) -> bool:
    return all(each.name == "location" and not each.args[0].startswith(("~", "@")) for each in (first, second))


def _are_scalars(first: Directive, second: Directive) -> bool:
    declared = [declared_as(each) for each in (first, second)]
    plain = all(each is not None and each.compared != "text" and each.is_once for each in declared)
    return plain and first.name != second.name


def _table_rows(table: str, text: Text, draw: random.Random) -> bytes | None:
    """Swap two rows of a table that are looked up by their keys."""
    options = []
    for rows in text.rows(table):
        names = [str(row.name) for row in rows]
        if {"include", "hostnames", "ranges", "delete", "proxy"} & set(names) or len(set(names)) < len(names):
            continue
        plain = [row for row in rows if not row.name.startswith("~") and row.args and row.name != "default"]
        options += [swapped(first, second, text) for first, second in pairwise(plain)]
    return chosen(text, draw, options)


def _split_pages(text: Text, draw: random.Random) -> bytes | None:
    """Write an `error_page` of several codes as several ones."""
    options = []
    for page in text.named("error_page"):
        codes = [str(word) for word in page.args if re.fullmatch(r"\d+", word)]
        rest = [text.data[word.span.start : word.span.end].decode() for word in page.args[len(codes) :]]
        if len(codes) > 1 and len(set(codes)) == len(codes):
            options.append([(page.start, page.end, " ".join(f"error_page {code} {' '.join(rest)};" for code in codes))])
    return chosen(text, draw, options)


def _server_names(text: Text, draw: random.Random) -> bytes | None:
    """Swap names behind the first, which has more uses."""
    options = []
    for names in text.named("server_name"):
        plain = [at for at, word in enumerate(names.args) if at and not word.startswith("~")]
        for first, second in pairwise(plain):
            options.append(
                [word_at(names, first, str(names.args[second])), word_at(names, second, str(names.args[first]))]
            )
    return chosen(text, draw, options)


def _listen(text: Text, draw: random.Random) -> bytes | None:
    """Write the address of a `listen` that has only a port."""
    options = [
        [word_at(listen, 0, f"*:{listen.args[0]}")]
        for listen in text.named("listen")
        if re.fullmatch(r"\d+", listen.args[0])
    ]
    return chosen(text, draw, options)


def _folded(text: Text, draw: random.Random) -> bytes | None:
    """Write `~* P` as `~ (?i)P`."""
    options = [
        [word_at(each, 0, "~"), word_at(each, 1, f'"(?i){each.args[1]}"')]
        for each in text.named("location")
        if each.args[0] == "~*" and len(each.args) == 2 and '"' not in each.args[1] and "\\" not in each.args[1]
    ]
    return chosen(text, draw, options)


def _methods(text: Text, draw: random.Random) -> bytes | None:
    """Write the methods of a `limit_except` in small letters."""
    return chosen(
        text,
        draw,
        [[word_at(each, at, word.lower()) for at, word in enumerate(each.args)] for each in text.named("limit_except")],
    )


def _return(text: Text, draw: random.Random) -> bytes | None:
    """Leave out the code of a `return` of 302."""
    options = [
        [(each.args[0].span.start, each.args[1].span.start, "")]
        for each in text.named("return")
        if len(each.args) == 2 and each.args[0] == "302" and re.match(r"https?://|\$scheme", each.args[1])
    ]
    return chosen(text, draw, options)


def _expires(text: Text, draw: random.Random) -> bytes | None:
    """Put a plus before the time of `expires`."""
    options = [
        [word_at(each, 0, f"+{each.args[0]}")] for each in text.named("expires") if re.match(r"\d", each.args[0])
    ]
    return chosen(text, draw, options)


def _network(text: Text, draw: random.Random) -> bytes | None:
    """Set bits of an address behind its mask."""
    options = []
    for each in text.named("allow", "deny", "set_real_ip_from"):
        if found := re.fullmatch(r"(\d+\.\d+\.\d+\.)0(/(?:8|16|24))", each.args[0]):
            options.append([word_at(each, 0, f"{found[1]}7{found[2]}")])
    return chosen(text, draw, options)


def _servers(text: Text, draw: random.Random) -> bytes | None:
    """State the defaults of a server of an upstream."""
    options = [
        [(each.end - 1, each.end - 1, f" {word}")]
        for each, around in text.placed
        if around[-1:] and around[-1].name == "upstream" and each.name == "server"
        for word in ("weight=1", "max_fails=1", "fail_timeout=10s")
        if word.partition("=")[0] not in " ".join(each.args)
    ]
    return chosen(text, draw, options)


def _scalars(text: Text, server: Directive) -> list[Directive]:
    """Return the settings of a server that its locations inherit, and that take one value."""
    found = []
    for each in text.inside(server):
        declared = declared_as(each)
        places = 0 if declared is None else declared.places
        if declared is not None and declared.compared != "text" and declared.is_once and places & 16 and places & 8:
            found.append(each)
    return found


def _sunk(text: Text, draw: random.Random) -> bytes | None:
    """State a setting of a server in its locations, too."""
    options = []
    for server in text.named("server"):
        inner = [each for each in text.inside(server) if each.name == "location" and each.block is not None]
        for setting in _scalars(text, server) if inner else ():
            free = [each for each in inner if all(one.name != setting.name for one in text.inside(each))]
            starts = [text.data.index(b"{", each.args[-1].span.end) + 1 for each in free]
            options.append([(at, at, f" {text.written(setting)}") for at in starts])
    return chosen(text, draw, [option for option in options if option])


def _hoisted(text: Text, draw: random.Random) -> bytes | None:
    """State once in a server what all of its locations state alike; one of them takes every URI."""
    options = []
    for server in text.named("server"):
        inner = [each for each in text.inside(server) if each.name == "location" and each.block is not None]
        script = any(each.name in ("return", "rewrite", "if", "try_files") for each in text.inside(server))
        if len(inner) < 2 or script or not any([*each.args] == ["/"] for each in inner) or not text.is_read(server):
            continue
        own = {str(each.name) for each in text.inside(server)}
        for first in text.inside(inner[0]):
            declared = declared_as(first)
            is_plain = declared is not None and declared.compared != "text" and declared.is_once
            said = [one for each in inner for one in text.inside(each) if one.name == first.name]
            if (
                not is_plain
                or declared is None
                or not declared.places & 8
                or first.name in own
                or len(said) != len(inner)
            ):
                continue
            if len({tuple(each.args) for each in said}) == 1:
                start = text.data.index(b"{", server.start) + 1
                options.append(
                    [*((each.start, each.end, "") for each in said), (start, start, f" {text.written(first)}")]
                )
    return chosen(text, draw, options)


def _renamed(names: Iterable[str], text: Text, pattern: str, draw: random.Random) -> bytes | None:
    """Rename one of some names wherever a pattern finds it."""
    options = sorted(set(names))
    if not options:
        return None
    name = draw.choice(options)
    changed = re.sub(pattern.replace("NAME", re.escape(name)), lambda found: f"{found[0]}_renamed", text.words)
    return changed.encode("latin-1")


_PROGRAMS = re.compile(r"_by_lua|\bjs_|\bperl|\bssi\b|xslt")


def _map_name(text: Text, draw: random.Random) -> bytes | None:
    if _PROGRAMS.search(text.words):
        return None
    names = [str(each.args[-1])[1:] for each in text.named("map") if len(each.args) == 2]
    return _renamed((name for name in names if f"<{name}>" not in text.words), text, r"\$\{?NAME\b", draw)


def _zone_name(text: Text, draw: random.Random) -> bytes | None:
    names = re.findall(r"limit_(?:req|conn)_zone[^;]*zone=(\w+):", text.words)
    return _renamed(names, text, r"(?:zone=|limit_conn\s+)NAME\b", draw)


def _cache_name(text: Text, draw: random.Random) -> bytes | None:
    return _renamed(re.findall(r"keys_zone=(\w+):", text.words), text, r"(?:keys_zone=|_cache\s+)NAME\b", draw)


def _format_name(text: Text, draw: random.Random) -> bytes | None:
    names = re.findall(r"(?m)^\s*log_format\s+(\w+)\s", text.words)
    if any(each.name == "include" for each, _ in text.placed):
        return None
    return _renamed(names, text, r"(?:log_format\s+|access_log\s+[^\s;]+\s+)NAME\b", draw)


def _named_location(text: Text, draw: random.Random) -> bytes | None:
    if _PROGRAMS.search(text.words) or re.search(r"_pass\s|include|X-Accel", text.words, re.I):
        return None
    return _renamed(
        (str(each.args[0]) for each in text.named("location") if each.args[0][0] == "@"), text, r"NAME\b", draw
    )


def _upstream_name(text: Text, draw: random.Random) -> bytes | None:
    """Rename an upstream that only protocols without a name of the host are passed to."""
    names = [str(each.args[0]) for each in text.named("upstream")]
    passed = {str(each.args[0]): str(each.name) for each in text.named("fastcgi_pass", "uwsgi_pass", "scgi_pass")}
    free = [name for name in names if name in passed and len(re.findall(rf"\b{re.escape(name)}\b", text.words)) == 2]
    return _renamed(free, text, r"(?:upstream|_pass)\s+NAME\b", draw)


def _numbered(text: Text, draw: random.Random) -> bytes | None:
    """Read the first group of the pattern of a location by its number, where nothing else may match."""
    options = []
    for each in text.named("location"):
        found = re.match(r"[^(]*(\(\?<(\w+)>)", each.args[-1]) if each.args[0].startswith("~") else None
        if found is None or len(text.words.split(f"<{found[2]}>")) > 2 or re.search(r"(?m)^\s*~", text.words):
            continue
        reads = [*re.finditer(rf"\$(?:{found[2]}\b|{{{found[2]}}})", text.words)]
        outside = [read for read in reads if not each.start < read.start() < each.end]
        if outside or re.search(r"\b(?:rewrite|if|location|set)\b", text.written(each)[len("location") :]):
            continue
        start = each.args[-1].span.start + text.data[each.args[-1].span.start :].index(found[1].encode())
        options.append([(start, start + len(found[1]), "("), *((read.start(), read.end(), "$1") for read in reads)])
    return chosen(text, draw, options)


def _rooted(text: Text, draw: random.Random) -> bytes | None:
    """Write an `alias` that ends with the path of its location as a `root`."""
    options = []
    for each in text.named("alias"):
        opener = text.around(each)[-1]
        path, folder = str(opener.args[-1]), str(each.args[0])
        inside = {str(other.name) for other in text.inside(opener)}
        is_plain = opener.name == "location" and path.startswith("/") and len(path) > 1 and text.is_read(each)
        is_plain = is_plain and not inside & {"rewrite", "if", "try_files", "location", "break"}
        if is_plain and folder.endswith(path) and folder != path and not _READS.search(text.words + folder):
            options.append([(each.start, each.end, f'root "{folder.removesuffix(path)}";')])
    return chosen(text, draw, options)


_READS = re.compile(r"document_root|realpath_root|\bbreak\b")


def _address(text: Text, draw: random.Random) -> bytes | None:
    """Pass requests on to the only server of an upstream that no host is named by, and not to its name."""
    options = []
    for upstream in text.named("upstream"):
        inside = text.inside(upstream)
        name = str(upstream.args[0])
        passed = [each for each in text.named("fastcgi_pass", "uwsgi_pass", "scgi_pass") if each.args[0] == name]
        used = len(re.findall(rf"\b{re.escape(name)}\b", text.words))
        if len(inside) == 1 and inside[0].name == "server" and len(inside[0].args) == 1 and used == len(passed) + 1:
            edits = [word_at(each, 0, str(inside[0].args[0])) for each in passed]
            options += [[(upstream.start, upstream.end, ""), *edits]] if passed else []
    return chosen(text, draw, options)


def _blank(text: Text, draw: random.Random) -> bytes | None:
    """Add a comment."""
    if not text.placed:
        return None
    start = draw.choice(text.placed)[0].start
    return text.replaced([(start, start, "# a comment\n")])


EQUAL: dict[str, Edit] = {
    "a comment": _blank,
    "a flag in capitals": partial(_values, _flag),
    "a time in other units": partial(_values, _time),
    "a size in other units": partial(_values, _size),
    "a set in another order": _sets,
    "quotes": _quoted,
    "braces around a variable": partial(_variables, r"\$([a-z]\w*)", r"${\1}"),
    "another name of the arguments": partial(_variables, r"\$args\b", "$query_string"),
    "another name of the URI": partial(_variables, r"\$uri\b", "$document_uri"),
    "a variable in capitals": _upper,
    "a stated default": _default,
    "add_header in another order": partial(_swap, partial(_are_fields, "add_header")),
    "proxy_set_header in another order": partial(_swap, partial(_are_fields, "proxy_set_header")),
    "fastcgi_param in another order": partial(_swap, partial(_are_fields, "fastcgi_param")),
    "error_page in another order": partial(_swap, _are_pages),
    "rules of access in another order": partial(_swap, _are_rules),
    "locations in another order": partial(_swap, _are_plain_locations),
    "settings in another order": partial(_swap, _are_scalars),
    "rows of a map in another order": partial(_table_rows, "map"),
    "rows of a geo in another order": partial(_table_rows, "geo"),
    "an error_page for each code": _split_pages,
    "names of a server in another order": _server_names,
    "the address of listen": _listen,
    "a pattern without case": _folded,
    "methods in small letters": _methods,
    "a return without its code": _return,
    "a plus before a time": _expires,
    "bits behind a mask": _network,
    "defaults of a server of an upstream": _servers,
    "a setting of a server in its locations": _sunk,
    "a setting of all locations in their server": _hoisted,
    "another name of a map": _map_name,
    "another name of a zone": _zone_name,
    "another name of a cache": _cache_name,
    "another name of a format": _format_name,
    "another name of a named location": _named_location,
    "another name of an upstream": _upstream_name,
    "a group by its number": _numbered,
    "an alias as a root": _rooted,
    "an upstream by its address": _address,
}
"""The refactorings, by what they do."""
