"""The plan of a compilation: what each kind of list compiles, why the rest stays, and what a request costs.

The cost of a request is the number of patterns that nginx tries for it if none of them matches. It depends on the *way*
of the request through the configuration: nginx runs the script of one server, tries the regex locations of each level
that the request enters, runs the script of the one location that it chooses (`ngx_http_core_find_location`), and
evaluates the maps that these name. It does not try rules of other servers and locations, nor those inside an `if`. A
regex location counts, whatever it contains. A location with `=` or `^~` skips the regex locations of its level. The
cost of a configuration is that of its most expensive way. If only a part of it is compiled, only the statements of that
part count.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import cast

from nginxopt import lazy
from nginxopt.config import Block, Bulk, Comment, Config, Context, Directive, File
from nginxopt.records import record
from nginxopt.rewrite import evaluations, mapfile
from nginxopt.rewrite.evaluations import reached
from nginxopt.rewrite.kinds.chains.planning import ChainsPlan
from nginxopt.rewrite.kinds.kind import (
    TOO_MUCH,
    AnyPlan,
    Cost,
    Kind,
    MapCost,
    Offsets,
    Options,
    P,
    PlanRequest,
    StatementCost,
)
from nginxopt.rewrite.kinds.locations.planning import LocationsPlan
from nginxopt.rewrite.kinds.locations.reading import regex_location
from nginxopt.rewrite.kinds.maps.planning import MapsPlan
from nginxopt.rewrite.kinds.registry import CHAINS, KINDS, LOCATIONS, MAPS, PROVED, RULES
from nginxopt.rewrite.kinds.rules import reading
from nginxopt.rewrite.kinds.rules.planning import RulesPlan
from nginxopt.semantics import BulkRegexMap, regex_maps
from nginxopt.text import Source, encode

LITERAL_READINGS = {"prefix": "literal_ends", "unescaped-dot": "literal_dots"}
"""The field of `Readings` that may move a rule, by the reason why the rule stays."""
_TRY_UP_TO = 20_000
"""The largest number of rules that are planned a second time, to count those that declared differences would move."""


@record(eq=True)
class Plan:
    """The plan for all lists of a configuration.

    Attributes:
        config: The configuration.
        options: The options.
        subject: The file to compile: the main file, or an included file if only its lists (and those of the files that
            it includes) are compiled.
        assumed: The context in which the plan assumes that a fragment is included.
        lists: The plan of each kind, by its name.
        maps_name: The name of the file of maps; empty if nothing moves.
    """

    config: Config
    options: Options
    subject: File
    assumed: Context | None = None
    lists: Mapping[str, AnyPlan] = field(default_factory=dict)
    maps_name: str = ""

    def of(self, kind: Kind[P]) -> P:
        """Return the plan for the lists of a kind."""
        return cast("P", self.lists[kind.name])

    @property
    def rules(self) -> RulesPlan:
        """The plan for rewrites."""
        return self.of(RULES)

    @property
    def maps(self) -> MapsPlan:
        """The plan for maps with regular expressions."""
        return self.of(MAPS)

    @property
    def chains(self) -> ChainsPlan:
        """The plan for chains of `if`s."""
        return self.of(CHAINS)

    @property
    def locations(self) -> LocationsPlan:
        """The plan for regex locations."""
        return self.of(LOCATIONS)

    @property
    def moving(self) -> int:
        """The number of rules, conditions, locations and map patterns that are no longer tried one by one."""
        return sum(plan.moving for plan in self.lists.values())

    @property
    def regex_maps(self) -> list[BulkRegexMap]:
        """The maps with many regular expressions that are in `subject` or have rows there."""
        sources = {file.source for file in below(self.config, self.subject)}
        maps = regex_maps(self.config)
        return [
            regex_map for regex_map in maps if any(row.source in sources for row in (regex_map.place, *regex_map.rows))
        ]

    @property
    def broken(self) -> list[str]:
        """What was planned but could not be proved, as sentences without a full stop. Each is a bug in nginxopt."""
        return [sentence for kind in PROVED for sentence in self.of(kind).broken()]

    @property
    def changing(self) -> set[str]:
        """The names of the kinds of which something moves."""
        return {name for name, plan in self.lists.items() if plan.compiled}

    @property
    def changes(self) -> bool:
        """Whether anything moves."""
        return bool(self.changing)

    @property
    def cost(self) -> tuple[Cost, Cost]:
        """The number of patterns tried before and after for a request that matches none, on the most expensive way."""
        plans = self.lists.values()
        statements = [cost for plan in plans for cost in plan.statement_costs()]
        maps = [cost for plan in plans for cost in plan.map_costs()]
        return cost_of_way(self.config, below(self.config, self.subject), statements, maps)

    @property
    def is_partial(self) -> bool:
        """Whether some lists, or the ends of some, were not planned because that would take too much work."""
        return any(plan.reasons()[TOO_MUCH] for plan in self.lists.values())

    def owner(self, variable: str) -> object | None:
        """Return the list whose lookup defines a variable."""
        owners = (plan.owner(variable) for plan in self.lists.values())
        return next((owner for owner in owners if owner is not None), None)

    def with_lists(self, kind: Kind[P], plan: P) -> Plan:
        """Return the plan with another plan of a kind."""
        return replace(self, lists={**self.lists, kind.name: plan})

    def asked(self) -> PlanRequest:
        """Return what each kind is asked to plan."""
        return PlanRequest(self.config, self.options, below(self.config, self.subject))


def plan(config: Config, options: Options | None = None, subject: File | None = None) -> Plan:
    """Plan the lists of `config`, or only those of `subject` and the files it includes; write nothing.

    Uses the disk only to find a free name for the file of maps. Linear in the rules, except for PCRE2 on strings that
    kept rules may match. Raises `InputError` for a rewrite that nginx rejects, or whose pattern PCRE2 does not compile.
    """
    options = options or Options()
    config, assumed = reading.placed(config)
    planned = Plan(config, options, subject or config.main, assumed)
    asked = planned.asked()
    lists: Mapping[str, AnyPlan] = {kind.name: kind.plan(asked, {}) for kind in KINDS if not kind.follows}
    return _named(_followed(within_limits(replace(planned, lists=lists))))


def within_limits(planned: Plan) -> Plan:
    """Return the plan in which the lists stay whose lookups would exceed a limit of nginx."""
    lookups = [lookup for kind in KINDS if kind.name in planned.lists for lookup in kind.lookups(planned.of(kind))]
    lists = dict(planned.lists)
    for lookup, reason in evaluations.too_much(planned.config, lookups).items():
        lists[lookup.kind] = lists[lookup.kind].without(lookup.of, reason)
    return replace(planned, lists=lists)


def replanned(planned: Plan, kind: Kind[P], smaller: P) -> Plan:
    """Return the plan after the proof of what a kind had planned failed.

    Without groups of rules, other locations may have to stay. The names of maps are those of the rules that move.
    """
    result = planned.with_lists(kind, smaller)
    if kind.name != RULES.name:
        return result
    return _named(_followed(result) if result.rules.asked.options != planned.rules.asked.options else result)


def _named(planned: Plan) -> Plan:
    """Add the name of the file of maps."""
    stem = next(filter(None, (plan.name_of_file for plan in planned.lists.values())), "")
    is_needed = planned.changes and stem
    name = mapfile.file_name(planned.config, stem, in_place=planned.options.in_place) if is_needed else ""
    return replace(planned, maps_name=name)


def _followed(planned: Plan) -> Plan:
    """Add the plans of the kinds that `follow`: their lists stay where another kind changes a statement in them."""
    others = {kind.name: planned.of(kind) for kind in KINDS if not kind.follows}
    changing: dict[File, list[int]] = {}
    for file, offset in (each for plan in others.values() for each in plan.changing()):
        changing.setdefault(file, []).append(offset)
    offsets: Offsets = {file: sorted(places) for file, places in changing.items()}
    asked = planned.asked()
    return replace(
        planned, lists={**others, **{each.name: each.plan(asked, offsets) for each in KINDS if each.follows}}
    )


def moved_by_literals(planned: Plan) -> int:
    """Return how many more rules would move with the readings of `LITERAL_READINGS`.

    Returns 0, without planning, if no rule or too many rules stay.
    """
    rules = planned.rules
    counts = rules.reasons()
    declared = planned.options.readings
    stay = sum(counts[reason] for reason in LITERAL_READINGS)
    if not stay or rules.total > _TRY_UP_TO or all(getattr(declared, name) for name in LITERAL_READINGS.values()):
        return 0
    readings = replace(declared, **dict.fromkeys(LITERAL_READINGS.values(), True))
    wider = RULES.plan(replace(rules.asked, options=replace(rules.asked.options, readings=readings)), {})
    return max(0, wider.moved - rules.moved)


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


# The cost of a request

_LEVELS = frozenset({"http", "server", "location"})
_REGEX_OPERATORS = frozenset({"~", "~*", "!~", "!~*"})
_VARIABLE = lazy.pattern(rb"\$\{?(\w+)")


Pair = tuple[Cost, Cost]
_NONE: Pair = (Cost.of(0), Cost.of(0))


def cost_of_way(
    config: Config, files: Collection[File], changes: Collection[StatementCost], maps: Collection[MapCost]
) -> Pair:
    """Return the patterns tried before and after on the most expensive way; each figure of `Cost` has its own maximum.

    `files` are those whose statements count. Linear in the text of the configuration.
    """
    walk = _Walk(config, {file.source for file in files}, _by_source(changes))
    ways = set(walk.ways(config.main.block, _Way(_NONE, frozenset())))
    reads = dict(_reads_of_maps(config))
    named = frozenset().union(*(way.names for way in ways), *reads.values())
    # Which requests evaluate a map that nothing names is unknown: what reads it was not read. Count it for each way.
    unnamed = reads.keys() - named
    costs: dict[frozenset[bytes], Pair] = {}
    for names in {way.names for way in ways}:
        evaluated = reached(names, reads) | unnamed
        costs[names] = _sum((each.before, each.after) for each in maps if _name(each.variable) in evaluated)
    return _most(_sum([way.tried, costs[way.names]]) for way in ways)


@record(eq=True)
class _Way:
    """One way of a request: the patterns tried on it, and the variables that it names outside maps."""

    tried: Pair
    names: frozenset[bytes]


@record(eq=True)
class _Walk:
    config: Config
    counted: Collection[Source]
    changes: Mapping[Source, list[StatementCost]]

    def ways(self, block: Block, way: _Way) -> Iterator[_Way]:
        """Yield the ways that end in a block or in a block inside it; `way` leads to the block."""
        nodes = list(self._nodes(block, ()))
        script = _sum([way.tried, *map(self._script, nodes)])
        with_regexes = _sum([script, *map(self._regex, nodes)])
        names = way.names | _names(nodes)
        yield _Way(with_regexes, names)
        for node in nodes:
            if isinstance(node, Directive) and node.block is not None and node.name in _LEVELS:
                is_final = node.name == "location" and " ".join(node.args).startswith(("=", "^~"))
                yield from self.ways(node.block, _Way(script if is_final else with_regexes, names))

    def _nodes(self, block: Block, within: tuple[File, ...]) -> Iterator[Directive | Bulk]:
        """Yield the statements of a block, with those of included files in place of includes."""
        for node in block.nodes:
            if isinstance(node, Comment):
                continue
            files = self.config.included(node) if isinstance(node, Directive) and node.name == "include" else ()
            for file in files:
                if file not in within:
                    yield from self._nodes(file.block, (*within, file))
            if not files:
                yield node

    def _script(self, node: Directive | Bulk) -> Pair:
        """Return the patterns of a statement of the rewrite module."""
        if node.name == "rewrite":
            return self._changed(node, len(node) if isinstance(node, Bulk) else 1, node.span.end)
        if node.name == "if" and isinstance(node, Directive):
            is_regex = not _REGEX_OPERATORS.isdisjoint(map(str, node.args))
            return self._changed(node, int(is_regex), node.span.start + 1)
        return _NONE

    def _regex(self, node: Directive | Bulk) -> Pair:
        """Return the pattern of a regex location."""
        return _NONE if regex_location(node) is None else self._changed(node, 1, node.span.start + 1)

    def _changed(self, node: Directive | Bulk, patterns: int, end: int) -> Pair:
        """Return a number of patterns of a statement, before and after the changes that begin in it, up to `end`."""
        if node.source not in self.counted:
            return _NONE
        changes = self.changes.get(node.source, [])
        first = bisect_left(changes, node.span.start, key=lambda change: change.span.start)
        last = bisect_left(changes, end, key=lambda change: change.span.start)
        after = Cost.of(patterns)
        for change in changes[first:last]:
            parts = zip(after, change.after, change.before, strict=True)
            after = Cost(*(now + new - old for now, new, old in parts))
        return Cost.of(patterns), after


def _names(nodes: Collection[Directive | Bulk]) -> frozenset[bytes]:
    """Return the variables that the statements of a level name, without those inside other levels and maps."""
    names: set[bytes] = set()
    for node in nodes:
        if node.name == "map":
            continue
        block = node.block if isinstance(node, Directive) and node.name in _LEVELS else None
        end = node.span.end if block is None else block.span.start
        names.update(map(bytes.lower, _VARIABLE.findall(node.source.data, node.span.start, end)))
    return frozenset(names)


def _reads_of_maps(config: Config) -> Iterator[tuple[bytes, set[bytes]]]:
    """Yield the variable of each map, and those that an evaluation without a match reads."""
    blocks = [file.block for file in config.files]
    for block in blocks:
        for node in block.unfolded():
            if node.name == "http" and node.block is not None:
                blocks.append(node.block)
            if node.name == "map" and node.block is not None and len(node.args) == 2:
                defaults = [row for row in node.block.unfolded() if row.name == "default"]
                words = [node.args[0], *(word for row in defaults for word in row.args)]
                yield _name(node.args[1]), {name.lower() for word in words for name in _VARIABLE.findall(encode(word))}


def _name(variable: str) -> bytes:
    return encode(variable).strip(b"${}").lower()


def _by_source(changes: Collection[StatementCost]) -> dict[Source, list[StatementCost]]:
    by_source: dict[Source, list[StatementCost]] = {}
    for change in sorted(changes, key=lambda change: change.span.start):
        by_source.setdefault(change.source, []).append(change)
    return by_source


def _sum(pairs: Iterable[Pair]) -> Pair:
    before, after = _NONE
    for more_before, more_after in pairs:
        if (more_before, more_after) != _NONE:
            before, after = Cost.total([before, more_before]), Cost.total([after, more_after])
    return before, after


def _most(pairs: Iterable[Pair]) -> Pair:
    befores, afters = zip(*pairs, strict=True)
    return Cost(*map(max, zip(*befores, strict=True))), Cost(*map(max, zip(*afters, strict=True)))
