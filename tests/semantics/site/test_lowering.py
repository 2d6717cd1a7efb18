"""A configuration becomes a site: blocks are levels, statements are scripts, and nothing is left out."""

from __future__ import annotations

import re

import pytest

from nginxopt.errors import InputError
from nginxopt.version import Version
from tests.rows import every_row
from tests.semantics.site.lowered import form_of, in_server, opaque, script, settings, site_of


def test_blocks_are_levels_in_the_order_of_reading() -> None:
    """Each server, location, `if` and `limit_except` is a level within the one around it."""
    form = in_server(
        "location /a { limit_except GET { deny all; } location ~* b$ { } } if ($arg_x) { return 403; } location @c { }"
    )
    levels = [(level["kind"], level["args"], level["parent"]) for level in form["levels"]]
    assert levels == [
        ("http", [], None),
        ("server", [], 0),
        ("location", ["/a"], 1),
        ("limit_except", ["GET"], 2),
        ("location", ["~*", "b$"], 2),
        ("if", ["$arg_x"], 1),
        ("location", ["@c"], 1),
    ]
    assert form["levels"][1]["locations"] == [2, 6]
    assert form["levels"][2]["locations"] == [4]
    assert form["levels"][2]["limit_except"] == 3
    assert form["servers"] == [{"node": 2, "level": 1, "names": [{"node": 2, "text": ""}]}]


def test_the_script_has_the_order_of_the_text() -> None:
    """Rewrites, sets, ifs, returns and breaks stay in their order, those of included files among them."""
    form = form_of(
        "http { server { set $a b$uri; rewrite ^/x /y last; include rules.conf; gzip on; return 301 /z; break; } }",
        rules_conf="if ($a = b) { rewrite ^ /w; } rewrite ^/u$ /v permanent;",
    )
    assert script(form, 1) == [
        ("set", "$a", "b$uri"),
        ("rewrite", "^/x", "/y", "last"),
        ("if", "['$a', '=', 'b']", "2"),
        ("rewrite", "^/u$", "/v", "permanent"),
        ("return", "['301', '/z']"),
        ("break",),
    ]
    assert script(form, 2) == [("rewrite", "^", "/w", "None")]


def test_a_long_run_of_rewrites_stays_folded() -> None:
    """A run is one statement with the place in its text; each of its rules has a number, and a place by it."""
    rules = "".join(f"rewrite ^/old{number}$ /new{number} permanent; # {number}\n" for number in range(100))
    site = site_of(f"http {{ server {{ set $a b;\n{rules} return 404; }} }}")
    form = form_of(f"http {{ server {{ set $a b;\n{rules} return 404; }} }}")
    run = form["levels"][1]["script"][1]
    assert (run["kind"], run["count"], run["text"]) == ("rewrites", 100, 0)
    assert site.texts[0][run["start"] : run["end"]].decode() == rules.rpartition(" #")[0]
    place = site.nodes.place(run["node"] + 99)
    assert (place.path, place.line, place.text) == ("/conf/nginx.conf", 101, "rewrite ^/old99$ /new99 permanent")
    assert site.nodes.place(run["node"] + 100).text == "return 404"
    rule = site.nodes.directive(run["node"] + 7)
    assert rule is not None
    assert rule.args[0] == "^/old7$"
    with pytest.raises(IndexError):
        site.nodes.place(len(site.nodes))


def test_bytes_travel_as_latin_1() -> None:
    """Any byte of an argument, of UTF-8 or not, is the character of its number."""
    form = form_of(b"http { server { return 200 \xc3\xa9\xff; } }")
    assert script(form, 1) == [("return", "['200', '\xc3\xa9\xff']")]


def test_settings_are_those_that_differ() -> None:
    """A level has the settings that it states, and an empty list where it drops one of the level around it."""
    form = form_of(
        "http { root /r; error_page 404 /e; add_header a 1; add_header b 2; server { try_files $uri =404;"
        " location /a { alias /b; add_header c 3; if ($arg_x) { break; } } location /b { proxy_pass http://u;"
        " location /b/c { } } } }"
    )
    assert settings(form, 0) == {
        "root": [["/r"]],
        "error_page": [["404", "/e"]],
        "add_header": [["a", "1"], ["b", "2"]],
    }
    assert settings(form, 1) == {"try_files": [["$uri", "=404"]]}
    assert settings(form, 2) == {"alias": [["/b"]], "root": [], "add_header": [["c", "3"]], "try_files": []}
    assert settings(form, 3) == {}
    assert settings(form, 4) == {"proxy_pass": [["http://u"]], "try_files": []}
    assert settings(form, 5) == {"proxy_pass": []}


