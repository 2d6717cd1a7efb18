"""Where the maps go: the file they are written to, its include, and the directives for the sizes of nginx's tables.

The sizes of maps have to stand before the first map (see `nginxopt.rewrite.sizes`). So maps and sizes come first in the
http block, or right behind the sizes that a configuration sets itself; maps that need no sizes, behind missing files
that may set them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from nginxopt.config import Config, Directive, File
from nginxopt.rewrite import sizes
from nginxopt.rewrite.sizes import Sizes, Standing
from nginxopt.rewrite.unread import is_http_known
from nginxopt.text import Edit, Span, encode

FRAGMENT_NAME = "http.conf"
"""What the http part of a fragment is called: whoever includes the fragment includes it, too."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the maps go.

    Attributes:
        name: What comments call the file, and what an include says.
        path: Where the file is to be written; None for a fragment's.
        sizes: The sizes that hold for the maps and are not nginx's own: set, raised or new. Those of a fragment have to
            be set before its maps, by whoever includes it.
        edits: The include, and sizes, by file.
        adds: The words of the include, by the file that gets it.
    """

    name: str
    path: str | None
    sizes: Sizes
    edits: Mapping[File, list[Edit]] = field(default_factory=dict)
    adds: Mapping[File, tuple[str, ...]] = field(default_factory=dict)


def place(config: Config, name: str, wanted: Sizes, now: Mapping[str, Standing]) -> Place:
    """Return where maps that need tables of `wanted` sizes go, in a file of that name; `now` are those that are set."""
    edits: dict[File, list[Edit]] = {}
    for file, edit in sizes.raised(wanted, now):
        edits.setdefault(file, []).append(edit)
    block = config.http
    if block is None:
        return Place(name, None, {size: number for size, number in wanted.items() if size not in now}, edits)
    if is_http_known(config) or any(size in wanted and size not in now for size in sizes.MAPS):
        file, at = _after(config, block, [now[size] for size in sizes.MAPS if size in now])
    else:
        file, at = _after_unread(config, block)
    lines = [*sizes.statements(wanted, now), f"include {name};"]
    edits.setdefault(file, []).append(Edit(Span(at, at), _lines(file, at, lines)))
    path = os.path.normpath(os.path.join(config.prefix, name))  # noqa: PTH118 - paths stay as given
    holding = {directive: size.size for directive, size in now.items()} | dict(wanted)
    return Place(name, path, holding, edits, {file: ("include", name)})


def free_name(config: Config, stem: str) -> str:
    """Return the name of the file of maps: `http.conf` for a fragment's.

    That of a whole configuration goes into its folder: it is not taken there, and read by no include, whatever
    wildcards and links that goes through. Asks the disk.
    """
    if config.http is None:
        return FRAGMENT_NAME
    included = [str(include.args[0]) for include in config.includes]
    for suffix in (".conf", ".maps", ".http"):
        for number in ("", *map(str, range(2, 100))):
            name = f"{stem}{number}{suffix}"
            path = os.path.join(config.prefix, name)  # noqa: PTH118
            is_read = any(config.origin.reads(config.prefix, pattern, path) for pattern in included)
            if not os.path.lexists(path) and not is_read:
                return name
    return f".{stem}.conf"  # nginx's wildcards match no name that starts with a dot


def _after(config: Config, block: Directive, standing: list[Standing]) -> tuple[File, int]:
    """Return where the include goes: behind the sizes of maps that are set, else first in the http block."""
    if standing:
        order = {directive: number for number, (directive, _) in enumerate(config.walk())}
        last = max(standing, key=lambda size: order[size.directive])
        return last.file, last.directive.span.end
    assert block.block is not None
    file = next(file for file in config.files if file.source is block.source)
    return file, block.block.span.start + 1


def _after_unread(config: Config, block: Directive) -> tuple[File, int]:
    """Return where the include goes in a http block that is not known: behind all that may set the sizes of maps.

    Nothing behind a map does, as nginx would not take it there.
    """
    assert block.block is not None
    at = block.block.span.start + 1
    for directive in block.block.unfolded():
        if directive.name == "map":
            break
        if _may_set_sizes(config, directive):
            at = directive.span.end
    return next(file for file in config.files if file.source is block.source), at


def _may_set_sizes(config: Config, directive: Directive) -> bool:
    """Return whether a directive of the http block is a size of maps, or an include that may lead to one."""
    if directive.name != "include":
        return directive.name in sizes.MAPS
    children = (child for file in config.included(directive) for child in file.block.unfolded())
    return config.is_missing(directive) or any(_may_set_sizes(config, child) for child in children)


def _lines(file: File, at: int, statements: Sequence[str]) -> bytes:
    """Return statements as lines of their own, indented as what stands around them."""
    data = file.source.data
    newline = "\r\n" if b"\r\n" in data[: data.find(b"\n") + 1] else "\n"
    line = data[data.rfind(b"\n", 0, at) + 1 : at]
    indent = line[: len(line) - len(line.lstrip(b" \t"))].decode()
    if line.rstrip().endswith(b"{"):
        indent += "    "
    return encode("".join(f"{newline}{indent}{statement}" for statement in statements))
