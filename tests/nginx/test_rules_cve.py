"""The shapes of the vulnerabilities that `rewrite-capture-cve` reports, asked of builds that have them or their fixes.

A fixed build answers them as it should; where a map would change a capture, with 500. One that has the vulnerability
writes beyond a buffer, which ends it if it was built with AddressSanitizer, and with a block of memory of its own for
each string (`-fsanitize=address -DNGX_DEBUG_PALLOC=1`). No such build is in a package: NGINXOPT_NGINX names one. One
that is neither fixed nor built so fails here.
"""

from __future__ import annotations

import subprocess
from typing import NamedTuple

import pytest

from nginxopt.system import nginx
from nginxopt.system.http import RequestBytes
from nginxopt.version import dotted
from tests.lintcheck import diagnose

pytestmark = pytest.mark.nginx

RULE = "rewrite-capture-cve"
_LONG = 1500


class Shape(NamedTuple):
    """Lines of http and of a server, a request, and what the answer of a fixed build holds."""

    http: str
    server: str
    target: str
    host: str
    shows: bytes


SHAPES = {
    "CVE-2026-42945": Shape(
        "",
        'location / { rewrite ^/user/(.*)$ /user.php?name=$1; set $name $1; return 200 "[$name]"; }',
        "/user/" + "%26" * _LONG,
        "a",
        b"[" + b"&" * _LONG + b"]",
    ),
    "CVE-2026-9256": Shape(
        "",
        "rewrite ^/go/((.*))$ https://shop.example/$1$2;",
        "/go/" + "%26" * _LONG,
        "a",
        b"Location: https://shop.example/" + b"&" * 2 * _LONG + b"\r\n",
    ),
    "CVE-2026-42533": Shape(
        r"map $host $site { ~^(?:www\.)?(.+)$ $1; }",
        'location ~ ^/to/(.*)$ { return 200 "[$1 $site]"; }',
        "/to/b",
        "www." + "a" * _LONG,
        b" 500 ",
    ),
    "with last": Shape(
        "",
        "location / { rewrite ^/user/(.*)$ /user.php?name=$1 last; set $name $1; }"
        " location = /user.php { return 200 [$args]; }",
        "/user/" + "%26" * _LONG,
        "a",
        b"[name=" + b"%26" * _LONG + b"]",
    ),
    "with a group that has a name": Shape(
        "",
        "location / { rewrite ^/user/(?<name>.*)$ /user.php?name=$name; return 200 [$args]; }",
        "/user/" + "%26" * _LONG,
        "a",
        b"[name=" + b"&" * _LONG + b"]",
    ),
    "overlapping groups in a path": Shape(
        "",
        "location /go/ { rewrite ^/go/((.*))$ /to/$1$2 last; } location /to/ { return 200 [$uri]; }",
        "/go/" + "%26" * _LONG,
        "a",
        b"[/to/" + b"&" * 2 * _LONG + b"]",
    ),
    "overlapping groups beside a variable": Shape(
        "",
        "rewrite ^/at/((.*))$ https://shop.example/$1$2$host;",
        "/at/" + "%26" * _LONG,
        "a",
        b"Location: https://shop.example/" + b"&" * 2 * _LONG + b"a\r\n",
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_the_shapes(each_binary: nginx.Binary, name: str) -> None:
    """What is reported for a version writes beyond a buffer there, and what is not reported does not."""
    shape = SHAPES[name]
    text = f"{shape.http}\nserver {{\n{shape.server}\n}}\n"
    findings = diagnose(RULE, text, context="http", target=dotted(each_binary.version[:3]))
    assert [finding.message.split(":")[0] for finding in findings] in ([], [name])
    http = shape.http.encode() + b"large_client_header_buffers 4 32k;"
    lines = [f"GET {shape.target} HTTP/1.1", f"Host: {shape.host}", "Connection: close", "", ""]
    with (
        nginx.Instance(each_binary, servers=[shape.server.encode()], http=http) as instance,
        instance.client() as client,
    ):
        (answer,) = client.ask([RequestBytes("\r\n".join(lines).encode(), alone=True)])
    ends = bool(findings) and _is_sanitized(each_binary)
    assert (answer == b"") if ends else (shape.shows in answer)


def _is_sanitized(binary: nginx.Binary) -> bool:
    """Return whether a build ends where it writes beyond a buffer."""
    told = subprocess.run([binary.path, "-V"], stderr=subprocess.PIPE, check=True).stderr
    return b"-fsanitize=address" in told
