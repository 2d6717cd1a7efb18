"""A compilation as one page: the tree of maps that a request walks, what stays and why, and the premises."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from nginxopt.config import load_text
from nginxopt.records import record
from nginxopt.rewrite import output
from nginxopt.rewrite.kinds.maps.reading import variables
from nginxopt.text import page
from nginxopt.text.display import printable

if TYPE_CHECKING:
    from nginxopt.config.tree import Directive
    from nginxopt.rewrite.proving import Emission, Proof

_MOST_MAPS = 400
_MOST_ROWS = 12
_MOST_PLACES = 20
_LONGEST = 120
"""What is shown at most: maps, rows of a map, rules that stay for one reason, bytes of a row."""


@record(eq=True)
class _Row:
    """A row of a map, and whether its value is another look-up."""

    key: str
    value: str
    leads_on: bool


@record(eq=True)
class _Map:
    """An emitted map.

    Attributes:
        keys: The number of its rows that are texts, which are found by their hash.
        patterns: The number of its rows that are patterns, which are tried one by one.
        names: The variables of maps that its source and its rows read.
        more: The number of its rows that are not in `rows`.
    """

    name: str
    source: str
    keys: int
    patterns: int
    rows: tuple[_Row, ...]
    names: tuple[str, ...]
    more: int


@record(eq=True)
class _Line:
    """A map in the drawing, below the map that leads to it; `share` is its part of all rows, in percent."""

    map: _Map
    depth: int
    share: float


@record(eq=True)
class _Staying:
    """Rules that stay for one reason, some of them with their places."""

    why: str
    number: int
    places: tuple[tuple[str, str], ...]


def render(emission: Emission, proof: Proof) -> str:
    """Return the page. Linear in the size of the result."""
    planned = emission.plan
    report = output.report(planned, proof)
    maps = {each.name: each for each in _maps(emission)}
    lines = list(_drawn(maps))
    staying = list(_staying(report))
    file, _, saves = next(output.summary(planned, proof)).partition(": ")
    return page.render(
        "nginxopt.rewrite",
        file=file,
        heading=saves,
        cost=report["cost"],
        keys=sum(each.keys for each in maps.values()),
        patterns=sum(each.patterns for each in maps.values()),
        levels=1 + max((line.depth for line in lines), default=-1),
        lines=lines[:_MOST_MAPS],
        lines_left=len(lines) - len(lines[:_MOST_MAPS]),
        stays=sum(each.number for each in staying),
        staying=staying,
        dead=report["dead"][:_MOST_PLACES],
        dead_left=len(report["dead"][_MOST_PLACES:]),
        premises=report["premises"],
    )


def _maps(emission: Emission) -> Iterator[_Map]:
    """Yield the emitted maps, in the order of the text."""
    blocks = load_text(emission.blocks, "maps", context="http").scope.directives if emission.maps else ()
    found = [each for each in blocks if each.name == "map"]
    names = {_name(each) for each in found}
    return (_read(each, names) for each in found)


def _read(directive: Directive, names: set[str]) -> _Map:
    block = directive.block
    assert block is not None
    rows = [row for row in block.directives() if row.args]
    patterns = sum(row.name.startswith("~") for row in rows)
    keys = len(rows) - patterns - sum(row.name == "default" for row in rows)
    shown = tuple(
        _Row(_short(row.name), _short(row.args[0]), not names.isdisjoint(variables(row.args[0])))
        for row in rows[:_MOST_ROWS]
    )
    read = dict.fromkeys(
        name for text in (directive.args[0], *(row.args[0] for row in rows)) for name in sorted(variables(text) & names)
    )
    return _Map(_name(directive), directive.args[0], keys, patterns, shown, tuple(read), len(rows) - len(shown))


def _name(directive: Directive) -> str:
    return directive.args[1].removeprefix("$").lower()


def _short(text: str) -> str:
    shown = printable(text)
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}..."


def _drawn(maps: dict[str, _Map]) -> Iterator[_Line]:
    """Yield each map once, below the first that leads to it, those that no other one leads to at the top."""
    most = max((each.keys + each.patterns for each in maps.values()), default=1) or 1
    inner = {name for each in maps.values() for name in each.names}
    waiting = [(name, 0) for name in reversed(maps) if name not in inner]
    seen = {name for name, _ in waiting}
    while waiting:
        name, depth = waiting.pop()
        each = maps[name]
        rows = each.keys + each.patterns
        yield _Line(each, depth, round(100 * rows / most, 1))
        below = [other for other in each.names if other not in seen]
        seen.update(below)
        waiting += [(other, depth + 1) for other in reversed(below)]


def _staying(report: Mapping[str, Any]) -> Iterator[_Staying]:
    """Yield what stays by reason, the most frequent reason first."""
    by_reason: dict[str, list[Mapping[str, Any]]] = {}
    for entry in _kept(report):
        by_reason.setdefault(entry.get("why") or entry["reason"], []).append(entry)
    for why, entries in sorted(by_reason.items(), key=lambda item: -len(item[1])):
        places = tuple((f"{each['file']}:{each['line']}", _text(each)) for each in entries[:_MOST_PLACES])
        yield _Staying(why, len(entries), places)


def _kept(report: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    others = (entry for kind in ("maps", "chains", "locations") for entry in report[kind] if entry["reason"])
    return [*report["kept"], *others]


def _text(entry: Mapping[str, Any]) -> str:
    return _short(entry.get("text") or entry.get("variable") or "")
