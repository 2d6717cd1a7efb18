"""Draws charts as SVG with Vega-Lite, without a browser and without network access.

Vega-Lite runs in the package `vl-convert-python` (the extra `html`). Alternatives were:

- A page with a chart library in JavaScript (Chart.js, uPlot, Plotly, Observable Plot) shows nothing where scripts are
  off, draws on a canvas that prints badly, or adds up to 4 MB.
- pygal is small and pure Python, but has no logarithmic x axis, no intervals and no markers except dots; leather has no
  logarithmic axis. Matplotlib writes glyphs and colours that do not follow the page.

In Vega-Lite, a chart is data: a specification of its content. The SVG is static and reproducible, and its colours may
be CSS variables, so that one drawing works on the light page, on the dark one and on paper. The disadvantage is a wheel
of 30 MB. So it is an extra, which measuring, the table and the JSON do not need.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

from nginxopt.errors import MissingError
from nginxopt.text.display import xml

Spec = dict[str, Any]
"""A specification of Vega-Lite, or a part of one (https://vega.github.io/vega-lite/docs/spec.html)."""

_SVG = "http://www.w3.org/2000/svg"
_INK, _RULE = "currentColor", "var(--rule)"
_FONT = "sans-serif"  # determines the width of labels; the page shows them in its own font
_SIZE = 11

_CONFIG: Spec = {
    "background": None,
    "view": {"stroke": None},
    "padding": {"left": 14, "top": 6, "right": 14, "bottom": 6},  # the page's font may be wider than the measured one
    "font": _FONT,
    "axis": {
        "labelColor": _INK,
        "labelFontSize": _SIZE,
        "titleColor": _INK,
        "titleFontSize": _SIZE,
        "titleFontWeight": "normal",
        "gridColor": _RULE,
        "gridWidth": 0.6,
        "domainColor": _RULE,
        "tickColor": _RULE,
        "labelPadding": 4,
        "titlePadding": 6,
    },
}


def svg(spec: Spec, title: str, description: str) -> str:
    """Return the chart as an `<svg>` element for a page.

    The element has a title and a description for screen readers, proportions (`viewBox`) instead of a size, no ids and
    no external references. Raises `MissingError` if the extra `html` is not installed.
    """
    require()
    import vl_convert

    drawn = vl_convert.vegalite_to_svg({**spec, "config": _CONFIG}, allowed_base_urls=[])
    return _for_page(drawn, title, description)


def require() -> None:
    """Raise `MissingError` if the chart package is not installed, so that a run fails before it starts."""
    try:
        import vl_convert  # noqa: F401
    except ImportError:
        raise MissingError(
            "the HTML report needs vl-convert-python for its charts", hint="pip install 'nginxopt[html]'"
        ) from None


def literal(values: Mapping[str, Any]) -> str:
    """Return a mapping as an expression of Vega in which all texts are string literals."""
    return json.dumps(values)


def _for_page(drawn: str, title: str, description: str) -> str:
    """Add the title and description of a chart, and remove its size, hidden labels, and the roles of parts."""
    root = ElementTree.fromstring(drawn)
    for part in list(root.iter()):
        for name in [name for name in part.attrib if name.startswith(("aria-", "role", "pointer-events", "class"))]:
            del part.attrib[name]
        for child in [child for child in part if child.get("opacity") == "0" or child.get("d") == ""]:
            part.remove(child)
    # A chart is at most as wide as it was drawn, as its labels would be too large otherwise.
    width = root.attrib.pop("width")
    root.attrib.pop("height")
    root.attrib |= {"role": "img", "style": f"max-width:{width}px"}
    for place, (name, words) in enumerate((("title", title), ("desc", description))):
        element = ElementTree.Element(f"{{{_SVG}}}{name}")
        element.text = xml(words)
        root.insert(place, element)
    ElementTree.register_namespace("", _SVG)
    return ElementTree.tostring(root, encoding="unicode")
