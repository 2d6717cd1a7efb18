"""Advice as a user follows it, on the real nginx: it does not do what its rule would not do by a fix."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from nginxopt.errors import InputError
from nginxopt.lint import Diagnostic
from nginxopt.system import nginx
from nginxopt.system.http import RequestBytes
from tests.lintcheck import diagnose

pytestmark = pytest.mark.nginx

UPSTREAM = "server {{ listen unix:temp/up; return 200 {}; }}\n"


def only(rule: str, text: str, target: str = "1.22.1") -> Diagnostic:
    """The one finding of a rule in http."""
    (diagnostic,) = diagnose(rule, text, context="http", target=target)
    return diagnostic


def answered(
    binary: nginx.Binary,
    server: str,
    *requests: tuple[str, str],
    http: str = "",
    files: Mapping[str, bytes] | None = None,
) -> list[bytes]:
    """The answers to requests, each a host and a target."""
    answers = []
    with nginx.Instance(binary, servers=[server.encode()], http=http.encode(), files=files or {}) as instance:
        for host, target in requests:
            head = f"GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
            with instance.client() as client:
                answers += client.ask([RequestBytes(head.encode(), alone=True)])
    return answers


def test_a_cache_by_its_usual_key_mixes_hosts(each_binary: nginx.Binary) -> None:
    """Files that the upstream chooses by Host need it in the key: the advice says so, and followed, none are mixed."""
    location = "location /static/ { proxy_set_header Host $host; %s proxy_pass http://unix:temp/up:; }"
    found = only("cacheable-uncached", f"server {{ {location % ''} }}")
    assert "`proxy_cache_key` with $host" in found.finding.help
    assert "key" not in only("cacheable-uncached", f"server {{ {location % ''} }}".replace("$host", "a")).finding.help
    http = "proxy_cache_path cache keys_zone=z:1m;\n" + UPSTREAM.format("$http_host")
    cached = "proxy_cache z; proxy_cache_valid 1h;"
    requests = [("a.example", "/static/x"), ("b.example", "/static/x")]
    for key, told in {
        "": [b"a.example"] * 2,
        "proxy_cache_key $host$request_uri;": [b"a.example", b"b.example"],
    }.items():
        answers = answered(each_binary, location % f"{cached} {key}", *requests, http=http)
        assert [answer.rpartition(b"\r\n")[2] for answer in answers] == told


@pytest.mark.parametrize("method", ["hash $uri", "ip_hash", "random", "least_conn"])
def test_a_backup_is_advised_where_nginx_takes_one(binary: nginx.Binary, method: str) -> None:
    """nginx refuses `backup` beside a method that has none, and the advice does not name it there."""
    upstream = f"upstream u {{ {method}; server 127.0.0.1:1; %s }}\n"
    found = only("single-server-upstream", upstream % "" + "server { location / { proxy_pass http://u; } }")
    followed = upstream % "server 127.0.0.1:2 backup;"
    assert ("backup" in found.finding.help) is is_started(binary, followed)


def is_started(binary: nginx.Binary, http: str) -> bool:
    """Whether nginx starts with what stands in http."""
    try:
        with nginx.Instance(binary, http=http.encode()):
            return True
    except InputError:
        return False


LOCATIONS = {
    "/": ("location / { root html; }", ""),
    "^~": ("location ^~ / { root html; %s }", "inside location ^~ /"),
}


@pytest.mark.parametrize("case", LOCATIONS)
def test_a_location_for_dotfiles_is_where_nginx_looks(each_binary: nginx.Binary, case: str) -> None:
    """Added as the advice says, the location refuses the file; beside a `^~` it would not be looked for."""
    text, place = LOCATIONS[case]
    outside = text.replace("%s", "")
    found = only("dotfiles-served", f"server {{ root html; {outside} }}")
    added = found.finding.help.partition("add ")[2].partition("}")[0] + "}"
    assert place in found.finding.help
    followed = text % added if place else f"{added}\n{outside}"
    files = {"html/.git/config": b"secret"}
    for server, status in (
        (outside, b"200"),
        (followed, b"403"),
        *(((f"{added}\n{outside}", b"200"),) if place else ()),
    ):
        (answer,) = answered(each_binary, server, ("a", "/.git/config"), files=files)
        assert answer.split()[1] == status


def test_a_location_of_scripts_is_not_moved_to_where_it_sends_them(each_binary: nginx.Binary) -> None:
    """A location that passes nothing on is not advised to come before one that does: it would send the scripts."""
    passing = "location ~ \\.php$ { fastcgi_pass unix:temp/none; }"
    own = "location ~ ^/admin/.*\\.php$ { allow 127.0.0.1; deny all; }"
    text = f"server {{ {passing} {own} }}"
    assert only("location-never-chosen", text).finding.help.startswith(
        "delete it, or move what it has into the location"
    )
    files = {"html/admin/a.php": b"<?php secret"}
    (answer,) = answered(each_binary, f"{own} {passing}", ("a", "/admin/a.php"), files=files)
    assert answer.endswith(b"<?php secret")
    answering = text.replace("allow 127.0.0.1; deny all;", "fastcgi_pass a:1;")
    assert only("location-never-chosen", answering).finding.help == "move it up, or use ^~ or = for a path"


def test_a_header_is_added_with_those_it_would_displace() -> None:
    """An `add_header` displaces those around it: the advice names them, and says where else it has to be."""
    server = "listen 443 ssl; ssl_certificate a; ssl_certificate_key a; root /srv;"
    text = f"add_header X-Frame-Options DENY; server {{ {server} %s }}"
    help_ = only("hsts-missing", text % "").finding.help
    assert help_.endswith("repeat beside it what the server inherits: X-Frame-Options")
    help_ = only("hsts-missing", text % "add_header X-B b; location / { add_header X-A a; }").finding.help
    assert help_.endswith("begin with a small max-age; state it again in each location with an add_header of its own")


@pytest.mark.parametrize(("path", "is_lost"), [("", False), ("/api/", True)])
def test_a_host_becomes_a_variable_only_without_a_path(binary: nginx.Binary, path: str, is_lost: bool) -> None:
    """With a variable, `proxy_pass` passes its own path on whatever was requested: that is not advised."""
    text = f"server {{ resolver 127.0.0.1; location /x/ {{ proxy_pass http://h.example:80{path}; }} }}"
    assert ("variable" in only("resolver-unused", text).finding.help) is not is_lost
    server = f"location /x/ {{ set $up unix:temp/up:; proxy_pass http://$up{path}; }}"
    (answer,) = answered(binary, server, ("a", "/x/page"), http=UPSTREAM.format("$request_uri"))
    assert answer.endswith(b"/api/" if is_lost else b"/x/page")


def test_an_upstream_block_changes_the_host(binary: nginx.Binary) -> None:
    """A pass to an upstream sends its name as Host: the advice says to set it."""
    text = "server { location / { proxy_pass https://www.nginx.org; } }"
    help_ = only("name-resolved-once", text, "1.28.0").finding.help
    assert help_.endswith("; set Host and proxy_ssl_name, or the upstream's name is sent")
    http = "upstream app { server unix:temp/up; }\n" + UPSTREAM.format("$http_host")
    (answer,) = answered(binary, "location / { proxy_pass http://app; }", ("a", "/"), http=http)
    assert answer.endswith(b"app")
