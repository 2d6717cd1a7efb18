"""What a configuration does not show: files that were not read, and code that reads variables.

Both may decide whether a finding is right, and whether a fix is safe.

A level is *open* if something else may stand in it (`nginxopt.semantics.inherit`): an include could not be read, or may
read other files where the configuration is installed; the levels around a fragment are unknown; a tag of a template
stands for directives. There nginx may refuse what a fix adds (`"gzip" directive is duplicate`), a removed directive
exposes another one, and a change reaches levels that inherit it. A level that was read is not safe for that: its
settings come from levels around it, its sessions and zones are shared with other servers, and any directive may read a
variable.

So a fix needs the premise `whole-configuration` if a level that it may depend on is open. The engine adds it to the
fixes of all rules. A rule can only narrow down what its fixes depend on, by its `Reach`, and only for changes that keep
to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from nginxopt import lazy
from nginxopt.config import Directive, File
from nginxopt.facts.lexicon import NAMES
from nginxopt.lint.diagnostic import Fix, Reach, Safety
from nginxopt.lint.queries.model import Model, once
from nginxopt.settings.vocabulary import WHOLE_CONFIGURATION
from nginxopt.text import Change, Source, Span

_PROTOCOLS = ("http", "stream", "mail")


def is_known(model: Model, protocol: str = "http") -> bool:
    """Return whether nothing of a protocol, `http` or `stream`, can be in a file that was not read.

    Files that come with nginx, such as `mime.types`, have only their own directives.
    """
    if model.root.kind != "main" or protocol in _open_parts(model):
        model.decline()
        return False
    return True


def with_premise(fix: Fix, reach: Reach, model: Model) -> Fix:
    """Return a fix of a rule with this reach, with the premise `whole-configuration` if it is safe only under that."""
    if fix.safety.premises is None or not _may_depend_on_unread(fix, reach, model):
        return fix
    return replace(fix, safety=fix.safety & Safety.under(WHOLE_CONFIGURATION))


def _may_depend_on_unread(fix: Fix, reach: Reach, model: Model) -> bool:
    """Return whether text that was not read may make a difference to a fix."""
    unread = _open_parts(model)
    if not unread or (reach is Reach.WORDS and all(_keeps_to_words(change, model) for change in fix.changes)):
        return False
    if model.root.kind != "main":
        return True
    parts = {part for change in fix.changes for part in _parts_at(change, model)}
    if parts and parts.issubset(_PROTOCOLS):
        return not parts.isdisjoint(unread)
    if reach is Reach.PROCESS and parts.isdisjoint(_PROTOCOLS):
        return not unread.isdisjoint(("main", "events"))
    return True


def _keeps_to_words(change: Change, model: Model) -> bool:
    """Return whether a change replaces or deletes text of a file that belongs to the configuration for certain."""
    source = change.source.original or change.source
    return change.edit.span.start < change.edit.span.end and source not in _foreign(model)


@once
def _foreign(model: Model) -> frozenset[Source]:
    """Return the files that may be others where the configuration is installed: often those of this machine."""
    config = model.config
    return frozenset(file.source for include in config.elsewhere for file in config.included(include))


@once
def _open_parts(model: Model) -> frozenset[str]:
    """Return the parts of a configuration with open levels: `main` without its blocks, and the names of its blocks."""
    root = model.root
    if root.kind != "main":
        return frozenset(("main", *_PROTOCOLS))
    inside = {level.kind for level in root.levels if any(inner.is_open for inner in level.walk())}
    is_part = all(level.kind != "events" for level in root.levels)  # nginx requires it: another file includes this one
    return frozenset(inside | ({"main"} if root.is_open or is_part else set()))


def _parts_at(change: Change, model: Model) -> Iterator[str]:
    """Yield the parts of a configuration that a change is in: several if their file is included in several."""
    file = _files(model)[change.source.original or change.source]
    for context in model.config.contexts(file):
        yield context[0] if context else _block_at(file, change.edit.span)


@once
def _files(model: Model) -> dict[Source, File]:
    return {file.source: file for file in model.config.files}


def _block_at(file: File, place: Span) -> str:
    """Return the name of the outermost block of a file around a place; `main` if there is none."""
    blocks = ((node.name, node.block.span) for node in file.block.directives() if node.block)
    inside = (str(name) for name, span in blocks if span.start < place.start and place.end < span.end)
    return next(inside, "main")


_VARIABLE = lazy.pattern(r"\$(?:\{(\w+)\}|(\w+))")
_CODE = lazy.pattern(r".*_by_lua.*|lua_.*|js_.*|perl.*|.*wasm.*|modsecurity.*|passenger.*|pagespeed.*")


def is_read_by_code(model: Model) -> bool:
    """Return whether Lua, njs, Perl or SSI may read any variable by name, which the configuration does not show.

    An unknown module may run such code. So may a file that was not read: fixes need a premise for that in any case
    (`nginxopt.lint.queries.whole`).
    """
    return any(map(_is_code, model.config.by_name)) or any(
        directive.args != ("off",) for directive, _ in model.config.by_name.get("ssi", ())
    )


def readers(model: Model, names: Iterable[str]) -> Iterator[Directive]:
    """Yield the directives that use one of these variables, without the `map` that defines it."""
    index = _readers(model)
    found = {number: directive for name in names for number, directive in index.get(name.lower(), {}).items()}
    return (found[number] for number in sorted(found))


@once
def _readers(model: Model) -> dict[str, dict[int, Directive]]:
    """Return the directives that use each variable, by its name in lower case, with their numbers in the order of
    reading."""
    index: dict[str, dict[int, Directive]] = {}
    for number, (directive, _) in enumerate(model.config.walk()):
        words = directive.args[:1] if directive.name in ("map", "geo", "split_clients") else directive.args
        for word in words:
            if "$" in word:
                for match in _VARIABLE.finditer(word):
                    index.setdefault((match[1] or match[2]).lower(), {})[number] = directive
    return index


def _is_code(name: str) -> bool:
    return name not in NAMES or bool(_CODE.fullmatch(name))
