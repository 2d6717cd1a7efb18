"""Decides which maps become trees of lookups and why the others stay, and writes the edits.

The edits remove regular expressions from a map and make its default the tree. Comments stay in place, even those next
to removed rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from nginxopt import _native
from nginxopt.config import Directive, File, layout
from nginxopt.errors import InputError
from nginxopt.faults import isolated
from nginxopt.records import record
from nginxopt.rewrite.kinds.kind import UNPROVED, Cost, ListsPlan, MapCost, PlanRequest, apart
from nginxopt.rewrite.kinds.maps.readers import CaptureReadings
from nginxopt.rewrite.kinds.maps.reading import RegexMap, groups, read, variables
from nginxopt.rewrite.kinds.maps.stability import Definitions, definitions, is_constant
from nginxopt.rewrite.mapfile import short_stem, unused_stem
from nginxopt.text import Edit, Source, Span, encode
from nginxopt.text.display import be, count

REASONS = {
    "unstable-source": "its source may have another value when it is evaluated again, or is not known",
    "named-captures": "a named group of one of its rows is read elsewhere, and new maps would set others",
    "shared-rows": "it is in a file, or includes one, that is included more than once",
    "missing-rows": "an included file is missing, with no row behind it or no default, or may be another elsewhere",
    "guarded": "its patterns are behind a guard already",
    "early-values": "the tree would also evaluate a row that comes second, and its variables may be kept",
    "evaluation-depth": "with others of the configuration, its tree would nest more evaluations than nginx does",
    "evaluation-count": "with its tree, one lookup would evaluate `volatile` maps too often",
    **dict(_native.map_reasons()),
    "internal-error": "nginxopt has a bug that this map shows: please report the error",
    "unproved": "its tree is not proved, which is a gap in nginxopt: please report this map",
}
"""The codes of the reasons why a map stays, each with its sentence."""

_KEEPING = frozenset(["captures-read", "named-captures"])
"""The reasons that do not apply to trees which set the same captures as their map."""

_OF_LENGTH = frozenset(["too-deep", "long-token", "too-many-rows", "hash-collision", "too-much-work"])
"""The reasons that may not apply to a part of the rows."""

_SHORT = 300
"""The number of first rows that are tried alone if all of a map are too many."""

_FEWEST = 16
"""The fewest first rows for which it is tried whether they can move without the rest."""

_MOST_KEPT_ROWS = 50_000
"""Maps with at most this number of rows keep their parsed patterns in memory for the proof: at most 300 MB."""


@record(eq=True)
class KeptMap:
    """A map that stays, the code of the reason, and the directive that is the cause, unless that is the map itself.

    `shorter` is a number of its first rows that would move without the others; 0 if none is known. `of_shorter` is the
    cost of their lookup.
    """

    map: RegexMap
    reason: str
    cause: Directive | None = None
    shorter: int = 0
    of_shorter: Cost | None = None

    @property
    def why(self) -> str:
        """The reason as a sentence, with the place of the cause."""
        sentence = REASONS[self.reason]
        if self.shorter:
            sentence += f"; its first {self.shorter:,} rows alone would move"
        return f"{sentence} ({self.cause.source.path}:{self.cause.line})" if self.cause else sentence

    @property
    def cost(self) -> Cost:
        """The patterns tried for a subject that none matches."""
        rows = len(self.map.patterns)
        return Cost(1, rows, rows) if self.map.is_guarded else Cost.of(rows)


@record(eq=True)
class PlannedMap:
    """A map that becomes a tree. The variables of the tree begin with `stem`.

    `keeps_captures`: whether the tree sets the same captures as the map.
    """

    map: RegexMap
    stem: str
    native: _native.CompiledMap
    keeps_captures: bool = False

    @property
    def before(self) -> Cost:
        """The patterns tried for a subject that none matches."""
        return Cost.total([Cost.of(len(self.map.held)), Cost(*self.native.before)])

    @property
    def after(self) -> Cost:
        """The same number for the tree."""
        return Cost.total([Cost.of(len(self.map.held)), Cost(*self.native.after)])


@record(eq=True)
class MapsPlan(ListsPlan[PlannedMap]):
    """The maps that become trees, and the maps with regular expressions that stay, both in the order of the text."""

    unit = "map"
    compiled: tuple[PlannedMap, ...] = ()
    kept: tuple[KeptMap, ...] = ()
    stem: str = ""
    found: tuple[RegexMap, ...] = ()

    @property
    def name_of_file(self) -> str:
        """The prefix of its variables if there are any."""
        return self.stem if self.compiled else ""

    @property
    def total(self) -> int:
        """The number of rows with regular expressions."""
        held = sum(len(compiled.map.held) for compiled in self.compiled)
        return self.moved + held + sum(len(kept.map.patterns) for kept in self.kept)

    @property
    def moved(self) -> int:
        """The number of these rows that move into a tree."""
        return sum(len(compiled.map.movable) for compiled in self.compiled)

    def reasons(self) -> Counter[str]:
        """Return the number of maps that stay, by reason."""
        return Counter(kept.reason for kept in self.kept)

    def without(self, compiled: PlannedMap, reason: str = UNPROVED) -> MapsPlan:
        """Return the plan in which a map stays."""
        others = tuple(each for each in self.compiled if each is not compiled)
        return replace(self, compiled=others, kept=(*self.kept, KeptMap(compiled.map, reason)))

    def sources(self) -> Iterator[str]:
        """Yield the values that the maps look up."""
        return (compiled.map.source for compiled in self.compiled)

    def owner(self, variable: str) -> PlannedMap | None:
        """Return the map that defines a variable, or whose tree does."""
        names = ((each, (each.map.variable[1:].lower(), *each.native.variables)) for each in self.compiled)
        return next((each for each, known in names if variable in known), None)

    def map_costs(self) -> Iterator[MapCost]:
        """Yield what the evaluation of each map costs."""
        yield from (_cost(each.map, each.before, each.after) for each in self.compiled)
        yield from (_cost(each.map, each.cost, each.cost) for each in self.kept)


def _cost(regex_map: RegexMap, before: Cost, after: Cost) -> MapCost:
    directive = regex_map.directive
    return MapCost(directive.source, directive.span, regex_map.variable, before, after)


def plan(asked: PlanRequest) -> MapsPlan:
    """Plan the maps in some files. Its work is bounded by n log n, times the effort, and is less for a remark.

    Raises `InputError` for a map that nginx refuses.
    """
    config, options = asked.config, asked.options
    found = list(read(config, asked.files))
    if not found:
        return MapsPlan()
    defined, captures = definitions(config), CaptureReadings(config)
    refused = {each.map: each for each in (_refused(regex_map, defined, captures) for regex_map in found) if each}
    kept = [each for each in refused.values() if each.reason not in _KEEPING]
    candidates = [each for each in found if each not in refused or refused[each].reason in _KEEPING]
    stem = unused_stem(options.name, dict.fromkeys(file for each in candidates for file in each.files), config, "maps")
    compiled: list[PlannedMap] = []
    rows = 0
    for number, regex_map in enumerate(candidates, 1):
        reader = refused.get(regex_map)
        rows += len(regex_map.movable)
        result: PlannedMap | KeptMap = KeptMap(regex_map, "internal-error")
        directive = regex_map.directive
        with isolated(f"planning the map {regex_map.variable}", source=directive.source, span=directive.name.span):
            result = _compile(
                regex_map,
                short_stem(f"{stem}_m{number}_"),
                keeps_captures=reader is not None,
                keeps_patterns=rows <= _MOST_KEPT_ROWS,
                effort=options.effort,
                for_remark=options.for_remark,
            )
        if isinstance(result, KeptMap):
            kept.append(reader or result)
        else:
            compiled.append(result)
    return MapsPlan(tuple(compiled), tuple(kept), stem, tuple(found))


def _always_answers(name: str) -> bool:
    """Return whether PCRE never gives up on the regular expression of a row."""
    pattern = encode(name)
    pattern = b"(?i)" + pattern[2:] if pattern.startswith(b"~*") else pattern[1:]
    facts = _native.pattern_facts(pattern)
    return facts is not None and facts[0]


def _refused(regex_map: RegexMap, defined: Definitions, captures: CaptureReadings) -> KeptMap | None:
    return next(_refusals(regex_map, defined, captures), None)


def _refusals(regex_map: RegexMap, defined: Definitions, captures: CaptureReadings) -> Iterator[KeptMap]:
    """Yield the reasons why a map must stay."""
    config = regex_map.config
    if regex_map.is_guarded:
        yield KeptMap(regex_map, "guarded")
    if regex_map.unread and (regex_map.default is None or not regex_map.movable):
        yield KeptMap(regex_map, "missing-rows", regex_map.unread[-1])
    for include in regex_map.unread:
        if config.included(include):
            yield KeptMap(regex_map, "missing-rows", include)
    for row in regex_map.held if regex_map.movable else ():
        if not _always_answers(row.name):
            yield KeptMap(regex_map, "unbounded-row", row)
    if any(config.times(file) > 1 for file in regex_map.files):
        yield KeptMap(regex_map, "shared-rows")
    if not defined.is_stable(regex_map.source):
        yield KeptMap(regex_map, "unstable-source")
    if (reader := captures.reader(regex_map.variable)) is not None:
        yield KeptMap(regex_map, "captures-read", reader)
    if (reader := captures.reader_of_groups(regex_map)) is not None:
        yield KeptMap(regex_map, "named-captures", reader)


def _compile(
    regex_map: RegexMap, stem: str, *, keeps_captures: bool, keeps_patterns: bool, effort: float, for_remark: bool
) -> PlannedMap | KeptMap:
    try:
        native = _native.compile_map(
            regex_map.text(),
            stem=stem,
            keeps_captures=keeps_captures,
            keeps_patterns=keeps_patterns,
            for_remark=for_remark,
            share=effort,
        )
    except ValueError as error:
        raise InputError(
            f"nginx refuses this map: {error}", source=regex_map.directive.source, span=regex_map.directive.name.span
        ) from None
    except _native.RefusedRow as refused:
        raise _refusal_of_row(regex_map, *refused.args) from None
    if isinstance(native, _native.CompiledMap):
        early = _early(regex_map) if f"{stem}pick" in native.variables else None
        if early is not None:
            return KeptMap(regex_map, "early-values", early)
        return PlannedMap(regex_map, stem, native, keeps_captures)
    cause = None if native.row is None else regex_map.movable[native.row]
    kept = KeptMap(regex_map, native.reason, cause)
    if native.reason not in _OF_LENGTH:
        return kept
    counts = _halves(len(regex_map.movable)) if native.reason == "too-much-work" and for_remark else (_SHORT,)
    for rows in (rows for rows in counts if rows < len(regex_map.movable)):
        shorter = _native.compile_map(
            regex_map.beginning(rows), stem=stem, keeps_captures=keeps_captures, for_remark=for_remark, share=effort
        )
        if isinstance(shorter, _native.CompiledMap):
            return replace(kept, shorter=rows, of_shorter=Cost(*shorter.after))
    return kept


def _halves(rows: int) -> Iterator[int]:
    """Yield half of a number of rows, a quarter and so on."""
    while (rows := rows // 2) >= _FEWEST:
        yield rows


def _refusal_of_row(regex_map: RegexMap, is_pattern: bool, place: int, message: str) -> InputError:
    """Return the error for a row with which nginx does not start."""
    if is_pattern:
        row = regex_map.movable[place]
        return row.error(f"PCRE2 does not compile the pattern: {message}")
    row = regex_map.exact[place]
    return row.error(
        "this key is in the map already, perhaps in another case", nginx=row.located(f'{message} "{row.name}"')
    )


def _early(regex_map: RegexMap) -> Directive | None:
    """Return a row with a variable that must not be evaluated early: nginx caches its value, which may change later.

    A tree that numbers its rows may evaluate the values of two of them, although only the first one counts
    (`$..._pick`).
    """
    for row in regex_map.movable:
        names = {name for word in row.args if "$" in word for name in variables(word) if not name.isdigit()}
        if names and not all(is_constant(name) for name in names - groups(row.name)):
            return row
    return None


# Edits

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
