"""Requests whose body an upstream server misses: a pool would send the next request in its place."""

from __future__ import annotations

import contextlib
import socket

import pytest

from nginxopt.system import nginx
from nginxopt.system.http import Request
from tests.nginx.modules import require_directive
from tests.nginx.pools import (
    BOTH,
    POST,
    fixed,
    get,
    inside,
    pools_by_default,
    whole,
)
from tests.support import PATIENCE

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
