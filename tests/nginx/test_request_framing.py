"""Requests whose length is not that of their body, as `request-framing` finds them: what an upstream reads of them."""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence

import pytest

from nginxopt.lint import Severity
from nginxopt.system import nginx
from nginxopt.system.http import RequestBytes
from tests import origins
from tests.lintcheck import diagnose, fix_text
from tests.nginx.benching import wait_until
from tests.nginx.modules import require_directive
from tests.nginx.pools import get, inside, pools_by_default, version, whole
from tests.support import PATIENCE

pytestmark = [pytest.mark.nginx, pytest.mark.extended]

SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: a.test\r\n\r\n"
KEPT = 'proxy_http_version 1.1; proxy_set_header Connection "";'
CLEARED = 'proxy_set_header Content-Length "";'
OFF = "proxy_pass_request_body off;"
HTTP_LENGTH = "proxy_set_header Content-Length $http_content_length;"
STREAMED = "proxy_request_buffering off;"
LAST = get("/last")
LAST_CHUNK = b"0\r\n\r\n"


def stated(body: bytes, method: str = "POST") -> bytes:
    """A request with a body and its length."""
    return f"{method} / HTTP/1.1\r\nHost: a.test\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def chunked(body: bytes) -> bytes:
    """A request with a body in one chunk."""
    head = b"POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"%x\r\n%s\r\n" % (len(body), body) + LAST_CHUNK


def location(lines: str) -> str:
    """A location that passes everything on."""
    return f"location / {{\n    proxy_pass http://app;\n    {lines}\n}}"


def configuration(server: str, pool: str = "keepalive 4;") -> str:
    """A configuration with an upstream `app`, whose server is another one in each test."""
    return whole(f"upstream app {{\n    server 127.0.0.1:1;\n    {pool}\n}}\nserver {{\n{server}\n}}")


def apply_fix(binary: nginx.Binary, text: str) -> str:
    """Apply the fix of the rule, after which it has no finding."""
    fixed = fix_text("request-framing", text.encode(), target=version(binary)).decode()
    assert fixed != text
    assert not diagnose("request-framing", fixed, target=version(binary))
    return fixed


# The lines of the location, and what a client sends. The upstream reads another request in its body.
ERRORS = {
    "a length that is cleared": (f"{KEPT} {CLEARED}", stated(SMUGGLED)),
    "a GET with a body": (f"limit_except GET {{ deny all; }} {KEPT} {CLEARED}", stated(SMUGGLED, "GET")),
    "a length of zero": (f"{KEPT} proxy_set_header Content-Length 0;", stated(SMUGGLED)),
    "a length of another body": (f"{KEPT} proxy_set_header Content-Length 2;", stated(b"ab" + SMUGGLED)),
    "no length of a body in chunks": (f"{KEPT} {HTTP_LENGTH}", chunked(SMUGGLED)),
    "no length of a body that may be streamed": (f"{KEPT} {STREAMED} {HTTP_LENGTH}", chunked(SMUGGLED)),
    "a body of its own": (f"{KEPT} {CLEARED} proxy_set_body $request_body;", stated(SMUGGLED)),
    "a body of its own, and another length": (
        f"{KEPT} proxy_set_header Content-Length $content_length; proxy_set_body $request_body$request_body;",
        stated(SMUGGLED),
    ),
    "the client's Connection": (
        f"proxy_http_version 1.1; proxy_set_header Connection $http_connection; {CLEARED}",
        stated(SMUGGLED),
    ),
    "an upgrade": (f"proxy_http_version 1.1; proxy_set_header Connection upgrade; {CLEARED}", stated(SMUGGLED)),
}
# The same, where it does not.
HARMLESS = {
    "nothing": (KEPT, stated(SMUGGLED)),
    "the same length": (f"{KEPT} proxy_set_header Content-Length $content_length;", stated(SMUGGLED)),
    "the same length of chunks": (f"{KEPT} proxy_set_header Content-Length $content_length;", chunked(SMUGGLED)),
    "neither length nor body": (f"{KEPT} {OFF} {CLEARED}", stated(SMUGGLED)),
    "a length of zero and no body": (f"{KEPT} {OFF} proxy_set_header Content-Length 0;", stated(SMUGGLED)),
    "HTTP/1.0": (f"proxy_http_version 1.0; proxy_set_header Connection close; {CLEARED}", stated(SMUGGLED)),
    "a connection that closes": (
        f"proxy_http_version 1.1; proxy_set_header Connection close; {CLEARED}",
        stated(SMUGGLED),
    ),
    "chunks that are read first": (f'{KEPT} proxy_set_header Transfer-Encoding "";', chunked(SMUGGLED)),
    "an empty body": (f'{KEPT} {CLEARED} proxy_set_body "";', stated(SMUGGLED)),
    "a body with its length": (f"{KEPT} proxy_set_header Content-Length 1; proxy_set_body a;", stated(SMUGGLED)),
    "a body of its own where none is passed on": (f"{KEPT} {OFF} proxy_set_body a;", stated(SMUGGLED)),
}


