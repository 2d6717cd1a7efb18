"""Edits that people make of a configuration, larger than those of `benchmarks.edits`: what moves to another block or
file, is split, or is said by another directive; and changes as a pull request has them.

`REFACTORED` has those that nginx cannot show, under conditions that each edit checks, and `CHANGED` the others.
"""

from __future__ import annotations

import random
import re
import tempfile
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path

from benchmarks.edits import Edit, Text, chosen, declared_as, is_table, neighbours, swapped, word_at
from nginxopt.config import Directive

_GROUP = re.compile(r"\((?!\?:)")
_READS_GROUP = re.compile(r"\$\d|\$\{\d")
_PROGRAMS = re.compile(r"_by_lua|\bjs_|\bperl|\bssi\b|xslt")
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]*", re.ASCII)
_PLAIN = re.compile(r"[\w/.-]+", re.ASCII)


def start_of(text: Text, block: Directive) -> int:
    """Return where the content of a block begins."""
    return text.data.index(b"{", block.args[-1].span.end if block.args else block.start) + 1


def body_of(text: Text, block: Directive) -> str:
    """Return the content of a block, as it is written."""
    return text.data[start_of(text, block) : block.end - 1].decode("utf-8", "surrogateescape")


def names_in(text: Text, block: Directive) -> set[str]:
    """Return the names of the directives directly in a block."""
    return {str(each.name) for each in text.inside(block)}


def _locations(text: Text, block: Directive) -> list[Directive]:
    return [each for each in text.inside(block) if each.name == "location" and each.block is not None]


def _servers(text: Text) -> list[Directive]:
    return [each for each in text.named("server") if each.block is not None]


def _patterns(text: Text, server: Directive) -> bool:
    """Return whether a server may have a location with a pattern."""
    inside = [each for each, around in text.placed if server in around]
    return any(each.name == "include" or (each.name == "location" and each.args[0][:1] == "~") for each in inside)


def _in_a_file(text: Text, draw: random.Random) -> bytes | None:
    """Move the content of a location into a file that it includes."""
    options = [each for each in text.named("location") if each.block is not None and text.inside(each)]
    if not options:
        return None
    location = draw.choice(options)
    folder = Path(tempfile.gettempdir()) / "nginxopt-practice"
    folder.mkdir(exist_ok=True)
    path = folder / f"{draw.getrandbits(64):x}.conf"
    path.write_bytes(body_of(text, location).encode("utf-8", "surrogateescape"))
    return text.replaced([(start_of(text, location), location.end - 1, f" include {path}; ")])


_ONE_NAME = re.compile(
    r"\$\{?server_name\b|server_name_in_redirect|fastcgi_params|fastcgi\.conf|uwsgi_params|scgi_params"
)


def _split_names(text: Text, draw: random.Random) -> bytes | None:
    """Give the last name of a server, which nothing reads, a server of its own with the same content."""
    options = []
    for server in _servers(text):
        inside = text.inside(server)
        names = [each for each in inside if each.name == "server_name"]
        listens = [each for each in inside if each.name == "listen"]
        is_simple = len(names) == 1 and len(names[0].args) > 1 and bool(_NAME.fullmatch(names[0].args[-1]))
        is_simple = is_simple and all({*map(str, each.args[1:])} <= {"ssl", "http2"} for each in listens)
        if is_simple and not _ONE_NAME.search(text.words) and text.is_read(server):
            last, before = names[0].args[-1].span, names[0].args[-2].span
            other = text.written(server)
            at = names[0].start - server.start
            other = f"{other[:at]}server_name {names[0].args[-1]};{other[names[0].end - server.start :]}"
            options.append([(before.end, last.end, ""), (server.end, server.end, f"\n{other}")])
    return chosen(text, draw, options)


def _constant_rewrite(text: Text, draw: random.Random) -> bytes | None:
    """Write a rewrite of every URI to a constant, without arguments, as a return."""
    options = []
    for each in text.named("rewrite"):
        words = [str(word) for word in each.args]
        codes = {"permanent": "301", "redirect": "302"}
        is_every = words[0] in ("^", "^/") and len(words) == 3 and words[2] in codes and words[1].endswith("?")
        if is_every and re.fullmatch(r"https?://[\w./-]+\?", words[1], re.ASCII):
            options.append([(each.start, each.end, f"return {codes[words[2]]} {words[1][:-1]};")])
    return chosen(text, draw, options)


