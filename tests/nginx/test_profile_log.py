"""What a real nginx logs agrees with the configuration that it runs, and no longer once that has changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from nginxopt.profile.figures import PRINTED_FORMAT, Figures
from nginxopt.profile.sums import Profile
from nginxopt.system import nginx
from nginxopt.system.http import RequestBytes
from tests.profile.test_planted import profile_of

pytestmark = pytest.mark.nginx

SERVER = b"""
    server_name a.test;
    rewrite ^/moved/(.*)$ /there/$1 permanent;
    rewrite ^/inside/(.*)$ /dir/$1 last;
    location / { try_files $uri $uri/ =404; }
    location /gone { return 410; }
    location /closed { deny all; }
    location = /empty { empty_gif; }
    location /front { try_files $uri /index.html; }
    error_page 403 /dir/page;
"""
FILES = {"html/index.html": b"index", "html/dir/page": b"page", "html/dir/index.html": b"of dir"}
TARGETS = (
    *(
        "/",
        "/index.html",
        "/dir",
        "/dir/",
        "/dir/page",
        "/dir/none",
        "/none",
        "/moved/x?y",
        "/inside/page",
        "/inside/x",
    ),
    *("/gone", "/gone/a%20b", "/closed", "/empty", "/front", "/front/deep", "/%22quote", "/a%0Ab"),
)
METHODS = (b"GET", b"HEAD")


@pytest.fixture(scope="module", name="log")
def _log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What nginx logs of some requests, in the format that `profile` prints."""
    format_ = PRINTED_FORMAT.partition("access_log")[0]
    asks = [
        RequestBytes(
            b"%s %s HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n" % (method, target.encode()), alone=True
        )
        for target in TARGETS
        for method in METHODS
    ]
    instance = nginx.Instance(
        nginx.find(), http=format_.encode(), servers=[b"access_log access.log profile;" + SERVER], files=FILES
    )
    with instance, instance.client() as client:
        client.ask(asks)
        lines = (instance.prefix / "access.log").read_bytes()
    path = tmp_path_factory.mktemp("logs") / "access.log"
    path.write_bytes(lines.replace(b" %d [" % instance.ports[0], b" 80 ["))
    return path


def of(log: Path, server: bytes) -> Profile:
    """The profile of the log under a configuration with this server."""
    conf = f"events {{ }}\nhttp {{\n{PRINTED_FORMAT}server {{\nlisten 80;\n{server.decode()}}}\n}}\n"
    return profile_of([log], conf)


def test_a_log_agrees_with_its_configuration(log: Path) -> None:
    """Each line of the log is explained: by a rule, or by a file that the status tells of."""
    figures = Figures(of(log, SERVER))
    assert figures.requests == len(TARGETS) * len(METHODS)
    assert figures.profile.files[0].broken == 0
    assert [(key, cell.example) for key, cell in figures.of_verdict("differs")] == []
    ambiguous = {cell.example for _, cell in figures.of_verdict("ambiguous")}
    assert ambiguous == {"/front"}  # a file of this name, or the fallback: both are 200


@pytest.mark.parametrize(
    ("old", "new", "targets"),
    [
        (b"return 410", b"return 404", 2),
        (b"/there/$1 permanent", b"/there/$1 redirect", 1),
        (b"location = /empty { empty_gif; }", b"location = /empty { return 404; }", 1),
        (b"deny all;", b"return 301 /;", 1),
    ],
)
def test_a_change_shows(log: Path, old: bytes, new: bytes, targets: int) -> None:
    """Lines that another configuration would not give differ, and no others."""
    assert SERVER.count(old) == 1
    assert Figures(of(log, SERVER.replace(old, new))).number("differs") == targets * len(METHODS)
