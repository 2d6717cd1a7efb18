"""Defaults whose effect nginx shows, against the binary."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest

from nginxopt.semantics import default
from nginxopt.system import nginx
from nginxopt.system.http import RequestBytes
from nginxopt.version import Version
from tests.support import run_nginx

pytestmark = pytest.mark.nginx

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

# Lines of the debug log, and the part of each that is the same in every run.
TRACES = re.compile(
    r"event timer add: \d+: (\d+):|(pipe read upstream)|(tcp_nodelay)|(tcp_nopush)|(cached open file: )"
    r"|sendfile: \d+ (of 2097152|of 524288)|(sendfile: )"
)


@dataclass(frozen=True)
class Case:
    """A default with a visible effect: other values, the directives that show it, and the file to request."""

    name: str
    others: tuple[str, ...]
    beside: str = ""
    target: str = "/page.html"
    header: str = ""


CASES = [
    Case("gzip", ("on",), "gzip_types *;"),
    Case("gzip_comp_level", ("5",), "gzip on;"),
    Case("gzip_types", ("text/plain",), "gzip on; types { text/plain txt; text/html html; }", "/page.txt"),
    Case("gzip_proxied", ("any",), "gzip on;", header="Via: a proxy\r\n"),
    Case("gzip_vary", ("on",), "gzip on;"),
    Case("keepalive_timeout", ("20s",)),
    Case("open_file_cache", ("max=10",)),
    Case("proxy_buffering", ("off",), PASS),
    Case("proxy_cache", ("z",), PASS),
    Case("proxy_http_version", ("1.0", "1.1"), PASS),
    Case("sendfile", ("on",)),
    Case("sendfile_max_chunk", ("512k",), "sendfile on;", "/large"),
    Case("tcp_nodelay", ("off",)),
    Case("tcp_nopush", ("on",), "sendfile on;"),
]


def traces(binary: nginx.Binary, case: Case, value: str | None) -> tuple[bytes, set[str]]:
    """The response, and its traces in the debug log, with the directive set to a value or (None) absent."""
    line = "" if value is None else f"{case.name} {value};"
    server = f"location / {{ {case.beside} {line} }}".encode()
    request = f"GET {case.target} HTTP/1.1\r\nHost: a.test\r\nAccept-Encoding: gzip\r\n{case.header}\r\n".encode()
    with nginx.Instance(binary, servers=[server], http=BACKEND, files=FILES, log_level="debug") as instance:
        with instance.client() as client:
            # With the second response all effects of the first are logged: a kept connection, a closed file.
            responses = client.ask([RequestBytes(request)]) + client.ask([RequestBytes(request)])
        log = "\n".join(instance.error_log())
    logged = {next(part for part in groups if part) for groups in TRACES.findall(log) if any(groups)}
    return re.sub(rb"\r\nDate: [^\r]*", b"", b"".join(responses)), logged


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_default_is_what_holds_without_the_directive(each_binary: nginx.Binary, case: Case) -> None:
    """Without the directive nginx does what it does with the default, and not what it does with another value."""
    value = default(case.name, Version.of(each_binary.version))
    absent = traces(each_binary, case, None)
    assert traces(each_binary, case, value) == absent
    for other in case.others:
        assert (traces(each_binary, case, other) == absent) is (other == value)


def test_the_size_of_a_map(binary: nginx.Binary) -> None:
    """nginx refuses a map that is too large with an error that names the default size."""
    rows = b"".join(b"key-%d x;" % number for number in range(20_000))
    verdict = binary.test(nginx.configuration([b""], http=b"map $uri $x { %s }" % rows))
    assert f"map_hash_max_size: {default('map_hash_max_size', OLD)}" in str(verdict)


def test_the_connections_of_a_worker(binary: nginx.Binary) -> None:
    """With fewer descriptors than connections nginx warns of the default number of connections."""
    config = nginx.configuration(log_level="warn").replace(b"worker_connections 512;", b"")
    assert b"worker_connections" not in config
    with nginx.private_prefix({"nginx.conf": config}) as prefix:
        run = run_nginx(binary, prefix, "-t", wrapper=("prlimit", "--nofile=100"))
        messages = run.stderr.decode() + (prefix / "error.log").read_text()
    assert f"{default('worker_connections', OLD)} worker_connections exceed" in messages
