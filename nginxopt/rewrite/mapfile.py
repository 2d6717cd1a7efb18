"""Decides where the maps go: their file, its include, and the directives for hash table sizes.

The sizes for maps must precede the first map (see `nginxopt.rewrite.sizes`). So sizes and maps are put at the start of
the http block, or right after the sizes that the configuration already sets. If missing files may set the sizes, maps
that need no other sizes are put after their includes.

A fragment that is changed in place gets files next to it: its maps, and the hash table sizes of all fragments of the
folder. No include reads these files by accident: `*.conf` does not match their names, and in folders of which nginx may
include all files (`*`), the names begin with a dot.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from itertools import count
from pathlib import Path

from nginxopt import lazy
from nginxopt.config import Config, Directive, File, may_read_more
from nginxopt.config.inputs import FOLDERS, SITES
from nginxopt.records import record
from nginxopt.rewrite import sizes
from nginxopt.rewrite.kinds.maps.reading import MADE_BY
from nginxopt.rewrite.sizes import Sizes, Standing
from nginxopt.rewrite.unread import is_http_known
from nginxopt.text import Edit, Span, encode

FRAGMENT_NAME = "http.conf"
"""The name of the maps file of a fragment, which the user of the fragment includes too."""


@record(eq=True)
class MapsPlace:
    """The place of the maps.

    Attributes:
        name: The name of the file in comments and in the include.
        path: The path of the file; None for a fragment.
        sizes: The sizes that the maps need and that differ from nginx's defaults. The user of a fragment must set them
            before its maps.
        edits: The edits for the include and the sizes, by file.
        adds: The words of the include, by file.
    """

    name: str
    path: str | None
    sizes: Sizes
    edits: Mapping[File, list[Edit]] = field(default_factory=dict)
    adds: Mapping[File, tuple[str, ...]] = field(default_factory=dict)


def place(config: Config, name: str, wanted: Sizes, now: Mapping[str, Standing]) -> MapsPlace:
    """Return the place of maps in a file `name` that need the sizes `wanted`; `now` are the sizes already set."""
    edits: dict[File, list[Edit]] = {}
    for file, edit in sizes.raised(wanted, now):
        edits.setdefault(file, []).append(edit)
    block = config.http
    if block is None:
        return MapsPlace(name, None, {size: number for size, number in wanted.items() if size not in now}, edits)
    if is_http_known(config) or any(size in wanted and size not in now for size in sizes.MAPS):
        file, at = _after(config, block, [now[size] for size in sizes.MAPS if size in now])
    else:
        file, at = _after_unread(config, block)
    lines = [*sizes.statements(wanted, now), f"include {name};"]
    edits.setdefault(file, []).append(Edit(Span(at, at), _lines(file, at, lines)))
    path = os.path.normpath(os.path.join(config.prefix, name))  # noqa: PTH118 - paths stay as given
    holding = {directive: size.size for directive, size in now.items()} | dict(wanted)
    return MapsPlace(name, path, holding, edits, {file: ("include", name)})


def name(config: Config, stem: str, *, in_place: bool) -> str:
    """Return the name of the file of maps. Uses the disk.

    For a fragment, this is `http.conf`, or that of `name_beside` if the fragment is changed in place. For a whole
    configuration, it is a new name in its folder that no include reads, even through wildcards and links.
    """
    if config.http is None:
        return name_beside(config) if in_place else FRAGMENT_NAME
    included = [str(include.args[0]) for include in config.includes]
    for suffix in (".conf", ".maps", ".http"):
        for number in ("", *map(str, range(2, 100))):
            free = f"{stem}{number}{suffix}"
            path = os.path.join(config.prefix, free)  # noqa: PTH118
            is_read = any(config.origin.reads(config.prefix, pattern, path) for pattern in included)
            if not os.path.lexists(path) and not is_read:
                return free
    return f".{stem}.conf"  # nginx's wildcards do not match a leading dot


def _after(config: Config, block: Directive, standing: list[Standing]) -> tuple[File, int]:
    """Return the place of the include: after the map hash sizes, otherwise first in the http block."""
    if standing:
        order = {directive: number for number, (directive, _) in enumerate(config.walk())}
        last = max(standing, key=lambda size: order[size.directive])
        return last.file, last.directive.span.end
    assert block.block is not None
    file = next(file for file in config.files if file.source is block.source)
    return file, block.block.span.start + 1


def _after_unread(config: Config, block: Directive) -> tuple[File, int]:
    """Return the place of the include in an http block with unread parts.

    This is after everything that may set the sizes of maps. Nothing after a map can set them, as nginx refuses that.
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
    """Return whether a directive of the http block sets a size of maps, or is an include whose files may."""
    if directive.name != "include":
        return directive.name in sizes.MAPS
    children = (child for file in config.included(directive) for child in file.block.unfolded())
    return may_read_more(config, directive) or any(_may_set_sizes(config, child) for child in children)