def test_types_are_rows() -> None:
    """Of `types` the model gets the rows; those of a missing mime.types are not known."""
    assert settings(form_of("http { types { text/html html htm; a/b c; } server { } }"), 0) == {
        "types": [["text/html", "html", "htm"], ["a/b", "c"]]
    }
    assert settings(form_of("http { include mime.types; server { } }"), 0) == {"types": None}


def test_sockets_and_names() -> None:
    """Each address has its servers, its default, and what its listens say; names are as written."""
    form = form_of(
        "http { ssl_certificate a; ssl_certificate_key a;"
        " server { listen 80; listen [::1]:443 ssl; server_name a.test *.b.test; server_name ~^c; }"
        " server { listen 80 default_server; listen unix:/s; listen 443 quic; http2 on; } server { } }"
    )
    sockets = [
        (socket["family"], socket["host"], socket["port"], socket["tls"], socket["servers"], socket["default"])
        for socket in form["sockets"]
    ]
    assert sockets == [
        ("inet", "0.0.0.0", 80, False, [0, 1, 2], 1),
        ("inet6", "::1", 443, True, [0], 0),
        ("unix", "/s", 0, False, [1], 1),
        ("inet", "0.0.0.0", 443, True, [1], 1),
    ]
    assert [socket["http2"] for socket in form["sockets"]] == [True, False, True, True]
    assert [socket["quic"] for socket in form["sockets"]] == [False, False, False, True]
    assert [name["text"] for name in form["servers"][0]["names"]] == ["a.test", "*.b.test", "~^c"]
    assert form["sockets"][0]["node"] == form["servers"][0]["node"] + 1


def test_variables_and_upstreams() -> None:
    """Maps, geos and split_clients have their rows; those of modules are opaque."""
    form = form_of(
        "http { map $uri $a { default x; hostnames; include rows.conf; } geo $b { 10.0.0.0/8 y; } geo $http_x $c { }"
        " split_clients $d $e { 5% z; } js_set $f main.f; geoip2 /db { $g source=$x country; }"
        " map $h $i { include none; } upstream u { server 127.0.0.1:1 weight=2; server b:2; keepalive 3; }"
        " server { auth_request_set $j $upstream_x; } }",
        rows_conf="k v;",
    )
    tables = [
        (table["kind"], table["variable"], table.get("source"), [row["args"] for row in table.get("rows", ())])
        for table in form["variables"]
    ]
    assert sorted(tables, key=lambda table: table[1]) == [
        ("map", "$a", "$uri", [["default", "x"], ["hostnames"], ["k", "v"]]),
        ("geo", "$b", None, [["10.0.0.0/8", "y"]]),
        ("geo", "$c", "$http_x", []),
        ("split_clients", "$e", "$d", [["5%", "z"]]),
        ("opaque", "$f", None, []),
        ("opaque", "$g", None, []),
        ("opaque", "$i", None, []),
        ("opaque", "$j", None, []),
    ]
    assert form["upstreams"] == [{"node": form["upstreams"][0]["node"], "name": "u", "servers": ["127.0.0.1:1", "b:2"]}]


def test_what_is_not_understood_is_stated_where_it_acts() -> None:
    """An unknown directive may do anything before the script; Lua after it, where it stands, or on the response."""
    form = form_of(
        "http { header_filter_by_lua_block { } server { nobody_knows on; return 301 /x; location /a { access_by_lua a;"
        " set $x 1; set_by_lua $y b; return 404; location /a/b { sub_filter a b; } } } }"
    )
    assert [(item["reason"], item["changes"]) for item in form["levels"][1]["filters"]] == [
        ("Lua (header_filter_by_lua_block)", "response"),
        ('unknown directive "nobody_knows"', "response"),
    ]
    assert script(form, 1) == [("opaque", 'unknown directive "nobody_knows"'), ("return", "['301', '/x']")]
    assert script(form, 2)[1:] == [("set", "$x", "1"), ("opaque", "Lua (set_by_lua)"), ("return", "['404']")]
    assert opaque(form, 1) == []
    assert opaque(form, 2) == opaque(form, 3) == ["Lua (access_by_lua)"]
    assert form["levels"][3]["filters"][-1]["changes"] == "body"


