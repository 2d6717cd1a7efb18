"""Access logs that nginx writes: the requests that are read are those that were sent."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from socket import create_connection

import pytest

from nginxopt.config import load_text
from nginxopt.request import ClientGate
from nginxopt.request.build import probe
from nginxopt.request.model import SiteModel, World
from nginxopt.request.requests_file import RequestsFile
from nginxopt.system import nginx
from nginxopt.system.http import RequestBytes
from tests.fuzz.sites.stage import Stage
from tests.profile.test_planted import profile_of
from tests.request.test_connection import site, socket
from tests.support import PATIENCE

pytestmark = pytest.mark.nginx

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


def sent_as_http2(target: bytes, host: bytes) -> bytes:
    """A connection of HTTP/2 with one request: its headers are literals without an index (RFC 7541, 6.2.2)."""

    def literal(name: bytes, value: bytes) -> bytes:
        return b"\x00" + bytes([len(name)]) + name + bytes([len(value)]) + value

    fields = ((b":method", b"GET"), (b":scheme", b"http"), (b":path", target), (b":authority", host))
    block = b"".join(literal(*field) for field in fields)
    settings = b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"
    headers = len(block).to_bytes(3, "big") + b"\x01\x05" + (1).to_bytes(4, "big") + block
    return b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + settings + headers


HTTP2 = b"""
    access_log access.log; location / { return 200 "[$server_protocol $request]"; }
    location /b { if ($server_protocol = HTTP/2.0) { return 201 two; } return 202 one; }
"""


def test_requests_of_http2_are_those_of_http1_but_for_the_protocol(each_binary: nginx.Binary, tmp_path: Path) -> None:
    """A line of HTTP/2 is a request that gets the answer that nginx gave to it."""
    name = "shop.example"
    with Stage(each_binary) as stage:
        ports = stage.ports(1)
        server = f"server {{ listen 127.0.0.1:{{P}} http2; {HTTP2.decode()} }}"
        stage.write({"nginx.conf": stage.filled(f"events {{ }} http {{ {server} }}", ports)})
        with stage.running():
            answers = [_exchanged(ports[0], sent_as_http2(target, name.encode())) for target in (b"/a", b"/b")]
            log = stage.root / "access.log"
            wait_for_lines(log, 2)
            data = log.read_bytes()
    assert b'"GET /a HTTP/2.0"' in data
    assert b"[HTTP/2.0 GET /a HTTP/2.0]" in answers[0]
    assert b"two" in answers[1]
    (tmp_path / "access.log").write_bytes(data)
    text = b"http { server { server_name shop.example; %s } }" % HTTP2
    config = load_text(text, "nginx.conf")
    model = SiteModel(config, probe(each_binary))
    traffic = RequestsFile(str(tmp_path / "access.log"), config, model.gate()).read()
    outcomes = [model.trace(model.gate().form(request), World())["outcome"] for request in traffic]
    assert [(outcome["status"], outcome["body"]) for outcome in outcomes] == [
        (200, "[HTTP/2.0 GET /a HTTP/2.0]"), (201, "two"),
    ]  # fmt: skip


def _exchanged(port: int, data: bytes) -> bytes:
    """What nginx answers on a connection until the response ends."""
    with create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        connection.sendall(data)
        answer = b""
        while b"[HTTP" not in answer and b"two" not in answer and b"one" not in answer:
            piece = connection.recv(1 << 16)
            assert piece, answer
            answer += piece
    return answer


@pytest.mark.parametrize("name", FORMATS)
def test_a_log_is_read_as_it_was_written(each_binary: nginx.Binary, tmp_path: Path, name: str) -> None:
    """Methods, targets, hosts and headers come back as they were sent, whatever nginx escapes; so does the rest."""
    requests = [(b"GET", target, b"") for target in TARGETS] + [(b"HEAD", b"/", b"")] * 2
    requests += [(b"GET", b"/", value) for value in VALUES]
    server = f"access_log access.log {name}; return 204;".encode()
    with nginx.Instance(each_binary, servers=[server], http=FORMATS[name].encode()) as instance:
        with instance.client() as client:
            client.ask([RequestBytes(sent(*request), head=request[0] == b"HEAD") for request in requests])
        for refused in REFUSED:
            with instance.client() as client:
                client.ask([RequestBytes(refused)])
        log = instance.prefix / "access.log"
        wait_for_lines(log, len(requests) + len(REFUSED))
        data = log.read_bytes()
    config = load_text(b"http { %s set $a $http_x_a; }" % FORMATS[name].encode(), "nginx.conf")
    path = tmp_path / "access.log"
    path.write_bytes(data)
    traffic = RequestsFile(
        str(path), config, ClientGate(site(socket("0.0.0.0", 8080, 0), names=("shop.example",)))
    ).read()
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


_VALUES = (
    "$request_method", "$host", "$upstream_addr", "$upstream_status", "$upstream_response_time",
    "$upstream_connect_time", "$upstream_header_time", "$upstream_response_length", "$upstream_bytes_sent",
    "$request_uri", "$status", "$bytes_sent", "$request_time", "$server_protocol", "$upstream_addr",
)  # fmt: skip
LISTS = f"""
    log_format bare '{" ".join(_VALUES)}';
    log_format quoted '{" ".join(f'"{value}"' for value in _VALUES)}';
    log_format json escape=json '{{"{'","'.join(_VALUES)}"}}';
