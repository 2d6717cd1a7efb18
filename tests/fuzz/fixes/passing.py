"""Locations that pass requests on, with all that may stand beside a pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tests.fuzz.fixes.origins import OTHER_KINDS
from tests.fuzz.fixes.text import Node, b, d
from tests.fuzz.fixes.world import Upstream, World

if TYPE_CHECKING:
    from tests.fuzz.fixes.locations import Server

Choices = Sequence[tuple[float, Sequence[tuple[object, ...]]]]


def passing(world: World, _made: Server, path: str, *, simple: bool = False) -> list[Node]:
    """Return what stands in a location that passes requests on; `simple` without a URI of its own."""
    upstream = world.rng.choice(world.upstreams)
    if upstream.kind in OTHER_KINDS:
        return _cgi(world, upstream)
    nodes = _target(world, upstream, simple=simple or path.startswith("@"))
    nodes += _connection(world)
    nodes += _drawn(world, _PROXY)
    if upstream.kind == "tls":
        nodes += _identity(world)
    if upstream.kind == "serial":
        nodes.append(d("proxy_read_timeout", "700ms"))
    if world.chance(0.15) and not any(node.name == "proxy_buffering" for node in nodes):
        nodes += _cached(world, "proxy")
    if world.is_old:
        nodes += _drawn(world, _FILTERS)
    if world.chance(0.08):
        nodes += [d(f"limit_{kind}", *words) for kind in [world.rng.choice(["req", "conn"])]
                  for words in [_limited(world, kind)]]  # fmt: skip
    if world.chance(0.05):
        legacy = world.rng.choice([up for up in world.upstreams if up.kind not in OTHER_KINDS])
        nodes.append(b("limit_except", "GET", inner=[d("proxy_pass", f"{legacy.scheme}://{legacy.name}")]))
    seen: set[str] = set()
    kept = []
    for node in nodes:
        if node.name in _MANY or node.name not in seen:
            kept.append(node)
        seen.add(node.name)
    if world.chance(0.3):
        world.rng.shuffle(kept)
        kept.sort(key=lambda node: node.name == "proxy_pass" and node.words[1].startswith("$"))
    return kept


_MANY = ("proxy_set_header", "proxy_hide_header", "proxy_cache_valid", "add_header", "sub_filter", "fastcgi_param",
         "uwsgi_param", "scgi_param", "set", "proxy_redirect")  # fmt: skip


def _target(world: World, upstream: Upstream, *, simple: bool) -> list[Node]:
    rng = world.rng
    quoted = upstream.name
    base = f"{upstream.scheme}://{quoted}"
    roll = rng.random()
    if roll < 0.08:
        return [d("set", "$to", quoted), d("proxy_pass", f"{upstream.scheme}://$to")]
    if roll < 0.12:
        same = [up.name for up in world.upstreams if up.scheme == upstream.scheme and up.kind not in OTHER_KINDS]
        return (
            [d("proxy_pass", f"{upstream.scheme}://{world.upstream_map(same)}")]
            if upstream.scheme == "http"
            else [d("proxy_pass", base)]
        )
    if roll < 0.16:
        return [d("proxy_pass", f"{upstream.scheme}://@{upstream.kind}0@")]
    if roll < 0.2:
        return [d("proxy_pass", f"{base}$request_uri")]
    if roll < 0.4 and not simple:
        return [d("proxy_pass", base + rng.choice(["/", "/base/", "/base"]))]
    return [d("proxy_pass", base)]


def _connection(world: World) -> list[Node]:
    """Return what is said of the version and the connection."""
    rng = world.rng
    nodes = []
    if world.chance(0.25):
        nodes.append(d("proxy_http_version", rng.choice(["1.1", "1.1", "1.1", "1.0"])))
    if world.chance(0.3):
        value = rng.choice(["", "", "close", "$http_connection", "keep-alive", "upgrade", "$map"])
        if value == "$map":
            value = world.websocket_map()
            nodes.append(d("proxy_set_header", "Upgrade", "$http_upgrade"))
        nodes.append(d("proxy_set_header", rng.choice(["Connection", "connection"]), value))
    if world.chance(0.3):
        nodes += [d("proxy_set_header", "Host", rng.choice(["$host", "$http_host", "$proxy_host", "fixed.test"]))]
    if world.chance(0.2):
        nodes += [d("proxy_set_header", "X-Real-IP", "$remote_addr"),
                  d("proxy_set_header", "X-Forwarded-For", "$proxy_add_x_forwarded_for")]  # fmt: skip
    if world.chance(0.04):
        nodes += [d("add_header", "X-Conn", world.websocket_map(), "always")]
    return nodes


def _identity(world: World) -> list[Node]:
    """Return how a location shows itself to an origin that asks for a certificate."""
    rng = world.rng
    nodes = []
    if world.chance(0.5):
        who = rng.choice(["alice", "bob"])
        nodes += [d("proxy_ssl_certificate", f"tls/{who}.pem"), d("proxy_ssl_certificate_key", f"tls/{who}.key")]
    return nodes + _drawn(world, _TLS)


def _cached(world: World, protocol: str) -> list[Node]:
    nodes = [d(f"{protocol}_cache", world.cache(protocol)), d(f"{protocol}_cache_valid", "200", "1h"),
             d("add_header", "X-Cache", "$upstream_cache_status", "always")]  # fmt: skip
    if protocol != "proxy" or world.chance(0.2):
        nodes.append(d(f"{protocol}_cache_key", "$request_uri"))
    return nodes + _drawn(world, _CACHE if protocol == "proxy" else ())


def _limited(world: World, kind: str) -> list[str]:
    zone = world.zone(kind)
    return [f"zone={zone}", "burst=2", "nodelay"] if kind == "req" else [zone, "1"]


def _cgi(world: World, upstream: Upstream) -> list[Node]:
    kind = upstream.kind
    nodes = [d(f"{kind}_pass", upstream.name), d(f"{kind}_read_timeout", "1s")]
    pairs = [("REQUEST_METHOD", "$request_method"), ("REQUEST_URI", "$request_uri")]
    pairs += [("CONTENT_LENGTH", "$content_length"), ("QUERY_STRING", "$query_string")]
    if kind == "fastcgi":
        if world.chance(0.3):
            nodes.append(d("fastcgi_keep_conn", world.rng.choice(["on", "off"])))
        if world.chance(0.3):
            nodes.append(d("fastcgi_split_path_info", world.rng.choice(["^(.+?\\.php)(/.*)$", "^(/[a-z]+)(.*)$"])))
            pairs += [("PATH_INFO", "$fastcgi_path_info"), ("SCRIPT_NAME", "$fastcgi_script_name")]
    nodes += [d(f"{kind}_param", *pair) for pair in pairs]
    if world.chance(0.2):
        nodes += _cached(world, kind)
    return nodes


def _drawn(world: World, choices: Choices) -> list[Node]:
    return [d(*words) for chance, some in choices if world.chance(chance) for words in [world.rng.choice(some)]]


_PROXY: Choices = (
    (0.3, [("proxy_read_timeout", "1s")]),
    (0.06, [("proxy_buffering", "off")]),
    (0.1, [("proxy_request_buffering", "off"), ("proxy_request_buffering", "on")]),
    (0.05, [("proxy_pass_request_body", "off")]),
    (0.05, [("proxy_method", "POST"), ("proxy_method", "GET")]),
    (0.05, [("proxy_hide_header", "X-Origin"), ("proxy_pass_header", "Server")]),
    (0.05, [("proxy_intercept_errors", "on")]),
    (0.05, [("proxy_next_upstream", "error", "timeout", "http_503"), ("proxy_next_upstream", "off")]),
    (0.03, [("proxy_next_upstream_tries", "1")]),
    (0.05, [("proxy_redirect", "off"), ("proxy_redirect", "/", "/r/")]),
    (0.05, [("proxy_cookie_path", "/", "/c/")]),
    (0.05, [("proxy_ignore_headers", "X-Accel-Redirect"), ("proxy_ignore_headers", "Cache-Control", "Vary")]),
    (0.05, [("proxy_buffer_size", "4k"), ("proxy_buffers", "8", "4k")]),
    (0.05, [("proxy_max_temp_file_size", "0"), ("proxy_limit_rate", "1m")]),
    (0.03, [("proxy_force_ranges", "on")]),
    (0.02, [("proxy_bind", "127.0.0.1")]),
    (0.03, [("proxy_socket_keepalive", "on")]),
    (0.03, [("proxy_ignore_client_abort", "on")]),
    (0.1, [("add_header", "X-Location", "$uri"), ("add_header", "X-Up", "$upstream_status", "always")]),
    (0.05, [("expires", "1h"), ("expires", "off")]),
    (0.05, [("gzip", "on"), ("gzip", "off")]),
    (0.04, [("ssi", "on")]),
    (0.03, [("client_body_buffer_size", "1k"), ("client_body_in_file_only", "clean")]),
    (0.03, [("chunked_transfer_encoding", "off")]),
)  # fmt: skip

_FILTERS: Choices = (
    (0.08, [("sub_filter", "http://app.test/", "https://a.test/")]),
    (0.03, [("sub_filter_once", "off")]),
    (0.05, [("gunzip", "on")]),
    (0.03, [("add_after_body", "/index.html")]),
)

_TLS: Choices = (
    (0.1, [("proxy_ssl_verify", "off")]),
    (0.1, [("proxy_ssl_server_name", "on")]),
    (0.1, [("proxy_ssl_name", "other.test")]),
    (0.4, [("proxy_ssl_session_reuse", "off")]),
    (0.1, [("proxy_ssl_protocols", "TLSv1.2"), ("proxy_ssl_conf_command", "MinProtocol", "TLSv1.2")]),
    (0.05, [("proxy_ssl_verify_depth", "2")]),
)

_CACHE: Choices = (
    (0.2, [("proxy_cache_lock", "on")]),
    (0.2, [("proxy_cache_use_stale", "error", "timeout", "updating")]),
    (0.1, [("proxy_cache_min_uses", "2")]),
    (0.1, [("proxy_cache_methods", "GET", "HEAD", "POST")]),
    (0.1, [("proxy_cache_bypass", "$arg_nocache"), ("proxy_no_cache", "$arg_nocache")]),
    (0.1, [("proxy_cache_convert_head", "off")]),
    (0.1, [("proxy_cache_revalidate", "on")]),
    (0.1, [("proxy_store", "off")]),
)
