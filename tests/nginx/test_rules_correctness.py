"""What the rules about correctness say, on the real nginx."""

from __future__ import annotations

from pathlib import Path

import pytest

from nginxopt.config import load
from nginxopt.lint import Severity
from nginxopt.lint.examples import wrapped
from nginxopt.system import nginx
from nginxopt.system.http import RequestBytes
from tests.lintcheck import diagnose, judge
from tests.nginx.example import verdict_on, warnings
from tests.nginx.test_rules_security import answered, request_of, witness_of

pytestmark = pytest.mark.nginx

PAIR = "server {{ listen 80; server_name a.test; }}\nserver {{ listen 80; server_name {names}; }}\n"


@pytest.mark.parametrize(
    ("names", "rule"),
    [("a.test", "server-never-chosen"), ("a.test b.test", "server-name-conflict"), ("*.a.test b.test", None)],
)
def test_nginx_warns_of_names_that_conflict(each_binary: nginx.Binary, names: str, rule: str | None) -> None:
    """nginx warns of the name of each finding, and of none else."""
    text = PAIR.format(names=names)
    found = {
        other for other in ("server-never-chosen", "server-name-conflict") if diagnose(other, text, context="http")
    }
    assert found == ({rule} if rule else set())
    conflicts = [
        warning for warning in warnings(verdict_on(each_binary, wrapped(text, "http"))) if "conflicting" in warning
    ]
    assert len(conflicts) == len(found)
    assert all('conflicting server name "a.test"' in warning for warning in conflicts)


def test_the_first_of_two_servers_answers(each_binary: nginx.Binary) -> None:
    """The server that `server-never-chosen` flags gets no request, also where both have no name."""
    for name in ("server_name a.test;", ""):
        http = "".join(f'server {{ listen unix:temp/s; {name} return 200 "server {number}"; }}\n' for number in (1, 2))
        assert len(diagnose("server-never-chosen", http, context="http")) == 1
        passing = "location / { proxy_pass http://unix:temp/s:/; proxy_set_header Host a.test; }"
        assert ask(each_binary, passing, "/", http).endswith(b"server 1")


def ask(binary: nginx.Binary, server: str, target: str, http: str = "") -> bytes:
    """The answer to a GET."""
    with nginx.Instance(binary, servers=[server.encode()], http=http.encode()) as instance, instance.client() as client:
        head = f"GET {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        return client.ask([RequestBytes(head.encode(), alone=True)])[0]


def test_a_server_that_returns_has_no_locations(each_binary: nginx.Binary) -> None:
    """The `return` of a server or a location answers before what `dead-directive` flags."""
    server = "return 301 http://b.test/;\nlocation /.well-known/ { return 200 ok; }"
    assert len(diagnose("dead-directive", server, context="server")) == 1
    assert b" 301 " in ask(each_binary, server, "/.well-known/x")
    location = "location /old/ { return 410; proxy_pass http://127.0.0.1:1; }"
    assert len(diagnose("dead-directive", location, context="server")) == 1
    assert b" 410 " in ask(each_binary, location, "/old/")


def test_a_header_is_sent_twice(each_binary: nginx.Binary) -> None:
    """An upstream refuses a request with two Host headers; a response has both of two that are added; one is not."""
    http = "server { listen unix:temp/s; return 200 served; }"
    passing = (
        "location / { proxy_set_header Host %s; proxy_set_header Host $http_host; proxy_pass http://unix:temp/s:/; }"
    )
    twice, once = passing % "$host", passing % '""'
    added = "add_header X-Frame-Options DENY; add_header X-Frame-Options SAMEORIGIN; return 200 served;"
    found = [len(diagnose("header-sent-twice", text, context="server")) for text in (twice, once, added)]
    assert found == [1, 0, 1]
    assert b" 400 " in ask(each_binary, twice, "/", http)
    assert b" 200 " in ask(each_binary, once, "/", http)
    assert ask(each_binary, added, "/").lower().count(b"\r\nx-frame-options: ") == 2


