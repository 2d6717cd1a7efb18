"""Proves that nginx finds the same location for every URI with and without groups.

*Lemma.* Let L1..Ln be consecutive regex locations of a level with the patterns p1..pn, and let F be a pattern that
matches a URI exactly if one of p1..pn does. Let PCRE give up on none of these patterns. Then `location F { L1..Ln }` is
equivalent to L1..Ln. *Proof.* nginx tries the regex locations of a level in order, and those of the next level inside
the first one that matches (`ngx_http_core_find_location`). If none of p1..pn matches, neither does F, and nginx
continues after the group, with unchanged captures. Otherwise F matches, nginx tries p1..pn in order, and uses the first
location that matches. Its match is the last one, and sets all captures. The group contains nothing but locations. So it
inherits all settings of the level around it and passes them on to L1..Ln. This holds for all modules whose directives
may be in L1..Ln.

By induction, groups may be nested. The texts are parsed again; without the groups, they must be the same, directive by
directive.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from nginxopt import _native
from nginxopt.config import Config, File
from nginxopt.rewrite.kinds.difference import (
    Lengths,
    Node,
    Replacement,
    Unproved,
    difference_of_files,
    is_same,
    nodes_of,
)
from nginxopt.rewrite.kinds.kind import Refutation
from nginxopt.rewrite.kinds.locations.reading import RegexLocation, holds_locations, is_known, is_plain, regex_location
from nginxopt.rewrite.surroundings import quiet_includes

if TYPE_CHECKING:
    from nginxopt.rewrite.kinds.locations.planning import LocationsPlan

_REFUTATIONS = {
    _native.UnionFault.SETS_A_NAME: "the pattern of a group sets a variable",
    _native.UnionFault.UNKNOWN: "it is not known what the pattern of a group matches, or PCRE may give up on it",
    _native.UnionFault.TURNS_AWAY: "the pattern of a group turns away what a location in it matches",
    _native.UnionFault.TOO_WIDE: (
        "the pattern of a group may match what no location in it matches, or PCRE may give up on one of them"
    ),
}


def prove(config: Config, plan: LocationsPlan, texts: Mapping[File, bytes]) -> Refutation | None:
    """Return the refutation of a run of `plan` if the files have these `texts`; None if every run is proved."""
    if not plan.compiled:
        return None
    replaced = partial(_replaced, quiet_includes(config, is_known))
    replacements = {
        group.locations[0].directive: Replacement(compiled, "regex locations", replaced)
        for compiled in plan.compiled
        for group in compiled.groups
    }
    return difference_of_files(config, texts, replacements)


def _replaced(quiet: Collection[str], originals: list[Node], emitted: list[Node]) -> Lengths | None:
    return (_check(originals, emitted[0], quiet), 1) if emitted else None


def _check(originals: list[Node], emitted: Node, quiet: Collection[str]) -> int:
    """Check that a group is equivalent to the first of the `originals`; return how many these are."""
    group = regex_location(emitted)
    if group is None or not holds_locations(group.directive):
        raise Unproved("a location is not in its group")
    leaves = list(_leaves(group))
    if len(leaves) > len(originals):
        raise Unproved("a group has more locations than there were")
    for original, leaf in zip(originals, leaves, strict=False):
        _check_location(original, leaf, quiet)
    _check_pattern(group)
    return len(leaves)


def _leaves(group: RegexLocation) -> Iterator[RegexLocation]:
    """Yield the locations of a group, including those of inner groups."""
    for member in _members(group):
        yield from _leaves(member) if holds_locations(member.directive) else (member,)


def _members(group: RegexLocation) -> list[RegexLocation]:
    assert group.directive.block is not None
    return [member for node in nodes_of(group.directive.block) if (member := regex_location(node)) is not None]


def _check_location(original: Node, leaf: RegexLocation, quiet: Collection[str]) -> None:
    """Check that a location is unchanged, and inherits the same settings in the group as outside."""
    if not is_same(original, leaf.directive):
        raise Unproved("a location in a group is not as it was, or not in its place")
    if not is_plain(leaf.directive, quiet):
        raise Unproved("a location in a group has a directive that may not inherit like those of nginx")


def _check_pattern(group: RegexLocation) -> None:
    """Check that the patterns of a group and of its inner groups match exactly what their locations match."""
    for member in _members(group):
        if holds_locations(member.directive):
            _check_pattern(member)
    reason, subject = _native.not_the_union(group.pattern, [leaf.pattern for leaf in _leaves(group)])
    if reason is not None:
        raise Unproved(_REFUTATIONS[reason], subject)
