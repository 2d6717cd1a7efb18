"""Counts the patterns that nginx tries along the way of one request that none of them matches.

A request runs the script of one server, then the regex locations of the levels on its way, then the script of the one
location that it reaches (`ngx_http_core_find_location`), and evaluates the maps that these name. Rules of other servers
and locations are not tried for it, and neither are those inside an `if`. A regex location counts, whatever it contains.
Locations with `=` or `^~` skip the regex locations of their level.

The result is the way that costs most. Of a part of a configuration, only statements of that part count.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping

from nginxopt import lazy
from nginxopt.config import Block, Bulk, Comment, Config, Directive, File
from nginxopt.records import record
from nginxopt.rewrite.evaluations import reached
from nginxopt.rewrite.kinds.kind import Cost, MapCost, StatementCost
from nginxopt.rewrite.kinds.locations.reading import regex_location
from nginxopt.text import Source, encode

_LEVELS = frozenset({"http", "server", "location"})
_REGEX_OPERATORS = frozenset({"~", "~*", "!~", "!~*"})
_VARIABLE = lazy.pattern(rb"\$\{?(\w+)")


Pair = tuple[Cost, Cost]
_NONE: Pair = (Cost.of(0), Cost.of(0))


def along(
    config: Config, files: Collection[File], changes: Collection[StatementCost], maps: Collection[MapCost]
) -> Pair:
    """Return the patterns tried before and after on the way that costs most, each of far, near and worst by itself.

    `files` are those whose statements count. Linear in the text of the configuration.
    """
    walk = _Walk(config, {file.source for file in files}, _by_source(changes))
    ways = set(walk.ways(config.main.block, _Way(_NONE, frozenset())))
    reads = dict(_reads_of_maps(config))
    named = frozenset().union(*(way.names for way in ways), *reads.values())
    # A map that nothing names, as its readers were not read, may be evaluated by any request.
    unnamed = reads.keys() - named
    costs: dict[frozenset[bytes], Pair] = {}
    for names in {way.names for way in ways}:
        evaluated = reached(names, reads) | unnamed
        costs[names] = _sum((each.before, each.after) for each in maps if _name(each.variable) in evaluated)
    return _most(_sum([way.tried, costs[way.names]]) for way in ways)


@record(eq=True)
class _Way:
    """The way of a request: the patterns tried, and the variables named, except in maps."""

    tried: Pair
    names: frozenset[bytes]


@record(eq=True)
class _Walk:
    config: Config
    counted: Collection[Source]
    changes: Mapping[Source, list[StatementCost]]

    def ways(self, block: Block, way: _Way) -> Iterator[_Way]:
        """Yield each way that leads through a block: to the block itself, and to those inside."""
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
        first = bisect_left(changes, node.span.start, key=lambda change: change.start)
        last = bisect_left(changes, end, key=lambda change: change.start)
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
    for change in sorted(changes, key=lambda change: change.start):
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
