"""Configurations with a pool of idle connections: what the fixes make of them, and how nginx responds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nginxopt.config import Config
from nginxopt.lint import HTTP11_BACKENDS, IDLE_CONNECTIONS, Premise
from nginxopt.lint.catalogue import catalogue
from nginxopt.lint.check import Judge
from nginxopt.lint.fix import fix
from nginxopt.lint.run import Selected
from nginxopt.semantics import PIVOT
from nginxopt.settings.file import Settings
from nginxopt.system import nginx
from nginxopt.system.http import RequestBytes
from nginxopt.version import Version
from tests.lintcheck import read
from tests.support import PATIENCE

BOTH = frozenset([HTTP11_BACKENDS, IDLE_CONNECTIONS])
NONE: frozenset[Premise] = frozenset()
OLD = Version(1, 22, 1)
"""A version without a pool by default."""


def fixed(text: str, assumed: frozenset[Premise], target: Version = OLD) -> str:
    """A configuration after all rules about proxies have fixed it once."""
    rules = tuple(Selected(rule, None) for rule in catalogue().values() if rule.category == "proxy")

    def load(texts: Mapping[str, bytes]) -> Config:
        return read(texts.get("nginx.conf", text.encode()))

    drafts = fix(load, Judge(rules, target, Settings(), assumed=assumed)).drafts
    return drafts["nginx.conf"].text.decode() if drafts else text


def version(binary: nginx.Binary) -> Version:
    """The version of a binary."""
    return Version.of(binary.version)


def pools_by_default(binary: nginx.Binary) -> bool:
    """Whether nginx keeps connections to an upstream without `keepalive`."""
    return version(binary) >= PIVOT


def whole(http: str) -> str:
    """A configuration with these lines in its http block, and a sign of load, without which sockets need no pool."""
    return f"worker_rlimit_nofile 2048;\nevents {{}}\nhttp {{\n{http}\n}}\n"


def inside(text: str) -> tuple[bytes, bytes]:
    """The lines of the http block before its one server, and the lines of that server."""
    http, _, server = text.partition("http {\n")[2].partition("\nserver {\n")
    return http.encode(), server.removesuffix("}\n}\n").encode()


def responses(binary: nginx.Binary, text: str, requests: Sequence[bytes]) -> list[bytes]:
    """The responses of nginx to requests on one connection."""
    http, server = inside(text)
    with (
        nginx.Instance(binary, servers=(server,), http=http) as running,
        running.client(timeout=PATIENCE) as client,
    ):
        return [_stable(response) for request in requests for response in client.ask([RequestBytes(request)])]


def _stable(response: bytes) -> bytes:
    """A response without the headers that differ between runs and versions."""
    head, _, body = response.partition(b"\r\n\r\n")
    lines = [line for line in head.split(b"\r\n") if not line.startswith((b"Date:", b"Server:"))]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def get(path: str = "/", headers: str = "") -> bytes:
    """A GET request."""
    return f"GET {path} HTTP/1.1\r\nHost: a.test\r\n{headers}\r\n".encode()


def pool(port: int, server: str, http: str = "") -> str:
    """A configuration with an upstream `app` and one server."""
    return whole(f"{http}\nupstream app {{\n    server 127.0.0.1:{port};\n}}\nserver {{\n{server}\n}}")


PLAIN = "location / {\n    proxy_pass http://app;\n}"
GZIP = "Accept-Encoding: gzip\r\n"
POST = b"POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n\r\nab"
