"""Decides which regex locations are put into groups and why others stay, and writes the groups.

A group is a location around its locations, with a pattern that matches exactly what they match.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from math import isqrt

from nginxopt import _native, lazy
from nginxopt.config import Directive, File, layout
from nginxopt.faults import isolated
from nginxopt.records import record
from nginxopt.rewrite.kinds.kind import UNPROVED, Cost, ListsPlan, Offsets, StatementCost, check_compiles
from nginxopt.rewrite.kinds.locations.reading import FEWEST, LocationRun, RegexLocation
from nginxopt.text import Edit, Span, encode

_MOST = 256
"""The most locations in one group."""
_FEW = 12
"""Up to this number, the locations of a group are tried one by one; larger groups are divided into inner groups."""


@record(eq=True)
class LocationGroup:
    """A group with the pattern `union`; its members are locations or inner groups."""

    union: bytes
    members: tuple[LocationGroup | RegexLocation, ...]

    @property
    def locations(self) -> tuple[RegexLocation, ...]:
        """The locations, including those in inner groups."""
        inner = (each.locations if isinstance(each, LocationGroup) else (each,) for each in self.members)
        return tuple(location for locations in inner for location in locations)


def divided(locations: Sequence[RegexLocation]) -> Iterator[LocationGroup | RegexLocation]:
    """Yield groups, as large as their pattern can be, and the locations that are in no group."""
    at = 0
    while at < len(locations):
        rest = locations[at : at + _MOST]
        size = max(1, _most(len(rest), partial(_is_one, rest)))
        yield from _group(rest[:size])
        at += size


def _group(locations: Sequence[RegexLocation]) -> Iterator[LocationGroup | RegexLocation]:
    union = _union(locations) if len(locations) >= FEWEST else None
    if union is None:
        yield from locations
        return
    if len(locations) <= _FEW:
        yield LocationGroup(union, tuple(locations))
        return
    size = isqrt(len(locations) - 1) + 1
    parts = (locations[at : at + size] for at in range(0, len(locations), size))
    yield LocationGroup(union, tuple(member for part in parts for member in _group(part)))


def _is_one(locations: Sequence[RegexLocation], size: int) -> bool:
    return _union(locations[:size]) is not None


def _union(locations: Sequence[RegexLocation]) -> bytes | None:
    return _native.exact_union([location.pattern for location in locations])


def _most(limit: int, holds: Callable[[int], bool]) -> int:
    """Return the largest number up to `limit` for which `holds` is true, if it is true for all smaller ones."""
    low, high = 0, limit + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


REASONS = {
    "unread-pattern": "its pattern is not read exactly",
    "unbounded-pattern": "PCRE may give up on its pattern; nginx then responds with 500",
    "compiled-inside": "its rewrites or `if`s are looked up by themselves",
    "matches-all": "its pattern matches nearly every URI, and one more would only delay it",
    "not-worse": "one pattern for it and its neighbours would save nothing",
    "internal-error": "nginxopt has a bug that this run shows: please report the error",
    "unproved": "the pattern before it is not proved, which is a gap in nginxopt: please report this run",
}
"""The codes of the reasons why a location stays, each with its sentence."""

_UNUSUAL = b"zqvx7/kwj9-0", b"7-qkx/vzj/0_"
"""Unusual ends of URIs: hardly any pattern matches one of them, and only a pattern for all URIs matches both."""


@record(eq=True)
class GroupedLocations:
    """A run of locations that is divided into groups; some of its locations may be in none."""

    run: LocationRun
    members: tuple[LocationGroup | RegexLocation, ...]

    @property
    def groups(self) -> list[LocationGroup]:
        """The groups of the run."""
        return [member for member in self.members if isinstance(member, LocationGroup)]

    @property
    def before(self) -> Cost:
        """The number of patterns tried now for a URI that none matches."""
        return Cost.of(len(self.run.locations))

    @property
    def after(self) -> Cost:
        """The same number with groups."""
        return Cost.of(len(self.members))


@record(eq=True)
class KeptLocation:
    """A location of a run that stays, with the code of the reason."""

    file: File
    location: RegexLocation
    reason: str


@record(eq=True)
class LocationsPlan(ListsPlan[GroupedLocations]):
    """The runs that are divided into groups, and the locations that stay, both in the order of the text."""

    unit = "regex location"
    compiled: tuple[GroupedLocations, ...] = ()
    kept: tuple[KeptLocation, ...] = ()

    @property
    def total(self) -> int:
        """The number of all locations."""
        return sum(len(compiled.run.locations) for compiled in self.compiled) + len(self.kept)

    @property
    def moved(self) -> int:
        """The number of locations in groups."""
        return sum(len(group.locations) for compiled in self.compiled for group in compiled.groups)

    def reasons(self) -> Counter[str]:
        """Return the number of locations that stay, by reason."""
        return Counter(each.reason for each in self.kept)

    def without(self, compiled: GroupedLocations, reason: str = UNPROVED) -> LocationsPlan:
        """Return the plan in which a run stays."""
        others = tuple(each for each in self.compiled if each is not compiled)
        return replace(self, compiled=others, kept=(*self.kept, *_kept(compiled.run, reason)))

    def statement_costs(self) -> Iterator[StatementCost]:
        """Yield what the runs cost that are divided into groups."""
        for each in self.compiled:
            first, last = each.run.locations[0].directive, each.run.locations[-1].directive
            span = Span(first.span.start, last.span.end)
            yield StatementCost(each.run.file.source, span, each.before, each.after)


def plan(runs: Iterable[LocationRun], changing: Offsets) -> LocationsPlan:
    """Divide runs into groups. Linear in the number of locations, except for the native search for patterns.

    `changing`: the statements that other kinds of lists change.
    """
    compiled: list[GroupedLocations] = []
    kept: list[KeptLocation] = []
    for run, reason in _parts(runs, changing):
        members: tuple[LocationGroup | RegexLocation, ...] = ()
        first = run.locations[0].directive
        if not reason:
            reason = "internal-error"
            with isolated("planning this run of locations", source=first.source, span=first.name.span):
                members, reason = tuple(divided(run.locations)), None
        if len(members) < len(run.locations) and members:
            compiled.append(GroupedLocations(run, members))
        else:
            kept += _kept(run, reason or "not-worse")
    return LocationsPlan(tuple(compiled), tuple(kept))


def _parts(runs: Iterable[LocationRun], changing: Offsets) -> Iterator[tuple[LocationRun, str | None]]:
    """Split runs where the reason to stay changes. Yield each part with its reason; None if it may be grouped."""
    for run in runs:
        places = changing.get(run.file, ())
        reasons = [
            "compiled-inside" if _has(location.directive.span, places) else _reason(location, run.around)
            for location in run.locations
        ]
        for reason, part in groupby(zip(run.locations, reasons, strict=True), key=lambda pair: pair[1]):
            locations = tuple(location for location, _ in part)
            too_short = "not-worse" if reason is None and len(locations) < FEWEST else reason
            yield replace(run, locations=locations), too_short


def _has(span: Span, places: Sequence[int]) -> bool:
    return bisect_left(places, span.start) < bisect_left(places, span.end)


def _kept(run: LocationRun, reason: str) -> list[KeptLocation]:
    return [KeptLocation(run.file, location, reason) for location in run.locations]


def _reason(location: RegexLocation, around: Directive | None) -> str | None:
    """Return the reason why a location must stay; None if there is none."""
    if _native.exact_union([location.pattern]) is not None:
        return "matches-all" if _matches_all(location.pattern, around) else None
    facts = _native.pattern_facts(location.pattern)
    if facts is None:
        check_compiles(location.pattern, location.directive, location.word)
    return "unread-pattern" if facts is None or facts[0] else "unbounded-pattern"


def _matches_all(pattern: bytes, around: Directive | None) -> bool:
    """Return whether a pattern matches even unusual URIs: all of them, or all that the location around it matches."""
    names = [] if around is None or around.name != "location" else [encode(str(around.args[-1]))]
    beginnings = [b"/", *(name for name in names if name.startswith(b"/"))]
    return any(all(_matches(pattern, beginning + end) for end in _UNUSUAL) for beginning in beginnings)


def _matches(pattern: bytes, uri: bytes) -> bool:
    try:
        return _native.Patterns([pattern]).first(uri) is not None
    except ValueError:
        return True


_NOTE = "# The next pattern matches what those inside match, and nothing else: change them together."
_LINE = lazy.pattern(rb"\n(?!\r?\n)")
"""The end of a line before one that is not empty, or before what follows the text."""


# Text


def edits(compiled: Iterable[GroupedLocations]) -> Mapping[File, list[Edit]]:
    """Return the edits that put locations into groups."""
    found: dict[File, list[Edit]] = {}
    for each in compiled:
        found.setdefault(each.run.file, []).extend(edit(group) for group in each.groups)
    return found


def edit(group: LocationGroup) -> Edit:
    """Return the edit that puts the locations of a group into a location with its pattern."""
    first, last = group.locations[0].directive, group.locations[-1].directive
    return Edit(Span(first.span.start, last.span.end), _Writer.of(group).text(group, 0))


@record(eq=True)
class _Writer:
    """Writes a group in the style of its file; `step` is the indentation that each group adds."""

    data: bytes
    newline: bytes
    indent: bytes
    step: bytes

    @classmethod
    def of(cls, group: LocationGroup) -> _Writer:
        """Determine the style. If a word spans several lines, nothing is indented, as that would change the word."""
        locations = [location.directive for location in group.locations]
        data = locations[0].source.data
        newline = b"\r\n" if data[: data.find(b"\n") + 1].endswith(b"\r\n") else b"\n"
        is_cut = any("\n" in word for location in locations for word in _words(location))
        step = "" if is_cut else layout.unit(locations[0].source)
        return cls(data, newline, encode(layout.indent(locations[0])), encode(step))

    def text(self, group: LocationGroup, depth: int) -> bytes:
        """Return a group, without the indentation of its first line."""
        line = self.newline + self.indent + self.step * depth
        head = [encode(_NOTE)] if depth == 0 else []
        head.append(encode(f"location ~ {layout.quoted(group.union.decode('utf-8', 'surrogateescape'))} {{"))
        return line.join([*head, self.step + self._members(group, depth + 1), b"}"])

    def _members(self, group: LocationGroup, depth: int) -> bytes:
        """Return the members of a group, with the text that is between them in the file."""
        text = bytearray()
        end: int | None = None
        for member in group.members:
            locations = member.locations if isinstance(member, LocationGroup) else (member,)
            start = locations[0].directive.span.start
            text += b"" if end is None else self._moved(self.data[end:start], depth)
            end = locations[-1].directive.span.end
            text += (
                self.text(member, depth)
                if isinstance(member, LocationGroup)
                else self._moved(self.data[start:end], depth)
            )
        return bytes(text)

    def _moved(self, text: bytes, depth: int) -> bytes:
        return _LINE.sub(b"\n" + self.step * depth, text)


def _words(directive: Directive) -> Iterator[str]:
    """Yield the words of a location and of the directives in it."""
    yield from map(str, directive.args)
    for inner in directive.block.walk() if directive.block is not None else ():
        yield from map(str, inner.args)
