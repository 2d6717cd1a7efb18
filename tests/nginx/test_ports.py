"""Ports that are held for nginx: the system gives them to nobody else, before nginx listens, meanwhile and after it."""

from __future__ import annotations

import socket

import pytest

from nginxopt.system import nginx
from tests.support import USER

pytestmark = pytest.mark.nginx

_SERVER = "daemon off; pid nginx.pid; error_log error.log; events { } http { access_log off; %s }"


@pytest.mark.parametrize("listen", ["127.0.0.1:%d", "%d", "127.0.0.1:%d reuseport", "%d reuseport"])
def test_only_nginx_binds_a_held_port(each_binary: nginx.Binary, listen: str) -> None:
    """nginx listens on a held port, again after it has ended; who asks for any free port or for that one has none."""
    with nginx.reserved_ports(1) as (port,), nginx.private_prefix() as prefix:
        server = "server { listen %s; return 200 ok; }" % (listen % port)
        (prefix / "nginx.conf").write_text(USER + _SERVER % server)
        for _ in range(2):
            assert not _is_free(port)
            with nginx.running(each_binary.command(prefix), prefix):
                assert not _is_free(port)
                assert _answers(port)
            assert not _answers(port)


def test_ports_whose_digits_occur_are_avoided() -> None:
    """A port that a text names is not chosen."""
    with nginx.reserved_ports(20) as ports:
        text = " ".join(map(str, ports)).encode()
    with nginx.reserved_ports(20, avoid=text) as others:
        assert not set(ports) & set(others)


def _is_free(port: int) -> bool:
    with socket.socket() as tried:
        try:
            tried.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except ConnectionRefusedError:
        return False
    return True
