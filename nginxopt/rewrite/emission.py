"""A plan as text: the maps for the http block, and the files of the configuration with the rules gone.

The lines of the maps come from the native core; all that stands around them from `nginxopt/templates`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from nginxopt import _native
from nginxopt.config import File
from nginxopt.rewrite import mapfile, names, premises, program, sizes
from nginxopt.rewrite.names import Names
from nginxopt.rewrite.options import OLDEST, Options, Readings
from nginxopt.rewrite.planning import Part, Plan, Run
from nginxopt.rewrite.sizes import Sizes
from nginxopt.text import Edit, Span, apply, decode, encode
from nginxopt.text.templates import template as _template


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of one file; `adds` are the words of a statement that is new in its http block."""

    file: File
    edits: tuple[Edit, ...]
    after: bytes = field(repr=False)
    adds: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Compiled:
    """A run that changes, and the statements that take the place of its rules that are gone."""

    part: Part
    run: Run
    text: bytes


@dataclass(frozen=True, slots=True)
class Emission:
    """The text of a plan.

    Attributes:
        maps: The file of maps; empty if no rule moved. That of a fragment begins with `sizes`.
        maps_path: Where a whole configuration includes it from; None for a fragment, whose user does.
        changes: The files that change.
        compiled: The runs that change, in the order of the text.
        sizes: The sizes of nginx's hash tables that hold for the maps, by their directives, but for nginx's own. They
            are set once in a http block, before all maps: a whole configuration has them there.
    """

    plan: Plan
    maps: bytes = field(repr=False)
    maps_path: str | None
    changes: tuple[Change, ...]
    compiled: tuple[Compiled, ...] = ()
    sizes: Sizes = field(default_factory=dict)

    @property
    def http(self) -> bytes:
        """The maps with the sizes they need, for a http block that has neither."""
        return self.maps if self.maps_path is None else sizes.text(self.sizes) + self.maps

    def after(self, file: File) -> bytes:
        """Return the text of `file` afterwards."""
        return next((change.after for change in self.changes if change.file is file), file.source.data)


def emit(plan: Plan) -> Emission:
    """Write down a plan; nothing is written to disk. Linear in the text."""
    runs = [(part, run) for part in plan.parts for run in part.compiled]
    if not runs:
        return Emission(plan, b"", None, ())
    files = (part.file for part in plan.parts if part.compiled)
    stem = names.stem(plan.options.name, files, plan.config, _as_what(plan, runs))
    forms = [_form(f"{stem}_{number}" if len(runs) > 1 else stem, run) for number, (_, run) in enumerate(runs, 1)]
    place = _place(plan, stem, forms)
    texts: dict[File, list[Edit]] = {file: list(edits) for file, edits in place.edits.items()}
    compiled = []
    for (part, run), form in zip(runs, forms, strict=True):
        text = _run_text(part, run, form, place.name)
        texts.setdefault(part.file, []).extend(_replace(part.file, run, text))
        compiled.append(Compiled(part, run, encode(text)))
    changes = tuple(
        Change(file, tuple(edits), apply(file.source.data, edits), place.adds.get(file))
        for file, edits in texts.items()
    )
    maps = _maps_text(plan, [found for form in forms for found in form.maps])
    if place.path is None:
        maps = sizes.text(place.sizes) + maps
    return Emission(plan, maps, place.path, changes, tuple(compiled), place.sizes)


def _as_what(plan: Plan, runs: Sequence[tuple[Part, Run]]) -> str:
    """Return what makes maps differ beside the text of the rules; empty for what is usual."""
    asked, usual = plan.options, Options()
    if (asked.readings, asked.bound) == (usual.readings, usual.bound) and {run.level for _, run in runs} == {"server"}:
        return ""
    return f"{asked.readings} {asked.bound} {[run.level for _, run in runs]}"


@dataclass(frozen=True, slots=True)
class _Form:
    """A run for the templates: its names, tiers and maps."""

    names: Names
    tiers: list[dict[str, Any]]
    maps: list[dict[str, Any]]

    @property
    def of_lines(self) -> bool:
        """Whether the newline that ends a URI is taken off it."""
        return any(tier["lines"] for tier in self.tiers)

    @property
    def variables(self) -> set[bytes]:
        """The names of all variables that the run has."""
        own = {self.names.hit, self.names.line, self.names.text, self.names.rest}
        return {name.encode() for name in own | {str(found["name"]) for found in self.maps}}


def _form(stem: str, run: Run) -> _Form:
    named = Names(stem)
    tiers = [_tier(named, index, tier) for index, tier in enumerate(run.native.tiers(), 1)]
    maps = [_text_map(named)] if any(tier["lines"] for tier in tiers) else []
    return _Form(named, tiers, maps + [found for tier in tiers for found in tier["maps"]])


def _place(plan: Plan, stem: str, forms: Sequence[_Form]) -> mapfile.Place:
    now = sizes.standing(plan.config)
    variables = {name for form in forms for name in form.variables}
    runs = [run.native for part in plan.parts for run in part.compiled]
    return mapfile.place(plan.config, stem, sizes.needed(runs, plan.config, variables, now), now)


