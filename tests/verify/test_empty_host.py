"""An empty Host for an upstream, which nginx replaces by the name of the upstream since 1.31.4."""

from __future__ import annotations

import pytest

from nginxopt.config import load_text
from nginxopt.request.model import SiteModel
from nginxopt.semantics.site import Build
from nginxopt.verify import verify
from nginxopt.version import Version
from tests.rows import every_row

_PASS = """
events {}
http {
    upstream %s { server 127.0.0.1:9; }
    server {
        listen 8080;
        server_name x.example;
        location / { proxy_pass http://%s; %s proxy_http_version 1.1; proxy_redirect off; }
    }
}
"""


def _passed(upstream: str, header: str, release: str) -> SiteModel:
    return SiteModel(load_text((_PASS % (upstream, upstream, header)).encode()), Build(Version.parse(release)))


@pytest.mark.parametrize(
    ("release", "header", "other", "verdict"),
    [
        ("1.31.3", 'proxy_set_header Host "";', "", "different"),
        ("1.31.4", 'proxy_set_header Host "";', "", "equivalent"),
        ("1.31.4", 'proxy_set_header Host "$http_x";', "", "different"),
    ],
)
def test_an_empty_host_is_that_of_the_upstream(release: str, header: str, other: str, verdict: str) -> None:
    """nginx sends the name of the upstream in place of an empty Host (`ngx_http_proxy_create_request`)."""
    assert verify(_passed("one", header, release), _passed("one", other, release)).verdict == verdict


@every_row(
    ("release", "header", "verdict"),
    [
        ("1.31.3", 'proxy_set_header Host "";', "equivalent"),
        ("1.31.4", 'proxy_set_header Host "";', "unknown"),
        ("1.31.4", "proxy_set_header Host $http_x;", "unknown"),
        ("1.31.4", "proxy_set_header Host $http_host;", "unknown"),
        ("1.31.4", "proxy_set_header Host $host;", "equivalent"),
        ("1.31.4", "proxy_set_header Host x.example;", "equivalent"),
    ],
)
def test_an_empty_host_shows_the_name_of_the_upstream(release: str, header: str, verdict: str) -> None:
    """Upstreams of two names are alike only if no Host can be empty, as nginx sends the name then."""
    assert verify(_passed("one", header, release), _passed("two", header, release)).verdict == verdict
