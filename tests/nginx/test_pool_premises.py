"""What a pool of idle connections breaks, on the real nginx.

Each upstream server works with HTTP/1.0 and fails with a pool. Without its premises a fix changes nothing; with them it
changes only what they allow. From version 1.29.7 nginx keeps connections by default, and so breaks the same by itself.
"""

from __future__ import annotations

import contextlib
import re
import socket
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from nginxopt.config import Config
from nginxopt.lint import HTTP11_BACKENDS, IDLE_CONNECTIONS, Premise
from nginxopt.lint.catalogue import catalogue
from nginxopt.lint.check import Judge
from nginxopt.lint.fix import fix
from nginxopt.lint.run import Selected
from nginxopt.lint.settings import Settings
from nginxopt.semantics import PIVOT
from nginxopt.system import nginx
from nginxopt.system.http import Request
from nginxopt.version import Version
from tests import origins
from tests.lintcheck import read
from tests.nginx.modules import require_directive
from tests.support import PATIENCE

BOTH = frozenset([HTTP11_BACKENDS, IDLE_CONNECTIONS])
NONE: frozenset[Premise] = frozenset()
OLD = Version(1, 22, 1)
"""A version without a pool by default."""


def fixed(text: str, assumed: frozenset[Premise], target: Version = OLD) -> str:
    """A configuration after all rules about proxies have fixed it once."""
    rules = tuple(Selected(rule, None) for rule in catalogue().values() if rule.category == "proxy")

    def load(texts: Mapping[str, bytes]) -> Config:
        return read(texts.get("nginx.conf", text.encode()))

    drafts = fix(load, Judge(rules, target, Settings(), assumed=assumed)).drafts
    return drafts["nginx.conf"].text.decode() if drafts else text


def version(binary: nginx.Binary) -> Version:
    """The version of a binary."""
    return Version.of(binary.version)


def pools_by_default(binary: nginx.Binary) -> bool:
    """Whether nginx keeps connections to an upstream without `keepalive`."""
    return version(binary) >= PIVOT


def whole(http: str) -> str:
    """A configuration with these lines in its http block."""
    return f"events {{}}\nhttp {{\n{http}\n}}\n"


def inside(text: str) -> tuple[bytes, bytes]:
    """The lines of the http block before its one server, and the lines of that server."""
    http, _, server = text.partition("http {\n")[2].partition("\nserver {\n")
    return http.encode(), server.removesuffix("}\n}\n").encode()


def responses(binary: nginx.Binary, text: str, requests: Sequence[bytes]) -> list[bytes]:
    """The responses of nginx to requests on one connection."""
    http, server = inside(text)
    with (
        nginx.Instance(binary, servers=(server,), http=http) as running,
        running.client(timeout=PATIENCE) as client,
    ):
        return [_stable(response) for request in requests for response in client.ask([Request(request)])]


def _stable(response: bytes) -> bytes:
    """A response without the headers that differ between runs and versions."""
    head, _, body = response.partition(b"\r\n\r\n")
    lines = [line for line in head.split(b"\r\n") if not line.startswith((b"Date:", b"Server:"))]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def get(path: str = "/", headers: str = "") -> bytes:
    """A GET request."""
    return f"GET {path} HTTP/1.1\r\nHost: a.test\r\n{headers}\r\n".encode()


def pool(port: int, server: str, http: str = "") -> str:
    """A configuration with an upstream `app` and one server."""
    return whole(f"{http}\nupstream app {{\n    server 127.0.0.1:{port};\n}}\nserver {{\n{server}\n}}")


PLAIN = "location / {\n    proxy_pass http://app;\n}"
GZIP = "Accept-Encoding: gzip\r\n"
POST = b"POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n\r\nab"

KINDS = {
    "16: sub_filter and a server that compresses for HTTP/1.1": (
        origins.compressing,
        "location / {\n    proxy_pass http://app;\n    sub_filter words WORDS;\n    sub_filter_once off;\n"
        "    sub_filter_types *;\n}",
        [get(headers=GZIP)],
    ),
    "16: a cache for those that cannot read gzip": (
        origins.compressing,
        "location / {\n    proxy_pass http://app;\n    proxy_cache pages;\n    proxy_cache_valid 1h;\n}",
        [get(headers=GZIP), get()],
    ),
    "19: a server that authenticates connections": (
        origins.authenticating,
        PLAIN,
        [get(headers="Authorization: NTLM Alice\r\n"), get()],
    ),
    "22: a server that closes and does not say so": (origins.closing, PLAIN, [POST] * 4),
    "23: a server that upgrades": (origins.upgrading, PLAIN, [get()]),
    "23: a server that sends early hints": (origins.hinting, PLAIN, [get(), get()]),
    "23: a server of HTTP/1.0": (origins.old, PLAIN, [get()]),
}


