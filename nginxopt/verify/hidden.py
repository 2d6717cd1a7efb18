"""What files that were not read may add to two servers: locations among those that were read, and servers with names
and addresses among others.

Both sides include the same files, so each adds the same. That is certainly no difference if it is added to the same
names in the same order: then a location or a server of a file takes the same requests from the same others on both
sides. If the names differ, it may not: of `location /a/` and `location ^~ /a/`, only one leaves a request to a regular
expression of a file, and of two servers of an address, the first takes the hosts that no name is for.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from nginxopt.records import record
from nginxopt.semantics.site.form import Node
from nginxopt.verify.hosts import addresses, is_default
from nginxopt.verify.part import ListenAddress
from nginxopt.verify.side import LocationName, VerifiedSide, unlike_settings

_HTTP = 0  # the number of the http block

Sides = tuple[VerifiedSide, VerifiedSide]
Levels = tuple[int, int]


@record(eq=True)
class HiddenDifference:
    """What differs, and counts if a file that was not read adds something there: a phrase, and the blocks."""

    reason: str
    old: Node | None
    new: Node | None


def unlike_locations(sides: Sides, levels: Levels) -> Iterator[HiddenDifference]:
    """Yield what differs in two servers or locations, and in the locations inside of them, where a file that was not
    read may add locations, which have the settings of the block around them whether a request comes to that or not.
    """
    inner = [_inner(side, level) for side, level in zip(sides, levels, strict=True)]
    is_open = any(side.may_add(level, "location") for side, level in zip(sides, levels, strict=True))
    if is_open and len({_names(side, level) for side, level in zip(sides, levels, strict=True)}) > 1:
        yield _difference("locations that were not read may be chosen otherwise among the others", sides, levels)
    if is_open and sides[0].level(levels[0])["kind"] == "location":
        unlike = unlike_settings(sides[0], levels[0], sides[1], levels[1])
        if unlike:
            reason = f"locations that were not read have other settings: {', '.join(unlike)}"
            yield _difference(reason, sides, levels)
    for name in inner[0].keys() & inner[1].keys():
        yield from unlike_locations(sides, (inner[0][name], inner[1][name]))
    for at in (0, 1):
        for name in inner[at].keys() - inner[1 - at].keys():
            if _has_open(sides[at], inner[at][name]):
                nodes: list[Node | None] = [None, None]
                nodes[at] = sides[at].level(inner[at][name])["node"]
                yield HiddenDifference("only one side has the location with what was not read", nodes[0], nodes[1])


def _difference(reason: str, sides: Sides, levels: Levels) -> HiddenDifference:
    nodes = [side.level(level)["node"] for side, level in zip(sides, levels, strict=True)]
    return HiddenDifference(reason, *nodes)


def _inner(side: VerifiedSide, level: int) -> dict[LocationName, int]:
    """Return the locations directly in a block; of equal patterns, the first."""
    found: dict[LocationName, int] = {}
    for number in side.level(level)["locations"]:
        found.setdefault(side.location_name(number), number)
    return found


def _names(side: VerifiedSide, level: int) -> Hashable:
    """Return the names of the locations in a block, with those inside of them: patterns in their order."""
    inner = [(side.location_name(number), _names(side, number)) for number in side.level(level)["locations"]]
    patterns = tuple(each for each in inner if each[0].modifier == "~")
    return patterns, frozenset(each for each in inner if each[0].modifier != "~")


def _has_open(side: VerifiedSide, level: int) -> bool:
    """Return whether a location includes something of which nothing is known, or one inside of it does."""
    return side.may_add(level, "location") or any(_has_open(side, number) for number in side.level(level)["locations"])


def may_add_servers(side: VerifiedSide) -> bool:
    """Return whether a file that was not read may add servers, or names and addresses of one that was read."""
    inner = (side.may_add(server["level"], "listen", "server_name") for server in side.form["servers"])
    return side.may_add(_HTTP, "server") or any(inner)


def servers(side: VerifiedSide) -> list[tuple[Hashable, ...]]:
    """Return the names and addresses of all servers, in their order, as far as they decide which one answers."""
    places: dict[int, set[tuple[ListenAddress, bool]]] = {}
    for address, socket in addresses(side).items():
        for number in socket["servers"]:
            is_first = socket["default"] == number and is_default(side.site.levels[side.server(number)["level"]])
            places.setdefault(number, set()).add((address, is_first))
    return [
        (frozenset(places.get(number, ())), *_server_names([name["text"] for name in server["names"]]))
        for number, server in enumerate(side.form["servers"])
    ]


def _server_names(names: list[str]) -> tuple[Hashable, ...]:
    """Return names with the first of all, `$server_name`, and patterns in their order."""
    patterns = tuple(name for name in names if name.startswith("~"))
    return tuple(names[:1]), patterns, frozenset(name.lower() for name in names if not name.startswith("~"))
