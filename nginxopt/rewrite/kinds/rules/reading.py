"""Finds the rewrites of a configuration: the sections whose rules nginx tries in sequence.

The rewrite module keeps one ordered script per server and per location (`ngx_http_rewrite_handler`). A *section* is a
part of such a script, within one file, that contains only rewrites; anything else in the script (`set`, `if`, `return`,
`break`, an `include`, an unknown directive) ends a section. Directives of other modules are not part of the script, so
rules on both sides of them belong to one section.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field, replace
from functools import cache
from typing import Literal

from nginxopt import lazy
from nginxopt.config import Block, Bulk, Comment, Config, Context, Directive, File
from nginxopt.facts import script
from nginxopt.facts.lexicon import NGINX, ROWS
from nginxopt.records import record
from nginxopt.rewrite.surroundings import Entering, Reruns, Surroundings, captures_may_be_read, reruns
from nginxopt.text import Span

Phase = Literal["server", "location"]
"""The rewrite phase that runs rules: that of a server or of a location (`NGX_HTTP_SERVER_REWRITE_PHASE`)."""

Section = tuple[Span, ...]
"""The rewrites, or folded runs of them, that nginx tries in sequence."""


@record(eq=True)
class RulesPlace:
    """The place of rules: their phase, which of them may move into an `if` there, and whether that depends on text that
    was not read.
    """

    phase: Phase
    entering: Entering
    is_assumed: bool = False


_NEVER = "^a(?!)"
"""A pattern that never matches; an emitted rule with it clears `$1` to `$9`."""

_SCRIPT = script() | {"include"}
_GUARD = lazy.pattern(r"\$(\w+)_key(?:_\d+)?")
_TARGET = lazy.pattern(r"\$\w+_to(?:_\d+)?")


@cache
def transparent() -> frozenset[str]:
    """Return the directives that add nothing to the script: all of nginx except those of the rewrite module.

    Directives of third-party modules may add to it, as those of ngx_devel_kit do (src/ndk_set_var.c).
    """
    return NGINX - _SCRIPT


@record(eq=True)
class Rewrites:
    """The rewrites of one file.

    Attributes:
        sections: The sections of its servers and of its locations, by their place.
        behind_if: The sections directly after an `if` or rule that an earlier compilation may have written. The rules
            that it left are such sections.
            last: The sections that end the script of their server: no statement follows them.
        captures_matter: Whether `$1` to `$9` may be read after the rules.
        reruns: What may run the rules again in one request; None if that is not known.
        inside_if: The rewrites inside an `if`.
            guarded: Those inside an `if` that an earlier compilation may have written. Few requests enter it.
        misplaced: The rewrites in contexts where nginx does not allow them, and in unknown blocks.
    """

    file: File
    sections: Mapping[RulesPlace, tuple[Section, ...]]
    behind_if: Collection[Section]
    last: Collection[Section]
    captures_matter: bool
    reruns: Reruns | None
    inside_if: Section
    guarded: Collection[Span]
    misplaced: Section


def read(config: Config) -> tuple[Rewrites, ...]:
    """Return the rewrites of all files that contain any, in nginx's order of reading."""
    captures_matter, again = captures_may_be_read(config), reruns(config)
    around = Surroundings.of(config)
    of_files = (_rewrites(config, file, captures_matter, again, around) for file in config.files)
    return tuple(of for of in of_files if of.sections or of.inside_if or of.misplaced)


def placed(config: Config) -> tuple[Config, Context | None]:
    """Return `config` with the context for which its main file is compiled, and that context if it is assumed.

    A fragment that fits several contexts is compiled for a server, the most common context, or otherwise for http.
    """
    usual: tuple[Context, ...] = (("http", "server"), ("http",))
    assumed = next((context for context in usual if context in config.candidates), None)
    if len(config.candidates) < 2 or assumed is None:
        return config, None
    return replace(config, candidates=(assumed,)), assumed


@record(eq=True, frozen=False)
class _Gathered:
    """The rewrites of a file while they are gathered."""

    around: Surroundings
    sections: dict[RulesPlace, list[Section]] = field(default_factory=dict)
    behind_if: set[Section] = field(default_factory=set)
    last: set[Section] = field(default_factory=set)
    inside_if: list[Span] = field(default_factory=list)
    guarded: set[Span] = field(default_factory=set)
    misplaced: list[Span] = field(default_factory=list)

    def closed(self, place: RulesPlace | None, section: list[Span], *, is_behind_if: bool) -> list[Span]:
        """Keep a completed section unless it is empty; return a new one."""
        if place is not None and section:
            self.sections.setdefault(place, []).append(tuple(section))
            if is_behind_if:
                self.behind_if.add(tuple(section))
        return []


def _rewrites(
    config: Config, file: File, captures_matter: bool, again: Reruns | None, around: Surroundings
) -> Rewrites:
    gathered = _Gathered(around)
    contexts = config.contexts(file)
    is_known = NGINX.issuperset(name for context in contexts for name in context)
    _gather(file.block, set(map(_kind, contexts)), gathered, main=file is config.main, is_known=is_known)
    sections = {place: tuple(of_place) for place, of_place in gathered.sections.items()}
    return Rewrites(
        file,
        sections,
        gathered.behind_if,
        gathered.last,
        captures_matter,
        again,
        tuple(gathered.inside_if),
        gathered.guarded,
        tuple(gathered.misplaced),
    )


