"""What the pool would break, on the real nginx: without its premises nothing changes, and with them only what they say.

Each server here is right as it is and wrong for a pool. A fix that is made without the premise, or that shares
connections of different kinds, changes what these tests compare.
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
from nginxopt.system import nginx
from nginxopt.system.http import Request
from nginxopt.version import Version
from tests import origins
from tests.lintcheck import read
from tests.support import PATIENCE

BOTH = frozenset([HTTP11_BACKENDS, IDLE_CONNECTIONS])
NONE: frozenset[Premise] = frozenset()
OLD = Version(1, 22, 1)
"""Before the defaults changed."""


def mended(text: str, assumed: frozenset[Premise], target: Version = OLD) -> str:
    """What one run of all rules about proxies makes of a whole configuration."""
    rules = tuple(Selected(rule, None) for rule in catalogue().values() if rule.category == "proxy")

    def again(texts: Mapping[str, bytes]) -> Config:
        return read(texts.get("nginx.conf", text.encode()))

    drafts = fix(again, Judge(rules, target, Settings(), assumed=assumed)).drafts
    return drafts["nginx.conf"].text.decode() if drafts else text


def version(binary: nginx.Binary) -> Version:
    """The version of a binary."""
    return Version.of(binary.version)


def whole(http: str) -> str:
    """A whole configuration with these lines in http."""
    return f"events {{}}\nhttp {{\n{http}\n}}\n"


def inside(text: str) -> tuple[bytes, bytes]:
    """The http level of a configuration but for its one server, and the inside of that."""
    http, _, server = text.partition("http {\n")[2].partition("\nserver {\n")
    return http.encode(), server.removesuffix("}\n}\n").encode()


def answers(binary: nginx.Binary, text: str, requests: Sequence[bytes]) -> list[bytes]:
    """The answers of nginx to requests, one after the other."""
    http, server = inside(text)
    with (
        nginx.Instance(binary, servers=(server,), http=http) as running,
        running.client(timeout=PATIENCE) as client,
    ):
        return [_plain(answer) for one in requests for answer in client.ask([Request(one)])]


def _plain(answer: bytes) -> bytes:
    """An answer without the lines that change by themselves."""
    head, _, body = answer.partition(b"\r\n\r\n")
    lines = [line for line in head.split(b"\r\n") if not line.startswith((b"Date:", b"Server:"))]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def get(path: str = "/", headers: str = "") -> bytes:
    """A request."""
    return f"GET {path} HTTP/1.1\r\nHost: a.test\r\n{headers}\r\n".encode()


def pool(port: int, server: str, http: str = "") -> str:
    """A configuration of an upstream and one server."""
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
    binary: nginx.Binary, reply: origins.Reply, server: str, requests: list[bytes]
) -> None:
    """Safe fixes change neither an answer nor a request to the server; with the premises, which it breaks, they do."""
    cache = "proxy_cache_path cache keys_zone=pages:1m;" if "pages" in server else ""
    seen = []
    with contextlib.ExitStack() as stack:
        for assumed in (None, NONE, BOTH):
            origin = stack.enter_context(origins.serving(reply))
            text = pool(origin.port, server, cache)
            text = text if assumed is None else mended(text, assumed)
            told = answers(binary, text, requests)
            seen.append((told, [(one.head, one.body, one.number) for one in origin.asked]))
    before, safe, pooled = seen
    assert safe == before
    assert pooled != before
    assert pooled[0] != before[0] or reply is origins.plain


def test_20_a_serial_server_is_not_held(binary: nginx.Binary) -> None:
    """Two upstreams with one serial server: the pool of one keeps the other from it, and safe fixes make none."""
    server = (
        "location /a {\n    proxy_pass http://app;\n}\n"
        "location /b {\n    proxy_pass http://other;\n    proxy_read_timeout 1s;\n}"
    )
    statuses = []
    for assumed in (NONE, BOTH):
        with origins.serving(origins.plain, serial=True) as origin:
            other = f"upstream other {{\n    server 127.0.0.1:{origin.port};\n}}"
            text = mended(pool(origin.port, server, other), assumed)
            statuses.append([answer[9:12] for answer in answers(binary, text, [get("/a"), get("/b")])])
    assert statuses == [[b"200", b"200"], [b"200", b"504"]]


def sizes(text: str) -> list[int]:
    """The pools of a configuration."""
    return [int(size) for size in re.findall(r"keepalive (\d+);", text)]


def many(count: int, server: str) -> str:
    """A configuration of as many upstreams, each with a location."""
    upstreams = "".join(f"upstream u{n} {{\n    server {server};\n}}\n" for n in range(count))
    locations = "".join(f"location /{n}/ {{\n    proxy_pass http://u{n};\n}}\n" for n in range(count))
    return whole(f"{upstreams}\nserver {{\n{locations}}}")


def test_21_pools_leave_room_for_clients(binary: nginx.Binary) -> None:
    """40 upstreams and 512 connections: of 2,400 requests of 30 clients none fails; pools of 32 would fail some."""
    with origins.serving(origins.plain) as origin:
        text = mended(many(40, f"127.0.0.1:{origin.port}"), BOTH)
        assert sizes(text) == [3] * 40
        assert mended(text, BOTH) == text
        assert failures(binary, text) == 0
        assert failures(binary, text.replace("keepalive 3;", "keepalive 32;")) > 0


def failures(binary: nginx.Binary, text: str) -> int:
    """How many of 2,400 requests fail: 30 clients, each twice for each of 40 locations."""
    http, server = inside(text)
    failed: list[bytes] = []
    with nginx.Instance(binary, servers=(server,), http=http) as running:

        def ask() -> None:
            with running.client() as client:
                told = [client.ask([Request(get(f"/{n}/"))])[0] for n in [*range(40)] * 2]
            failed.extend(answer for answer in told if not answer.startswith(b"HTTP/1.1 200"))

        clients = [threading.Thread(target=ask) for _ in range(30)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
    return len(failed)


@pytest.mark.parametrize("count", [1, 3, 4, 5, 9, 128, 129])
def test_21_pools_are_as_large_as_there_is_room(count: int) -> None:
    """However many upstreams there are, their pools hold a quarter of the connections at most, or there are none."""
    made = sizes(mended(many(count, "10.0.0.1"), BOTH))
    assert sum(made) <= 128
    assert len(made) == (count if count <= 128 else 0)


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
    "24: a location beside passes to a server of HTTP/1.0": (
        origins.old,
        "proxy_set_header X-A 1;\nlocation / {\n    proxy_pass http://app;\n}\n"
        "location /x/ {\n    proxy_pass http://127.0.0.1:%d;\n}",
        [get(), get("/x/")],
    ),
    "24: 1.0 is stated around, for others": (
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
    """Whatever is assumed of the upstream, another server is asked what it was asked before, byte for byte."""
    with origins.serving(origins.plain) as app, origins.serving(reply) as legacy:
        text = pool(app.port, server % legacy.port)
        before = answers(each_binary, text, requests)
        asked = [(one.head, one.body) for one in legacy.asked]
        legacy.asked.clear()
        assert answers(each_binary, mended(text, BOTH, version(each_binary)), requests) == before
        assert [(one.head, one.body) for one in legacy.asked] == asked
        assert asked


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate with its key in one folder."""
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
    "by a variable": (
        "set $name app;\nlocation /a {{\n    proxy_pass https://$name;\n    " + WITH + "\n}}\n"
        "location /b {{\n    proxy_pass https://app;\n}}"
    ),
    "by a variable that is the whole target": (
        "set $name https://app;\nlocation /a {{\n    proxy_pass $name;\n    " + WITH + "\n}}\n"
        "location /b {{\n    proxy_pass https://app;\n}}"
    ),
    "a certificate by a variable": (
        'set $file "";\nif ($uri = /a) {{\n    set $file {0}/cert.pem;\n}}\nlocation / {{\n    proxy_pass https://app;\n'
        "    proxy_ssl_certificate $file;\n    proxy_ssl_certificate_key {0}/key.pem;\n}}"
    ),
}


