"""Writes a plan as text: the maps for the http block, and the changed files without what was compiled.

Each kind of list writes its maps and edits; this module adds headers and puts them together. It does not use the disk,
and the name of the file of maps is part of the plan.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import field
from itertools import chain

from nginxopt.config import File
from nginxopt.records import record
from nginxopt.rewrite import mapfile, premises, sizes
from nginxopt.rewrite.compilation import Plan
from nginxopt.rewrite.kinds.kind import HttpPart
from nginxopt.rewrite.kinds.maps.reading import MADE_BY
from nginxopt.rewrite.kinds.registry import KINDS, RULES
from nginxopt.rewrite.mapfile import MapsPlace
from nginxopt.rewrite.options import OLDEST, Readings
from nginxopt.rewrite.sizes import Sizes
from nginxopt.text import Edit, apply, encode
from nginxopt.text.display import count


@record(eq=True)
class FileChange:
    """The changes of one file.

    Attributes:
        file: The file.
        edits: All its edits.
        after: Its new text.
        adds: The words of a new statement in its http block, if there is one.
        of: The edits of each kind of list, by its name.
    """

    file: File
    edits: tuple[Edit, ...]
    after: bytes = field(repr=False)
    adds: tuple[str, ...] | None = None
    of: Mapping[str, tuple[Edit, ...]] = field(default_factory=dict)

    @property
    def before(self) -> bytes:
        """The text with all edits of lists except those of rewrites."""
        return self.with_edits(*(edit for name, edits in self.of.items() if name != RULES.name for edit in edits))

    def with_edits(self, *edits: Edit) -> bytes:
        """Return the original text with only these edits."""
        return apply(self.file.source.data, edits)


@record(eq=True)
class Emission:
    """The text of a plan.

    Attributes:
        plan: The plan.
        maps: The text of the file of maps; empty if none is needed. For a fragment, it begins with `sizes`.
        maps_path: The path from which a whole configuration includes that file; None for a fragment, as its user adds
            the include.
        changes: The files that change.
        sizes: The hash table sizes that the maps need, by directive, without those that equal nginx's default. They
            must be set once in the http block, before all maps. In a whole configuration, `changes` include them.
        trees: The last part of `maps`: the maps of all lists but rules.
        groups: The part of `maps` before `trees`: the trees that select the group of rules of a URI.
    """

    plan: Plan
    maps: bytes = field(repr=False)
    maps_path: str | None
    changes: tuple[FileChange, ...]
    sizes: Sizes = field(default_factory=dict)
    trees: bytes = field(default=b"", repr=False)
    groups: bytes = field(default=b"", repr=False)

    @property
    def maps_of_rewrites(self) -> bytes:
        """The part of the file of maps before `groups` and `trees`."""
        return self.maps.removesuffix(self.groups + self.trees)

    @property
    def text_of_trees(self) -> bytes:
        """What stands in `maps` where `trees` were put, for the proof."""
        return self.maps[len(self.maps_of_rewrites + self.groups) :]

    @property
    def blocks(self) -> bytes:
        """The file of maps without `sizes`."""
        return self.maps if self.maps_path is not None else self.maps.removeprefix(sizes.text(self.sizes))

    @property
    def http(self) -> bytes:
        """The sizes and the maps, for an http block that has neither."""
        return self.maps if self.maps_path is None else sizes.text(self.sizes) + self.maps

    def texts_of(self, kind: str) -> dict[File, bytes]:
        """Return the texts in which only the lists of one kind change, of the files that have such a list."""
        changes = ((change, change.of.get(kind, ())) for change in self.changes)
        return {change.file: change.with_edits(*edits) for change, edits in changes if edits}

    def after(self, file: File) -> bytes:
        """Return the new text of `file`."""
        return next((change.after for change in self.changes if change.file is file), file.source.data)


def emit(plan: Plan) -> Emission:
    """Return the text of a plan, without using the disk. Linear in the size of the text.

    Raises `InputError` for sizes of hash tables that nginx refuses (`nginxopt.rewrite.sizes.standing`).
    """
    standing = sizes.standing(plan.config)
    if not plan.changes:
        return Emission(plan, b"", None, ())
    parts = {kind.name: kind.http(plan.of(kind)) for kind in KINDS}
    place = _place(plan, parts.values(), standing)
    changes = tuple(_changes(plan, place))
    if not any(map(_has_maps, parts.values())):
        return Emission(plan, b"", None, changes)
    maps = (sizes.text(place.sizes) if place.path is None else b"") + _header(plan)
    for kind in KINDS:
        maps = kind.begun(plan.of(kind), maps)
    groups = parts[RULES.name].text
    trees = b"".join(part.text for name, part in parts.items() if name != RULES.name)
    return Emission(plan, maps + groups + trees, place.path, changes, place.sizes, trees, groups)


def _has_maps(part: HttpPart) -> bool:
    return bool(part.text or part.runs)


def _changes(plan: Plan, place: MapsPlace) -> Iterator[FileChange]:
    """Yield the changes of the files."""
    of_kinds = {kind.name: kind.edits(plan.of(kind), place.name) for kind in KINDS}
    for file in dict.fromkeys(chain(place.edits, *of_kinds.values())):
        of_file = {name: tuple(edits.get(file, ())) for name, edits in of_kinds.items()}
        together = (*place.edits.get(file, ()), *chain.from_iterable(of_file.values()))
        yield FileChange(file, together, apply(file.source.data, together), place.adds.get(file), of_file)


def _place(plan: Plan, parts: Collection[HttpPart], standing: Mapping[str, sizes.Standing]) -> MapsPlace:
    if not any(map(_has_maps, parts)):
        return MapsPlace(plan.maps_name, None, {})
    runs = [run for part in parts for run in part.runs]
    names = {name for part in parts for name in part.variables}
    tables = [keys for part in parts for keys in part.tables if keys]
    needed = sizes.needed(runs, plan.config, names, standing, tables)
    return mapfile.place(plan.config, plan.maps_name, needed, standing)


_INCLUDE = """\
#
# Include this file once in the http block. It needs nginx {oldest} or later.
"""


def _header(plan: Plan) -> bytes:
    """Return the comment at the top of the maps: their origin, premises and declared differences."""
    path = plan.subject.path.replace("\n", " ")
    origin = path if path != "-" else "standard input"
    moved = [words for kind in KINDS if (words := kind.moved_in_words(plan.of(kind)))] or [count(0, "rewrite")]
    lines = [f"# {' and '.join(moved)} of {origin} as maps, {MADE_BY.decode()}.\n", _INCLUDE.format(oldest=OLDEST)]
    lines += [kind.note(plan.of(kind)) for kind in KINDS]
    lines += [f"# Premise {premise}.\n" for premise in premises.of(plan)]
    lines += [f"# Declared difference: {Readings.sentences()[name]}.\n" for name in plan.rules.changed]
    return encode("".join(lines))
