"""Assigns colours, dashes and shapes to the lines and points of charts, for the legend and for specifications."""

from __future__ import annotations

from nginxopt.bench.report.vega import Spec
from nginxopt.bench.scenario import Experiment, Variant
from nginxopt.records import record

SERIES = 6
"""The number of colours; further lines repeat them with other dashes."""

_DASHES = ((1, 0), (7, 3), (3, 2), (9, 3, 2, 3), (5, 2, 1, 2), (12, 3))
_DOTS = (1.5, 2.5)  # the dashes of the baseline
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
_OUTLINES = {
    "circle": "M3.5,0A3.5,3.5,0,1,1,-3.5,0A3.5,3.5,0,1,1,3.5,0Z",
    "square": "M-3,-3h6v6h-6Z",
    "triangle-up": "M-3.5,3L0,-4L3.5,3Z",
    "diamond": "M-3.5,0L0,-4.5L3.5,0L0,4.5Z",
    "cross": "M-4,-1.4h2.6v-2.6h2.8v2.6h2.6v2.8h-2.6v2.6h-2.8v-2.6h-2.6Z",
    "triangle-down": "M-3.5,-3L0,4L3.5,-3Z",
}


@record(eq=True)
class LegendKey:
    """The style of a line or point, in the legend and in charts."""

    label: str
    color: str = "currentColor"
    dash: tuple[float, ...] = ()
    shape: str = ""

    @property
    def outline(self) -> str:
        """The SVG path of the shape, about 8 units wide; empty without a shape."""
        return _OUTLINES.get(self.shape, "")


def series(experiment: Experiment) -> dict[str, LegendKey]:
    """Return the keys of a growth curve: one per series."""
    names = dict.fromkeys(variant.series for variant in experiment.variants if variant.size is not None)
    return {name: _key(experiment, name, place, name == _baseline(experiment)) for place, name in enumerate(names)}


def variants(experiment: Experiment) -> dict[str, LegendKey]:
    """Return the keys of a distribution: one per variant, in the colour of its series."""
    lines = list(dict.fromkeys(_line(variant) for variant in experiment.variants))
    keys = {}
    for place, variant in enumerate(experiment.variants):
        key = _key(experiment, variant.name, lines.index(_line(variant)), variant.name == experiment.baseline)
        number = place - 1 if experiment.baseline is not None else place
        keys[variant.name] = LegendKey(
            key.label, key.color, key.dash if key.dash == _DOTS else _DASHES[number % SERIES]
        )
    return keys


def _key(experiment: Experiment, label: str, place: int, baseline: bool) -> LegendKey:
    if baseline:
        return LegendKey(label, "var(--baseline)", _DOTS, "circle")
    number = place - 1 if experiment.baseline is not None else place
    return LegendKey(label, f"var(--series-{number % SERIES})", _DASHES[number % SERIES], SHAPES[(number + 1) % SERIES])


def _line(variant: Variant) -> str:
    return variant.series or variant.name


def _baseline(experiment: Experiment) -> str | None:
    return None if experiment.baseline is None else experiment.variant(experiment.baseline).series


def look(keys: list[LegendKey]) -> Spec:
    """Return the encoding channels of lines. Lines have numbers, so that no user's text is in a specification."""
    domain = [str(place) for place in range(len(keys))]
    ranges = {
        "color": [key.color for key in keys],
        "strokeDash": [list(key.dash) for key in keys],
        **({"shape": [key.shape for key in keys]} if keys[0].shape else {}),
    }
    return {
        channel: {"field": "line", "type": "nominal", "scale": {"domain": domain, "range": values}, "legend": None}
        for channel, values in ranges.items()
    }
