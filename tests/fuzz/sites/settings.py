"""Directives other than those of the rewrite module: where files are, who may read them, errors, headers, handlers."""

from __future__ import annotations

from collections.abc import Callable

from tests.fuzz.nodes import Node
from tests.fuzz.sites.scope import Level, Scope
from tests.fuzz.sites.values import target, text
from tests.fuzz.sites.words import TARGETS, b, chance, d

_ANY: tuple[Level, ...] = ("server", "location", "named", "if")
_LOCATION: tuple[Level, ...] = ("location", "named")


def settings(scope: Scope) -> list[Node]:
    """Return some settings that may stand here, each name once but for those that add up."""
    nodes: list[Node] = []
    for odds, levels, make in _SETTINGS:
        if scope.level in levels and chance(scope.draw, odds * (0.5 if scope.level == "if" else 1)):
            nodes += make(scope)
    return nodes


def handler(scope: Scope) -> Node:
    """Return what answers in the place of files."""
    draw = scope.draw
    address = draw.choice(("{http0}", "{http1}", f"up{scope.number}"))
    variable = f"$address{scope.number}"
    plain = scope.is_regex or scope.level in ("named", "if", "limit_except")
    options = [f"http://{address}", f"http://{address}", f"http://{variable}", f"http://{variable}/p$uri"]
    options += [f"http://{variable}$request_uri", f"http://{variable}/$1", f"http://{variable}/"]
    if not plain:
        options += [f"http://{address}{uri}" for uri in ("/", "/V/", "/V", "/z?k=v", "/%41 b/")]
    match draw.randint(0, 12):
        case 0:
            return d("fastcgi_pass", "{fastcgi0}")
        case 1:
            return d("uwsgi_pass", "{uwsgi1}")
        case 2:
            return d("scgi_pass", "{scgi0}")
        case 3:
            return d("empty_gif") if scope.level in ("location", "named") else d("proxy_pass", options[0])
        case _:
            return d("proxy_pass", draw.choice(options))


def limit_except(scope: Scope) -> Node:
    """Return a block for other methods."""
    outer, scope.level = scope.level, "limit_except"
    inner = [scope.log(), *_access(scope)]
    if chance(scope.draw, 0.2):
        inner.append(handler(scope))
    scope.level = outer
    return b("limit_except", *scope.draw.choice((("GET",), ("POST",), ("GET", "POST"))), inner=inner)


def try_files(scope: Scope) -> Node:
    """Return a `try_files`."""
    draw = scope.draw
    paths = ("$uri", "$uri/", "$uri.html", "/f.txt", "/nx", "$uri/index.html", "f.txt", "/d/", "$arg_v", "$uri$1")
    some = draw.choices(paths,
                        k=draw.choice((1, 1, 2, 3)))  # fmt: skip
    named = sorted(scope.named) or ["@n"]
    last = draw.choice(
        ("=404", "=403", "=418", "=503", draw.choice(named), draw.choice(named), target(scope), "/index.txt?x=$uri")
    )
    return d("try_files", *some, last)


def _access(scope: Scope) -> list[Node]:
    draw = scope.draw
    rules = [("allow", "127.0.0.1"), ("deny", "all"), ("allow", "all"), ("deny", "127.0.0.0/8"), ("allow", "10.1.1.1"),
             ("deny", "10.0.0.0/8"), ("deny", "::1")]  # fmt: skip
    return [d(*draw.choice(rules)) for _ in range(draw.choice((1, 1, 2)))]


def _error_page(scope: Scope) -> list[Node]:
    draw = scope.draw
    nodes = []
    for _ in range(draw.choice((1, 1, 2))):
        codes = [
            str(draw.choice((404, 404, 403, 405, 410, 418, 500, 503, 301, 302, 400, 502)))
            for _ in range(draw.choice((1, 2)))
        ]
        code = draw.choice(([], [], ["="], ["=200"], ["=404"], ["=301"], ["=503"]))
        named = sorted(scope.named) or ["@n"]
        page = draw.choice(
            (*TARGETS, draw.choice(named), draw.choice(named), "https://e.test/x", "$arg_v", "/err/404.html?q=$uri")
        )
        nodes.append(d("error_page", *codes, *code, page))
    return nodes


def _add_header(scope: Scope) -> list[Node]:
    draw = scope.draw
    always = ["always"] if chance(draw, 0.4) else []
    value = draw.choice(("1", text(scope), "$uri", "", "$v0", "a b"))
    return [d("add_header", f"X-{draw.choice('ABC')}", value, *always) for _ in range(draw.choice((1, 1, 2)))]


def _root(scope: Scope) -> list[Node]:
    return [
        d("root", scope.draw.choice(("{T}/r", "{T}/r", "{T}/other", "{T}/al", "{T}/r/d", "{T}/$arg_v", "{T}/none")))
    ]


def _auth_request(scope: Scope) -> list[Node]:
    uris = ("/f.txt", "/nx", "/q1", "/a/b", "off", "/d/", "/i/")
    return [d("auth_request", scope.draw.choice(uris))]


def _real_ip(scope: Scope) -> list[Node]:
    header = scope.draw.choice(("X-Real-IP", "X-A", "X-Forwarded-For"))
    return [d("set_real_ip_from", "127.0.0.0/8"), d("real_ip_header", header)]


def _inherit(scope: Scope) -> list[Node]:
    """`add_header_inherit` came with 1.29.3."""
    if scope.version < (1, 29, 3):
        return []
    return [d("add_header_inherit", scope.draw.choice(("merge", "merge", "off", "on")))]


def _one(*words: str) -> Callable[[Scope], list[Node]]:
    return lambda _: [d(*words)]


def _choice(name: str, *values: str) -> Callable[[Scope], list[Node]]:
    return lambda scope: [d(name, scope.draw.choice(values))]


def _index(scope: Scope) -> list[Node]:
    names = ("index.html", "f.txt", "g.txt", "nx", "/x.html", "only.$arg_v", "index.php", "sub/f.txt", "index.txt")
    return [d("index", *scope.draw.sample(names, scope.draw.choice((1, 2))))]


_SETTINGS: tuple[tuple[float, tuple[Level, ...], Callable[[Scope], list[Node]]], ...] = (
    (0.12, _ANY, _root),
    (0.2, _ANY, _error_page),
    (0.2, _ANY, _add_header),
    (0.12, ("server", "location", "named"), _index),
    (0.1, ("server", "location", "named"), _access),
    (0.05, ("server", "location", "named"), _choice("satisfy", "any", "all")),
    (0.08, ("server", "location", "named", "if"), _choice("expires", "1h", "-1", "max", "off", "epoch", "0")),
    (0.06, ("server", "location", "named"), _choice("absolute_redirect", "off", "off", "on")),
    (0.04, ("server", "location", "named"), _choice("port_in_redirect", "off")),
    (0.04, ("server", "location", "named"), _choice("server_name_in_redirect", "on")),
    (0.06, ("server", "location", "named"), _choice("recursive_error_pages", "on")),
    (0.08, ("server", "location", "named"), _choice("autoindex", "on", "on", "off")),
    (0.05, ("server",), _choice("merge_slashes", "off")),
    (0.04, ("server",), _choice("underscores_in_headers", "on")),
    (0.05, _LOCATION, _one("internal")),
    (0.03, ("server", "location", "named"), _choice("client_max_body_size", "1", "3", "0")),
    (0.03, ("server", "location", "named"), _auth_request),
    (0.04, ("server", "location", "named"), _real_ip),
    (0.06, _ANY, _inherit),
    (0.03, ("server", "location", "named"), _choice("proxy_method", "PUT", "$arg_a")),
)
