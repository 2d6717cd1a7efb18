"""What was not read is equal only to the same words in the same order, and what is taken as given of it is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from nginxopt.config import load, load_text
from nginxopt.request.model import SiteModel
from nginxopt.semantics.site import Build
from nginxopt.verify import Verification, verify
from nginxopt.version import Version
from tests.rows import every_row

_PASS = "proxy_pass http://127.0.0.1:9001;"
_SERVER = "server { listen 8080; %s }"
_VERSION = Version(1, 22, 1)


def model(text: str, version: Version = _VERSION) -> SiteModel:
    """The model of what stands in http."""
    return SiteModel(
        load_text(f"events {{}} http {{ {text} }}".encode(), "nginx.conf", missing_ok=True), Build(version)
    )


def compared(old: str, new: str, around: str = _SERVER) -> Verification:
    """What `verify` says of two servers."""
    return verify(model(around % old), model(around % new))


VALUES = [
    ("add_header X 1;", "add_header X 2;"),
    ("add_header X 1;", ""),
    ("proxy_set_header X 1;", "proxy_set_header X 2;"),
    ("proxy_hide_header A;", "proxy_hide_header B;"),
    ("error_page 404 /a;", "error_page 404 /c;"),
    ("fastcgi_param X 1;", "fastcgi_param X 2;"),
    ("deny 10.0.0.0/8;", "deny 11.0.0.0/8;"),
    ("deny all;", "allow all;"),
    ("allow 10.0.0.0/8; deny 10.0.0.0/16;", "deny 10.0.0.0/16; allow 10.0.0.0/8;"),
    ("sub_filter a b;", "sub_filter a c;"),
    ("add_trailer X 1;", "add_trailer X 2;"),
    ("expires 1h;", "expires 2h;"),
    ("auth_basic a;", "auth_basic b;"),
    ("client_max_body_size 1m;", "client_max_body_size 2m;"),
    ("mirror /a;", "mirror /b;"),
    ("limit_conn z 1;", "limit_conn z 2;"),
    ("types { text/a a; }", "types { text/b a; }"),
]
PLACES = {
    "before": f"location / {{ %s include nx.conf; {_PASS} }}",
    "behind": f"location / {{ include nx.conf; {_PASS} %s }}",
    "around": f"include nx.conf; location / {{ %s {_PASS} }}",
    "of the server": f"%s include nx.conf; location / {{ {_PASS} }}",
}


@pytest.mark.no_cover
@every_row("place", PLACES)
@every_row(("old", "new"), VALUES)
def test_a_missing_include_hides_no_value(old: str, new: str, place: str) -> None:
    """Another value beside a file that was not read, or in a block inside, is no equivalence; the same value is."""
    server = f"limit_conn_zone $uri zone=z:1m; {_SERVER}" % PLACES[place]
    assert compared(old, new, server).verdict != "equivalent"
    assert compared(new, old, server).verdict != "equivalent"
    assert compared(old, old, server).verdict == "equivalent"


@every_row(
    ("old", "new"),
    [
        ("location / { include a; %s }", "location / { include b; %s }"),
        ("location / { include a; %s }", "location / { %s }"),
        ("include a; location / { %s }", "include b; location / { %s }"),
        ("include a; location / { %s }", "location / { include a; %s }"),
        ("location / { include a; add_header X 1; %s }", "location / { add_header X 1; include a; %s }"),
        ("location / { include a; sub_filter a b; %s }", "location / { sub_filter a b; include a; %s }"),
        ("location / { include a; mirror /m; %s }", "location / { mirror /m; include a; %s }"),
        ("location / { include a; %s }", "location / { %s include a; }"),
        ("include uwsgi_params; location / { %s }", "location / { %s }"),
        ("include fastcgi_params; location / { %s }", "location / { %s }"),
        (
            "uwsgi_param A a; include uwsgi_params; location / { %s }",
            "include uwsgi_params; uwsgi_param A a; location / { %s }",
        ),
        ("include a; location ~ a { %s } location ~ b { }", "location ~ a { %s } include a; location ~ b { }"),
        (
            "location /a/ { include a; } location / { %s }",
            "location /a/ { include a; } location / { %s } location = /a { %s }",
        ),
    ],
)
def test_includes_that_are_not_the_same(old: str, new: str) -> None:
    """Another missing file, none, or the same one at a place where it may do something else, is no equivalence."""
    texts = [text.replace("%s", _PASS) for text in (old, new)]
    assert compared(*texts).verdict == compared(*reversed(texts)).verdict == "unknown"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("include nx; server { listen 80; server_name a; }", "server { listen 80; server_name a; } include nx;"),
        (
            "include nx; map $uri $m { default a; } server { listen 80; return 200 $m; }",
            "map $uri $m { default a; } include nx; server { listen 80; return 200 $m; }",
        ),
    ],
)
def test_a_missing_include_of_http_at_another_place(old: str, new: str) -> None:
    """It may have the default server, or another definition of a variable: which one counts depends on the order."""
    assert compared(old, new, "%s").verdict == "unknown"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("location / { root /a; include nx; }", "location / { include nx; root /a; }"),
        (
            "include nx; location /a { add_header X 1; } location /b { }",
            "include nx; location /b { } location /a { add_header X 1; }",
        ),
        (
            "location / { include nx; add_header X 1; expires 1h; }",
            "location / { include nx; expires 1h; add_header X 1; }",
        ),
    ],
)
def test_an_order_that_no_missing_file_changes(old: str, new: str) -> None:
    """What nginx refuses twice is known beside a missing file, and plain locations are found in any order."""
    assert compared(old, new).verdict == "equivalent"


def test_headers_of_a_block_inside_are_known_before_they_could_be_merged() -> None:
    """A list that a block states replaces that around it, whatever a missing file says; not where headers may merge."""
    old, new = (f"add_header A {value}; include nx; location / {{ add_header X 1; {_PASS} }}" for value in "12")
    for version, doubts in ((Version(1, 22, 1), 4), (Version(1, 29, 3), 5)):
        result = verify(model(_SERVER % old, version), model(_SERVER % new, version))
        assert len(result.doubts) == doubts


_HTTP = "events {} http { %s }"


@pytest.mark.parametrize(
    "text",
    [
        "upstream u { include part; } server { listen 80; location / { proxy_pass http://u; } }",
        "server { listen 80; types { include part; } root /x; }",
        "map $uri $x { include part; } server { listen 80; return 200 $x; }",
    ],
)
def test_a_file_that_is_included_in_a_block(text: str, tmp_path: Path) -> None:
    """What is included in an upstream, a map or another table counts, not the name of the file."""
    parts = {"upstream": ("server 192.0.2.1;", "server 192.0.2.2;"), "charset_map": ("80 E1;", "80 E2;")}
    rows = parts.get(text.partition(" ")[0], ("text/a a;", "text/b a;"))
    sides = []
    for name, part in zip(("old", "new", "same"), (*rows, rows[0]), strict=True):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "part").write_text(part)
        (folder / "nginx.conf").write_text(_HTTP % text)
        sides.append(SiteModel(load(folder / "nginx.conf"), Build(_VERSION)))
    old, new, same = sides
    assert verify(old, new).verdict != "equivalent"
    assert verify(old, same).verdict == "equivalent"


def test_types_of_an_empty_file_are_none(tmp_path: Path) -> None:
    """A block of types without rows replaces those that nginx has itself, also if a file without rows is in it."""
    (tmp_path / "part").write_text("")
    texts = {"plain": "root /x;", "empty": "types { include part; } root /x;"}
    for name, text in texts.items():
        (tmp_path / name).write_text(_HTTP % f"server {{ listen 80; {text} }}")
    old, new = (SiteModel(load(tmp_path / name), Build(_VERSION)) for name in texts)
    assert verify(old, new).verdict == "unknown"


def test_the_pass_that_an_outer_location_implies_is_inherited() -> None:
    """The `proxy_redirect` of an outer pass, which no request reaches, is that of the pass inside."""
    text = "location /a/ {{ return 404; {} {} location /a/b/ {{ proxy_pass http://127.0.0.1:9002{}; }} }}"
    outer = [f"proxy_pass http://127.0.0.1:{port};" for port in (9001, 9003)]
    for stated in ("", "proxy_redirect default;"):
        for uri in ("", "/"):
            assert compared(*[text.format(each, stated, uri) for each in outer]).verdict == "unknown"
    for stated in ("proxy_redirect off;", "proxy_redirect a b;"):
        assert compared(*(text.format(each, stated, "") for each in outer)).verdict == "equivalent"
    variable = [f"proxy_pass http://127.0.0.1:{port}$uri;" for port in (9001, 9003)]
    assert compared(*(text.format(each, "", "") for each in variable)).verdict == "equivalent"


def test_the_value_of_host_counts() -> None:
    """Host is its value, stated or not: no request is a witness where upstreams get the same one."""
    hosts = ["", "proxy_set_header Host $proxy_host;", "proxy_set_header Host 127.0.0.1:9001;"]
    texts = [f"location / {{ {host} {_PASS} }}" for host in hosts]
    assert compared(texts[0], texts[1]).verdict == compared(texts[1], texts[0]).verdict == "equivalent"
    assert {compared(texts[2], text).verdict for text in texts[:2]} == {"unknown"}
    other = f"location / {{ proxy_set_header Host other; {_PASS} }}"
    assert {compared(text, other).verdict for text in texts} == {"different"}


def test_the_name_of_an_upstream_of_grpc() -> None:
    """It is no difference where Host is stated, and one where it is not."""
    text = (
        "upstream {0} {{ server 127.0.0.1:9001; }} server {{ listen 80; location / {{ {1} grpc_pass grpc://{0}; }} }}"
    )
    for stated, verdict in (("grpc_set_header Host h;", "equivalent"), ("", "different")):
        old, new = (text.format(name, stated) for name in "ab")
        assert compared(old, new, "%s").verdict == verdict


@pytest.mark.parametrize("name", ["ETag", "etag", "Last-Modified"])
def test_headers_that_nginx_has_once(name: str) -> None:
    """A second one replaces the first, and an empty one removes it: no witness says otherwise."""
    first, second, gone = (f"add_header {name} {value};" for value in ("a", "b", '""'))
    text = "location / {{ return 200 x; {} }}"
    for old, new in ((first + gone, ""), (first + gone, gone), (first + second, second)):
        assert compared(text.format(old), text.format(new)).verdict == "unknown"
    assert compared(text.format(first + second), text.format(second + first)).verdict == "different"


_LINE = "location / { return 200 a; }"
GIVEN = [
    (_LINE, _LINE, "files, name resolution and upstreams are the same before and after (outside-same)"),
    ("include nx; " + _LINE, "include nx; " + _LINE, "not read, and the same before and after: nx (unread-same)"),
    (
        "include mime.types; " + _LINE,
        "include mime.types; " + _LINE,
        "mime.types is the file that comes with nginx (stock-files)",
    ),
    (
        "include nx/*.conf; " + _LINE,
        "include nx/*.conf; " + _LINE,
        "not read, and the same before and after: nx/*.conf (unread-same)",
    ),
    ("gzip on; " + _LINE, "gzip off; " + _LINE, "these differ, and do not count as an answer: gzip"),
    (
        "listen 81 backlog=5; " + _LINE,
        "listen 81 backlog=6; " + _LINE,
        "these differ, and do not count as an answer: listen backlog",
    ),
    (
        "listen 81 reuseport; " + _LINE,
        "listen 81; " + _LINE,
        "these differ, and do not count as an answer: listen reuseport",
    ),
    (
        "set $a 1; return 200 $a;",
        "set $b 1; return 200 $b;",
        "no program and no file reads or sets a variable that has another name now: $b for $a (named-by-text)",
    ),
    (
        "proxy_cache off; " + _LINE,
        "proxy_cache off; " + _LINE,
        "caches and the counters of limits hold the same before and after (state-same)",
    ),
]


@every_row(("old", "new", "premise"), GIVEN, ids=[premise for *_, premise in GIVEN])
def test_what_is_taken_as_given_is_named(old: str, new: str, premise: str) -> None:
    """Each class of what is ignored is named where it counts, and not in a configuration without it."""
    result = compared(old, new)
    assert result.verdict == "equivalent"
    assert premise in result.given
    plain = compared(_LINE, _LINE).given
    assert (premise in plain) == (premise == GIVEN[0][2])


def test_what_upstreams_say_without_an_effect_on_answers_is_named() -> None:
    """Connections that are kept, and memory that workers share."""
    text = "upstream u { server 127.0.0.1:9001; %s } server { listen 80; location / { proxy_pass http://u; } }"
    given = compared("keepalive 5; keepalive_timeout 1m; zone z 1m;", "", text).given
    assert "these differ, and do not count as an answer: keepalive, keepalive_timeout, zone" in given
    limited = (
        "upstream u { server 127.0.0.1:9001 max_conns=1; %s } server { listen 80; location / { proxy_pass http://u; } }"
    )
    assert compared("zone z 1m;", "", limited).verdict == "unknown"


def test_what_stands_around_a_fragment_is_taken_as_given() -> None:
    """Nothing does; of whole configurations this is no question."""
    premise = "nothing stands around these parts of a configuration (part-alone)"
    part = SiteModel(load_text(b"location / { return 200 a; }", "part.conf"), Build(_VERSION))
    assert premise in verify(part, part).given
    assert premise not in compared(_LINE, _LINE).given


@every_row("include", ["include nx;", "include nx/*;"])
@every_row(
    ("old", "new"),
    [
        ("map $uri $m { a b; }", "map $uri $m { a c; }"),
        ("geo $m { 10.0.0.0/8 b; }", "geo $m { 11.0.0.0/8 b; }"),
        ("upstream u { server 192.0.2.1; }", "upstream u { server 192.0.2.2; }"),
        ("add_header X 1;", "add_header X 2;"),
        ("root /a;", "root /b;"),
    ],
)
def test_what_a_missing_file_may_use(old: str, new: str, include: str) -> None:
    """Nothing else uses it: maps, upstreams and settings of http still count for servers that were not read."""
    server = "server { listen 80; add_header Y 1; root /c; return 200; }"
    text = f"%s {include} {server}"
    assert compared(old, new, text).verdict == "unknown"
    assert compared(old, old, text).verdict == "equivalent"
    assert compared(old, new, f"%s {server}").verdict == "equivalent"


def test_locations_that_were_not_read_have_the_settings_of_their_server() -> None:
    """Though each location that was read has settings of its own."""
    text = "%s include nx; location / { error_page 404 /b; return 200; }"
    assert compared(text % "error_page 404 /a;", text % "error_page 404 /c;").verdict == "unknown"


def test_upstreams_that_a_missing_file_does_not_use() -> None:
    """A file that was not read may name one that only one side has: only a premise says that it does not."""
    text = "include nx; {} server {{ listen 80; return 200; }}"
    result = compared(text.format("upstream u { server 192.0.2.1; }"), text.format(""), "%s")
    assert result.verdict == "unknown"
    assert result.conditions == ("unread-names",)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("client_max_body_size 1m; proxy_set_header X 1;", "client_max_body_size 2m; proxy_set_header X 1;"),
        ("client_max_body_size 1m; proxy_set_header X 1;", "client_max_body_size 1m;"),
        ("map $uri $m { a b; }", "map $uri $m { a c; }"),
    ],
)
def test_a_fragment_without_servers(old: str, new: str) -> None:
    """Its settings and variables count for the servers of whatever includes it."""
    sides = [
        SiteModel(load_text(text.encode(), "part.conf", context=("http",)), Build(_VERSION)) for text in (old, new, old)
    ]
    assert verify(sides[0], sides[1]).verdict == "unknown"
    assert verify(sides[0], sides[2]).verdict == "equivalent"


_A = "server { listen 80; server_name a.example; return 200 a; }"


@pytest.mark.parametrize(
    ("new", "host"),
    [
        (_A.replace("a.example", "b.example"), 'the host "a.example"'),
        (_A.replace("server_name a.example;", ""), 'the host "a.example"'),
        (_A.replace("a.example", "a.example b.example"), 'the host "b.example"'),
        (_A.replace("a.example", "~^a"), 'the host "~^a"'),
        (_A.replace("listen 80", "listen 80 default_server"), "hosts without a server of their own"),
    ],
)
def test_the_hosts_of_servers_beside_others(new: str, host: str) -> None:
    """A server that was not read may answer a host that the one that was read no longer names: beside a fragment, and
    where a wildcard matches nothing here. Without them, the only server answers every host.
    """
    for context, text in ((("http",), "{}"), (None, "events {{}} http {{ include conf.d/*.conf; {} }}")):
        old, other, same = (
            SiteModel(load_text(text.format(each).encode(), "nginx.conf", context=context), Build(_VERSION))
            for each in (_A, new, _A.replace("listen 80", "listen *:80"))
        )
        result = verify(old, other)
        assert result.verdict == "unknown"
        assert any(f"that was not read may answer {host} on one side" in doubt.reason for doubt in result.doubts)
        assert verify(old, same).verdict == "equivalent"
    whole = [
        SiteModel(load_text(f"events {{}} http {{ {each} }}".encode(), "nginx.conf"), Build(_VERSION))
        for each in (_A, new)
    ]
    assert verify(*whole).verdict == "equivalent"
