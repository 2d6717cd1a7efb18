"""The result of `nginxopt rewrite-to-map`, with its defaults, for each list of patterns in folders of configurations.

    python -m benchmarks.corpus_lists                        fixtures/corpus, or the folder that NGINXOPT_CORPUS names
    python -m benchmarks.corpus_lists FOLDER FOLDER          other folders
    python -m benchmarks.corpus_lists --generated 42000      with a map of so many rows (see `regex_rows`)
    python -m benchmarks.corpus_lists --json                 the rows for a machine

A list is five or more patterns that nginx tries one after the other: the rewrites of a server, of a location or of an
`if` with nothing between them, the regular expressions of a map, or neighbouring regex locations. The same list in
several files counts once. Each file is read by itself, as fragments are compiled: without its includes. A figure is a
number of patterns tried for a request that matches none of them, counted after the proof: far, near and worst, as in
the report of the command. The last line counts along the way of one request through each file, the one that costs most.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median

from benchmarks.regex_rows import block, rows
from nginxopt import load_text
from nginxopt.config import Directive
from nginxopt.errors import InputError
from nginxopt.rewrite import Options, Plan
from nginxopt.rewrite.compilation import plan
from nginxopt.rewrite.kinds.kind import Cost
from nginxopt.rewrite.kinds.locations.reading import read as read_locations
from nginxopt.rewrite.kinds.maps.reading import in_map
from nginxopt.rewrite.kinds.rules.planning import RulesOfFile
from nginxopt.rewrite.proving import proved
from nginxopt.text import Source

CORPUS = Path(os.environ.get("NGINXOPT_CORPUS") or Path(__file__).parents[1] / "fixtures" / "corpus")
SHORTEST, LONG = 5, 20
"""How many patterns make a list, and one that counts for the median."""
LEAST_OVER_ALL, LEAST_IN_THE_MEDIAN, SHORT = 0.98, 0.97, Cost(2, 2, 3)
"""The targets: shares of patterns that are no longer tried, and what a list of fewer than `LONG` tries at most."""

_OPTIONS = Options(groups=True)
"""The defaults of the command."""
_INDEX = "index.tsv"
_ROWS_ALONE = "map $request_uri $new"
"""The map that stands around a file of rows."""


@dataclass(frozen=True, slots=True)
class PatternList:
    """A list before and after: `stays` is how many of its patterns are tried one by one as before, by the reason."""

    file: str
    line: int
    kind: str
    patterns: int
    after: Cost
    stays: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Way:
    """The way of one request through a file, before and after."""

    file: str
    before: Cost
    after: Cost


@dataclass(slots=True)
class Corpus:
    """The lists of all folders, each once, the ways with as many patterns, and the files that nginx would refuse, each
    with the reason.
    """

    lists: list[PatternList] = field(default_factory=list)
    ways: list[Way] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    files: int = 0
    _known: set[Hashable] = field(default_factory=set)

    def add_folder(self, folder: Path) -> None:
        """Add the lists of the files in a folder and below."""
        for path in sorted(path for path in folder.rglob("*") if path.is_file() and path.name != _INDEX):
            self.add(path.read_bytes(), str(path.relative_to(folder)))

    def add(self, data: bytes, name: str) -> None:
        """Add the lists of a file."""
        self.files += 1
        try:
            config = load_text(data, name, includes=False)
            if not config.scope.context and any(row.name.startswith("~") for row in config.scope.directives):
                config = in_map(Source(name, data), _ROWS_ALONE, prefix=None)
            compiled = proved(plan(config, _OPTIONS))[0].plan
        except InputError as error:
            self.refused[name] = str(error)
            return
        way = Way(name, *compiled.cost)
        if way.before.far >= SHORTEST:
            self.ways.append(way)
        for patterns, found in lists_of(compiled):
            if found.patterns >= SHORTEST and patterns not in self._known:
                self._known.add(patterns)
                self.lists.append(found)


def lists_of(compiled: Plan) -> Iterator[tuple[Hashable, PatternList]]:
    """Yield all lists of a plan, the short ones too, each behind its patterns."""
    for part in compiled.rules.parts:
        yield from _sections(part)
        yield from _inside_if(part)
    for moved in compiled.maps.compiled:
        yield _map(moved.map.patterns, moved.map.directive, moved.after)
    for kept in compiled.maps.kept:
        stays = {kept.reason: kept.cost.worst}
        yield _map(kept.map.patterns, kept.map.directive, kept.cost, stays)
    yield from _locations(compiled)


def _sections(part: RulesOfFile) -> Iterator[tuple[Hashable, PatternList]]:
    """Yield the lists of the rewrites in servers and locations."""
    source = part.file.source
    for place, sections in part.rewrites.sections.items():
        for section in sections:
            start, end = section[0].start, section[-1].end
            runs = [run for run in part.runs if start <= run.first.start < end]
            barriers = Counter(reason for at, _, reason in part.barriers if start <= at < end)
            stays = barriers + sum((run.alone for run in runs), Counter())
            rules = sum(len(run.native) for run in runs) + barriers.total()
            after = Cost.total([Cost.of(barriers.total()), *(run.cost for run in runs)])
            text = source.data[start:end]
            yield text, PatternList(source.path, source.position(start).line, place.phase, rules, after, dict(stays))


def _inside_if(part: RulesOfFile) -> Iterator[tuple[Hashable, PatternList]]:
    """Yield the lists of the rewrites in each `if`."""
    spans = set(part.rewrites.inside_if)
    blocks = (directive.block for directive in part.file.block.walk() if directive.name == "if" and directive.block)
    for block_of_if in blocks if spans else ():
        rules = [directive for directive in block_of_if.directives() if directive.span in spans]
        if rules:
            path, line, count = part.file.path, rules[0].line, len(rules)
            text = tuple(rule.args for rule in rules)
            yield text, PatternList(path, line, "if", count, Cost.of(count), {"inside-if": count})


def _map(
    patterns: Sequence[Directive], opener: Directive, after: Cost, stays: Mapping[str, int] | None = None
) -> tuple[Hashable, PatternList]:
    text = tuple((row.name, *row.args) for row in patterns)
    kind = f"map {opener.args[0]}"
    return text, PatternList(opener.source.path, opener.line, kind, len(patterns), after, stays or {})


def _locations(compiled: Plan) -> Iterator[tuple[Hashable, PatternList]]:
    """Yield the runs of regex locations."""
    for run in read_locations(compiled.config, compiled.config.files):
        kept = [each for each in compiled.locations.kept if each.location in run.locations]
        groups = [each.after for each in compiled.locations.compiled if each.run.locations[0] in run.locations]
        first, stays = run.locations[0].directive, Counter(each.reason for each in kept)
        text = tuple(location.pattern for location in run.locations)
        after = Cost.total([Cost.of(len(kept)), *groups])
        yield text, PatternList(run.file.path, first.line, "locations", len(run.locations), after, dict(stays))


def saved(lists: Iterable[PatternList]) -> tuple[float, float, float]:
    """Return the shares of patterns that are no longer tried over all lists together: far, near and worst."""
    lists = list(lists)
    before = sum(each.patterns for each in lists)
    far, near, worst = (1 - tried / max(before, 1) for tried in Cost.total(each.after for each in lists))
    return far, near, worst


def saved_in_the_median(lists: Iterable[PatternList]) -> tuple[float, float, float]:
    """Return the same of the median list; 0 without one."""
    lists = list(lists)
    shares = zip(*(saved([each]) for each in lists), strict=True)
    far, near, worst = map(median, shares) if lists else (0.0, 0.0, 0.0)
    return far, near, worst


def verdicts(lists: Sequence[PatternList]) -> Iterator[tuple[str, bool]]:
    """Yield each target with its figure, and whether it holds."""
    everywhere, long = saved(lists), saved_in_the_median(each for each in lists if each.patterns >= LONG)
    short = [each for each in lists if each.patterns < LONG]
    held = [each for each in short if all(map(int.__le__, each.after, SHORT))]
    yield f"all lists together: {_percent(everywhere)} fewer, far, near and worst", min(everywhere) >= LEAST_OVER_ALL
    yield f"the median list of {LONG} or more: {_percent(long)} fewer", min(long) >= LEAST_IN_THE_MEDIAN
    limit = f"at most {SHORT.near}, {SHORT.worst} at worst"
    yield f"lists of fewer than {LONG}: {len(held)} of {len(short)} try {limit}", len(held) == len(short)


def _percent(shares: Iterable[float]) -> str:
    return ", ".join(f"{share:.1%}" for share in shares)


def along_ways(ways: Sequence[Way]) -> str:
    """Return how many patterns the ways of requests try, before and after."""
    before, after = (Cost.total(getattr(way, which) for way in ways) for which in ("before", "after"))
    share = 1 - after.far / max(before.far, 1)
    return (
        f"{len(ways)} ways: {before.far:,} patterns, now {after.far:,} far and {after.near:,} near ({share:.1%} fewer)"
    )


def table(lists: Sequence[PatternList]) -> Iterator[str]:
    """Yield a line for each list, the longest first."""
    yield f"{'patterns':>8} {'far':>6} {'near':>6} {'worst':>6}  {'kind':<30} list, and what stays"
    for each in sorted(lists, key=lambda each: -each.patterns):
        far, near, worst = each.after
        line = f"{each.patterns:>8,} {far:>6,} {near:>6,} {worst:>6,}  {each.kind[:30]:<30} {each.file}:{each.line}"
        yield "  ".join((line, *(f"{count:,} {reason}" for reason, count in Counter(each.stays).most_common())))


def reasons(lists: Sequence[PatternList]) -> Iterator[str]:
    """Yield a line for each reason: how many patterns stay for it, and in how many lists."""
    patterns = sum((Counter(each.stays) for each in lists), Counter[str]())
    yield f"{'stay':>8} {'lists':>6}  reason"
    for reason, count in patterns.most_common():
        yield f"{count:>8,} {sum(reason in each.stays for each in lists):>6,}  {reason}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Read, plan, prove and print; 1 if a target does not hold."""
    parser = argparse.ArgumentParser(prog="benchmarks.corpus_lists", description="Compile all lists of patterns.")
    parser.add_argument("folders", nargs="*", type=Path, default=[CORPUS], help=f"default: {CORPUS}")
    parser.add_argument("--generated", type=int, metavar="ROWS", help="add a map of so many generated rows")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    corpus = Corpus()
    for folder in options.folders:
        corpus.add_folder(folder)
    if options.generated:
        corpus.add(block(list(rows(options.generated))), "generated")
    if options.json:
        print(json.dumps({"lists": [asdict(each) for each in corpus.lists], "refused": corpus.refused}, indent=2))
    else:
        print(*table(corpus.lists), "", *reasons(corpus.lists), "", sep="\n")
        total = sum(each.patterns for each in corpus.lists)
        print(f"{len(corpus.lists)} lists with {total:,} patterns in {corpus.files:,} files,", end=" ")
        print(f"of which {len(corpus.refused):,} are no configuration (templates, most of them)")
        for what, holds in verdicts(corpus.lists):
            print(f"{'held' if holds else 'NOT HELD':<9}{what}")
        print(along_ways(corpus.ways))
    return int(not all(holds for _, holds in verdicts(corpus.lists)))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
