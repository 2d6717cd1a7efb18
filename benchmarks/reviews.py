"""Edits as reviewers see them in pull requests, each in two forms: one that nginx cannot show, and a twin that is
nearly the same and can be seen.

`ALIKE` has the first forms, under conditions that each edit checks, and `UNLIKE` the twins.
"""

from __future__ import annotations

import random
import re
import tempfile
from functools import partial
from pathlib import Path

from benchmarks.edits import Edit, Text, chosen, word_at
from benchmarks.practice import body_of, names_in, start_of
from nginxopt.config import Directive

_SUBREQUESTS = re.compile(r"auth_request|mirror|\bssi\b|addition|satisfy|_by_lua|\bjs_|\bslice\b")
_LISTS = ("add_header", "proxy_set_header")
_FOLLOWS_HOST = re.compile(r"\$\{?server_name\b|server_name_in_redirect|\$\d|\$\{\d")


def _servers(text: Text) -> list[Directive]:
    return [each for each in text.named("server") if each.block is not None]


def _server_of(text: Text, directive: Directive) -> Directive | None:
    """Return the server in which a directive stands directly."""
    around = text.around(directive)[-1:]
    return around[0] if around and around[0].name == "server" else None


def _arguments(new: str, text: Text, draw: random.Random) -> bytes | None:
    """Write the arguments of a fallback otherwise."""
    options = []
    for each in text.named("try_files"):
        last = str(each.args[-1])
        if re.fullmatch(r"/[\w./-]+\?\$(?:args|query_string)", last, re.ASCII):
            options.append([word_at(each, len(each.args) - 1, last.partition("?")[0] + new)])
    return chosen(text, draw, options)


def _unlogged(text: Text, draw: random.Random) -> bytes | None:
    """Leave out what is only about logs."""
    return chosen(text, draw, [[(each.start, each.end, "")] for each in text.named("access_log", "log_not_found")])


def _pattern_of_names(dot: str, text: Text, draw: random.Random) -> bytes | None:
    """Write `a.b www.a.b`, the names of the only server, as a pattern, where nothing reads what it captures."""
    options = []
    for names in text.named("server_name"):
        words = sorted(map(str, names.args), key=len)
        is_pair = len(words) == 2 and words[1] == f"www.{words[0]}" and bool(re.fullmatch(r"[a-z0-9.-]+", words[0]))
        if is_pair and len(_servers(text)) == 1 and not _FOLLOWS_HOST.search(text.words):
            end = names.args[-1].span.end
            pattern = words[0].replace(".", dot)
            options.append([(names.args[0].span.start, end, f'"~^(?:www\\.)?{pattern}$"')])
    return chosen(text, draw, options)


def _wildcard(new: str, text: Text, draw: random.Random) -> bytes | None:
    """Write `a.b *.a.b` as `.a.b`."""
    options = []
    for names in text.named("server_name"):
        words = [str(word) for word in names.args]
        if len(words) == 2 and words[1] == f"*.{words[0]}" and not _FOLLOWS_HOST.search(text.words):
            options.append([(names.args[0].span.start, names.args[-1].span.end, new + words[0])])
    return chosen(text, draw, options)


def _list_in_locations(text: Text, draw: random.Random, *, is_whole: bool) -> bytes | None:
    """State a list of a server in a location that states none, or only the first of its lines."""
    options = []
    for server in _servers(text):
        for name in _LISTS:
            stated = [each for each in text.inside(server) if each.name == name]
            for inner in text.inside(server):
                is_free = inner.name == "location" and inner.block is not None and name not in names_in(text, inner)
                if len(stated) > 1 and is_free and text.is_read(inner):
                    written = " ".join(map(text.written, stated if is_whole else stated[:1]))
                    options.append([(start_of(text, inner), start_of(text, inner), f" {written}")])
    return chosen(text, draw, options)


def _by_wildcard(pattern: str, text: Text, draw: random.Random) -> bytes | None:
    """Move the content of a location into a folder that it includes by a wildcard."""
    options = [each for each in text.named("location") if each.block is not None and text.inside(each)]
    if not options:
        return None
    location = draw.choice(options)
    folder = Path(tempfile.gettempdir()) / "nginxopt-practice" / f"{draw.getrandbits(64):x}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "a.conf").write_bytes(body_of(text, location).encode("utf-8", "surrogateescape"))
    return text.replaced([(start_of(text, location), location.end - 1, f" include {folder}/{pattern}; ")])