@pytest.mark.parametrize("has_pool", [False, True])
@pytest.mark.parametrize("server", MIXED.values(), ids=MIXED)
def test_18_identities_are_not_mixed(each_binary: nginx.Binary, certificate: Path, server: str, has_pool: bool) -> None:
    """The server knows the client by its certificate: with all premises assumed, /b comes with none if it did before.

    A pool before the method has no effect before nginx 1.29.7; from then on nginx itself may mix what is written there.
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
    before, after = (subjects(each_binary, one) for one in (text, mended(text, BOTH, version(each_binary))))
    assert after == before
    if each_binary.version < (1, 29, 7):
        assert after == [b"CN=app", b""] * 2


def subjects(binary: nginx.Binary, text: str) -> list[bytes]:
    """Whom the server takes nginx for, in /a and /b, twice."""
    http, _, inner = text.partition("http {\n")[2].rpartition("\nserver {\n")
    servers = (inner.removesuffix("}\n}\n").encode(),)
    with nginx.Instance(binary, servers=servers, http=http.encode()) as running, running.client() as client:
        told = [client.ask([Request(get(path))])[0] for path in ("/a", "/b", "/a", "/b")]
    return [answer.partition(b"\r\n\r\n")[2] for answer in told]


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
def test_no_request_is_taken_for_a_body(binary: nginx.Binary, server: str) -> None:
    """A server takes the beginning of the next request for a body that was stated and not sent: `T /`, a method T."""
    judge = b"if ($request_method !~ ^(GET|POST)$) { return 403; } return 200;"
    backend = b"listen unix:temp/b.sock; location / { %s }" % judge
    text = whole(f"upstream app {{\n    server unix:temp/b.sock;\n}}\nserver {{\n{server}\n}}")
    done = mended(text, BOTH)
    assert done == text
    cleared = mended(text.replace("http://app;", 'http://app;\n    proxy_set_header Content-Length "";'), BOTH)
    assert "keepalive 32;" in cleared
    told: list[list[bytes]] = []
    for one in (text, cleared, cleared.replace('proxy_set_header Content-Length "";', "")):
        http, inner = inside(one)
        servers = (inner, backend)
        is_broken = len(told) == 2  # by a pool that takes the next request for a body, and may wait for the rest
        seconds = 1 if is_broken else 20
        with nginx.Instance(binary, servers=servers, http=http) as running, running.client(timeout=seconds) as client:
            told.append([client.ask([Request(request)])[0][:12] for request in (POST, get(), POST, get())])
    assert told[0] == told[1]
    if "mirror" not in server:  # of which clients see nothing
        assert told[2] != told[0], "the experiment shows what a pool would break"


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
def test_a_body_that_comes_late_is_not_waited_for_with_a_pool(binary: nginx.Binary, server: str) -> None:
    """Its request is passed on without it, so that a pool would take the next request for it."""
    backend = b"listen unix:temp/b.sock; location / { if ($request_method != GET) { return 403; } return 200; }"
    text = whole(f"upstream app {{\n    server unix:temp/b.sock;\n}}\nserver {{\n{server}\n}}")
    assert mended(text, BOTH) == text
    pooled = text.replace("b.sock;\n}", "b.sock;\n    keepalive 4;\n}").replace(
        "http://app;", 'http://app;\n    proxy_http_version 1.1;\n    proxy_set_header Connection "";'
    )
    before, after = (after_a_late_body(binary, one, backend) for one in (text, pooled))
    assert before == b"200"
    assert after in (b"400", b"403"), "the experiment shows what a pool would break"


def after_a_late_body(binary: nginx.Binary, text: str, backend: bytes) -> bytes:
    """The status of /end after a request whose body comes once it is answered.

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
def test_what_may_go_on_without_a_body(server: str, pool: bool) -> None:
    """Code may drop a body, and some errors come after it was dropped; others do not."""
    text = whole(f"upstream app {{\n    server 127.0.0.1:1;\n}}\nserver {{\n{server}\n{END}\n}}")
    assert ("keepalive 32;" in mended(text, BOTH)) is pool
