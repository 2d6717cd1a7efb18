"""A profile as one page: the verdict, locations with their latency, what is not as configured, rules by state."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from nginxopt.profile.figures import Figures, Group, at_once, described
from nginxopt.profile.sums import Durations, Place, Profile
from nginxopt.profile.worth import NOTHING, Worth, Worthwhile
from nginxopt.records import record
from nginxopt.request.usage import PARTS
from nginxopt.text import page
from nginxopt.text.display import printable

_SHOWN = 50
_CLIENTS = 10
_PLACES = 3
"""Rows of a table at most."""
_LEAST, _MOST = 1.0, 100_000.0
"""The ends of the scale of durations, in milliseconds."""
_SMALL = 0.01
"""The share of the connections below which they are not shown by hour."""
_WIDTH = 100
"""The width of that scale, in pixels."""
_NARROWEST = 1.0
"""The smallest width of an interval of savings, in percent of their scale."""


@record(eq=True)
class _Strip:
    """Where durations are on the scale, from p50 to p99, in pixels; `text` has them in words."""

    start: float
    width: float
    text: str


@record(eq=True)
class _Row:
    """What a location or directive answers."""

    place: str
    requests: int
    share: str
    time: str
    errors: str
    all: _Strip | None
    upstream: _Strip | None


@record(eq=True)
class _Hour:
    """An hour, and the connections in its busiest minute, also as a share of the limit or of the busiest hour."""

    when: str
    connections: str
    share: float


@record(eq=True)
class _Interval:
    """What a finding saves a day: on the scale of savings, in percent, and in words.

    Attributes:
        is_open: Whether it may save nothing.
    """

    rule: str
    message: str
    places: str
    requests: int
    text: str
    start: float
    width: float
    is_open: bool


def render(profile: Profile, worth: Worth = NOTHING) -> str:
    """Return the page."""
    figures = Figures(profile)
    peak, notable = figures.peak, figures.notable(worth)
    return page.render(
        "nginxopt.profile",
        sentences=figures.sentences,
        has_time=bool(figures.total.request.count),
        is_blind=figures.is_blind,
        not_known=[(reason, cell.requests, printable(cell.example)) for reason, cell in figures.not_known[:_SHOWN]],
        repeated=[
            (_where(group.place), _percent(group.cell.repeated, group.cell.requests)) for group in figures.repeated
        ][:_SHOWN],
        errors=figures.errors,
        basis=figures.basis,
        terms=figures.work.terms.name,
        causes=list(_causes(figures)),
        is_small=figures.work.is_small,
        savings=list(_intervals(notable[:_SHOWN])),
        savings_scale=_scale(notable[:_SHOWN]),
        savings_left=len(worth.findings) - len(notable),
        measured=list(_measured(figures)),
        unmeasured=[(reason, number, _percent(number, figures.requests)) for reason, number in figures.unmeasured],
        profile=profile,
        requests=figures.requests,
        has_upstreams=bool(figures.total.upstream.sum),
        differs=figures.number("differs"),
        ambiguous=figures.number("ambiguous"),
        settling=figures.settling,
        when="" if figures.total.first is None else f"{_time(figures.total.first)} to {_time(figures.total.last)}",
        unsettled=_percent(figures.number("ambiguous") + figures.unknown, figures.requests),
        broken=figures.broken,
        undated=any(file.undated for file in profile.files),
        at_once=None if peak is None else at_once(peak.requests),
        capacity=figures.capacity,
        locations=[_row(group, figures) for group in figures.locations[:_SHOWN]],
        directives=[_row(group, figures) for group in figures.directives[:_SHOWN]],
        differing=list(_differing(figures)),
        hours=list(_hours(figures)),
        uses=list(_uses(figures)),
        workers=[
            (name, [(printable(key), one.requests, _percent(one.requests, figures.requests),
                     _percent(one.upstream, figures.total.upstream.sum)) for key, one in found[:_CLIENTS]])
            for name, found in (("Robots", figures.robots), ("Clients", figures.clients)) if found
        ],
        lacking=figures.lacking,
    )  # fmt: skip


def _row(group: Group, figures: Figures) -> _Row:
    cell = group.cell
    errors = group.statuses.get(4, 0) + group.statuses.get(5, 0)
    return _Row(
        _where(group.place),
        cell.requests,
        _percent(cell.requests, figures.requests),
        _percent(cell.request.sum, figures.total.request.sum) if figures.total.request.sum else "",
        _percent(errors, cell.requests),
        _strip(cell.request),
        _strip(cell.upstream),
    )


def _strip(durations: Durations) -> _Strip | None:
    """Return the strip of some durations; None without any."""
    found = [durations.quantile(share) for share in (0.5, 0.95, 0.99)]
    at = [value for value in found if value is not None]
    if len(at) < len(found):
        return None
    start, end = _x(at[0]), _x(at[-1])
    text = " / ".join(f"{value:,.0f}" for value in at)
    return _Strip(start, max(end - start, 2.0), f"{text} ms")


def _x(milliseconds: float) -> float:
    """Return the place of a duration on a logarithmic scale."""
    within = min(max(milliseconds, _LEAST), _MOST)
    return round(_WIDTH * math.log(within / _LEAST) / math.log(_MOST / _LEAST), 1)


def _causes(figures: Figures) -> Iterator[tuple[str, str, float]]:
    """Yield the causes of nginx's own time: cause, directive, and the percentage, if that is not 0.0."""
    total = figures.work.total.nanoseconds
    for cause, place, load in figures.work.by_cause[:_SHOWN]:
        percent = round(100 * load.term.nanoseconds / total, 1)
        if percent:
            yield cause, "" if place is None else _where(place), percent


