"""What is known of an nginx besides its version: distributions add fixes of later releases to an older one."""

from __future__ import annotations

from nginxopt.semantics.site import FIXES, Build
from nginxopt.system.http import RequestBytes
from nginxopt.system.nginx import Binary, Instance
from nginxopt.version import Version

_SERVER = rb"""
location /alias/ { alias html/; rewrite ^/alias/x$ /alias/y; set $path $request_filename; return 200 "[$path]"; }
location = / { return 200 "no limit"; }
location /escape/ { rewrite ^/escape/(.*)$ /y?z=1; set $first $1; return 200 "[$first]"; }
"""
_HEAD = b"GET %s HTTP/1.1\r\nHost: a\r\n%s\r\n"
_EXPERIMENTS = (
    (_HEAD % (b"/alias/x", b""), b"[]"),
    (_HEAD % (b"/escape/a%20b", b""), b"[a b]"),
    (_HEAD % (b"/", 1_000 * b"X: 1\r\n"), b"</html>\r\n"),
)
_FIXED = dict(zip(FIXES, _EXPERIMENTS, strict=True))
"""Requests that show whether a build has a fix, and how the response ends if it has."""


def probe(binary: Binary) -> Build:
    """Return the build of a binary, which is run on 127.0.0.1 for that. Raises `InputError` if it does not start."""
    with Instance(binary, servers=[_SERVER], alone=True) as instance, instance.client() as client:
        answers = client.ask([RequestBytes(request) for request, _ in _FIXED.values()])
    fixes = {name for (name, (_, end)), answer in zip(_FIXED.items(), answers, strict=True) if answer.endswith(end)}
    return Build(Version.of(binary.version), frozenset(fixes))
