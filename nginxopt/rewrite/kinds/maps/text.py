"""The edits that remove regular expressions from a map and make its default the tree.

Comments stay in place, those beside removed rows included.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from nginxopt.config import Directive, File, layout
from nginxopt.rewrite.kinds.maps.planning import PlannedMap
from nginxopt.rewrite.kinds.maps.reading import RegexMap
from nginxopt.text import Edit, Source, Span, encode
from nginxopt.text.display import be, count

_GUARD_NOTE = "# Only what passes the next row can match one below it. Delete it before you change them."


def edits(compiled: Iterable[PlannedMap], maps_name: str) -> Mapping[File, list[Edit]]:
    """Return the edits that turn maps into trees, by file."""
    by_source: dict[Source, list[Edit]] = {}
    files: dict[Source, File] = {}
    for each in compiled:
        files |= {file.source: file for file in each.map.files}
        for source, edit in _edits(each, maps_name):
            by_source.setdefault(source, []).append(edit)
    return {files[source]: apart(found) for source, found in by_source.items()}


def _edits(compiled: PlannedMap, maps_name: str) -> Iterator[tuple[Source, Edit]]:
    guard = compiled.native.guard
    if guard is not None:
        first = compiled.map.movable[0]
        is_first_of_its_line = not first.source.data[: first.span.start].rpartition(b"\n")[2].strip()
        note = [_GUARD_NOTE] if is_first_of_its_line else []  # a comment would end with the line
        change = layout.before(first, [*note, guard.decode("utf-8", "surrogateescape")])
        yield change.source, change.edit
        return
    yield from _default(compiled, maps_name)
    for run in _runs(compiled.map.movable):
        change = layout.delete_all(run)
        yield change.source, change.edit


def _runs(rows: Iterable[Directive]) -> Iterator[list[Directive]]:
    """Divide rows into runs on consecutive lines without comments or other statements."""
    run: list[Directive] = []
    for row in rows:
        if run and not layout.is_next_line(run[-1], row):
            yield run
            run = []
        run.append(row)
    if run:
        yield run


def _default(compiled: PlannedMap, maps_name: str) -> Iterator[tuple[Source, Edit]]:
    """Yield the edit that changes the default, and the one that adds a comment at the beginning of the block."""
    regex_map, default = compiled.map, compiled.map.default
    rows = count(len(regex_map.movable), "pattern")
    lines = [f"# {rows} of this map {be(len(regex_map.movable))} looked up in the maps of {maps_name}."]
    if default is None:
        lines.append(f"default {compiled.native.default.decode('utf-8', 'surrogateescape')};")
    else:
        yield default.source, Edit(default.args[0].span, compiled.native.default)
    yield regex_map.directive.source, _at_beginning(regex_map, lines)


def _at_beginning(regex_map: RegexMap, lines: list[str]) -> Edit:
    """Return the edit that inserts lines at the start of a map. A map on one line gets no comments."""
    directive = regex_map.directive
    assert directive.block is not None
    data, at = directive.source.data, directive.block.span.start + 1
    end = data.find(b"\n", at)
    if b"\n" not in data[at : directive.block.span.end] or data[at:end].strip(b" \t\r"):
        return Edit(Span(at, at), b"".join(b" " + encode(line) for line in lines if not line.startswith("#")))
    newline = b"\r\n" if data[end - 1 : end] == b"\r" else b"\n"
    indent = encode(_indent(directive))
    return Edit(Span(at, at), b"".join(newline + indent + encode(line) for line in lines))


def _indent(directive: Directive) -> str:
    """Return the indentation of the rows of a block."""
    assert directive.block is not None
    inner = next(directive.block.directives(), None)
    own = layout.indent(directive)
    found = own if inner is None else layout.indent(inner)
    return found if len(found) > len(own) else own + "    "


def apart(edits: list[Edit]) -> list[Edit]:
    """Return edits without overlap, if they overlapped only in blanks, like those of rows on the same line."""
    apart: list[Edit] = []
    at = 0
    for edit in sorted(edits, key=lambda each: (each.span.start, each.span.end)):
        start = max(at, edit.span.start)
        apart.append(Edit(Span(start, max(start, edit.span.end)), edit.text))
        at = apart[-1].span.end
    return apart
