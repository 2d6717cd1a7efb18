"""`nginxopt verify`: whether two configurations answer alike, on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.compiling import Ran
from tests.schemas import validate

Run = Callable[..., Ran]

SITE = """events {}
http {
    server {
        listen 80;
        server_name shop.example;
        root /srv/www;
        rewrite ^/old$ /new permanent;
        location / { try_files $uri =404; }
    }
}
"""


@pytest.fixture
def verify(run: Run, tmp_path: Path) -> Callable[..., Ran]:
    """A function that compares the site with another text."""
    (tmp_path / "old.conf").write_text(SITE)

    def call(text: str, *args: str) -> Ran:
        (tmp_path / "new.conf").write_text(text)
        return run("verify", "old.conf", "new.conf", *args)

    return call


def form(ran: Ran) -> dict[str, Any]:
    """The result as JSON, which the schema allows."""
    result: dict[str, Any] = json.loads(ran.out)
    validate(result, "verify")
    return result


def test_equivalent(verify: Callable[..., Ran]) -> None:
    """The same configuration in other words is equivalent, and what was taken as given is listed."""
    ran = verify(SITE.replace("location / {", "# the files\n        location / {\n "))
    assert ran.status == 0
    assert ran.out.startswith(
        b"equivalent: both configurations answer every request alike (1 pair of servers compared)\n"
    )
    assert b"taken as given:\n" in ran.out


def test_different(verify: Callable[..., Ran]) -> None:
    """A difference has a request that shows it, and the directives that decide on both sides."""
    ran = verify(SITE.replace("/new permanent", "/newer permanent"))
    assert ran.status == 1
    assert ran.out.decode().split("\n") == [
        "different: this request is answered differently",
        "  GET /old",
        "  Host: shop.example",
        "  to 127.0.0.1:80",
        "old.conf: 301 -> http://shop.example/new",
        "  by old.conf:7: rewrite ^/old$ /new permanent",
        "new.conf: 301 -> http://shop.example/newer",
        "  by new.conf:7: rewrite ^/old$ /newer permanent",
        "",
    ]


def test_unknown(verify: Callable[..., Ran]) -> None:
    """What is in doubt is listed with its places."""
    ran = verify(SITE.replace("location /", "add_trailer X x; location /"))
    assert ran.status == 5
    assert b"other settings: add_trailer" in ran.out


def test_an_address_of_one_side(verify: Callable[..., Ran]) -> None:
    """Where only one side listens, the other one refuses a request."""
    ran = verify(SITE.replace("listen 80;", "listen 80; listen 81;"))
    assert ran.status == 1
    assert "old.conf: no connection, as nothing listens there" in ran.out.decode().split("\n")


def test_effects_and_premises(run: Run, tmp_path: Path) -> None:
    """What differs besides the outcomes is told for each side, and what has to be so."""
    for name in ("a", "b"):
        site = f"proxy_pass http://up:80; add_header X {name}; proxy_set_header Host $host;"
        (tmp_path / f"{name}.conf").write_text(f"events {{ }} http {{ server {{ location / {{ {site} }} }} }}")
    text = run("verify", str(tmp_path / "a.conf"), str(tmp_path / "b.conf")).out.decode()
    assert text.startswith("different: this request is answered differently, if what it needs is so\n")
    assert "\n  if the upstream answers with status 200\n" in text
    assert ("  response header X: a" in text, "  response header X: b" in text) == (True, True)
    result = form(run("verify", str(tmp_path / "a.conf"), str(tmp_path / "b.conf"), "--format", "json"))
    assert result["witness"]["effects"] == [{"what": "response header X", "old": ["a"], "new": ["b"]}]
    assert result["witness"]["premises"] == ["the upstream answers with status 200"]


def test_clients_of_ipv4_are_not_lost_unseen(run: Run, tmp_path: Path) -> None:
    """Without ipv6only=off a socket of IPv6 takes no requests over IPv4 any more."""
    text = "events { } http { server { listen [::]:80 ipv6only=off; return 204; } }"
    (tmp_path / "both.conf").write_text(text)
    (tmp_path / "six.conf").write_text(text.replace(" ipv6only=off", ""))
    ran = run("verify", str(tmp_path / "both.conf"), str(tmp_path / "six.conf"))
    assert ran.status == 5
    assert b"ipv6only differs" in ran.out


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        ("=404", "=404", "equivalent"),
        ("=404", "=403", "different"),
        ("try_files $uri", "add_trailer A a; try_files $uri", "unknown"),
        ("listen 80", "listen 8080", "different"),
    ],
)
def test_json(verify: Callable[..., Ran], old: str, new: str, verdict: str) -> None:
    """The JSON is as its schema says, and has the same verdict."""
    result = form(verify(SITE.replace(old, new), "--format", "json"))
    assert result["verdict"] == verdict
    assert (result["witness"] is not None) == (verdict == "different")
    assert result["doubts"] or verdict != "unknown"


def test_versions(verify: Callable[..., Ran]) -> None:
    """The two sides may run different versions of nginx."""
    assert verify(SITE, "--old-version", "1.22.1", "--new-version", "1.28.0").status in (0, 5)


@pytest.mark.parametrize(
    ("text", "status", "message"),
    [
        ("events {}\nhttp { server { rewrite ^/( /b; } }\n", 3, "new.conf:2"),
        ("events {}\nhttp { server {\n", 3, "new.conf"),
        ("events {}\n", 3, "no http block"),
    ],
)
def test_what_cannot_be_read(verify: Callable[..., Ran], text: str, status: int, message: str) -> None:
    """A configuration that nginx refuses is an error with its place."""
    ran = verify(text)
    assert ran.status == status
    assert message in ran.err
    assert not ran.out


def test_a_part_of_a_site(verify: Callable[..., Ran]) -> None:
    """With --only, a difference elsewhere does not count, and what that takes as given is listed."""
    text = SITE.replace("/new permanent", "/newer permanent")
    ran = verify(text, "--only", "http://shop.example/api/")
    assert ran.status == 0
    assert (
        b"  the rest of the site answers alike, where nginx itself leads requests of this part there (rest-alike)\n"
        in ran.out
    )
    for url in ("http://shop.example", "http://shop.example/o", "http://SHOP.example/old"):
        assert verify(text, "--only", url).status == 1
    assert verify(SITE.replace("location /", "location /api/ { return 403; } location /"), "--only", url).status == 0


def test_a_part_where_only_one_side_listens(verify: Callable[..., Ran]) -> None:
    """A part at a port that one side does not listen at is not equivalent, and other ports do not count."""
    both = SITE.replace("listen 80;", "listen 80; listen 443;")
    ran = verify(both, "--only", "https://shop.example/")
    assert ran.status == 1
    assert b"old.conf: no connection, as nothing listens there" in ran.out
    assert verify(both, "--only", "http://shop.example/").status == 0


def test_a_part_of_another_host(verify: Callable[..., Ran]) -> None:
    """Only the servers of the host are compared."""
    other = "server { listen 80; server_name other.example; return 200 %s; } }\n"
    both = SITE.removesuffix("}\n")
    ran = verify(both + other % "b", "--only", "http://shop.example/")
    assert ran.status == 0
    assert verify(both + other % "b", "--only", "http://other.example/").status == 1


@pytest.mark.parametrize(
    ("url", "error"),
    [
        ("shop.example", "--only: a URL begins with http:// or https://\n    shop.example\n    ^"),
        ("http://a.b/c?d", "--only: a part has no arguments\n    http://a.b/c?d\n                ^"),
        ("http://a.b/../c", "--only: nginx resolves //, . and .. in a path\n    http://a.b/../c\n              ^"),
        ("http://a.b//", "--only: nginx resolves //, . and .. in a path"),
        ("http://a.b/c/%2e%2e/d", "--only: nginx resolves //, . and .. in a path"),
        ("https://a.b/", "--only: nothing listens at port 443\n  hint: ports of both configurations: 80"),
    ],
)
def test_a_part_that_no_request_is_in(verify: Callable[..., Ran], url: str, error: str) -> None:
    """A URL that no request can be at is an error with its place, not equivalent in vain."""
    ran = verify(SITE, "--only", url)
    assert ran.status == 2
    assert error in ran.err
