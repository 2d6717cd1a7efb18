"""What annotations of other servers become is asked of nginx: who authenticates, what backends, mirrors and pages get.

The template of the controller (nginx.tmpl) and its documentation of annotations say what is expected.
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from nginxopt.system import nginx
from tests import servers
from tests.ingress.cases import HOST, ingress
from tests.ingress.controllers import written
from tests.support import NGINXES, PATIENCE

pytestmark = pytest.mark.nginx

# What backends answer: the request as it came, in JSON.
_OTHERS = """
    log_format asked escape=json '{"path":"$request_uri","host":"$http_host","method":"$request_method",'
        '"code":"$http_x_code","format":"$http_x_format","original":"$http_x_original_uri",'
        '"ingress":"$http_x_namespace/$http_x_ingress_name","service":"$http_x_service_name:$http_x_service_port",'
        '"user":"$http_x_user","authorization":"$http_authorization","length":"$http_content_length",'
        '"url":"$http_x_original_url","by":"$http_x_forwarded_for"}';
    server {
        listen 127.0.0.1:{port};
        access_log {folder}/asked asked;
        client_max_body_size 0;
        location / { add_header X-Path $request_uri; return 200 "backend"; }
        location /missing { return 404 "its own"; }
        location /check {
            add_header Set-Cookie "session=1" always;
            add_header X-User amy;
            if ($http_authorization != "Bearer good") { return 401; }
            return 200;
        }
    }
"""


@dataclass(frozen=True, slots=True)
class Answer:
    """A status, headers by their names in lower case, and a body."""

    status: int
    headers: Mapping[str, str]
    body: str


@dataclass(frozen=True, slots=True)
class Controller:
    """An nginx with the configuration of an Ingress, and the servers that it asks, which listen at a `port`."""

    folder: Path
    own: int
    port: int

    def ask(self, path: str, method: str = "GET", body: bytes | None = None, **headers: str) -> Answer:
        """Return the answer to a request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.own, timeout=60)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body, {"Host": HOST, **named})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, text)

    def asked(self, path: str) -> Iterator[dict[str, str]]:
        """Yield what the other servers were asked for below a path."""
        for line in (self.folder / "asked").read_text().splitlines():
            request: dict[str, str] = json.loads(line)
            if request["path"].startswith(path):
                yield request

    def copied(self, path: str) -> dict[str, str]:
        """Return what they were asked for below a path, once they were: nobody waits for a mirror."""
        end = time.monotonic() + PATIENCE
        while not (found := [*self.asked(path)]):
            assert time.monotonic() < end, (self.folder / "asked").read_text()
            time.sleep(0.02)
        return found[0]


@contextmanager
def controller(
    binary: nginx.Binary, folder: Path, settings: Mapping[str, str], **annotations: Any
) -> Iterator[Controller]:
    """Run the configuration of an Ingress; `{port}` in annotations is that of the other servers."""
    port = servers.free_port()
    named = {name: value.replace("{port}", str(port)) for name, value in annotations.items()}
    others = _OTHERS.replace("{port}", str(port)).replace("{folder}", str(folder))
    own = written(binary, folder, ingress("web", **named), settings, upstream=port, others=others)
    with servers.running([*binary.command(folder)], own, folder):
        yield Controller(folder, own, port)


BINARY = pytest.mark.parametrize("binary", NGINXES, ids=str)


@BINARY
def test_an_auth_server(binary: nginx.Binary, tmp_path: Path) -> None:
    """It decides; the backend gets the headers that it names, and the client its cookie; bodies are not in its way."""
    with controller(
        binary, tmp_path, {},
        auth_url="http://127.0.0.1:{port}/check", auth_response_headers="X-User", proxy_body_size="8m",
    ) as run:  # fmt: skip
        refused, taken = run.ask("/a"), run.ask("/a", Authorization="Bearer good")
        assert (refused.status, taken.status) == (401, 200)
        assert taken.headers["set-cookie"] == "session=1"
        assert [each["user"] for each in run.asked("/a")] == ["amy"]
        asked = next(run.asked("/check"))
        assert (asked["method"], asked["url"], asked["length"]) == ("GET", f"http://{HOST}/a", "")
        assert run.ask("/b", "POST", bytes(2_000_000), Authorization="Bearer good").status == 200