_STEADY = re.compile(r"\$(?:http_\w+|cookie_\w+|request_uri|host|scheme|https|remote_addr|server_port)")


def _tested(each: Directive) -> tuple[str, str, str] | None:
    """Return the variable, the operator and the text or pattern of a condition, without groups."""
    words = [str(word) for word in each.args]
    words[0], words[-1] = words[0].removeprefix("("), words[-1].removesuffix(")")
    words = [word for word in words if word]
    is_test = len(words) == 3 and _STEADY.fullmatch(words[0]) and words[1] in ("=", "!=", "~", "~*", "!~", "!~*")
    return (words[0], words[1], words[2]) if is_test and not re.search(r"[\"'\\{};$]|^~|\(", words[2]) else None


def _if_as_map(text: Text, draw: random.Random) -> bytes | None:
    """Test by a map what a condition tests."""
    options = []
    for each in text.named("if"):
        around = text.around(each)
        server = next((block for block in around if block.name == "server"), None)
        test = _tested(each)
        if server is None or test is None or (test[1] in ("=", "!=") and _READS_GROUP.search(text.words)):
            continue
        variable, operator, value = test
        row = {"=": f'"~^{re.escape(value)}\\z"', "~": f'"~{value}"', "~*": f'"~*{value}"'}[operator.removeprefix("!")]
        default, found = ("1", "0") if operator.startswith("!") else ("0", "1")
        table = f"map {variable} $practice_test {{ default {default}; {row} {found}; }}\n"
        span = (each.args[0].span.start, each.args[-1].span.end, "($practice_test)")
        options.append([(server.start, server.start, table), span])
    return chosen(text, draw, options)


def _list_of_passes(text: Text, draw: random.Random) -> bytes | None:
    """State once in a server the header fields to upstreams that all of its passes state alike."""
    options = []
    for server in _servers(text):
        locations = [each for each, around in text.placed if each.name == "location" and server in around]
        passes = [each for each in locations if "proxy_pass" in names_in(text, each)]
        lists = [[one for one in text.inside(each) if one.name == "proxy_set_header"] for each in passes]
        stated = [each for each, around in text.placed if each.name == "proxy_set_header" and server in around]
        is_alike = len({tuple(tuple(one.args) for one in each) for each in lists}) == 1 and bool(lists[0])
        if is_alike and len(stated) == sum(map(len, lists)) and text.is_read(server) and len(passes) > 1:
            words = " ".join(text.written(one) for one in lists[0])
            at = start_of(text, server)
            options.append([(at, at, f" {words}"), *((one.start, one.end, "") for one in stated)])
    return chosen(text, draw, options)


def _alternatives(text: Text, draw: random.Random) -> bytes | None:
    """Write a location for each alternative of its pattern."""
    options = []
    for each in text.named("location"):
        found = (
            re.fullmatch(r"([^()|]*)\((?:\?:)?([\w|]+)\)([^()|]*)", each.args[-1]) if each.args[0][:1] == "~" else None
        )
        is_free = found is not None and "|" in found[2] and each.block is not None and text.is_read(each)
        if (
            found is None
            or not is_free
            or _READS_GROUP.search(body_of(text, each))
            or "location" in body_of(text, each)
        ):
            continue
        first, *rest = found[2].split("|")
        written = [
            f'location {each.args[0]} "{found[1]}{part}{found[3]}" {{{body_of(text, each)}}}'
            for part in (first, f"(?:{'|'.join(rest)})")
        ]
        options.append([(each.start, each.end, "\n".join(written))])
    return chosen(text, draw, options)


def _exact_copy(text: Text, draw: random.Random) -> bytes | None:
    """Give a path of `location /` an exact location with the same content, where no pattern would take it."""
    options = []
    for each in text.named("location"):
        server = text.around(each)[-1] if text.around(each) else None
        if server is None or server.name != "server" or [*each.args] != ["/"] or _patterns(text, server):
            continue
        body = body_of(text, each)
        if not re.search(r"_pass|alias|location|rewrite|\bif\b|include", body):
            options.append([(each.end, each.end, f"\nlocation = /mutant.html {{{body}}}")])
    return chosen(text, draw, options)


