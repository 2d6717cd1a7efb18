"""Writes a plan as text: the maps for the http block, and the changed files without the replaced rules.

The native core writes the maps and statements; this module adds headers and puts them into place. It does not use the
disk, and the name of the file of maps is part of the plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field
from itertools import chain

from nginxopt import _native
from nginxopt.config import File
from nginxopt.config.tokens import statements
from nginxopt.records import record
from nginxopt.rewrite import mapfile, premises, sizes
from nginxopt.rewrite.kinds.chains import text as chains
from nginxopt.rewrite.kinds.locations.text import edits as edits_of_locations
from nginxopt.rewrite.kinds.maps.edits import edits as edits_of_maps
from nginxopt.rewrite.kinds.maps.reading import MADE_BY
from nginxopt.rewrite.names import Names
from nginxopt.rewrite.options import OLDEST, Readings
from nginxopt.rewrite.planning import Part, Plan, PlannedRun
from nginxopt.rewrite.sizes import Sizes
from nginxopt.text import Edit, Source, Span, apply, encode
from nginxopt.text.plural import be, count


@record(eq=True)
class FileChange:
    """The changes of one file.

    Attributes:
        file: The file.
        edits: All its edits.
        after: Its new text.
        adds: The words of a new statement in its http block, if there is one.
        of_maps: The edits of maps with regular expressions.
        of_chains: The edits that replace chains of `if`s.
        of_locations: The edits that put regex locations into groups.
    """

    file: File
    edits: tuple[Edit, ...]
    after: bytes = field(repr=False)
    adds: tuple[str, ...] | None = None
    of_maps: tuple[Edit, ...] = ()
    of_chains: tuple[Edit, ...] = ()
    of_locations: tuple[Edit, ...] = ()

    @property
    def before(self) -> bytes:
        """The text with all edits except those of rewrites."""
        return self.with_edits(*self.of_maps, *self.of_chains, *self.of_locations)

    def with_edits(self, *edits: Edit) -> bytes:
        """Return the original text with only these edits."""
        return apply(self.file.source.data, edits)


@record(eq=True)
class Compiled:
    """A run that changes, the statements that replace its moved rules, and the names of their variables."""

    part: Part
    run: PlannedRun
    text: bytes
    names: Names

    @property
    def maps(self) -> bytes:
        """The maps of this run alone, without their sizes."""
        if not self.run.has_maps:
            return b""
        return _native.maps_text(b"", [(self.run.native, self.names)]) + self.run.native.trees(self.names)


@record(eq=True)
class Emission:
    """The text of a plan.

    Attributes:
        plan: The plan.
        maps: The text of the file of maps; empty if none is needed. For a fragment, it begins with `sizes`.
        maps_path: The path from which a whole configuration includes that file; None for a fragment, as its user adds
            the include.
        changes: The files that change.
        compiled: The runs of rules that change, in text order.
        sizes: The hash table sizes that the maps need, by directive, without those that equal nginx's default. They
            must be set once in the http block, before all maps. In a whole configuration, `changes` include them.
        trees: The last part of `maps`: the trees for maps with regular expressions, and the maps of chains.
        groups: The part of `maps` before `trees`: the trees that select the group of rules of a URI.
    """

    plan: Plan
    maps: bytes = field(repr=False)
    maps_path: str | None
    changes: tuple[FileChange, ...]
    compiled: tuple[Compiled, ...] = ()
    sizes: Sizes = field(default_factory=dict)
    trees: bytes = field(default=b"", repr=False)
    groups: bytes = field(default=b"", repr=False)

    @property
    def maps_of_rewrites(self) -> bytes:
        """The part of the file of maps before `groups` and `trees`."""
        return self.maps.removesuffix(self.groups + self.trees)

    @property
    def blocks(self) -> bytes:
        """The file of maps without `sizes`."""
        return self.maps if self.maps_path is not None else self.maps.removeprefix(sizes.text(self.sizes))

    @property
    def http(self) -> bytes:
        """The sizes and the maps, for an http block that has neither."""
        return self.maps if self.maps_path is None else sizes.text(self.sizes) + self.maps

    def after(self, file: File) -> bytes:
        """Return the new text of `file`."""
        return next((change.after for change in self.changes if change.file is file), file.source.data)


def emit(plan: Plan) -> Emission:
    """Return the text of a plan, without using the disk. Linear in the size of the text."""
    if not plan.changes:
        return Emission(plan, b"", None, ())
    runs = [(part, run) for part in plan.parts for run in part.compiled]
    stems = [f"{plan.stem}_{number}" for number in range(1, len(runs) + 1)] if len(runs) > 1 else [plan.stem]
    names = [Names(stem) for stem, _ in zip(stems, runs, strict=False)]
    natives = [run.native for _, run in runs]
    trees = b"".join(compiled.native.maps for compiled in plan.maps.compiled)
    trees += b"".join(map(chains.maps, plan.chains.compiled))
    variables = [name for run, named in zip(natives, names, strict=True) for name in run.variables(named)]
    groups = b"".join(run.trees(named) for run, named in zip(natives, names, strict=True))
    place = _place(plan, {*map(encode, variables), *sizes.variables(groups)})
    compiled = [
        Compiled(part, run, _headed(run, place.name) + run.native.statements(named), named)
        for (part, run), named in zip(runs, names, strict=True)
    ]
    changes = tuple(_changes(plan, place, compiled))
    if not (trees or any(run.has_maps for _, run in runs)):
        return Emission(plan, b"", None, changes, tuple(compiled))
    before = sizes.text(place.sizes) if place.path is None else b""
    maps = _native.maps_text(before + _header(plan), list(zip(natives, names, strict=True)))
    return Emission(plan, maps + groups + trees, place.path, changes, tuple(compiled), place.sizes, trees, groups)


def _changes(plan: Plan, place: mapfile.Place, compiled: Iterable[Compiled]) -> Iterator[FileChange]:
    """Yield the changes of the files."""
    of_maps = edits_of_maps(plan.maps.compiled, place.name)
    of_chains = chains.edits(plan.chains.compiled, place.name)
    edits: dict[File, list[Edit]] = {file: list(edits) for file, edits in place.edits.items()}
    for run in compiled:
        edits.setdefault(run.part.file, []).extend(_replace(run.part.file, run.run, run.text))
    parts = of_maps, of_chains, edits_of_locations(plan.locations.compiled)
    for file in dict.fromkeys([*edits, *chain.from_iterable(parts)]):
        of_parts = [tuple(part.get(file, ())) for part in parts]
        together = (*edits.get(file, ()), *chain.from_iterable(of_parts))
        yield FileChange(file, together, apply(file.source.data, together), place.adds.get(file), *of_parts)


def _place(plan: Plan, variables: set[bytes]) -> mapfile.Place:
    runs = [run.native for part in plan.parts for run in part.compiled if run.has_maps]
    trees = [compiled.native for compiled in plan.maps.compiled if compiled.native.guard is None]
    chained = plan.chains.compiled
    if not (runs or trees or chained):
        return mapfile.Place(plan.maps_name, None, {})
    standing = sizes.standing(plan.config)
    defined = [*(tree.variables for tree in trees), *(chain.variables for chain in chained)]
    names = variables | {encode(name) for names in defined for name in names}
    all_tables = [*(tree.keys for tree in trees), *(chain.keys for chain in chained)]
    tables = [keys for tables in all_tables for keys in tables if keys]
    needed = sizes.needed(runs, plan.config, names, standing, tables)
    return mapfile.place(plan.config, plan.maps_name, needed, standing)


def _headed(run: PlannedRun, maps: str) -> bytes:
    """Return the comment above the compiled form of a run."""
    moved, rewrites = run.native.moved + run.native.grouped, count(len(run.native), "rewrite")
    filtered = run.native.filtered
    tried = f"{filtered:,} {be(filtered)} tried only behind a pattern for all of them"
    if not moved:
        return encode(f"# Of {rewrites} here, {tried}.\n")
    return encode(
        f"# {moved:,} of {rewrites} here {be(moved)} looked up in the maps of {maps}{f'; {tried}' * bool(filtered)}.\n"
    )


_INCLUDE = """\
#
# Include this file once in the http block. It needs nginx {oldest} or later.
"""
_KEYS = """\
# The keys stand in the order of their rules. A map ignores the case of letters, and a rule does not: so one map gives
# each key back as it is spelled, and the server compares that with $uri; in a location the patterns list the keys.
"""
_TREES = """\
# Each list of patterns is a tree: its first map tells by which prefix a value begins, and the next which patterns are
# left to be tried.
"""


def _moved(plan: Plan) -> str:
    """Return a phrase that describes the content of the maps."""
    moved = [count(plan.moved, "rewrite")] if plan.moved or not (plan.maps.moved or plan.chains.moved) else []
    moved += [f"{count(plan.maps.moved, 'pattern')} of maps"] if plan.maps.moved else []
    moved += [f"{count(plan.chains.moved, 'condition')} of chains"] if plan.chains.moved else []
    return " and ".join(moved)


def _header(plan: Plan) -> bytes:
    """Return the comment at the top of the maps: their origin, premises and declared differences."""
    path = plan.subject.path.replace("\n", " ")
    origin = path if path != "-" else "standard input"
    lines = [f"# {_moved(plan)} of {origin} as maps, {MADE_BY.decode()}.\n", _INCLUDE.format(oldest=OLDEST)]
    lines += [_KEYS] if plan.moved else []
    lines += [_TREES] if plan.maps.compiled else []
    lines += [f"# Premise {premise}.\n" for premise in premises.of(plan)]
    lines += [f"# Declared difference: {Readings.sentences()[name]}.\n" for name in plan.changed]
    return encode("".join(lines))


def _replace(file: File, run: PlannedRun, text: bytes) -> Iterator[Edit]:
    """Yield the edits that insert `text` and remove the rules it replaces."""
    data = file.source.data
    first = run.stands_before.start
    line = data.rfind(b"\n", 0, first) + 1
    before = data[line:first]
    starts_line = not before.strip(b" \t")
    indent = before if starts_line else b""
    inserted = b"\n".join(indent + line if line else line for line in text.split(b"\n"))
    if not starts_line:
        inserted = b"\n" + inserted
    if b"\r\n" in data[: data.find(b"\n") + 1]:
        inserted = inserted.replace(b"\n", b"\r\n")
    at = line if starts_line else first
    yield Edit(Span(at, at), inserted)
    for start, end in run.native.removed(data):
        yield Edit(Span(start, end), _comments(file.source, start, end))


def _comments(source: Source, start: int, end: int) -> bytes:
    """Return the comments between the words of removed rules, each on a line of its own."""
    if b"#" not in source.data[start:end]:
        return b""
    rules = statements(source, start=start, end=end)
    comments = [comment.span for rule in rules for comment in rule.comments]
    return b"".join(source.data[span.start : span.end] + b"\n" for span in comments)
