"""Whole configurations at random, with what is asked of them. The seed and the number of one make it again."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nginxopt.system import nginx
from tests.fuzz.fixes.case import MAIN, Case, Start
from tests.fuzz.fixes.locations import Server, server
from tests.fuzz.fixes.origins import HTTP_KINDS, OTHER_KINDS, REPLICAS
from tests.fuzz.fixes.requests import steps
from tests.fuzz.fixes.text import Layout, Node, b, d
from tests.fuzz.fixes.world import Upstream, World

LUA = ("/usr/lib/nginx/modules/ndk_http_module.so", "/usr/lib/nginx/modules/ngx_http_lua_module.so")

_NAMES = ("app", "api", "Back.End", "a-b_c", "my app", "app_2", "web.test", "x", "cluster", "appx", "backend")


def case(seed: int, number: int, binary: nginx.Binary, kinds: Sequence[str] | None = None) -> Case:
    """Return the case of that number; its origins are of `kinds` only, if they are given."""
    return _Maker(random.Random(f"{seed}-{number}"), binary, kinds).case(f"{seed}-{number}")


@dataclass(slots=True)
class _Maker:
    rng: random.Random
    binary: nginx.Binary
    kinds: Sequence[str] | None
    files: dict[str, str] = field(default_factory=dict)

    def case(self, name: str) -> Case:
        rng = self.rng
        world = self._world()
        servers = [server(world, number) for number in range(rng.choice([1, 1, 2, 2, 3]))]
        self._share_ports(world, servers)
        http = [
            *self._http(world),
            *(upstream.block() for upstream in world.upstreams),
            *(server.node for server in servers),
        ]
        if rng.random() < 0.3:
            rng.shuffle(http)
        http = [*world.early, *http]
        nodes = [*self._main(world), self._events(), b("http", inner=self._split(http)), *self._stream(world)]
        layout = Layout.drawn(rng)
        self.files[MAIN] = layout.written(nodes)
        files = {path: text.encode() for path, text in {**self.files, **world.files}.items()}
        return Case(files, steps(world, servers), self._start(world), name, ports=world.ports)

    def _world(self) -> World:
        rng = self.rng
        old = self.binary.version < (1, 23)
        lua = old and rng.random() < 0.15 and all(Path(path).exists() for path in LUA)
        world = World(rng, self.binary.version, lua=lua)
        names = rng.sample(_NAMES, len(_NAMES))
        kinds = self.kinds or (*HTTP_KINDS, *HTTP_KINDS, "plain", "plain", *OTHER_KINDS)
        many = rng.random() < 0.06
        for number in range(rng.choice([12, 20, 30]) if many else rng.choice([1, 1, 2, 2, 3, 4])):
            kind = rng.choice(list(kinds)) if not many else "plain"
            upstream_name = names[number] if number < len(names) else f"many{number}"
            world.upstreams.append(self._upstream(upstream_name, kind))
        return world

    def _upstream(self, name: str, kind: str) -> Upstream:
        rng = self.rng
        servers = []
        for number in range(rng.choice([1, 1, 1, 2, 3])):
            words = ["server", f"@{kind}{number % REPLICAS}@"]
            for word, chance in _SERVER_WORDS:
                if rng.random() < chance and (number or word not in ("backup", "down")):
                    words.append(word)
            servers.append(Node(tuple(words)))
        if rng.random() < 0.03:
            servers.append(d("server", "127.0.0.1:1", "max_fails=1"))
        backup = any(word == "backup" for server in servers for word in server.words)
        methods = [["least_conn"]] * 3 + [["random", "two"], ["random", "two", "least_conn"], ["random"]]
        methods += [] if backup else [["ip_hash"], ["hash", "$request_uri"], ["hash", "$arg_k", "consistent"]]
        if backup:
            methods = [["least_conn"]]
        extra = [Node(tuple(rng.choice(methods)))] if rng.random() < 0.4 else []
        if rng.random() < 0.35:
            extra.append(d("keepalive", rng.choice([1, 2, 8, 32])))
        if rng.random() < 0.25:
            zone = name.replace(" ", "_") if rng.random() < 0.7 else "shared"
            extra.append(d("zone", f"{zone}", "64k" if len(servers) < 4 else "128k"))
        if rng.random() < 0.05 and extra:
            extra.append(d("keepalive_timeout", "2s")) if any(node.name == "keepalive" for node in extra) else None
        rng.shuffle(extra)
        late = any(node.name in ("ip_hash", "hash", "random", "least_conn") for node in extra) and backup
        nodes = extra + servers if late or rng.random() < 0.5 else servers + extra
        return Upstream(name, kind, nodes)

    def _share_ports(self, world: World, servers: Sequence[Server]) -> None:
        """Nothing to do for the first; others listen where one before does, or on a port of their own."""
        world.ports = max((server.port for server in servers), default=0) + 1

    def _main(self, world: World) -> list[Node]:
        rng = self.rng
        nodes = [d("load_module", path) for path in LUA] if world.lua else []
        nodes.append(d("error_log", "logs/error.log", rng.choice(["error", "error", "warn", "notice"])))
        maybe = [
            (0.6, d("worker_processes", rng.choice([1, 1, 1, 2, "auto"]))),
            (0.1, d("worker_rlimit_nofile", rng.choice([64, 512, 1024, 8192]))),
            (0.05, d("worker_cpu_affinity", rng.choice(["01", "auto", "01"]))),
            (0.1, d("pcre_jit", rng.choice(["off", "off", "on"]))),
            (0.05, d("worker_priority", 1)),
            (0.05, d("timer_resolution", "50ms")),
        ]
        return nodes + [node for chance, node in maybe if rng.random() < chance]

    def _events(self) -> Node:
        rng = self.rng
        maybe = [
            (0.6, d("worker_connections", rng.choice([12, 16, 24, 40, 64, 512, 1024, 4096, 8192, 20000]))),
            (0.2, d("accept_mutex", rng.choice(["on", "on", "off"]))),
            (0.2, d("multi_accept", "on")),
            (0.1, d("use", "epoll")),
        ]
        return b("events", inner=[node for chance, node in maybe if rng.random() < chance])

    def _http(self, world: World) -> list[Node]:
        rng = self.rng
        world.early.append(
            d("log_format", "told", "$request $status $upstream_status $upstream_cache_status $http_host")
        )
        nodes = [
            d("access_log", "logs/access.log", "told") if rng.random() < 0.6 else d("access_log", "off"),
            d("root", "html"),
            *(d(f"{name}_temp_path", f"temp/{name}") for name in ("client_body", "fastcgi", "uwsgi", "scgi")),
            d("proxy_temp_path", rng.choice(["temp/proxy", "temp/proxy", "cache/temp"])),
        ]
        if rng.random() < 0.7:
            nodes.append(b("types", inner=[d(f"text/{kind}", kind) for kind in ("html", "css")] + _TYPES))
        nodes += [d(*words) for chance, choices in _HTTP if rng.random() < chance for words in [rng.choice(choices)]]
        if rng.random() < 0.3:
            nodes += [d("gzip", "on"), *(d(*words) for chance, choices in _GZIP if rng.random() < chance
                                         for words in [rng.choice(choices)])]  # fmt: skip
        nodes += list(world.shared())
        return nodes

    def _stream(self, world: World) -> list[Node]:
        """Return a stream block for a binary that has it, whose zone may be called as an upstream is."""
        rng = self.rng
        if self.binary.version < (1, 23) or rng.random() > 0.08:
            return []
        name = rng.choice(world.upstreams).name
        inner = [d("server", "@plain0@"), d("server", "@plain1@")]
        inner += [d("zone", name.replace(" ", "_"), "64k")] if rng.random() < 0.5 else []
        stream = [b("upstream", name, inner=inner)]
        if rng.random() < 0.5:
            stream.append(d("limit_conn_zone", "$binary_remote_addr", f"zone={name.replace(' ', '_')}x:1m"))
        return [b("stream", inner=stream)]

    def _split(self, http: list[Node]) -> list[Node]:
        """Move some blocks into files that one glob includes."""
        rng = self.rng
        if rng.random() > 0.25:
            return http
        movable = [node for node in http if node.name in ("server", "upstream", "map") and rng.random() < 0.7]
        if not movable:
            return http
        layout = Layout.drawn(rng)
        for number, node in enumerate(movable):
            self.files[f"conf.d/{number:02}-{node.name}.conf"] = layout.written([node])
        at = max((http.index(node) for node in movable), default=0)
        kept = [node for node in http[: at + 1] if node not in movable]
        return [*kept, d("include", rng.choice(["conf.d/*.conf", "conf.d/*"])), *http[at + 1 :]]

    def _start(self, world: World) -> Start:
        rng = self.rng
        globals_ = rng.choice(_GLOBALS) if rng.random() < 0.03 else ""
        limits = rng.choice([(1024, 1024), (1024, 20000), (256, 4096), (20000, 20000)]) if rng.random() < 0.3 else None
        small = rng.choice(["cache", "cache", "temp"]) if world.caches and rng.random() < 0.15 else ""
        return Start(globals_, limits, bool(limits) and not small and rng.random() < 0.3, small)


_SERVER_WORDS = (
    ("weight=2", 0.1), ("max_fails=0", 0.1), ("max_fails=1", 0.1), ("fail_timeout=1s", 0.1), ("backup", 0.05),
    ("down", 0.03), ("max_conns=20", 0.04),
)  # fmt: skip

_GLOBALS = ("worker_processes 2;", "worker_rlimit_nofile 4096;", "pcre_jit on;", "worker_shutdown_timeout 2s;")

_TYPES = [d("application/javascript", "js"), d("image/png", "png"), d("text/plain", "txt")]

_HTTP: Sequence[tuple[float, Sequence[tuple[object, ...]]]] = (
    (0.4, [("sendfile", "on"), ("sendfile", "off")]),
    (0.3, [("tcp_nopush", "on")]),
    (0.2, [("tcp_nodelay", "off"), ("tcp_nodelay", "on")]),
    (0.3, [("keepalive_timeout", "0"), ("keepalive_timeout", "65"), ("keepalive_timeout", "2s"),
           ("keepalive_timeout", "5", "5")]),
    (0.15, [("keepalive_requests", 1), ("keepalive_requests", 2), ("keepalive_requests", 10)]),
    (0.1, [("sendfile_max_chunk", "0"), ("sendfile_max_chunk", "64k")]),
    (0.1, [("open_file_cache", "max=1000", "inactive=20s"), ("open_file_cache", "max=20000")]),
    (0.15, [("default_type", "application/octet-stream"), ("default_type", "text/html")]),
    (0.1, [("client_body_buffer_size", "1k"), ("client_max_body_size", "2k")]),
    (0.1, [("server_tokens", "off")]),
    (0.1, [("proxy_set_header", "Host", "$host"), ("proxy_set_header", "X-Http", "1")]),
    (0.05, [("proxy_set_header", "Connection", "")]),
    (0.06, [("proxy_http_version", "1.1"), ("proxy_http_version", "1.0")]),
    (0.08, [("proxy_buffering", "off"), ("proxy_request_buffering", "off")]),
    (0.1, [("proxy_buffers", "8", "4k"), ("proxy_max_temp_file_size", "0")]),
    (0.1, [("proxy_intercept_errors", "on")]),
    (0.1, [("add_header", "X-Server", "$hostname"), ("add_header", "X-All", "yes", "always")]),
    (0.1, [("error_page", "404", "/50x.html"), ("error_page", "502", "504", "=200", "/50x.html")]),
    (0.05, [("map_hash_max_size", 64), ("map_hash_bucket_size", 64)]),
    (0.05, [("reset_timedout_connection", "on")]),
    (0.05, [("output_buffers", "1", "4k")]),
    (0.05, [("max_ranges", "1")]),
    (0.05, [("etag", "off")]),
    (0.05, [("directio", "512")]),
    (0.05, [("limit_rate", "2m")]),
)  # fmt: skip

_GZIP: Sequence[tuple[float, Sequence[tuple[object, ...]]]] = (
    (0.5, [("gzip_types", "text/plain", "text/css", "application/javascript"), ("gzip_types", "*"),
           ("gzip_types", "text/plain", "image/png", "image/jpeg", "application/zip")]),
    (0.4, [("gzip_comp_level", 9), ("gzip_comp_level", 7), ("gzip_comp_level", 1)]),
    (0.3, [("gzip_proxied", "any"), ("gzip_proxied", "off")]),
    (0.3, [("gzip_vary", "on")]),
    (0.3, [("gzip_min_length", 20), ("gzip_min_length", 1000)]),
    (0.2, [("gzip_http_version", "1.0"), ("gzip_http_version", "1.1")]),
)  # fmt: skip


def cases(
    seed: int, first: int, count: int, binary: nginx.Binary, kinds: Sequence[str] | None = None
) -> Iterator[Case]:
    """Yield the cases of these numbers."""
    for number in range(first, first + count):
        yield case(seed, number, binary, kinds)