def read(binary: nginx.Binary, text: str, count: int, *requests: bytes) -> list[origins.Asked]:
    """What an upstream reads of requests: at least so many."""
    with origins.serving(origins.plain) as origin:
        http, server = inside(text.replace("127.0.0.1:1;", f"127.0.0.1:{origin.port};"))
        with nginx.Instance(binary, servers=(server,), http=http) as running, running.client() as client:
            for request in requests:
                client.ask([RequestBytes(request)])
            wait_until(lambda: len(origin.asked) >= count)
        return list(origin.asked)


def lines_of(asked: Sequence[origins.Asked]) -> list[bytes]:
    """The request lines of what an upstream reads."""
    return [each.head.partition(b"\r\n")[0] for each in asked]


@pytest.mark.parametrize("pool", ["keepalive 4;", ""], ids=["pool", "none"])
@pytest.mark.parametrize(("lines", "request_"), ERRORS.values(), ids=ERRORS)
def test_a_body_is_read_as_a_request(a_binary: nginx.Binary, lines: str, request_: bytes, pool: str) -> None:
    """The upstream reads the request in the body, with a pool and without, until the fix is made."""
    text = configuration(location(lines), pool)
    (diagnostic,) = diagnose("request-framing", text, target=version(a_binary))
    assert diagnostic.severity is Severity.ERROR
    assert lines_of(read(a_binary, text, 2, request_))[1] == b"GET /smuggled HTTP/1.1"
    fixed = apply_fix(a_binary, text)
    assert lines_of(read(a_binary, fixed, 2, request_, LAST))[1] == b"GET /last HTTP/1.1"


def test_another_client_gets_the_response(each_binary: nginx.Binary) -> None:
    """With a pool, the next client on the connection gets the response to the request in the body."""

    def reply(asked: origins.Asked, _: dict[int, bytes]) -> bytes:
        line = asked.head.partition(b"\r\n")[0]
        if b"/smuggled" in line:
            time.sleep(0.5)  # or nginx sees that the idle connection has a response, and closes it
        return origins.answer(asked, line)

    text = configuration(location(f"{KEPT} {CLEARED}"))
    with origins.serving(reply) as origin:
        http, server = inside(text.replace("127.0.0.1:1;", f"127.0.0.1:{origin.port};"))
        with nginx.Instance(each_binary, servers=(server,), http=http) as running, running.client() as client:
            client.ask([RequestBytes(stated(SMUGGLED))])
            assert client.ask([RequestBytes(get("/account"))])[0].endswith(b"GET /smuggled HTTP/1.1")


def test_a_mirror_gets_a_body_without_its_length(each_binary: nginx.Binary) -> None:
    """The server of `mirror` reads the request in the body, which is passed on to it by default."""
    require_directive(each_binary, "mirror")
    server = MIRROR.replace("mirror_request_body off;", "").replace("LINES", f"{KEPT} {CLEARED}")
    text = configuration(server)
    (diagnostic,) = diagnose("request-framing", text, target=version(each_binary))
    assert diagnostic.severity is Severity.ERROR
    assert lines_of(read(each_binary, text, 2, stated(SMUGGLED))) == [b"POST /sub HTTP/1.1", b"GET /smuggled HTTP/1.1"]


