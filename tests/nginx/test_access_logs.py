"""Access logs that nginx writes: the requests that are read are those that were sent."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pytest

from nginxopt.config import load_text
from nginxopt.request import Gate
from nginxopt.request.requests_file import RequestsFile
from nginxopt.system import nginx
from nginxopt.system.http import Request
from tests.request.test_connection import site, socket
from tests.support import PATIENCE

FORMATS = {
    "combined": "",
    "quoted": 'log_format quoted \'$remote_addr [$time_local] "$request" $status "$http_host" "$http_x_a"\';',
    "uri": "log_format uri '$host $request_method $request_uri $server_protocol \"$http_host\" $http_x_a';",
    "tabs": "log_format tabs '$scheme\\t$http_host\\t$server_port\\t$request_method\\t$request_uri\\t$http_x_a';",
    "json": 'log_format json escape=json \'{"request": "$request", "host": "$http_host", "x": "$http_x_a"}\';',
    "none": 'log_format none escape=none \'"$http_x_a" "$http_host" $status "$request"\';',
}

TARGETS = [
    b"/", b"/a?b=c", b"/a%20b", b'/"quoted"', b"/back\\slash", b"/\xc3\xa4", b"/\xff", b"/a[1]", b"/-", b"/a|b",
    b"/a;b", b"/'", b"/{}", b"/%22", b"/?", b"/a?b=\"c\"&d=\\x22",
]  # fmt: skip
VALUES = [b"", b"plain", b'say "hi"', b"back\\slash", b"\xc3\xa4\xff", b"two words", b"tab\there"]
REFUSED = [b"GET /a b HTTP/1.1\r\nHost: h\r\n\r\n", b"\x16\x03\x01\x00\r\n\r\n", b"get / HTTP/1.1\r\nHost: h\r\n\r\n"]


def sent(method: bytes, target: bytes, value: bytes) -> bytes:
    """A request with a header that is logged."""
    header = b"X-A: %s\r\n" % value if value else b""
    return b"%s %s HTTP/1.1\r\nHost: shop.example:8080\r\n%s\r\n" % (method, target, header)


def wait_for_lines(log: Path, count: int) -> None:
    """Wait until nginx, which logs a request after its response, has written so many lines."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and (not log.exists() or log.read_bytes().count(b"\n") < count):
        time.sleep(0.01)


@pytest.mark.parametrize("name", FORMATS)
def test_a_log_is_read_as_it_was_written(each_binary: nginx.Binary, tmp_path: Path, name: str) -> None:
    """Methods, targets, hosts and headers come back as they were sent, whatever nginx escapes; so does the rest."""
    requests = [(b"GET", target, b"") for target in TARGETS] + [(b"HEAD", b"/", b"")] * 2
    requests += [(b"GET", b"/", value) for value in VALUES]
    server = f"access_log access.log {name}; return 204;".encode()
    with nginx.Instance(each_binary, servers=[server], http=FORMATS[name].encode()) as instance:
        with instance.client() as client:
            client.ask([Request(sent(*request), head=request[0] == b"HEAD") for request in requests])
        for refused in REFUSED:
            with instance.client() as client:
                client.ask([Request(refused)])
        log = instance.prefix / "access.log"
        wait_for_lines(log, len(requests) + len(REFUSED))
        data = log.read_bytes()
    config = load_text(b"http { %s set $a $http_x_a; }" % FORMATS[name].encode(), "nginx.conf")
    path = tmp_path / "access.log"
    path.write_bytes(data)
    traffic = RequestsFile(str(path), config, Gate(site(socket("0.0.0.0", 8080, 0), names=("shop.example",)))).read()
    has_header = name != "combined"
    expected = Counter((method, target, value if has_header else b"") for method, target, value in requests)
    read = Counter[tuple[bytes, bytes, bytes]]()
    for group in traffic.groups:
        value = dict(group.request.headers).get(b"X-A", b"")
        for target, count in group.targets.items():
            read[group.request.method, target, value] += count
    assert read == expected
    assert (traffic.broken, traffic.malformed) == (0, len(REFUSED))
    ports = {(group.request.url.host, group.request.url.port) for group in traffic.groups}
    assert ports == {("shop.example", instance.ports[0] if "$server_port" in FORMATS[name] else 8080)}