@pytest.mark.parametrize(("reply", "server", "requests"), KINDS.values(), ids=KINDS)
def test_a_pool_waits_for_its_premises(
    each_binary: nginx.Binary, reply: origins.Reply, server: str, requests: list[bytes]
) -> None:
    """Safe fixes change no response and no request to the upstream; fixes under premises that are false do.

    An nginx that pools by default has the broken responses before any fix.
    """
    if "sub_filter" in server:
        require_directive(each_binary, "sub_filter")
    cache = "proxy_cache_path cache keys_zone=pages:1m;" if "pages" in server else ""
    exchanges = []
    with contextlib.ExitStack() as stack:
        for assumed in (None, NONE, BOTH):
            origin = stack.enter_context(origins.serving(reply))
            text = pool(origin.port, server, cache)
            text = text if assumed is None else fixed(text, assumed)
            received = responses(each_binary, text, requests)
            exchanges.append((received, [(request.head, request.body, request.number) for request in origin.asked]))
    before, safe, pooled = exchanges
    assert safe == before
    if pools_by_default(each_binary):
        assert pooled == before
    else:
        assert pooled[0] != before[0]


def test_20_a_serial_server_is_not_held(each_binary: nginx.Binary) -> None:
    """Of two upstreams with one serial server an idle connection of one blocks the other; no safe fix keeps it.

    An nginx that pools by default blocks it before any fix.
    """
    server = (
        "location /a {\n    proxy_pass http://app;\n}\n"
        "location /b {\n    proxy_pass http://other;\n    proxy_read_timeout 1s;\n}"
    )
    statuses = []
    for assumed in (NONE, BOTH):
        with origins.serving(origins.plain, serial=True) as origin:
            other = f"upstream other {{\n    server 127.0.0.1:{origin.port};\n}}"
            text = fixed(pool(origin.port, server, other), assumed)
            statuses.append([response[9:12] for response in responses(each_binary, text, [get("/a"), get("/b")])])
    safe, pooled = statuses
    assert safe == [b"200", b"504" if pools_by_default(each_binary) else b"200"]
    assert pooled == [b"200", b"504"]


def sizes(text: str) -> list[int]:
    """The sizes of the pools in a configuration."""
    return [int(size) for size in re.findall(r"keepalive (\d+);", text)]


def many(count: int, server: str) -> str:
    """A configuration of `count` upstreams, each with a location."""
    upstreams = "".join(f"upstream u{n} {{\n    server {server};\n}}\n" for n in range(count))
    locations = "".join(f"location /{n}/ {{\n    proxy_pass http://u{n};\n}}\n" for n in range(count))
    return whole(f"{upstreams}\nserver {{\n{locations}}}")


def test_21_pools_leave_room_for_clients(binary: nginx.Binary) -> None:
    """With 40 upstreams and 512 connections no request of 30 clients fails; with pools of 32 some do."""
    with origins.serving(origins.plain) as origin:
        text = fixed(many(40, f"127.0.0.1:{origin.port}"), BOTH)
        assert sizes(text) == [3] * 40
        assert fixed(text, BOTH) == text
        assert failures(binary, text) == 0
        assert failures(binary, text.replace("keepalive 3;", "keepalive 32;")) > 0


