"""Decides which rules a map can replace, and why the others stay: runs the native planner on a configuration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import field, fields, replace

from nginxopt import _native
from nginxopt.config import Config, Context, File
from nginxopt.errors import InputError
from nginxopt.faults import isolated
from nginxopt.records import record
from nginxopt.rewrite import limits, mapfile, names, path, sections
from nginxopt.rewrite.kinds.chains import planning as chains
from nginxopt.rewrite.kinds.chains.planning import ChainsPlan
from nginxopt.rewrite.kinds.locations import planning as locations
from nginxopt.rewrite.kinds.locations.planning import LocationsPlan
from nginxopt.rewrite.kinds.locations.reading import read as read_locations
from nginxopt.rewrite.kinds.maps import planning as maps
from nginxopt.rewrite.kinds.maps.cost import Cost
from nginxopt.rewrite.kinds.maps.planning import MapsPlan
from nginxopt.rewrite.options import Options, Readings
from nginxopt.rewrite.sections import Phase, Place, Rewrites, Section
from nginxopt.rewrite.surroundings import Entering
from nginxopt.semantics import BulkRegexMap, regex_maps
from nginxopt.text import Edit, Source, Span
from nginxopt.text.plural import count

LITERAL_READINGS = {"prefix": "literal_ends", "unescaped-dot": "literal_dots"}
"""The field of `Readings` that may move a rule, by the reason why the rule stays."""
_TOO_MUCH = "too-much-work"
_TRY_UP_TO = 20_000
"""The largest number of rules that are planned a second time, to count those that declared differences would move."""
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

    place: Place
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
class Part:
    """The plan for one file."""

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


@record(eq=True)
class Plan:
    """The plan for all rewrites of a configuration; counts are numbers of rules unless stated otherwise.

    Attributes:
        config: The configuration.
        options: The options.
        parts: The plan for the rewrites of each file.
        subject: The file to compile: the main file, or an included file if only its rules (and those of the files that
            it includes) are compiled.
        assumed: The context in which the plan assumes that a fragment is included.
        stem: The prefix of all variables for rewrites; empty if nothing moves.
        maps_name: The name of the file of maps; empty if nothing moves.
        maps: The plan for maps with regular expressions.
        unproved: Why no rule is in a group, if the proof of the groups failed.
        chains: The plan for chains of `if`s.
        locations: The plan for regex locations."""

    config: Config
    options: Options
    parts: tuple[Part, ...]
    subject: File
    assumed: Context | None = None
    stem: str = ""
    maps_name: str = ""
    maps: MapsPlan = field(default_factory=MapsPlan)
    unproved: str | None = None
    chains: ChainsPlan = field(default_factory=ChainsPlan)
    locations: LocationsPlan = field(default_factory=LocationsPlan)

    @property
    def rules(self) -> int:
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
        """The number of rules, conditions, locations and map patterns that are no longer tried one by one."""
        return self.moved + self.filtered + self.maps.moved + self.chains.moved + self.locations.moved

    @property
    def keys(self) -> int:
        """The number of keys in the maps, including those that end in a newline."""
        return sum(run.native.keys for run in self._runs())

    @property
    def regex_maps(self) -> list[BulkRegexMap]:
        """The maps with many regular expressions that are in `subject` or have rows there."""
        sources = {file.source for file in below(self.config, self.subject)}
        maps = regex_maps(self.config)
        return [
            regex_map for regex_map in maps if any(row.source in sources for row in (regex_map.place, *regex_map.rows))
        ]

    @property
    def changed(self) -> dict[str, int]:
        """For each declared difference, the number of removed rules that it changes."""
        names = [reading.name for reading in fields(Readings)]
        totals = [sum(counts) for counts in zip(*(run.native.changed for run in self._runs()), strict=True)]
        declared = self.options.readings
        return {
            name: total
            for name, total in zip(names, totals or [0] * len(names), strict=True)
            if getattr(declared, name)
        }

    @property
    def broken(self) -> list[str]:
        """What was planned and could not be proved, as sentences without a full stop: errors of nginxopt."""
        kinds = {
            "map": sum(kept.reason == "unproved" for kept in self.maps.kept),
            "condition": self.chains.reasons()["unproved"],
            "regex location": self.locations.reasons()["unproved"],
        }
        broken = [
            f"{count(number, kind)} would have moved, but the proof failed" for kind, number in kinds.items() if number
        ]
        if self.unproved:
            broken.append(f"rules would have been in groups, but the proof failed: {self.unproved}")
        return broken

    @property
    def changes(self) -> bool:
        """Whether anything moves."""
        others = self.maps.compiled or self.chains.compiled or self.locations.compiled
        return bool(others) or any(part.compiled for part in self.parts)

    @property
    def cost(self) -> tuple[Cost, Cost]:
        """The number of patterns tried before and after for a request that matches none, on the way that costs most."""
        runs = [
            path.Change(part.file.source, run.first.start, Cost.of(len(run.native)), run.cost)
            for part in self.parts
            for run in part.compiled
        ]
        chains = [
            path.Change(each.chain.file.source, each.chain.conditions[0].directive.span.start, each.before, each.after)
            for each in self.chains.compiled
        ]
        locations = [
            path.Change(each.run.file.source, each.run.locations[0].directive.span.start, each.before, each.after)
            for each in self.locations.compiled
        ]
        maps = [path.MapCost(each.map.variable, each.before, each.after) for each in self.maps.compiled]
        maps += [path.MapCost(each.map.variable, each.cost, each.cost) for each in self.maps.kept]
        return path.along(self.config, below(self.config, self.subject), [*runs, *chains, *locations], maps)

    @property
    def is_partial(self) -> bool:
        """Whether lists were not planned, or only their beginnings, as all of them takes too much work."""
        reasons = {*self.reasons(), *self.chains.reasons(), *(kept.reason for kept in self.maps.kept)}
        return _TOO_MUCH in reasons

    def reasons(self) -> Counter[str]:
        """Return the number of rules that stay, by reason code."""
        counts: Counter[str] = Counter()
        for part in self.parts:
            counts.update(reason for _, _, reason in part.barriers)
            counts["inside-if"] += len(part.rewrites.inside_if)
            counts["misplaced"] += len(part.rewrites.misplaced)
            for run in part.runs:
                counts.update(dict(run.native.reasons()))
        return +counts

    def kept(self) -> Iterator[Kept]:
        """Yield the rules that stay, file by file in text order."""
        for part in self.parts:
            stays = [*part.barriers]
            stays += [(span.start, span.end, "inside-if") for span in part.rewrites.inside_if]
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


def plan(config: Config, options: Options | None = None, subject: File | None = None) -> Plan:
    """Plan the rewrites of `config`, or only those of `subject` and the files it includes; write nothing.

    Uses the disk only to find a free name for the file of maps. Linear in the rules, except for PCRE2 on strings that
    kept rules may match. Raises `InputError` for a rewrite that nginx rejects, or whose pattern PCRE2 does not compile.
    """
    options = options or Options()
    subject = subject or config.main
    planned = below(config, subject)
    config, assumed = sections.placed(config)
    parts = _parts(config, options, planned)
    planned_maps = maps.plan(config, options.name, planned, effort=options.effort, for_remark=options.for_remark)
    planned_chains = (
        chains.plan(config, options.name, planned, effort=options.effort, for_remark=options.for_remark)
        if options.groups
        else ChainsPlan()
    )
    planned_maps, planned_chains = limits.within(config, planned_maps, planned_chains)
    result = Plan(config, options, parts, subject, assumed, maps=planned_maps, chains=planned_chains)
    return _named(_with_locations(result) if options.groups else result)


def _named(planned: Plan) -> Plan:
    """Add the prefix of all variables, and the name of the file of maps."""
    has_maps = any(run.has_maps for part in planned.parts for run in part.compiled)
    stem = _stem(planned.config, planned.options, planned.parts) if has_maps else ""
    others = planned.maps.stem if planned.maps.compiled else planned.chains.stem
    name = ""
    if planned.changes and (stem or others):
        name = mapfile.name(planned.config, stem or others, in_place=planned.options.in_place)
    return replace(planned, stem=stem, maps_name=name)


def _with_locations(planned: Plan) -> Plan:
    """Add the plan for regex locations, except for runs in which something else changes."""
    files = below(planned.config, planned.subject)
    found = list(read_locations(planned.config, files))
    return replace(planned, locations=locations.plan(found, _changing(planned))) if found else planned


def _changing(planned: Plan) -> dict[File, list[int]]:
    """Return the offsets of rewrites and conditions that change, in ascending order, by file."""
    changing: dict[File, list[int]] = {}
    for part in planned.parts:
        for run in part.compiled:
            changing.setdefault(part.file, []).extend([start for start, _ in run.native.spans()])
    for compiled in planned.chains.compiled:
        places = (condition.directive.span.start for condition in compiled.chain.conditions)
        changing.setdefault(compiled.chain.file, []).extend(places)
    return {file: sorted(places) for file, places in changing.items()}


def _parts(config: Config, options: Options, planned: Collection[File]) -> tuple[Part, ...]:
    return tuple(_part(rewrites, options) for rewrites in sections.read(config) if rewrites.file in planned)


def _stem(config: Config, options: Options, parts: Sequence[Part]) -> str:
    """Return the prefix of all variable names. Other options for the same rules give another prefix."""
    compiled = [part for part in parts if part.compiled]
    phases = [run.phase for part in compiled for run in part.compiled]
    usual = Options()
    is_usual = (options.readings, options.bound) == (usual.readings, usual.bound) and set(phases) == {"server"}
    as_what = "" if is_usual else f"{options.readings} {options.bound} {phases}"
    return names.stem(options.name, (part.file for part in compiled), config, as_what)


def without_groups(planned: Plan, why: str | None) -> Plan:
    """Return the plan without groups, because they could not be proved; `why` is the reason."""
    without = plan(planned.config, replace(planned.options, groups=False), planned.subject)
    without = replace(without, maps=planned.maps, assumed=planned.assumed, unproved=why, chains=planned.chains)
    return _with_locations(without)


def without_runs(planned: Plan, runs: Collection[PlannedRun], reason: str) -> Plan:
    """Return the plan in which some runs stay as they are, for a reason."""
    return _named(replace(planned, parts=tuple(_without(part, runs, reason) for part in planned.parts)))


def _without(part: Part, runs: Collection[PlannedRun], reason: str) -> Part:
    gone = [run for run in part.runs if run in runs]
    barriers = [(start, end, reason) for run in gone for start, end in run.native.spans()]
    stays = tuple(run for run in part.runs if run not in runs)
    return replace(part, runs=stays, barriers=tuple(sorted([*part.barriers, *barriers])))


def moved_by_literals(planned: Plan) -> int:
    """Return how many more rules would move with the readings of `LITERAL_READINGS`.

    Returns 0, without planning, if no rule or too many rules stay.
    """
    counts = planned.reasons()
    declared = planned.options.readings
    stay = sum(counts[reason] for reason in LITERAL_READINGS)
    if not stay or planned.rules > _TRY_UP_TO or all(getattr(declared, name) for name in LITERAL_READINGS.values()):
        return 0
    readings = replace(declared, **dict.fromkeys(LITERAL_READINGS.values(), True))
    files = below(planned.config, planned.subject)
    wider = replace(planned, parts=_parts(planned.config, replace(planned.options, readings=readings), files))
    return max(0, wider.moved - planned.moved)


def below(config: Config, file: File) -> set[File]:
    """Return a file of a configuration and all files it includes, directly or not."""
    if file is config.main:
        return set(config.files)
    below = {file}
    grows = True
    while grows:
        sources = {member.source for member in below}
        includes = (include for include in config.includes if include.source in sources)
        included = {inner for include in includes for inner in config.included(include)}
        grows = not included <= below
        below |= included
    return below


def reasons() -> dict[str, str]:
    """Return the meaning of each reason code, as a sentence without a full stop."""
    return {
        **dict(_native.reasons()),
        "inside-if": "it is inside an `if`, which cannot contain another",
        "internal-error": "nginxopt has a bug that it shows: please report the error",
        "misplaced": "nginx does not allow rewrite in this context, or a block around it is not nginx's",
    }


def _part(rewrites: Rewrites, options: Options) -> Part:
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
            rewrites, Place("location", Entering.NOTHING), (rewrites.inside_if,), options
        )  # only raises its errors
    runs.sort(key=lambda run: run.first)
    return Part(rewrites, tuple(runs), tuple(sorted(barriers)))


def _compile(rewrites: Rewrites, place: Place, options: Options) -> _native.Compilation:
    return _native_runs(rewrites, place, rewrites.sections[place], options)


def _native_runs(rewrites: Rewrites, place: Place, parts: Sequence[Section], options: Options) -> _native.Compilation:
    """Compile sections. Raises `InputError` for a rule that nginx refuses."""
    source = rewrites.file.source
    try:
        return _native.compile_rewrites(
            source.data,
            [([(span.start, span.end) for span in part], part in rewrites.behind_if) for part in parts],
            phase=place.phase,
            captures_matter=rewrites.captures_matter,
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
