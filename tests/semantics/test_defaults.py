"""Defaults by version."""

from __future__ import annotations

from nginxopt.semantics import PIVOT, default
from nginxopt.version import Version
from tests.rows import every_row


@every_row(
    ("name", "release", "expected"),
    [
        ("accept_mutex", "1.11.2", "on"),
        ("accept_mutex", "1.11.3", "off"),
        ("keepalive_requests", "1.9.0", "100"),
        ("keepalive_requests", "1.19.10", "1000"),
        ("sendfile_max_chunk", "1.21.3", "0"),
        ("sendfile_max_chunk", "1.21.4", "2m"),
        ("proxy_http_version", "1.29.6", "1.0"),
        ("proxy_http_version", str(PIVOT), "1.1"),
        ("proxy_http_version", "1.99.0", "1.1"),
        ("http2", "1.22.1", "off"),
        ("worker_connections", "1.28.0", "512"),
        ("keepalive_timeout", "1.28.0", "75s"),
        ("proxy_pass", "1.28.0", None),
        ("no_such_directive", "1.28.0", None),
    ],
)
def test_defaults(name: str, release: str, expected: str | None) -> None:
    """A default is that of the release, and of the nearest one that has the directive."""
    assert default(name, Version.parse(release)) == expected