REWRITE = "rewrite ^/a/(.*)$ /$1 %s;"
SKIPPED = {  # what skips the `return` of a location or a server -> what asks for it, and the answer
    "a rewrite": (f"location /a/ {{ {REWRITE % 'break'} return 404; %s }}", "/a/b", True),
    "a handler before the return": (f"location /a/ {{ {REWRITE % 'break'} %s return 404; }}", "/a/b", True),
    "a break": ("location /a/ { break; return 404; %s }", "/a/b", True),
    "a break in an if": ("location /a/ { if ($arg_x) { break; } return 404; %s }", "/a/b?x=1", True),
    "a rewrite in an if": (
        f"location /a/ {{ if ($arg_x) {{ {REWRITE % 'break'} }} return 404; %s }}",
        "/a/b?x=1",
        True,
    ),
    "many rewrites": (f"location /a/ {{ {REWRITE % 'break' * 300} return 404; %s }}", "/a/b", True),
    "a break of a server": ("if ($arg_x) { break; } return 404; location / { %s }", "/b?x=1", True),
    "a rewrite of a server": (f"{REWRITE % 'last'} return 404; location /b {{ %s }}", "/a/b", True),
    "a break behind it": ("location /a/ { return 404; break; %s }", "/a/b", False),
    "a condition behind it": ("location /a/ { return 404; if ($arg_x) { break; } %s }", "/a/b?x=1", False),
    "a rewrite that leaves": (
        f"location /a/ {{ {REWRITE % 'last'} return 404; %s }} location /b {{ return 404; }}",
        "/a/b",
        False,
    ),
    "a redirect": (f"location /a/ {{ {REWRITE % 'permanent'} return 404; %s }}", "/a/b", False),
}


@pytest.mark.parametrize(("server", "target", "is_reached"), SKIPPED.values(), ids=SKIPPED)
def test_what_skips_a_return(each_binary: nginx.Binary, server: str, target: str, is_reached: bool) -> None:
    """Behind a `break`, nginx comes to the handler beside a `return`, and `dead-directive` is silent about it."""
    backend = 'server { listen unix:temp/s; return 200 "reached"; }'
    text = server % "proxy_pass http://unix:temp/s:/;"
    assert ask(each_binary, text, target, backend).endswith(b"reached") is is_reached
    found = diagnose("dead-directive", text, context="server")
    assert any(not finding.message.startswith("if ") for finding in found) is not is_reached


def test_what_skips_a_return_may_be_in_another_file(tmp_path: Path) -> None:
    """A `break` of an included file counts, and may stand in one that is missing."""
    (tmp_path / "leave.conf").write_text("break;\n")
    (tmp_path / "other.conf").write_text("expires 1d;\n")
    for name, count in (("leave.conf", 0), ("none.conf", 0), ("other.conf", 1)):
        text = f"events {{}} http {{ server {{ location /a {{ include {name}; return 404; proxy_pass http://b; }} }} }}"
        (tmp_path / "nginx.conf").write_text(text)
        assert len(judge("dead-directive", load(tmp_path / "nginx.conf", missing_ok=True)).diagnostics) == count


CAPTURES = {
    "a rewrite": ("rewrite ^/blog/(.*)$ /posts/[$2] permanent;", "/blog/x", b"/posts/[]\r\n"),
    "a location": ("location ~ ^/static/ { return 302 http://b/[$1]; }", "/static/x", b"http://b/[]\r\n"),
    "a condition": ("if ($uri ~ ^/a) { return 302 http://b/[$1]; }", "/a", b"http://b/[]\r\n"),
    "a map": ("return 302 http://b/[$page];", "/old/x", b"http://b/[]\r\n"),
}


@pytest.mark.parametrize(("server", "target", "location"), CAPTURES.values(), ids=CAPTURES)
def test_a_missing_capture_is_empty(each_binary: nginx.Binary, server: str, target: str, location: bytes) -> None:
    """nginx writes nothing for a capture that `capture-missing` flags."""
    http = "map $uri $page { ~^/old/ $1; }" if "$page" in server else ""
    assert len(diagnose("capture-missing", f"{http}\nserver {{ {server} }}", context="http")) == 1
    assert location in ask(each_binary, server, target, http)


