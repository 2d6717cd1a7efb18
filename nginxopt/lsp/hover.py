"""Hovers: the description of a directive with the settings in force there, and the pages of rules that have findings
there."""

from __future__ import annotations

import os
from collections.abc import Iterator

from lsprotocol import types

from nginxopt.config import Directive, Source, Span, Token
from nginxopt.facts import group
from nginxopt.lint.report import pages
from nginxopt.lsp.diagnostics import Judges
from nginxopt.lsp.facts import Facts
from nginxopt.lsp.navigation import placed, same
from nginxopt.lsp.workspace import DocumentContext, Workspace
from nginxopt.semantics import Level, Setting, levels

_MOST_LINES = 12
"""The maximum number of lines of a definition that are shown."""

_MOST_SETTINGS = 30

_MERGED = frozenset(["server", "location", "if", "limit_except"])
"""The blocks that inherit settings."""


def hover(workspace: Workspace, judges: Judges, params: types.HoverParams) -> types.Hover | None:
    """Return the hover for the word at a position; None if there is nothing to show."""
    reading, offset = placed(workspace, params)
    if reading is None:
        return None
    word = _word_at(reading, offset)
    parts = [*(_about(workspace, reading, *word, offset) if word else ()), *_findings(judges, reading, offset)]
    if not parts:
        return None
    range_ = reading.document.lines.range(word[1].span) if word else None
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, "\n\n---\n\n".join(parts)), range_)


def _word_at(reading: DocumentContext, offset: int) -> tuple[Directive, Token] | None:
    for directive in reading.file.block.walk():
        if directive.span.start <= offset < directive.span.end:
            for word in (directive.name, *directive.args):
                if word.start <= offset < word.end:
                    return directive, word
    return None


def _about(
    workspace: Workspace, reading: DocumentContext, directive: Directive, word: Token, offset: int
) -> Iterator[str]:
    if word is not directive.name:
        yield from _definitions(workspace, reading, offset)
        return
    target = workspace.preferences.target(reading.document.path, reading.configs).version
    level = _level_of(directive, levels(reading.config, target))
    if level is None or level.kind in group("rows"):
        return
    facts = Facts.of(str(word), level, target)
    lines = [*(facts.lines() if facts else ()), *_in_force(workspace, directive, level)]
    if lines:
        yield "\n".join(lines)


def _level_of(directive: Directive, root: Level) -> Level | None:
    """Return the first level that contains a directive."""
    for level in root.walk():
        if any(own.origin == directive.origin for own in level.own(directive.name)):
            return level
    return None


def _in_force(workspace: Workspace, directive: Directive, level: Level) -> Iterator[str]:
    """Yield the setting that a directive replaces, or the settings that a block inherits."""
    if directive.block is not None and directive.name in _MERGED:
        inner = next((one for one in level.levels if one.opener is directive or _is_of(one, directive)), None)
        inherited = list(_inherited(inner)) if inner else []
        if inherited:
            yield "\nInherited here:\n"
            yield from (f"- {_stated(workspace, setting)}" for setting in inherited[:_MOST_SETTINGS])
        if len(inherited) > _MOST_SETTINGS:
            yield f"- and {len(inherited) - _MOST_SETTINGS} more"
        return
    if level.parent is None or not level.inherits(directive.name):
        return
    outer = level.parent.setting(directive.name)
    if outer.is_set:
        yield f"- Here instead of {_stated(workspace, outer)}"
    elif not outer.known:
        yield "- Here instead of what files set that were not read"


def _is_of(level: Level, directive: Directive) -> bool:
    return level.opener is not None and level.opener.origin == directive.origin


def _inherited(level: Level) -> Iterator[Setting]:
    """Yield the settings that a level inherits from those around it, the innermost first."""
    names: dict[str, None] = {}
    outer = level.parent
    while outer is not None:
        names |= dict.fromkeys(name for name in outer.names if level.inherits(name) and name not in level.names)
        outer = outer.parent
    for name in names:
        setting = level.setting(name)
        if setting.is_set and setting.directive is not None and setting.directive.block is None:
            yield setting


def _stated(workspace: Workspace, setting: Setting) -> str:
    """Return a setting as written, with its block, file and line."""
    texts = [f"`{' '.join([directive.name, *directive.args])}`" for directive in setting.directives]
    level, last = setting.level, setting.directives[-1]
    source = last.source.original or last.source
    line = workspace.lines(source.path, source.data).position(last.span.start).line + 1
    return f"{', '.join(texts)} of {level.kind if level else 'main'}, {os.path.basename(source.path)}:{line}"  # noqa: PTH119


def _definitions(workspace: Workspace, reading: DocumentContext, offset: int) -> Iterator[str]:
    """Yield the definitions of the name at an offset, as written."""
    definitions = {one.definition.origin: one.definition for one in same(reading, offset) if one.definition}
    for directive in definitions.values():
        source = directive.source.original or directive.source
        if not directive.span.start <= offset < directive.span.end or source is not reading.file.source:
            line = workspace.lines(source.path, source.data).position(directive.span.start).line + 1
            yield f"{os.path.basename(source.path)}:{line}\n\n```nginx\n{_excerpt(source, directive.span)}\n```"  # noqa: PTH119


def _excerpt(source: Source, span: Span) -> str:
    indent = span.start - (source.data.rfind(b"\n", 0, span.start) + 1)
    first, *rest = source.text(span).splitlines()
    lines = [first, *(line[indent:] if not line[:indent].strip() else line for line in rest)]
    return "\n".join(lines if len(lines) <= _MOST_LINES else [*lines[: _MOST_LINES - 1], "..."])


def _findings(judges: Judges, reading: DocumentContext, offset: int) -> Iterator[str]:
    """Yield the pages of the rules that have findings at an offset, if the text has been checked."""
    judgement = judges.latest.get(reading.document.uri)
    if judgement is None or judgement.document is not reading.document:
        return
    here = (one for one in judgement.findings if one.finding.span.start <= offset < one.finding.span.end)
    for rule in dict.fromkeys(one.rule for one in here):
        yield pages.page(judgement.catalogue.rules[rule])