@BINARY
def test_a_login(binary: nginx.Binary, tmp_path: Path) -> None:
    """Who is refused is sent to the login, with the address to return to and the cookie of the auth server."""
    with controller(
        binary, tmp_path, {},
        auth_url="http://127.0.0.1:{port}/check", auth_signin="http://login.example/", enable_cors="true",
    ) as run:  # fmt: skip
        answer = run.ask("/a", Origin="http://b.example")
        assert (answer.status, answer.headers["location"]) == (302, f"http://login.example/?rd=http://{HOST}/a")
        assert answer.headers["set-cookie"] == "session=1"
        assert answer.headers["access-control-allow-origin"] == "*"
        taken = run.ask("/a", Authorization="Bearer good", Origin="http://b.example")
        assert (taken.status, taken.headers["set-cookie"]) == (200, "session=1")
        assert taken.headers["access-control-allow-origin"] == "*"
        assert run.ask("/a", "OPTIONS").status == 204


@BINARY
def test_headers_of_a_snippet(binary: nginx.Binary, tmp_path: Path) -> None:
    """Headers of CORS do not displace others."""
    with controller(binary, tmp_path, {}, enable_cors="true", configuration_snippet="add_header X-Own 1;") as run:
        answer = run.ask("/", Origin="http://b.example")
        assert (answer.headers["x-own"], answer.headers["access-control-allow-credentials"]) == ("1", "true")


@BINARY
def test_a_password(binary: nginx.Binary, tmp_path: Path) -> None:
    """The password counts, and the backend does not see it; with `satisfy any`, an address does, too."""
    (tmp_path / "test-users.passwd").write_text("amy:{PLAIN}secret\n")
    basic = {"auth_type": "basic", "auth_secret": "users", "auth_realm": "Staff only"}
    with controller(binary, tmp_path, {}, **basic) as run:
        assert run.ask("/a").headers["www-authenticate"] == 'Basic realm="Staff only"'
        assert run.ask("/a", Authorization="Basic YW15OnNlY3JldA==").status == 200
        assert [each["authorization"] for each in run.asked("/a")] == [""]
    with controller(binary, tmp_path, {}, **basic, satisfy="any", allowlist_source_range="127.0.0.1") as run:
        assert run.ask("/a").status == 200


@BINARY
def test_limits(binary: nginx.Binary, tmp_path: Path) -> None:
    """As many requests as the burst has, and one, are answered at once; the next is refused with 503."""
    with controller(binary, tmp_path, {}, limit_rpm="1", limit_burst_multiplier="2") as run:
        assert [run.ask("/").status for _ in range(5)] == [200, 200, 200, 503, 503]
    with controller(
        binary, tmp_path, {"limit-req-status-code": "429"}, limit_rpm="1", limit_allowlist="127.0.0.0/8"
    ) as run:
        assert {run.ask("/").status for _ in range(9)} == {200}


@BINARY
def test_pages_of_errors(binary: nginx.Binary, tmp_path: Path) -> None:
    """The Service for pages is asked for `/`, and gets the status, the address and whose error it is."""
    with controller(binary, tmp_path, {}, custom_http_errors="404", default_backend="pages") as run:
        answer = run.ask("/missing", Accept="text/html")
        assert (answer.status, answer.headers["x-path"], answer.body) == (200, "/", "backend")
        asked = next(each for each in run.asked("/") if each["path"] == "/")
        assert (asked["code"], asked["format"], asked["original"]) == ("404", "text/html", "/missing")
        assert (asked["ingress"], asked["service"]) == ("test/web", "web:80")
        assert run.ask("/there").status == 200


@BINARY
def test_a_mirror(binary: nginx.Binary, tmp_path: Path) -> None:
    """The mirror gets each request, with its own host, and its body unless that is off."""
    with controller(binary, tmp_path, {}, mirror_target="http://127.0.0.1:{port}/copy$request_uri") as run:
        assert run.ask("/a", "POST", b"body").body == "backend"
        copy = run.copied("/copy/a")
        assert (copy["method"], copy["host"], copy["length"]) == ("POST", "127.0.0.1", "4")
    with controller(
        binary, tmp_path, {}, mirror_target="http://127.0.0.1:{port}/other", mirror_request_body="off"
    ) as run:
        run.ask("/a", "POST", b"body")
        assert run.copied("/other")["method"] == "POST"
