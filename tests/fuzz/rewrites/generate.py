"""A whole configuration made of a seed and a number: its files, how the command is run on it, and the requests."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from nginxopt.version import dotted
from tests.fuzz.nodes import Node
from tests.fuzz.rewrites import directives, rules, servers
from tests.fuzz.rewrites.requests import Ask, requests
from tests.fuzz.rewrites.rules import Scope

Mode = Literal["write", "folder", "print"]
Kind = Literal["whole", "site", "fragment"]

FILES = {
    "html/index.html": b"index <!--# echo var='1' --> up <!--# include virtual='/a/old' -->\n",
    "html/a.html": b"a up <!--# echo var='uri' -->\n",
    "html/b": b"static b up\n",
    "html/new": b"static new\n",
    "html/a/new": b"static a new\n",
    "html/a/index.html": b"a index <!--# echo var='1' --> <!--# include virtual='/b?x=1' -->\n",
    "html/static/a.html": b"static <!--# echo var='1' --> up\n",
    "html/alt/index.html": b"alt\n",
    "html/alt/b": b"alt b\n",
    "html/alt/new": b"alt new up\n",
    "html/t/x": b"t x\n",
    "htpasswd": b"user:{PLAIN}secret\n",
    "lua/captures.lua": b"ngx.say('file ', ngx.var[1] or '-')\n",
    "lua/plain.lua": b"ngx.say('file ', ngx.var.uri)\n",
    "lua/header.lua": b"ngx.header['X-LF'] = ngx.var[1] or '-'\n",
    "js/fuzz.js": b"""
