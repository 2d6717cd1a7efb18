"""`nginxopt trace --nginx`: a real nginx is asked the same, and what differs is found."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest

from nginxopt.config import Config, load, load_text
from nginxopt.errors import InputError, UsageError
from nginxopt.request import build as builds
from nginxopt.request import read_request
from nginxopt.request.model import OutcomeForm, SiteModel, World
from nginxopt.request.private import Exchange, PrivateNginx
from nginxopt.request.real import compare, differences
from nginxopt.request.trace import Circumstances, Trace, trace
from nginxopt.system import nginx
from nginxopt.system.echo import EchoedRequest
from nginxopt.system.exchange import Response

pytestmark = pytest.mark.nginx

probe = cache(builds.probe)  # a binary is run once to learn its build

QUIC = "listen 443 quic;"
"""nginx takes it since 1.25.0; TLS stands for QUIC in a private nginx."""

MAIN = """worker_processes 4;
events {}
http {
    access_log /nowhere/access.log;
    error_log /nowhere/error.log;
    resolver 192.0.2.1;
    proxy_cache_path /nowhere/cache keys_zone=pages:1m;
    proxy_temp_path /nowhere/temp;
    add_header X-A "a $uri";
    map $arg_to $chosen { default app; other other.example; }
    upstream app { zone app 64k; server 192.0.2.1:8080 weight=2; server 192.0.2.2; keepalive 4; }
    server { listen 80 default_server; return 301 https://$host$request_uri; }
    server { listen *:80; listen 8080 backlog=64; server_name files.example; include files.conf; }
    server {
        listen 443 ssl;
        listen [::]:443 ssl http2;
        listen 443 quic;
        server_name shop.example;
        ssl_certificate /nowhere/cert.pem;
        ssl_certificate_key /nowhere/cert.key;
        ssl_stapling on;
        location / { proxy_pass http://app; proxy_cache pages; }
        location /uri/ { proxy_pass https://app/v1/; }
        location /address/ { proxy_pass http://192.0.2.3:81/v2/?a=b; }
        location /variable/ { proxy_pass http://$chosen/v3$request_uri; }
        location /fastcgi { fastcgi_pass 192.0.2.4:9000; fastcgi_param A b; }
        location /uwsgi { uwsgi_pass app; uwsgi_param A b; }
        location /scgi { scgi_pass unix:/nowhere/scgi.sock; scgi_param A b; }
        location /grpc { grpc_pass grpc://app; }
        location /memcached { set $memcached_key $uri; memcached_pass app; }
        location /closed { return 444; }
        location /body { return 200 "b $scheme $host"; }
        location /private { auth_basic x; auth_basic_user_file users; proxy_pass http://app; }
        location /denied { deny all; }
    }
}
"""
FILES = """root /srv/files;
error_page 404 /missing.html;
location = /missing.html { return 410 "gone"; }
location /alias/ { alias /srv/other/; }
location /relative { root html; }
location /tested { if (-f /srv/flag) { return 204; } return 403; }
location /named { try_files $uri @named; }
location @named { return 302 /elsewhere; }
"""
EXISTING = ["/srv/files/index.html", "/srv/files/a.css", "/srv/files/folder/", "/srv/other/b", "/srv/flag"]
REQUESTS = [
    "http://any.example/x?y=%20z",
    *(
        f"http://files.example{port}{path}"
        for port, path in [
            ("", "/a.css"), ("", "/"), ("", "/folder"), ("", "/none"), ("", "/alias/b"), ("", "/alias/c"),
            ("", "/tested"), ("", "/named"), (":8080", "/folder"), ("", "/relative/x"), ("", "/%"), ("", "/../.."),
        ]
    ),
    "POST http://files.example/a.css",
    *(
        f"https://shop.example{path}"
        for path in [
            "/a%20b?c", "/uri/a%2Fb?c", "/address/x?y", "/variable/x?to=other", "/fastcgi", "/uwsgi", "/scgi",
            "/grpc", "/memcached?a", "/closed", "/body", "/denied", "/private",
        ]
    ),
    "HEAD https://shop.example/body",
    "HEAD https://shop.example/a",
    "HEAD https://shop.example/uri/a",
]  # fmt: skip


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """A site on other machines, with its files elsewhere."""
    return loaded(tmp_path, MAIN.replace(QUIC, ""))


def loaded(folder: Path, text: str) -> Config:
    """The configuration of that text."""
    (folder / "nginx.conf").write_text(text)
    (folder / "files.conf").write_text(FILES)
    return load(folder / "nginx.conf")


def traced(config: Config, binary: nginx.Binary, text: str, world: World) -> Trace:
    """The trace of a request for a build."""
    model = SiteModel(config, probe(binary))
    return trace(model, read_request(text), Circumstances(world, model.gate(), "nginx -v"))


def test_nginx_answers_as_the_model_says(tmp_path: Path, each_binary: nginx.Binary) -> None:
    """The same site on ports of this machine, with echoes for upstreams, has the same answers."""
    config = loaded(tmp_path, MAIN if each_binary.version >= (1, 25) else MAIN.replace(QUIC, ""))
    world = World.assume([f"exists={path}" for path in EXISTING])
    compared = 0
    for text in REQUESTS:
        known = World.assume([f"missing={path}" for path in _asked_for(config, each_binary, text, world)])
        both = World((*world.existing,), known.missing)
        result = traced(config, each_binary, text, both)
        comparison = compare(config, result, both, each_binary)
        assert not comparison.differences, (text, result.outcome, comparison)
        compared += comparison.reason is None
    assert compared >= len(REQUESTS) - 1  # whether the password is right is not known


def _asked_for(config: Config, binary: nginx.Binary, text: str, world: World) -> list[str]:
    """The files that a request asks for besides those that exist."""
    missing: list[str] = []
    while True:
        outcome = traced(config, binary, text, World(world.existing, tuple(missing))).outcome
        question = outcome["unknown"] and outcome["unknown"]["question"]
        if outcome["kind"] != "unknown" or not question or question["kind"] != "file":
            return missing
        missing.append(question["path"])


def test_what_differs_is_found(config: Config, binary: nginx.Binary, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the model is wrong, the answer of nginx says so."""
    expected = PrivateNginx.expected

    def wrong(*args: Any) -> OutcomeForm:
        return {**expected(*args), "status": 302, "location": "/elsewhere"}

    monkeypatch.setattr(PrivateNginx, "expected", wrong)
    result = traced(config, binary, "http://any.example/x", World())
    assert compare(config, result, World(), binary).differences == (
        "nginx answers 301, not 302",
        "nginx sends the Location https://any.example/x, not /elsewhere",
    )


@pytest.mark.parametrize(
    "location",
    ["return 302 http://b.test$uri;", "add_header X-Path $uri; return 200 ok;", "proxy_pass http://127.0.0.1:1$uri;"],
)
@pytest.mark.parametrize("end", ["%0d%0a", "%0a", "%20%0a", "%0a%0d"])
def test_a_value_ends_with_its_line(a_binary: nginx.Binary, location: str, end: str) -> None:
    """A value with a line end from the path is received up to there, as nginx writes it, and is no difference."""
    config = load_text(f"location / {{ {location} }}".encode(), "a.conf")
    result = traced(config, a_binary, f"http://localhost/{end}X-Injected:1", World())
    assert "\n" in json.dumps(result.outcome).replace("\\n", "\n")
    assert compare(config, result, World(), a_binary).differences == ()


def test_spaces_around_a_value_are_no_difference(each_binary: nginx.Binary) -> None:
    """nginx writes the spaces of a quoted value, and who reads the header drops them."""
    config = load_text(b"location / { add_header X-A ' a '; return 302 'http://b.test/ '; }", "a.conf")
    result = traced(config, each_binary, "http://localhost/", World())
    assert compare(config, result, World(), each_binary).differences == ()


def test_fixes_are_found_by_experiment(each_binary: nginx.Binary) -> None:
    """A build of 1.31.3 has the fix of 1.31.0; those of Debian have up to three besides their version."""
    build = builds.probe(each_binary)
    assert str(build.version) in str(each_binary)
    if each_binary.version >= (1, 31, 0):
        assert {"CVE-2026-42945", "max_headers"} <= build.fixes


def test_tls_without_a_parameter(each_binary: nginx.Binary) -> None:
    """Before 1.25.1 `ssl on` makes all ports of a server ones for TLS; nginx is asked over TLS, too."""
    text = b"events {}\nhttp { server { listen 443; ssl on; ssl_certificate c; ssl_certificate_key k; return 204; } }\n"
    config = load_text(text, "nginx.conf")
    if each_binary.version >= (1, 25, 1):
        with pytest.raises(InputError, match="ssl"):
            SiteModel(config, probe(each_binary))
    else:
        result = traced(config, each_binary, "https://a.example/", World())
        comparison = compare(config, result, World(), each_binary)
        assert (result.outcome["status"], comparison.differences, comparison.reason) == (204, (), None)


def test_what_nginx_cannot_be_asked(config: Config, tmp_path: Path, binary: nginx.Binary) -> None:
    """Values of variables cannot be assumed for nginx, files come from one place, and a URL must name its server."""
    result = traced(config, binary, "http://any.example/x", World())
    with pytest.raises(UsageError, match="value of a variable"):
        compare(config, result, World(variables={"a": "b"}), binary)
    with pytest.raises(UsageError, match="either from --root or from --assume"):
        compare(config, result, World(existing=("/a",), root="/"), binary)
    unknown = traced(config, binary, "http://files.example/none", World())
    assert compare(config, unknown, World(), binary).reason == "the outcome is unknown"
    (tmp_path / "nginx.conf").write_text("events {} http { server { location /a { proxy_pass $arg_a; } return 204; } }")
    variable = load(tmp_path / "nginx.conf")
    with pytest.raises(InputError, match="a URL that is a variable"):
        compare(variable, traced(variable, binary, "http://a/", World()), World(), binary)


def outcome(**parts: object) -> OutcomeForm:
    """An outcome of the model."""
    empty: dict[str, object] = {
        "location": None,
        "body": None,
        "file": None,
        "upstream": None,
        "headers": [],
        "unknown": None,
    }
    return cast(OutcomeForm, {"kind": "return", "status": 200, "uri": "/", "args": "", **empty, **parts})


OK = Response(200, (("X-A", "b"),), b"body")
MOVED = Response(200, (("Location", "/a"),), b"body")
PASSED = {"server": "app", "scheme": "http", "method": "GET", "target": "/x"}


@pytest.mark.parametrize(
    ("said", "response", "asked", "expected"),
    [
        (outcome(body="body"), OK, [], []),
        (outcome(body="other"), OK, [], ["nginx sends the body 'body', not 'other'"]),
        (outcome(status=404), OK, [], ["nginx answers 200, not 404"]),
        (outcome(), None, [], ["nginx closes the connection"]),
        (outcome(kind="closed", status=None), None, [], []),
        (outcome(kind="closed", status=None), OK, [], ["nginx answers 200"]),
        (outcome(headers=[{"node": 0, "name": "x-a", "value": "b"}]), OK, [], []),
        (outcome(headers=[{"node": 0, "name": "X-A", "value": "c"}]), OK, [], ["nginx does not send X-A: c"]),
        (outcome(headers=[{"node": 0, "name": "location", "value": "/a"}]), MOVED, [], []),
        (outcome(location="/b"), MOVED, [], ["nginx sends the Location /a, not /b"]),
        (outcome(), MOVED, [], ["nginx sends the Location /a, not none"]),
        (outcome(kind="proxy", upstream=PASSED), OK, [EchoedRequest("proxy", b"GET /x")], []),
        (outcome(kind="proxy", upstream=PASSED), OK, [], ["nginx passes nothing on, and answers 200"]),
        (
            outcome(kind="proxy", upstream=PASSED),
            OK,
            [EchoedRequest("proxy", b"GET /y")],
            ["nginx passes on GET /y, not GET /x"],
        ),
        (
            outcome(kind="proxy", upstream=PASSED),
            OK,
            [EchoedRequest("scgi")],
            ["nginx passes the request on by scgi, not proxy"],
        ),
    ],
)
def test_differences(
    said: OutcomeForm, response: Response | None, asked: list[EchoedRequest], expected: list[str]
) -> None:
    """Each part of an outcome is compared with the response, or with what the echo got."""
    assert list(differences(said, Exchange(response, asked, b"", 0.0))) == expected
