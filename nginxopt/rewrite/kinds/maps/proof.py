"""Proves that maps return the same value for every subject: each block is compared with the new block and its tree.

The texts are parsed again. Nothing else in the files may differ, except what the proof of rewrites compares.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from nginxopt import _native
from nginxopt.config import Bulk, Config, Directive, File, Scope, may_read_more, reread
from nginxopt.errors import InputError
from nginxopt.faults import isolated
from nginxopt.records import record
from nginxopt.rewrite.kinds.kind import Refutation
from nginxopt.rewrite.kinds.maps import reading
from nginxopt.rewrite.kinds.maps.reading import MapBlock, http_maps, inlined
from nginxopt.rewrite.mapfile import DEFAULT_SIZES
from nginxopt.text import encode

if TYPE_CHECKING:
    from nginxopt.rewrite.kinds.maps.planning import MapsPlan, PlannedMap
    from nginxopt.rewrite.proving import Emission

_CHANGED = ("default",)


@record(eq=True)
class EmittedMap:
    """The new form of a map: the text of its block, with includes inline, and the blocks of its tree."""

    compiled: PlannedMap
    block: bytes
    tree: tuple[MapBlock, ...]

    @property
    def text(self) -> bytes:
        """The text of the block and its tree."""
        return b"\n".join([self.block, *(block.text for block in self.tree)])


def refutation(emission: Emission) -> Refutation | None:
    """Return the refutation of a map with regular expressions, or of the text around maps; None if all is proved.

    If other lists change, too, the proof of rules compares what is around.
    """
    plan = emission.plan
    texts = {change.file: change.after for change in emission.changes}
    found = prove(plan.config, plan.maps, texts, emission.text_of_trees)
    if found is not None:
        return found
    is_alone = plan.changing == {"maps"}
    texts = {
        change.file: change.after if is_alone else change.with_edits(*change.of["maps"]) for change in emission.changes
    }
    name = plan.maps_name if is_alone and emission.maps_path is not None else None
    changed = difference(plan.config, plan.maps, read_again(plan.config, texts), include=name)
    return Refutation(changed) if changed else None


def prove(config: Config, plan: MapsPlan, texts: Mapping[File, bytes], maps: bytes) -> Refutation | None:
    """Return the refutation of a map of `plan` if the files have these `texts` and http includes `maps`.

    None if every map is proved.
    """
    try:
        for emitted in read(config, plan, texts, maps):
            regex_map = emitted.compiled.map
            directive = regex_map.directive
            with isolated(f"proving the map {regex_map.variable}", source=directive.source, span=directive.name.span):
                try:
                    proof = _native.prove_map(
                        regex_map.text(),
                        emitted.text,
                        compiled=emitted.compiled.native,
                        keeps_captures=emitted.compiled.keeps_captures,
                    )
                except _native.TooMuchWork:
                    what = f"the map {regex_map.variable}: its proof takes too much work"
                    return Refutation(what, None, emitted.compiled, "too-much-work")
                if proof.holds:
                    continue
                what = f"the map {regex_map.variable}: {proof.refutation}"
                return Refutation(what, proof.counterexample, emitted.compiled)
            return Refutation(f"the map {regex_map.variable}: the proof failed", None, emitted.compiled)
    except (InputError, ValueError) as error:
        return Refutation(f"the result cannot be read: {error}")
    return None


def read(config: Config, plan: MapsPlan, texts: Mapping[File, bytes], maps: bytes) -> Iterator[EmittedMap]:
    """Parse the new texts, and yield the new form of each map of `plan`.

    Raises `InputError` or `ValueError` if a text cannot be parsed.
    """
    after, generated = read_again(config, texts), reading.parsed(maps)
    for compiled, scope in _pairs(config, plan, after):
        text = _text(after, scope) if compiled.map.unread else inlined(after, _opener(scope))
        yield EmittedMap(compiled, text, tuple(reading.reachable(text, generated)))


def read_again(config: Config, texts: Mapping[File, bytes]) -> Config:
    """Return a configuration with other texts in place of some of its files."""
    return reread(config, {file.path: text for file, text in texts.items()})


def _text(config: Config, scope: Scope) -> bytes:
    """Return the text of a map without rows that were not read, and without the regular expressions before them."""
    opener = _opener(scope)
    assert opener.block is not None
    head = opener.source.data[opener.span.start : opener.block.span.start]
    ahead = set(_ahead(config, scope))
    rows = (row for row in scope.directives if row.name != "include" and row not in ahead)
    return head + b"{\n%s\n}" % b"\n".join(row.source.data[row.span.start : row.span.end] for row in rows)


def _ahead(config: Config, scope: Scope) -> list[Directive]:
    """Return the regular expressions and includes of a map up to the last include that was not read."""
    rows = [row for row in scope.directives if row.name == "include" or row.name.startswith("~")]
    unread = [at for at, row in enumerate(rows) if row.name == "include" and may_read_more(config, row)]
    return rows[: unread[-1] + 1] if unread else []


def _always_answers(row: Directive) -> bool:
    """Return whether PCRE gives up on a row for no subject; an include has no pattern."""
    pattern = encode(row.name)
    pattern = b"(?i)" + pattern[2:] if pattern.startswith(b"~*") else pattern[1:]
    facts = None if row.name == "include" else _native.pattern_facts(pattern)
    return row.name == "include" or (facts is not None and facts[0])


def _opener(scope: Scope) -> Directive:
    assert scope.opener is not None
    return scope.opener


def _pairs(config: Config, plan: MapsPlan, after: Config) -> Iterator[tuple[PlannedMap, Scope]]:
    """Yield each map that becomes a tree with the block that replaces it."""
    by_directive = {compiled.map.directive: compiled for compiled in plan.compiled}
    for scope, other in zip(http_maps(config), http_maps(after), strict=True):
        if scope.opener in by_directive and other.opener is not None:
            yield by_directive[scope.opener], other


def difference(before: Config, plan: MapsPlan, after: Config, *, include: str | None = None) -> str | None:
    """Return where two configurations differ, except in the rows of the maps of `plan`; None if they do not.

    `include` is the name of the file of maps. If given, `after` may include it and set hash table sizes.
    """
    for compiled, scope in _pairs(before, plan, after):
        ours = next(each for each in http_maps(before) if each.opener is compiled.map.directive)
        ahead = [[_words(row) for row in _ahead(config, each)] for config, each in ((before, ours), (after, scope))]
        if ahead[0] != ahead[1]:
            return f"the rows of {compiled.map.variable} before those that were not read are not as they were"
        if not all(_always_answers(row) for row in _ahead(after, scope)):
            return f"PCRE may give up on a row of {compiled.map.variable}, after which the tree would answer"
    changed = {compiled.map.directive for compiled in plan.compiled}
    return _difference(before.scope, after.scope, changed, include)


def _difference(before: Scope, after: Scope, changed: Collection[Directive], include: str | None) -> str | None:
    is_changed = before.opener in changed
    ours = [node for node in before.nodes if not is_changed or _stays(node)]
    theirs = [node for node in after.nodes if not is_changed or _stays(node)]
    if include is not None:
        ours = [node for node in ours if node.name not in DEFAULT_SIZES]
        theirs = [node for node in theirs if node.name not in DEFAULT_SIZES and not _includes(node, include)]
    for node, changed_node in zip(ours, theirs, strict=False):
        if _words(node) != _words(changed_node):
            return f"line {node.line} of {node.source.path} is not as it was"
    if len(ours) != len(theirs) or len(before.scopes) != len(after.scopes):
        return f"{before.block.source.path} does not have the directives that it had"
    scopes = zip(before.scopes, after.scopes, strict=True)
    inner = (_difference(scope, changed_scope, changed, include) for scope, changed_scope in scopes)
    return next((difference for difference in inner if difference), None)


def _stays(row: Directive | Bulk) -> bool:
    """Return whether a row of a map that becomes a tree must stay unchanged."""
    return row.name not in _CHANGED and not row.name.startswith("~")


def _includes(node: Directive | Bulk, name: str) -> bool:
    return isinstance(node, Directive) and node.name == "include" and node.args == (name,)


def _words(node: Directive | Bulk) -> object:
    if isinstance(node, Bulk):
        return node.source.data[node.span.start : node.span.end]
    return node.name, node.args, node.block is None
