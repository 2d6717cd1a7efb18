"""Emits the text of a plan, and proves that it answers every request like the original configuration.

Each kind of list writes its maps and edits; `emit` adds headers and puts them together, without using the disk. Each
kind is proved by itself. What is right alone may exceed a limit together, so the finished configuration is read again,
too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import field
from itertools import chain

from nginxopt.config import File, reread
from nginxopt.errors import InputError
from nginxopt.records import record
from nginxopt.rewrite import mapfile, premises
from nginxopt.rewrite.compilation import Plan, replanned
from nginxopt.rewrite.evaluations import Evaluations, exceeded
from nginxopt.rewrite.kinds.kind import OLDEST, HttpPart, Kind, P, Proved, Readings, Refutation
from nginxopt.rewrite.kinds.maps.reading import MADE_BY
from nginxopt.rewrite.kinds.registry import KINDS, PROVED, RULES
from nginxopt.rewrite.mapfile import MapsPlace, Sizes, Standing, sizes_for, sizes_text, standing_sizes
from nginxopt.rewrite.premises import RewritePremise
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
        """The part of `maps` where `trees` were inserted, read again for the proof."""
        return self.maps[len(self.maps_of_rewrites + self.groups) :]

    @property
    def blocks(self) -> bytes:
        """The file of maps without `sizes`."""
        return self.maps if self.maps_path is not None else self.maps.removeprefix(sizes_text(self.sizes))

    @property
    def http(self) -> bytes:
        """The sizes and the maps, for an http block that has neither."""
        return self.maps if self.maps_path is None else sizes_text(self.sizes) + self.maps

    def texts_of(self, kind: str) -> dict[File, bytes]:
        """Return the texts in which only the lists of one kind change, of the files that have such a list."""
        changes = ((change, change.of.get(kind, ())) for change in self.changes)
        return {change.file: change.with_edits(*edits) for change, edits in changes if edits}

    def after(self, file: File) -> bytes:
        """Return the new text of `file`."""
        return next((change.after for change in self.changes if change.file is file), file.source.data)


def emit(plan: Plan) -> Emission:
    """Return the text of a plan, without using the disk. Linear in the size of the text.

    Raises `InputError` for sizes of hash tables that nginx refuses (`nginxopt.rewrite.mapfile.standing_sizes`).
    """
    standing = standing_sizes(plan.config)
    if not plan.changes:
        return Emission(plan, b"", None, ())
    parts = {kind.name: kind.http(plan.of(kind)) for kind in KINDS}
    place = _place(plan, parts.values(), standing)
    changes = tuple(_changes(plan, place))
    if not any(map(_has_maps, parts.values())):
        return Emission(plan, b"", None, changes)
    maps = (sizes_text(place.sizes) if place.path is None else b"") + _header(plan)
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


def _place(plan: Plan, parts: Collection[HttpPart], standing: Mapping[str, Standing]) -> MapsPlace:
    if not any(map(_has_maps, parts)):
        return MapsPlace(plan.maps_name, None, {})
    runs = [run for part in parts for run in part.runs]
    names = {name for part in parts for name in part.variables}
    tables = [keys for part in parts for keys in part.tables if keys]
    needed = sizes_for(runs, plan.config, names, standing, tables)
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


# Its proof


@record(eq=True)
class Proof:
    """The result of a proof.

    Attributes:
        refuted: The part of the proof that does not hold; None if every request is answered as before.
        of: What was proved of each kind of list, by its name.
        premises: The assumptions of the proof.
    """

    refuted: Refutation | None = None
    of: Mapping[str, Proved] = field(default_factory=dict)
    premises: tuple[RewritePremise, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether every request is answered as before."""
        return self.refuted is None

    @property
    def refutation(self) -> str | None:
        """A description of the part of the proof that does not hold."""
        return None if self.refuted is None else self.refuted.what

    @property
    def counterexample(self) -> bytes | None:
        """A URI on which the two texts differ, if one is known."""
        return None if self.refuted is None else self.refuted.counterexample

    @property
    def rules(self) -> Proved:
        """What was proved of the rules."""
        return self.of.get(RULES.name, Proved())

    @property
    def checked(self) -> int:
        """The number of URIs on which both texts were run."""
        return self.rules.strings + self.rules.any_case


def prove(emission: Emission) -> Proof:
    """Prove that an emission answers every request like the configuration of its plan. Linear in both texts."""
    of: dict[str, Proved] = {}
    for kind in PROVED:
        proved = kind.prove(emission)
        if isinstance(proved, Refutation):
            return Proof(proved)
        of[kind.name] = proved
    if (of_whole := _refutation_of_whole(emission)) is not None:
        return Proof(of_whole)
    assumed = premises.of(emission.plan)
    unstated = [premise.name for premise in assumed if str(premise).encode() not in emission.maps]
    if unstated and emission.maps:
        return Proof(Refutation(f"the maps do not state the premise {unstated[0]}"))
    return Proof(None, of, assumed)


def proved(plan: Plan) -> tuple[Emission, Proof]:
    """Return the emission of a plan and its proof.

    Lists whose new form cannot be proved stay, with the reason `unproved`, and so do rules whose groups cannot be
    proved. Lists of rewrites whose proof takes too much work stay with that reason.
    """
    while True:
        emission = emit(plan)
        proof = prove(emission)
        smaller = None if proof.refuted is None else _without(plan, proof.refuted)
        if smaller is None:
            return emission, proof
        plan = smaller


def _without(plan: Plan, refutation: Refutation) -> Plan | None:
    """Return a plan without the list that a refutation is about; None if no plan remains that may be proved."""
    return next((smaller for kind in PROVED if (smaller := _without_lists(plan, kind, refutation)) is not None), None)


def _without_lists(plan: Plan, kind: Kind[P], refutation: Refutation) -> Plan | None:
    def prove_with(lists: P) -> Proved | Refutation:
        return kind.prove(emit(replanned(plan, kind, lists)))

    lists = kind.fallback(plan.of(kind), refutation, prove_with)
    return None if lists is None else replanned(plan, kind, lists)


def _refutation_of_whole(emission: Emission) -> Refutation | None:
    """Return the refutation of a lookup that is right alone, but exceeds a limit in the finished configuration.

    The limits are those of `nginxopt.rewrite.evaluations`; both texts are read again. None if none is exceeded.
    """
    plan = emission.plan
    if not emission.maps:
        return None
    texts = {change.file.path: change.after for change in emission.changes}
    try:
        before = Evaluations.of(plan.config)
        after = Evaluations.of(reread(plan.config, texts), emission.blocks)
    except (InputError, ValueError) as error:
        return Refutation(f"the result cannot be read: {error}")
    changed = frozenset(name for name in after.definitions if not after.is_same(name, before))
    for limit in exceeded(before, after):
        for name in sorted(changed & limit.names):
            what = f"the evaluation of ${name} may exceed a limit [{limit.reason}]"
            return Refutation(what, of=plan.owner(name))
    return None
