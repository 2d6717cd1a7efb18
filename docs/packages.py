"""Draws docs/packages.svg: the packages in the layers of the import contracts, with what their docstrings say."""

from __future__ import annotations

import ast
import textwrap
import tomllib
from collections.abc import Iterator
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
CONTRACT = "The pipeline goes one way"

_WIDTH, _LINE, _GAP, _EDGE = 860, 17, 10, 20
_CHARACTER = 7.3  # pixels; the widest of the fonts
_BACKGROUND, _BOX, _PLAIN, _DIM, _NAME = "#0d1117", "#161b22", "#e6edf3", "#8b949e", "#3fb950"
_FRAME = """\
<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<title>The packages of nginxopt: each imports only from the rows below it</title>
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


def picture() -> str:
    """Return the SVG."""
    y = _EDGE + 14
    shapes = [_text(_EDGE, y, "A package imports only from the rows below it.", _DIM)]
    y += _GAP
    for layer in layers():
        width = (_WIDTH - 2 * _EDGE - _GAP * (len(layer) - 1)) / len(layer)
        summaries = [textwrap.wrap(summary(module), int((width - 16) / _CHARACTER)) for module in layer]
        height = _LINE * (1 + max(map(len, summaries))) + 9
        for number, (module, lines) in enumerate(zip(layer, summaries, strict=True)):
            shapes += _box(_EDGE + number * (width + _GAP), y, width, height, module, lines)
        y += height + _GAP
    return _FRAME.format(width=_WIDTH, height=y + _EDGE - _GAP, background=_BACKGROUND, shapes="\n".join(shapes))


def _box(x: float, y: float, width: float, height: float, module: str, lines: list[str]) -> Iterator[str]:
    yield f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="5" fill="{_BOX}" stroke="{_DIM}"/>'
    yield _text(x + 8, y + _LINE, module.removeprefix("nginxopt."), _NAME)
    yield from (_text(x + 8, y + _LINE * (number + 2), line, _PLAIN) for number, line in enumerate(lines))


def _text(x: float, y: float, text: str, colour: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" fill="{colour}">{escape(text)}</text>'
