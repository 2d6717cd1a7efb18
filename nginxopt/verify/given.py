"""What a comparison takes as given, and what it leaves out.

Assumptions about files that were not read, and about the configuration around a fragment, are premises. Directives
outside of http are left out: they decide how nginx runs, and not what it answers. The result names those that differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nginxopt.config import Config, Directive, Scope
from nginxopt.records import record
from nginxopt.semantics.inherit import origin
from nginxopt.verify.premises import NAMED_BY_TEXT, PART_ALONE, PREMISES, STOCK_FILES, UNREAD_SAME, UNREAD_SILENT, Asked
from nginxopt.verify.side import VerifiedSide


@record(eq=True)
class Given:
    """What is taken as given: a phrase, and the name of the premise; None for what is not compared anyway."""

    text: str
    premise: str | None = None

    def __str__(self) -> str:
        return self.text if self.premise is None else f"{self.text} ({self.premise})"


def given_unread(
    configs: tuple[Config, Config], sides: tuple[VerifiedSide, VerifiedSide], renamed: Mapping[str, str]
) -> Iterator[Given]:
    """Yield the assumptions about what was not read. `renamed` maps new names of variables to old ones."""
    if not all(map(is_whole, configs)):
        yield Given("nothing stands around these parts of a configuration", PART_ALONE)
    unread = dict.fromkeys(path for side in sides for path in side.unread)
    if unread:
        yield Given(f"not read, and the same before and after: {', '.join(unread)}", UNREAD_SAME)
    empty = dict.fromkeys(path for config in configs for path in _without_matches(config))
    if believed := [path for path in empty if path not in unread]:
        yield Given(f"no file is at {', '.join(believed)}")
    for side in sides:
        for premise in side.site.premises:
            include = side.site.nodes.directive(premise.node)
            if include is not None and origin(include) is not None:
                yield Given(premise.text, STOCK_FILES)
    if renamed:
        names = ", ".join(f"${new} for ${old}" for new, old in renamed.items())
        text = "no program and no file reads or sets a variable that has another name now"
        yield Given(f"{text}: {names}", NAMED_BY_TEXT)


def given_asked(asked: Asked) -> Iterator[Given]:
    """Yield the premises that were asked for and used."""
    silent = sorted(name.partition("=")[2] for name in asked.used if name.startswith(f"{UNREAD_SILENT}="))
    if silent:
        yield Given(f"files that were not read do not state {', '.join(silent)}", UNREAD_SILENT)
    for name in asked.used:
        if name in PREMISES:
            yield Given(PREMISES[name].sentence, name)
        elif not name.startswith(f"{UNREAD_SILENT}="):
            yield Given(name)


def is_whole(config: Config) -> bool:
    """Return whether this is a main configuration, and no fragment."""
    return any(directive.name == "http" for directive in config.readings.directives)


def _without_matches(config: Config) -> Iterator[str]:
    """Yield the wildcards of includes that match no file."""
    for scope in config.readings.tree():
        for include in scope.directives:
            is_read = include.name == "include" and include.args and not config.is_missing(include)
            if is_read and not config.included(include):
                yield str(include.args[0])


_Words = tuple[str, ...]


def unlike_outside(old: Config, new: Config) -> list[str]:
    """Return the names of directives outside of http in which two configurations differ: those of main and of events,
    and other blocks of main. Nothing for fragments."""
    before, after = _by_name(old), _by_name(new)
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))


def _by_name(config: Config) -> dict[str, list[_Words]]:
    stated: dict[str, list[_Words]] = {}
    for directive, scope in _outside(config):
        name = str(directive.name) if scope.context in ((), ("events",)) else scope.context[0]
        stated.setdefault(name, []).append((*scope.context, str(directive.name), *map(str, directive.args)))
    return stated


def _outside(config: Config) -> Iterator[tuple[Directive, Scope]]:
    """Yield the directives outside of http with their scopes; those of included files stand for an `include`."""
    main = config.readings
    if not any(directive.name == "http" for directive in main.directives):
        return
    scopes = [main, *(inner for scope in main.scopes if scope.context != ("http",) for inner in scope.tree())]
    for scope in scopes:
        for directive in scope.directives:
            is_read = directive.name == "include" and not config.is_missing(directive)
            if not is_read and not (scope is main and directive.block is not None):
                yield directive, scope
