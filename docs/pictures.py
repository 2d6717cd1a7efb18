"""Draws docs/packages.svg, the packages in the layers of the import contracts with what their docstrings say, and
docs/design/tree.svg, a map with regular expressions and the tree of lookups that it is compiled to.
"""

from __future__ import annotations

import ast
import textwrap
import tomllib
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path

from nginxopt.config import Directive, load_text
from nginxopt.rewrite import emit, plan, prove

ROOT = Path(__file__).parents[1]

_WIDTH, _EDGE = 860, 20
_CHARACTER = 7.3  # pixels; the widest of the fonts
_BACKGROUND, _BOX, _PLAIN, _DIM, _BRIGHT = "#0d1117", "#161b22", "#e6edf3", "#8b949e", "#3fb950"
_FRAME = """\
<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<title>{title}</title>
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


def _picture(title: str, height: float, shapes: Iterable[str]) -> str:
    return _FRAME.format(
        title=title, width=_WIDTH, height=f"{height:g}", background=_BACKGROUND, shapes="\n".join(shapes)
    )


def _frame(x: float, y: float, width: float, height: float, colour: str) -> str:
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="5" fill="{_BOX}" stroke="{colour}"/>'


def _text(x: float, y: float, text: str, colour: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" fill="{colour}">{escape(text)}</text>'


# The packages

CONTRACT = "The pipeline goes one way"

_ROW, _BETWEEN = 17, 10


def layers() -> list[list[str]]:
    """Return the modules of each layer, from the command line down to what knows nothing of nginx."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    (contract,) = (each for each in settings["tool"]["importlinter"]["contracts"] if each["name"] == CONTRACT)
    return [[module.strip() for module in layer.split("|")] for layer in contract["layers"]]


def summary(module: str) -> str:
    """Return the first sentence of the docstring of a module, without its full stop."""
    path = ROOT / module.replace(".", "/")
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    text = ast.get_docstring(ast.parse(file.read_text())) or ""
    first, _, _ = " ".join(text.split("\n\n")[0].split()).partition(". ")
    return first.rstrip(".:")


def packages() -> str:
    """Return the picture of the packages."""
    y = _EDGE + 14
    shapes = [_text(_EDGE, y, "A package imports only from the rows below it.", _DIM)]
    y += _BETWEEN
    for layer in layers():
        width = (_WIDTH - 2 * _EDGE - _BETWEEN * (len(layer) - 1)) / len(layer)
        summaries = [textwrap.wrap(summary(module), int((width - 16) / _CHARACTER)) for module in layer]
        height = _ROW * (1 + max(map(len, summaries))) + 9
        for number, (module, lines) in enumerate(zip(layer, summaries, strict=True)):
            shapes += _package(_EDGE + number * (width + _BETWEEN), y, width, height, module, lines)
        y += height + _BETWEEN
    title = "The packages of nginxopt: each imports only from the rows below it"
    return _picture(title, y + _EDGE - _BETWEEN, shapes)


def _package(x: float, y: float, width: float, height: float, module: str, lines: list[str]) -> Iterator[str]:
    yield _frame(x, y, width, height, _DIM)
    yield _text(x + 8, y + _ROW, module.removeprefix("nginxopt."), _BRIGHT)
    yield from (_text(x + 8, y + _ROW * (number + 2), line, _PLAIN) for number, line in enumerate(lines))


# The tree

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

_LINE, _GAP = 19, 16
_LEFT, _RIGHT, _TOP = 20, 430, 128


def tree() -> str:
    """Return the picture of the tree. Raises `AssertionError` if the map no longer becomes such a tree."""
    prefix, leaves, table = _maps()
    rows = list(table.block.directives()) if table.block else []
    places: dict[str, float] = {}
    shapes: list[str] = []
    y = float(_TOP)
    for leaf in leaves:
        name, texts = leaf.args[1], [_row(row) for row in (leaf.block.directives() if leaf.block else ())]
        places[name] = y + _LINE / 2
        is_followed = any(row.name == KEY and row.args[0] == name for row in rows)
        shapes += _box(_RIGHT, y, _WIDTH - _RIGHT - _LEFT, ["", *texts], _BRIGHT if is_followed else _DIM)
        shapes.append(_text(_RIGHT + 8, y + 14, "what can still match, tried in order", _DIM))
        y += _LINE * (len(texts) + 1) + _GAP
    height = y + 8
    top = _TOP + (height - _TOP - _LINE * len(rows)) / 2 - _GAP
    width = 240
    shapes += _box(_LEFT, top, width, [""] * (len(rows) + 1), _DIM)
    shapes.append(_text(_LEFT + 8, top + 14, "the prefix, looked up in a hash", _DIM))
    shapes.append(f'<path d="M{_LEFT + width / 2:g} {_TOP - 38} V{top:g}" fill="none" stroke="{_BRIGHT}"/>')
    for number, row in enumerate(rows, 1):
        is_followed = row.name == KEY
        start = top + _LINE * number + _LINE / 2
        shapes.append(_curve(_LEFT + width, start, places[row.args[0]], _BRIGHT if is_followed else _DIM))
        shapes.append(_text(_LEFT + 8, top + _LINE * number + 14, row.name, _BRIGHT if is_followed else _PLAIN))
    shapes = [*_question(prefix), *shapes]
    return _picture("A map with regular expressions as a tree of lookups", round(height), shapes)


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
    yield _text(_LEFT, 30, f"GET {VALUE}", _BRIGHT)
    yield from _box(_LEFT, 46, _WIDTH - 2 * _LEFT, ["", pattern], _BRIGHT)
    yield _text(_LEFT + 8, 60, "one pattern finds the longest known prefix", _DIM)


def _row(row: Directive) -> str:
    return f"{row.name}  {row.args[0]}" if row.args[0] else f"{row.name}  (turns away)"


def _box(x: float, y: float, width: float, lines: list[str], colour: str) -> Iterator[str]:
    yield _frame(x, y, width, _LINE * len(lines) + 6, colour)
    for number, text in enumerate(lines):
        if text:
            yield _text(x + 8, y + 14 + _LINE * number, text, _PLAIN)


def _curve(x: float, y: float, to: float, colour: str) -> str:
    middle = (x + _RIGHT) / 2
    return f'<path d="M{x:g} {y:g} C{middle:g} {y:g} {middle:g} {to:g} {_RIGHT} {to:g}" fill="none" stroke="{colour}"/>'
