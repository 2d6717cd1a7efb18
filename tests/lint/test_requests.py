"""What rules about security ask: requests that reach a level, what becomes of them, and who may reach it."""

from __future__ import annotations

import re

import pytest

from nginxopt.config import load_text
from nginxopt.lint import FOREIGN, AskedRequest, Model
from nginxopt.lint.check import Checked
from nginxopt.lint.queries import access, backtracking, controlled, inheritance, newlines, origins, reaching
from nginxopt.lint.report.model import notes
from nginxopt.semantics import Level, subjects
from nginxopt.version import Version
from tests.lintcheck import TARGET, diagnose, judge, read
from tests.lintrules import configuration
from tests.rows import every_row


def model_of(text: str, context: str | None = "server", target: Version = TARGET) -> Model:
    """The model of a text."""
    return Model(read(text, context), target)


def location_of(model: Model, name: str) -> Level:
    """The location with a name or pattern."""
    return next(level for level in model.levels("location") if level.args[-1] == name)


LOCATIONS = ("/", "/a/", "/exact", "\\.php$", "^/u/[0-9]+$", "/a/in/")
SITE = (
    "location / { return 200; } location /a/ { location /a/in/ { return 200; } }\n"
    "location = /exact { return 200; } location ~ \\.php$ { return 200; } location ~* ^/u/[0-9]+$ { return 200; }\n"
)


@every_row("name", LOCATIONS)
def test_a_request_reaches_its_location(name: str) -> None:
    """One of the requests for a location settles there, as the model says."""
    model = model_of(SITE)
    level = location_of(model, name)
    answer = model.requests.first(level, *reaching.reaching(level))
    assert answer is not None
    assert answer.is_in(level)
    assert answer.url.startswith("http://localhost/")


@every_row(
    ("condition", "has"),
    [
        ("$request_method = POST", AskedRequest(b"/", "POST")),
        ("$http_x_id", AskedRequest(b"/", headers=("X-Id: 1",))),
        ("$http_x_id ~ ^a+b$", AskedRequest(b"/", headers=("X-Id: ab",))),
        ("$arg_page = 7", AskedRequest(b"/?page=7")),
        ("$http_x_id != a", AskedRequest(b"/", headers=("X-Id: ax",))),
        ("$remote_addr = 1", AskedRequest(b"/")),
    ],
)
def test_a_request_makes_a_condition_true(condition: str, has: AskedRequest) -> None:
    """A request for an `if` has what the condition asks for, where a client decides that."""
    model = model_of(f"location / {{ if ({condition}) {{ return 204; }} }}")
    (level,) = model.levels("if")
    assert next(reaching.reaching(level)) == has


def test_nothing_is_asked_of_what_nginx_refuses() -> None:
    """A configuration that nginx does not start with has no answers."""
    model = model_of("location / { proxy_pass; }")
    (level,) = model.levels("location")
    assert list(model.requests.ask(level, AskedRequest(b"/"))) == []


def test_files_are_missing_or_exist() -> None:
    """A location behind `try_files` is reached by a request for a file that does not exist."""
    model = model_of("root /srv; location / { try_files $uri @app; } location @app { return 200 app; }")
    level = location_of(model, "/")
    answers = list(model.requests.all(level, AskedRequest(b"/x")))
    assert [answer.outcome["kind"] for answer in answers] == ["unknown", "return", "static"]
    assert answers[0].file == answers[2].file == "/srv/x"
    assert not answers[0].is_known


@pytest.mark.parametrize(("listen", "client"), [("80", FOREIGN), ("[::]:80", "2001:db8::7")])
def test_a_stranger_comes_from_an_address_of_the_family(listen: str, client: str) -> None:
    """The foreign address is one of IPv6 where nothing else connects."""
    model = model_of(f"listen {listen}; location / {{ return 200; }}")
    (answer,) = model.requests.ask(location_of(model, "/"), AskedRequest(b"/", client=FOREIGN))
    assert answer.witness("it is answered").client == client


def test_a_header_of_bytes_that_are_no_text() -> None:
    """The name and the value of a header may have bytes that are not UTF-8."""
    model = model_of("location / { return 200; }")
    answer = model.requests.first(location_of(model, "/"), AskedRequest(b"/", headers=("X-\udcff: \udcfe",)))
    assert answer is not None
    assert answer.is_at == "return"


