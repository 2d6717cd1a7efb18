"""Statements of the rewrite module."""

from __future__ import annotations

from tests.fuzz.nodes import Node
from tests.fuzz.sites import settings
from tests.fuzz.sites.scope import Level, Scope
from tests.fuzz.sites.values import condition, target, text, value
from tests.fuzz.sites.words import CODES, PATTERNS, chance, d


def script(scope: Scope, most: int) -> list[Node]:
    """Return some statements."""
    return [_statement(scope) for _ in range(scope.draw.randint(1, most))]


def _statement(scope: Scope) -> Node:
    match scope.draw.choices(
        range(5), (5, 6, 6 if "if" not in scope.level else 0, 1, 2.5 if scope.level != "server" else 0.4)
    )[0]:
        case 0:
            return d("set", scope.draw.choice(("$v0", "$v1", "$v2", "$v3", "$v0", "$args")), value(scope))
        case 1:
            return _rewrite(scope)
        case 2:
            return _if(scope)
        case 3:
            return d("break")
        case _:
            return _return(scope)


def _rewrite(scope: Scope) -> Node:
    draw = scope.draw
    pattern, samples = draw.choice(PATTERNS)
    scope.uris += samples
    replacement = target(scope)
    if chance(draw, 0.12):
        replacement = draw.choice(("https://e.test$uri", "http://e.test/$1?", "$scheme://e.test/x", "f$uri", "$v0"))
    flag = draw.choice(("", "", "last", "break", "redirect", "permanent"))
    return d("rewrite", scope.own(pattern), replacement, *([flag] if flag else []))


def _return(scope: Scope) -> Node:
    draw = scope.draw
    code = draw.choice(CODES)
    if code in (301, 302, 303, 307, 308):
        return d(
            "return",
            str(code),
            draw.choice((target(scope), "https://e.test$request_uri", "https://$host$uri", "x$uri")),
        )
    if chance(draw, 0.1):
        return d("return", draw.choice(("https://e.test/", "$scheme://$host/x", "http://e.test$uri")))
    if chance(draw, 0.6):
        return d("return", str(draw.choice((200, code))), text(scope))
    return d("return", str(code))


def _if(scope: Scope) -> Node:
    outer: Level = scope.level
    scope.level = "if" if outer == "location" else "server if"
    inner: list[Node] = []
    if scope.level == "if":
        inner += [scope.log(), *settings.settings(scope)]
        if chance(scope.draw, 0.25):
            inner.append(settings.handler(scope))
    if not inner or chance(scope.draw, 0.8):
        inner += script(scope, 2)
    scope.level = outer
    return Node(f"if ({condition(scope)})".encode(), inner)
