"""Requests whose length is not that of their body: with a pool, an upstream server takes one for the other."""

from __future__ import annotations

import contextlib
import socket
import time

import pytest

from nginxopt.system import nginx
from nginxopt.system.http import RequestBytes
from tests import origins
from tests.lintcheck import diagnose
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

pytestmark = pytest.mark.nginx

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

    The server reads the first two bytes of `GET /` as the body, and then a method `T`. With neither a body nor its
    length a pool is right, and added. An nginx that pools by default breaks requests before any fix.
    """
    methods = b"if ($request_method !~ ^(GET|POST)$) { return 403; } return 200;"
    backend = b"listen unix:temp/b.sock; location / { %s }" % methods
    text = whole(f"upstream app {{\n    server unix:temp/b.sock;\n}}\nserver {{\n{server}\n}}")
    assert fixed(text, BOTH) == text
    clears = 'proxy_set_header Content-Length "";'
    drops = "" if "pass_request_body off" in server else "proxy_pass_request_body off;\n"
    cleared = fixed(text.replace("http://app;", f"http://app;\n    {drops}    {clears}"), BOTH)
    assert "keepalive 32;" in cleared

    def statuses(conf: str, *, breaks: bool) -> list[bytes]:
        http, inner = inside(conf)
        seconds = 1 if breaks else 20  # a server that misses a part of the body may wait for it
        instance = nginx.Instance(each_binary, servers=(inner, backend), http=http)
        with instance, instance.client(timeout=seconds) as client:
            return [client.ask([RequestBytes(request)])[0][:12] for request in (POST, get(), POST, get())]

    pooled = statuses(cleared.replace(clears, ""), breaks=True)
    unbroken = statuses(cleared, breaks=False)
    default = statuses(text, breaks=pools_by_default(each_binary))
    if "mirror" in server:  # clients do not see the responses to its subrequests
        assert default == pooled == unbroken
    else:
        assert pooled != unbroken
        assert (default == unbroken) is not pools_by_default(each_binary)


SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: a.test\r\n\r\n"
UNFRAMED = {
    "a length that is cleared": 'proxy_set_header Content-Length "";',
    "a streamed body": 'proxy_http_version 1.1; proxy_request_buffering off; proxy_set_header Content-Length "";',
    "a body of its own": 'proxy_set_body $request_body; proxy_set_header Content-Length "";',
    "a length of another body": 'proxy_set_body "$request_body$request_body"; '
    "proxy_set_header Content-Length $content_length;",
}


@pytest.mark.parametrize("lines", UNFRAMED.values(), ids=UNFRAMED)
def test_no_body_is_taken_for_a_request(a_binary: nginx.Binary, lines: str) -> None:
    """With a pool, the server reads a body without its length as a request of its own: no fix adds one."""
    with origins.serving(origins.plain) as origin:
        text = whole(
            f"upstream app {{\n    server 127.0.0.1:{origin.port};\n}}\n"
            f"server {{\nlocation / {{\n    proxy_pass http://app;\n    {lines}\n}}\n}}"
        )
        assert fixed(text, BOTH) == text
        kept = 'http://app; proxy_set_header Connection "";' + ("" if "1.1" in lines else " proxy_http_version 1.1;")
        http, server = inside(text.replace(";\n}", "; keepalive 4;\n}", 1).replace("http://app;", kept))
        with nginx.Instance(a_binary, servers=(server,), http=http) as running, running.client() as client:
            head = b"POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: %d\r\n\r\n" % len(SMUGGLED)
            client.ask([RequestBytes(head + SMUGGLED)])
            until = time.monotonic() + PATIENCE
            while not any(b"/smuggled" in asked.head for asked in origin.asked) and time.monotonic() < until:
                time.sleep(0.01)
    assert any(asked.head.startswith(b"GET /smuggled ") for asked in origin.asked)


END = "location = /end {\n    proxy_pass http://app;\n}"
LATE = {
    "a body that is too large": (
        f"client_max_body_size 1;\nerror_page 413 = /end;\nlocation / {{\n    root html;\n}}\n{END}"
    ),
    "a page of parts": f"location / {{\n    root html;\n    add_after_body /end;\n    addition_types *;\n}}\n{END}",
    "mp4 that fails": f"location / {{\n    root none;\n    mp4;\n    error_page 404 = /end;\n}}\n{END}",
    "flv that fails": f"location / {{\n    root none;\n    flv;\n    error_page 404 = /end;\n}}\n{END}",
    "a redirect": f"location / {{\n    error_page 302 = /end;\n    return 302 /b;\n}}\n{END}",
    "a redirect without a code": (f"location / {{\n    error_page 302 = /end;\n    return http://b.test/;\n}}\n{END}"),
    "an action after the response": f"location / {{\n    root html;\n    post_action /end;\n}}\n{END}",
    "a server that redirects before it has the body": (
        "location / {\n    proxy_pass http://unix:temp/b.sock:/early;\n    proxy_request_buffering off;\n}\n" + END
    ),
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
def test_no_pool_where_a_body_comes_late(a_binary: nginx.Binary, server: str) -> None:
    """nginx passes the request on without its body, and a pool would send the next request in its place.

    No fix adds a pool there. An nginx that pools by default breaks the next request before any fix.
    """
    for name in ("add_after_body", "mp4", "flv"):
        if name in server:
            require_directive(a_binary, name)
    backend = (
        b"listen unix:temp/b.sock; location / { if ($request_method != GET) { return 403; } return 200; }"
        b" location /early { add_header X-Accel-Redirect /end; return 200; }"
    )
    text = whole(f"upstream app {{\n    server unix:temp/b.sock;\n}}\nserver {{\n{server}\n}}")
    assert fixed(text, BOTH) == text
    pooled = text.replace("b.sock;\n}", "b.sock;\n    keepalive 4;\n}").replace(
        "http://app;", 'http://app;\n    proxy_http_version 1.1;\n    proxy_set_header Connection "";'
    )
    default, after = (after_a_late_body(a_binary, conf, backend) for conf in (text, pooled))
    broken = (b"400", b"403")
    assert after in broken
    assert default in (broken if pools_by_default(a_binary) else (b"200",))


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
            return again.ask([RequestBytes(get("/end"))])[0][9:12]


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
    "error_page 404 = /end; location / { grpc_pass a:1; grpc_ignore_headers X-Accel-Redirect; }": False,
    "location / { grpc_pass a:1; }": False,
    "location / { grpc_pass a:1; grpc_ignore_headers X-Accel-Redirect; }": True,
    "error_page 403 = /end; location / { autoindex on; root html; }": False,
    "error_page 403 = /end; location / { autoindex off; root html; }": True,
    "error_page 302 = /end; location / { return 404; }": True,
    "error_page 307 = /end; location / { if ($arg_a) { return 307 /b; } root html; }": False,
    "location / { auth_request /end; root html; }": False,
    "location / { auth_request /end; root html; } } server { server_name another.server;": True,
    "location / { error_page 413 = /end; root html; } } server { server_name another.server;": True,
}


@pytest.mark.parametrize(("server", "pool"), CODE.items(), ids=CODE)
def test_requests_that_may_be_passed_on_without_their_body(server: str, pool: bool) -> None:
    """Scripts may discard a body, and some errors occur after it is discarded: no pool is added there."""
    text = whole(f"upstream app {{\n    server 127.0.0.1:1;\n}}\nserver {{\n{server}\n{END}\n}}")
    assert ("keepalive 32;" in fixed(text, BOTH)) is pool


HEADERS = {
    "": True,
    'proxy_set_header Content-Length "";': False,
    'proxy_set_header Transfer-Encoding "";': True,
    "proxy_http_version 1.1; proxy_request_buffering off; proxy_ignore_headers X-Accel-Redirect;": True,
    "proxy_http_version 1.1; proxy_request_buffering off; proxy_ignore_headers X-Accel-Redirect; "
    'proxy_set_header Transfer-Encoding "";': False,
    'proxy_pass_request_body off; proxy_set_header Content-Length "";': True,
    "proxy_pass_request_body OFF;": False,
    "proxy_pass_request_body off; proxy_set_header Content-Length 0;": False,
    "proxy_set_body a;": True,
    'proxy_set_body a; proxy_set_header Transfer-Encoding "";': True,
    'proxy_set_body a; proxy_pass_request_body off; proxy_set_header Content-Length "";': False,
}


@pytest.mark.parametrize(("lines", "pool"), HEADERS.items(), ids=HEADERS)
def test_lengths_and_bodies(lines: str, pool: bool) -> None:
    """A pool is added if every body has its length, and every length its body."""
    location = f"location / {{\n    proxy_pass http://app;\n    {lines}\n}}"
    text = whole(f"upstream app {{\n    server 127.0.0.1:1;\n}}\nserver {{\n{location}\n}}")
    assert ("keepalive 32;" in fixed(text, BOTH)) is pool


def test_no_new_upstream_for_a_body_without_its_length() -> None:
    """An upstream with a pool is not made for such a request either, not even on request; the help says why."""
    kept = 'proxy_http_version 1.1; proxy_set_header Connection "";'
    text = f"server {{ location / {{ proxy_pass http://10.0.0.1; {kept} %s }} }}"
    assert diagnose("implicit-upstream", text % "", context="http")[0].fix is not None
    (finding,) = diagnose("implicit-upstream", text % 'proxy_set_header Content-Length "";', context="http")
    assert finding.fix is None
    assert 'remove `proxy_set_header Content-Length "";`' in finding.finding.help


def test_the_advice_is_for_the_location() -> None:
    """The help says which line is wrong: with a body of its own, `proxy_pass_request_body off` would change nothing."""
    text = whole("upstream app { server 10.0.0.1; } server { location / { proxy_pass http://app; %s } }")
    clears = 'proxy_set_header Content-Length "";'
    advice = f"remove `{clears}`"
    for lines, words in {
        clears: f"{advice}, or add `proxy_pass_request_body off;` where no body is meant",
        f"proxy_set_body a; {clears}": advice,
        "proxy_pass_request_body off;": f"a location of their own with `proxy_pass_request_body off;` and `{clears}`",
        "proxy_set_header Content-Length 1;": "remove `proxy_set_header Content-Length 1;`: nginx sets the length",
    }.items():
        (finding,) = diagnose("upstream-keepalive-missing", text % lines, target="1.22.1")
        assert finding.finding.help.endswith(words)


def test_chunks_that_are_announced_without_a_body() -> None:
    """A streamed request goes on with `Transfer-Encoding: chunked`, also to a location that passes no body."""
    streamed = "location /up {\n    proxy_pass http://127.0.0.1:1;\n    proxy_request_buffering off;\n}"
    check = "location /a {\n    proxy_pass http://app;\n    proxy_pass_request_body off;\n"
    check += '    proxy_set_header Content-Length "";\n'
    for more, pool in (("", False), ('    proxy_set_header Transfer-Encoding "";\n', True)):
        text = whole(f"upstream app {{\n    server 127.0.0.1:1;\n}}\nserver {{\n{streamed}\n{check}{more}}}\n}}")
        assert ("keepalive 32;" in fixed(text, BOTH)) is pool
