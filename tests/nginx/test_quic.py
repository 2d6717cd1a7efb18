"""nginx keeps addresses of QUIC apart from those of TCP, as the model does."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from nginxopt.config import load_text
from nginxopt.errors import InputError
from nginxopt.request import ClientGate, read_url
from nginxopt.request.model import SiteModel, World
from nginxopt.semantics.site import Build
from nginxopt.system import nginx
from nginxopt.system.exchange import certificate, exchange
from nginxopt.verify.hosts import ListenAddress
from nginxopt.verify.path_condition import Candidate
from nginxopt.verify.witnesses import request_of
from nginxopt.version import Version
from tests.nginx.running import running
from tests.support import NGINXES, nginx_verdict

pytestmark = pytest.mark.nginx

_TCP = ("listen {on} ssl;", "listen {on} ssl default_server;")
_QUIC = ("listen {on} quic;", "listen {on} quic reuseport;", "listen {on} quic default_server;")
SETS = [
    (_QUIC[1], _TCP[0], _TCP[0] + _QUIC[0]),
    (_QUIC[2], _TCP[1], _TCP[0]),
    (_TCP[0] + _QUIC[2], _QUIC[0], _TCP[1]),
    (_QUIC[0] + _TCP[0], _TCP[1] + _QUIC[2], _QUIC[0]),
    (_QUIC[2], _QUIC[0], _TCP[0]),
]
"""What three servers listen at: QUIC, TLS or both, with a default server of one of both or of each."""


@pytest.fixture(scope="module")
def with_quic() -> nginx.Binary:
    """An nginx with HTTP/3; the one that NGINXOPT_NGINX names may have it."""
    for binary in NGINXES:
        built = subprocess.run([binary.path, "-V"], capture_output=True, text=True, check=True).stderr
        if "--with-http_v3_module" in built:
            return binary
    pytest.skip("no nginx with HTTP/3")


def site(listens: tuple[str, ...], on: str) -> str:
    """A server of a name of its own for each."""
    servers = (
        f"server {{ {words.format(on=on)} server_name {name}.example; return 200 {name}; }}"
        for name, words in zip("abc", listens, strict=True)
    )
    return whole(" ".join(servers))


def whole(servers: str) -> str:
    """A configuration with a certificate."""
    tls = "ssl_certificate cert.pem; ssl_certificate_key cert.key;"
    return f"events {{}} http {{ access_log off; {tls} {servers} }}"


@pytest.mark.parametrize("listens", SETS, ids=" ".join)
def test_servers_of_quic_take_nothing_over_tcp(
    listens: tuple[str, ...], with_quic: nginx.Binary, tmp_path: Path
) -> None:
    """nginx answers over TLS as the model says, whoever listens over QUIC at the same port."""
    certificate(tmp_path)
    files = {name: (tmp_path / name).read_bytes() for name in ("cert.pem", "cert.key")}
    with nginx.reserved_ports(1) as (port,):
        text = site(listens, f"127.0.0.1:{port}")
        model = SiteModel(load_text(text.encode(), "nginx.conf"), Build(Version.of(with_quic.version)))
        with running(with_quic, text, files):
            for host in ("a.example", "b.example", "c.example", "x.example"):
                request = request_of(
                    Candidate(host=host), ListenAddress("inet", "127.0.0.1", port, quic=False), is_tls=True
                )
                request["connection"] = ClientGate(model.site.site).connection(read_url(f"https://{host}:{port}/"))
                sent = f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()
                response = exchange(sent, port, tls=True, sni=host)
                assert response is not None
                assert response.body.decode() == model.trace(request, World())["outcome"]["body"]


@pytest.mark.parametrize(
    "text",
    [
        "listen {on} quic; listen {on} ssl; listen [::1]:{port} quic;",
        "listen {on} quic; listen {on} quic;",
        "listen {on} quic default_server; listen {on} ssl default_server;",
        "listen {on} quic default_server; }} server {{ listen {on} ssl default_server;",
        "listen {on} quic default_server; }} server {{ listen {on} quic default_server;",
        "listen {on} quic ssl;",
        "listen {on} ssl http2 quic;",
        "listen {on} proxy_protocol quic;",
        "listen {on} quic reuseport; }} server {{ listen {on} quic;",
    ],
)
def test_what_nginx_refuses_beside_quic(text: str, with_quic: nginx.Binary, tmp_path: Path) -> None:
    """The same address twice for one protocol, a second default server of one, and parameters of TCP; word for word."""
    certificate(tmp_path)
    with nginx.reserved_ports(1) as (port,):
        data = whole(f"server {{ {text.format(on=f'127.0.0.1:{port}', port=port)} }}").encode()
        (tmp_path / "nginx.conf").write_bytes(data)
        verdict = nginx_verdict(with_quic, tmp_path, "-g", "pid nginx.pid;")
    refused = refusal(data, with_quic)
    assert refused in [None, *(f"{message.text} in {message.place}" for message in verdict.messages)]
    assert verdict.ok == (refused is None), verdict.messages


def refusal(data: bytes, binary: nginx.Binary) -> str | None:
    """What the model says with the words of nginx; None if it takes the configuration."""
    try:
        SiteModel(load_text(data, "nginx.conf"), Build(Version.of(binary.version)))
    except InputError as error:
        return error.nginx
    return None
