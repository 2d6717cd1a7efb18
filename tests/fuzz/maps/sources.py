"""What a map looks up, and how a client makes nginx look up a certain string."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from nginxopt.system.http import RequestBytes
from nginxopt.text.display import percent_encode
from tests.fuzz.maps.words import STYLES, Style

PRELUDE = b"""
map_hash_bucket_size 16384; map_hash_max_size 200000; variables_hash_bucket_size 512; variables_hash_max_size 65536;
merge_slashes off; large_client_header_buffers 8 32k;
map $host $names { "~^\\0(?<na>.)(?<nb>.)$" ""; }
map $http_z $other { default "o$http_z"; "~^z(.)" "o$1"; }
map $http_z $loop { volatile; default ""; "~^(?<nc>z)" $nc; }
"""
"""What all maps may use."""

_NOT_IN_HEADERS = re.compile(rb"[\r\n\0]")
_NOT_IN_TARGETS = re.compile(rb"[\r\n\0 ]")


@dataclass(frozen=True, slots=True)
class Source:
    """What is looked up as written, the words it is made of, the server that says the variable `@`, and a request.

    The request takes a string to look up and one to look up later, where the source may change, and Z.
    """

    text: bytes
    style: Style
    server: bytes
    request: Callable[[bytes, bytes], bytes]


def _asked(target: bytes, headers: bytes = b"", host: bytes = b"a.test") -> bytes:
    return b"GET %s HTTP/1.1\r\nHost: %s\r\n%s\r\n" % (target, host, headers)


def _header(name: bytes, value: bytes) -> bytes:
    return b"%s: %s\r\n" % (name, _NOT_IN_HEADERS.sub(b"", value).strip())


def _set(subject: bytes, later: bytes) -> bytes:
    return _asked(b"/" + percent_encode(subject.replace(b"\0", b"")), _header(b"Y", later))


def _uri(subject: bytes, _: bytes) -> bytes:
    return _asked(b"/" + percent_encode(subject.replace(b"\0", b"").removeprefix(b"/")))


def _request_uri(subject: bytes, _: bytes) -> bytes:
    return _asked(b"/" + _NOT_IN_TARGETS.sub(b"", subject).removeprefix(b"/"))


def _host(subject: bytes, _: bytes) -> bytes:
    return _asked(b"/", b"", _NOT_IN_HEADERS.sub(b"", subject).strip() or b"x")


def _x(subject: bytes, later: bytes) -> bytes:
    return _asked(b"/", _header(b"X", subject) + _header(b"Z", later[:2]))


def _url(subject: bytes, _: bytes) -> bytes:
    match = re.match(rb"http([a-z.]+)(/.*)", subject.replace(b"\0", b""), re.DOTALL)
    host, path = match.groups() if match else (b"a.test", b"/")
    return _asked(percent_encode(path), b"", host)


# `set $x $1` would escape what was escaped in the request (`e->quote` in ngx_http_rewrite_handler).
_SAYS = b'return 200 "$@|$na|$nb|$@";'
_PLAIN = b"location / { %s }" % _SAYS
_SETS = (
    b'location ~ "(?s)^/(?<whole>.*)$" { set $x $whole; set $first $@; set $x $http_y;'
    b' return 200 "$first|$na|$nb|$@|$na|$nb"; }'
)

SOURCES: tuple[tuple[Source, float], ...] = (
    (Source(b"$x", STYLES["path"], _SETS, _set), 40),
    (Source(b"$x", STYLES["agent"], _SETS, _set), 8),
    (Source(b"$x", STYLES["host"], _SETS, _set), 10),
    (Source(b"$uri", STYLES["path"], _PLAIN, _uri), 15),
    (Source(b"$request_uri", STYLES["path"], _PLAIN, _request_uri), 12),
    (Source(b"$host", STYLES["host"], _PLAIN, _host), 5),
    (Source(b"$http_x", STYLES["agent"], _PLAIN, _x), 8),
    (Source(b'"$scheme$host$uri"', STYLES["url"], _PLAIN, _url), 8),
)


def request(source: Source, subject: bytes, later: bytes) -> RequestBytes:
    """Return the request for a string."""
    return RequestBytes(source.request(subject, later))
