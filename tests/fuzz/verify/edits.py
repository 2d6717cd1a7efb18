"""Edits of a site: mistakes as people make them, and changes of order and form that often change nothing."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

from tests.fuzz.nodes import Node, walk

Nodes = list[Node]
Edit = Callable[[random.Random, Nodes], str | None]
"""Changes the nodes in place, and says what it did; None if it found nothing to change."""


def edited(draw: random.Random, nodes: Nodes, count: int) -> tuple[Nodes, list[str]]:
    """Return a copy of the nodes after some edits, and what they were."""
    nodes = copied(nodes)
    told: list[str] = []
    for _ in range(20 * count):
        what = draw.choice(EDITS)(draw, nodes)
        if what is not None:
            told.append(what)
        if len(told) == count:
            break
    return nodes, told


def copied(nodes: Nodes) -> Nodes:
    """Return a copy of nodes without files."""
    return [Node(node.head, None if node.body is None else copied(node.body), raw=node.raw) for node in nodes]


def _places(nodes: Nodes, wanted: Callable[[Node], bool]) -> list[tuple[Nodes, Node]]:
    return [(body, node) for body, node in walk(nodes) if wanted(node)]


def _head(node: Node) -> str:
    return node.head.decode("utf-8", "surrogateescape")


def _with_head(node: Node, text: str) -> None:
    node.head = text.encode("utf-8", "surrogateescape")


def _name(node: Node) -> str:
    return _head(node).partition(" ")[0]


def _delete(draw: random.Random, nodes: Nodes) -> str | None:
    places = _places(nodes, lambda node: _name(node) not in ("server", "listen", "upstream", "map"))
    if not places:
        return None
    body, node = draw.choice(places)
    body.remove(node)
    return f"without {_head(node)}"


def _swap(draw: random.Random, nodes: Nodes) -> str | None:
    bodies = [body for body in _bodies(nodes) if len(body) > 1]
    if not bodies:
        return None
    body = draw.choice(bodies)
    at = draw.randrange(len(body) - 1)
    body[at], body[at + 1] = body[at + 1], body[at]
    return f"{_head(body[at])} before {_head(body[at + 1])}"


def _shuffle_locations(draw: random.Random, nodes: Nodes) -> str | None:
    """Put the locations without patterns in another order, which changes nothing."""
    bodies = [body for body in _bodies(nodes) if len(_static(body)) > 1]
    if not bodies:
        return None
    body = draw.choice(bodies)
    places = _static(body)
    others = [body[at] for at in places]
    draw.shuffle(others)
    for at, node in zip(places, others, strict=True):
        body[at] = node
    return "locations in another order"


def _static(body: Nodes) -> list[int]:
    return [at for at, node in enumerate(body) if _name(node) == "location" and "~" not in _head(node)]


def _bodies(nodes: Nodes) -> list[Nodes]:
    return [nodes, *(node.body for _, node in walk(nodes) if node.body is not None)]


def _replacing(pattern: str, replacements: Sequence[str]) -> Edit:
    def edit(draw: random.Random, nodes: Nodes) -> str | None:
        places = _places(nodes, lambda node: re.search(pattern, _head(node)) is not None)
        if not places:
            return None
        _, node = draw.choice(places)
        before = _head(node)
        _with_head(node, re.sub(pattern, draw.choice(replacements), before, count=1))
        return None if _head(node) == before else f"{before} -> {_head(node)}"

    return edit


def _copy(draw: random.Random, nodes: Nodes) -> str | None:
    places = _places(nodes, lambda node: _name(node) in ("set", "if", "rewrite", "return", "add_header"))
    if not places:
        return None
    body, node = draw.choice(places)
    body.insert(draw.randrange(len(body) + 1), *copied([node]))
    return f"twice {_head(node)}"


def _move(draw: random.Random, nodes: Nodes) -> str | None:
    places = _places(nodes, lambda node: _name(node) in ("set", "if", "rewrite", "return", "add_header", "root"))
    bodies = [node.body for _, node in walk(nodes) if node.body is not None and _name(node) in ("server", "location")]
    if not places or not bodies:
        return None
    body, node = draw.choice(places)
    target = draw.choice(bodies)
    body.remove(node)
    target.insert(draw.randrange(len(target) + 1), node)
    return f"moved {_head(node)}"


def _into_if(draw: random.Random, nodes: Nodes) -> str | None:
    """Put a statement into an `if` that is always true."""
    places = _places(nodes, lambda node: _name(node) in ("rewrite", "return", "set"))
    if not places:
        return None
    body, node = draw.choice(places)
    body[body.index(node)] = Node(b"if ($uri)", [node])
    return f"in an if: {_head(node)}"


def _nest(draw: random.Random, nodes: Nodes) -> str | None:
    """Put a location into another that matches the same, or more."""
    places = _places(
        nodes, lambda node: _name(node) == "location" and " @" not in _head(node) and " = " not in _head(node)
    )
    if not places:
        return None
    body, node = draw.choice(places)
    around = _head(node) if "~" in _head(node) else draw.choice(("location /", "location ^~ /", _head(node)[:-1]))
    body[body.index(node)] = Node(around.encode("utf-8", "surrogateescape"), [node])
    return f"inside of {around}: {_head(node)}"


def _unnest(draw: random.Random, nodes: Nodes) -> str | None:
    """Put what a location holds in its place."""
    places = _places(nodes, lambda node: _name(node) == "location" and _holds_locations(node))
    if not places:
        return None
    body, node = draw.choice(places)
    at = body.index(node)
    inner = [other for other in node.body or () if _name(other) == "location"]
    body[at : at + draw.randrange(2)] = inner
    return f"out of {_head(node)}"


def _holds_locations(node: Node) -> bool:
    return any(_name(inner) == "location" for inner in node.body or ())


def _say_again(draw: random.Random, nodes: Nodes) -> str | None:
    """Copy a setting to a block inside of its own, which has it anyway, or out of it."""
    blocks = [(body, node.body) for body, node in walk(nodes) if node.body and _name(node) in ("location", "if")]
    pairs = [pair for pair in blocks for pair in (pair, pair[::-1])]
    pairs = [pair for pair in pairs if any(map(_is_setting, pair[0]))]
    if not pairs:
        return None
    source, target = draw.choice(pairs)
    node = draw.choice([node for node in source if _is_setting(node)])
    target.insert(0, *copied([node]))
    return f"again {_head(node)}"


def _is_setting(node: Node) -> bool:
    return node.body is None and _name(node) not in _NO_SETTINGS


_NO_SETTINGS = ("set", "rewrite", "return", "break", "listen", "server_name", "try_files", "include")


EDITS: Sequence[Edit] = (
    _delete,
    _delete,
    _swap,
    _swap,
    _shuffle_locations,
    _copy,
    _move,
    _into_if,
    _nest,
    _unnest,
    _say_again,
    _replacing(r"\blast$", ("break", "redirect", "permanent")),
    _replacing(r"\bbreak$", ("last",)),
    _replacing(r"\bpermanent$", ("redirect",)),
    _replacing(r"(?<=location )= ", ("", "^~ ")),
    _replacing(r"(?<=location )\^~ ", ("", "= ")),
    _replacing(r"(?<=location )~ ", ("~* ",)),
    _replacing(r"(?<=location )~\* ", ("~ ",)),
    _replacing(r"^root ", ("alias ",)),
    _replacing(r"^alias ", ("root ",)),
    _replacing(r"\^", ("",)),
    _replacing(r"\$(?=[ \"]|$)", ("",)),
    _replacing(r"/$", ("",)),
    _replacing(r"\\\.", (".",)),
    _replacing(r"\b301\b", ("302",)),
    _replacing(r"\b404\b", ("403", "=404")),
    _replacing(r"=404\b", ("404",)),
    _replacing(r"\$uri\b", ("$request_uri", "$document_uri", "$uri/")),
    _replacing(r"\$1\b", ("$2", "")),
    _replacing(r"(?<=server_name )\S+", ("other.test", "*.test", "b.test")),
    _replacing(r" default_server", ("",)),
    _replacing(r"/a\b", ("/b", "/A", "/a/")),
    _replacing(r" always$", ("",)),
    _replacing(r"!?~\*? ", ("~* ", "= ", "!~ ")),
    _replacing(r"\{http1\}", ("{http0}",)),
    _replacing(r"\{http0\}", ("{http1}",)),
)
