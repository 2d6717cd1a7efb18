"""Pairs of small sites around maps: one of them is the other after an edit of a map or of what reads it."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass

from tests.fuzz.sites.messages import request
from tests.fuzz.verify.case import Case, Edited

_KEYS = ("/a", "/b", "/a/b", "/A", "/c", "/a/b/c", '""', "/a/", "/x/a", "h1", "1")
_PATTERNS = (
    "^/a", "^/(a|b)/", "^(?<k>/a/b|/a)", "^(?<k>/a|/a/b)", "b$", "^(?!/a)", "^/a(.*)$", "^(?<k>/(?:a/|b|c/(?:a|)))",
    r"(?s)^(?<k>.*)\n\z", "^/[ab]$", ".", "^$", "c", "^/(?<k>a|b)(?<r>/.*)?$", "^h1",
)  # fmt: skip
_SOURCES = ("$uri", "$uri", "$uri", "$request_uri", "$host", "$arg_x", '"$uri$arg_x"', '"$host$uri"')
_VALUES = ("0", "1", "2", '""', "/x", "/y$uri", "$arg_x", "a.b")
_STATEMENTS = (
    "if ({m}) {{ return 403; }}",
    "if ({m} = $uri) {{ rewrite ^ {n} permanent; }}",
    "if ({m} = 1) {{ rewrite ^/a(.*)$ /c$1 last; }}",
    "if ({m} = /a) {{ rewrite ^/a(.*)$ /c$1 break; }}",
    "if ({m} = 2) {{ rewrite ^/a(.*)$ /c$1; }}",
    "set $v {m};",
    'set $v "{m}-$v";',
    "if ($v = 1) {{ return 410; }}",
    "if ($v ~ ^/(a|b)) {{ set $w $1; }}",
    "rewrite ^/b(.*)$ /a$1;",
    'rewrite "^a(?!)" /;',
    "if ($uri ~ ^/a(/.*)?$) {{ set $w {m}; }}",
    "rewrite ^/x(/.*)$ $1 last;",
    "rewrite ^/c$ {m}? redirect;",
)
_ENDS = ('return 200 "{m}|{n}|$v|$w|$uri";', "", "return 301 {m};", 'return 200 "$1";')
_LOCATIONS = (
    'location / {{ return 200 "{m}|$uri"; }}',
    "location /c {{ return 200 c{m}; }} location / {{ root /srv; }}",
    "location /a {{ error_page 404 /b; root /srv; add_header X {m}; }} error_page 403 /c;"
    ' location = /b {{ return 200 "{n}"; }}',
    'location ~ ^/(a|c) {{ set $w $1; rewrite ^/a(.*) /b$1 last; return 200 "$1{m}"; }}',
)
_PATHS = (
    "/", "/a", "/b", "/a/b", "/A", "/c", "/a/", "/a/b/c", "/x/a", "/x", "/b/a", "/c/a", "/c/", "/cb", "/ab", "/a%0A",
    "/a/b%0A", "/d", "/B", "/y/a", "/x/b", "//a", "/h1", "/a/bb", "/%0A", "/c/ac", "/1",
)  # fmt: skip


@dataclass
class Map:
    """A map: keys and patterns as written, with their values."""

    source: str
    is_volatile: bool
    rows: list[tuple[str, str]]

    def text(self, number: int) -> str:
        """Return the block."""
        rows = " ".join(f"{key} {value};" for key, value in self.rows)
        return f"map {self.source} $m{number} {{ {'volatile; ' if self.is_volatile else ''}{rows} }}"


@dataclass
class Site:
    """A server with maps."""

    maps: list[Map]
    script: list[str]
    end: str
    locations: str

    def text(self) -> str:
        """Return what stands in `http`."""
        maps = "\n".join(each.text(number) for number, each in enumerate(self.maps))
        script = " ".join(['set $v ""; set $w "";', *self.script, self.end, self.locations])
        return f"{maps}\nserver {{ listen 127.0.0.1:{{P}}; server_name h1; {script} }}\n"


def site(draw: random.Random) -> Site:
    """Return a site at random."""
    maps: list[Map] = []
    for number in range(draw.randrange(1, 4)):
        source = draw.choice(_SOURCES) if not maps or draw.random() < 0.5 else f"$m{draw.randrange(number)}"
        maps.append(Map(source, draw.random() < 0.7, _rows(draw, number)))

    def filled(template: str) -> str:
        names = (f"$m{draw.randrange(len(maps))}" for _ in "mn")
        return template.format(m=next(names), n=next(names))

    script = [filled(draw.choice(_STATEMENTS)) for _ in range(draw.randrange(1, 6))]
    return Site(maps, script, filled(draw.choice(_ENDS)), filled(draw.choice(_LOCATIONS)))


def _rows(draw: random.Random, number: int) -> list[tuple[str, str]]:
    keys = draw.sample([*_KEYS, *map(_quoted, _PATTERNS)], draw.randrange(1, 6))
    rows = [("default", _value(draw, number, ""))] if draw.random() < 0.6 else []
    return rows + [(key, _value(draw, number, key)) for key in keys]


def _quoted(pattern: str) -> str:
    return f'"~{pattern}"'.replace("\\", "\\\\")


def _value(draw: random.Random, number: int, key: str) -> str:
    """Return a value that may read the maps before `number`, and the groups of a pattern."""
    values = [*_VALUES, *([f"$m{draw.randrange(number)}"] * 4 if number else [])]
    values += ["$k"] * 6 if "?<k>" in key else []
    values += ["$1"] * 2 if "~" in key and "(" in key.replace("(?", "") else []
    return draw.choice(values)


def edited(draw: random.Random, before: Site) -> Site:
    """Return a copy after one or two edits."""
    after = deepcopy(before)
    for _ in range(draw.choice((1, 1, 1, 2))):
        draw.choice((_edit_row, _edit_row, _edit_map, _edit_script))(draw, after)
    return after


def _edit_row(draw: random.Random, after: Site) -> None:
    rows = draw.choice(after.maps).rows
    at = draw.randrange(len(rows))
    match draw.randrange(4):
        case 0:
            rows[at] = (rows[at][0], _value(draw, 0, rows[at][0]))
        case 1:
            rows.insert(draw.randrange(len(rows)), rows.pop(at))
        case 2 if len(rows) > 1:
            del rows[at]
        case _:
            rows.insert(at, (_quoted(draw.choice(_PATTERNS)), _value(draw, 0, "")))


def _edit_map(draw: random.Random, after: Site) -> None:
    """Make a map volatile, or not; read a copy of it; or write its first key as a pattern that ignores case."""
    number = draw.randrange(len(after.maps))
    chosen = after.maps[number]
    match draw.randrange(3):
        case 0:
            chosen.is_volatile = not chosen.is_volatile
        case 1:
            old, new = f"$m{number}", f"$m{len(after.maps)}"
            after.maps.append(deepcopy(chosen))
            after.script = [statement.replace(old, new) for statement in after.script]
            after.end, after.locations = after.end.replace(old, new), after.locations.replace(old, new)
        case _:
            for at, (key, value) in enumerate(chosen.rows):
                if key.startswith("/") and not any('"~' in other for other, _ in chosen.rows[:at]):
                    chosen.rows[at] = (f'"~*^{key}\\\\z"', value)
                    break


def _edit_script(draw: random.Random, after: Site) -> None:
    if not after.script:
        return
    statement = after.script.pop(draw.randrange(len(after.script)))
    if draw.random() < 0.5:
        after.script.insert(draw.randrange(len(after.script) + 1), statement)


def case(seed: int, number: int, edits: int) -> Case:
    """Return a site around maps and the same after edits, several times; its maps are named by its number."""
    draw = random.Random(f"{seed}-{number}")
    before = site(draw)

    def named(text: str) -> str:
        return _MAP.sub(rf"$m\1_{number}", text)

    sides = [Edited(named(edited(draw, before).text()), "maps") for _ in range(edits)]
    return Case(f"maps {seed}-{number}", named(before.text()), sides, list(_requests()))


_MAP = re.compile(r"\$m(\d)")


def _requests() -> Iterator[tuple[int, bytes]]:
    """Yield requests that the rows of the maps tell apart."""
    for path in _PATHS:
        for args in ("", "?x=1", "?x=/a&y"):
            for host in (b"h1", b"other"):
                yield 0, request((path + args).encode(), host=host)
    for path in _PATHS[::4]:
        yield 0, request(path.encode(), host=None, version=b"HTTP/1.0")
