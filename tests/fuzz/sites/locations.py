"""Locations: prefixes, exact ones, regular expressions, nested and named ones."""

from __future__ import annotations

from tests.fuzz.nodes import Node
from tests.fuzz.sites.scope import Scope
from tests.fuzz.sites.scripts import script
from tests.fuzz.sites.settings import handler, limit_except, settings, try_files
from tests.fuzz.sites.words import PATTERNS, PREFIXES, b, chance, d

_DEEPEST = 3
_NAMED = ("@n", "@m", "@o")


def locations(scope: Scope) -> list[Node]:
    """Return the locations of a server, named ones among them."""
    draw = scope.draw
    scope.named = set(draw.sample(_NAMED, draw.choice((1, 1, 2))))
    nodes = _some(scope, "", draw.choice((1, 2, 3, 4, 5, 7)), 1)
    scope.is_regex = False
    for name in sorted(scope.named):
        scope.level = "named"
        nodes.append(b("location", name, inner=_contents(scope)))
    scope.level = "server"
    if chance(draw, 0.08):
        nodes.append(try_files(scope))
    return nodes


def _some(scope: Scope, outer: str, count: int, depth: int) -> list[Node]:
    """Return different locations in one with the name `outer`."""
    seen: set[tuple[bool, str]] = set()
    nodes = []
    for _ in range(count):
        node = _location(scope, outer, depth, seen)
        if node:
            nodes.append(node)
    return nodes


def _location(scope: Scope, outer: str, depth: int, seen: set[tuple[bool, str]]) -> Node | None:
    draw = scope.draw
    was_regex = scope.is_regex
    if chance(draw, 0.35):
        pattern, samples = draw.choice(PATTERNS)
        modifier, name = draw.choice(("~", "~", "~*")), scope.own(pattern)
        scope.uris += samples
        scope.is_regex = True
    else:
        options = [prefix for prefix in PREFIXES if prefix.startswith(outer)]
        if not options:
            return None
        name = draw.choice(options)
        modifier = draw.choice(("", "", "", "=", "^~"))
        if (modifier == "=", name) in seen:
            return None
        seen.add((modifier == "=", name))
        scope.uris += [name, name.rstrip("/") or "/", name + "x", name + "/f.txt", name + "f.txt"]
    words = ["location", *([modifier] if modifier else []), name]
    scope.level = "location"
    inner = _contents(scope, "" if scope.is_regex else name)
    if depth < _DEEPEST and modifier != "=" and chance(draw, 0.3):
        inner += _some(scope, name, draw.choice((1, 2)), depth + 1)
    scope.is_regex = was_regex
    return b(*words, inner=inner)


def _contents(scope: Scope, name: str = "") -> list[Node]:
    draw = scope.draw
    nodes = [scope.log(), *settings(scope)]
    if chance(draw, 0.5):
        nodes += script(scope, 3)
    if chance(draw, 0.25):
        nodes.append(try_files(scope))
    if chance(draw, 0.25):
        nodes.append(handler(scope))
    if scope.level == "location" and chance(draw, 0.07):
        nodes.append(limit_except(scope))
    if scope.level == "location" and chance(draw, 0.15) and not any(node.head.startswith(b"root ") for node in nodes):
        alias = (
            "{T}/al/$1" if scope.is_regex else "{T}/al/" if name.endswith("/") else draw.choice(("{T}/al", "{T}/al/"))
        )
        nodes.append(d("alias", draw.choice((alias, alias, "{T}/al/f.txt", "{T}/$arg_v/"))))
    draw.shuffle(nodes)
    return nodes