def test_a_true_condition_takes_try_files_away(each_binary: nginx.Binary) -> None:
    """The witness of `if-surprise` gets 404, and the same request without its header what `try_files` leads to."""
    server = (
        "root html;\nlocation / {\n    if ($http_cookie) {\n        set $skip 1;\n    }\n"
        "    try_files $uri /index.txt;\n}\n"
    )
    files = {"html/index.txt": b"the application"}
    witness = witness_of("if-surprise", server)
    assert witness.headers
    assert b" 404 " in answered(each_binary, server, witness, files=files)
    assert answered(each_binary, server.replace("$http_cookie", "$http_none"), witness, files=files).endswith(
        b"the application"
    )


@pytest.mark.parametrize(
    "server",
    [
        "location /api/ { set $backend unix:temp/echo; proxy_pass http://$backend:/; }",
        "location /shop/ { rewrite ^/shop/(.*)$ /store/$1 break; proxy_pass http://unix:temp/echo:/app/; }",
    ],
)
def test_the_path_is_lost(each_binary: nginx.Binary, server: str) -> None:
    """The upstream gets for the witness of `proxy-pass-uri-lost` what it says, not the path below that of the pass."""
    witness = witness_of("proxy-pass-uri-lost", server)
    got = witness.shows.removeprefix("the upstream gets ")
    assert answered(each_binary, server, witness).endswith(f"[GET {got}]".encode())


def test_a_witness_is_one_request() -> None:
    """The request of a witness has its headers and its target as they are."""
    witness = witness_of("if-surprise", "location / { if ($http_cookie) { set $a 1; } try_files $uri /x; }")
    assert b"Cookie: 1\r\n" in request_of(witness).data


def test_another_location_takes_the_uris(each_binary: nginx.Binary) -> None:
    """What `location-never-chosen` flags answers no request, and in another order, which it does not flag, it does."""
    taken = "location ~ ^/img/logo\\.png$ { return 200 late; }"
    wide = "location ~ \\.(?:css|png)$ { return 200 early; }"
    assert len(diagnose("location-never-chosen", f"{wide} {taken}", context="server")) == 1
    assert ask(each_binary, f"{wide} {taken}", "/img/logo.png").endswith(b"early")
    assert not diagnose("location-never-chosen", f"{taken} {wide}", context="server")
    assert ask(each_binary, f"{taken} {wide}", "/img/logo.png").endswith(b"late")


def test_the_empty_pattern_takes_all(each_binary: nginx.Binary) -> None:
    """A location with a tilde and nothing else takes what a later pattern denies."""
    server = "location ~ { return 200 open; }\nlocation ~ ^/\\.git { deny all; }\n"
    (diagnostic,) = diagnose("location-never-chosen", server, context="server")
    assert "the empty pattern takes them all" in diagnostic.message
    assert ask(each_binary, server, "/.git/config").endswith(b"open")