def test_a_handler_that_is_not_understood_belongs_to_its_location() -> None:
    """An inner location does not inherit it, an `if` does; `off` and the directive of an inner level end others."""
    form = in_server(
        "location /a { content_by_lua a; location /a/b { } if ($x) { break; } } ssi on; location /c { ssi off; }"
    )
    assert [opaque(form, level) for level in (2, 3, 4)] == [["Lua (content_by_lua)"], [], ["Lua (content_by_lua)"]]
    assert [len(form["levels"][level]["filters"]) for level in (1, 2, 5)] == [1, 1, 0]


def test_a_missing_include_may_be_anything() -> None:
    """Where a file is missing everything is possible from there on, and what is not stated is not known."""
    form = in_server("return 301 /a; include none.conf; root /r; location / { }")
    assert script(form, 1) == [("return", "['301', '/a']"), ("opaque", "none.conf is missing")]
    assert opaque(form, 1) == opaque(form, 2) == ["none.conf is missing"]
    known = settings(form, 1)
    assert known["root"] == [["/r"]]
    assert known["error_page"] is None
    site = site_of("http { server { listen 80; include none.conf; } }")
    assert [premise.text for premise in site.premises] == ["none.conf has no listen and no server_name"]
    assert not site.site["opaque"]
    assert form_of("http { include none; server { } }")["opaque"] == [{"node": 2, "reason": "none is missing"}]
    assert [item["reason"] for item in form["opaque"]] == ["none.conf is missing"]  # it may have the listens


def test_a_missing_file_of_packages_is_a_premise() -> None:
    """fastcgi_params is taken to have parameters and nothing else, and that is said."""
    site = site_of("http { server { location / { include fastcgi_params; fastcgi_pass u:1; } } }")
    form = form_of("http { server { location / { include fastcgi_params; fastcgi_pass u:1; } } }")
    assert opaque(form, 2) == []
    assert settings(form, 2) == {"fastcgi_pass": [["u:1"]], "fastcgi_param": None}
    assert [(premise.text, site.nodes.place(premise.node).text) for premise in site.premises] == [
        ("fastcgi_params is the file that comes with nginx", "include fastcgi_params")
    ]


def test_a_missing_file_of_certbot_is_a_premise() -> None:
    """options-ssl-nginx.conf is taken to have settings of TLS and nothing else, and that is said."""
    text = "http { server { listen 80; include /etc/letsencrypt/options-ssl-nginx.conf; return 200 a; } }"
    assert not form_of(text)["opaque"]
    assert opaque(form_of(text), 1) == []
    assert None not in settings(form_of(text), 1).values()
    assert [premise.text for premise in site_of(text).premises] == [
        "/etc/letsencrypt/options-ssl-nginx.conf is the file that comes with Certbot"
    ]


@pytest.mark.parametrize(
    ("text", "context", "kinds"),
    [
        ("server { location / { } }", None, ["http", "server", "location"]),
        ("location / { }", None, ["http", "server", "location"]),
        ("rewrite ^/a /b;", None, ["http", "server"]),
        ("proxy_pass http://u;", None, ["http", "server", "location"]),
        ("gzip on;", "location", ["http", "server", "location"]),
    ],
)
def test_a_fragment_is_lowered_as_what_it_implies(text: str, context: str | None, kinds: list[str]) -> None:
    """A server is one of http, rules are those of a server, and nothing is around them."""
    form = form_of(text, context=context)
    assert [level["kind"] for level in form["levels"]] == kinds
    assert [level["parent"] for level in form["levels"]] == [None, *range(len(kinds) - 1)]
    assert not form["opaque"]
    assert None not in settings(form, 0).values()
    assert [(socket["port"], socket["servers"]) for socket in form["sockets"]] == [(80, [0])]


@every_row(
    ("text", "message"),
    [
        ("http { server { rewrite ^/a; } }", 'invalid number of arguments in "rewrite" directive'),
        ("http { server { location { } } }", 'invalid number of arguments in "location" directive'),
        ("http { map $a { } server { } }", 'invalid number of arguments in "map" directive'),
        ("http { location / { } }", '"location" directive is not allowed here'),
        ("http { server { if ($a) { if ($b) { break; } } } }", '"if" directive is not allowed here'),
        ("http { server { listen 80:a; } }", 'invalid port in "80:a" of the "listen" directive'),
        ("events { }", "no requests can be followed here: there is no http block"),
        ("stream { }", "no requests can be followed here: there is no http block"),
        ("/old /new;", "no requests can be followed here: no directive shows where it stands"),
        ("# nothing\n", "no requests can be followed here: the file has no directives"),
    ],
)
def test_what_nginx_refuses_is_an_error(text: str, message: str) -> None:
    """A block or statement that nginx refuses has an error with its place."""
    with pytest.raises(InputError) as error:
        site_of(text)
    assert error.value.message == message


