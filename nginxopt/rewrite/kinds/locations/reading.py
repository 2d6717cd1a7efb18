"""Finds runs of regex locations whose directives are all nginx's own.

If no location with `=` or `^~` answers, nginx tries the regex locations of a level in the order of the text, and those
inside a regex location after that has matched (`ngx_http_core_find_location`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import cache
from itertools import groupby

from nginxopt.config import Block, Bulk, Comment, Config, Directive, File, may_read_more
from nginxopt.config.tree import Token
from nginxopt.facts import script
from nginxopt.facts.lexicon import ROWS
from nginxopt.records import record
from nginxopt.rewrite.surroundings import inherited, quiet_includes
from nginxopt.semantics.inherit import INHERITANCE
from nginxopt.text import encode

FEWEST = 3
"""Fewer locations are not faster in a group."""
FEWEST_SERVING = 8
"""Fewer are not in a group if one of them serves requests itself: then many match, and each of these costs more."""

_ENDING = frozenset(["return", "rewrite"])
_SCRIPT = script()
_PLACES = frozenset(["server", "location"])


@record(eq=True)
class RegexLocation:
    """A regex location: its directive, its pattern (beginning with `(?i)` if it ignores case), and that as a word."""

    directive: Directive
    pattern: bytes
    word: Token


@record(eq=True)
class LocationRun:
    """Consecutive regex locations of a file; `around`: the location that contains them.

    `is_assumed` is whether one of them includes a file that was not read.
    """

    file: File
    locations: tuple[RegexLocation, ...]
    around: Directive | None = None
    is_assumed: bool = False


@cache
def _known() -> frozenset[str]:
    """Return the directives of nginx whose meaning does not change if a group is put around their location.

    Not among them are those that control the inheritance of headers: if the level around a group has
    `add_header_inherit off`, a location with `merge` would inherit from the group, which has no headers.
    """
    others = {"location", *INHERITANCE.values()}
    return (inherited() | _SCRIPT | INHERITANCE.keys() | {"try_files"}) - others


def read(config: Config, subject: Collection[File]) -> Iterator[LocationRun]:
    """Yield the runs of at least `FEWEST` locations in the files `subject`."""
    quiet = quiet_includes(config, is_known)
    for file in config.files:
        if file in subject:
            contexts = config.contexts(file)
            takes_locations = bool(contexts) and all(context[-1:] and context[-1] in _PLACES for context in contexts)
            for run in _read(file, file.block, None, quiet, takes_locations=takes_locations):
                yield replace(run, is_assumed=any(_is_assumed(location, config) for location in run.locations))


def _is_assumed(location: RegexLocation, config: Config) -> bool:
    """Return whether a location includes a file that was not read, or may be another one elsewhere."""
    assert location.directive.block is not None
    includes = (inner for inner in location.directive.block.walk() if inner.name == "include")
    return any(may_read_more(config, include) for include in includes)


def _read(
    file: File, block: Block, around: Directive | None, quiet: Collection[str], *, takes_locations: bool
) -> Iterator[LocationRun]:
    locations: list[RegexLocation] = []
    for node in block.nodes:
        if isinstance(node, Comment):
            continue
        location = regex_location(node) if takes_locations else None
        if location is not None and is_plain(location.directive, quiet):
            locations.append(location)
            continue
        if locations:
            yield from _whole(file, locations, around)
            locations = []
        if isinstance(node, Directive) and node.block is not None and not (location and holds_locations(node)):
            yield from _read(file, node.block, node, quiet, takes_locations=node.name in _PLACES)
    yield from _whole(file, locations, around)


def _whole(file: File, locations: list[RegexLocation], around: Directive | None) -> Iterator[LocationRun]:
    if len(locations) >= FEWEST_SERVING:
        yield LocationRun(file, tuple(locations), around)
        return
    for answering, part in groupby(locations, key=answers):
        run = LocationRun(file, tuple(part), around)
        if answering and len(run.locations) >= FEWEST:
            yield run


def regex_location(node: Directive | Bulk) -> RegexLocation | None:
    """Return a regex location; None for anything else."""
    if node.name != "location" or not isinstance(node, Directive) or node.block is None:
        return None
    match node.args:
        case [("~" | "~*") as modifier, pattern]:
            return RegexLocation(node, _pattern(modifier, str(pattern)), pattern)
        case [word] if word.startswith("~"):
            start = "~*" if word.startswith("~*") else "~"
            return RegexLocation(node, _pattern(start, word.removeprefix(start)), word)
    return None


def _pattern(modifier: str, pattern: str) -> bytes:
    return (b"(?i)" if modifier == "~*" else b"") + encode(pattern)


def holds_locations(location: Directive) -> bool:
    """Return whether a location contains nothing but regex locations, like the groups of an earlier compilation."""
    nodes = [] if location.block is None else [node for node in location.block.nodes if not isinstance(node, Comment)]
    return bool(nodes) and all(regex_location(node) is not None for node in nodes)


def answers(location: RegexLocation) -> bool:
    """Return whether a location returns or rewrites, as most lists of locations do."""
    block = location.directive.block
    assert block is not None
    return any(node.name in _ENDING for node in block.nodes if not isinstance(node, Comment))


def is_plain(location: Directive, quiet: Collection[str]) -> bool:
    """Return whether the meaning of no directive of a location changes if a group is put around it.

    `quiet` are the arguments of includes whose files are known to contain only such directives.
    """
    assert location.block is not None
    return all(isinstance(node, Comment) or is_known(node, quiet) for node in location.block.nodes)


def is_known(node: Directive | Bulk, quiet: Collection[str]) -> bool:
    """Return whether the meaning of a directive of a location does not change if a group is put around the location."""
    if node.name == "include":
        return isinstance(node, Directive) and bool(node.args) and str(node.args[0]) in quiet
    if node.name not in _known():
        return False
    block = node.block if isinstance(node, Directive) and node.name not in ROWS else None
    inner = () if block is None else block.nodes
    return all(isinstance(each, Comment) or is_known(each, quiet) for each in inner)