def _lines(file: File, at: int, statements: Sequence[str]) -> bytes:
    """Return statements on separate lines, indented like those around them."""
    data = file.source.data
    newline = "\r\n" if b"\r\n" in data[: data.find(b"\n") + 1] else "\n"
    line = data[data.rfind(b"\n", 0, at) + 1 : at]
    indent = line[: len(line) - len(line.lstrip(b" \t"))].decode()
    if line.rstrip().endswith(b"{"):
        indent += "    "
    return encode("".join(f"{newline}{indent}{statement}" for statement in statements))


_SIZES = "nginxopt-hash.http"
"""The name of the file with the hash table sizes, which all fragments of a folder share."""

_ORIGIN = lazy.pattern(rb"# .* of (.*) as maps, " + MADE_BY)
"""The first line of a file of maps, with the path of its fragment."""
_DEFINED = lazy.pattern(rb"^(?:map\s.*\s|geo\s+)\$(\w+)\s*\{|\(\?P?<(\w+)>", re.MULTILINE | re.ASCII)
"""A variable that a file of maps defines, by a block or by a group."""
_READ = lazy.pattern(rb"\$\{?(\w+)", re.ASCII)


def name_beside(config: Config) -> str:
    """Return the name of the file for the maps of a fragment. Uses the disk.

    An existing file is reused only if it has maps of the same fragment that the fragment no longer uses, for example
    because its original text was restored.
    """
    main = Path(config.main.path)
    texts = [file.source.data for file in config.files]
    stem = main.name.replace("\n", "_")  # comments contain the name
    names = (_hidden(main, f"{stem}{'' if number == 1 else number}.http") for number in count(1))
    return next(name for name in names if _is_free(main.with_name(name), main.name, texts))


def sizes_path(config: Config) -> Path:
    """Return the path of the file with the hash table sizes for the folder of a fragment."""
    main = Path(config.main.path)
    return main.with_name(_hidden(main, _SIZES))


def used(maps: bytes, texts: Iterable[bytes]) -> set[bytes]:
    """Return the names of the variables that a file of maps defines and that some of the texts use."""
    defined = {name.lower() for pair in _DEFINED.findall(maps) for name in pair if name}
    return defined & {name.lower() for text in texts for name in _READ.findall(text)}


def _hidden(main: Path, name: str) -> str:
    """Return a name, if necessary with a leading dot, that no wildcard in the folder of a fragment matches."""
    return f".{name}" if main.absolute().parent.name in (*SITES, *FOLDERS) else name


def _is_free(path: Path, fragment: str, texts: Iterable[bytes]) -> bool:
    """Return whether the maps of a fragment may be written to a path; `texts` may use the maps that are there."""
    if not os.path.lexists(path):
        return True
    try:
        maps = path.read_bytes()
    except OSError:
        return False
    origin = _ORIGIN.match(maps)
    return origin is not None and os.path.basename(origin[1]) == os.fsencode(fragment) and not used(maps, texts)  # noqa: PTH119