def _as_alias(text: Text, draw: random.Random) -> bytes | None:
    """Write the root of a location for a folder as an alias."""
    options = []
    for each in text.named("root"):
        opener = text.around(each)[-1:]
        if not opener or opener[0].name != "location" or len(opener[0].args) > 2 or opener[0].args[0][:1] in "~=@":
            continue
        path, folder = str(opener[0].args[-1]), str(each.args[0])
        inside = names_in(text, opener[0])
        is_plain = path.startswith("/") and path.endswith("/") and len(path) > 1 and bool(_PLAIN.fullmatch(folder))
        reads = re.search(r"document_root|realpath_root|fastcgi|uwsgi|scgi", text.words)
        if is_plain and not inside & {"rewrite", "if", "try_files", "location", "include"} and not reads:
            options.append([(each.start, each.end, f"alias {folder.rstrip('/')}{path};")])
    return chosen(text, draw, options)


def _upstream_of(text: Text, draw: random.Random) -> bytes | None:
    """Pass requests of FastCGI on to an upstream with the address as its only server."""
    options = []
    for each in text.named("fastcgi_pass", "uwsgi_pass"):
        server = next((block for block in text.around(each) if block.name == "server"), None)
        address = str(each.args[0])
        if server is not None and re.fullmatch(r"unix:[\w/.-]+|127\.0\.0\.1:\d+", address):
            table = f"upstream practice {{ server {address}; }}\n"
            options.append([(server.start, server.start, table), word_at(each, 0, "practice")])
    return chosen(text, draw, options)


def _folder_variable(text: Text, draw: random.Random) -> bytes | None:
    """Name the folder of a server by a variable; nginx drops a slash at its end only without one."""
    options = []
    for each in text.named("root"):
        server = text.around(each)[-1:]
        if server and server[0].name == "server" and re.fullmatch(r"(?:/[\w.-]+)+", each.args[0], re.ASCII):
            at = start_of(text, server[0])
            options.append([(at, at, f" set $practice_folder {each.args[0]};"), word_at(each, 0, "$practice_folder")])
    return chosen(text, draw, options)


_ENDING = re.compile(r"(?:\.\*)?\\\.(?:\(\??:?)?([\w|]+)\)?\$")


def _patterns_apart(text: Text, draw: random.Random) -> bytes | None:
    """Swap two locations with patterns of endings, none of which is one of the other."""
    options = []
    for first, second in neighbours(text):
        found = [
            _ENDING.fullmatch(each.args[-1]) if each.name == "location" and each.args[0] in ("~", "~*") else None
            for each in (first, second)
        ]
        if found[0] is not None and found[1] is not None:
            endings = [{*each[1].lower().split("|")} for each in found if each is not None]
            if not endings[0] & endings[1]:
                options.append(swapped(first, second, text))
    return chosen(text, draw, options)


def _map_default(text: Text, draw: random.Random) -> bytes | None:
    """State the default of a map."""
    options = [
        [(start_of(text, each), start_of(text, each), ' default "";')]
        for each in text.named("map")
        if each.block is not None and not names_in(text, each) & {"default", "include"}
    ]
    return chosen(text, draw, options)


_OF_SOCKETS = re.compile(
    r"client_header|large_client|ignore_invalid|underscores|merge_slashes|connection_pool|request_pool"
)


def _in_all_servers(text: Text, draw: random.Random) -> bytes | None:
    """State a setting of http in each of its servers."""
    options = []
    for each, around in text.placed:
        declared = declared_as(each)
        if not around or around[-1].name != "http" or declared is None or _OF_SOCKETS.match(each.name):
            continue
        is_plain = declared.compared != "text" and declared.is_once and bool(declared.places & 8)
        if not is_plain or any(one.name == "include" for one in text.inside(around[-1])):
            continue
        servers = [one for one in text.inside(around[-1]) if one.name == "server"]
        if servers and all(each.name not in names_in(text, one) and text.is_read(one) for one in servers):
            starts = [start_of(text, one) for one in servers]
            options.append([(each.start, each.end, ""), *((at, at, f" {text.written(each)}") for at in starts)])
    return chosen(text, draw, options)


def _no_patterns(text: Text, draw: random.Random) -> bytes | None:
    """Let a prefix stop patterns where there is none."""
    options = []
    for each in text.named("location"):
        server = text.around(each)[-1:]
        is_prefix = len(each.args) == 1 and each.args[0].startswith("/")
        if is_prefix and server and server[0].name == "server" and not _patterns(text, server[0]):
            options.append([(each.args[0].span.start, each.args[0].span.start, "^~ ")])
    return chosen(text, draw, options)


