"""Directives outside of http, which are not compared: they decide how nginx runs, and not what it answers.

Those that differ are named in the result.
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Config, Directive, Scope

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
