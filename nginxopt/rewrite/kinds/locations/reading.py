"""Finds runs of regex locations that only return or rewrite.

If no location with `=` or `^~` answers, nginx tries the regex locations of a level in the order of the text, and those
inside a regex location after that has matched (`ngx_http_core_find_location`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cache

from nginxopt.config import Block, Bulk, Comment, Config, Directive, File
from nginxopt.config.tokens import Token
from nginxopt.facts import script
from nginxopt.records import record
from nginxopt.rewrite.surroundings import inherited
from nginxopt.semantics.headers import INHERITANCE
from nginxopt.text import encode

FEWEST = 3
"""Fewer locations are not faster in a group."""

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
    """Consecutive regex locations of a file that only return or rewrite; `around`: the location that contains them."""

    file: File
    locations: tuple[RegexLocation, ...]
    around: Directive | None = None


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
    for file in config.files:
        if file in subject:
            contexts = config.contexts(file)
            takes_locations = bool(contexts) and all(context[-1:] and context[-1] in _PLACES for context in contexts)
            yield from _read(file, file.block, None, takes_locations=takes_locations)


def _read(file: File, block: Block, around: Directive | None, *, takes_locations: bool) -> Iterator[LocationRun]:
    locations: list[RegexLocation] = []
    for node in block.nodes:
        if isinstance(node, Comment):
            continue
        location = regex_location(node) if takes_locations else None
        if location is not None and answers(location.directive):
            locations.append(location)
            continue
        if locations:
            yield from _whole(file, locations, around)
            locations = []
        if isinstance(node, Directive) and node.block is not None and not (location and holds_locations(node)):
            yield from _read(file, node.block, node, takes_locations=node.name in _PLACES)
    yield from _whole(file, locations, around)


def _whole(file: File, locations: list[RegexLocation], around: Directive | None) -> Iterator[LocationRun]:
    if len(locations) >= FEWEST:
        yield LocationRun(file, tuple(locations), around)


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


def answers(location: Directive) -> bool:
    """Return whether a location returns or rewrites, and all its directives are nginx's own."""
    block = location.block
    assert block is not None
    return any(node.name in _ENDING for node in block.nodes if not isinstance(node, Comment)) and is_known(block)


def is_known(block: Block) -> bool:
    """Return whether the meaning of no directive in a block changes if a group is put around it."""
    return all(
        isinstance(node, Comment)
        or (isinstance(node, Directive) and node.name in _known() and (node.block is None or is_known(node.block)))
        for node in block.nodes
    )