def test_headers_of_an_answer_are_found_by_name() -> None:
    """The values of a header are found whatever the case of its name."""
    model = model_of("add_header X-A 1; add_header x-a 2; location / { return 200; }")
    (answer,) = model.requests.ask(location_of(model, "/"), AskedRequest(b"/"))
    assert answer.headers("x-A") == ("1", "2")
    assert answer.headers("x-b") == ()


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("deny all;", True),
        ("allow 10.0.0.1; deny all;", True),
        ("allow all;", False),
        ("deny 10.0.0.1;", False),
        ("", False),
    ],
)
def test_lists_deny_others(text: str, closed: bool) -> None:
    """A list is closed if it denies all, its own or that of its server."""
    for around, own in ((text, ""), ("", text)):
        assert access.denies_others(location_of(model_of(f"{around} location / {{ {own} }}"), "/")) == closed


def test_a_login_may_be_off() -> None:
    """A login that a location turns off is none."""
    model = model_of("auth_basic a; location /a { auth_basic off; } location /b { satisfy any; auth_request /l; }")
    assert access.logins(location_of(model, "/a")) == ()
    assert [str(login.name) for login in access.logins(location_of(model, "/b"))] == ["auth_basic", "auth_request"]
    assert access.takes_any(location_of(model, "/b"))
    assert not access.takes_any(location_of(model, "/a"))


def test_a_missing_include_hides_restrictions() -> None:
    """Who may reach a level is not known where a file of it is missing."""
    assert not access.are_known(location_of(model_of("location / { include /none.conf; }"), "/"))
    assert access.are_known(location_of(model_of("location / { }"), "/"))


@pytest.mark.parametrize(
    ("own", "names"),
    [
        ("", []),
        ("add_header C 1;", ["a", "b"]),
        ("add_header A 2;", ["b"]),
        ("add_header_inherit merge; add_header C 1;", []),
    ],
)
def test_a_level_loses_headers(own: str, names: list[str]) -> None:
    """A level with a header of its own loses those that it would inherit, but for those of the same name."""
    model = model_of(f"add_header A 1; add_header B 1; location / {{ {own} }}", target=Version(1, 29, 3))
    assert sorted(inheritance.lost(location_of(model, "/"), "add_header")) == names


def test_merged_lists_are_in_force_together() -> None:
    """With `merge`, those of the level around are in force, too."""
    text = "add_header_inherit merge; add_header A 1; location / { add_header B 1; location /c { } }"
    model = model_of(text, target=Version(1, 29, 3))
    assert sorted(inheritance.effective(location_of(model, "/c"), "add_header")) == ["a", "b"]


def test_headers_that_a_level_drops_are_not_lost_further_in() -> None:
    """What `off` drops, no level inside has."""
    text = (
        "add_header A 1; location / { add_header_inherit off; location /c { add_header_inherit on; add_header B 1; } }"
    )
    model = model_of(text, target=Version(1, 29, 3))
    assert not inheritance.lost(location_of(model, "/c"), "add_header")


@every_row(
    ("value", "may"),
    [("$uri", True), ("$request_uri", False), ("$1", True), ("$host$arg_a", False), ("$copy", True), ("$page", True),
     ("$fixed", False), ("$name", True)],
)  # fmt: skip
def test_a_value_may_have_a_line_end(value: str, may: bool) -> None:
    """A value may have a line end if the decoded path is a part of it, through `set`, maps and named groups."""
    model = model_of(
        "map $uri $page { ~^/(.*)$ $1; } map $host $fixed { default $1; }\n"
        "server { location ~ ^/(?<name>.*)$ { set $copy $uri; } }",
        "http",
    )
    assert newlines.may_have_one(model, value) == may


def test_sources_of_a_value_are_those_of_clients() -> None:
    """Maps and `set` are followed to what they are made of."""
    model = model_of("map $arg_a $b { x $http_c; }\nserver { set $d $b; location / { } }", "http")
    assert controlled.sources(model, location_of(model, "/"), "$d:$host") == ("arg_a", "http_c", "host")


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        (r"^https?://(www\.)?example\.com$", ("example.com",)),
        (r"example\.(com|org)", ("example.com", "example.org")),
        (r"^https://[a-z]+\.example\.co\.uk", ("example.co.uk",)),
        (r"^(.*)$", ()),
        (r"localhost(:\d+)?", ()),
    ],
)
def test_patterns_name_domains(pattern: str, names: tuple[str, ...]) -> None:
    """The domains of a pattern are those that somebody registers."""
    assert origins.domains(pattern) == names


@pytest.mark.parametrize(
    "pattern",
    [r"example\.com", r"^https://example\.com", r"^https://(.+)?example\.com$", r"^https://www.example\.com$"],
)
def test_a_foreign_origin_is_accepted(pattern: str) -> None:
    """The name that is found matches the pattern, and is not below its domain."""
    name = origins.foreign(pattern, "origin", caseless=False)
    assert name is not None
    assert re.search(pattern, name)
    assert not re.search(r"[/.]example\.com$", name)


