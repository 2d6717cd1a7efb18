"""What `rewrite-to-map` gives out: the text, a diff, a folder or the changed files; the summary and the JSON report.

Before anything is written, the whole new configuration is parsed, and tested with `nginx -t` if that is asked for. The
schema of the report is `schemas/rewrite-report.json`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nginxopt import __version__
from nginxopt.config import Config, File, filesystem, load, reread
from nginxopt.config.filesystem import STDIN
from nginxopt.errors import DefectError, InputError, UsageError
from nginxopt.rewrite import mapfile, premises
from nginxopt.rewrite.compilation import LITERAL_READINGS, Plan
from nginxopt.rewrite.kinds.kind import Cost, Proved, Readings
from nginxopt.rewrite.kinds.maps import reading
from nginxopt.rewrite.kinds.registry import KINDS, PROVED
from nginxopt.rewrite.mapfile import FRAGMENT_NAME, Sizes, merged_sizes, sizes_text
from nginxopt.rewrite.proving import Emission, Proof
from nginxopt.semantics import cost
from nginxopt.system.files import change, folder, is_among, outside, write_all
from nginxopt.text import Edit, Span, decode, diff, encode
from nginxopt.text.display import count, percent_encode

if TYPE_CHECKING:
    from nginxopt.rewrite.comparison import Differential
    from nginxopt.system.nginx import Binary

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
    """Raise `UsageError` if an output file is an input file: no copy of its old text would be kept."""
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


# The summary

_BROKEN = "the plan does not come true, which is an error of nginxopt; please report this"
_FEW = 3
"""The number of examples per line."""
_PAYS_FROM = 5
"""The number of rules from which a map costs less: a lookup and a guard cost as much as two to five patterns."""


def summary(planned: Plan, proof: Proof | None, *, moved_by_literals: int = 0, verbose: bool = False) -> Iterator[str]:
    """Yield the lines of the summary; with `verbose`, one for each rule that stays or never fires.

    `moved_by_literals` is the result of `compilation.moved_by_literals`.
    """
    yield _lists_heading(planned)
    yield from _cost(planned)
    for kind in KINDS:
        yield from kind.result(planned)
    for broken in planned.broken:
        yield f"  error: {_BROKEN}: {broken}"
    for kind in KINDS:
        yield from kind.lines(planned, verbose=verbose)
    yield from _rows_alone(planned)
    yield from _missing(planned, verbose)
    proved = {} if proof is None else proof.of
    for kind in PROVED:
        yield from kind.proof_lines(planned, proved.get(kind.name, Proved()))
    for premise in premises.of(planned):
        yield f"  premise  {premise}"
    yield from _hit(planned)
    yield from _hints(planned, moved_by_literals)


def _missing(planned: Plan, verbose: bool) -> Iterator[str]:
    missing = planned.config.missing
    if missing:
        yield f"  missing     {len(missing):>9,}  no rule moves across a missing file, as it may hold anything"
    for include in missing if verbose else missing[:_FEW]:
        yield f"    {include.source.path}:{include.line} includes {include.args[0]}"
    if not verbose and len(missing) > _FEW:
        yield f"    ... and {len(missing) - _FEW:,} more (-v lists them)"


def _lists_heading(planned: Plan) -> str:
    found = [kind.heading(lists) for kind in KINDS if (lists := planned.of(kind)).total]
    saved = cost.saved(*(each.far for each in planned.cost))
    saves = f"; a request that matches none saves {cost.time(saved)}" if saved >= cost.PER_MICROSECOND else ""
    return f"{planned.subject.path}: {', '.join(found or [KINDS[0].heading(planned.of(KINDS[0]))])}{saves}"


def _cost(planned: Plan) -> Iterator[str]:
    """Yield the number of patterns tried before and after."""
    before, after = planned.cost
    if not before.worst:
        return
    now = "" if before == after else f"; now {after.shown()}"
    yield f"  tried       {before.worst:>9,}  patterns for a request that none of them matches{now}"


def _rows_alone(planned: Plan) -> Iterator[str]:
    """Yield what to do with the rows of a file whose map is not known."""
    scope = planned.config.scope
    rows = 0 if scope.context else sum(row.name.startswith("~") for row in scope.directives)
    if rows:
        named = "row" if rows == 1 else "rows"
        yield f"  regexes     {rows:>9,}  {named} of a map: each lookup without a match tries all of them"
        yield "  hint: name the map that includes them: --context 'map $uri $new', or its nginx.conf with -c"


def _hit(planned: Plan) -> Iterator[str]:
    before, after = planned.cost
    if planned.rules.moved and after.worst < before.worst:
        yield "  a hit on the first rule gets slightly slower, every other request faster"


def _hints(planned: Plan, moved_by_literals: int) -> Iterator[str]:
    small = sum(1 for run in planned.rules.compiled if run.has_maps and len(run.native) < _PAYS_FROM)
    if small:
        yield f"  hint: {count(small, 'run')} of fewer than {_PAYS_FROM} rules, which cost less than a map"
    if moved_by_literals:
        declared = planned.options.readings
        flags = [Readings.flag(name) for name in LITERAL_READINGS.values() if not getattr(declared, name)]
        yield (
            f"  hint: {moved_by_literals:,} more would move with {' '.join(sorted(flags))}, which declare differences"
        )


# The JSON report

VERSION = 2
"""The version of the format, incremented by incompatible changes."""


def report(plan: Plan, proof: Proof | None, differentials: list[Differential] | None = None) -> dict[str, Any]:
    """Return the report of a compilation; `proof` is None with --plan-only.

    URIs are percent-encoded as in a request, and lines count from 1.
    """
    return {
        "version": VERSION,
        "nginxopt": __version__,
        "file": plan.subject.path,
        **{entry: value for kind in KINDS for entry, value in kind.report(plan).items()},
        "declared_differences": _declared(plan),
        "premises": [{"name": premise.name, "sentence": premise.sentence} for premise in premises.of(plan)],
        "proof": None if proof is None else _proof(proof),
        "cost": Cost.report(*plan.cost),
        "nginx": None if differentials is None else _nginx(differentials),
    }


def _declared(plan: Plan) -> list[dict[str, Any]]:
    sentences = Readings.sentences()
    return [
        {"option": Readings.flag(name), "difference": sentences[name], "rules": rules}
        for name, rules in plan.rules.changed.items()
    ]


def _proof(proof: Proof) -> dict[str, Any]:
    counterexample = proof.counterexample
    return {
        "status": "proved" if proof.holds else "refuted",
        "checked": proof.checked,
        "rules": proof.rules.lists,
        "gone": proof.rules.gone,
        **{kind.counted: proof.of.get(kind.name, Proved()).lists for kind in KINDS},
        "refutation": proof.refutation,
        "counterexample": None if counterexample is None else percent_encode(counterexample).decode("ascii"),
    }


def _nginx(differentials: list[Differential]) -> dict[str, Any]:
    mismatches = [str(mismatch) for differential in differentials for mismatch in differential.mismatches]
    return {
        "requests": sum(differential.requests for differential in differentials),
        "mismatches": sum(differential.mismatched for differential in differentials),
        "skipped": sum(differential.skipped for differential in differentials),
        "unstable": sum(differential.unstable for differential in differentials),
        "seconds": round(sum(differential.seconds for differential in differentials), 3),
        "first_mismatches": mismatches[:10],
        "whole_omitted": next((differential.omitted for differential in differentials if differential.omitted), None),
    }
