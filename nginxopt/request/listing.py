"""Reads which files exist from the output of `find DIR`: the path of each file and folder below DIR on a line."""

from __future__ import annotations

import os

from nginxopt.errors import InputError
from nginxopt.records import record
from nginxopt.text import Source, Span, decode


@record(eq=True)
class Listing:
    """What a list says.

    Attributes:
        existing: The paths of files, and of folders with a slash at their end.
        folders: The folders that were searched, without a slash at their end; their content is complete.
        marks_folders: Whether folders have a slash in the list. If not, an empty one looks like a file.
    """

    existing: tuple[str, ...]
    folders: tuple[str, ...]
    marks_folders: bool


def read(source: Source) -> Listing:
    """Return the files of a list. Raises `InputError` with the place of a line that is not an absolute path."""
    lines: list[str] = []
    start = 0
    for line in source.data.split(b"\n"):
        path = decode(line.removesuffix(b"\r"))
        if path:
            if not path.startswith("/"):
                where = Span(start, start + len(line))
                raise InputError("not an absolute path", source=source, span=where, hint="list files with find /DIR")
            lines.append(path)
        start += len(line) + 1
    paths = {path.rstrip("/") for path in lines}
    marked = {path.rstrip("/") for path in lines if path.endswith("/")}
    folders = marked | {os.path.dirname(path) for path in paths}  # noqa: PTH120 - a path of another machine
    existing = tuple(f"{path}/" if path in folders else path for path in dict.fromkeys(p.rstrip("/") for p in lines))
    searched = {path for path in paths & folders if os.path.dirname(path) not in paths or not path}  # noqa: PTH120
    return Listing(existing, tuple(sorted(searched)), bool(marked - searched))  # `find /DIR/` prints that slash, too
