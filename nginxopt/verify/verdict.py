"""The result of a comparison of two configurations: the verdict, what it rests on, and a summary by place.

A place, a server or a location, is equal if both sides say the same of it in canonical form, or if the whole comparison
proves it. Otherwise it may answer differently, or only change what upstreams get.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Literal

from nginxopt.facts import fact
from nginxopt.records import record
from nginxopt.request.client import RequestForm
from nginxopt.request.model import TraceForm
from nginxopt.semantics.site.form import Node
from nginxopt.verify.observation import Effect
from nginxopt.verify.program import Compiler
from nginxopt.verify.reading import LocationName
from nginxopt.verify.side import VerifiedSide, unlike_settings

Verdict = Literal["equivalent", "different", "unknown"]


@record(eq=True)
class RequestWitness:
    """A request that the two sides answer differently, with both traces of the model.

    Attributes:
        existing: The files that are taken to exist.
        missing: Those that are taken to be missing.
        effects: What differs besides the outcomes.
        premises: What else must hold, as clauses.
        sent: The names of headers that upstreams send.
        is_answered: Whether upstreams answer.
        failing: A file that nginx cannot open.
        defined: The values of variables that no file that was read defines.
        passing: The directive of a location around both sides that passes requests on, as text.
        accel: The header `X-Accel-Redirect` in the answer of the first upstream that is asked.
        beside: An additional location on both sides, as text.
    """

    request: RequestForm
    old: TraceForm
    new: TraceForm
    existing: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    effects: tuple[Effect, ...] = ()
    premises: tuple[str, ...] = ()
    sent: tuple[str, ...] = ()
    is_answered: bool = True
    failing: str | None = None
    defined: tuple[tuple[str, str], ...] = ()
    passing: str | None = None
    accel: str | None = None
    beside: str | None = None


@record(eq=True)
class Doubt:
    """A difference that may or may not change an answer.

    Attributes:
        reason: A phrase.
        old: The directive of the old side, by its number; None if it has none.
        new: That of the new side.
        premise: The premise that was not taken and under which this is no difference; None if there is none.
    """

    reason: str
    old: Node | None
    new: Node | None
    premise: str | None = None


@record(eq=True)
class Confirmation:
    """The answers of a real nginx to a witness.

    Attributes:
        nginx: Its name and version.
        differences: How its answers differ from those of the model, on the old and on the new side.
        is_alike: Whether its answers to both sides are the same, and so are the requests to upstreams.
    """

    nginx: str
    differences: tuple[tuple[str, ...], tuple[str, ...]]
    is_alike: bool = False

    @property
    def holds(self) -> bool:
        """Whether nginx answers both sides as the model says, so that they differ."""
        return not any(self.differences) and not self.is_alike


@record(eq=True)
class Verification:
    """The result.

    Attributes:
        servers: How many pairs of servers were compared.
        tried: How many requests the model answered on both sides.
        given: What was taken as given, as phrases; at their end in brackets, the name of a premise.
        premises: The names of the premises that were used.
        conditions: The names of premises with which both answer alike, if it is unknown whether they do.
        places: The servers and locations that were compared; all are equal if the verdict is "equivalent".
        confirmation: What nginx makes of the witness, if it was asked.
    """

    witness: RequestWitness | None
    doubts: tuple[Doubt, ...]
    servers: int
    tried: int
    given: tuple[str, ...]
    confirmation: Confirmation | None = None
    premises: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    places: tuple[ComparedPlace, ...] = ()

    def confirmed(self, confirmation: Confirmation) -> Verification:
        """Return the result after nginx was asked: without the witness if nginx does not confirm it."""
        if confirmation.holds:
            return replace(self, confirmation=confirmation)
        reasons = ["; ".join(side) for side in confirmation.differences if side]
        if confirmation.is_alike:
            reasons.append(f"{confirmation.nginx} answers both configurations alike")
        doubts = [Doubt(f"the model is wrong about a request: {reason}", None, None) for reason in reasons]
        doubted = (*doubts, *self.doubts)
        return replace(self, witness=None, doubts=doubted, confirmation=confirmation, conditions=())

    @property
    def verdict(self) -> Verdict:
        """The verdict: different if there is a witness, equivalent if nothing is in doubt."""
        if self.witness is not None:
            return "different"
        return "unknown" if self.doubts else "equivalent"


PlaceState = Literal["equal", "upstream", "differs", "removed", "added"]

STATES: dict[PlaceState, tuple[str, str]] = {
    "differs": ("may answer differently", "may answer differently"),
    "upstream": ("changes what upstreams get", "change what upstreams get"),
    "removed": ("is gone", "are gone"),
    "added": ("is new", "are new"),
    "equal": ("is equal", "are equal"),
}
"""What is said of one place, and of several."""

Sides = tuple[VerifiedSide, VerifiedSide]
Compilers = tuple[Compiler, Compiler]


@record(eq=True)
class ComparedPlace:
    """A server, or a location of one, on both sides.

    Attributes:
        server: The first name of the server; empty if it has none.
        location: The location as it is written; empty for the server itself.
        names: The settings that differ.
    """

    server: str
    location: str
    state: PlaceState
    names: tuple[str, ...]
    old: Node | None
    new: Node | None

    @property
    def title(self) -> str:
        """The place in words."""
        return " ".join(filter(None, (self.server or "server", self.location)))


def places(
    sides: Sides,
    compilers: Compilers,
    pairs: Iterable[tuple[int, int]],
    are_alike: Callable[[int, int], bool],
    are_unlike: Callable[[int, int], bool],
) -> Iterator[ComparedPlace]:
    """Yield all places of pairs of servers, each once. Everything is equal in servers that are certainly alike; the
    scripts of those that are unlike are not compared."""
    seen: set[tuple[int, int]] = set()
    for old, new in pairs:
        levels = sides[0].server(old)["level"], sides[1].server(new)["level"]
        known = True if are_alike(old, new) else None
        server_known = False if are_unlike(old, new) else known
        for place, key in _inside(sides, compilers, levels, sides[0].server_name(old), "", (server_known, known)):
            if key not in seen:
                seen.add(key)
                yield place


def _inside(
    sides: Sides, compilers: Compilers, levels: tuple[int, int], server: str, name: str, known: tuple[bool | None, ...]
) -> Iterator[tuple[ComparedPlace, tuple[int, int]]]:
    """Yield a place and those inside of it; `known` is whether it is equal, and whether those are, where that is."""
    nodes = [side.level(level)["node"] for side, level in zip(sides, levels, strict=True)]
    is_equal = known[0]
    if is_equal is None:
        is_equal = compilers[0].place(levels[0]) == compilers[1].place(levels[1])
    names = () if is_equal else tuple(unlike_settings(sides[0], levels[0], sides[1], levels[1]))
    is_passed = bool(names) and all(map(_is_of_upstreams, names))
    state: PlaceState = "equal" if is_equal else "upstream" if is_passed else "differs"
    yield ComparedPlace(server, name, state, names, nodes[0], nodes[1]), levels
    inner = [_locations(side, level) for side, level in zip(sides, levels, strict=True)]
    for each in [name for name in inner[0] if name in inner[1]]:
        pair = inner[0][each], inner[1][each]
        yield from _inside(sides, compilers, pair, server, _written(sides[0], pair[0]), known[1:] * 2)
    for each in [name for name in inner[0] if name not in inner[1]]:
        level = inner[0][each]
        node = sides[0].level(level)["node"]
        yield ComparedPlace(server, _written(sides[0], level), "removed", (), node, None), (level, -1)
    for each in [name for name in inner[1] if name not in inner[0]]:
        level = inner[1][each]
        node = sides[1].level(level)["node"]
        yield ComparedPlace(server, _written(sides[1], level), "added", (), None, node), (-1, level)


def _locations(side: VerifiedSide, level: int) -> dict[LocationName, int]:
    found: dict[LocationName, int] = {}
    for number in side.level(level)["locations"]:
        found.setdefault(side.location_name(number), number)
    return found


def _written(side: VerifiedSide, level: int) -> str:
    return " ".join(side.level(level)["args"])


def _is_of_upstreams(name: str) -> bool:
    known = fact(name)
    return known is not None and known.effect == "upstream"


def counts(compared: Iterable[ComparedPlace]) -> dict[PlaceState, int]:
    """Return how many places there are in each state."""
    found: dict[PlaceState, int] = dict.fromkeys(STATES, 0)
    for place in compared:
        found[place.state] += 1
    return {state: number for state, number in found.items() if number}


def sentence(compared: Iterable[ComparedPlace]) -> str:
    """Return the summary: `2 places may answer differently, 340 are equal`."""
    parts: list[str] = []
    for state, number in counts(compared).items():
        noun = "" if parts else " place" if number == 1 else " places"
        parts.append(f"{number:,}{noun} {STATES[state][number > 1]}")
    return ", ".join(parts)
