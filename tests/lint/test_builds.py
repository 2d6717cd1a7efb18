"""The build that a configuration is for, where nobody states it: images beside it, and the directives it uses."""

from __future__ import annotations

from pathlib import Path

import pytest

from nginxopt.config import load, load_text
from nginxopt.facts import vendors
from nginxopt.lint.catalogue import catalogue, selection
from nginxopt.lint.check import Judge, check
from nginxopt.lint.report.model import notes
from nginxopt.settings.file import Settings
from nginxopt.settings.target import ASSUMED, GUESSES, TargetVersion, image_version, recognised, shown_image
from nginxopt.version import Version
from tests.lintcheck import diagnose
from tests.rows import every_row

_GUESS = TargetVersion(Version(1, 22, 1), "nginx -v", is_guess=True)


@every_row(
    ("image", "version"),
    [
        ("nginx:1.25-alpine", "1.25.5"),
        ("nginx:1.25.3", "1.25.3"),
        ("docker.io/library/nginx:1.22.1-perl", "1.22.1"),
        ("nginxinc/nginx-unprivileged:1.27", "1.27.5"),
        ("openresty/openresty:1.27.1.2-alpine", "1.27.1 openresty-1.27.1.2"),
        ("openresty/openresty:1.21.4.1-0-jammy", "1.21.4 openresty-1.21.4.1"),
        ("docker.angie.software/angie:1.10.2-alpine", "1.27.5 angie-1.10.2"),
        ("private-registry.nginx.com/nginx-plus/base:r31", "1.25.3 plus-R31"),
        ("tengine:2.3.3", "1.18.0 tengine-2.3.3"),
        ("nginx:latest", None),
        ("nginx:alpine", None),
        ("bitnami/nginx:1.25", None),
        ("nginx/nginx-ingress:3.4", None),
        ("python:3.12", None),
        ("openresty/openresty:9.9", None),
    ],
)
def test_the_version_of_an_image(image: str, version: str | None) -> None:
    """A tag without a patch stands for the last release of its line; tags without numbers say nothing."""
    name, _, tag = image.rpartition(":")
    user, slash, base = name.rpartition("/")
    found = image_version(user + slash, base, tag)
    assert (found and f"{found} {found.build}".strip()) == version


@pytest.mark.parametrize(
    ("path", "text", "origin"),
    [
        ("Dockerfile", "# nginx:1.19\nFROM --platform=$BUILDPLATFORM nginx:1.25-alpine AS web\n", "1.25.5"),
        ("docker-compose.yml", "services:\n  web:\n    image: 'nginx:1.21'\n", "1.21.6"),
        ("k8s.yaml", "spec:\n  containers:\n  - image: openresty/openresty:1.27.1.2\n    name: a\n", "1.27.1"),
        ("../Dockerfile.web", "FROM nginx:1.23\n", "1.23.4"),
        ("Dockerfile", "FROM nginx:1.25\nFROM nginx:1.23\n", None),
        ("README.md", "FROM nginx:1.25\n", None),
    ],
)
def test_an_image_beside_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, text: str, origin: str | None
) -> None:
    """In its folder or one above it, up to the working directory; files that name different images say nothing."""
    monkeypatch.chdir(tmp_path)
    Path("conf").mkdir()
    main = Path("conf/nginx.conf")
    main.write_text("events {}\n")
    (main.parent / path).write_text(text)
    config = load_text(main.read_bytes(), str(main))
    image = shown_image([config])
    assert (image and str(image.version)) == origin
    found = recognised([config], _GUESS)
    assert found.is_guess == (origin is None)
    stated = TargetVersion(Version(1, 20, 0), "stated")
    assert recognised([config], stated) is stated


