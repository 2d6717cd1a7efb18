"""Rewrites, and what else the rewrite module executes before, between and behind them."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from tests.fuzz.nodes import Node
from tests.fuzz.rewrites import directives
from tests.fuzz.rewrites.patterns import INFINITE, KINDS, pattern
from tests.rulegen import escape, token, word


@dataclass(slots=True)
class Scope:
    """What the generator knows where it stands.

    `base`: what URIs here start with; `captures`: whether something here may read `$1`; `modules`: those there are;
    `uris`: those that matter so far; `features`: what occurs; `own`: whether names must differ from all others.
    """

    draw: random.Random
    level: str
    base: bytes
    captures: bool
    modules: frozenset[str]
    uris: list[bytes] = field(default_factory=list)
    features: set[str] = field(default_factory=set)

    def inside(self, level: str, base: bytes | None = None) -> Scope:
        """The scope of a block in this one."""
        base = self.base if base is None else base
        return Scope(self.draw, level, base, self.captures, self.modules, self.uris, self.features)


CONDITIONS = (
    b"$arg_x", b"$arg_x = 1", b'$arg_x != "1"', b"$http_x_f ~ (.)", b"$http_x_f ~* ^(A)(b)?", b"$arg_x ~ (?<named>.)",
    b"$request_method = POST", b"$uri ~ ^/(.)(.)?", b"$args ~* x=(.)", b"-f $request_filename",
    b"!-e $request_filename", b"$cookie_k", b"$is_args", b"$uri !~ a(.)", b"$mapped", b"$mapped = bee", b'$host = ""',
    b"$scheme = http", b"$request_uri ~ %(..)", b"$http_x_f = $arg_x", b"$uri ~ (a)$",
)  # fmt: skip

FLAGS = (b"permanent", b"permanent", b"permanent", b"redirect", b"redirect", b"last", b"last", b"break", b"implicit")


def target(draw: random.Random, flag: bytes, groups: int, base: bytes) -> bytes:
    """Return a replacement: a path or, for an `implicit` redirect at least, a URL; with all that may stand in one."""
    paths = (
        b"/b",
        b"/new",
        b"/t/x",
        b"/index.html",
        b"/zz",
        b"/p%41q",
        b"/s%20x",
        b"/e%3Fx",
        b"/a/old",
        base + b"a",
        base + b"new",
        b"/static/a.html",
        b"/re/x",
        b"/" + word(draw),
    )
    text = draw.choice(paths).replace(b"$", b"").replace(b"?", b"")
    if flag == b"implicit" or (flag in (b"permanent", b"redirect") and draw.random() < 0.35):
        schemes = (
            b"http://ex.test",
            b"https://$http_host",
            b"$scheme://$host",
            b"${scheme}://$host",
            b"https://ex.test",
            b"$scheme://ex.test",
            b"${scheme}/x",
        )
        text = draw.choice(schemes) + text
    if draw.random() < 0.3:
        variables = (
            b"$arg_v",
            b"${arg_v}z",
            b"$host",
            b"$uri",
            b"$request_uri",
            b"$mapped",
            b"$sv",
            b"$document_root",
            b"$args",
            b"${uri}",
            b"$request_filename",
            b"$realpath_root",
            b"$limit_rate",
            b"$is_args$args",
        )
        numbered = tuple(b"/$%d" % number for number in range(1, groups + 1)) * 4 or (b"$1", b"$2")
        text += draw.choice((*variables, *numbered))
    if draw.random() < 0.25:
        text += b"?" + draw.choice(
            (b"k=1", b"k=%41", b"k=$arg_v", b"k=$1", b"a&l=$request_method", b"$args", b"k=$query_string&z", b"")
        )
    if draw.random() < 0.15:
        text += b"?"
    return text


def rewrite(scope: Scope, *, infinite: bool = False) -> Node:
    """Return a random rewrite, mostly one that ends the script.

    `infinite`: mostly one that matches infinitely many URIs.
    """
    draw = scope.draw
    drawn = pattern(draw, scope.base, INFINITE if infinite else KINDS)
    flag = draw.choice(FLAGS)
    if draw.random() < 0.04:
        flag = b"none"
    scope.uris += drawn.uris
    scope.features |= {f"pattern: {drawn.kind}", f"flag: {flag.decode()} ({scope.level})"}
    words = [b"rewrite", token(draw, drawn.regex), token(draw, target(draw, flag, drawn.groups, scope.base))]
    if flag not in (b"implicit", b"none"):
        words.append(flag)
    return Node(draw.choice((b" ",) * 12 + (b"\t", b"  ", b"\n        ")).join(words))


KIND_HEADS = (b"%d/", b"s/%d/", b"k-%d/", b"%d")
KIND_TAILS = ((b"(.*)$", 1), (b"([^/]+)/(.*)$", 2), (b"", 0), (b"(x|y(z))?", 2), (b"([0-9]+)/?$", 1))


def of_kinds(scope: Scope) -> list[Node]:
    """Return so many rules of a few kinds that those of a kind share a rewrite, and some others among them."""
    draw = scope.draw
    scope.features.add(f"rules of kinds ({scope.level})")
    kinds = []
    for _ in range(draw.choice((1, 2, 4))):
        (tail, groups), flag = draw.choice(KIND_TAILS), draw.choice(FLAGS)
        kinds.append((draw.choice(KIND_HEADS), tail, flag, target(draw, flag, groups, scope.base).rpartition(b"/")))
    nodes = []
    for number in range(draw.choice((110, 150))):
        head, tail, flag, (before, slash, after) = draw.choice(kinds)
        start = scope.base + head % number
        if number % 20 == 0:
            scope.uris += [start + end for end in (b"", b"a", b"a/b", b"x", b"yz", b"12/", b"\n", b"a+b%20")]
        to = b"%s%s%d%s" % (before, slash, number, after)
        words = [b"rewrite", token(draw, b"^" + escape(start) + tail), token(draw, to)]
        nodes.append(Node(b" ".join(words if flag == b"implicit" else [*words, flag])))
        if draw.random() < 0.05:
            nodes.append(rewrite(scope, infinite=True))
    return nodes


def run(scope: Scope) -> list[Node]:
    """Return some rewrites in a row, with things between some of them."""
    draw = scope.draw
    nodes: list[Node] = []
    count = draw.choice((1, 2, 3, 5, 6, 8, 10, 14))
    if draw.random() < 0.015:
        if draw.random() < 0.5:
            return of_kinds(scope)
        count = draw.choice((120, 300, 600))
        scope.features.add(f"run of hundreds ({scope.level})")
    infinite = draw.random() < 0.3
    if infinite:
        count = max(count, draw.choice((6, 8, 12, 25)))
        scope.features.add(f"run of rules for groups ({scope.level})")
    for _ in range(count):
        if draw.random() < min(0.07, 1 / count if infinite else 3 / count):
            nodes += between(scope, "between")
        nodes.append(rewrite(scope, infinite=infinite))
        if draw.random() < 0.03:
            nodes.append(Node(nodes[-1].head))
    return nodes


COMPARED = (
    b"$uri",
    b"$uri",
    b"$request_uri",
    b"$args",
    b"$arg_x",
    b"$http_x_f",
    b"$host",
    b"$mapped",
    b"$sv",
    b"$cookie_k",
)
RETURNS = (
    b"403", b"403", b"404", b"204", b"444", b"418", b"301 /new", b"302 /b?x=1", b"301 https://ex.test$request_uri",
    b"https://ex.test/", b"$scheme://$host/x", b'200 ""', b'404 ""', b'200 "$uri $args"', b'404 "$arg_none"', b"301",
    b'403 "no $http_x_f"', b"303 $mapped", b"308 /a/old", b'200 "0"',
)  # fmt: skip


REWRITES = (
    b"^ /new last", b"^ /b?x=1 break", b".* https://ex.test$request_uri? permanent", b"^ $scheme://$host/x",
    b"^.* /a/old?y=$arg_x redirect", b"^ https://ex.test", b"^ /new? last", b"^ /$mapped last", b"^(.*)$ /n$1 last",
    b"^ /goes/on",
)  # fmt: skip
SETS = (b"1", b"2", b"3", b'""', b'"$uri $args"', b"$host", b"$arg_x", b"$mapped", b"$sv", b'"$1"')
SET = (b"$seen", b"$seen", b"$seen", b"$seen", b"$SEEN", b"$sv", b"$args", b"$limit_rate")
RATES = (b"0", b"900k", b"1m", b"2m", b"3m", b'""')
"""What `$limit_rate` is set to: with less, a response takes as long as a test may wait for it."""


def statements(scope: Scope) -> list[bytes]:
    """Return what the conditions of a chain do: all return, some of them rewrite, or all set one variable."""
    draw = scope.draw
    kind = draw.choices(("return", "rewrite", "set"), (5, 3, 4))[0]
    scope.features.add(f"chain of ifs that {kind} ({scope.level})")
    if kind == "set":
        name = draw.choice(SET)
        values = draw.sample(RATES if name == b"$limit_rate" else SETS, draw.choice((1, 2, 3, 6)))
        return [b"set %s %s" % (name, value) for value in values]
    returns = [b"return " + answer for answer in draw.sample(RETURNS, draw.choice((1, 3, 8, 15)))]
    rewrites = [b"rewrite " + rule for rule in draw.sample(REWRITES, draw.choice((1, 2, 5)))]
    return returns if kind == "return" else returns[:3] + rewrites


def chain(scope: Scope) -> list[Node]:
    """Return conditions on one variable with a statement, and among them perhaps one that does something else."""
    draw = scope.draw
    variable = draw.choice(COMPARED)
    is_path = variable in (b"$uri", b"$request_uri")
    makers = (INFINITE, KINDS) if draw.random() < 0.5 else (INFINITE,)
    done = statements(scope)
    scope.features.add(f"chain of ifs on {variable.decode()} ({scope.level})")
    nodes = []
    for _ in range(draw.choice((5, 8, 9, 16))):
        operator = draw.choice((b"~", b"~", b"~", b"~*", b"~*", b"="))
        if is_path:
            drawn = pattern(draw, scope.base, draw.choice(makers))
            scope.uris += drawn.uris
            compared = drawn.uris[0] if operator == b"=" else drawn.regex
        else:
            compared = draw.choice(
                (b"1", b"A", b"a", b"ab", b"x", b"bee", b"", b"^$", b"2", b"test", b"y.x", b"b$", b"(a|b)")
            )
        statement = draw.choice(done)
        if scope.captures and draw.random() < 0.03:
            statement = b"return 301 /$1"
        body = [Node(statement)]
        if draw.random() < 0.02:
            body = [Node(b"set $seen chained")]
        nodes.append(Node(b"if (%s %s %s)" % (variable, operator, token(draw, compared)), body))
    if done[0].startswith(b"set ") and draw.random() < 0.8:
        nodes.append(Node(b'add_header X-Seen "[$seen]" always'))
    return nodes


def locations(scope: Scope) -> list[Node]:
    """Return regex locations that return or rewrite, one behind the other, some of them with settings of their own."""
    draw = scope.draw
    makers = draw.choice(((INFINITE,), (INFINITE, KINDS)))
    scope.features.add(f"run of regex locations ({scope.level})")
    nodes = []
    for _ in range(draw.choice((3, 4, 6, 9, 14, 30))):
        drawn = pattern(draw, scope.base, draw.choice(makers))
        scope.uris += drawn.uris
        inner = scope.inside("location")
        body = directives.some(inner, draw.choice((0, 0, 0, 1, 3)))
        body += [rewrite(inner)] if draw.random() < 0.25 else []
        body += [Node(b"return " + draw.choice((*RETURNS, b"301 /$1", b'200 "[$1] [$2] $uri"')))]
        if draw.random() < 0.1:
            body.insert(0, conditional(inner, "in a regex location before"))
        if draw.random() < 0.02:
            body = [Node(b"root html/alt")]
        nodes.append(Node(b"location %s %s" % (draw.choice((b"~", b"~", b"~", b"~*")), token(draw, drawn.regex)), body))
    return nodes


def block(scope: Scope) -> list[Node]:
    """Return a run with what may stand before and behind it."""
    draw = scope.draw
    nodes: list[Node] = []
    while draw.random() < 0.4:
        nodes += between(scope, "before")
    if draw.random() < 0.25:
        nodes += chain(scope)
    nodes += run(scope)
    while draw.random() < 0.25:
        nodes += between(scope, "behind")
    if draw.random() < 0.15:
        nodes += run(scope)
    return nodes


def between(scope: Scope, where: str) -> list[Node]:
    """Return a statement of the rewrite module, a directive of another, or a comment."""
    draw = scope.draw
    kind = draw.choices(("if", "statement", "directive", "comment"), (5, 3, 2, 1))[0]
    if kind == "if":
        return [conditional(scope, where)]
    if kind == "directive":
        return directives.some(scope, 1)
    if kind == "comment":
        return [
            Node(draw.choice((b"# rewrite ^/a$ /commented permanent;", "# Übergang; { }".encode(), b"#")), raw=True)
        ]
    return [statement(scope, where)]


def statement(scope: Scope, where: str) -> Node:
    """Return a statement that is neither an `if` nor a rewrite that ends the script."""
    choices = [
        b"set $seen $uri",
        b"set $sv x$arg_v",
        b'set $seen ""',
        b"set $sv $args",
        b"rewrite ^/flagless(.*)$ /a$1",
    ]
    if scope.captures:
        choices += [b'set $seen "[$1]"', b"set $sv $2", b'set $sv "$1$2"']
    if "set-misc" in scope.modules:  # its other directives crash the nginx of the package
        choices += [b"set_random $random 0 1"] * 2
    if "lua" in scope.modules and scope.captures:
        scope.features.add("reader: set_by_lua")
        choices += [b"set_by_lua_block $sv { return (ngx.var[1] or 'n') .. ngx.var.uri }"] * 2
    head = scope.draw.choice(choices)
    scope.features.add(f"{head.split()[0].decode()} {where} a run ({scope.level})")
    return Node(head, raw=head.endswith(b"}"))


def conditional(scope: Scope, where: str) -> Node:
    """Return an `if`, with statements and, in a location, with whatever else may stand in it."""
    draw = scope.draw
    condition = draw.choice(CONDITIONS)
    inner = scope.inside("if" if scope.level != "server" else "server if")
    body: list[Node] = []
    for _ in range(draw.choice((0, 1, 1, 2))):
        choices = [
            b"set $seen in$uri",
            b"set $sv y",
            b"return 403",
            b"return 204",
            b"return 302 /if$uri",
            b"break",
            b"return 418",
            b'return 200 "if $uri"',
        ]
        choices += [b'set $sv "$1"', b'set $seen "if[$1$2]"'] * 2 if scope.captures or b"(" in condition else []
        body.append(Node(draw.choice(choices[: None if draw.random() < 0.4 else 2] + choices[8:])))
    if draw.random() < 0.12:
        body.append(rewrite(inner))
    if inner.level == "if" and draw.random() < 0.75:
        effects = directives.some(inner, draw.choice((1, 1, 2, 3)))
        scope.features |= {f"if with {node.head.split()[0].decode()} {where} a run" for node in effects}
        body += effects
    scope.features.add(f"if {where} a run ({scope.level})")
    return Node(b"if (%s)" % condition, body)
