"""The proxy rules on the real nginx: connections are counted, and what the upstream sees, before and after fixes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pytest

from nginxopt import nginx
from nginxopt.catalogue import catalogue
from nginxopt.config import Config
from nginxopt.defaults import PIVOT
from nginxopt.fix import fix
from nginxopt.http import Request
from nginxopt.lint import Selected, lint
from nginxopt.version import Version
from tests.lintcheck import read

REQUESTS = 20
POOL_RULES = ("upstream-keepalive-missing", "proxy-http-version", "proxy-connection-not-cleared")

BACKEND = (
    b'listen unix:temp/b.sock; location / { return 200 "connection=$connection host=$http_host'
    b' connection_header=$http_connection protocol=$server_protocol upgrade=$http_upgrade a=$http_x_a b=$http_x_b\n"; }'
)
"""A server that tells what it sees."""

SERVER = "server unix:temp/b.sock;"
CLEAR = 'proxy_set_header Connection "";'
HTTP11 = "proxy_http_version 1.1;"
MAP = "map $http_upgrade $connection_upgrade {{ default upgrade; '' {}; }}"
WEBSOCKET = f"{HTTP11} proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $connection_upgrade;"


@dataclass(frozen=True)
class Setup:
    """A configuration: the http level, and the server. Each has a line of its own in the file that is judged."""

    http: str
    server: str

    @property
    def text(self) -> bytes:
        """The whole configuration, as it is judged."""
        return f"events {{}}\nhttp {{\n{self.http}\nserver {{\n{self.server}\n}}\n}}\n".encode()

    @classmethod
    def of(cls, text: bytes) -> Setup:
        """The parts of a `text` that was changed."""
        http, _, server = text.decode().partition("\nserver {\n")
        return cls(http.partition("http {\n")[2], server.removesuffix("\n}\n}\n"))

    def mended(self, *rules: str, target: Version, unsafe: bool = False) -> Setup:
        """What one run of the fixes of these rules makes of it."""
        selected = [Selected(catalogue()[rule], catalogue()[rule].severity) for rule in rules]

        def again(texts: Mapping[str, bytes]) -> Config:
            return read(texts.get("nginx.conf", self.text))

        drafts = fix(again, lambda config: lint(config, selected, target), unsafe=unsafe).drafts
        return Setup.of(drafts["nginx.conf"].text) if drafts else self


def upstream(text: str) -> str:
    """The upstream `app` with the backend, and `text` before it."""
    return f"upstream app {{\n{text}\n{SERVER}\n}}"


def location(text: str = "") -> str:
    """A location that passes to it."""
    return f"location / {{\nproxy_pass http://app;\n{text}\n}}"


def asked(
    binary: nginx.Binary, setup: Setup, *, backend: bytes = BACKEND, requests: Sequence[bytes] = ()
) -> list[bytes]:
    """The answers to 20 requests, one after the other, or to those given."""
    each = [Request(data) for data in requests or [b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"] * REQUESTS]
    servers = (setup.server.encode(), backend)
    with nginx.Instance(binary, servers=servers, http=setup.http.encode()) as running, running.client() as client:
        return [answer for request in each for answer in client.ask([request])]


def connections(answers: Sequence[bytes]) -> int:
    """How many connections the backend saw."""
    assert all(answer.startswith(b"HTTP/1.1 200") for answer in answers), answers[0]
    return len({re.search(rb"connection=(\d+)", answer)[1] for answer in answers})  # type: ignore[index]


def seen(answers: Sequence[bytes]) -> dict[str, str]:
    """What the backend saw of the last request, without the number of the connection."""
    body = answers[-1].partition(b"\r\n\r\n")[2].decode().strip()
    told = dict(word.split("=", 1) for word in body.split(" "))
    return {name: value for name, value in told.items() if name != "connection"}


def target(binary: nginx.Binary) -> Version:
    """The version of the binary."""
    return Version.parse(".".join(map(str, binary.version)))


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
    "the method behind the pool": (Setup(upstream("keepalive 32; least_conn;"), location(HTTP11 + CLEAR)), 20, 1),
    "the method before the pool": (Setup(upstream("least_conn; keepalive 32;"), location(HTTP11 + CLEAR)), 1, 1),
}


@pytest.mark.parametrize(("setup", "before", "from_pivot"), COUNTS.values(), ids=COUNTS)
def test_connections_are_counted(binary: nginx.Binary, setup: Setup, before: int, from_pivot: int) -> None:
    """The rules rest on these counts, which nginx 1.29.7 changed."""
    assert connections(asked(binary, setup)) == (before if target(binary) < PIVOT else from_pivot)


MENDED = {
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
    "in one line": Setup(f"upstream app {{ {SERVER} }}", "location / { proxy_pass http://app; }"),
}


@pytest.mark.parametrize("setup", MENDED.values(), ids=MENDED)
def test_one_run_reaches_one_connection(binary: nginx.Binary, setup: Setup) -> None:
    """One run of the safe fixes: one connection for 20 requests, and every other header is as it was."""
    before, after = asked(binary, setup), asked(binary, setup.mended(*POOL_RULES, target=target(binary)))
    assert connections(after) == 1
    changed = {"connection_header", "protocol"}
    assert {name: value for name, value in seen(before).items() if name not in changed} == {
        name: value for name, value in seen(after).items() if name not in changed
    }
    assert seen(after)["connection_header"] == ""
    assert seen(after)["protocol"] == "HTTP/1.1"


UNSAFE = {
    "proxy-http-version": COUNTS["a pool, cleared, over HTTP/1.0"][0],
    "proxy-connection-not-cleared": COUNTS["a pool and a written close"][0],
    "websocket-map-close": COUNTS["a WebSocket map with close"][0],
}


@pytest.mark.parametrize(("rule", "setup"), UNSAFE.items(), ids=UNSAFE)
def test_what_is_written_is_mended(binary: nginx.Binary, rule: str, setup: Setup) -> None:
    """A word that keeps the pool unused is changed on request, and the pool is used."""
    assert connections(asked(binary, setup)) == REQUESTS
    assert connections(asked(binary, setup.mended(rule, target=target(binary), unsafe=True))) == 1


def test_keepalive_moves_behind_the_method(binary: nginx.Binary) -> None:
    """The pool is used once it stands behind the method."""
    setup, _, _ = COUNTS["the method behind the pool"]
    mended = setup.mended("keepalive-before-lb", target=Version(1, 22, 1))
    assert mended != setup
    assert connections(asked(binary, mended)) == 1


def test_an_upgrade_is_asked_for_as_before(binary: nginx.Binary) -> None:
    """After the fix of a WebSocket map a request that upgrades sends the same headers."""
    setup = COUNTS["a WebSocket map with close"][0]
    mended = setup.mended("websocket-map-close", target=target(binary))
    request = b"GET / HTTP/1.1\r\nHost: a.test\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"
    before, after = (seen(asked(binary, one, requests=[request])) for one in (setup, mended))
    assert before == after
    assert after["connection_header"] == after["upgrade"].replace("websocket", "upgrade")
