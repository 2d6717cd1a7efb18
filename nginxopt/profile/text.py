"""A profile as text: one screen, the verdict first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TypeVar

from nginxopt.profile.figures import Figures, Group, at_once, described, shown
from nginxopt.profile.sums import Durations, Profile, Sum
from nginxopt.profile.worth import NOTHING, Worth
from nginxopt.text import shorten
from nginxopt.text.display import be, count, printable

_SHOWN, _FEW = 8, 4
_WIDTH = 60
"""The longest text of a directive that is shown, in characters."""
_NEAR = 0.5
"""The share of the connections from which on it is shown."""

_NOT_SEEN = "not seen, though logged here"

_Item = TypeVar("_Item")


def lines(profile: Profile, worth: Worth = NOTHING, *, verbose: bool) -> Iterator[str]:
    """Yield the lines for a terminal, with their ends."""
    return (f"{printable(line)}\n" for line in _lines(Figures(profile), worth, verbose=verbose))


def _lines(figures: Figures, worth: Worth, *, verbose: bool) -> Iterator[str]:
    most, few = (None, None) if verbose else (_SHOWN, _FEW)
    yield from _head(figures)
    if not figures.work.is_small:
        yield from _of_nginx(figures, most)
        yield from _worth(figures, worth, most)
    yield ""
    yield from _locations(figures, most)
    yield from _directives(figures, most)
    if figures.work.is_small:
        yield from _of_nginx(figures, few)
        if verbose:
            yield from _worth(figures, worth, most)
    if verbose and worth.not_known is not None:
        yield ""
        yield f"what would save most is not known: {worth.not_known}"
    yield from _measured(figures, few if figures.work.is_small else most)
    yield from _differing(figures, few)
    yield from _not_known(figures, few)
    yield from _uses(figures, few)
    yield from _clients(figures, few)
    yield from _repeated(figures, few)
    yield from _lacking(figures)


def _head(figures: Figures) -> Iterator[str]:
    profile = figures.profile
    files = profile.files
    name = files[0].path + (f" (+{len(files) - 1})" if len(files) > 1 else "")
    when = f", {_time(figures.total.first)} to {_time(figures.total.last)} UTC" if figures.total.first else ""
    shares = [
        f"{_percent(number, figures.requests + figures.broken)} {what}"
        for number, what in (
            (figures.broken, "lines of another format"),
            (figures.number("ambiguous"), "ambiguous"),
            (figures.unknown, "unknown"),
            (figures.empty, "without an HTTP request"),
        )
        if number
    ]
    yield f"{name}: {count(figures.requests, 'request')}{when} ({profile.nginx})"
    yield figures.of_nginx
    yield figures.verdict
    if figures.errors:
        yield f"{count(figures.errors, 'response')} with 5xx, {_percent(figures.errors, figures.requests)} of all."
    number = figures.number("differs")
    if number:
        yield f"{count(number, 'response')} {be(number)} not what {profile.config} gives."
    yield from _at_once(figures)
    if shares:
        yield f"of all lines: {'; '.join(shares)}"
    for file in files:
        if file.broken:
            numbers = ", ".join(map(str, file.broken_lines))
            yield f"  {file.path}: {count(file.broken, 'line')} of another format than {file.format}: {numbers}"
        if file.undated:
            yield f"  {file.path}: {count(file.undated, 'line')} with a time that is none"
        if file.cut is not None:
            yield f"  {file.path}: the end cannot be read: {file.cut}"
    yield from (f"  note: {note}" for note in profile.notes)


def _at_once(figures: Figures) -> Iterator[str]:
    peak = figures.peak
    if peak is None:
        return
    text = f"at once: {at_once(peak.requests)} requests in the busiest minute ({_time(peak.minute * 60)} UTC)"
    if figures.capacity is not None:
        share = peak.connections / figures.capacity
        text += f", {at_once(peak.connections)} of {figures.capacity:,} connections"
        text += f", {share:.0%}" if share >= _NEAR else ""
    yield text


def _locations(figures: Figures, most: int | None) -> Iterator[str]:
    if not figures.locations and not figures.number("ambiguous"):
        return
    has_time, has_upstream = bool(figures.total.request.count), bool(figures.total.upstream.count)
    columns = ["requests", *(["time"] if has_time else []), "4xx", "5xx"]
    columns += ["p50", "p95", "p99"] if has_time else []
    columns += ["upstream p50", "p95", "p99"] if has_upstream else []
    yield "  " + "  ".join(f"{name:>{max(7, len(name))}}" for name in columns) + "  location"
    groups = figures.locations
    for group in groups[:most]:
        cell = group.cell
        row = [_percent(cell.requests, figures.requests)]
        row += [_percent(cell.request.sum, figures.total.request.sum)] if has_time else []
        row += [_percent(group.statuses.get(hundred, 0), cell.requests) for hundred in (4, 5)]
        row += _quantiles(cell.request) if has_time else []
        row += _quantiles(cell.upstream) if has_upstream else []
        cells = (f"{value:>{max(7, len(name))}}" for value, name in zip(row, columns, strict=True))
        yield f"  {'  '.join(cells)}  {shown(group.place)}"
    yield from _more(groups, most)
    if (rest := figures.unplaced).requests:
        row = [_percent(rest.requests, figures.requests)]
        row += [_percent(rest.request.sum, figures.total.request.sum)] if has_time else []
        cells = (f"{value:>{max(7, len(name))}}" for value, name in zip(row, columns, strict=False))
        blank = " " * sum(2 + max(7, len(name)) for name in columns[len(row) :])
        yield f"  {'  '.join(cells)}{blank}  not known (below)"


def _directives(figures: Figures, most: int | None) -> Iterator[str]:
    if not figures.directives:
        return
    yield ""
    yield "answered by:"
    for group in figures.directives[:most]:
        yield f"  {_percent(group.cell.requests, figures.requests):>7}  {_statuses(group)}  {shown(group.place)}"
    yield from _more(figures.directives, most)


def _of_nginx(figures: Figures, most: int | None) -> Iterator[str]:
    causes = figures.work.by_cause
    if not causes or figures.is_blind:
        return
    yield ""
    yield f"where nginx's own CPU goes ({figures.basis_of_causes}):"
    total = figures.work.total.nanoseconds
    for cause, place, load in causes[:most]:
        where = "" if place is None else f"  {shown(place)}"
        yield f"  {load.term.nanoseconds / total:>7.1%}  {cause}{where}"
    yield from _more(causes, most)


def _worth(figures: Figures, worth: Worth, most: int | None) -> Iterator[str]:
    found = worth.findings if most is None else figures.notable(worth)[:most]
    if not found or figures.is_blind:
        return
    yield ""
    yield f"would save most ({figures.basis}):"
    width = max(len(str(one)) for one in found)
    yield from (f"  {one!s:<{width}}  {one.a_day}" for one in found)
    yield from _more(worth.findings, None if most is None else len(found))


def _measured(figures: Figures, most: int | None) -> Iterator[str]:
    """Yield the measured cost of requests next to the estimates, and why others were not measured."""
    if not figures.profile.measured and not figures.unmeasured:
        return
    yield ""
    yield "measured, of a request:"
    if figures.measured:
        yield "  requests  instructions  (estimate)      CPU  of"
    for one in figures.measured[:most]:
        counted = "-" if one.instructions is None else f"{one.instructions:,.0f}"
        time = "-" if one.nanoseconds is None else f"{one.nanoseconds / 1000:,.1f} us"
        of = f"{shown(one.key.level or one.key.server)}: {described(one.key)}"
        estimate = f"({one.estimate.instructions:,.0f})"
        yield f"  {_percent(one.requests, figures.requests):>8}  {counted:>12}  {estimate:>10}  {time:>7}  {of}"
    yield from _more(figures.measured, most)
    for reason, number in figures.unmeasured[:most]:
        yield f"  {_percent(number, figures.requests):>8}  not measured: {reason}"
    yield from _more(figures.unmeasured, most)


def _statuses(group: Group) -> str:
    return " ".join(f"{hundred}xx" for hundred in sorted(group.statuses) if hundred)


def _differing(figures: Figures, most: int | None) -> Iterator[str]:
    if not figures.differing:
        return
    yield ""
    yield "does not agree with the configuration:"
    for key, cell in figures.differing[:most]:
        given = key.kind if key.expected is None else f"{key.expected}"
        since = f" from {_time(cell.first)}" if cell.first else ""
        example = shorten(cell.example, _WIDTH)
        where = shown(key.node or key.level)
        yield f"  {cell.requests:>9,}  {where} gives {given}, log {key.status}{since}: {example}"
    yield from _more(figures.differing, most)


def _not_known(figures: Figures, most: int | None) -> Iterator[str]:
    if not figures.not_known:
        return
    yield ""
    yield "not known:"
    for reason, cell in figures.not_known[:most]:
        yield f"  {cell.requests:>9,}  {reason}{f': {shorten(cell.example, _WIDTH)}' if cell.example else ''}"
    yield from _more(figures.not_known, most)
    if figures.number("ambiguous"):
        yield f"  {figures.settling}"


def _uses(figures: Figures, most: int | None) -> Iterator[str]:
    number = figures.number("ambiguous")
    open_ = f" ({count(number, 'ambiguous request')} may have used some)" if number else ""
    for part in ("server", "location", "rule"):
        total = len(figures.uses(part))
        for places, what in (
            (figures.unseen(part), "not seen, though logged here"),
            (figures.unlogged(part), "not logged here"),
        ):
            if places:
                yield ""
                yield f"{len(places):,} of {count(total, part)} {what}{open_ if what == _NOT_SEEN else ''}:"
                yield from (f"  {shown(place)}" for place in places[:most])
                yield from _more(places, most)


def _clients(figures: Figures, most: int | None) -> Iterator[str]:
    for what, found in (("robots", figures.robots), ("clients", figures.clients)):
        if found:
            yield ""
            yield f"{what} by work:"
            yield from (_work(figures, name, one) for name, one in found[:most])
            yield from _more(found, most)


def _work(figures: Figures, name: str, one: Sum) -> str:
    text = f"  {_percent(one.requests, figures.requests):>7}"
    if figures.total.upstream.sum:
        text += f"  {_percent(one.upstream, figures.total.upstream.sum):>7} of upstream time"
    return f"{text}  {shorten(name, _WIDTH)}"


def _repeated(figures: Figures, most: int | None) -> Iterator[str]:
    if not figures.repeated:
        return
    yield ""
    yield "asked for again within 10 seconds, which a cache might answer:"
    for group in figures.repeated[:most]:
        yield f"  {_percent(group.cell.repeated, group.cell.requests):>7}  {shown(group.place)}"
    yield from _more(figures.repeated, most)


def _lacking(figures: Figures) -> Iterator[str]:
    if figures.lacking:
        yield ""
        yield "to know more, log (nginxopt profile --print-log-format):"
        yield from (f"  ${name}: {what}" for name, what in figures.lacking)


def _more(found: Sequence[_Item], most: int | None) -> Iterator[str]:
    if most is not None and len(found) > most:
        yield f"  ... and {len(found) - most:,} more (-v lists all)"


def _percent(number: int, total: int) -> str:
    return f"{number / max(total, 1):.1%}"


def _quantiles(durations: Durations) -> list[str]:
    return [_duration(durations.quantile(share)) for share in (0.5, 0.95, 0.99)]


def _duration(milliseconds: float | None) -> str:
    if milliseconds is None:
        return "-"
    return f"{milliseconds:.0f} ms" if milliseconds < 999.5 else f"{milliseconds / 1000:.1f} s"


def _time(second: int | None) -> str:
    return "-" if second is None else f"{datetime.fromtimestamp(second, UTC):%Y-%m-%d %H:%M}"
