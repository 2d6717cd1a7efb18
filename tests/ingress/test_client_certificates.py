"""`auth-tls-*` with certificates of a real authority: what nginx answers to clients with one, with another, without."""

from __future__ import annotations

import http.client
import re
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from nginxopt.system import nginx
from tests import servers
from tests.certificates import Issued, issue
from tests.ingress.cases import HOST, ingress
from tests.ingress.controllers import written
from tests.support import NGINXES

pytestmark = pytest.mark.nginx

_DAYS = (-90, 9_000)  # valid whenever the tests run: nginx has no other clock
_BACKEND = """
    server {
        listen 127.0.0.1:{port};
        return 200 "$http_ssl_client_verify $http_ssl_client_subject_dn";
    }
    server {
        listen 127.0.0.1:{login};
        return 200 "login";
    }
"""
Ask = Callable[[Issued | None], tuple[int, str]]


@contextmanager
def controller(binary: nginx.Binary, folder: Path, authority: Issued, **annotations: Any) -> Iterator[Ask]:
    """Run the configuration of an Ingress; yield what asks it with a certificate or without."""
    port, login = servers.free_port(), servers.free_port()
    named = {name: value.replace("{login}", str(login)) for name, value in annotations.items()}
    made = ingress("web", tls=[HOST], auth_tls_secret="default/ca", **named)
    others = _BACKEND.replace("{port}", str(port)).replace("{login}", str(login))
    own = written(binary, folder, made, {}, upstream=port, others=others, is_tls=True)
    for name in set(re.findall(rf"{re.escape(str(folder))}/(\S+\.pem);", (folder / "nginx.conf").read_text())):
        server = issue(HOST, by=authority, days=_DAYS)
        (folder / name).write_bytes(authority.pem if name.startswith("ca-") else server.pem + server.private)
    (folder / "ca.pem").write_bytes(authority.pem)

    def ask(client: Issued | None) -> tuple[int, str]:
        context = ssl.create_default_context(cafile=str(folder / "ca.pem"))
        if client is not None:
            (folder / "client.pem").write_bytes(client.pem + client.private)
            context.load_cert_chain(folder / "client.pem")
        connection = http.client.HTTPConnection("127.0.0.1", own, timeout=60)
        plain = socket.create_connection(("127.0.0.1", own), 60)
        connection.sock = context.wrap_socket(plain, server_hostname=HOST)
        connection.request("GET", "/", headers={"Host": HOST})
        answer = connection.getresponse()
        found = answer.status, answer.getheader("Location") or answer.read().decode()
        connection.close()
        return found

    with servers.running([*binary.command(folder)], own, folder):
        yield ask


@pytest.mark.parametrize("binary", NGINXES, ids=str)
def test_who_may_ask(binary: nginx.Binary, tmp_path: Path) -> None:
    """The upstream learns the name of a client whose certificate is accepted. Other clients get 400 or 403."""
    authority, stranger = (issue(name, is_authority=True, days=_DAYS) for name in ("ours", "theirs"))
    with controller(
        binary, tmp_path, authority, auth_tls_match_cn="CN=(amy|bob)", auth_tls_pass_certificate_to_upstream="true"
    ) as ask:
        assert ask(issue("amy", by=authority, days=_DAYS)) == (200, "SUCCESS CN=amy")
        assert ask(issue("eve", by=authority, days=_DAYS)) == (403, "client certificate unauthorized")
        assert ask(issue("amy", by=stranger, days=_DAYS))[0] == 400
        assert ask(None)[0] in (400, 403)


@pytest.mark.parametrize("binary", NGINXES, ids=str)
def test_where_certificates_are_optional(binary: nginx.Binary, tmp_path: Path) -> None:
    """Clients without one are answered; a wrong one is sent to the page of errors."""
    authority, stranger = (issue(name, is_authority=True, days=_DAYS) for name in ("ours", "theirs"))
    with controller(
        binary, tmp_path, authority, auth_tls_verify_client="optional", auth_tls_error_page="http://login.example/",
        auth_tls_pass_certificate_to_upstream="true",
    ) as ask:  # fmt: skip
        assert ask(None) == (200, "NONE ")
        assert ask(issue("amy", by=authority, days=_DAYS)) == (200, "SUCCESS CN=amy")
        assert ask(issue("amy", by=stranger, days=_DAYS)) == (302, "http://login.example/")
