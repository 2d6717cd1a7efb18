"""Texts with variables, and conditions."""

from __future__ import annotations

from tests.fuzz.sites.scope import Scope
from tests.fuzz.sites.words import PATTERNS, TARGETS, VALUES, VARIABLES, quoted


def variable(scope: Scope) -> str:
    """Return a variable of nginx or of the site."""
    return scope.draw.choice((*VARIABLES, *scope.variables(), *scope.variables()))


def text(scope: Scope) -> str:
    """Return a text that shows variables."""
    return "|".join(variable(scope) for _ in range(scope.draw.randint(1, 4)))


def value(scope: Scope) -> str:
    """Return what a variable is set to."""
    draw = scope.draw
    return draw.choice((draw.choice(VALUES), variable(scope), f"{variable(scope)}/{draw.choice(VALUES)}", "${uri}x"))


def target(scope: Scope) -> str:
    """Return a URI, perhaps with variables and arguments."""
    draw = scope.draw
    path = draw.choice((*TARGETS, *_PATHS, f"/{variable(scope)}"))
    return path + draw.choice(_ARGUMENTS)


_PATHS = (
    "/z$uri", "/a/$1", "/$2/$1", "$uri/", "/d/$1", "/b$v0", "/%61 b", "/\\x", "/$1$2$3", "/a?b=$1&c=$2", "/d//$1",
    "/a/../$1", "$1", "/${uri}",
)  # fmt: skip
_ARGUMENTS = ("", "", "", "", "?", "?x=1", "?x=$1", "?$args", "?y=$arg_a?", "?$uri", "?a=b&", "#f")


def condition(scope: Scope) -> str:
    """Return what stands in the parentheses of an `if`."""
    draw = scope.draw
    left = draw.choice((*(name for name in VARIABLES if not name[1].isdigit()), *scope.variables()))
    match draw.randint(0, 5):
        case 0:
            return left
        case 1:
            return f"{left} {draw.choice(('=', '!='))} {quoted(draw.choice((*VALUES, '$arg_v', '/f.txt', '/a')))}"
        case 2:
            file = draw.choice(("$document_root$uri", "$request_filename", "{T}/r/$arg_v", "{T}/r/d"))
            return f"{draw.choice(('-f', '-d', '-e', '!-f', '!-d', '!-e', '-x'))} {file}"
        case 3:
            return draw.choice(("$request_method = POST", "$request_method !~ ^(GET|HEAD)$", "$http_x_a", "$arg_a"))
        case _:
            pattern = scope.own(draw.choice(PATTERNS)[0])
            left = draw.choice(("$uri", "$uri", "$request_uri", "$args", left))
            return f'{left} {draw.choice(("~", "~", "~*", "!~"))} "{pattern}"'
