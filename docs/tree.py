"""Draws docs/design/tree.svg: a map with regular expressions, and the tree of lookups that it is compiled to."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from nginxopt.config import Directive, load_text
from nginxopt.rewrite import emit, plan, prove

MAP = r"""
map $uri $new {
    ~^/docs/install.*$        /start;
    ~^/docs/upgrade.*$        /start/upgrade;
    ~^/docs/api/v1/.*$        /api/1;
    ~^/docs/api/v2/users.*$   /api/2/users;
    ~^/docs/api/v2/.*$        /api/2;
    ~^/blog/2019/.*$          /archive/2019;
    ~^/blog/2020/.*$          /archive/2020;
    ~^/blog/tag/.*/feed$      /feed;
    ~^/blog/tag/[a-z]+$       /tags;
    ~^/shop$                  /store;
    ~^/shop/cart.*$           /store/cart;
    ~^/shop/item-\d+$         /store/item;
}
"""
"""What is compiled."""
KEY, VALUE = "/docs/api/v2/", "/docs/api/v2/groups"
"""The value that is followed through the tree, and its longest known prefix."""

_WIDTH, _LINE, _GAP = 860, 19, 16
_LEFT, _RIGHT, _TOP = 20, 430, 128
_BACKGROUND, _BOX, _PLAIN, _DIM, _FOLLOWED = "#0d1117", "#161b22", "#e6edf3", "#8b949e", "#3fb950"
_FRAME = """\
<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<title>A map with regular expressions as a tree of lookups</title>
<style>
text {{
    font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
    font-size: 12px;
    white-space: pre;
}}
</style>
<rect width="{width}" height="{height}" rx="8" fill="{background}"/>
{shapes}
</svg>
"""


def picture() -> str:
    """Return the SVG. Raises `AssertionError` if the map no longer becomes such a tree."""
    prefix, leaves, table = _maps()
    rows = list(table.block.directives()) if table.block else []
    places: dict[str, float] = {}
    shapes: list[str] = []
    y = float(_TOP)
    for leaf in leaves:
        name, texts = leaf.args[1], [_row(row) for row in (leaf.block.directives() if leaf.block else ())]
        places[name] = y + _LINE / 2
        is_followed = any(row.name == KEY and row.args[0] == name for row in rows)
        shapes += _box(_RIGHT, y, _WIDTH - _RIGHT - _LEFT, ["", *texts], _FOLLOWED if is_followed else _DIM)
        shapes.append(_line(_RIGHT + 8, y + 14, "what can still match, tried in order", _DIM))
        y += _LINE * (len(texts) + 1) + _GAP
    height = y + 8
    top = _TOP + (height - _TOP - _LINE * len(rows)) / 2 - _GAP
    width = 240
    shapes += _box(_LEFT, top, width, [""] * (len(rows) + 1), _DIM)
    shapes.append(_line(_LEFT + 8, top + 14, "the prefix, looked up in a hash", _DIM))
    shapes.append(f'<path d="M{_LEFT + width / 2:g} {_TOP - 38} V{top:g}" fill="none" stroke="{_FOLLOWED}"/>')
    for number, row in enumerate(rows, 1):
        is_followed = row.name == KEY
        start = top + _LINE * number + _LINE / 2
        shapes.append(_curve(_LEFT + width, start, places[row.args[0]], _FOLLOWED if is_followed else _DIM))
        shapes.append(_line(_LEFT + 8, top + _LINE * number + 14, row.name, _FOLLOWED if is_followed else _PLAIN))
    shapes = [*_question(prefix), *shapes]
    return _FRAME.format(width=_WIDTH, height=round(height), background=_BACKGROUND, shapes="\n".join(shapes))


def _maps() -> tuple[Directive, list[Directive], Directive]:
    """Return the maps of the tree: the one with the prefixes, the leaves in the order of the table, and the table."""
    emission = emit(plan(load_text(MAP.encode(), "map.conf", context="http")))
    assert prove(emission).holds
    maps = [each for each in load_text(emission.maps, "http.conf").main.block.directives() if each.name == "map"]
    (prefix,) = (each for each in maps if each.args[1].endswith("_prefix"))
    (table,) = (each for each in maps if each.args[1].endswith("_tree"))
    assert table.block is not None
    leads_to = [row.args[0] for row in table.block.directives()]
    leaves = [each for each in maps if each not in (prefix, table)]
    return prefix, sorted(leaves, key=lambda leaf: leads_to.index(leaf.args[1])), table


def _question(prefix: Directive) -> Iterator[str]:
    """Yield the value and the pattern that finds its prefix."""
    assert prefix.block is not None
    (row,) = prefix.block.directives()
    pattern = row.name.replace("(?<" + row.args[0][1:] + ">", "(?<key>")
    yield _line(_LEFT, 30, f"GET {VALUE}", _FOLLOWED)
    yield from _box(_LEFT, 46, _WIDTH - 2 * _LEFT, ["", pattern], _FOLLOWED)
    yield _line(_LEFT + 8, 60, "one pattern finds the longest known prefix", _DIM)


def _row(row: Directive) -> str:
    return f"{row.name}  {row.args[0]}" if row.args[0] else f"{row.name}  (turns away)"


def _box(x: float, y: float, width: float, lines: list[str], colour: str) -> Iterator[str]:
    height = _LINE * len(lines) + 6
    yield f'<rect x="{x}" y="{y:g}" width="{width}" height="{height}" rx="5" fill="{_BOX}" stroke="{colour}"/>'
    for number, text in enumerate(lines):
        if text:
            yield _line(x + 8, y + 14 + _LINE * number, text, _PLAIN)


def _line(x: float, y: float, text: str, colour: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" fill="{colour}">{escape(text)}</text>'


def _curve(x: float, y: float, to: float, colour: str) -> str:
    middle = (x + _RIGHT) / 2
    return f'<path d="M{x:g} {y:g} C{middle:g} {y:g} {middle:g} {to:g} {_RIGHT} {to:g}" fill="none" stroke="{colour}"/>'
