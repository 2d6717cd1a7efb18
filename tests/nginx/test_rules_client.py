"""Rules about clients on the real nginx: which responses are compressed, and which connections end."""

from __future__ import annotations

import gzip
import os
import re
import socket
import time
from collections.abc import Iterator

import pytest

from nginxopt.system import nginx
from nginxopt.system.http import Client, RequestBytes
from tests.lintcheck import diagnose, fixed
from tests.support import PATIENCE

pytestmark = pytest.mark.nginx

TEXT = b"a { color: red }\n" * 400
NOISE = os.urandom(8000)
FILES = {"html/a.css": TEXT, "html/a.js": TEXT, "html/a.html": TEXT, "html/a.png": NOISE, "html/a.svg": TEXT}
TYPES = "types { text/css css; text/javascript js; text/html html; image/png png; image/svg+xml svg; }\n"


def answers(binary: nginx.Binary, server: str, headers: str = "") -> dict[str, bytes]:
    """The answers of a server to requests for all files by a client that takes gzip."""
    with nginx.Instance(binary, servers=[(TYPES + server).encode()], files=FILES) as instance:
        with instance.client() as client:
            names = [name.removeprefix("html/") for name in FILES]
            responses = client.ask([request(f"/{name}", headers) for name in names])
        assert instance.error_log() == ()
        return dict(zip(names, responses, strict=True))


def request(target: str, headers: str = "") -> RequestBytes:
    """A request of a client that takes gzip."""
    return RequestBytes(f"GET {target} HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n{headers}\r\n".encode())


def is_compressed(answer: bytes) -> bool:
    """Whether the body is compressed."""
    return b"\r\nContent-Encoding: gzip\r\n" in answer


def content(answer: bytes) -> bytes:
    """The body as the client reads it."""
    head, _, body = answer.partition(b"\r\n\r\n")
    if b"\r\nTransfer-Encoding: chunked" in head:
        pieces = []
        while body:
            size, _, body = body.partition(b"\r\n")
            pieces.append(body[: int(size, 16)])
            body = body[int(size, 16) + 2 :]
        body = b"".join(pieces)
    return gzip.decompress(body) if is_compressed(answer) else body


def fixed_server(rule: str, server: str) -> str:
    """A server after the fixes of a rule, which change it."""
    text = fixed(rule, server, context="server", target="1.22.1").decode()
    assert text != server
    return text


CASES = {
    "gzip-types-default": ("gzip on;\n", {"a.html"}, {"a.html", "a.css", "a.js", "a.svg"}),
    "gzip-precompressed": (
        "gzip on;\ngzip_types text/css image/png;\n",
        {"a.html", "a.css", "a.png"},
        {"a.html", "a.css"},
    ),
    "gzip-level": ("gzip on;\ngzip_comp_level 9;\n", {"a.html"}, {"a.html"}),
}


@pytest.mark.parametrize("rule", CASES)
def test_the_fix_changes_which_files_are_compressed(binary: nginx.Binary, rule: str) -> None:
    """The fix changes which files are compressed, as its page says, and no content; nginx gives no warning."""
    server, before, after = CASES[rule]
    original, fixed_ = answers(binary, server), answers(binary, fixed_server(rule, server))
    assert {name for name, answer in original.items() if is_compressed(answer)} == before
    assert {name for name, answer in fixed_.items() if is_compressed(answer)} == after
    for bodies in (original, fixed_):
        assert {name: content(answer) for name, answer in bodies.items()} == {
            name.removeprefix("html/"): data for name, data in FILES.items()
        }


def test_compressed_twice_is_no_shorter(binary: nginx.Binary) -> None:
    """What has no redundancy becomes longer, and loses its length and its ranges."""
    answer = answers(binary, "gzip on;\ngzip_types image/png;\n", "Range: bytes=0-9\r\n")["a.png"]
    assert len(answer) > len(NOISE)
    assert not re.search(rb"\r\n(Content-Length|Accept-Ranges|Content-Range):", answer)


def test_nginx_warns_of_html_among_the_types(binary: nginx.Binary) -> None:
    """`text/html` is always compressed, and nginx warns where it is named: the fix does not name it."""
    named = nginx.configuration([b"gzip on; gzip_types text/html;"])
    assert 'duplicate MIME type "text/html"' in str(binary.test(named))
    fixed_types = nginx.configuration([fixed_server("gzip-types-default", "gzip on;\n").encode()])
    assert "warn" not in str(binary.test(fixed_types))


def test_through_a_proxy(binary: nginx.Binary) -> None:
    """A request with `Via` gets nothing compressed, after the fix all, with `Vary`."""
    server = "set_real_ip_from 127.0.0.1;\ngzip on;\n"
    response = answers(binary, server, "Via: 1.1 proxy\r\n")["a.html"]
    assert not is_compressed(response)
    assert b"\r\nVary:" not in response
    response = answers(binary, fixed_server("gzip-proxied-vary", server), "Via: 1.1 proxy\r\n")["a.html"]
    assert is_compressed(response)
    assert b"\r\nVary: Accept-Encoding\r\n" in response


# What stands in a server -> after how many requests its connections end; 0: not within five.
ENDS = {
    "": 0,
    "keepalive_timeout 0;\n": 1,
    "keepalive_requests 0;\n": 1,
    "keepalive_requests 1;\n": 1,
    "keepalive_requests 3;\n": 3,
}


