"""Servers and locations at random, with the paths that lead to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tests.fuzz.fixes.passing import passing
from tests.fuzz.fixes.text import Node, b, d
from tests.fuzz.fixes.world import World


@dataclass(frozen=True, slots=True)
class Target:
    """A path that leads to a location, and what a request for it had better have: words of its query, headers."""

    path: str
    wants: tuple[str, ...] = ()


@dataclass(slots=True)
class Server:
    """A server, the port that it listens on, its name, whether it speaks TLS, and what may be asked of it."""

    node: Node
    port: int
    name: str
    tls: bool = False
    verifies: bool = False
    targets: list[Target] = field(default_factory=list)


def server(world: World, number: int) -> Server:
    """Return the server of that number."""
    rng = world.rng
    server_ = Server(b("server"), number, f"{'abc'[number]}.test", tls=world.chance(0.2))
    nodes = server_.node.inner
    assert nodes is not None
    nodes += _listen(world, server_)
    if server_.tls:
        nodes += _tls(world, server_)
    nodes += [d(*words) for chance, choices in _SERVER if world.chance(chance) for words in [rng.choice(choices)]]
    count = rng.choice([1, 2, 3, 4, 5])
    if len(world.upstreams) > 8 and number == 0:
        nodes += [_one_of_many(server_, index, one.name) for index, one in enumerate(world.upstreams)]
    for index in range(count):
        nodes.append(location(world, server_, f"/{'pqrst'[index]}/"))
    if world.chance(0.4):
        nodes.append(location(world, server_, "/", plain=True))
    if world.chance(0.1):
        nodes.insert(rng.randint(1, len(nodes)), _rewrites(world, server_))
    if world.chance(0.1):
        nodes += _redirects(world, server_)
    return server_


def _one_of_many(server_: Server, index: int, name: str) -> Node:
    server_.targets.append(Target(f"/many{index}/x", ("many",)))
    return b("location", f"/many{index}/", inner=[d("proxy_pass", f"http://{name}"), d("proxy_read_timeout", "1s")])


def _listen(world: World, server_: Server) -> list[Node]:
    rng = world.rng
    words = [f"127.0.0.1:@port{server_.port}@"]
    if server_.tls:
        words.append("ssl")
    if world.chance(0.1):
        words += rng.choice([["default_server"], ["backlog=64"], ["deferred"], ["reuseport"]])
    return [d("listen", *words), d("server_name", server_.name, *(["*.example.test"] if world.chance(0.1) else []))]


def _tls(world: World, server_: Server) -> list[Node]:
    rng = world.rng
    nodes = [d("ssl_certificate", "tls/server.pem"), d("ssl_certificate_key", "tls/server.key")]
    maybe: Sequence[tuple[float, Sequence[tuple[object, ...]]]] = (
        (0.5, [("ssl_session_tickets", "off")]),
        (0.2, [("ssl_session_cache", "none"), ("ssl_session_cache", "off"), ("ssl_session_cache", "builtin:100"),
               ("ssl_session_cache", "shared:tls:1m")]),
        (0.2, [("ssl_session_timeout", "5m"), ("ssl_session_timeout", "1d")]),
        (0.3, [("ssl_protocols", "TLSv1.2"), ("ssl_protocols", "TLSv1.2", "TLSv1.3")]),
        (0.1, [("ssl_buffer_size", "4k"), ("ssl_prefer_server_ciphers", "on")]),
        (0.15, [("add_header", "X-Client", "$ssl_client_verify,$ssl_client_s_dn", "always"),
                ("add_header", "X-Reused", "$ssl_session_reused", "always")]),
    )  # fmt: skip
    if world.chance(0.5):
        server_.verifies = True
        nodes += [d("ssl_client_certificate", "tls/ca.pem"), d("ssl_verify_client", rng.choice(["on", "optional"]))]
        if world.chance(0.7):
            nodes.append(d("ssl_crl", "tls/none.crl"))
            world.crl = True
    return nodes + [d(*words) for chance, choices in maybe if world.chance(chance) for words in [rng.choice(choices)]]


_SERVER: Sequence[tuple[float, Sequence[tuple[object, ...]]]] = (
    (0.15, [("proxy_set_header", "X-Server", "1"), ("proxy_set_header", "Host", "$http_host")]),
    (0.06, [("proxy_set_header", "Connection", "$http_connection"), ("proxy_set_header", "Connection", "close")]),
    (0.04, [("proxy_http_version", "1.1")]),
    (0.1, [("sendfile", "off"), ("sendfile", "on")]),
    (0.1, [("tcp_nopush", "on")]),
    (0.1, [("proxy_request_buffering", "off"), ("proxy_buffering", "off")]),
    (0.1, [("add_header", "X-Name", "$server_name", "always")]),
    (0.05, [("expires", "1h")]),
    (0.1, [("error_page", "500", "502", "503", "504", "/50x.html")]),
    (0.05, [("if_modified_since", "before")]),
    (0.05, [("merge_slashes", "off")]),
    (0.05, [("underscores_in_headers", "on")]),
)  # fmt: skip


def location(world: World, server_: Server, path: str, *, plain: bool = False, depth: int = 0) -> Node:
    """Return a location for a path, which takes part in what is asked of the server."""
    rng = world.rng
    kinds: list[tuple[int, Callable[[World, Server, str], list[Node]]]] = [
        (12, passing), (3, _static), (1, _returning), (1, _nothing),
    ]  # fmt: skip
    if depth == 0:
        kinds += [(2, _asking), (1, _with_names)]
    if world.lua:
        kinds.append((3, _lua))
    chosen = rng.choices([one for _, one in kinds], [weight for weight, _ in kinds])[0]
    inner = chosen(world, server_, path)
    server_.targets.append(Target(path + rng.choice(["", "a.html", "x/y", "app.js", "c.png"])))
    if depth < 2 and world.chance(0.25):
        below = path + ("below/" if not plain else "q/below/")
        inner.append(location(world, server_, below, depth=depth + 1))
    if world.chance(0.15):
        inner.append(_if(world))
    if depth or plain or world.chance(0.7):
        return b("location", path, inner=inner)
    if any(directive.name == "location" for directive in inner) or _has_uri(inner):
        return b("location", "^~", path, inner=inner)
    pattern = rng.choice([f"^{path}", f"^{path}(.*)$", f"{path}.*", f"^{path}.*$"])
    return b("location", rng.choice(["~", "~*"]), pattern, inner=inner)


def _has_uri(nodes: Sequence[Node]) -> bool:
    """Return whether a pass has a URI, which a location with a pattern must not have."""
    for node in nodes:
        if node.name == "proxy_pass" and "$" not in node.words[1] and node.words[1].count("/") > 2:
            return True
        if node.inner and _has_uri(node.inner):
            return True
    return any(node.name == "alias" for node in nodes)


def _if(world: World) -> Node:
    """Return an `if`, which may pass to an upstream of its own."""
    rng = world.rng
    condition = rng.choice(["($arg_x)", "($http_x_if)", "($request_method = POST)", "($arg_x ~ ^(\\d+)$)"])
    other = rng.choice(world.upstreams)
    pass_ = {"fastcgi": "fastcgi_pass", "uwsgi": "uwsgi_pass", "scgi": "scgi_pass"}.get(other.kind, "proxy_pass")
    to = other.name if pass_ != "proxy_pass" else f"{other.scheme}://{other.name}"
    choices = [
        [d(pass_, to)], [d(pass_, to)], [d("add_header", "X-If", "yes", "always")], [d("set", "$seen", "1")],
        [d("return", "403")], [d("expires", "1h")], [d("rewrite", "^", "/index.html", "break")],
    ]  # fmt: skip
    return b("if", condition, inner=rng.choice(choices))


def _static(world: World, server_: Server, path: str) -> list[Node]:
    rng = world.rng
    server_.targets.append(
        Target(path + rng.choice(["index.html", "big.bin", "a.html", "c.png", "sub/d.txt"]), ("static",))
    )
    nodes = [d("alias", "html/")] if path.startswith("/") and world.chance(0.6) and path != "/" else [d("root", "html")]
    maybe: Sequence[tuple[float, Sequence[tuple[object, ...]]]] = (
        (0.2, [("expires", "1h"), ("expires", "-1")]),
        (0.3, [("sendfile", "off"), ("sendfile", "on")]),
        (0.2, [("tcp_nopush", "on")]),
        (0.1, [("gzip", "on")]),
        (0.1, [("ssi", "on")]),
        (0.1, [("index", "index.html")]),
        (0.1, [("autoindex", "on")]),
        (0.1, [("limit_rate", "1m")]),
        (0.1, [("sendfile_max_chunk", "16k")]),
        (0.1, [("sub_filter", "index", "xedni")] if world.is_old else [("etag", "off")]),
        (0.1, [("open_file_cache", "max=100")]),
    )  # fmt: skip
    return nodes + [d(*words) for chance, choices in maybe if world.chance(chance) for words in [rng.choice(choices)]]


def _returning(world: World, _made: Server, _path: str) -> list[Node]:
    if world.chance(0.3):
        return [d("return", "200", f"value {world.big_map()}")]
    return [
        d(
            *world.rng.choice(
                [("return", "204"), ("return", "301", "/elsewhere$is_args$args"), ("return", "200", "$uri")]
            )
        )
    ]


def _nothing(world: World, _made: Server, _path: str) -> list[Node]:
    return [d("add_header", "X-Nothing", "$request_method")] if world.chance(0.5) else []


def _lua(world: World, _made: Server, _path: str) -> list[Node]:
    """Return what reads variables where no directive names them."""
    rng = world.rng
    world.websocket_map()
    code = rng.choice([
        " ngx.say(ngx.var.connection_upgrade, ngx.var[1], ngx.var.uri) ",
        " local d = ngx.shared.counts; ngx.say(d and d:incr('n', 1, 0)) ",
        " ngx.say(ngx.var.http_connection, ' ', ngx.var.server_protocol) ",
    ])  # fmt: skip
    return [b("content_by_lua_block", raw=code, inner=[])]


def _asking(world: World, server_: Server, path: str) -> list[Node]:
    """Return a pass that asks other locations first or beside it: auth_request, mirror, slice, SSI."""
    rng = world.rng
    nodes = passing(world, server_, path)
    extra = [[d("mirror", "/_mirror")], [d("auth_request", "/_auth")], [d("ssi", "on")]]
    chosen = rng.choice(extra)
    for name in ("/_mirror", "/_auth"):
        if chosen[0].words[1] == name and not any(node.words[-1] == name for node in server_.node.inner or ()):
            assert server_.node.inner is not None
            server_.node.inner.append(
                b("location", "=", name, inner=[d("internal"), *passing(world, server_, name, simple=True)])
            )
    return [*(node for node in nodes if node.name != chosen[0].name), *chosen]


def _with_names(world: World, server_: Server, path: str) -> list[Node]:
    """Return `try_files` or `error_page` that leads to a named location."""
    name = f"@n{len(server_.targets)}"
    assert server_.node.inner is not None
    server_.node.inner.append(b("location", name, inner=passing(world, server_, name, simple=True)))
    if world.chance(0.5):
        return [d("root", "html"), d("try_files", "$uri", name)]
    nodes = [node for node in passing(world, server_, path, simple=True) if node.name != "proxy_intercept_errors"]
    return [*nodes, d("proxy_intercept_errors", "on"), d("error_page", "404", "503", "=", name)]


def _rewrites(world: World, server_: Server) -> Node:
    server_.targets.append(Target("/old/a", ("x",)))
    return d("rewrite", world.rng.choice(["^/old/(.*)$", "/old/(.*).*", "^/old/.*"]), "/p/moved", "last")


def _redirects(world: World, server_: Server) -> list[Node]:
    """Return rewrites of which some say the same again, with patterns of many kinds."""
    rng = world.rng
    patterns = rng.sample(_PATTERNS, 4)
    server_.targets += [Target(path) for path in ("/ax", "/aaa", "/x12", "/q", "/" + "a" * 3_000)]
    nodes = [d("rewrite", pattern, f"/to{index}", "permanent") for index, pattern in enumerate(patterns)]
    return [*nodes, rng.choice(nodes)] if world.chance(0.5) else nodes


_PATTERNS = (
    "^/(a){3000}$", "/?x[0-9]{0,2}$", "^/a+$", "^/(a|b)*x$", "^/.*\\.php$", ".*/x[0-9]+.*", "^/q$", "(?i)^/Q$",
    "^/(?:[^x]|y)*z$", "^/x(\\d+)$", "^.*/aaa.*$",
)  # fmt: skip
