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
    assert ports == {"*:443": "edge", "*:80": "edge/p1", "[::]:80": "edge/p2"}
    for word in ("www-data", "/run", "/var", "daemon", "ipv6only", "include"):
        assert word not in text
    assert "access_log access.log combined buffer=4k; # kept as a log" in text
    assert "listen @edge@ ssl; ssl_certificate /etc/app/tls/a.pem; access_log off;" in text
    assert "server { listen @edge/p1@; server_name b.test; }" in text
    assert "client_body_temp_path temp/client_body_temp_path;" in text
    assert isolated.changes["listen addresses are private"] == 3
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


TLS = b"""\
events {}
http {
    ssl_protocols TLSv1.3; ssl_session_cache shared:S:1m; ssl_buffer_size 4k; ssl_dhparam dh.pem; http2_recv_timeout 9s;
    server { listen 443 ssl http2; ssl_certificate $ssl_server_name.crt; ssl_certificate_key "data:$key"; }
    server { listen 8443 ssl; ssl_certificate a.crt; ssl_certificate_key a.key; ssl_password_file a.pass;
        ssl_client_certificate ca.pem; ssl_verify_client optional; ssl_crl gone.pem; ssl_stapling on;
        location / { proxy_pass https://app.test; proxy_ssl_certificate mine.pem; } }
}
stream { server { listen 443 udp; } server { listen 993 ssl; ssl_certificate $name.pem; } }
"""


def test_a_certificate_of_its_own() -> None:
    """Files of a certificate are replaced; what decides how fast TLS is stays, and so do certificates for upstreams."""
    own = isolation.ServerCertificate(b"pem", b"key")
    isolated = isolation.isolate(load_text(TLS, "/etc/app/nginx.conf"), certificate=own)
    text = isolated.files["nginx.conf"].decode()
    assert (isolated.files["certificate.pem"], isolated.files["certificate.key"]) == (b"pem", b"key")
    assert "ssl_protocols TLSv1.3; ssl_session_cache shared:S:1m; ssl_buffer_size 4k;" in text
    # A path with a variable is read for each handshake, and still is.
    assert "ssl_certificate certificate.pem$is_args; ssl_certificate_key certificate.key$is_args;" in text
    assert "ssl_certificate certificate.pem; ssl_certificate_key certificate.key;" in text
    assert "ssl_client_certificate certificate.pem; ssl_verify_client optional;" in text
    assert "listen 993" not in text
    assert text.rstrip().endswith("ssl; ssl_certificate certificate.pem; } }")  # not a variable of http
    assert "proxy_ssl_certificate /etc/app/mine.pem;" in text
    for name in ("ssl_dhparam", "ssl_password_file", "ssl_crl", "ssl_stapling"):
        assert f"{name} " not in text
        assert isolated.changes[f"{name} is left out, as it belongs to another certificate"] == 1


def test_addresses_of_udp() -> None:
    """QUIC and UDP have addresses of their own beside those of TCP with the same port."""
    text = b"events {} http { server { listen 443 ssl; listen 443 quic reuseport; } }"
    isolated = isolation.isolate(load_text(text, "nginx.conf"))
    assert {str(address): name for address, name in isolated.ports.items()} == {
        "*:443": "edge",
        "*:443 (QUIC)": "edge/p1",
    }
    assert b"listen @edge@ ssl; listen @edge/p1@ quic reuseport;" in isolated.files["nginx.conf"]
