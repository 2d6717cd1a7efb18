"""The text of a plan, and where it goes: the terminal, a diff, a folder, or the files themselves.

Each kind of list writes its maps and edits; `emit` adds headers and puts them together, without using the disk. Before
anything is written, the whole new configuration is parsed, and tested with `nginx -t` if that is asked for.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from nginxopt.config import Config, File, filesystem, load, reread
from nginxopt.config.filesystem import STDIN
from nginxopt.errors import DefectError, InputError, UsageError
from nginxopt.records import record
from nginxopt.rewrite import mapfile, premises
from nginxopt.rewrite.compilation import Plan
from nginxopt.rewrite.kinds.kind import HttpPart
from nginxopt.rewrite.kinds.maps import reading
from nginxopt.rewrite.kinds.maps.reading import MADE_BY
from nginxopt.rewrite.kinds.registry import KINDS, RULES
from nginxopt.rewrite.mapfile import (
    FRAGMENT_NAME,
    MapsPlace,
    Sizes,
    Standing,
    merged_sizes,
    sizes_for,
    sizes_text,
    standing_sizes,
)
from nginxopt.rewrite.options import OLDEST, Readings
from nginxopt.system.files import folder, is_among, write_all
from nginxopt.system.inplace import change, outside
from nginxopt.text import Edit, Span, apply, decode, diff, encode
from nginxopt.text.display import count

if TYPE_CHECKING:
    from nginxopt.system.nginx import Binary


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


# Where it goes

SERVER_NAME = "server.conf"
"""The name of the remaining fragment in an output folder."""
MAPS_NAME = "maps.conf"
"""Its name if it comes from standard input and belongs in the http block."""
SIZES_NAME = "hash.conf"
"""The name of the hash table sizes in an output folder, if the defaults are too small."""


def printed(emission: Emission) -> Iterator[bytes]:
    """Yield the maps and the files that change, each under a heading in a comment."""
    main = emission.plan.config.main
    if not emission.changes and emission.plan.config.http:
        yield _heading(f"{_name(main)}: nothing to change")
    elif emission.plan.config.http is None:
        hash_conf, maps = _http(emission)
        if hash_conf:
            yield _heading(f"{SIZES_NAME}: include it once in the http block, before any map")
            yield hash_conf
        yield _heading(f"{FRAGMENT_NAME}: include it in the http block")
        yield maps
        yield _heading(f"{_rest_name(emission)}: in place of {emission.plan.options.around or _name(main)}")
        yield emission.after(main)
    elif emission.maps_path is not None:
        yield _heading(f"{emission.maps_path}: new")
        yield emission.maps
    for changed in emission.changes:
        if emission.plan.config.http or changed.file is not main:
            yield _heading(f"{changed.file.path}: changed")
            yield changed.after


def diffs(emission: Emission) -> Iterator[bytes]:
    """Yield unified diffs of all changes, new files first."""
    for path, text in new(emission).items():
        if os.path.lexists(path):  # maps that nothing uses any more, or shared sizes
            old = Path(path).read_bytes()
            yield diff.unified(old, [Edit(Span(0, len(old)), text)], path)
        else:
            yield diff.added(text, path)
    for changed in emission.changes:
        yield diff.unified(changed.file.source.data, changed.edits, changed.file.path)


def into_folder(emission: Emission, path: str) -> list[str]:
    """Write `http.conf` and `server.conf` of a fragment, or all files of a configuration with the changes."""
    config = emission.plan.config
    texts = _folder_texts(emission, path)
    like = {_relative(config, file): file.path for file in _written(emission)} if config.http else {}
    root = folder(path, list(texts))
    source = emission.plan.subject.path
    model = _strictest(emission) if source != STDIN else ""
    models = {str(root / name): like.get(name, model) for name in texts} if model else {}
    write_all({str(root / name): text for name, text in texts.items()}, like=models)
    notes = [f"  wrote {', '.join(str(root / name) for name in texts)}" if len(texts) <= 4 else f"  wrote {root}"]
    if config.http is None and SIZES_NAME in texts:
        notes.append(f"  include {SIZES_NAME} once in the http block, before any map; raise sizes that are already set")
    return notes


def in_folder(emission: Emission, path: str) -> list[str]:
    """Return the paths of the files that `into_folder` writes."""
    return [str(Path(path, name)) for name in _folder_texts(emission, path)]


def _folder_texts(emission: Emission, path: str) -> dict[str, bytes]:
    """Return the files for an output folder, by their paths in it. Raises `UsageError` for those it must not write."""
    config = emission.plan.config
    if config.http:
        maps_path = emission.maps_path
        maps = {} if maps_path is None else {os.path.basename(maps_path): emission.maps}  # noqa: PTH119
        texts = _tree(emission) | maps
    else:
        texts = _fragment_texts(emission, path)
    _refuse_sources(config, [str(Path(path, name)) for name in texts])
    return texts


def _fragment_texts(emission: Emission, path: str) -> dict[str, bytes]:
    """Return the sizes, the maps and the rest of a fragment, by their names in the output folder `path`."""
    config = emission.plan.config
    _, maps = _http(emission)
    hash_conf = sizes_text(raised(emission.sizes, Path(path, SIZES_NAME)))
    rest = {_rest_name(emission): emission.after(config.main)} if len(config.files) == 1 else _tree(emission)
    texts = ({SIZES_NAME: hash_conf} if hash_conf else {}) | {FRAGMENT_NAME: maps}
    if texts.keys() & rest.keys():
        raise UsageError(f"{config.main.path} already includes a file named {FRAGMENT_NAME}, the name of the maps file")
    _refuse_used(Path(path, FRAGMENT_NAME), emission, rest)
    return texts | rest


def _refuse_sources(config: Config, paths: Iterable[str]) -> None:
    """Raise `UsageError` if an output file is an input file, of which no copy would be kept."""
    sources = [file.path for file in config.files]
    for path in paths:
        if is_among(path, sources):
            raise UsageError(f"-o would overwrite the input file {path}", hint="use --write to change files in place")


def _refuse_used(path: Path, emission: Emission, rest: Mapping[str, bytes]) -> None:
    """Raise `UsageError` if new maps would replace maps of an earlier run that the rest of the fragment still uses."""
    if not os.path.isfile(path):
        return
    lost = mapfile.used(path.read_bytes(), rest.values()) - mapfile.used(emission.maps, rest.values())
    if lost:
        name = decode(min(lost))
        user = _name(emission.plan.config.main)
        raise UsageError(f"{path} defines ${name}, which {user} still uses", hint="use another directory for -o")


def in_place(emission: Emission) -> list[str]:
    """Change the files. The maps are written first, so that no include ever lacks its file."""
    if not emission.changes:
        change([emission.plan.config], {})
        return ["  nothing to change"]
    added = new(emission)
    # The file that gets the include comes before those that use the maps.
    changes = sorted(emission.changes, key=lambda changed: changed.adds is None)
    texts = {**added, **{changed.file.path: changed.after for changed in changes}}
    like = dict.fromkeys(added, _strictest(emission))
    written = change([emission.plan.config], texts, like=like, keep_old=True)
    notes = [f"  wrote {file.path}" for file in written if not file.copy]
    notes += [f"  changed {file.path}; to undo: {file.undo}" for file in written if file.copy]
    if emission.maps_path is None and emission.maps:
        notes += to_include(emission)
    return notes


def _strictest(emission: Emission) -> str:
    """Return the changed file with the strictest permissions: the maps contain what its rules contained."""
    paths = [changed.file.path for changed in emission.changes] or [emission.plan.subject.path]
    return min(paths, key=lambda path: (Path(path).stat().st_mode & 0o777).bit_count())


def new(emission: Emission) -> dict[str, bytes]:
    """Return the files that a change in place adds to the configuration or fragment, or replaces unread."""
    if emission.maps_path is not None:
        return {emission.maps_path: emission.maps}
    if not emission.maps:
        return {}
    _, maps = _http(emission)
    shared = _shared_sizes(emission)
    return ({_sizes_path(emission): sizes_text(shared)} if shared else {}) | {_maps_path(emission): maps}


def to_include(emission: Emission) -> list[str]:
    """Return notes on what the user of a fragment must do."""
    maps, shared = Path(_maps_path(emission)).absolute(), _shared_sizes(emission)
    notes = []
    if shared:
        path = Path(_sizes_path(emission)).absolute()
        notes.append(f"  add to the http block, once and before any map: include {path};")
        notes.append("  if the http block already sets hash table sizes, raise them there instead")
    notes.append(f"  add to the http block: include {maps};")
    notes.append("  no other include may match this file, such as one with *: nginx would read the maps twice")
    return notes


def _shared_sizes(emission: Emission) -> Sizes:
    """Return the sizes for the file next to a fragment: those of other fragments in the folder are kept or raised."""
    return raised(emission.sizes, mapfile.sizes_path(emission.plan.config))


def raised(wanted: Sizes, path: Path) -> Sizes:
    """Return sizes, with those that a file of sizes sets already kept or raised; none if none are wanted."""
    if not wanted or not os.path.exists(path):
        return wanted
    return merged_sizes(wanted, load(str(path), context="http").main)


def _rest_name(emission: Emission) -> str:
    """Return the name of the rest of a fragment: unchanged, if it belongs in http."""
    config = emission.plan.config
    if config.candidates != (("http",),):
        return SERVER_NAME
    return MAPS_NAME if config.main.path == STDIN else Path(config.main.path).name


def _maps_path(emission: Emission) -> str:
    """Return the path of the maps of a fragment in place."""
    return str(Path(emission.plan.config.main.path).with_name(emission.plan.maps_name))


def _sizes_path(emission: Emission) -> str:
    return str(mapfile.sizes_path(emission.plan.config))


def _http(emission: Emission) -> tuple[bytes, bytes]:
    """Return the sizes and the maps of a fragment as separate texts."""
    if not emission.maps:
        return b"", encode(f"# No rewrite of {_name(emission.plan.config.main)} became a map.\n")
    return sizes_text(emission.sizes), emission.blocks


def _tree(emission: Emission) -> dict[str, bytes]:
    config = emission.plan.config
    return {_relative(config, file): emission.after(file) for file in _written(emission)}


def _written(emission: Emission) -> list[File]:
    """Return the files that belong in an output folder: those in the folder of the main file, and all that change.

    Others, such as `/etc/nginx/mime.types`, stay where they are: their includes, absolute paths, lead there from any
    folder. Raises `UsageError` for one that is included by a relative path, which would lead elsewhere.
    """
    config = emission.plan.config
    changed = {change.file for change in emission.changes}
    staying = {file for file in config.files if _is_outside(config, file) and file not in changed}
    for include in config.includes if staying else ():
        if not include.args[0].startswith("/"):
            for file in staying.intersection(config.included(include)):
                raise UsageError(
                    f"{file.path} is outside {_root(config)}, and {include.args[0]} would not lead there with -o",
                    hint="use --write or --diff",
                )
    return [file for file in config.files if file not in staying]


def _relative(config: Config, file: File) -> str:
    if _is_outside(config, file):
        raise UsageError(
            f"{file.path} changes and is outside {_root(config)}, so -o cannot write it",
            hint="use --write or --diff",
        )
    return os.path.relpath(os.path.abspath(file.path), _root(config))  # noqa: PTH100


def _is_outside(config: Config, file: File) -> bool:
    return Path(os.path.relpath(os.path.abspath(file.path), _root(config))).parts[0] == ".."  # noqa: PTH100


def _root(config: Config) -> str:
    return os.path.dirname(os.path.abspath(config.main.path))  # noqa: PTH100, PTH120


def _name(file: File) -> str:
    return "standard input" if file.path == "-" else file.path.replace("\n", " ")


def _heading(text: str) -> bytes:
    one_line = text.replace("\n", " ")  # names of files may have several
    return encode(f"# ======== {one_line} ========\n")


# Checks before anything is written


def refuse_outside(emission: Emission) -> None:
    """Raise `InputError` if a file outside of the named paths changes: the result would show its text, too."""
    paths = sorted({changed.file.path for changed in emission.changes if changed.file.source.outside})
    if paths:
        raise outside(*paths)


def read_back(emission: Emission, *, rows: bool = True) -> Config:
    """Parse the whole new configuration. Raises `DefectError` unless it includes the maps exactly once, in http.

    Without `rows`, the native core parses the blocks of the maps, which is faster, and the result lacks them.
    """
    texts = {change.file.path: change.after for change in emission.changes}
    path = emission.maps_path or ""
    try:
        maps = emission.maps if rows else reading.around(emission.maps)
        config = reread(emission.plan.config, {path: maps, **texts})
        contexts = config.contexts(path)
    except (InputError, KeyError, ValueError) as error:
        raise DefectError(f"the result cannot be read: {error}; nothing was written") from None
    if contexts != (("http",),):
        raise DefectError(f"the result does not include {path} exactly once in the http block; nothing was written")
    return config


def unchecked(emission: Emission, installed: str | None) -> Iterator[str]:
    """Yield reasons why the result cannot be fully checked here.

    `installed` is the folder where the configuration will be installed, if that is not its own folder.
    """
    config = emission.plan.config
    if installed is not None:
        yield f"not checked with nginx -t: includes refer to {installed}, which is another directory"
    folder = str(Path(config.prefix or ".").absolute())
    if filesystem.is_pattern(folder):
        yield f"nginx reads *, ? and [ in {folder} as wildcards, so it would not find the maps"


def tried(emission: Emission, config: Config, binary: Binary) -> Iterator[str]:
    """Yield new warnings of `nginx -t`. Raises `DefectError` if it refuses the result but not the original."""
    from nginxopt.system.nginx import trial  # which most runs do not need

    before = trial.test(emission.plan.config, binary)
    if not before.ok:
        yield f"not checked with nginx -t, which refuses the original configuration ({'; '.join(before.reasons)})"
        return
    changed = {change.file.path for change in emission.changes} | {emission.maps_path or ""}
    after = trial.test_changed(config, changed, binary)
    if after.is_worse_than(before):
        raise DefectError("nginx -t refuses the result; nothing was written", below=str(after).splitlines())
    yield from (f"nginx -t warning: {warning}" for warning in after.new_warnings(before))
