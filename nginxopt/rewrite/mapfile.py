"""Where the maps go: the file they are written to, its include, and the sizes of nginx's hash tables.

nginx fixes `map_hash_max_size` and `map_hash_bucket_size` at the first map it reads; set once more, or later,
they are an error (`ngx_http_map_block`). So the maps come first in the http block, or right after the sizes
that a configuration sets itself, which are raised where they are too small.
"""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

from nginxopt.config import Config, Directive, File
from nginxopt.edit import Edit
from nginxopt.rewrite import program
from nginxopt.source import Span, encode

FRAGMENT_NAME = "http.conf"
"""What the http part of a fragment is called: whoever includes the fragment includes it, too."""

_SIZES = ("map_hash_max_size", "map_hash_bucket_size")


@dataclass(frozen=True, slots=True)
class Place:
    """Where the maps go.

    Attributes:
        name: What comments call the file.
        path: Where the file is to be written; None for a fragment's.
        max_size: The `map_hash_max_size` to set in it, if it is not set elsewhere.
        bucket_size: The `map_hash_bucket_size`, likewise.
        edits: The include, and the sizes that are raised, by file.
        adds: The words of the include, by the file that gets it.
    """

    name: str
    path: str | None
    max_size: int | None
    bucket_size: int | None
    edits: Mapping[File, list[Edit]] = field(default_factory=dict)
    adds: Mapping[File, tuple[str, ...]] = field(default_factory=dict)


def place(config: Config, stem: str, sizes: tuple[int, int]) -> Place:
    """Return where maps that need tables of `sizes` go, in a file named after `stem`."""
    block = program.http_block(config)
    in_http = any(context == ("http",) for context in config.candidates) and block is None
    if block is None and not in_http:
        return Place(FRAGMENT_NAME, None, *sizes)
    name = _free_name(config, stem)
    existing = [_existing(config, directive) for directive in _SIZES]
    edits: dict[File, list[Edit]] = {}
    for found, wanted in zip(existing, sizes, strict=True):
        if found and found[1] < wanted:
            edits.setdefault(found[0], []).append(Edit(found[2].args[0].span, str(wanted).encode()))
    file, at = _after(config, block, [found for found in existing if found])
    edits.setdefault(file, []).append(Edit(Span(at, at), _include_text(file, at, name)))
    max_size, bucket_size = (None if found else size for found, size in zip(existing, sizes, strict=True))
    path = os.path.normpath(os.path.join(config.prefix, name))  # noqa: PTH118 - paths stay as given
    return Place(name, path, max_size, bucket_size, edits, {file: ("include", name)})


_Existing = tuple[File, int, Directive]


def _existing(config: Config, name: str) -> _Existing | None:
    """Return the size that the configuration sets, with the directive and its file."""
    for directive, _ in config.outline():
        if directive.name == name and len(directive.args) == 1 and directive.args[0].isdigit():
            file = next(file for file in config.files if file.source is directive.source)
            return file, int(directive.args[0]), directive
    return None


def _after(config: Config, block: Directive | None, existing: list[_Existing]) -> tuple[File, int]:
    """Return where the include goes: behind the sizes that are set, else first in the http block."""
    if existing:
        order = [directive for directive, _ in config.outline()]
        file, _, last = max(existing, key=lambda found: order.index(found[2]))
        return file, last.span.end
    if block is None or block.block is None:
        return config.main, 0
    file = next(file for file in config.files if file.source is block.source)
    return file, block.block.span.start + 1


def _include_text(file: File, at: int, name: str) -> bytes:
    """Return the include as a line of its own, indented as what stands around it."""
    data = file.source.data
    newline = "\r\n" if b"\r\n" in data[: data.find(b"\n") + 1] else "\n"
    statement = f"include {name};"
    if at == 0:
        return encode(statement + newline)
    line_start = data.rfind(b"\n", 0, at) + 1
    line = data[line_start:at]
    indent = line[: len(line) - len(line.lstrip(b" \t"))].decode()
    if line.rstrip().endswith(b"{"):
        indent += "    "
    return encode(f"{newline}{indent}{statement}")


def _free_name(config: Config, stem: str) -> str:
    """Return a file name that is not taken and that no include of the configuration matches."""
    folder = config.prefix
    patterns = [str(d.args[0]) for d, _ in config.outline() if d.name == "include" and len(d.args) == 1]
    for suffix in (".conf", ".maps", ".http"):
        for number in ("", *map(str, range(2, 100))):
            name = f"{stem}{number}{suffix}"
            path = os.path.join(folder, name)  # noqa: PTH118
            matched = any(
                fnmatch.fnmatch(str(PurePath(folder or ".", name)), str(PurePath(folder or ".", pattern)))
                for pattern in patterns
            )
            if not os.path.exists(path) and not matched:  # noqa: PTH110
                return name
            if matched:
                break
    return f".{stem}.conf"  # nginx's globs match no name that starts with a dot