@pytest.mark.parametrize(("server", "count"), ENDS.items())
def test_connections_end(binary: nginx.Binary, server: str, count: int) -> None:
    """A connection ends after the requests it may carry, 0 of them being one; after the fix it goes on."""
    with nginx.Instance(binary, servers=[server.encode()], files=FILES) as instance:
        before, end = conversation(instance.client())
    assert end == count
    if server:
        text = fixed("client-keepalive", server, context="server").decode()
        assert text != server
        with nginx.Instance(binary, servers=[text.encode()], files=FILES) as instance:
            after, end = conversation(instance.client())
        assert end == 0
        assert after == before


def conversation(client: Client) -> tuple[list[bytes], int]:
    """The bodies of five answers, and which of them says first that the connection ends."""
    with client:
        responses = [client.ask([request("/a.css")])[0] for _ in range(5)]
    ends = [number for number, answer in enumerate(responses, 1) if b"\r\nConnection: close\r\n" in answer]
    return [content(answer) for answer in responses], next(iter(ends), 0)


@pytest.mark.parametrize("pushes", [False, True])
def test_nodelay_off_delays_where_nothing_pushes(each_binary: nginx.Binary, pushes: bool) -> None:
    """Files wait for a delayed acknowledgement (40 ms on Linux) with `tcp_nodelay off`, but not with `tcp_nopush`."""
    server = f"tcp_nodelay off; sendfile on; tcp_nopush {'on' if pushes else 'off'};"
    assert bool(diagnose("tcp-nodelay-off", server, context="server")) is not pushes
    with nginx.Instance(each_binary, servers=[server.encode()], files=FILES) as instance:
        times = sorted(times_of_files("127.0.0.1", instance.ports[0], 20))
    if pushes:
        assert times[0] < 0.02  # a busy machine delays some
    else:
        assert times[10] > 0.03


def times_of_files(host: str, port: int, count: int) -> Iterator[float]:
    """The seconds that each of some requests for a file takes on one connection."""
    with socket.create_connection((host, port), timeout=PATIENCE) as connection, connection.makefile("rb") as lines:
        for _ in range(count):
            begin = time.monotonic()
            connection.sendall(b"GET /a.png HTTP/1.1\r\nHost: a\r\n\r\n")
            while lines.readline() != b"\r\n":
                pass
            lines.read(len(NOISE))
            yield time.monotonic() - begin


def test_nodelay_is_the_default(binary: nginx.Binary) -> None:
    """Removing `tcp_nodelay off` changes no response."""
    server = "listen unix:a.sock;\ntcp_nodelay off;\n"
    served = [answers(binary, text) for text in (server, fixed_server("tcp-nodelay-off", server))]
    before, after = ({name: content(answer) for name, answer in files.items()} for files in served)
    assert before == after


def test_what_is_no_longer_compressed_has_another_header(each_binary: nginx.Binary) -> None:
    """The body stays what it is once decoded, but a range is heeded and the header is another: the fix is unsafe."""
    before = "gzip on;\ngzip_vary on;\ngzip_types image/png text/css;\n"
    assert fixed("gzip-precompressed", before, context="server", unsafe=False).decode() == before
    ranged = "Range: bytes=0-9\r\n"
    heads = []
    for server in (before, fixed_server("gzip-precompressed", before)):
        plain, part = (answers(each_binary, server, headers)["a.png"] for headers in ("", ranged))
        assert content(plain) == NOISE
        heads.append((part.split()[1], b"\r\nVary:" in plain, b"\r\nETag: W/" in plain, b"Accept-Ranges" in plain))
    assert heads == [(b"200", True, True, False), (b"206", False, False, True)]


def test_a_level_of_compression_changes_no_decoded_response(each_binary: nginx.Binary) -> None:
    """With the level that the safe fix sets each response has the same header, and the same body once decoded."""
    before = "gzip on;\ngzip_vary on;\ngzip_comp_level 9;\ngzip_types text/css text/javascript;\n"
    after = fixed("gzip-level", before, context="server", unsafe=False).decode()
    assert after != before
    first, second = (answers(each_binary, server) for server in (before, after))
    assert {name: headed(answer) for name, answer in first.items()} == {
        name: headed(answer) for name, answer in second.items()
    }


def headed(answer: bytes) -> tuple[list[bytes], bytes]:
    """The header without its date, and the body as the client reads it."""
    lines = answer.partition(b"\r\n\r\n")[0].split(b"\r\n")
    return [line for line in lines if not line.startswith((b"Date:", b"Last-Modified:", b"ETag:"))], content(answer)


def test_the_last_response_of_a_connection_says_so(each_binary: nginx.Binary) -> None:
    """More requests on a connection change the header of the last one: the fix is unsafe."""
    before = "keepalive_requests 2;\nlocation / { return 204; }\n"
    assert fixed("client-keepalive", before, context="server", unsafe=False).decode() == before
    closes = []
    for server in (before, fixed_server("client-keepalive", before)):
        with nginx.Instance(each_binary, servers=[server.encode()]) as instance, instance.client() as client:
            responses = [client.ask([request("/")])[0] for _ in range(2)]
        closes.append([b"\r\nConnection: close" in answer for answer in responses])
    assert closes == [[False, True], [False, False]]