REFACTORED: dict[str, Edit] = {
    "a location in a file": _in_a_file,
    "a server for one of the names": _split_names,
    "a rewrite to a constant as a return": _constant_rewrite,
    "a condition as a map": _if_as_map,
    "header fields of all passes in the server": _list_of_passes,
    "a location for each alternative": _alternatives,
    "an exact location with the same content": _exact_copy,
    "a root as an alias": _as_alias,
    "an upstream for an address": _upstream_of,
    "a variable for a folder": _folder_variable,
    "patterns of other endings in another order": _patterns_apart,
    "a stated default of a map": _map_default,
    "a setting of http in all servers": _in_all_servers,
    "a prefix that stops no pattern": _no_patterns,
}
"""The refactorings, by what they do."""


def _always(text: Text, draw: random.Random) -> bytes | None:
    """Send a header field with errors, too."""
    options = [
        [(each.end - 1, each.end - 1, " always")]
        for each in text.named("add_header")
        if len(each.args) == 2 and each.args[1]
    ]
    return chosen(text, draw, options)


def _confused(text: Text, draw: random.Random) -> bytes | None:
    """Write `alias` for the root of a location, or `root` for its alias."""
    options = []
    for each in text.named("root", "alias"):
        opener = text.around(each)[-1:]
        is_prefix = bool(opener) and opener[0].name == "location" and opener[0].args[0].startswith("/")
        if is_prefix and opener[0].args[0] != "/" and not names_in(text, opener[0]) & {"proxy_pass", "return"}:
            other = "alias" if each.name == "root" else "root"
            options.append([(each.start, each.start + len(each.name), other)])
    return chosen(text, draw, options)


def _folders_tried(text: Text, draw: random.Random) -> bytes | None:
    """Try folders, too, or no longer."""
    options = []
    for each in text.named("try_files"):
        words = [str(word) for word in each.args]
        if "$uri/" in words[:-1] and len(words) > 2:
            at = words.index("$uri/")
            options.append([(each.args[at].span.start, each.args[at].span.end, "")])
        elif words[0] == "$uri":
            options.append([(each.args[0].span.end, each.args[0].span.end, " $uri/")])
    return chosen(text, draw, options)


def _modifier(text: Text, draw: random.Random) -> bytes | None:
    """Make a prefix exact, or let the case of a pattern count no longer."""
    options = []
    for each in text.named("location"):
        if len(each.args) == 1 and each.args[0].startswith("/") and len(each.args[0]) > 1:
            options.append([(each.args[0].span.start, each.args[0].span.start, "= ")])
        elif each.args[0] == "~" and re.search(r"[a-z]{2}", each.args[-1]):
            options.append([word_at(each, 0, "~*")])
    return chosen(text, draw, options)


def _others(text: Text) -> Iterator[tuple[Directive, Directive]]:
    """Yield servers that are no default, with their `server_name`."""
    for first, server in pairwise(_servers(text)):
        listens = [[tuple(each.args) for each in text.inside(one) if each.name == "listen"] for one in (first, server)]
        names = [each for each in text.inside(server) if each.name == "server_name"]
        if listens[0] == listens[1] and len(names) == 1 and "default" not in str(listens):
            yield server, names[0]


def _name_more(text: Text, draw: random.Random) -> bytes | None:
    """Add a name to a server that is no default."""
    return chosen(text, draw, [[(each.end - 1, each.end - 1, " mutant.example")] for _, each in _others(text)])


def _name_less(text: Text, draw: random.Random) -> bytes | None:
    """Take the last name from a server that is no default."""
    options = [
        [(each.args[-1].span.start, each.args[-1].span.end, "")] for _, each in _others(text) if len(each.args) > 1
    ]
    return chosen(text, draw, options)


def _default_server(text: Text, draw: random.Random) -> bytes | None:
    """Add a server for other hosts."""
    options = []
    for server in _servers(text):
        listens = [each for each in text.inside(server) if each.name == "listen" and re.fullmatch(r"\d+", each.args[0])]
        if listens and "default" not in text.words and len(listens[0].args) == 1:
            added = f"\nserver {{ listen {listens[0].args[0]} default_server; return 444; }}"
            options.append([(server.end, server.end, added)])
    return chosen(text, draw, options)


def _slash(text: Text, draw: random.Random) -> bytes | None:
    """Put a slash behind the address of a pass."""
    options = []
    for each in text.named("proxy_pass"):
        opener = text.around(each)[-1:]
        is_prefix = bool(opener) and opener[0].name == "location" and opener[0].args[0].startswith("/")
        if is_prefix and re.fullmatch(r"https?://[\w.:-]+", each.args[0]):
            options.append([word_at(each, 0, f"{each.args[0]}/")])
    return chosen(text, draw, options)


