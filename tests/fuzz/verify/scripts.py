"""Pairs of small sites around scripts: one of them is the other after an edit of what ends or changes the course of a
request.

What counts there are few bits of a request's state, such as whether the URI was changed, and whether that was over.
They show in `alias`, `proxy_pass` with a URI, named locations and error pages; the settings in force where a variable
is read show in its value.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass

from tests.fuzz.sites.messages import request
from tests.fuzz.verify.case import Case, Edited

_PATTERNS = (
    "^/q", "^/a/(.*)$", "^/(a|b)/", "^", r"\.txt$", "^/b", "^/e/(.*)$", "^/[a-e]/f", "^/x", "/q$", "^/a/([^.]*)",
    "^/[^/]*/(.*)$", "^/(.*)$",
)  # fmt: skip
_TARGETS = ("/f.txt", "/a/f.txt", "/b/$1", "/e/f.txt", "/x.html", "$uri", "/d/", "/a/q", "/c/$1?y=1", "/q")
_FLAGS = ("", "", "last", "last", "break", "break", "break", "permanent")
_VALUES = (
    "$uri", "$request_filename", "$document_root", "$1", "a", "$args", "$v$uri", "$fastcgi_script_name",
    "$fastcgi_path_info", "$invalid_referer", "$remote_addr", "$m",
)  # fmt: skip
_NAMES = ("/a/", "/b/", "/c/", "= /a/f.txt", r"~ \.html$", "/e/", "/d", "^~ /a/q", "= /q")
_SETTINGS = (
    "root {T}/r;", "root {T}/al;", "alias {T}/r/;", "alias {T}/r/;", "alias {T}/r/d/;", "proxy_pass http://{http0};",
    "proxy_pass http://{http0}/x/;", "proxy_pass http://{http0}/x/;", "try_files $uri /b/f.txt @n;",
    "try_files $uri.html =404;", "try_files /nx $uri/ @m;", "error_page 404 = @n;", "error_page 403 404 /e/f.txt;",
    "error_page 500 =200 /x.html;", "internal;", "add_header X-F $request_filename always;", "index f.txt nx;",
    "fastcgi_pass {fastcgi0}; fastcgi_param F $request_filename; fastcgi_param U $uri; fastcgi_param R $remote_addr;",
    "recursive_error_pages on;", "fastcgi_index f.txt;", "fastcgi_split_path_info ^(/[a-e])(.*)$;",
    "valid_referers none x.test;", "valid_referers a.test;", "set_real_ip_from 127.0.0.1;",
    "add_header X-S $fastcgi_script_name|$fastcgi_path_info|$document_root always;",
    "add_header X-M $m|$invalid_referer|$remote_addr always;",
)  # fmt: skip
_MAP = r"map $request_filename $m { ~/r/[a-f] a$invalid_referer; ~/d/ $remote_addr; default m; }"
_HEADER = "add_header X-A $request_filename|$m|$invalid_referer|$fastcgi_script_name always;"
_NAMED = ("proxy_pass http://{http1};", "root {T}/r;", "return 200 n$uri;", "error_page 404 /e/f.txt;")
_PATHS = (
    "/", "/q", "/qx", "/f.txt", "/a/", "/a/f.txt", "/a/q", "/a/nx", "/b/", "/b/f.txt", "/b/q", "/c/f.txt", "/c/nx",
    "/d", "/d/", "/d/f.txt", "/e/f.txt", "/e/q", "/x.html", "/a/x.html", "/x", "/nx", "/a", "/b",
)  # fmt: skip
_OF_SERVER = ("root", "error_page", "add_header", "index", "valid_referers", "set_real_ip_from", "fastcgi_index")
_FIELDS = ((b"Referer", b"http://a.test/"), (b"X-Real-IP", b"192.0.2.9"))


@dataclass
class Block:
    """A server or a location: its statements in order, and what else it has."""

    name: str
    script: list[str]
    settings: list[str]

    def text(self, inside: str = "") -> str:
        """Return the block."""
        return f"{self.name} {{ {' '.join([*self.script, *self.settings])} {inside} }}"


@dataclass
class Site:
    """A server with locations."""

    server: Block
    locations: list[Block]

    def text(self) -> str:
        """Return what stands in `http`."""
        return _MAP + "\n" + self.server.text("\n".join(block.text() for block in self.locations)) + "\n"

    @property
    def blocks(self) -> list[Block]:
        """All blocks."""
        return [self.server, *self.locations]


def site(draw: random.Random) -> Site:
    """Return a site at random."""
    settings = ["listen 127.0.0.1:{P};", "server_name h1;", *_settings(draw, 0.5)]
    settings += [_HEADER] if draw.random() < 0.5 else []
    server = Block("server", ['set $v "";', *_script(draw, 2)], settings)
    names = ["/", *draw.sample(_NAMES, draw.randrange(1, 4))]
    locations = [Block(f"location {name}", _script(draw, 2), _settings(draw, 1.5)) for name in names]
    locations += [Block(f"location @{name}", _script(draw, 2), [draw.choice(_NAMED)]) for name in "nm"]
    if draw.random() < 0.4:
        locations = locations[: draw.randrange(1, 3)]
    return Site(server, locations)


def _settings(draw: random.Random, mean: float) -> list[str]:
    """Return settings of different names."""
    chosen = draw.sample(_SETTINGS, min(4, int(draw.expovariate(1 / mean) + 0.5)))
    return list({setting.partition(" ")[0]: setting for setting in chosen}.values())


def _script(draw: random.Random, most: int) -> list[str]:
    return [_statement(draw) for _ in range(draw.randrange(most + 1))]


def _statement(draw: random.Random) -> str:
    match draw.randrange(16):
        case 0 | 1 | 2 | 3:
            return "break;"
        case 4:
            return f"set $v {draw.choice(_VALUES)};"
        case 5 | 6:
            return f"return {draw.choice(('403', '404', '500', '200 $request_filename', '200 $v', '301 /c$uri'))};"
        case 7:
            condition = draw.choice(
                (
                    *(
                        "$arg_x",
                        "$uri ~ ^/(a|b)",
                        "-f $request_filename",
                        "$v = a",
                        "$request_method = X",
                        "$uri ~ ^/a/",
                    ),
                    *("$invalid_referer", "$m", "$remote_addr = 192.0.2.9", "$fastcgi_script_name ~ f.txt$"),
                )
            )
            return f"if ({condition}) {{ {draw.choice(('break;', _rewrite(draw), 'set $v b;', 'return 410;'))} }}"
        case _:
            return _rewrite(draw)


def _rewrite(draw: random.Random) -> str:
    words = f'rewrite "{draw.choice(_PATTERNS)}" {draw.choice(_TARGETS)} {draw.choice(_FLAGS)}'
    return f"{words.rstrip()};"


def edited(draw: random.Random, before: Site) -> Site:
    """Return a copy after one or two edits."""
    after = deepcopy(before)
    for _ in range(draw.choice((1, 1, 1, 2))):
        draw.choice(_EDITS)(draw, after)
    return after


def _rewrites(after: Site) -> list[tuple[Block, int]]:
    """Return where rewrites are."""
    return [
        (block, at)
        for block in after.blocks
        for at, statement in enumerate(block.script)
        if statement.startswith("rewrite")
    ]


def _edit_segment(draw: random.Random, after: Site) -> None:
    """Let the pattern of a rewrite begin with any segment, or with another one."""
    for block, at in _rewrites(after):
        before = draw.choice(("^/a/", "^/e/", "^/[^/]*/", "^/"))
        block.script[at] = block.script[at].replace(f'"{before}', f'"{draw.choice(("^/[^/]*/", "^/a/"))}', 1)


def _edit_flag(draw: random.Random, after: Site) -> None:
    """Give a rewrite another flag."""
    places = _rewrites(after)
    if places:
        block, at = draw.choice(places)
        words = block.script[at].removesuffix(";").split()
        block.script[at] = " ".join([*words[:3], draw.choice(_FLAGS)]).rstrip() + ";"


def _edit_script(draw: random.Random, after: Site) -> None:
    """Add a statement, take one out, or let one come earlier or later."""
    script = draw.choice(after.blocks).script
    match draw.randrange(3):
        case 0 if script:
            del script[draw.randrange(len(script))]
        case 1 if len(script) > 1:
            statement = script.pop(draw.randrange(len(script)))
            script.insert(draw.randrange(len(script) + 1), statement)
        case _:
            script.insert(draw.randrange(len(script) + 1), draw.choice(("break;", _statement(draw))))


def _edit_value(draw: random.Random, after: Site) -> None:
    """Replace a setting by another of its name, or of the same effect."""
    places = [(block, at) for block in after.blocks for at in range(len(block.settings))]
    block, at = draw.choice(places)
    name = block.settings[at].partition(" ")[0]
    names = {"root", "alias"} if name in ("root", "alias") else {name}
    others = [setting for setting in _SETTINGS if setting.partition(" ")[0] in names]
    if others:
        block.settings[at] = draw.choice(others)


def _edit_settings(draw: random.Random, after: Site) -> None:
    """Put a setting in, take one out, or let it come from the server."""
    block = draw.choice(after.locations)
    setting = draw.choice(_SETTINGS)
    name = setting.partition(" ")[0]
    if draw.random() < 0.4 and name not in " ".join(block.settings):
        block.settings.append(setting)
    elif block.settings:
        setting = block.settings.pop(draw.randrange(len(block.settings)))
        if setting.startswith(_OF_SERVER) and draw.random() < 0.7:
            after.server.settings.append(setting)


def _move(draw: random.Random, after: Site) -> None:
    """Move a statement of a location to the server, or back."""
    source, target = draw.sample([after.server, draw.choice(after.locations)], 2)
    if len(source.script) > 1:
        target.script.append(source.script.pop())


_EDITS = (_edit_flag, _edit_flag, _edit_script, _edit_script, _edit_settings, _edit_value, _edit_segment, _move)


def case(seed: int, number: int, edits: int) -> Case:
    """Return a site around scripts and the same after edits, several times."""
    draw = random.Random(f"{seed}-{number}")
    before = site(draw)
    sides = [Edited(edited(draw, before).text(), "scripts") for _ in range(edits)]
    return Case(f"scripts {seed}-{number}", before.text(), sides, list(_requests()))


def _requests() -> Iterator[tuple[int, bytes]]:
    """Yield requests that come to every location, with and without what conditions ask for."""
    for path in _PATHS:
        for args, fields in (("", ()), ("?x=1", _FIELDS)):
            yield 0, request((path + args).encode(), host=b"h1", fields=fields)
