"""Refuses configurations with which nginx does not start, so that no request can be followed."""

from __future__ import annotations

from nginxopt.config import Directive
from nginxopt.semantics import arguments
from nginxopt.semantics.commands import TOGETHER, declared, place
from nginxopt.semantics.inherit import Level
from nginxopt.version import Version


def check(http: Level, target: Version, extra: frozenset[str]) -> None:
    """Raise `InputError` for the first directive that nginx refuses for its place, arguments, values or an earlier one.

    `extra` are directives that the build has besides those of its version.
    """
    main = http.around("main")
    _check(main if main is not None and http in main.levels else http, target, extra)  # a fragment has no main level


def _check(level: Level, target: Version, extra: frozenset[str]) -> None:
    here = declared(place(level.kind, level.parent.kind if level.parent else ""), target, extra)
    inner = iter(level.levels)
    earlier: dict[str, Directive] = {}
    for directive in level.directives:
        wrong = here.fault(directive)
        message = wrong.message if wrong else None
        if not wrong and directive.name == "if":
            message = _without_parentheses(directive)
        if not wrong and here.is_once(directive.name):
            message = _duplicate(directive, earlier)
        if not wrong and message is None:
            declaration = here.declaration(directive.name)
            message = arguments.fault(declaration, directive.args) if declaration else None
        if message is not None:
            raise directive.error(message, nginx=directive.located(message))
        if directive.block is not None:
            _check(next(inner), target, extra)
    for block in inner:  # around a fragment there is nothing but its level
        _check(block, target, extra)


def _without_parentheses(condition: Directive) -> str | None:
    """Return why nginx refuses an `if` whose condition does not begin with a parenthesis (`ngx_http_rewrite_if`)."""
    start = condition.span.start + len(condition.name)
    is_bare = condition.source.data[start : condition.span.end].lstrip()[:1] in (b"$", b"!", b"-")
    return f'invalid condition "{condition.args[0]}"' if is_bare and condition.args else None


def _duplicate(directive: Directive, earlier: dict[str, Directive]) -> str | None:
    """Return why nginx refuses a directive for an earlier one of its block, and record it otherwise."""
    name = str(directive.name)
    first = earlier.setdefault(TOGETHER.get(name, name), directive)
    if first is directive:
        return None
    is_same = first.name == name
    return f'"{name}" directive is duplicate' + ("" if is_same else f', "{first.name}" directive was specified earlier')