def _kind(context: Context) -> str:
    """Return the name of the innermost block, which determines the phase of a rewrite."""
    return context[-1] if context else "main"


def _gather(
    block: Block,
    kinds: set[str],
    gathered: _Gathered,
    *,
    main: bool = False,
    inside: str = "",
    is_known: bool = True,
) -> None:
    """Gather the rewrites in a block.

    `inside` is the name of the block, if it is not the top level of a file. `is_known` is whether nginx itself defines
    all blocks around it: the statements in any other block may mean anything.
    """
    phase = _phase(kinds, main=main) if is_known else None
    place = phase and _place(block, phase, gathered.around, is_location=inside == "location")
    section: list[Span] = []
    is_behind_if = False
    stems = _stems(block)
    for node in block.nodes:
        if isinstance(node, Comment):
            continue
        if _is_ours(node, stems):
            section = gathered.closed(place, section, is_behind_if=is_behind_if)
            is_behind_if = True
            continue
        if node.name == "rewrite":
            _refuse_block(node)
            _put(node, phase, kinds, section, gathered)
            continue
        if node.name not in transparent():
            section = gathered.closed(place, section, is_behind_if=is_behind_if)
            is_behind_if = _may_be_ours(node)
        if isinstance(node, Directive) and node.block and node.name not in ROWS:
            kind = str(node.name)
            is_inner_known = is_known and kind in NGINX
            _gather(node.block, {kind}, gathered, inside=kind, is_known=is_inner_known)
            if _may_be_ours(node):
                gathered.guarded.update(rule.span for rule in node.block.directives())
    if inside == "server":
        gathered.last.add(tuple(section))
    gathered.closed(place, section, is_behind_if=is_behind_if)


def _place(block: Block, phase: Phase, around: Surroundings, *, is_location: bool) -> RulesPlace:
    """Return the place of rules in a block. If only a part of their location is here, none may move into an `if`."""
    if phase == "server":
        return RulesPlace(phase, Entering.ALL)
    if not is_location:
        return RulesPlace(phase, Entering.NOTHING)
    return RulesPlace(phase, around.entering(block), around.is_assumed(block))


def _stems(block: Block) -> set[str]:
    """Return the variable prefixes of guards that an earlier compilation wrote into a block."""
    conditions = (node.args for node in block.unfolded() if node.name == "if" and len(node.args) == 3)
    guards = ((_GUARD.fullmatch(left), right) for left, operator, right in conditions if operator == "=")
    return {guard[1] for guard, right in guards if guard and right in ("$uri", f"${guard[1]}_line")}


def _is_ours(node: Directive | Bulk, stems: set[str]) -> bool:
    """Return whether an earlier compilation wrote a statement. Its rewrites are not compiled again."""
    if node.name not in ("rewrite", "if") or isinstance(node, Bulk):
        return False
    if node.name == "rewrite":
        return node.args == (_NEVER, "/")
    if len(node.args) != 3:
        return False
    name = node.args[0].removeprefix("$")
    guard = _GUARD.fullmatch(node.args[0])
    return (guard is not None and guard[1] in stems) or name.removesuffix("_hit") in stems - {name}


def _may_be_ours(node: Directive | Bulk) -> bool:
    """Return whether a statement is an `if` that may be the end of an earlier result.

    It is a condition on the URI or on a target, or a comparison with a number, and contains nothing but rewrites.
    """
    if node.name != "if" or not isinstance(node, Directive) or node.block is None:
        return False
    match node.args:
        case value, "~", _ if value == "$uri" or _TARGET.fullmatch(value):
            pass
        case _, "=", text if text.isdecimal():
            pass
        case (value,) if _TARGET.fullmatch(value):
            pass
        case _:
            return False
    return {inner.name for inner in node.block.nodes if not isinstance(inner, Comment)} == {"rewrite"}


def _refuse_block(node: Directive | Bulk) -> None:
    """Raise `InputError` for a rewrite with a block, as `ngx_conf_handler` does."""
    if isinstance(node, Directive) and node.block is not None:
        message = 'directive "rewrite" is not terminated by ";"'
        raise node.error(message, nginx=node.located(message))


def _put(
    node: Directive | Bulk, phase: Phase | None, kinds: set[str], section: list[Span], gathered: _Gathered
) -> None:
    """Add a rewrite, or a run of them, to the section or the list it belongs to."""
    if phase is not None:
        section.append(node.span)
        return
    spans = [directive.span for directive in node] if isinstance(node, Bulk) else [node.span]
    (gathered.inside_if if "if" in kinds else gathered.misplaced).extend(spans)


def _phase(kinds: set[str], *, main: bool) -> Phase | None:
    """Return the phase of rules in a block that may be any of `kinds`; None if none of them can be moved.

    If it may be a server and a location, this is the location, as the form for a location is correct in both. A main
    file that fits several contexts counts as the content of an `if` only if no other context is possible.
    """
    allowed = kinds - {"if"} if main and kinds - {"if"} else kinds
    if allowed == {"server"}:
        return "server"
    return "location" if allowed and allowed <= {"server", "location"} else None
