"""A configuration as a tree of directives that can be rendered into files, and taken apart again by a minimiser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class Node:
    """A directive without its end; with `body` a block; with `files` an include and what it brings.

    A raw node (a comment, a block of Lua) ends by itself.
    """

    head: bytes
    body: list[Node] | None = None
    files: dict[str, list[Node]] | None = None
    raw: bool = False


Place = tuple[list[Node], Node]


@dataclass(slots=True)
class Rendered:
    """The text of each file, and the node that ends on a line of it, with the list it stands in."""

    files: dict[str, bytes] = field(default_factory=dict)
    places: dict[tuple[str, int], Place] = field(default_factory=dict)


def render(main: str, nodes: list[Node], newline: Callable[[str], bytes] = lambda _: b"\n") -> Rendered:
    """Render `nodes` as the file `main` and those that it includes; `newline` says how the lines of a file end."""
    rendered = Rendered()
    _file(rendered, main, nodes, newline)
    return rendered


def walk(nodes: list[Node]) -> Iterator[Place]:
    """Yield every node with the list that it stands in, outer ones first."""
    for node in list(nodes):
        yield nodes, node
        if node.body is not None:
            yield from walk(node.body)
        for body in (node.files or {}).values():
            yield from walk(body)


def _file(rendered: Rendered, path: str, nodes: list[Node], newline: Callable[[str], bytes]) -> None:
    lines: list[bytes] = []
    _body(rendered, path, nodes, lines, b"", newline)
    rendered.files[path] = b"".join(line + newline(path) for line in lines)


def _body(
    rendered: Rendered,
    path: str,
    nodes: list[Node],
    lines: list[bytes],
    indent: bytes,
    newline: Callable[[str], bytes],
) -> None:
    for node in nodes:
        end = b"" if node.raw else b";" if node.body is None else b" {"
        lines += (indent + node.head + end).split(b"\n")
        rendered.places[path, len(lines)] = (nodes, node)
        if node.body is not None:
            _body(rendered, path, node.body, lines, indent + b"    ", newline)
            lines.append(indent + b"}")
        for name, body in (node.files or {}).items():
            _file(rendered, name, body, newline)