function captures(r) { r.return(200, `js ${r.variables.uri} [${r.variables['1']}]`); }
function plain(r) { r.return(200, `js ${r.variables.uri}`); }
function filter(r) { r.headersOut['X-JF'] = `${r.variables['1']}`; }
function redirect(r) { r.internalRedirect('/a/old?x=2'); }
async function sub(r) {
    let got = await r.subrequest('/b', {args: 'x=1'});
    r.return(200, `${got.status} ${got.responseText}`);
}
function set(r) { return `${r.variables['1']}|${r.variables.uri}`; }
export default {captures, plain, filter, set, redirect, sub};
""",
}


@dataclass(frozen=True, slots=True)
class Command:
    """How the command is run: on a `whole` configuration, a `site` of it or a `fragment`, and what it writes."""

    kind: Kind
    mode: Mode
    targets: tuple[str, ...]
    options: tuple[str, ...]
    stdin: bool = False


@dataclass(slots=True)
class Case:
    """What is tried: the tree of `nginx.conf`, modes and links of its files, the command, requests, features.

    `is_http2`: the requests are made over HTTP/2, without TLS.
    """

    name: str
    tree: list[Node]
    command: Command
    asks: Sequence[Ask]
    features: set[str]
    carriage_returns: frozenset[str] = frozenset()
    modes: dict[str, int] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    is_http2: bool = False

    def newline(self, path: str) -> bytes:
        """How the lines of a file end."""
        return b"\r\n" if path in self.carriage_returns else b"\n"


def generate(seed: int, number: int, version: tuple[int, ...], count: int) -> Case:
    """Return the case of that number, for an nginx of that version, with `count` requests."""
    draw = random.Random(f"{seed}-{number}")
    modules = _modules(draw, version)
    scope = Scope(draw, "http", b"/", draw.random() < 0.5, modules)
    if not scope.captures:
        modules = scope.modules = modules - {"njs"}
    scope.features |= {f"module: {name}" for name in modules} | {
        "captures are read" if scope.captures else "captures unread"
    }
    layout = draw.choice(("single", "single", "debian", "debian", "docker", "rhel"))
    made, named = _servers(scope)
    snippets = {"debian": "snippets", "docker": "conf.d/inc", "rhel": "default.d", "single": "."}[layout]
    total = 0
    if layout != "single" or draw.random() < 0.3:
        for each in made:
            total = servers.moved_into_files(
                draw, scope, each, snippets.replace(".", "rules", 1) if snippets == "." else snippets, total
            )
    sites = [(f"site{index}", [each]) for index, each in enumerate(made)]
    fragments: list[tuple[str, str]] = []
    kind: Kind = draw.choices(("whole", "site", "fragment"), (6, 2, 3))[0]
    if kind == "fragment":
        fragments = _fragments(scope, made)
    tree, targets, links = _layout(scope, layout, sites, usual=kind == "fragment")
    command = _command(draw, kind, targets, fragments, version)
    scope.features |= {f"layout: {layout}", f"command: {kind} {command.mode}"}
    files = [path for _, node in _walked(tree) for path in node.files or {}]
    returns = frozenset(path for path in ("nginx.conf", *files) if draw.random() < 0.06)
    usual = draw.choice(((0o644,), (0o640,), (0o600,), (0o644, 0o640, 0o600), (0o644, 0o640, 0o600), (0o644, 0o444)))
    modes = {path: draw.choice(usual) for path in ("nginx.conf", *files)}
    scope.features |= {"CRLF"} if returns else set()
    # A connection of HTTP/2 ends once all is answered, and with it what nginx does behind an answer.
    is_http2 = number % 3 == 2 and not any(each.startswith(("mirror", "post_action")) for each in scope.features)
    scope.features |= {"HTTP/2"} if is_http2 else set()
    asks = requests(draw, named, count)
    return Case(f"{seed}-{number}", tree, command, asks, scope.features, returns, modes, links, is_http2)


def _walked(tree: list[Node]) -> list[tuple[list[Node], Node]]:
    from tests.fuzz.nodes import walk

    return list(walk(tree))


def _modules(draw: random.Random, version: tuple[int, ...]) -> frozenset[str]:
    """The dynamic and added modules that take part, of those that the binary has."""
    if version < (1, 23):
        return frozenset({"lua"} if draw.random() < 0.4 else ())
    present = {name for name in ("njs", "echo", "headers-more", "set-misc") if draw.random() < 0.3}
    return frozenset(present | ({"inherit"} if draw.random() < 0.6 else set()))


def _servers(scope: Scope) -> tuple[list[Node], list[tuple[bytes, int, list[bytes]]]]:
    """One to three servers, and by server a Host, a port and the URIs that matter."""
    draw = scope.draw
    names = [
        (b"one.test", b"one.test"),
        (b"*.two.test three.test", b"x.two.test"),
        (b"~^(?<sub>[a-z]+)\\.re\\.test$", b"abc.re.test"),
        (b"~^(.)(.*)\\.cap\\.test$", b"wide.cap.test"),
        (b"_", b"any.test"),
        (b'"" four.test', b"four.test"),
    ]
    blocks: list[Node] = []
    named: list[tuple[bytes, int, list[bytes]]] = []
    for name, host in draw.sample(names, draw.choice((1, 1, 2, 3))):
        port = draw.choice((0, 0, 1))
        inner = Scope(draw, "server", b"/", scope.captures, scope.modules, [], scope.features)
        if name.startswith(b"~"):
            scope.features.add("server_name with a regex")
        blocks.append(servers.server(inner, name, b"127.0.0.1:@P%d@" % port))
        named.append((host, port, inner.uris))
    return blocks, named


def _fragments(scope: Scope, blocks: list[Node]) -> list[tuple[str, str]]:
    """Put runs into files that are compiled by themselves; return their names and levels."""
    draw = scope.draw
    fragments: list[tuple[str, str]] = []
    for number in range(draw.choice((1, 1, 2))):
        node = draw.choice(blocks)
        level, base = draw.choice(("server", "server", "location")), b"/"
        bases = {b"location /": b"/", b"location /a/": b"/a/", b"location ^~ /p/": b"/p/"}
        inside = [location for location in node.body or [] if location.head in bases]
        if level == "location" and inside:
            node = draw.choice(inside)
            base = bases[node.head]
        else:
            level = "server"
        name = f"frag/f{number}.conf"
        body = rules.block(scope.inside(level, base))
        include = Node(b"include " + name.encode(), files={name: body})
        assert node.body is not None
        node.body.insert(draw.choice((2, 2, len(node.body))), include)
        fragments.append((name, level))
        scope.features.add(f"fragment in a {level}")
    return fragments


def _layout(
    scope: Scope, layout: str, sites: list[tuple[str, list[Node]]], *, usual: bool
) -> tuple[list[Node], list[str], dict[str, str]]:
    """The tree of nginx.conf as a distribution lays it out, the files of the sites, and links."""
    draw = scope.draw
    http = _http(scope, usual=usual)
    main = [Node(b"user root"), Node(b"worker_processes 1"), Node(b"error_log logs/error.log warn")]
    main += _main(scope)
    main.append(Node(b"events", [Node(b"worker_connections 512")]))
    links: dict[str, str] = {}
    targets: list[str] = []
    if layout == "single":
        http += [node for _, nodes in sites for node in nodes]
    else:
        folder, suffix = {"debian": ("sites-enabled", ""), "docker": ("conf.d", ".conf"), "rhel": ("conf.d", ".conf")}[
            layout
        ]
        absolute = b"@T@/" if draw.random() < 0.5 else b""
        pattern = b"include %s%s/*%s" % (absolute, folder.encode(), suffix.encode())
        files = {f"{folder}/{name}{suffix}": nodes for name, nodes in sites}
        if draw.random() < 0.15:
            files[f"{folder}/00-empty{suffix}"] = []
        targets = [f"{folder}/{name}{suffix}" for name, _ in sites]
        if layout == "debian":
            http.append(
                Node(b"include %sconf.d/*.conf" % absolute, files={"conf.d/extra.conf": directives.some(scope, 1)})
            )
            linked = [path for path in files if draw.random() < 0.7]
            links = {path: path.replace("enabled", "available") for path in linked}
            scope.features |= {"site is a link"} if links else set()
        http.append(Node(pattern, files=dict(sorted(files.items()))))
    main.append(Node(b"http", http))
    return main, targets, links


def _main(scope: Scope) -> list[Node]:
    draw = scope.draw
    nodes = []
    if draw.random() < 0.3:
        nodes.append(Node(b"pcre_jit on"))
        scope.features.add("pcre_jit on")
    if "lua" in scope.modules:
        modules = [
            Node(b"load_module /usr/lib/nginx/modules/%s.so" % name)
            for name in (b"ndk_http_module", b"ngx_http_lua_module")
        ]
        nodes.insert(0, Node(b"include modules-enabled/*.conf", files={"modules-enabled/50-lua.conf": modules}))
    if "inherit" in scope.modules and draw.random() < 0.2:
        nodes.append(Node(b"stream", [Node(b"map_hash_max_size 4096"), Node(b"map_hash_bucket_size 256")]))
        scope.features.add("map_hash_* in stream")
    return nodes


def _http(scope: Scope, *, usual: bool) -> list[Node]:
    """What stands in http before the servers; with `usual` hash sizes that are nginx's own or larger."""
    draw = scope.draw
    shown = b"$http_x_n [$request] $status $uri|$args|$sent_http_location|$sent_http_x_a"
    shown += b"|$sent_http_content_type|$limit_req_status|$sv"
    if scope.captures and draw.random() < 0.4:
        shown += b"|$captured"
        scope.features.add("reader: log_format")
    nodes = [
        Node(b"include mime.types", files={"mime.types": [Node(b"types { text/html html; text/css css; }", raw=True)]})
    ]
    nodes += [Node(b"log_format full '%s'" % shown), Node(b"access_log logs/a.log full")]
    nodes += [Node(b"limit_req_zone $host zone=rq:64k rate=100000r/s"), Node(b"limit_conn_zone $host zone=cn:64k")]
    nodes += [Node(b"root html"), Node(b"keepalive_requests 100000"), Node(b"large_client_header_buffers 4 32k")]
    nodes.append(_mapped(scope))
    if scope.captures:
        nodes.append(Node(b"map $host $captured", [Node(b"volatile"), Node(b'default "$1|$2"')]))
    if "njs" in scope.modules:
        nodes += [Node(b"js_path js"), Node(b"js_import fuzz from fuzz.js"), Node(b"js_set $js fuzz.set")]
    for name, sizes in (
        (b"map_hash_max_size", (b"512", b"2048", b"100000")),
        (b"map_hash_bucket_size", (b"32", b"64", b"128", b"256")),
        (b"variables_hash_max_size", (b"512", b"1024", b"4096")),
        (b"variables_hash_bucket_size", (b"64", b"64", b"128")),
    ):
        if draw.random() < 0.12:
            nodes.append(Node(name + b" " + draw.choice(sizes[usual:])))
            scope.features.add(name.decode())
    if draw.random() < 0.15:
        glob = draw.choice(
            (b"n[xy]o_*.conf", b"conf.d/../nxo_*", b"./*.maps", b"*/nxo_*.conf", b"@T@//n*o_*.conf", b"*.http")
        )
        nodes.append(Node(b"include " + glob))
        scope.features.add("include that may match what is new")
    if draw.random() < 0.1:
        nodes += [Node(b"map $uri $many%d_%s" % (number, b"v" * number), [Node(b"default 1")]) for number in range(30)]
        scope.features.add("many variables")
    # The sizes of hashes must come before the first map: the order of all else does not matter.
    nodes.sort(key=lambda node: node.head.startswith((b"map ", b"split_clients")))
    nodes += directives.some(scope.inside("http"), draw.choice((0, 1, 3)))
    if draw.random() < 0.2 and "inherit" not in scope.modules:
        nodes.append(Node(b"split_clients $uri $bucket", [Node(b"50% a"), Node(b"* b")]))
    # Variables that any rule may read are set somewhere.
    return [
        *nodes,
        Node(
            b"server",
            [
                Node(b"listen 127.0.0.1:@P1@"),
                Node(b"server_name sets.test"),
                Node(b'set $sv ""'),
                Node(b'set $seen ""'),
            ],
        ),
    ]


