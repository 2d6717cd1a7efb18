"""Writes groups of locations: a location with the pattern of the group around its locations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from nginxopt import lazy
from nginxopt.config import Directive, File, layout
from nginxopt.records import record
from nginxopt.rewrite.kinds.locations.planning import GroupedLocations, LocationGroup
from nginxopt.text import Edit, Span, encode

_NOTE = "# The next pattern matches what those inside match, and nothing else: change them together."
_LINE = lazy.pattern(rb"\n(?!\r?\n)")
"""The end of a line before one that is not empty, or before what follows the text."""


def edits(compiled: Iterable[GroupedLocations]) -> Mapping[File, list[Edit]]:
    """Return the edits that put locations into groups."""
    found: dict[File, list[Edit]] = {}
    for each in compiled:
        found.setdefault(each.run.file, []).extend(edit(group) for group in each.groups)
    return found


def edit(group: LocationGroup) -> Edit:
    """Return the edit that puts the locations of a group into a location with its pattern."""
    first, last = group.locations[0].directive, group.locations[-1].directive
    return Edit(Span(first.span.start, last.span.end), _Writer.of(group).text(group, 0))


@record(eq=True)
class _Writer:
    """Writes a group in the style of its file; `step` is the indentation that each group adds."""

    data: bytes
    newline: bytes
    indent: bytes
    step: bytes

    @classmethod
    def of(cls, group: LocationGroup) -> _Writer:
        """Determine the style. If a word spans several lines, nothing is indented, as that would change the word."""
        locations = [location.directive for location in group.locations]
        data = locations[0].source.data
        newline = b"\r\n" if data[: data.find(b"\n") + 1].endswith(b"\r\n") else b"\n"
        is_cut = any("\n" in word for location in locations for word in _words(location))
        step = "" if is_cut else layout.unit(locations[0].source)
        return cls(data, newline, encode(layout.indent(locations[0])), encode(step))

    def text(self, group: LocationGroup, depth: int) -> bytes:
        """Return a group, without the indentation of its first line."""
        line = self.newline + self.indent + self.step * depth
        head = [encode(_NOTE)] if depth == 0 else []
        head.append(encode(f"location ~ {layout.quoted(group.union.decode('utf-8', 'surrogateescape'))} {{"))
        return line.join([*head, self.step + self._members(group, depth + 1), b"}"])

    def _members(self, group: LocationGroup, depth: int) -> bytes:
        """Return the members of a group, with the text that is between them in the file."""
        text = bytearray()
        end: int | None = None
        for member in group.members:
            locations = member.locations if isinstance(member, LocationGroup) else (member,)
            start = locations[0].directive.span.start
            text += b"" if end is None else self._moved(self.data[end:start], depth)
            end = locations[-1].directive.span.end
            text += (
                self.text(member, depth)
                if isinstance(member, LocationGroup)
                else self._moved(self.data[start:end], depth)
            )
        return bytes(text)

    def _moved(self, text: bytes, depth: int) -> bytes:
        return _LINE.sub(b"\n" + self.step * depth, text)


def _words(directive: Directive) -> Iterator[str]:
    """Yield the words of a location and of the directives in it."""
    yield from map(str, directive.args)
    for inner in directive.block.walk() if directive.block is not None else ():
        yield from map(str, inner.args)
