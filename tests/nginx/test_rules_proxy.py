"""Proxy rules on the real nginx: connections, and what the upstream receives, before and after fixes."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from nginxopt.config import Config
from nginxopt.lint import HTTP11_BACKENDS, IDLE_CONNECTIONS
from nginxopt.lint.catalogue import catalogue
from nginxopt.lint.check import Judge
from nginxopt.lint.fix import fix
from nginxopt.lint.queries.model import Model
from nginxopt.lint.run import Selected, lint
from nginxopt.semantics import PIVOT
from nginxopt.settings.file import Settings
from nginxopt.system import nginx
from nginxopt.system.http import RequestBytes
from nginxopt.version import Version
from tests.lintcheck import diagnose, fixed, read

pytestmark = pytest.mark.nginx

REQUESTS = 20
OLD = Version(1, 22, 1)
PREMISES_OF_POOLS = frozenset([HTTP11_BACKENDS, IDLE_CONNECTIONS])
POOL_RULES = ("upstream-keepalive-missing", "proxy-http-version", "proxy-connection-not-cleared")

BACKEND = (
    b'listen unix:temp/b.sock; location / { return 200 "connection=$connection host=$http_host'
    b' connection_header=$http_connection protocol=$server_protocol upgrade=$http_upgrade a=$http_x_a b=$http_x_b\n"; }'
)
"""A server that tells what it sees."""

SERVER = "server unix:temp/b.sock;"
LOAD = "worker_rlimit_nofile 2048;\n"
"""A sign of load, as a pool of connections to a socket is of use only then."""
BUSY = "open_file_cache max=100;\n"
"""The same for the `http` block."""
CLEAR = 'proxy_set_header Connection "";'
HTTP11 = "proxy_http_version 1.1;"
MAP = "map $http_upgrade $connection_upgrade {{ default upgrade; '' {}; }}"
UPGRADE = "proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection"
WEBSOCKET = f"{HTTP11} proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $connection_upgrade;"


@dataclass(frozen=True)
class Setup:
    """A configuration: the http level, and the server. Each has a line of its own in the file that is judged."""

    http: str
    server: str

    @property
    def text(self) -> bytes:
        """The whole configuration, as it is judged."""
        return f"{LOAD}events {{}}\nhttp {{\n{self.http}\nserver {{\n{self.server}\n}}\n}}\n".encode()

    @classmethod
    def of(cls, text: bytes) -> Setup:
        """The parts of a `text` that was changed."""
        http, _, server = text.decode().partition("\nserver {\n")
        return cls(http.partition("http {\n")[2], server.removesuffix("\n}\n}\n"))

    def fixed_by(self, *rules: str, target: Version, unsafe: bool = False) -> Setup:
        """The setup after one run of the fixes of these rules."""
        selected = tuple(Selected(catalogue()[rule], catalogue()[rule].severity) for rule in rules)
        judge = Judge(selected, target, Settings(), assumed=PREMISES_OF_POOLS)

        def again(texts: Mapping[str, bytes]) -> Config:
            return read(texts.get("nginx.conf", self.text))

        drafts = fix(again, judge, unsafe=unsafe).drafts
        return Setup.of(drafts["nginx.conf"].text) if drafts else self


def upstream(text: str) -> str:
    """The upstream `app` with the backend, and `text` before it."""
    return f"upstream app {{\n{text}\n{SERVER}\n}}"


def location(text: str = "") -> str:
    """A location that passes to it."""
    return f"location / {{\nproxy_pass http://app;\n{text}\n}}"


def get(path: str = "/") -> bytes:
    """A request."""
    return f"GET {path} HTTP/1.1\r\nHost: a.test\r\n\r\n".encode()


def asked(
    binary: nginx.Binary, setup: Setup, *, backend: bytes = BACKEND, requests: Sequence[bytes] = ()
) -> list[bytes]:
    """The answers to 20 requests, one after the other, or to those given."""
    sequence = [RequestBytes(data) for data in requests or [get()] * REQUESTS]
    servers = (setup.server.encode(), backend)
    with nginx.Instance(binary, servers=servers, http=setup.http.encode()) as running, running.client() as client:
        return [answer for request in sequence for answer in client.ask([request])]


def connections(answers: Sequence[bytes]) -> int:
    """How many connections the backend saw."""
    assert all(answer.startswith(b"HTTP/1.1 200") for answer in answers), answers[0]
    return len({re.search(rb"connection=(\d+)", answer)[1] for answer in answers})  # type: ignore[index]


def seen(answers: Sequence[bytes]) -> dict[str, str]:
    """What the backend received with the last request, without the number of the connection."""
    body = answers[-1].partition(b"\r\n\r\n")[2].decode().strip()
    facts = dict(word.split("=", 1) for word in body.split(" "))
    return {name: value for name, value in facts.items() if name != "connection"}


def target(binary: nginx.Binary) -> Version:
    """The version of the binary."""
    return Version.of(binary.version)


# The connections of 20 requests: before nginx 1.29.7, and from it on.
COUNTS = {
    "no pool is stated": (Setup(upstream(""), location()), 20, 1),
    "a pool alone": (Setup(upstream("keepalive 32;"), location()), 20, 1),
    "a pool over HTTP/1.1": (Setup(upstream("keepalive 32;"), location(HTTP11)), 20, 1),
    "a pool, cleared, over HTTP/1.0": (
        Setup(upstream("keepalive 32;"), location("proxy_http_version 1.0;" + CLEAR)),
        20,
        20,
    ),
    "a pool, cleared, over HTTP/1.1": (Setup(upstream("keepalive 32;"), location(HTTP11 + CLEAR)), 1, 1),
    "a pool and a written close": (
        Setup(upstream("keepalive 32;"), location(HTTP11 + "proxy_set_header Connection close;")),
        20,
        20,
    ),
    "a pool and Keep-Alive over HTTP/1.0": (
        Setup(upstream("keepalive 32;"), location("proxy_http_version 1.0; proxy_set_header Connection 'Keep-Alive';")),
        1,
        1,
    ),
    "no upstream block": (Setup("", f"location / {{ proxy_pass http://unix:temp/b.sock:; {HTTP11} {CLEAR} }}"), 20, 20),
    "a WebSocket map with close": (
        Setup(MAP.format("close") + upstream("keepalive 32;"), location(WEBSOCKET)),
        20,
        20,
    ),
    "a WebSocket map without": (Setup(MAP.format("''") + upstream("keepalive 32;"), location(WEBSOCKET)), 1, 1),
    "a literal upgrade on every request": (
        Setup(upstream("keepalive 32;"), location(f'{HTTP11} {UPGRADE} "upgrade";')),
        1,
        1,
    ),
    "an upstream in a variable": (
        Setup(upstream("keepalive 32;"), f"set $to http://app; location / {{ proxy_pass $to; {HTTP11} {CLEAR} }}"),
        1,
        1,
    ),
    "an upstream in a variable behind a scheme": (
        Setup(upstream("keepalive 32;"), f"location / {{ set $to app; proxy_pass http://$to/; {HTTP11} {CLEAR} }}"),
        1,
        1,
    ),
    "the method behind the pool": (Setup(upstream("keepalive 32; least_conn;"), location(HTTP11 + CLEAR)), 20, 1),
    "the method before the pool": (Setup(upstream("least_conn; keepalive 32;"), location(HTTP11 + CLEAR)), 1, 1),
}


@pytest.mark.parametrize(("setup", "before", "from_pivot"), COUNTS.values(), ids=COUNTS)
def test_connections_are_counted(binary: nginx.Binary, setup: Setup, before: int, from_pivot: int) -> None:
    """The rules rest on these counts, which nginx 1.29.7 changed."""
    assert connections(asked(binary, setup)) == (before if target(binary) < PIVOT else from_pivot)


FIXED = {
    "nothing is stated": Setup(upstream(""), location()),
    "a method is stated": Setup(upstream("least_conn;"), location()),
    "headers of the location": Setup(upstream(""), location("proxy_set_header X-A 1;")),
    "headers of the server": Setup(upstream(""), "proxy_set_header X-A 1;\n" + location()),
    "headers of the server, shared": Setup(
        upstream(""),
        "proxy_set_header X-A 1;\nproxy_set_header Host $host;\n"
        + location()
        + "\nlocation /other { proxy_pass http://127.0.0.1:1; }",
    ),
    "headers of http": Setup("proxy_set_header X-B '1;2';\n" + upstream(""), location()),
    "in a variable": Setup(upstream(""), "set $to http://app;\nlocation / {\nproxy_pass $to;\n}"),
    "in one line": Setup(f"upstream app {{ {SERVER} }}", "location / { proxy_pass http://app; }"),
}


@pytest.mark.parametrize("setup", FIXED.values(), ids=FIXED)
def test_one_run_reaches_one_connection(binary: nginx.Binary, setup: Setup) -> None:
    """One run of the safe fixes: one connection for 20 requests, and every other header is as it was."""
    before, after = asked(binary, setup), asked(binary, setup.fixed_by(*POOL_RULES, target=target(binary)))
    assert connections(after) == 1
    changed = {"connection_header", "protocol"}
    assert {name: value for name, value in seen(before).items() if name not in changed} == {
        name: value for name, value in seen(after).items() if name not in changed
    }
    assert seen(after)["connection_header"] == ""
    assert seen(after)["protocol"] == "HTTP/1.1"


def test_a_literal_upgrade_hides_no_missing_pool(binary: nginx.Binary) -> None:
    """With a literal `Connection: upgrade` for the whole site, the missing pool is reported, and its fix is enough."""
    setup = Setup(upstream(""), location(f'{HTTP11}\n{UPGRADE} "upgrade";'))
    assert connections(asked(binary, setup)) == (REQUESTS if target(binary) < PIVOT else 1)
    after = setup.fixed_by(*POOL_RULES, target=OLD)
    assert "keepalive 32;" in after.http
    assert after.server == setup.server
    assert connections(asked(binary, after)) == 1


@pytest.mark.parametrize("setup", [FIXED["nothing is stated"], FIXED["headers of the location"]])
def test_a_fragment_reaches_one_connection(binary: nginx.Binary, setup: Setup) -> None:
    """The one fix of a fragment has every line that a pool needs, whatever stands around it."""
    fragment = f"{BUSY}{setup.http}\nserver {{\n{setup.server}\n}}\n"
    after = fixed("upstream-keepalive-missing", fragment, target="1.22.1").decode()
    assert after != fragment
    http, _, server = after.partition("\nserver {\n")
    assert connections(asked(binary, Setup(http, server.removesuffix("\n}\n")))) == 1


UNSAFE = {
    "proxy-http-version": COUNTS["a pool, cleared, over HTTP/1.0"][0],
    "proxy-connection-not-cleared": COUNTS["a pool and a written close"][0],
    "websocket-map-close": COUNTS["a WebSocket map with close"][0],
}


@pytest.mark.parametrize(("rule", "setup"), UNSAFE.items(), ids=UNSAFE)
def test_a_stated_directive_is_fixed_on_request(binary: nginx.Binary, rule: str, setup: Setup) -> None:
    """A directive that keeps the pool unused is changed on request, and the pool is used."""
    assert connections(asked(binary, setup)) == REQUESTS
    assert connections(asked(binary, setup.fixed_by(rule, target=target(binary), unsafe=True))) == 1


def test_keepalive_moves_behind_the_method(binary: nginx.Binary) -> None:
    """The pool is used once it stands behind the method."""
    setup, _, _ = COUNTS["the method behind the pool"]
    fixed_setup = setup.fixed_by("keepalive-before-lb", target=Version(1, 22, 1))
    assert fixed_setup != setup
    assert connections(asked(binary, fixed_setup)) == 1


def test_an_upgrade_sends_the_same_headers(binary: nginx.Binary) -> None:
    """After the fix of a WebSocket map a request that upgrades sends the same headers."""
    setup = COUNTS["a WebSocket map with close"][0]
    fixed_setup = setup.fixed_by("websocket-map-close", target=target(binary))
    request = b"GET / HTTP/1.1\r\nHost: a.test\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"
    before, after = (seen(asked(binary, current, requests=[request])) for current in (setup, fixed_setup))
    assert before == after
    assert after["connection_header"] == after["upgrade"].replace("websocket", "upgrade")


IMPLICIT = {
    "nothing is stated": "location / {\nproxy_pass http://127.0.0.1:%d;\n}",
    "headers of the location": (
        "location / {\nproxy_set_header X-A 1;\nproxy_set_header Host $host;\nproxy_pass http://127.0.0.1:%d;\n}"
    ),
    "headers of the server, shared": (
        "proxy_set_header X-A 1;\nlocation / {\nproxy_pass http://127.0.0.1:%d;\n}\n"
        "location /other { proxy_pass http://127.0.0.1:1; }"
    ),
    "a URI": "location /a/ {\nproxy_pass http://127.0.0.1:%d/b/;\n}\nlocation / { proxy_pass http://127.0.0.1:1; }",
    "no redirects": "proxy_redirect off;\nlocation / {\nproxy_pass http://127.0.0.1:%d;\n}",
}


@pytest.mark.parametrize("server", IMPLICIT.values(), ids=IMPLICIT)
def test_an_upstream_is_made_and_all_else_stays(binary: nginx.Binary, server: str) -> None:
    """The fixes add an upstream with a pool; headers, URIs and rewritten redirects stay the same."""
    backend = (
        b"location / { if ($arg_to) { return 302 http://$http_host/b/x; }"
        b' return 200 "connection=$connection host=$http_host connection_header=$http_connection'
        b' protocol=$server_protocol uri=$request_uri a=$http_x_a\n"; }'
    )
    requests = [*[get("/a/x")] * REQUESTS, get("/a/x?to=1")]
    with nginx.Instance(binary, servers=(backend,)) as behind:
        setup = Setup("", server % behind.ports[0])
        fixed_setup = setup.fixed_by("implicit-upstream", *POOL_RULES, target=target(binary), unsafe=True)
        (*before, moved_before), (*after, moved_after) = (
            asked(binary, current, requests=requests) for current in (setup, fixed_setup)
        )
    assert connections(before) == REQUESTS
    assert connections(after) == 1
    for name in ("host", "uri", "a"):
        assert seen(before)[name] == seen(after)[name]
    assert _location(moved_before) == _location(moved_after)


def _location(answer: bytes) -> str:
    """Where an answer redirects to, without the port of the server that was asked."""
    match = re.search(rb"\r\nLocation: (.*?)\r\n", answer)
    assert match, answer
    return re.sub(r"(?<=http://a\.test):\d+", "", match[1].decode())


def test_a_variable_has_no_pool(binary: nginx.Binary) -> None:
    """A server behind a variable is connected to anew for each request, unless the variable names an upstream."""
    with nginx.Instance(binary, servers=(BACKEND.partition(b";")[2],)) as behind:
        address = f"127.0.0.1:{behind.ports[0]}"
        hidden = f"location / {{ set $app {address}; proxy_pass http://$app; {HTTP11} {CLEAR} }}"
        named = f"location / {{ set $app app; proxy_pass http://$app; {HTTP11} {CLEAR} }}"
        pool = f"upstream app {{ server {address}; keepalive 32; }}"
        assert connections(asked(binary, Setup("", hidden))) == REQUESTS
        assert connections(asked(binary, Setup(pool, named))) == 1


def test_nothing_is_cached_without_buffering(binary: nginx.Binary) -> None:
    """20 requests for a page that may be cached reach the upstream 20 times, and once after the fix."""
    backend = BACKEND.replace(b"location / {", b"location / { add_header Cache-Control max-age=3600;")
    setup = Setup(
        "proxy_cache_path cache keys_zone=pages:1m;\n" + upstream(""),
        location("proxy_cache pages;\nproxy_buffering off;\nadd_header X-Cache $upstream_cache_status;"),
    )
    fixed_setup = setup.fixed_by("cache-without-buffering", target=target(binary), unsafe=True)
    hits = [
        sum(b"\r\nX-Cache: HIT\r\n" in answer for answer in asked(binary, current, backend=backend))
        for current in (setup, fixed_setup)
    ]
    assert hits == [0, REQUESTS - 1]


def test_chunked_bodies_are_buffered_over_http10(binary: nginx.Binary) -> None:
    """Over HTTP/1.0 the upstream waits for the last chunk of a body; after the fix it answers before that comes."""
    facts = b"length=$http_content_length coding=$http_transfer_encoding"
    backend = BACKEND.partition(b"return")[0] + b'return 200 "' + facts + b'"; }'
    setup = Setup(upstream(""), location("proxy_http_version 1.0;\nproxy_request_buffering off;"))
    fixed_setup = setup.fixed_by("request-buffering-http10", target=target(binary), unsafe=True)
    head = b"POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"
    (before,) = asked(binary, setup, backend=backend, requests=[head + b"0\r\n\r\n"])
    (after,) = asked(binary, fixed_setup, backend=backend, requests=[head])
    assert before.endswith(b"length=3 coding=")
    assert after.endswith(b"length= coding=chunked")


@contextmanager
def counted(answer: Callable[[socket.socket], None]) -> Iterator[tuple[int, list[int]]]:
    """A server on 127.0.0.1 that answers each connection: its port, and what becomes the count of connections."""
    count = [0]
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                count[0] += 1
                threading.Thread(target=answer, args=(connection,), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1], count
        listener.shutdown(socket.SHUT_RDWR)


def _fastcgi(connection: socket.socket) -> None:
    """Answer the FastCGI requests of a connection until it is to be closed (FCGI_KEEP_CONN)."""
    with connection, connection.makefile("rwb") as stream:
        keep = True
        while keep and (header := stream.read(8)):
            kind, size, padding = header[1], int.from_bytes(header[4:6]), header[6]
            content = stream.read(size + padding)[:size]
            if kind == 1:  # FCGI_BEGIN_REQUEST
                keep_next = bool(content[2] & 1)
            if kind == 5 and not content:  # the end of FCGI_STDIN
                body = b"Content-Type: text/plain\r\n\r\nok"
                stream.write(b"\1\6\0\1" + len(body).to_bytes(2) + b"\0\0" + body)
                stream.write(b"\1\6\0\1\0\0\0\0" + b"\1\3\0\1\0\x08\0\0" + bytes(8))
                stream.flush()
                keep = keep_next


def test_fastcgi_connections_are_kept(binary: nginx.Binary) -> None:
    """20 requests to a FastCGI pool open 20 connections, and 1 after the fix."""
    counts = []
    with counted(_fastcgi) as (port, count):
        http = f"upstream app {{ server 127.0.0.1:{port}; keepalive 8; }}"
        setup = Setup(http, "location / {\nfastcgi_pass app;\n}")
        for current in (setup, setup.fixed_by("fastcgi-keep-conn", target=target(binary), unsafe=True)):
            assert all(b"ok" in answer for answer in asked(binary, current))
            counts.append(count[0])
    assert counts == [REQUESTS, REQUESTS + 1]


@pytest.mark.parametrize(("version", "opened"), [("1.1", 1), ("1.0", REQUESTS)])
def test_only_answers_in_http11_keep_a_connection(each_binary: nginx.Binary, version: str, opened: int) -> None:
    """Over HTTP/1.0, nginx keeps the connection of a `Connection: keep-alive` if the answer is in HTTP/1.1."""
    written = location("proxy_http_version 1.0; proxy_set_header Connection keep-alive;")

    def answer(connection: socket.socket) -> None:
        """Answer the requests of a connection until nginx closes it."""
        with connection, connection.makefile("rwb") as stream:
            while stream.readline():
                while stream.readline().strip():
                    pass
                stream.write(f"HTTP/{version} 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok".encode())
                stream.flush()

    with counted(answer) as (port, count):
        http = f"upstream app {{ server 127.0.0.1:{port}; keepalive 8; }}"
        assert not diagnose("proxy-http-version", Setup(http, written).text, target=target(each_binary))
        assert all(reply.endswith(b"ok") for reply in asked(each_binary, Setup(http, written)))
    assert count == [opened]


@pytest.mark.parametrize("servers", [2, 16, 17, 80, 81, 320, 321, 1280])
def test_a_zone_is_large_enough(binary: nginx.Binary, servers: int) -> None:
    """nginx accepts the zone that the fix adds, however many servers there are, each with three addresses."""
    text = "".join(f"server 127.0.{number // 200}.{number % 200 + 1}:80;\n" for number in range(servers * 3))
    whole = "worker_processes 2;\n"
    setup = Setup(f"upstream app {{\nleast_conn;\n{text}}}", "return 200;")
    few = Setup(f"upstream app {{\nleast_conn;\n{''.join(text.splitlines(keepends=True)[:servers])}}}", "return 200;")
    selected = [Selected(catalogue()["upstream-zone-missing"], catalogue()["upstream-zone-missing"].severity)]
    diagnostics = lint(Model(read(whole.encode() + few.text), Version(1, 22, 1)), selected).diagnostics
    assert diagnostics[0].fix is not None
    zone = diagnostics[0].fix.changes[0].edit.text.decode()
    http = setup.http.replace("least_conn;", zone + "least_conn;")
    verdict = binary.test(nginx.configuration((b"",), http=http.encode()))
    assert verdict.ok, verdict


def test_buffering_is_not_turned_on_for_a_stream_within(binary: nginx.Binary) -> None:
    """A pass within the location that inherits `proxy_buffering off` would be buffered: there is no fix."""
    stream = "location /a/events { proxy_cache off; proxy_pass http://127.0.0.1:1; }"
    text = (
        "proxy_cache_path cache keys_zone=pages:1m;\nserver {{ listen unix:a.sock; location /a/ {{ "
        "proxy_pass http://127.0.0.1:1; proxy_cache pages; {} {} }} }}\n"
    )
    for stated, within in (("proxy_buffering off;", stream), ("proxy_buffering off;", "")):
        before = text.format(stated, within)
        after = fixed("cache-without-buffering", before, context="http", target=target(binary)).decode()
        assert (after == before) is bool(within)