def _scale(findings: Sequence[Worthwhile]) -> tuple[float, float]:
    """Return the ends of the scale of savings, powers of ten in seconds."""
    ends = [end for one in findings for end in (one.a_day.least, one.a_day.most) if end > 0] or [1.0]
    low = math.floor(math.log10(min(ends)))
    return 10.0**low, 10.0 ** max(low + 1, math.ceil(math.log10(max(ends))))


def _intervals(findings: Sequence[Worthwhile]) -> Iterator[_Interval]:
    low, high = _scale(findings)

    def at(seconds: float) -> float:
        return round(100 * math.log(seconds / low) / math.log(high / low), 1)

    for one in findings:
        least, most = one.a_day.least, one.a_day.most
        start = at(least) if least > 0 else 0.0
        width = max(at(most) - start, _NARROWEST)
        places = ", ".join(f"{path}:{line}" for path, line in one.places[:_PLACES])
        places += f" and {len(one.places) - _PLACES:,} more" if len(one.places) > _PLACES else ""
        yield _Interval(
            one.rule, printable(one.message), printable(places), one.a_day.requests, one.a_day.cpu,
            min(start, 100 - width), width, is_open=not least,
        )  # fmt: skip


def _measured(figures: Figures) -> Iterator[tuple[str, str, str, str, str, str]]:
    """Yield the measured classes of requests: location, kind, share, figures and estimate."""
    for one in figures.measured[:_SHOWN]:
        yield (
            _where(one.key.level or one.key.server),
            described(one.key),
            _percent(one.requests, figures.requests),
            "" if one.instructions is None else f"{one.instructions:,.0f}",
            f"{one.estimate.instructions:,.0f}",
            "" if one.nanoseconds is None else f"{one.nanoseconds / 1000:,.1f}",
        )


def _differing(figures: Figures) -> Iterator[tuple[int, str, str, str, str, str]]:
    for key, cell in figures.differing[:_SHOWN]:
        given = key.kind if key.expected is None else str(key.expected)
        since = "" if cell.first is None else _time(cell.first)
        yield cell.requests, _where(key.node or key.level), given, str(key.status), since, printable(cell.example)


def _hours(figures: Figures) -> Iterator[_Hour]:
    if figures.peak is None:
        return
    hours: dict[int, float] = {}
    for minute, one in figures.profile.minutes.items():
        hours[minute // 60] = max(hours.get(minute // 60, 0.0), (one.busy + one.upstream) / 60_000)
    limit = figures.capacity or max(hours.values()) or 1.0
    if max(hours.values()) < _SMALL * limit:  # rows of nothing
        return
    for hour, connections in sorted(hours.items())[-_SHOWN:]:
        yield _Hour(_time(hour * 3600), f"{connections:,.1f}", min(100.0, 100 * connections / limit))


def _uses(figures: Figures) -> Iterator[tuple[str, int, list[str], list[str]]]:
    for part in PARTS:
        unseen, unlogged = figures.unseen(part), figures.unlogged(part)
        yield part, len(figures.uses(part)), [*map(_where, unseen)], [*map(_where, unlogged)]


def _where(place: Place | None) -> str:
    return "nginx" if place is None else printable(str(place))


def _percent(number: int, total: int) -> str:
    return f"{number / max(total, 1):.1%}"


def _time(second: int | None) -> str:
    return "-" if second is None else f"{datetime.fromtimestamp(second, UTC):%Y-%m-%d %H:%M}"