@pytest.mark.parametrize("value", ["/b/$1", "x$uri", "$arg_a/x"])
def test_values_of_maps_before_text_and_variables(value: str) -> None:
    """Before 1.11.0 a value is text, or one variable whose name is all of it: others are not known."""
    text = f"http {{ map $uri $a {{ /a {value}; default $uri; }} }}"
    forms = {version: site_of(text, Version.parse(version)).site["variables"][0] for version in ("1.10", "1.11")}
    assert (forms["1.10"]["kind"], forms["1.11"]["kind"]) == ("opaque", "map")
    plain = site_of("http { map $uri $a { /a b; default $uri; } }", Version(1, 10, 0))
    assert plain.site["variables"][0]["kind"] == "map"


@pytest.mark.parametrize(
    ("text", "since", "message"),
    [
        ("map $uri $a { default $uri$args; }", "1.11.0", 'unknown "uri$args" variable'),
        ("map $uri $a { default ${uri}; }", "1.11.0", 'unknown "{uri}" variable'),
        ("map $uri $a { ~(.) $1; }", "1.11.0", 'unknown "1" variable'),
        ("map $uri $a { volatile; default b; }", "1.11.7", "invalid number of the map parameters"),
        ("geo $a { volatile; default b; }", "1.29.3", "invalid number of the geo parameters"),
    ],
)
def test_what_older_versions_refuse(text: str, since: str, message: str) -> None:
    """What a table may have since a version, nginx refuses before. nginx 1.10.3 was asked."""
    first = Version.parse(since)
    site_of(f"http {{ {text} }}", first)
    with pytest.raises(InputError, match=re.escape(message)):
        site_of(f"http {{ {text} }}", Version(1, 10, 3))


def test_a_file_that_is_read_twice_has_numbers_for_each_reading() -> None:
    """The levels and rules of both readings are apart, and have the same place in the file."""
    form = form_of(
        "http { server { include l.conf; } server { listen 81; include l.conf; } }", l_conf="location / { return 404; }"
    )
    site = site_of(
        "http { server { include l.conf; } server { listen 81; include l.conf; } }", l_conf="location / { return 404; }"
    )
    returns = [level["script"][0]["node"] for level in form["levels"] if level["kind"] == "location"]
    assert len(set(returns)) == 2
    assert {site.nodes.place(node).path for node in returns} == {"/conf/l.conf"}


@every_row(
    "text",
    [
        "server { limit_req zone=around; access_log a.log around; location / { proxy_cache beside; return 200; } }",
        "upstream u { zone u 64k; state /var/u.state; } server { location / { proxy_pass http://u; } }",
        "http { include none.conf; server { limit_req zone=z; access_log a.log f; return 200 $request_port; } }",
        "http { include none.conf; server { return 200 $nobody; } }",
        "http { include none/*.conf; server { return 200 $nobody; } }",
        "server { return 200 $nobody; }",
        "load_module module.so; http { log_format a $nobody; }",
        "include none/*.conf; http { log_format a $nobody; }",
        "http { set_from_module $nobody a; server { return 200 $nobody; } }",
        "http { server { location / { block_of_module { } return 200 $nobody; } } }",
        "http { log_format a $brotli_ratio$geoip2_city$upstream_queue_time; }",
        "http { map $uri $a { include none.conf; } server { return 200 $nobody; } }",
    ],
)
def test_what_was_not_read_may_define_a_name(text: str) -> None:
    """A zone, a format or a variable may stand around a fragment, in a missing file or a module; servers in a file."""
    assert form_of(text)["levels"]


def test_words_that_have_no_variables() -> None:
    """nginx reads none in the server of a log; a directive that does nothing may say anything."""
    text = "http { access_log syslog:server=unix:/run/$x.sock,tag=a; server { http2_push $nope; return 200; } }"
    assert form_of(text)["levels"]