def test_a_zone_alone_limits_nothing(each_binary: nginx.Binary) -> None:
    """All requests get a response with a zone that `zone-unused` flags, and one of them with `limit_req`."""
    zone = "limit_req_zone $server_port zone=each:1m rate=1r/m;"
    whole = f"events {{ }} http {{ {zone} server {{ root /srv; }} }}"
    (diagnostic,) = diagnose("zone-unused", whole)
    assert 'no limit_req names the zone "each"' in diagnostic.message
    assert not diagnose("zone-unused", whole.replace("root", "limit_req zone=each; root"))
    head = RequestBytes(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", alone=True)
    for limit, served in (("", 20), ("limit_req zone=each; ", 1)):
        server = f"{limit}location / {{ try_files /50x.html =404; }}".encode()
        with (
            nginx.Instance(
                each_binary, servers=[server], http=zone.encode(), files={"html/50x.html": b"ok"}
            ) as instance,
            instance.client() as client,
        ):
            answers = client.ask([head] * 20)
        assert sum(b" 200 " in answer for answer in answers) == served


@pytest.mark.parametrize("place", ["location", "server"])
def test_a_named_location_inherits_from_its_server(each_binary: nginx.Binary, place: str) -> None:
    """A header that is set beside `try_files` is not sent from the location it names, and that of the server is."""
    http = 'server { listen unix:temp/s; return 200 "[$http_x_a]"; }'
    header = "proxy_set_header X-A seen;"
    inside, outside = (header, "") if place == "location" else ("", header)
    passing = "location @app { proxy_pass http://unix:temp/s:; }"
    server = f"{outside}\nlocation / {{ {inside} try_files /none @app; }}\n{passing}\n"
    found = diagnose("foreign-setting", server, context="server")
    assert [diagnostic.severity for diagnostic in found] == ([Severity.WARNING] if inside else [])
    assert ask(each_binary, server, "/", http).endswith(b"[]" if inside else b"[seen]")


def test_a_setting_that_sets_a_variable_needs_no_pass(each_binary: nginx.Binary) -> None:
    """`fastcgi_split_path_info` and `fastcgi_index` are in force wherever the variables that they set are read."""
    settings = "fastcgi_index i.php; fastcgi_split_path_info ^(.+\\.php)(/.*)$;"
    server = f'location /a.php {{ {settings} return 200 "$fastcgi_script_name $fastcgi_path_info"; }}\n'
    assert ask(each_binary, server, "/a.php/b").endswith(b"/a.php /b")
    assert not diagnose("foreign-setting", server, context="server")
    unread = server.replace("$fastcgi_script_name $fastcgi_path_info", "")
    assert len(diagnose("foreign-setting", unread, context="server")) == 1


PURGING = {
    "a handler of ngx_cache_purge": ("proxy_cache_purge tmp $1; proxy_cache_key $1;", False),
    "beside the pass of another module": ("fastcgi_pass a:1; proxy_cache_purge PURGE from all;", False),
    "another directive of a module that extends nginx's": ("proxy_cache_fancy on; proxy_cache_key a;", False),
    "no such directive": ("proxy_cache_key $1;", True),
    "a directive with another beginning": ("fastcgi_pass a:1; fancy on; proxy_cache_key a;", True),
}


@pytest.mark.parametrize(("inside", "is_found"), PURGING.values(), ids=PURGING.keys())
def test_a_module_that_extends_another_may_use_its_settings(inside: str, is_found: bool) -> None:
    """What answers with the settings of a module, such as its purger, is no place without effect for them."""
    text = f"location ~ ^/purge(/.*) {{ {inside} }}"
    assert bool(diagnose("foreign-setting", text, context="server")) is is_found


def test_local_servers_are_known_to_be_down(each_binary: nginx.Binary) -> None:
    """A connect timeout of hours does not matter for loopback and sockets: nginx answers at once."""
    server = (
        "proxy_connect_timeout 2h;\nlocation /a { proxy_pass http://127.0.0.1:1; }\n"
        "location /b { proxy_pass http://unix:temp/none; }\n"
    )
    assert not diagnose("connect-timeout-long", server, context="server")
    assert all(b" 502 " in ask(each_binary, server, target) for target in ("/a", "/b"))


def test_a_pattern_takes_a_prefix(each_binary: nginx.Binary) -> None:
    """A pattern that matches all of a prefix takes its URIs, but not with `^~`."""
    pattern = "location ~ ^/ { return 200 pattern; }"
    assert (
        len(diagnose("location-never-chosen", f"location /old/ {{ return 200 x; }} {pattern}", context="server")) == 1
    )
    assert ask(each_binary, f"location /old/ {{ return 200 x; }} {pattern}", "/old/").endswith(b"pattern")
    assert not diagnose("location-never-chosen", f"location ^~ /old/ {{ return 200 x; }} {pattern}", context="server")
    assert ask(each_binary, f"location ^~ /old/ {{ return 200 x; }} {pattern}", "/old/").endswith(b"x")


def test_the_first_server_takes_foreign_hosts(each_binary: nginx.Binary) -> None:
    """A request for the host of the witness of `default-server-accidental` gets to the first server."""
    http = "".join(f"server {{ listen unix:temp/s; server_name {name}.test; root {name}; }}\n" for name in "ab")
    text = http.replace("unix:temp/s", "80")
    witness = witness_of("default-server-accidental", text, "http")
    assert witness.headers == ("Host: host.invalid",)
    passing = "location / { proxy_pass http://unix:temp/s:/; proxy_set_header Host host.invalid; }"
    files = {"a/x": b"server a", "b/x": b"server b"}
    with (
        nginx.Instance(each_binary, servers=[passing.encode()], http=http.encode(), files=files) as instance,
        instance.client() as client,
    ):
        head = b"GET /x HTTP/1.1\r\nHost: host.invalid\r\nConnection: close\r\n\r\n"
        assert client.ask([RequestBytes(head, alone=True)])[0].endswith(b"server a")


_SIGNS = ("=", "!=", "~", "!~", "~*", "!~*")
_COMPARED = {
    "$scheme": ("http", "https", "http:", "^http", "^https?$", "^HTTPS$", ""),
    "$https": ("on", "off", "", "^$", "o", "ON"),
    "$is_args": ("?", "", "&", "^.$"),
    "$request_method": ("GET", "get", "POST", "^(get|head)$", "^G", "[a-z]", ""),
    "$host": ("a.test", "A.test", "a.test:80", "^A", "^[a-z.]+$", "^http://", ":", "", "^$", r"\.test$", "[A-Z]"),
}


def test_a_condition_that_is_constant_has_one_outcome(each_binary: nginx.Binary) -> None:
    """Whatever host, method and arguments a request has, what `if-constant` says of a condition is so."""
    conditions = [
        f'{name} {sign} "{value}"'
        for name, values in _COMPARED.items()
        for value in values
        for sign in _SIGNS
        if (value not in ("", "?") if "~" in sign else "$" not in value)
    ]
    said = {}
    for condition in conditions:
        found = diagnose("if-constant", f"if ({condition}) {{ return 200 yes; }}", context="server")
        said[condition] = [" always " in each.message for each in found]
    assert 20 < sum(map(bool, said.values())) < len(conditions) - 20
    locations = "".join(
        f"location /{number}/ {{ if ({condition}) {{ return 200 yes; }} return 200 no; }}\n"
        for number, condition in enumerate(conditions)
    )
    heads = ("Host: a.test:80", "Host: A.TEST", "Host: [FE80::1]:80", "Host: b")
    with nginx.Instance(each_binary, servers=[locations.encode()]) as instance, instance.client() as client:
        for number, condition in enumerate(conditions):
            asked = [
                RequestBytes(_head(method, f"/{number}/{args}", head), alone=True)
                for head in heads
                for method, args in (("GET", ""), ("POST", "?a"))
            ]
            outcomes = {answer.endswith(b"yes") for answer in client.ask(asked)}
            assert not said[condition] or {said[condition][0]} == outcomes, condition


def _head(method: str, target: str, header: str) -> bytes:
    return f"{method} {target} HTTP/1.1\r\n{header}\r\nConnection: close\r\n\r\n".encode()


@pytest.mark.parametrize(("pattern", "is_found"), [("/\\.(jpg|css)$", True), ("\\.(jpg|css)$", False)])
def test_a_slash_before_the_dot_takes_no_picture(each_binary: nginx.Binary, pattern: str, is_found: bool) -> None:
    """`location-dot-name` flags the pattern that `/photo.jpg` does not match; `/.jpg` matches either."""
    server = f"location ~* {pattern} {{ return 200 matched; }}\nlocation / {{ return 200 other; }}"
    assert len(diagnose("location-dot-name", server, context="server")) == is_found
    assert ask(each_binary, server, "/a/.jpg").endswith(b"matched")
    assert ask(each_binary, server, "/photo.jpg").endswith(b"other" if is_found else b"matched")


def test_any_origin_and_credentials_are_sent_as_written(each_binary: nginx.Binary) -> None:
    """nginx sends both headers that `credentials-any-origin` flags, so it is the browser that refuses them."""
    server = (
        "location / { add_header Access-Control-Allow-Origin *; add_header Access-Control-Allow-Credentials true;"
        " return 200 ok; }"
    )
    assert len(diagnose("credentials-any-origin", server, context="server")) == 1
    answer = ask(each_binary, server, "/")
    assert b"Access-Control-Allow-Origin: *\r\n" in answer
    assert b"Access-Control-Allow-Credentials: true\r\n" in answer
