"""Isolated copies of a user's configuration: their ports, files and addresses."""

from __future__ import annotations

from pathlib import Path

import pytest

from nginxopt import load_text
from nginxopt.bench import isolation
from nginxopt.errors import InputError

WHOLE = b"""\
user www-data; pid /run/nginx.pid; daemon on;
error_log /var/log/nginx/error.log notice;
events {}
http {
    access_log /var/log/nginx/access.log combined buffer=4k; # kept as a log
    proxy_cache_path /var/cache/pages keys_zone=a:1m;
    include snippets/*.conf;
    server { listen 443 ssl; ssl_certificate tls/a.pem; access_log off; }
    server { listen 0.0.0.0:80 default_server; listen [::]:80 ipv6only=on; }
    server { server_name b.test; }
}
"""


def test_an_isolated_configuration() -> None:
    """Isolation removes outside addresses, paths and command-line directives, and reports each change."""
    isolated = isolation.isolate(load_text(WHOLE, "/etc/app/nginx.conf", missing_ok=True))
    text = isolated.files["nginx.conf"].decode()
    ports = {str(address): name for address, name in isolated.ports.items()}
    assert ports == {"*:80": "edge", "*:443": "edge/p1", "[::]:80": "edge/p2"}
    for word in ("www-data", "/run", "/var", "daemon", "ipv6only", "include"):
        assert word not in text
    assert "access_log access.log combined buffer=4k; # kept as a log" in text
    assert "listen @edge/p1@ ssl; ssl_certificate /etc/app/tls/a.pem; access_log off;" in text
    assert "server { listen @edge@; server_name b.test; }" in text
    assert "client_body_temp_path temp/client_body_temp_path;" in text
    assert isolated.changes["listen addresses are private"] == 3
    assert isolated.measured() == "measured is *:80, with plain HTTP. Not measured: *:443, [::]:80."
    assert isolated.node().ports == ("edge/p1", "edge/p2")


def test_isolated_includes(tmp_path: Path) -> None:
    """Included files are copied and named in order; one that is included twice is one copy."""
    (tmp_path / "a.inc").write_text("listen 80;")
    (tmp_path / "nginx.conf").write_text("events {} http { server { include *.inc; } server { include a.inc; } }")
    isolated = isolation.isolate(load_text((tmp_path / "nginx.conf").read_bytes(), str(tmp_path / "nginx.conf")))
    assert isolated.files["files/1.conf"] == b"listen @edge@;"
    assert isolated.files["nginx.conf"].count(b"include files/1.conf;") == 2
    assert b"listen" not in isolated.files["nginx.conf"]


def test_isolated_ranges_of_ports() -> None:
    """Each port of a range has an address of its own, shared with the server that names the port alone."""
    servers = b"server { listen 8000-8002 backlog=9; } server { listen *:8001; } server { listen localhost; }"
    isolated = isolation.isolate(load_text(b"events {} http { %s }" % servers, "nginx.conf"))
    text = isolated.files["nginx.conf"].decode()
    assert "server { listen @edge@ backlog=9; listen @edge/p1@ backlog=9; listen @edge/p2@ backlog=9; }" in text
    assert "server { listen @edge/p1@; } server { listen @edge/p3@; }" in text
    assert [str(address) for address in isolated.ports] == ["*:8000", "*:8001", "*:8002", "localhost:80"]


@pytest.mark.parametrize("address", ["70000", "a/b", "1-65535"])
def test_isolated_addresses_that_cannot_be(address: str) -> None:
    """What nginx refuses, or what there are not ports enough for, is an error at its place."""
    with pytest.raises(InputError, match=r"refuses|range") as caught:
        isolation.isolate(load_text(b"events {} http { server { listen %s; } }" % address.encode(), "nginx.conf"))
    assert caught.value.span is not None


def test_a_configuration_without_plain_http() -> None:
    """A configuration that only speaks TLS has nothing to measure, and says so."""
    with pytest.raises(InputError, match="plain HTTP"):
        isolation.isolate(load_text(b"events {} http { server { listen 443 ssl; } }", "nginx.conf"))
