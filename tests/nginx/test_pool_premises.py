"""What a pool of idle connections breaks, on the real nginx.

Each upstream server works with HTTP/1.0 and fails with a pool. Without its premises a fix changes nothing; with them it
changes only what they allow. From version 1.29.7 nginx keeps connections by default, and so breaks the same by itself.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from nginxopt.system import nginx
from nginxopt.system.http import RequestBytes
from tests import origins
from tests.nginx.modules import require_directive
from tests.nginx.pools import (
    BOTH,
    GZIP,
    NONE,
    PLAIN,
    POST,
    fixed,
    get,
    inside,
    pool,
    pools_by_default,
    responses,
    version,
    whole,
)

pytestmark = [pytest.mark.nginx, pytest.mark.no_cover]

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
    a_binary: nginx.Binary, reply: origins.Reply, server: str, requests: list[bytes]
) -> None:
    """Safe fixes change no response and no request to the upstream; fixes under premises that are false do.

    An nginx that pools by default has the broken responses before any fix.
    """
    if "sub_filter" in server:
        require_directive(a_binary, "sub_filter")
    cache = "proxy_cache_path cache keys_zone=pages:1m;" if "pages" in server else ""
    exchanges = []
    with contextlib.ExitStack() as stack:
        for assumed in (None, NONE, BOTH):
            origin = stack.enter_context(origins.serving(reply))
            text = pool(origin.port, server, cache)
            text = text if assumed is None else fixed(text, assumed)
            received = responses(a_binary, text, requests)
            exchanges.append((received, [(request.head, request.body, request.number) for request in origin.asked]))
    before, safe, pooled = exchanges
    assert safe == before
    if pools_by_default(a_binary):
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
    """With 40 upstreams and 512 connections no request of 30 clients fails; with pools of 32 some do.

    The server answers once all clients have asked, so that each upstream has a connection for each of them.
    """
    together = threading.Barrier(30)

    def reply(asked: origins.Asked, users: dict[int, bytes]) -> bytes:
        with contextlib.suppress(threading.BrokenBarrierError):
            together.wait()
        return origins.plain(asked, users)

    with origins.serving(reply) as origin:
        text = fixed(many(40, f"127.0.0.1:{origin.port}"), BOTH)
        assert sizes(text) == [3] * 40
        assert fixed(text, BOTH) == text
        assert failures(binary, text, together) == 0
        assert failures(binary, text.replace("keepalive 3;", "keepalive 32;"), together) > 0


def failures(binary: nginx.Binary, text: str, together: threading.Barrier) -> int:
    """How many of 2,400 requests fail: 30 clients request each of 40 locations twice. The first failure breaks the
    barrier at which the others wait for that client."""
    http, server = inside(text)
    failed: list[bytes] = []
    with nginx.Instance(binary, servers=(server,), http=http) as running:

        def ask() -> None:
            with running.client() as client:
                for number in [*range(40)] * 2:
                    response = client.ask([RequestBytes(get(f"/{number}/"))])[0]
                    if not response.startswith(b"HTTP/1.1 200"):
                        failed.append(response)
                        together.abort()

        clients = [threading.Thread(target=ask) for _ in range(together.parties)]
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
    a_binary: nginx.Binary, reply: origins.Reply, server: str, requests: list[bytes]
) -> None:
    """Fixes under all premises change no byte of a request to a server outside the upstream."""
    with origins.serving(origins.plain) as app, origins.serving(reply) as legacy:
        text = pool(app.port, server % legacy.port)
        before = responses(a_binary, text, requests)
        requests_before = [(request.head, request.body) for request in legacy.asked]
        legacy.asked.clear()
        assert responses(a_binary, fixed(text, BOTH, version(a_binary)), requests) == before
        assert [(asked.head, asked.body) for asked in legacy.asked] == requests_before
        assert requests_before


@pytest.fixture(scope="module")
def certificate() -> Iterator[Path]:
    """A folder with a certificate and its key, which nginx may read as another user."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _make_certificate(folder)
        for path in (folder, *folder.iterdir()):
            path.chmod(0o755)
        yield folder


def _make_certificate(folder: Path) -> None:
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    command += ["-keyout", "key.pem", "-out", "cert.pem"]
    subprocess.run([*command, "-days", "2", "-subj", "/CN=app"], cwd=folder, check=True, capture_output=True)


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
        received = [client.ask([RequestBytes(get(path))])[0] for path in ("/a", "/b", "/a", "/b")]
    return [response.partition(b"\r\n\r\n")[2] for response in received]