@pytest.mark.parametrize(("lines", "request_"), HARMLESS.values(), ids=HARMLESS)
def test_a_body_is_no_request(a_binary: nginx.Binary, lines: str, request_: bytes) -> None:
    """The rule is silent where the upstream reads no request in a body."""
    text = configuration(location(lines))
    assert not diagnose("request-framing", text, target=version(a_binary))
    assert lines_of(read(a_binary, text, 2, request_, LAST))[1].startswith(b"GET /last ")


def test_what_is_harmless_before_1_29_7(each_binary: nginx.Binary) -> None:
    """A cleared length is harmless over HTTP/1.0; starting with 1.29.7, HTTP/1.1 is the default, with any upstream."""
    text = whole(f"\nserver {{\nlocation / {{ proxy_pass http://127.0.0.1:1; {CLEARED} }}\n}}")
    found = diagnose("request-framing", text, target=version(each_binary))
    asked = read(each_binary, text, 2, stated(SMUGGLED), LAST)
    is_read = b"GET /smuggled HTTP/1.1" in lines_of(asked)
    assert is_read == bool(found) == pools_by_default(each_binary)


@pytest.mark.parametrize("value", ["$http_transfer_encoding", "chunked"])
def test_chunks_that_are_only_announced(each_binary: nginx.Binary, value: str) -> None:
    """nginx decodes chunks: a server that goes by `Transfer-Encoding` (RFC 9112) finds the end within the body."""
    body = b"0\r\n\r\n" + SMUGGLED
    text = configuration(location(f"{KEPT} proxy_set_header Transfer-Encoding {value};"))
    (diagnostic,) = diagnose("request-framing", text, target=version(each_binary))
    assert diagnostic.severity is Severity.WARNING
    (asked,) = read(each_binary, text, 1, chunked(body))
    assert asked.header(b"Transfer-Encoding") == b"chunked"
    assert asked.body == body
    (asked,) = read(each_binary, apply_fix(each_binary, text), 1, chunked(body))
    assert not asked.header(b"Transfer-Encoding")


def test_chunks_that_are_not_announced(each_binary: nginx.Binary) -> None:
    """nginx streams a body in chunks, and the server reads the size of the first as a request line."""
    text = configuration(location(f'{KEPT} {STREAMED} proxy_set_header Transfer-Encoding "";'))
    (diagnostic,) = diagnose("request-framing", text, target=version(each_binary))
    assert diagnostic.severity is Severity.WARNING
    assert streamed(each_binary, text, 2) == [b"POST / HTTP/1.1", b"28"]
    assert streamed(each_binary, apply_fix(each_binary, text), 1) == [b"POST / HTTP/1.1"]


def streamed(binary: nginx.Binary, text: str, count: int) -> list[bytes]:
    """The request lines, at least so many, that an upstream reads of a body whose end comes late."""
    request = chunked(SMUGGLED)
    with origins.serving(origins.plain) as origin:
        http, server = inside(text.replace("127.0.0.1:1;", f"127.0.0.1:{origin.port};"))
        with (
            nginx.Instance(binary, servers=(server,), http=http) as running,
            socket.create_connection(("127.0.0.1", running.ports[0]), timeout=PATIENCE) as client,
        ):
            client.sendall(request.removesuffix(LAST_CHUNK))
            time.sleep(0.1)
            client.sendall(LAST_CHUNK)
            assert client.recv(65536).startswith(b"HTTP/1.1 200 ")
            wait_until(lambda: len(origin.asked) >= count)
        return lines_of(origin.asked)