@pytest.mark.parametrize(
    "pattern",
    [r"^https://example\.com$", r"^https://([a-z]+\.)*example\.com(:\d+)?$", r"^https://example.com$", r"^.*$"],
)
def test_no_foreign_origin_is_accepted(pattern: str) -> None:
    """Nothing is found where only names below the domain match, or those that nobody can register."""
    assert origins.foreign(pattern, "origin", caseless=False) is None


@pytest.mark.parametrize(
    ("pattern", "gives_up"), [(r"^/(a+)+$", True), (r"^/(?:a|b)+$", False), (r"^/(?>a+)+$", False)]
)
def test_pcre_is_asked_whether_it_gives_up(pattern: str, gives_up: bool) -> None:
    """A subject is found only if PCRE2 gives up on it."""
    directive, _ = next(load_text(b"a;", "a.conf").walk())
    subject = backtracking.Trials().exploding(pattern, directive)
    assert (subject is not None) == gives_up
    assert subject is None or subjects.gives_up(pattern.encode(), subject)


def test_a_broken_pattern_does_not_give_up() -> None:
    """A pattern that PCRE2 does not compile is no answer."""
    assert not subjects.gives_up(b"(", b"a")
    assert subjects.group_count("(") is None


def test_no_subject_is_left() -> None:
    """It is certain that nothing is left where one pattern covers another."""
    assert subjects.is_none((b"^/a/b$",), (b"^/a/",))
    assert not subjects.is_none((b"^/a/",), (b"^/a/b$",))
    assert subjects.shortest((b"^/a/b$",), (b"^/a/",)) is None


@pytest.mark.parametrize(
    "text", ["location / { set $a; }", "location / { rewrite ^; }", "location / { if (a) { set; } }"]
)
def test_nginx_refuses_a_fragment(text: str) -> None:
    """A fragment with a statement that lacks arguments has no answers, as nginx does not start with it."""
    model = Model(load_text(text.encode(), "a.conf"), TARGET)
    (level,) = model.levels("location")
    assert list(model.requests.ask(level, AskedRequest(b"/"))) == []


def test_a_file_that_is_read_twice_has_requests() -> None:
    """What stands in a file that two servers include is reached in each of them."""
    server = b"server { listen 80; server_name %s.test; include in.conf; }\n"
    main = b"events {}\nhttp {\n" + server % b"a" + server % b"b" + b"}\n"
    model = Model(configuration({"nginx.conf": main, "in.conf": b"location /x { return 200; }\n"}), TARGET)
    answers = [
        answer for level in model.levels("location") for answer in model.requests.ask(level, AskedRequest(b"/x"))
    ]
    assert [answer.url for answer in answers] == ["http://a.test/x", "http://b.test/x"]
    assert [answer.level for answer in answers] == list(model.levels("location"))


def test_a_server_with_a_pattern_has_a_host() -> None:
    """A server whose only name is a pattern is asked by a host that the pattern matches."""
    text = "server { return 444; }\nserver { server_name ~^shop-[0-9]+\\.test$; location / { return 200; } }"
    model = model_of(text, "http")
    (answer,) = model.requests.ask(location_of(model, "/"), AskedRequest(b"/"))
    assert re.fullmatch(r"http://shop-[0-9]+\.test/", answer.url)


HTTP2 = """
add_header X-Frame-Options DENY;
server {
    listen 443 ssl;
    http2 on;
    max_headers 10;
    return 200 a;
    location /a { add_header Cache-Control no-store; root /srv; }
}
"""


@pytest.mark.parametrize("target", ["1.22.1", "1.25.1", "1.31.0"])
def test_a_directive_of_a_later_release_silences_no_other_rule(target: str) -> None:
    """Rules that follow requests judge a file as if nginx had the directive that `newer-directive` reports."""
    text = HTTP2.replace("return 200 a;", "")
    assert [found.start.line for found in diagnose("headers-lost", text, context="http", target=target)] == [10]


def test_what_nginx_refuses_is_the_reason_for_silence() -> None:
    """A rule that cannot follow requests, as nginx does not start, is silent, and the run says why."""
    config = read(HTTP2.replace("max_headers 10;", "root;"), "http")
    linted = judge("headers-lost", config, "1.28.0")
    assert linted.diagnostics == ()
    assert linted.refusal is not None
    assert linted.refusal.message == 'invalid number of arguments in "root" directive'
    assert linted.declined == {"headers-lost"}
    (note,) = notes(Checked((config,), (), (), refusals=(linted.refusal,)))
    assert note.message == (
        'nginx does not start with this (invalid number of arguments in "root" directive), '
        "so no rule could trace requests"
    )
