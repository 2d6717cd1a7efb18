"""A plan as text: the maps for the http block, and the files of the configuration with the rules gone.

The lines of the maps come from the native core; all that stands around them from `nginxopt/templates`.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from nginxopt import _native
from nginxopt.config import Config, File
from nginxopt.edit import Edit, apply
from nginxopt.rewrite import mapfile, premises, program
from nginxopt.rewrite.options import OLDEST, Readings
from nginxopt.rewrite.planning import Part, Plan, Run
from nginxopt.source import Span, decode, encode

if TYPE_CHECKING:
    from jinja2 import Template


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
        maps: The http part; empty if no rule moved.
        maps_path: Where a whole configuration includes it from; None for a fragment, whose user does.
        changes: The files that change.
        compiled: The runs that change, in the order of the text.
    """

    plan: Plan
    maps: bytes = field(repr=False)
    maps_path: str | None
    changes: tuple[Change, ...]
    compiled: tuple[Compiled, ...] = ()

    def after(self, file: File) -> bytes:
        """Return the text of `file` afterwards."""
        return next((change.after for change in self.changes if change.file is file), file.source.data)


def emit(plan: Plan) -> Emission:
    """Write down a plan; nothing is written to disk. Linear in the text."""
    runs = [(part, run) for part in plan.parts for run in part.compiled]
    if not runs:
        return Emission(plan, b"", None, ())
    sizes = _native.map_sizes([run.native for _, run in runs])
    if sizes is None:
        raise AssertionError("no bucket holds the keys, though each fits a token")
    stem = _stem(plan)
    place = mapfile.place(plan.config, stem, sizes)
    texts: dict[File, list[Edit]] = {file: list(edits) for file, edits in place.edits.items()}
    maps: list[dict[str, Any]] = []
    compiled = []
    for number, (part, run) in enumerate(runs, 1):
        names = _Names(stem + (f"_{number}" if len(runs) > 1 else ""))
        tiers = [_tier(names, index, tier) for index, tier in enumerate(run.native.tiers(), 1)]
        if any(tier["lines"] for tier in tiers):
            maps.append(_text_map(names))
        maps += [found for tier in tiers for found in tier["maps"]]
        text = _run_text(part, run, names, tiers, place.name)
        texts.setdefault(part.file, []).extend(_replace(part.file, run, text))
        compiled.append(Compiled(part, run, encode(text)))
    changes = tuple(
        Change(file, tuple(edits), apply(file.source.data, edits), place.adds.get(file))
        for file, edits in texts.items()
    )
    return Emission(plan, _maps_text(plan, maps, place), place.path, changes, tuple(compiled))


class _Names:
    """The variables of a run."""

    def __init__(self, stem: str) -> None:
        self.stem = stem
        self.hit = f"{stem}_hit"
        self.line = f"{stem}_line"
        self.text = f"{stem}_text"
        self.rest = f"{stem}_rest"

    def __call__(self, kind: str, tier: int) -> str:
        return f"{self.stem}_{kind}" + (f"_{tier}" if tier > 1 else "")


def _stem(plan: Plan) -> str:
    """Return the start of all names: as asked for, or one that other rules will not get.

    nginx accepts one variable of two maps in silence, and a fragment cannot know what is defined elsewhere.
    """
    if plan.options.name is not None:
        stem = plan.options.name
    else:
        checksum = 0
        for part in plan.parts:
            if part.compiled:
                checksum = zlib.crc32(part.file.source.data, checksum)
        stem = f"nxo_{checksum & 0xFFFFFF:06x}"
    return _unused(stem, plan.config)


def _unused(stem: str, config: Config) -> str:
    """Return `stem`, with a number if names of the configuration start like it."""
    taken = re.compile(rb"\$\{?" + stem.encode() + rb"([0-9]*)_", re.IGNORECASE)
    numbers = {int(match[1] or b"1") for file in config.files for match in taken.finditer(file.source.data)}
    return stem if not numbers else f"{stem}{max(numbers) + 1}"


_SAYS = {
    "key": "Each key as it is spelled.",
    "class": "Which of the directives in the server fires.",
    "to": "Where to, after the constant part in the directive.",
    "listed_to": "Where to, after the constant part in the directive, whose pattern lists the keys.",
    "args": "The arguments of the rule's own.",
}


def _text_map(names: _Names) -> dict[str, Any]:
    """Return the map that takes a final newline off the URI, for the templates."""
    return {
        "source": "uri",
        "name": names.text,
        "says": "The URI before its final newline; only asked of a URI that ends in one.",
        "default": None,
        "lines": f'    "~(?s)^(?<{names.rest}>.*)\\n\\z" ${names.rest};\n'.encode(),
    }


def _tier(names: _Names, index: int, tier: _native.Tier) -> dict[str, Any]:
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


def _run_text(part: Part, run: Run, names: _Names, tiers: list[dict[str, Any]], maps: str) -> str:
    of_lines = any(tier["lines"] for tier in tiers)
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


def _maps_text(plan: Plan, maps: list[dict[str, Any]], place: mapfile.Place) -> bytes:
    sentences = Readings.sentences()
    text = _template("maps.conf.j2").render(
        moved=plan.moved,
        origin=plan.config.main.path if plan.config.main.path != "-" else "standard input",
        oldest=OLDEST,
        differences=[sentences[name] for name in plan.changed],
        premises=premises.of(plan),
        max=place.max_size,
        bucket=place.bucket_size,
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
    written = "".join(f"{indent}{line}" if line.strip() else line for line in text.splitlines(keepends=True))
    if not starts_line:
        written = "\n" + written
    if b"\r\n" in data[: data.find(b"\n") + 1]:
        written = written.replace("\n", "\r\n")
    at = line if starts_line else first
    yield Edit(Span(at, at), encode(written))
    for start, end in run.native.removed(data):
        yield Edit(Span(start, end), b"")


@cache
def _template(name: str) -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("nginxopt"),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
        autoescape=False,
    )
    return environment.get_template(name)