def _constant_return(end: str, text: Text, draw: random.Random) -> bytes | None:
    """Write a redirect to a constant as a rewrite of every URI."""
    options = []
    for each in text.named("return"):
        words = [str(word) for word in each.args]
        flags = {"301": "permanent", "302": "redirect"}
        if len(words) == 2 and words[0] in flags and re.fullmatch(r"https?://[\w./-]+", words[1], re.ASCII):
            options.append([(each.start, each.end, f"rewrite ^ {words[1]}{end} {flags[words[0]]};")])
    return chosen(text, draw, options)


def _denied(code: str, text: Text, draw: random.Random) -> bytes | None:
    """Answer 403 in place of `deny all`, or another code, in a location that has nothing else to do."""
    options = []
    for each in text.named("deny"):
        location = text.around(each)[-1:]
        is_alone = bool(location) and location[0].name == "location" and not _SUBREQUESTS.search(text.words)
        quiet = {"deny", "access_log", "log_not_found"}
        if is_alone and [*each.args] == ["all"] and names_in(text, location[0]) <= quiet:
            options.append([(each.start, each.end, f"return {code};")])
    return chosen(text, draw, options)


def _condition_on_host(text: Text, draw: random.Random, *, is_only: bool) -> bytes | None:
    """Leave out a condition on the host in a server that has this name; `is_only`: and no other hosts."""
    options = []
    for each in text.named("if"):
        server = _server_of(text, each)
        words = "".join(map(str, each.args))
        names = [] if server is None else [one for one in text.inside(server) if one.name == "server_name"]
        inner = text.inside(each) if each.block is not None else []
        if server is None or len(names) != 1 or [one.name for one in inner] != ["return"]:
            continue
        name = str(names[0].args[0])
        is_default = not _is_behind(text, server)
        if words == f"($host={name})" and (len(names[0].args) == 1 and not is_default) == is_only:
            options.append([(each.start, each.end, text.written(inner[0]))])
    return chosen(text, draw, options)


def _is_behind(text: Text, server: Directive) -> bool:
    """Return whether another server is the default one for all addresses of a server."""
    earlier = [each for each in _servers(text) if each.start < server.start]
    listens = [[" ".join(map(str, one.args)) for one in text.inside(each) if one.name == "listen"] for each in earlier]
    mine = [" ".join(map(str, one.args)) for one in text.inside(server) if one.name == "listen"]
    known = {words for each in listens for words in each}
    return bool(mine) and not any("default" in words or words not in known for words in mine)


def _block_for_address(text: Text, draw: random.Random, *, is_named: bool) -> bytes | None:
    """Pass requests on to an upstream with the address as its only server; `is_named`: the header Host and the
    redirects do not have the name."""
    options = []
    for each in text.named("proxy_pass"):
        server = next((block for block in text.around(each) if block.name == "server"), None)
        found = re.fullmatch(r"http://(127\.0\.0\.1:\d+)", str(each.args[0]))
        location = text.around(each)[-1]
        inside = text.inside(location)
        hosts = any(one.name == "proxy_set_header" and one.args[0].lower() == "host" for one in inside)
        off = any(one.name == "proxy_redirect" and [*one.args] == ["off"] for one in inside)
        if server is not None and found is not None and (hosts and off) == is_named:
            table = f"upstream practice {{ server {found[1]}; }}\n"
            options.append([(server.start, server.start, table), word_at(each, 0, "http://practice")])
    return chosen(text, draw, options)


ALIKE: dict[str, Edit] = {
    "arguments of a fallback": partial(_arguments, "$is_args$args"),
    "what is not logged": _unlogged,
    "names as a pattern": partial(_pattern_of_names, r"\."),
    "a name with a dot": partial(_wildcard, "."),
    "a list in a location, too": partial(_list_in_locations, is_whole=True),
    "a location in a folder": partial(_by_wildcard, "*.conf"),
    "a constant return as a rewrite": partial(_constant_return, "?"),
    "403 for deny all": partial(_denied, "403"),
    "no condition on the only host": partial(_condition_on_host, is_only=True),
    "an upstream for a port": partial(_block_for_address, is_named=True),
}
"""The refactorings, by what they do."""

UNLIKE: dict[str, Edit] = {
    "the first of a list in a location": partial(_list_in_locations, is_whole=False),
    "no condition on one of the hosts": partial(_condition_on_host, is_only=False),
    "an upstream that is the host": partial(_block_for_address, is_named=False),
    "no arguments of a fallback": partial(_arguments, ""),
    "names as a pattern with any character": partial(_pattern_of_names, "."),
    "only the names below": partial(_wildcard, "*."),
    "a location in a folder without files": partial(_by_wildcard, "*.none"),
    "a return as a rewrite with arguments": partial(_constant_return, ""),
    "404 for deny all": partial(_denied, "404"),
}
"""The changes that can be seen, by what they do."""