_SAYS = {
    "key": "Each key as it is spelled.",
    "class": "Which of the directives in the server fires.",
    "to": "Where to, after the constant part in the directive.",
    "listed_to": "Where to, after the constant part in the directive, whose pattern lists the keys.",
    "args": "The arguments of the rule's own.",
}


def _text_map(names: Names) -> dict[str, Any]:
    """Return the map that takes a final newline off the URI, for the templates."""
    return {
        "source": "uri",
        "name": names.text,
        "says": "The URI before its final newline; only asked of a URI that ends in one.",
        "default": None,
        "lines": f'    "~(?s)^(?<{names.rest}>.*)\\n\\z" ${names.rest};\n'.encode(),
    }


def _tier(names: Names, index: int, tier: _native.Tier) -> dict[str, Any]:
    """Return a tier for the templates: the names and lines of its maps, and its directives."""
    lines = {"key": tier["key"], "class": tier["class"], _to(tier): tier["to"], "args": tier["args"]}
    present = {kind: text for kind, text in lines.items() if text is not None}
    source = names.line if tier["lines"] else "uri"
    maps = [
        {
            "source": source,
            "name": names(kind, index),
            "says": _SAYS[kind],
            "default": tier["default"] + 1 if kind == "class" else None,
            "lines": text,
        }
        for kind, text in present.items()
    ]
    blocks = [
        {"number": number, "rewrites": list(_rewrites(names(_to(tier), index), names("args", index), block))}
        for number, block in enumerate(tier["blocks"], 1)
    ]
    return {
        "maps": maps,
        "lines": tier["lines"],
        "source": source,
        "key": names("key", index) if "key" in present else None,
        "class": names("class", index) if "class" in present else None,
        "blocks": blocks,
    }


def _to(tier: _native.Tier) -> str:
    """Return the kind of the map of targets; that of listed keys tells what was emitted from what somebody wrote."""
    return "to" if tier["key"] is not None else "listed_to"


def _rewrites(to: str, args: str, block: _native.Block) -> Iterator[str]:
    """Yield the directives of a block: one, or one for each of its patterns."""
    target = decode(block["head"]) + (f"${to}" if block["has_rest"] else "")
    if block["own_args"]:
        target += "?" + (decode(block["args"]) if block["args"] is not None else f"${args}")
    if block["drop_args"]:
        target += "?"
    patterns = [f'"{decode(pattern)}"' for pattern in block["patterns"]] or ["^"]
    for pattern in patterns:
        yield f'rewrite {pattern} "{target}" {block["flag"]};'


def _run_text(part: Part, run: Run, form: _Form, maps: str) -> str:
    names, tiers, of_lines = form.names, form.tiers, form.of_lines
    guarded = any(tier["key"] for tier in tiers)
    return _template("run.conf.j2").render(
        moved=run.native.moved,
        rules=len(run.native),
        maps=maps,
        hit=names.hit if any(tier["class"] for tier in tiers) else None,
        line=names.line if of_lines else None,
        text=names.text,
        tiers=tiers,
        never=program.NEVER,
        clears=guarded and part.program.captures_matter and not run.native.stays_first and not of_lines,
    )


def _maps_text(plan: Plan, maps: list[dict[str, Any]]) -> bytes:
    sentences = Readings.sentences()
    path = plan.subject.path.replace("\n", " ")
    text = _template("maps.conf.j2").render(
        moved=plan.moved,
        origin=path if path != "-" else "standard input",
        oldest=OLDEST,
        differences=[sentences[name] for name in plan.changed],
        premises=premises.of(plan),
        maps=[{**found, "lines": f"{_HOLE}{number}{_HOLE}"} for number, found in enumerate(maps)],
    )
    return _filled(text, [found["lines"] for found in maps])


_HOLE = "\0"
"""Stands before and after the number of a text that is put in later; no configuration has it."""


def _filled(text: str, lines: Sequence[bytes]) -> bytes:
    """Put `lines`, which may be hundreds of megabytes and are bytes already, into the holes of a rendered template."""
    pieces = text.split(_HOLE)
    return b"".join(lines[int(piece)] if number % 2 else encode(piece) for number, piece in enumerate(pieces))


def _replace(file: File, run: Run, text: str) -> Iterator[Edit]:
    """Yield the edits that put `text` where it has to stand, and take out what it replaces."""
    data = file.source.data
    first = run.stands_before.start
    line = data.rfind(b"\n", 0, first) + 1
    before = data[line:first]
    starts_line = not before.strip(b" \t")
    indent = decode(before) if starts_line else ""
    # Keys may hold any other byte that Python takes for the end of a line.
    written = "\n".join(f"{indent}{line}" if line else line for line in text.split("\n"))
    if not starts_line:
        written = "\n" + written
    if b"\r\n" in data[: data.find(b"\n") + 1]:
        written = written.replace("\n", "\r\n")
    at = line if starts_line else first
    yield Edit(Span(at, at), encode(written))
    for start, end in run.native.removed(data):
        yield Edit(Span(start, end), b"")