def test_an_image_with_compiled_modules_is_a_guess(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its modules may take parameters that the release refuses, such as `resolve`."""
    monkeypatch.chdir(tmp_path)
    Path("nginx.conf").write_text("events {}\n")
    Path("Dockerfile").write_text("FROM nginx:1.24\nRUN ./configure --add-module=/opt/dynamic-servers\n")
    assert recognised([load("nginx.conf")], _GUESS) == TargetVersion(
        Version(1, 24, 0), "image nginx:1.24 in Dockerfile", is_guess=True
    )


def test_what_is_outside_of_the_working_directory_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own folder does."""
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "a" / "Dockerfile").write_text("FROM nginx:1.25\n")
    (inner / "nginx.conf").write_text("events {}\n")
    monkeypatch.chdir(inner)
    assert shown_image([load_text(b"events {}\n", "nginx.conf")]) is None
    monkeypatch.chdir(tmp_path)
    assert shown_image([load_text(b"events {}\n", "a/b/nginx.conf")]) is not None


@every_row(
    ("http", "build"),
    [
        ("server { location / { proxy_pass http://a; health_check; } }", "plus"),
        ("server { status_zone a; location /s { prometheus all; } }", "angie"),
        ("server { sysguard on; }", "tengine"),
        ("server { status_zone a; }", ""),
        ("server { content_by_lua_block { } }", ""),
        ("map $uri $x { health_check 1; }", ""),
        ("js_import a from a.js;", ""),
    ],
)
def test_a_directive_that_one_vendor_has(http: str, build: str) -> None:
    """What several have, or a module that others add as well, is no sign."""
    config = load_text(f"events {{}}\nhttp {{ {http} }}\n".encode(), "n.conf")
    assert vendors.vendor_of(recognised([config], _GUESS).version) == build


def test_what_is_beside_the_files_of_another_host_is_no_sign(tmp_path: Path) -> None:
    """Their paths lead to files of this machine; what they use counts."""
    (tmp_path / "Dockerfile").write_text("FROM nginx:1.25.3\n")
    main = tmp_path / "nginx.conf"
    main.write_text("events {}\nhttp { server { listen 80; } }\n")
    config = load(main)
    assert recognised([config], _GUESS).version == Version(1, 25, 3)
    assert recognised([config], _GUESS, here=False) == _GUESS


def test_a_guess_has_all_that_is_used() -> None:
    """The text proves that the release is not the one that is installed here."""
    config = load_text(b"events {} http { http2 on; }", "n.conf")
    assert recognised([config], _GUESS).version == ASSUMED
    config = load_text(b"events {} http { early_hints 1; }", "n.conf")
    assert recognised([config], _GUESS) == TargetVersion(
        Version(1, 29, 0), 'assumed, as "early_hints" came with 1.29.0', is_guess=True
    )


def test_what_only_a_guess_refuses_is_one_note() -> None:
    """What each release refuses is an error still; with a stated version, all are."""
    config = load_text(
        b"events {} http { server { ssl on; } server { ssl off; http2 on; send_timeout 1y; } }", "n.conf"
    )
    ids = ["removed-directive", "newer-directive", "refused"]
    rules = selection(catalogue().values(), Settings(), select=ids, ignore=[], known=[])
    judge = Judge(rules, Version(1, 28, 0), Settings())
    assert len(check([config], judge).diagnostics) == 3
    guessing = Judge(rules, Version(1, 28, 0), Settings(), maybe=GUESSES)
    checked = check([config], guessing)
    assert [each.rule for each in checked.diagnostics] == ["refused"]
    texts = [note.message for note in notes(checked) if "--target-version" in note.message]
    assert len(texts) == 1
    assert "1 more place" in texts[0]


def test_blocks_of_lua_are_words() -> None:
    """A build that declares `*_by_lua_block` takes its block, which is read as a word."""
    text = """http {
    init_worker_by_lua_block { a.b() }
    upstream a { server 10.0.0.1; balancer_by_lua_block { a.b() } }
    server { location / { content_by_lua_block { if x then ngx.say("}") end } } }
}
events {}
"""
    openresty = vendors.target("openresty-1.15.8")
    assert diagnose("wrong-arguments", text, target=openresty) == ()
    assert diagnose("misplaced-directive", text, target=openresty) == ()