"""
RETRIED = """
    access_log bare.log bare; access_log quoted.log quoted; access_log json.log json;
    location / { return 204; }
    location /retried { proxy_pass http://some; }
    location /redirected { proxy_pass http://some; }
    location /inner { internal; proxy_pass http://some; }
    location /lost { error_page 502 = /unnamed; proxy_pass http://dead; }
    location /unnamed { set $name none.invalid; proxy_pass http://$name; }
    location /found { recursive_error_pages on; error_page 502 = /again; proxy_pass http://dead; }
    location /again { error_page 502 = /inner; set $name none.invalid; proxy_pass http://$name; }
"""
UPSTREAMS = """
    upstream some { server unix:temp/a max_fails=0; server unix:temp/b max_fails=0; server unix:temp/up max_fails=0; }
    upstream dead { server unix:temp/a max_fails=0; server 127.0.0.1:1 max_fails=0; }
    server {
        listen unix:temp/up; access_log off;
        location / { return 200 text; }
        location /redirected { add_header X-Accel-Redirect /inner; return 200; }
    }
"""


def test_lists_of_upstreams_are_read_without_quotes(tmp_path: Path) -> None:
    """What several upstreams took is the same, whether quotes enclose it, JSON does, or nothing."""
    targets = ["/", "/retried", '/retried?"a"\\', "/redirected", "/lost", "/found"] * 2
    http = f"{UPSTREAMS}{LISTS}".encode()
    with nginx.Instance(nginx.find(), servers=[RETRIED.encode()], http=http) as instance:
        with instance.client() as client:
            client.ask([RequestBytes(sent(b"GET", target.encode(), b"")) for target in targets])
        logs = [instance.prefix / f"{name}.log" for name in ("bare", "quoted", "json")]
        for log in logs:
            wait_for_lines(log, len(targets))
            (tmp_path / log.name).write_bytes(log.read_bytes())
    bare = (tmp_path / "bare.log").read_text()
    assert all(statuses in bare for statuses in ("502, 200 ", "200 : ", "502, 502 :  ", "502, 502 : -, "))
    conf = f"events {{ }} http {{ {UPSTREAMS}{LISTS} server {{ listen 80; server_name shop.example; {RETRIED} }} }}"
    read = [profile_of([tmp_path / log.name], conf) for log in logs]
    assert [(profile.files[0].format, profile.files[0].broken) for profile in read] == [
        (log.stem, 0) for log in logs
    ]  # fmt: skip
    assert read[0].classes == read[1].classes == read[2].classes
    assert sum(cell.upstream.count for cell in read[0].classes.values()) == len(targets) - 2