def _mapped(scope: Scope) -> Node:
    draw = scope.draw
    volatile = [Node(b"volatile")] if draw.random() < 0.5 else []
    body = draw.choice((
        [Node(b"default d"), Node(b"/b bee"), Node(b"~^/a(.) re$1")] if scope.captures else [Node(b"/b bee")],
        [Node(b"default d"), Node(b"/b bee"), Node(b"/a/old $arg_v")],
        [Node(b'~^/(?<letter>[ab]) "$letter"'), Node(b'~*B$ "x"'), Node(b"default -")],
    ))  # fmt: skip
    scope.features.add("map with a regex" if any(b"~" in node.head for node in body) else "map without a regex")
    return Node(b"map %s $mapped" % draw.choice((b"$uri", b"$uri", b"$args", b"$host")), volatile + body)


def _command(
    draw: random.Random, kind: Kind, sites: list[str], fragments: list[tuple[str, str]], version: tuple[int, ...]
) -> Command:
    options: list[str] = []
    if draw.random() < 0.3:
        options += ["--target-version", dotted(version)]
    if draw.random() < 0.25:
        options += ["--max-strings", draw.choice(("1", "8", "256", "1024"))]
    if draw.random() < 0.15:
        options += ["--name", draw.choice(("n", "site_", "a" * 20, "b" * 31, "c" * 33, "d" * 40))]
    at_least = ["--at-least", draw.choice(("2", "5"))] if draw.random() < 0.08 else []  # of what is written
    if kind == "site" and sites:
        if "sites-enabled" in sites[0] or draw.random() < 0.5:
            options += ["-p", "@T@"] if draw.random() < 0.7 else []
        several = tuple(sites) if draw.random() < 0.5 else (draw.choice(sites),)
        return Command("site", "write", several, (*options, *at_least))
    if kind == "fragment":
        level = fragments[0][1]
        same = tuple(name for name, other in fragments if other == level)
        options += ["--context", level]
        mode: Mode = draw.choice(("write", "write", "print", "folder"))
        targets = same if mode == "write" else same[:1]
        options += at_least if mode == "write" else []
        return Command("fragment", mode, targets, tuple(options), stdin=mode == "print" and draw.random() < 0.3)
    mode = draw.choices(("write", "folder", "print"), (6, 1, 1))[0]
    options += at_least if mode == "write" else []
    return Command("whole", mode, ("nginx.conf",), tuple(options))
