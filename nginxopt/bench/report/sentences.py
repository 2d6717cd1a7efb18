"""Words for reports: names of figures, and sentences about loads and comparisons."""

from __future__ import annotations

from collections.abc import Sequence

from nginxopt.bench.measure import is_exact
from nginxopt.bench.report.numbers import change, times
from nginxopt.bench.result import Ratio
from nginxopt.bench.scenario import Attack, ClosedLoop, Load, VariantPair

_NAMES = {
    "p50": "Median latency",
    "p99": "99th percentile",
    "p100": "Longest latency",
    "mean": "Mean latency",
    "min": "Shortest latency",
    "throughput": "Throughput",
    "hits_a_day": "Hits a day",
    "errors": "Failed requests",
    "cpu": "CPU per request",
    "instructions": "Instructions per request",
    "rss": "Memory (RSS)",
    "pss": "Memory (PSS)",
    "time_wait": "Sockets in TIME_WAIT",
}
_OF_NODES = {
    "cpu": "CPU of {} per request",
    "accepts": "Connections to {} per request",
    "requests": "Requests to {} per request",
}
_SAME, _TOO_FEW = "no difference seen", "too few rounds"
_SHOWN_TARGETS = 3


def name(figure: str) -> str:
    """Return the long name of a figure: `Median latency`."""
    kind, _, role = figure.partition(".")
    if role:
        return _OF_NODES[kind].format(role)
    return _NAMES.get(figure) or f"{figure.removeprefix('p')}th percentile"


def conclusion(figure: str, ratios: Sequence[Ratio]) -> str:
    """Return a sentence on the change of a figure in all cases of a comparison.

    `Median latency: lower in 4 of 5 cases (0.12 to 0.86 x); no difference seen in 1.`
    """
    if len(ratios) == 1:
        return f"{name(figure)}: {change(ratios[0])}."
    lower = [ratio.ratio for ratio in ratios if is_seen(ratio) and ratio.ratio < 1]
    higher = [ratio.ratio for ratio in ratios if is_seen(ratio) and ratio.ratio > 1]
    differences = [
        f"{side} in {len(values)} of {len(ratios)} cases ({_range(values)})"
        for side, values in (("lower", lower), ("higher", higher))
        if values
    ]
    few = sum(_is_too_few(ratio) for ratio in ratios)
    same = len(ratios) - len(lower) - len(higher) - few
    rest = [f"{what} in {count}" for what, count in ((_SAME, same), (_TOO_FEW, few)) if count]
    if not differences:
        rest[-1] += f" of {len(ratios)} cases"
    return f"{name(figure)}: {'; '.join([', '.join(differences), *rest] if differences else rest)}."


def headline(ratios: Sequence[Ratio]) -> str:
    """Return how far a figure changed, and where least and most; a phrase if it did not, or if that is unknown.

    `205 times lower (far miss) to 4 % higher (hit last)`
    """
    different = sorted(filter(is_seen, ratios), key=lambda ratio: ratio.ratio)
    if not different:
        return _TOO_FEW if any(map(_is_too_few, ratios)) else _SAME
    ends = dict.fromkeys((different[0], different[-1]))
    if len(ratios) == 1 or len({_extent(ratio.ratio) for ratio in ends}) == 1:
        return _extent(different[0].ratio)
    return " to ".join(f"{_extent(ratio.ratio)} ({ratio.case})" for ratio in ends)


def _extent(ratio: float) -> str:
    """Return a ratio as a difference: in times from a factor of two, else in percent."""
    side = "lower" if ratio < 1 else "higher"
    factor = ratio if ratio > 1 else 1 / ratio if ratio else float("inf")
    if factor == float("inf"):
        return "none left"
    if factor >= 2:
        return f"{factor:,.0f} times {side}" if factor >= 10 else f"{factor:.1f} times {side}"
    percent = 100 * abs(1 - ratio)
    return f"{percent:.0f} % {side}" if percent >= 9.5 else f"{percent:.2g} % {side}"


def is_seen(ratio: Ratio) -> bool:
    """Return whether a ratio is a fact: its interval excludes 1 in enough rounds, or it is exact."""
    return ratio.difference or is_exact(ratio.figure)


def _is_too_few(ratio: Ratio) -> bool:
    return not is_seen(ratio) and not ratio.low <= 1 <= ratio.high


def pair(comparison: VariantPair) -> str:
    """Return the name of a comparison: `819 rewrites \u2192 819 compiled`."""
    return f"{comparison.before} \u2192 {comparison.after}"


def load(load: Load) -> str:
    """Return a phrase for the load."""
    if isinstance(load, ClosedLoop):
        most = f" or {load.requests:,} requests" if load.requests is not None else ""
        pace = f"{load.connections:,} connections at full speed for {load.seconds:g} s{most}"
    else:
        rate = "an automatic rate" if load.rate is None else f"{load.rate:,.0f} requests per second"
        pace = f"{rate} for {load.seconds:g} s"
    return f"{pace}, {'connections are kept' if load.keepalive else 'a new connection for each request'}"


def told(attack: Attack) -> str:
    """Return what an attack on a configuration of the user measures, in words: `https://shop.example at *:443 ...`."""
    measured = attack.measured
    assert measured is not None
    site = measured.address if measured.host is None else measured.host
    spoken = "TLS, offers HTTP/2" if measured.http2 else "TLS" if measured.scheme == "https" else "plain HTTP"
    return f"{measured.scheme}://{site} at {measured.address} ({spoken}; {measured.server}): {targets(attack)}"


def targets(attack: Attack) -> str:
    """Return the first targets of an attack."""
    shown = [f"{target.method} {target.path}" for target in attack.targets[:_SHOWN_TARGETS]]
    return ", ".join([*shown, *(["..."] if len(attack.targets) > _SHOWN_TARGETS else [])])


def _range(values: Sequence[float]) -> str:
    low, high = times(min(values)), times(max(values))
    return f"{low} x" if low == high else f"{low} to {high} x"
