"""Decides which rules a map can replace and why the others stay, and puts the maps and statements into place.

The native core plans the rules and writes the maps and statements (`rust/src/rewrite`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields, replace

from nginxopt import _native
from nginxopt.config import Config, File
from nginxopt.config.tree import statements
from nginxopt.errors import InputError
from nginxopt.faults import isolated
from nginxopt.records import record
from nginxopt.rewrite.kinds.kind import (
    UNPROVED,
    Cost,
    HttpPart,
    ListsPlan,
    Options,
    PlanRequest,
    Readings,
    StatementCost,
)
from nginxopt.rewrite.kinds.rules import reading
from nginxopt.rewrite.kinds.rules.reading import Phase, Rewrites, RulesPlace, Section
from nginxopt.rewrite.mapfile import RunNames, defined_variables, unused_stem
from nginxopt.rewrite.surroundings import Entering
from nginxopt.text import Edit, Source, Span, encode
from nginxopt.text.display import be, count

_SHAPE = "a pattern, a target, and at most one flag: last, break, redirect or permanent"


@record(eq=True)
class Kept:
    """A rule that stays, with the code of the reason (see `reasons`)."""

    file: File
    span: Span
    reason: str


@record(eq=True)
class Dead:
    """A rule that is never the first to match.

    `by` is the rule that matches `witness`, a URI of both; they are None for a pattern that matches nothing.
    `removed` is whether the result omits the rule; a kept rule is only reported.
    """

    file: File
    span: Span
    by: Span | None
    witness: bytes | None
    removed: bool = True


@record(eq=True)
class Duplicate:
    """A rule that repeats the rule at `of`."""

    file: File
    span: Span
    of: Span


@record(eq=True)
class PlannedRun:
    """A run of rules as the native planner divided it."""

    place: RulesPlace
    native: _native.CompiledRun

    @property
    def phase(self) -> Phase:
        """Whether the rules run in the phase of a server or of a location."""
        return self.place.phase

    @property
    def first(self) -> Span:
        """The span of its first rule."""
        return Span(*self.native.first())

    @property
    def stands_before(self) -> Span:
        """The span of the rule that the compiled form has to precede."""
        return Span(*self.native.stands_before())

    @property
    def declared(self) -> list[Edit]:
        """The edits that apply the declared readings to the original rules, so that checks ignore these differences."""
        return [Edit(Span(start, end), text) for start, end, text in self.native.declared]

    @property
    def is_compiled(self) -> bool:
        """Whether it has keys, groups or filters; otherwise it stays unchanged."""
        return self.has_maps or self.native.filtered > 0

    @property
    def has_maps(self) -> bool:
        """Whether maps answer keys or select groups of rules."""
        return self.native.keys > 0 or self.native.grouped > 0

    @property
    def cost(self) -> Cost:
        """The number of patterns that the run tries for a request that matches none of its rules.

        Patterns that list keys count. The test for a final newline costs almost nothing and does not count.
        """
        if not self.is_compiled:
            return Cost.of(len(self.native))
        return Cost.total([Cost.of(sum(self.alone.values()) + self.native.listing), Cost(*self.native.tried)])

    @property
    def kept(self) -> int:
        """The number of its rules that stay, alone or behind a filter."""
        return sum(count for _, count in self.native.reasons())

    @property
    def alone(self) -> Counter[str]:
        """The number of its rules that are tried one by one, by the reason why they stay."""
        return Counter(dict(self.native.alone()))


@record(eq=True)
class RulesOfFile:
    """The plan for the rewrites of one file."""

    rewrites: Rewrites
    runs: tuple[PlannedRun, ...]
    barriers: tuple[tuple[int, int, str], ...]

    @property
    def file(self) -> File:
        """The file."""
        return self.rewrites.file

    @property
    def compiled(self) -> tuple[PlannedRun, ...]:
        """The runs that change, in the order of the text."""
        return tuple(run for run in self.runs if run.is_compiled)

    @property
    def has_maps(self) -> bool:
        """Whether one of its runs has maps."""
        return any(run.has_maps for run in self.compiled)

    @property
    def inside_if(self) -> list[tuple[int, int, str]]:
        """The rules inside an `if`, with the reasons for which they stay."""
        guarded = self.rewrites.guarded
        spans = self.rewrites.inside_if
        return [(span.start, span.end, "guarded" if span in guarded else "inside-if") for span in spans]


@record(eq=True)
class RulesPlan(ListsPlan[PlannedRun]):
    """The plan for all rewrites of a configuration; counts are numbers of rules unless stated otherwise.

    Attributes:
        asked: What was planned.
        parts: The plan for the rewrites of each file.
        stem: The prefix of all variables for rewrites; empty if no map is needed.
        unproved: Why no rule is in a group, if the proof of the groups failed.
    """

    unit = "rewrite"
    asked: PlanRequest
    parts: tuple[RulesOfFile, ...] = ()
    stem: str = ""
    unproved: str | None = None

    @property
    def compiled(self) -> tuple[PlannedRun, ...]:
        """The runs that change, in the order of the text."""
        return tuple(run for part in self.parts for run in part.compiled)

    @property
    def name_of_file(self) -> str:
        """The prefix of its variables."""
        return self.stem

    @property
    def total(self) -> int:
        """The number of rewrites."""
        return sum(len(run.native) for run in self._runs()) + self._outside

    @property
    def moved(self) -> int:
        """The number of rules that a map replaces."""
        return sum(run.native.moved for run in self._runs()) + self.grouped

    @property
    def grouped(self) -> int:
        """The number of rules in groups, which a tree of maps selects."""
        return sum(run.native.grouped for run in self._runs())

    @property
    def filtered(self) -> int:
        """The number of rules that stay, but are tried only if a common pattern for several rules matches."""
        return sum(run.native.filtered for run in self._runs())

    @property
    def moving(self) -> int:
        """The number of rules that are no longer tried one by one."""
        return self.moved + self.filtered

    @property
    def keys(self) -> int:
        """The number of keys in the maps, including those that end in a newline."""
        return sum(run.native.keys for run in self._runs())

    @property
    def changed(self) -> dict[str, int]:
        """For each declared difference, the number of removed rules that it changes."""
        names = [reading.name for reading in fields(Readings)]
        totals = [sum(counts) for counts in zip(*(run.native.changed for run in self._runs()), strict=True)]
        declared = self.asked.options.readings
        return {
            name: total
            for name, total in zip(names, totals or [0] * len(names), strict=True)
            if getattr(declared, name)
        }

    def broken(self) -> list[str]:
        """Return what was planned and could not be proved, as sentences without a full stop."""
        if not self.unproved:
            return []
        return [f"rules would have been in groups, but the proof failed: {self.unproved}"]

    def changing(self) -> Iterator[tuple[File, int]]:
        """Yield the rules of runs that change, by their offsets."""
        for part in self.parts:
            for run in part.compiled:
                yield from ((part.file, start) for start, _ in run.native.spans())

    def statement_costs(self) -> Iterator[StatementCost]:
        """Yield what the runs cost that change."""
        for part in self.parts:
            for run in part.compiled:
                _, end = run.native.spans()[-1]
                span = Span(run.first.start, end)
                yield StatementCost(part.file.source, span, Cost.of(len(run.native)), run.cost)

    def reasons(self) -> Counter[str]:
        """Return the number of rules that stay, by reason code."""
        counts: Counter[str] = Counter()
        for part in self.parts:
            counts.update(reason for _, _, reason in part.barriers)
            counts.update(reason for _, _, reason in part.inside_if)
            counts["misplaced"] += len(part.rewrites.misplaced)
            for run in part.runs:
                counts.update(dict(run.native.reasons()))
        return +counts

    def kept(self) -> Iterator[Kept]:
        """Yield the rules that stay, file by file in text order."""
        for part in self.parts:
            stays = [*part.barriers]
            stays += part.inside_if
            stays += [(span.start, span.end, "misplaced") for span in part.rewrites.misplaced]
            for run in part.runs:
                stays += run.native.kept()
            for start, end, reason in sorted(stays):
                yield Kept(part.file, Span(start, end), reason)

    def moved_rules(self) -> Iterator[tuple[File, Span]]:
        """Yield the rules that a map answers or selects, run by run in text order: not those that stay or are dead."""
        for part in self.parts:
            for run in part.compiled:
                others = {span[:2] for span in (*run.native.kept(), *run.native.dead(), *run.native.duplicates())}
                yield from ((part.file, Span(*span)) for span in run.native.spans() if span not in others)

    def dead(self, *, among_kept: bool = True) -> Iterator[Dead]:
        """Yield the rules that never fire, run by run; kept rules only if `among_kept` (50 us per rule)."""
        for part in self.parts:
            for run in part.runs:
                for start, end, by, witness in run.native.dead():
                    yield Dead(part.file, Span(start, end), by and Span(*by), witness, run.is_compiled)
                for start, end, by, witness in run.native.dead_kept() if among_kept else ():
                    yield Dead(part.file, Span(start, end), by and Span(*by), witness, removed=False)

    def duplicates(self) -> Iterator[Duplicate]:
        """Yield the rules that repeat an earlier one, in text order."""
        for part in self.parts:
            for run in part.runs:
                for start, end, of in run.native.duplicates():
                    yield Duplicate(part.file, Span(start, end), Span(*of))

    def _runs(self) -> Iterator[PlannedRun]:
        return (run for part in self.parts for run in part.runs)

    @property
    def _outside(self) -> int:
        """The number of rewrites that belong to no run."""
        return sum(
            len(part.rewrites.inside_if) + len(part.rewrites.misplaced) + len(part.barriers) for part in self.parts
        )

    def without(self, compiled: PlannedRun, reason: str = UNPROVED) -> RulesPlan:
        """Return the plan in which a run stays as it is."""
        return self.without_runs([compiled], reason)

    def without_runs(self, runs: Collection[PlannedRun], reason: str) -> RulesPlan:
        """Return the plan in which some runs stay as they are."""
        parts = tuple(_without(part, runs, reason) for part in self.parts)
        return replace(self, parts=parts, stem=self.stem if any(part.has_maps for part in parts) else "")


def plan(asked: PlanRequest) -> RulesPlan:
    """Plan the rewrites of some files. Linear in the rules, except for PCRE2 on strings that kept rules may match.

    Raises `InputError` for a rewrite that nginx rejects, or whose pattern PCRE2 does not compile.
    """
    config, options = asked.config, asked.options
    found = (rewrites for rewrites in reading.read(config) if rewrites.file in asked.files)
    parts = tuple(_part(rewrites, options) for rewrites in found)
    has_maps = any(part.has_maps for part in parts)
    return RulesPlan(asked, parts, _stem(config, options, parts) if has_maps else "")


def without_groups(planned: RulesPlan) -> RulesPlan:
    """Return the plan without groups of rules."""
    return plan(replace(planned.asked, options=replace(planned.asked.options, groups=False)))


def _stem(config: Config, options: Options, parts: Sequence[RulesOfFile]) -> str:
    """Return the prefix of all variable names. Other options for the same rules give another prefix."""
    compiled = [part for part in parts if part.compiled]
    phases = [run.phase for part in compiled for run in part.compiled]
    usual = Options()
    is_usual = (options.readings, options.bound) == (usual.readings, usual.bound) and set(phases) == {"server"}
    as_what = "" if is_usual else f"{options.readings} {options.bound} {phases}"
    return unused_stem(options.name, (part.file for part in compiled), config, as_what)


def _without(part: RulesOfFile, runs: Collection[PlannedRun], reason: str) -> RulesOfFile:
    gone = [run for run in part.runs if run in runs]
    barriers = [(start, end, reason) for run in gone for start, end in run.native.spans()]
    stays = tuple(run for run in part.runs if run not in runs)
    return replace(part, runs=stays, barriers=tuple(sorted([*part.barriers, *barriers])))


def reasons() -> dict[str, str]:
    """Return the meaning of each reason code, as a sentence without a full stop."""
    return {
        **dict(_native.reasons()),
        "guarded": "the condition of its `if` keeps most requests from it already",
        "inside-if": "it is inside an `if`, which cannot contain another",
        "internal-error": "nginxopt has a bug that it shows: please report the error",
        "misplaced": "nginx does not allow rewrite in this context, or a block around it is not nginx's",
    }


def _part(rewrites: Rewrites, options: Options) -> RulesOfFile:
    runs: list[PlannedRun] = []
    barriers: list[tuple[int, int, str]] = []
    for place in rewrites.sections:
        with isolated("planning these rewrites", source=rewrites.file.source, span=rewrites.sections[place][0][0]):
            compilation = _compile(rewrites, place, options)
            runs += [PlannedRun(place, run) for run in compilation.runs]
            barriers += compilation.barriers
            continue
        barriers += [(span.start, span.end, "internal-error") for part in rewrites.sections[place] for span in part]
    if rewrites.inside_if:
        _native_runs(
            rewrites, RulesPlace("location", Entering.NOTHING), (rewrites.inside_if,), options
        )  # only raises its errors
    runs.sort(key=lambda run: run.first)
    return RulesOfFile(rewrites, tuple(runs), tuple(sorted(barriers)))


def _compile(rewrites: Rewrites, place: RulesPlace, options: Options) -> _native.Compilation:
    return _native_runs(rewrites, place, rewrites.sections[place], options)


def _native_runs(
    rewrites: Rewrites, place: RulesPlace, parts: Sequence[Section], options: Options
) -> _native.Compilation:
    """Compile sections. Raises `InputError` for a rule that nginx refuses."""
    source = rewrites.file.source
    try:
        return _native.compile_rewrites(
            source.data,
            [
                ([(span.start, span.end) for span in part], part in rewrites.behind_if, part in rewrites.last)
                for part in parts
            ],
            phase=place.phase,
            captures_matter=rewrites.captures_matter,
            reruns=rewrites.reruns,
            readings=options.readings,
            bound=options.bound,
            entering=place.entering if options.groups else Entering.NOTHING,
            for_remark=options.for_remark,
            share=options.effort,
        )
    except _native.PatternError as error:
        start, end, message = error.args
        raise InputError(
            f"PCRE2 does not compile the pattern: {message}", source=source, span=Span(start, end)
        ) from None
    except _native.RefusedError as error:
        raise refusal(error, source) from None


def refusal(error: _native.RefusedError, source: Source) -> InputError:
    """Return the error for a rewrite that nginx rejects."""
    start, end, says = error.args
    return InputError(
        "nginx refuses this rewrite",
        source=source,
        span=Span(start, end),
        expected=None if "variable" in says else _SHAPE,
        nginx=f"{says} in {source.path}:{source.position(end - 1).line}",
    )


# Text

KEYS_NOTE = """\
# The keys stand in the order of their rules. A map ignores the case of letters, and a rule does not: so one map gives
# each key back as it is spelled, and the server compares that with $uri. Where no key has a capital letter, the pattern
# of the rewrite leaves out other spellings instead. In a location, the patterns list the keys.
"""


@record(eq=True)
class EmittedRun:
    """A run that changes, the statements that replace its moved rules, and the names of their variables."""

    part: RulesOfFile
    run: PlannedRun
    text: bytes
    names: RunNames

    @property
    def maps(self) -> bytes:
        """The maps of this run alone, without their sizes."""
        if not self.run.has_maps:
            return b""
        return _native.maps_text(b"", [(self.run.native, self.names)]) + self.run.native.trees(self.names)


def emitted(plan: RulesPlan, maps_name: str) -> list[EmittedRun]:
    """Return the runs that change, in the order of the text; `maps_name` is that of the file of maps."""
    return [
        EmittedRun(part, run, _headed(run, maps_name) + run.native.statements(names), names)
        for part, run, names in _named(plan)
    ]


def maps(plan: RulesPlan, head: bytes) -> bytes:
    """Return a text with the maps of all keys behind it."""
    return _native.maps_text(head, [(run.native, names) for _, run, names in _named(plan)])


def http(plan: RulesPlan) -> HttpPart:
    """Return what is added to http: the trees that select the group of rules of a URI, and the tables of keys."""
    named = [(run, names) for _, run, names in _named(plan)]
    groups = b"".join(run.native.trees(names) for run, names in named)
    variables = {encode(name) for run, names in named for name in run.native.variables(names)}
    runs = [run.native for run, _ in named if run.has_maps]
    return HttpPart(groups, variables | defined_variables(groups), runs=runs)


def edits(plan: RulesPlan, maps_name: str) -> Mapping[File, list[Edit]]:
    """Return the edits that replace rules."""
    found: dict[File, list[Edit]] = {}
    for each in emitted(plan, maps_name):
        found.setdefault(each.part.file, []).extend(_replace(each.part.file, each.run, each.text))
    return found


def _named(plan: RulesPlan) -> list[tuple[RulesOfFile, PlannedRun, RunNames]]:
    """Return the runs that change, with the names of their variables."""
    runs = [(part, run) for part in plan.parts for run in part.compiled]
    stems = [f"{plan.stem}_{number}" for number in range(1, len(runs) + 1)] if len(runs) > 1 else [plan.stem]
    return [(part, run, RunNames(stem)) for (part, run), stem in zip(runs, stems, strict=False)]


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