def _added(words: str, names: tuple[str, ...], text: Text, draw: random.Random) -> bytes | None:
    """Add directives to a block with one of some directives."""
    options = []
    for each, around in text.placed:
        if each.block is None or is_table(around) or not names_in(text, each) & set(names):
            continue
        if each.name in ("server", "location") and words.split()[0] not in names_in(text, each) - {"location"}:
            at = start_of(text, each) if each.name == "location" else each.end - 1
            options.append([(at, at, f" {words} ")])
    return chosen(text, draw, options)


def _instead(pattern: str, new: str, names: tuple[str, ...], text: Text, draw: random.Random) -> bytes | None:
    """Write something else for a word of some directives."""
    options = [
        [word_at(each, at, f'"{re.sub(pattern, new, word)}"' if "$" in word else re.sub(pattern, new, word))]
        for each in text.named(*names)
        for at, word in enumerate(each.args)
        if re.search(pattern, word) and not re.search(r"[\"\\]", word)
    ]
    return chosen(text, draw, options)


def _as_return(text: Text, draw: random.Random) -> bytes | None:
    """Write a rewrite of every URI as a return to the URI as it was sent, which is not unescaped."""
    options = []
    for each in text.named("rewrite"):
        words = [str(word) for word in each.args]
        found = re.fullmatch(r"(https?://[\w.$]+?)/?\$(?:1|request_uri\??)", words[1])
        if words[0] in ("^", "^(.*)$", "^(.*)", "^/(.*)$") and found and words[2:] == ["permanent"]:
            options.append([(each.start, each.end, f"return 301 {found[1]}$request_uri;")])
    return chosen(text, draw, options)


def _into_location(text: Text, draw: random.Random) -> bytes | None:
    """Move the `return` of a server without locations into one, where the size of bodies is checked before."""
    options = []
    for each in text.named("return"):
        server = text.around(each)[-1:]
        if server and server[0].name == "server" and not names_in(text, server[0]) & {"location", "include"}:
            options.append([(each.start, each.end, f"location / {{ {text.written(each)} }}")])
    return chosen(text, draw, options)


def _listens_more(text: Text, draw: random.Random) -> bytes | None:
    """Listen at an address of IPv6, too."""
    options = [
        [(each.end, each.end, f" listen [::]:{each.args[0]};")]
        for each in text.named("listen")
        if re.fullmatch(r"\d+", each.args[0]) and "[::]" not in text.words
    ]
    return chosen(text, draw, options)


def _added_in(words: str, names: tuple[str, ...]) -> Edit:
    return partial(_added, words, names)


CHANGED: dict[str, Edit] = {
    "a header with errors, too": _always,
    "alias for root": _confused,
    "folders tried or not": _folders_tried,
    "another modifier": _modifier,
    "a name more": _name_more,
    "a name less": _name_less,
    "a default server": _default_server,
    "a slash behind a pass": _slash,
    "websockets": _added_in("proxy_set_header Upgrade $http_upgrade;", ("proxy_pass",)),
    "the header Host as it was sent": partial(_instead, r"\$host\b", "$http_host", ("proxy_set_header",)),
    "a password": _added_in("auth_basic mutant; auth_basic_user_file /etc/mutant;", ("root", "proxy_pass")),
    "addresses": _added_in("allow 10.0.0.0/8; deny all;", ("root", "proxy_pass", "try_files")),
    "another code of a return": partial(_instead, r"^301$", "302", ("return",)),
    "a location more": _added_in("location = /mutant { return 204; }", ("server_name",)),
    "hidden files denied": _added_in(r"location ~ /\.mutant { deny all; }", ("server_name",)),
    "last for break": partial(_instead, r"^last$", "break", ("rewrite",)),
    "an address of IPv6": _listens_more,
    "the version of nginx": _added_in("server_tokens off;", ("server_name",)),
    "a rewrite as a return": _as_return,
    "a return in a location": _into_location,
    "a page of errors": _added_in("error_page 404 /mutant.html;", ("root",)),
    "a header more": _added_in("add_header X-Mutant 1 always;", ("root", "proxy_pass", "return")),
    "a time in caches": _added_in("expires 17m;", ("root", "alias")),
}
"""The changes that can be seen, by what they do."""
