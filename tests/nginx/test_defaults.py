"""Defaults, as far as they can be seen from outside, against the nginx binary."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest

from nginxopt.semantics import default
from nginxopt.system import nginx
from nginxopt.system.http import Request
from nginxopt.version import Version

OLD = Version(1, 22, 1)

FILES = {
    "html/page.html": b"words and more words, " * 200,
    "html/page.txt": b"words and more words, " * 200,
    "html/large": bytes(5_000_000),
}
BACKEND = (
    b"proxy_cache_path temp/cache keys_zone=z:1m; server { listen unix:temp/b.sock; return 200 $server_protocol; }"
)
PASS = "proxy_pass http://unix:temp/b.sock; add_header X-Cache $upstream_cache_status; proxy_cache_valid 1m;"

# What nginx tells of itself at the level `debug`, and the part of it that is the same in every run.
TRACES = re.compile(
    r"event timer add: \d+: (\d+):|(pipe read upstream)|(tcp_nodelay)|(tcp_nopush)|(cached open file: )"
    r"|sendfile: \d+ (of 2097152|of 524288)|(sendfile: )"
)


@dataclass(frozen=True)
class Case:
    """A default that shows: another value, what must stand beside it, and what to ask for."""

    name: str
    other: str
    beside: str = ""
    target: str = "/page.html"
    header: str = ""


CASES = [
    Case("gzip", "on", "gzip_types *;"),
    Case("gzip_comp_level", "5", "gzip on;"),
    Case("gzip_types", "text/plain", "gzip on; types { text/plain txt; text/html html; }", "/page.txt"),
    Case("gzip_proxied", "any", "gzip on;", header="Via: a proxy\r\n"),
    Case("gzip_vary", "on", "gzip on;"),
    Case("keepalive_timeout", "20s"),
    Case("open_file_cache", "max=10"),
    Case("proxy_buffering", "off", PASS),
    Case("proxy_cache", "z", PASS),
    Case("proxy_http_version", "1.1", PASS),
    Case("sendfile", "on"),
    Case("sendfile_max_chunk", "512k", "sendfile on;", "/large"),
    Case("tcp_nodelay", "off"),
    Case("tcp_nopush", "on", "sendfile on;"),
]


def traces(binary: nginx.Binary, case: Case, value: str | None) -> tuple[bytes, set[str]]:
    """The answer, and what nginx told of its making, with the directive set to a value, or absent."""
    line = "" if value is None else f"{case.name} {value};"
    server = f"location / {{ {case.beside} {line} }}".encode()
    request = f"GET {case.target} HTTP/1.1\r\nHost: a.test\r\nAccept-Encoding: gzip\r\n{case.header}\r\n".encode()
    with nginx.Instance(binary, servers=[server], http=BACKEND, files=FILES, log_level="debug") as instance:
        with instance.client() as client:
            # The second answer tells that the first one is over: a connection that is kept, a file that is closed.
            answers = client.ask([Request(request)]) + client.ask([Request(request)])
        log = "\n".join(instance.error_log())
    found = {next(part for part in groups if part) for groups in TRACES.findall(log) if any(groups)}
    return re.sub(rb"\r\nDate: [^\r]*", b"", b"".join(answers)), found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_default_is_what_holds_without_the_directive(binary: nginx.Binary, case: Case) -> None:
    """Without the directive nginx does what it does with the default, and not what it does with another value."""
    absent = traces(binary, case, None)
    assert traces(binary, case, default(case.name, OLD)) == absent
    assert traces(binary, case, case.other) != absent


def test_the_size_of_a_map(binary: nginx.Binary) -> None:
    """A map that is too large is refused with the size that nginx takes."""
    rows = b"".join(b"key-%d x;" % number for number in range(20_000))
    verdict = binary.test(nginx.configuration([b""], http=b"map $uri $x { %s }" % rows))
    assert f"map_hash_max_size: {default('map_hash_max_size', OLD)}" in str(verdict)


def test_the_connections_of_a_worker(binary: nginx.Binary) -> None:
    """With fewer descriptors than connections nginx tells how many connections it takes."""
    config = nginx.configuration(log_level="warn").replace(b"worker_connections 512;", b"")
    assert b"worker_connections" not in config
    with nginx.private_prefix({"nginx.conf": config}) as prefix:
        run = binary.run(prefix, "-t", wrapper=("prlimit", "--nofile=100"))
        told = run.stderr.decode() + (prefix / "error.log").read_text()
    assert f"{default('worker_connections', OLD)} worker_connections exceed" in told
