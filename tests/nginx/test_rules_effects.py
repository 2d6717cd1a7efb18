"""Directives that do not do what they seem to, on the real nginx: what the rules about them claim."""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence

import pytest

from nginxopt.system import nginx
from nginxopt.system.http import RequestBytes
from tests.lintcheck import diagnose
from tests.nginx.example import verdict_on
from tests.support import PATIENCE

pytestmark = pytest.mark.nginx

TEXT = b"a { color: red }\n" * 400


def get(path: str = "/") -> RequestBytes:
    """A request that allows compression."""
    return RequestBytes(f"GET {path} HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n".encode())


def answers(binary: nginx.Binary, server: str, requests: Sequence[RequestBytes], *, http: str = "") -> list[bytes]:
    """The answers of a server to requests on one connection, as far as it stays open."""
    files = {"html/a.css": TEXT}
    with (
        nginx.Instance(binary, servers=[server.encode()], http=http.encode(), files=files) as instance,
        instance.client(timeout=PATIENCE) as client,
    ):
        return [answer for request in requests for answer in client.ask([request])]


@pytest.mark.parametrize("module", ["fastcgi", "proxy"])
def test_a_setting_of_another_module(each_binary: nginx.Binary, module: str) -> None:
    """`fastcgi_intercept_errors` beside `proxy_pass` has no effect; the directive of the module has."""
    origin = "server { listen unix:origin.sock; return 500 theirs; }"
    location = f"proxy_pass http://unix:origin.sock:; {module}_intercept_errors on; error_page 500 /ours;"
    server = f"location = /ours {{ internal; return 500 ours; }}\nlocation / {{ {location} }}\n"
    assert bool(diagnose("foreign-setting", server, context="server")) is (module == "fastcgi")
    (answer,) = answers(each_binary, server, [get()], http=origin)
    assert answer.endswith(b"theirs" if module == "fastcgi" else b"ours")


@pytest.mark.parametrize("state", ["on", "off"])
def test_without_chunks_the_connection_ends(each_binary: nginx.Binary, state: str) -> None:
    """A compressed response ends with its connection if `chunked_transfer_encoding` is off."""
    server = f"gzip on; gzip_types text/css; types {{ text/css css; }} chunked_transfer_encoding {state};"
    assert bool(diagnose("chunked-off", server, context="server")) is (state == "off")
    (answer,) = answers(each_binary, server, [get("/a.css")])
    assert (b"\r\nConnection: close\r\n" in answer) is (state == "off")
    assert (b"\r\nTransfer-Encoding: chunked\r\n" in answer) is (state == "on")


@pytest.mark.parametrize(("rate", "option", "least"), [("2r/s", "", 0.9), ("1r/m", "nodelay", 0.0)])
def test_a_burst_waits(each_binary: nginx.Binary, rate: str, option: str, least: float) -> None:
    """Requests of a burst wait at the rate; with `nodelay` three are answered long before the two minutes of theirs."""
    http = f"limit_req_zone $host zone=all:64k rate={rate};"
    server = f"limit_req zone=all burst=5 {option}; location / {{ root html; }}"
    assert bool(diagnose("limit-req-delays", f"{http} server {{ {server} }}", context="http")) is (least > 0)
    begin = time.monotonic()
    replies = answers(each_binary, server, [get("/a.css")] * 3, http=http)
    assert [reply[9:12] for reply in replies] == [b"200"] * 3
    assert least <= time.monotonic() - begin < PATIENCE


@pytest.mark.parametrize("name", ["localhost", "$name"])
def test_a_resolver_is_asked_for_variables_only(each_binary: nginx.Binary, name: str) -> None:
    """The name server gets a question if the name is in a variable, and none if it is written."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as names, nginx.reserved_ports(1) as (port,):
        names.bind(("127.0.0.1", 0))
        names.settimeout(PATIENCE)
        resolver = f"resolver 127.0.0.1:{names.getsockname()[1]} ipv6=off; resolver_timeout 1s;"
        server = f"location / {{ {resolver} set $name localhost; proxy_pass http://{name}:{port}; }}"
        assert bool(diagnose("resolver-unused", server, context="server")) is (name == "localhost")
        (answer,) = answers(each_binary, server, [get()])
        assert answer[9:12] == b"502"
        if name == "localhost":
            names.setblocking(False)
            with pytest.raises(BlockingIOError):
                names.recv(512)
        else:
            assert b"localhost" in names.recv(512)


REFUSED = [
    "rewrite ^/(a /b;",
    "rewrite *.php /b;",
    "location ~ ^/[a { return 204; }",
    "location ~* a) { return 204; }",
    'if ($uri ~ "[z-a]") { return 204; }',
    'if ($uri !~* "a{3,1}") { return 204; }',
    "server_name ~^(www;",
]


@pytest.mark.parametrize("text", REFUSED)
def test_a_broken_pattern_is_refused(each_binary: nginx.Binary, text: str) -> None:
    """nginx refuses the patterns that are reported."""
    (diagnostic,) = diagnose("pattern-refused", text, context="server")
    verdict = verdict_on(each_binary, f"events {{}}\nhttp {{\nserver {{\n{text}\n}}\n}}\n".encode())
    assert not verdict.ok
    assert "_compile() failed" in str(verdict)
    assert diagnostic.message.startswith("nginx refuses this pattern: ")