AUTH = """\
location / {
    auth_request /sub;
    proxy_pass http://unix:temp/b.sock:/;
}
location = /sub {
    internal;
    proxy_pass http://app;
    LINES
}"""
MIRROR = AUTH.replace("auth_request /sub;", "mirror /sub; mirror_request_body off;")
# The server, and whether the rule finds that requests have a length without a body.
BODILESS = {
    "no body": (location(f"{KEPT} {OFF}"), True),
    "no body, and the client's length": (location(f"{KEPT} {OFF} {HTTP_LENGTH}"), True),
    "no body, and nginx's length": (location(f"{KEPT} {OFF} proxy_set_header Content-Length $content_length;"), True),
    "no body, and some length": (location(f"{KEPT} {OFF} proxy_set_header Content-Length 2;"), True),
    "neither body nor length": (location(f"{KEPT} {OFF} {CLEARED}"), False),
    "auth_request": (AUTH.replace("LINES", KEPT), True),
    "auth_request, no body": (AUTH.replace("LINES", f"{KEPT} {OFF}"), True),
    "auth_request, no length": (AUTH.replace("LINES", f"{KEPT} {CLEARED}"), False),
    "auth_request, a body of its own": (AUTH.replace("LINES", f"{KEPT} proxy_set_body ab;"), False),
    "mirror": (MIRROR.replace("LINES", KEPT), True),
    "mirror, no length": (MIRROR.replace("LINES", f"{KEPT} {CLEARED}"), False),
}
BACKEND = (
    b"log_format line '$request'; "
    b"server { listen unix:temp/a.sock; access_log logs/lines line; lingering_timeout 1s; location / { return 200; } } "
    b"server { listen unix:temp/b.sock; location / { return 200; } }"
)


@pytest.mark.parametrize(("server", "breaks"), BODILESS.values(), ids=BODILESS)
def test_a_request_is_read_as_a_body(a_binary: nginx.Binary, server: str, breaks: bool) -> None:
    """The upstream reads two bytes of the next request as the body, and then a method without them."""
    for name in ("auth_request", "mirror"):
        if name in server:
            require_directive(a_binary, name)
    text = configuration(server)
    found = diagnose("request-framing", text, target=version(a_binary))
    assert [diagnostic.severity for diagnostic in found] == ([Severity.WARNING] if breaks else [])
    assert any(map(is_cut, logged(a_binary, text))) is breaks
    if breaks:
        assert not any(map(is_cut, logged(a_binary, apply_fix(a_binary, text))))


def is_cut(line: str) -> bool:
    """Whether the first two bytes of a request line are missing."""
    return not line.startswith(("GET ", "POST "))


def logged(binary: nginx.Binary, text: str) -> list[str]:
    """The request lines that an upstream server logs of three requests, the first with a body.

    It logs a request once it has its body, and nginx sends the next one when a connection is idle: soon after the last.
    """
    http, server = inside(text.replace("127.0.0.1:1;", "unix:temp/a.sock;"))
    requests = (stated(b"ab"), get(), get())
    with nginx.Instance(binary, servers=(server,), http=BACKEND + http, files={"logs/lines": b""}) as running:
        log = running.prefix / "logs" / "lines"
        for request in requests:
            with running.client(timeout=PATIENCE) as client:
                client.ask([RequestBytes(request)])
            time.sleep(0.1)
        wait_until(lambda: len(log.read_text().splitlines()) >= len(requests))
        return log.read_text().splitlines()


def test_an_upstream_waits_for_a_body(each_binary: nginx.Binary) -> None:
    """An upstream that reads bodies answers nothing, also where the connection closes after the request."""
    close = "proxy_http_version 1.1; proxy_set_header Connection close;"
    text = configuration(location(f"{close} {OFF} proxy_read_timeout 200ms;"))
    (diagnostic,) = diagnose("request-framing", text, target=version(each_binary))
    assert diagnostic.severity is Severity.INFO
    for conf, status in ((text, b"504"), (apply_fix(each_binary, text), b"200")):
        with origins.serving(origins.plain) as origin:
            http, server = inside(conf.replace("127.0.0.1:1;", f"127.0.0.1:{origin.port};"))
            with nginx.Instance(each_binary, servers=(server,), http=http) as running, running.client() as client:
                assert client.ask([RequestBytes(stated(b"ab"))])[0][9:12] == status