def failures(binary: nginx.Binary, text: str) -> int:
    """How many of 2,400 requests fail: 30 clients request each of 40 locations twice."""
    http, server = inside(text)
    failed: list[bytes] = []
    with nginx.Instance(binary, servers=(server,), http=http) as running:

        def ask() -> None:
            with running.client() as client:
                received = [client.ask([Request(get(f"/{n}/"))])[0] for n in [*range(40)] * 2]
            failed.extend(response for response in received if not response.startswith(b"HTTP/1.1 200"))

        clients = [threading.Thread(target=ask) for _ in range(30)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
    return len(failed)


@pytest.mark.parametrize("count", [1, 3, 4, 5, 9, 128, 129])
def test_21_pools_are_as_large_as_there_is_room(count: int) -> None:
    """The pools together hold at most a quarter of the connections; with too many upstreams there are none."""
    pools = sizes(fixed(many(count, "10.0.0.1"), BOTH))
    assert sum(pools) <= 128
    assert len(pools) == (count if count <= 128 else 0)


NESTED = {
    "24: a location within passes to a server of HTTP/1.0": (
        origins.old,
        "location / {\n    proxy_pass http://app;\n"
        "    location /x/ {\n        proxy_pass http://127.0.0.1:%d;\n    }\n}",
        [get(), get("/x/")],
    ),
    "24: an if passes to a server of HTTP/1.0": (
        origins.old,
        "location / {\n    proxy_pass http://app;\n"
        "    if ($arg_x) {\n        proxy_pass http://127.0.0.1:%d;\n    }\n}",
        [get(), get("/?x=1")],
    ),
    "24: a limit_except passes to a server of HTTP/1.0": (
        origins.old,
        "location / {\n    proxy_pass http://app;\n"
        "    limit_except GET {\n        proxy_pass http://127.0.0.1:%d;\n    }\n}",
        [get(), POST],
    ),
    "24: a location within streams bodies": (
        origins.bodiless,
        "location / {\n    proxy_pass http://app;\n    location /x/ {\n        proxy_pass http://127.0.0.1:%d;\n"
        "        proxy_request_buffering off;\n    }\n}",
        [get(), b"POST /x/ HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n"],
    ),
    "24: another location passes to a server of HTTP/1.0": (
        origins.old,
        "proxy_set_header X-A 1;\nlocation / {\n    proxy_pass http://app;\n}\n"
        "location /x/ {\n    proxy_pass http://127.0.0.1:%d;\n}",
        [get(), get("/x/")],
    ),
    "24: the server block states 1.0 for other locations": (
        origins.old,
        "proxy_http_version 1.0;\nlocation / {\n    proxy_http_version 1.1;\n    proxy_pass http://app;\n}\n"
        "location /x/ {\n    proxy_pass http://127.0.0.1:%d;\n}",
        [get(), get("/x/")],
    ),
}


@pytest.mark.parametrize(("reply", "server", "requests"), NESTED.values(), ids=NESTED)
def test_24_nothing_else_inherits_the_lines(
    each_binary: nginx.Binary, reply: origins.Reply, server: str, requests: list[bytes]
) -> None:
    """Fixes under all premises change no byte of a request to a server outside the upstream."""
    with origins.serving(origins.plain) as app, origins.serving(reply) as legacy:
        text = pool(app.port, server % legacy.port)
        before = responses(each_binary, text, requests)
        requests_before = [(request.head, request.body) for request in legacy.asked]
        legacy.asked.clear()
        assert responses(each_binary, fixed(text, BOTH, version(each_binary)), requests) == before
        assert [(asked.head, asked.body) for asked in legacy.asked] == requests_before
        assert requests_before


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a certificate and its key."""
    folder = tmp_path_factory.mktemp("tls")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "cert.pem"]
    subprocess.run([*command, "-days", "2", "-subj", "/CN=app"], cwd=folder, check=True, capture_output=True)
    return folder


WITH = "proxy_ssl_certificate {0}/cert.pem;\n    proxy_ssl_certificate_key {0}/key.pem;"
MIXED = {
    "a client certificate in one location": (
        "location /a {{\n    proxy_pass https://app;\n    "
        + WITH
        + "\n}}\nlocation /b {{\n    proxy_pass https://app;\n}}"
    ),
    "an upstream named by a variable": (
        "set $name app;\nlocation /a {{\n    proxy_pass https://$name;\n    " + WITH + "\n}}\n"
        "location /b {{\n    proxy_pass https://app;\n}}"
    ),
    "a URL in a variable": (
        "set $name https://app;\nlocation /a {{\n    proxy_pass $name;\n    " + WITH + "\n}}\n"
        "location /b {{\n    proxy_pass https://app;\n}}"
    ),
    "a certificate named by a variable": (
        'set $file "";\nif ($uri = /a) {{\n    set $file {0}/cert.pem;\n}}\nlocation / {{\n    proxy_pass https://app;\n'
        "    proxy_ssl_certificate $file;\n    proxy_ssl_certificate_key {0}/key.pem;\n}}"
    ),
}


@pytest.mark.parametrize("has_pool", [False, True])
@pytest.mark.parametrize("server", MIXED.values(), ids=MIXED)
def test_18_identities_are_not_mixed(each_binary: nginx.Binary, certificate: Path, server: str, has_pool: bool) -> None:
    """With all premises assumed, the upstream server still receives no client certificate with requests for /b.

    Before 1.29.7 a `keepalive` before the method has no effect; later nginx itself may mix the two locations there.
    """
    backend = (
        "upstream app {\n    "
        + ("keepalive 4;\n    least_conn;\n    " if has_pool else "")
        + "server unix:temp/tls.sock;\n}\n"
        f"server {{\n    listen unix:temp/tls.sock ssl;\n    ssl_certificate {certificate}/cert.pem;\n"
        f"    ssl_certificate_key {certificate}/key.pem;\n    ssl_verify_client optional_no_ca;\n"
        '    location / {\n        return 200 "$ssl_client_s_dn";\n    }\n}'
    )
    http11 = 'proxy_http_version 1.1;\nproxy_set_header Connection "";\n' if has_pool else ""
    text = whole(f"{backend}\nserver {{\nproxy_ssl_session_reuse off;\n{http11}{server.format(certificate)}\n}}")
    before, after = (subjects(each_binary, conf) for conf in (text, fixed(text, BOTH, version(each_binary))))
    assert after == before
    if each_binary.version < (1, 29, 7):
        assert after == [b"CN=app", b""] * 2


def subjects(binary: nginx.Binary, text: str) -> list[bytes]:
    """The subjects of the client certificates that the upstream server sees for /a and /b, twice."""
    http, _, inner = text.partition("http {\n")[2].rpartition("\nserver {\n")
    servers = (inner.removesuffix("}\n}\n").encode(),)
    with nginx.Instance(binary, servers=servers, http=http.encode()) as running, running.client() as client:
        received = [client.ask([Request(get(path))])[0] for path in ("/a", "/b", "/a", "/b")]
    return [response.partition(b"\r\n\r\n")[2] for response in received]


BODILESS = {
    "a body that is not passed on": "location / {\n    proxy_pass http://app;\n    proxy_pass_request_body off;\n}",
    "the subrequest of auth_request": (
        "location / {\n    auth_request /auth;\n    proxy_pass http://unix:temp/b.sock:/;\n}\n"
        "location = /auth {\n    internal;\n    proxy_pass http://app;\n}"
    ),
    "the subrequest of mirror": (
        "location / {\n    mirror /mirror;\n    mirror_request_body off;\n    root html;\n}\n"
        "location /mir {\n    internal;\n    proxy_pass http://app;\n}"
    ),
}


@pytest.mark.parametrize("server", BODILESS.values(), ids=BODILESS)
def test_no_request_is_taken_for_a_body(each_binary: nginx.Binary, server: str) -> None:
    """A pool sends the next request where the server expects the body that `Content-Length` states: no fix adds one.

    The server reads the first two bytes of `GET /` as the body, and then a method `T`. With the header cleared a pool
    is right, and added. An nginx that pools by default breaks requests before any fix.
    """
    methods = b"if ($request_method !~ ^(GET|POST)$) { return 403; } return 200;"
    backend = b"listen unix:temp/b.sock; location / { %s }" % methods
    text = whole(f"upstream app {{\n    server unix:temp/b.sock;\n}}\nserver {{\n{server}\n}}")
    assert fixed(text, BOTH) == text
    clears = 'proxy_set_header Content-Length "";'
    cleared = fixed(text.replace("http://app;", f"http://app;\n    {clears}"), BOTH)
    assert "keepalive 32;" in cleared

    def statuses(conf: str, *, breaks: bool) -> list[bytes]:
        http, inner = inside(conf)
        seconds = 1 if breaks else 20  # a server that misses a part of the body may wait for it
        instance = nginx.Instance(each_binary, servers=(inner, backend), http=http)
        with instance, instance.client(timeout=seconds) as client:
            return [client.ask([Request(request)])[0][:12] for request in (POST, get(), POST, get())]

    pooled = statuses(cleared.replace(clears, ""), breaks=True)
    unbroken = statuses(cleared, breaks=False)
    default = statuses(text, breaks=pools_by_default(each_binary))
    if "mirror" in server:  # clients do not see the responses to its subrequests
        assert default == pooled == unbroken
    else:
        assert pooled != unbroken
        assert (default == unbroken) is not pools_by_default(each_binary)


END = "location = /end {\n    proxy_pass http://app;\n}"
LATE = {
    "a body that is too large": (
        f"client_max_body_size 1;\nerror_page 413 = /end;\nlocation / {{\n    root html;\n}}\n{END}"
    ),
    "a page of parts": f"location / {{\n    root html;\n    add_after_body /end;\n    addition_types *;\n}}\n{END}",
    "SSI": f"location / {{\n    root html;\n    ssi on;\n    ssi_types *;\n}}\n{END}",
    "memcached that fails": (
        "location / {\n    set $memcached_key a;\n    memcached_pass unix:temp/none.sock;\n"
        f"    error_page 502 = /end;\n}}\n{END}"
    ),
    "an error page that is rewritten": (
        "location / {\n    root html;\n    error_page 416 = /failed;\n}\n"
        f"location = /failed {{\n    rewrite ^ /end last;\n}}\n{END}"
    ),
    "an error page of a subrequest": (
        "location / {\n    mirror /none;\n    mirror_request_body off;\n    root html;\n}\n"
        f"location = /none {{\n    root html;\n    error_page 404 = /end;\n}}\n{END}"
    ),
}


@pytest.mark.parametrize("server", LATE.values(), ids=LATE)
def test_no_pool_where_a_body_comes_late(each_binary: nginx.Binary, server: str) -> None:
    """nginx passes the request on without its body, and a pool would send the next request in its place.

    No fix adds a pool there. An nginx that pools by default breaks the next request before any fix.
    """
    if "add_after_body" in server:
        require_directive(each_binary, "add_after_body")
    backend = b"listen unix:temp/b.sock; location / { if ($request_method != GET) { return 403; } return 200; }"
    text = whole(f"upstream app {{\n    server unix:temp/b.sock;\n}}\nserver {{\n{server}\n}}")
    assert fixed(text, BOTH) == text
    pooled = text.replace("b.sock;\n}", "b.sock;\n    keepalive 4;\n}").replace(
        "http://app;", 'http://app;\n    proxy_http_version 1.1;\n    proxy_set_header Connection "";'
    )
    default, after = (after_a_late_body(each_binary, conf, backend) for conf in (text, pooled))
    broken = (b"400", b"403")
    assert after in broken
    assert default in (broken if pools_by_default(each_binary) else (b"200",))


def after_a_late_body(binary: nginx.Binary, text: str, backend: bytes) -> bytes:
    """The status of /end after a request whose body arrives after the response.

    nginx reads the next request of a connection, or closes it, only when the subrequests of the last one have ended.
    """
    http, inner = inside(text)
    inner += b" location = /done { return 204; }"
    files = {"html/a.html": b'<!--# include virtual="/end" -->'}
    head = b"GET /a.html HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\n"
    head += b"Range: bytes=99999-\r\n\r\n" if "416" in text else b"\r\n"
    with nginx.Instance(binary, servers=(inner, backend), http=http, files=files) as running:
        with socket.create_connection(("127.0.0.1", running.ports[0]), timeout=PATIENCE) as client:
            client.sendall(head)
            assert client.recv(65536).startswith(b"HTTP/1.1 ")
            client.sendall(b"abcGET /done HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n")
            with contextlib.suppress(ConnectionError):
                while client.recv(65536):
                    pass
        with running.client() as again:
            return again.ask([Request(get("/end"))])[0][9:12]


CODE = {
    "location / { content_by_lua_block { ngx.req.discard_body() ngx.exec('/end') } }": False,
    "location / { access_by_lua_file a.lua; }": False,
    "location / { rewrite_by_lua_block { ngx.location.capture('/end', { method = ngx.HTTP_POST }) } }": False,
    "location / { echo_subrequest POST /end; }": False,
    "location / { perl a::handler; }": False,
    "location / { access_by_lua_block { ngx.exit(403) } }": True,
    "location / { header_filter_by_lua_file a.lua; }": True,
    "location / { error_page 404 = /end; root html; }": True,
    "location / { error_page 416 = /end; root html; }": False,
    "error_page 401 = /end; location = /auth { proxy_pass http://a; } location / { auth_request /auth; }": True,
    "error_page 401 = /end; location = /auth { proxy_pass http://a; proxy_intercept_errors on; } "
    "location / { auth_request /auth; }": False,
    "error_page 404 = /end; location / { proxy_pass http://a; proxy_request_buffering off; }": False,
    "error_page 404 = /end; location / { fastcgi_pass a:1; }": True,
}


@pytest.mark.parametrize(("server", "pool"), CODE.items(), ids=CODE)
def test_requests_that_may_be_passed_on_without_their_body(server: str, pool: bool) -> None:
    """Scripts may discard a body, and some errors occur after it is discarded: no pool is added there."""
    text = whole(f"upstream app {{\n    server 127.0.0.1:1;\n}}\nserver {{\n{server}\n{END}\n}}")
    assert ("keepalive 32;" in fixed(text, BOTH)) is pool
