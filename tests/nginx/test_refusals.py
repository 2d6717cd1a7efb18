"""What nginx refuses to start with, the model refuses to answer for, with nginx's words and place."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from nginxopt._native import request_settings
from nginxopt.system import nginx
from nginxopt.system.nginx import Verdict
from tests.fuzz.sites.refusals import play, refused
from tests.fuzz.sites.stage import Stage
from tests.support import drawn

pytestmark = [pytest.mark.nginx, pytest.mark.extended]

_NAMES = sorted(
    {*request_settings(), "rewrite", "return", "set", "break", "listen", "server_name", "location", "if",
    "limit_except",
     "map", "geo", "split_clients", "upstream", "server", "log_format", "access_log", "gzip", "http2", "keepalive_time",
     "ssl_reject_handshake", "proxy_cookie_flags", "early_hints", "limit_rate", "error_log", "resolver", "keepalive"}
)  # fmt: skip
_PLACES = {
    "http": "{}",
    "server": "server {{ {} }}",
    "location": "server {{ location / {{ {} }} }}",
    "if of a server": "server {{ if ($uri) {{ {} }} }}",
    "if": "server {{ location / {{ if ($uri) {{ {} }} }} }}",
    "limit_except": "server {{ location / {{ limit_except GET {{ {} }} }} }}",
    "upstream": "upstream u {{ server 127.0.0.1:1; {} }}",
}
_OF_MODULES = {
    "create_full_put_path",
    "dav_methods",
    "flv",
    "gzip_static",
    "min_delete_depth",
    "mp4",
    "random_index",
    "stub_status",
}
"""Those that an nginx may be built without."""

_VALUES = {
    "add_header": "X-A b", "add_header_inherit": "merge", "allow": "all", "auth_request": "/a",
    "client_max_body_size": "1m",
    "client_header_buffer_size": "1k", "dav_methods": "PUT", "deny": "all", "empty_gif": "", "error_page": "404 /x",
    "expires": "1h", "fastcgi_param": "A b", "fastcgi_pass": "127.0.0.1:1", "fastcgi_split_path_info": "^(.)(.)$",
    "flv": "", "grpc_pass": "127.0.0.1:1", "internal": "", "large_client_header_buffers": "4 8k", "max_headers": "5",
    "memcached_pass": "127.0.0.1:1", "mp4": "", "proxy_pass": "http://127.0.0.1:1", "proxy_redirect": "a b",
    "proxy_set_header": "A b", "satisfy": "any", "scgi_pass": "127.0.0.1:1", "set_real_ip_from": "127.0.0.1",
    "ssl_verify_client": "off", "stub_status": "", "try_files": "$uri =404", "uwsgi_pass": "127.0.0.1:1",
    "rewrite": "a b",
    "return": "200", "set": "$a b", "break": "", "server_name": "a", "types": None, "limit_req": None,
    "limit_conn": None,
    "proxy_cache": "off", "listen": None, "log_format": None, "error_log": "/dev/null", "access_log": "off",
    "alias": "/a",
    "root": "/a", "early_hints": "1", "keepalive_time": "1h", "limit_rate": "1", "resolver": "127.0.0.1", "index": "a",
    "proxy_cookie_flags": "a secure", "location": None, "if": None, "limit_except": None, "map": None, "geo": None,
    "split_clients": None, "upstream": None, "server": None, "keepalive": "1", "ssl_reject_handshake": "off",
}  # fmt: skip
"""Values that nginx takes; those that are not here are a flag or a word. None of what has a test of its own below."""

_WRONG = (
    "server { location / { root /a; alias /b; } }",
    "server { location / { root /a; root /b; } }",
    "server { if ($uri) { root /a; } }",
    "server { if ($uri) { add_header A b; } }",
    "server { location / { if ($uri) { empty_gif; } } }",
    "server { location ~ ^/(?<uri>.) { } }",
    "server { rewrite ^/(?<host>.) /a; }",
    'server { if ($uri ~ "^/(?<request_method>.)") { break; } }',
    "server { server_name ~^(?<host>.)$; }",
    "map $uri $a { ~(?<uri>.) x; } server { return 200 $a; }",
    "server { set $proxy_add_x_forwarded_for a; }",
    "map $uri a { b c; }",
    "map $uri $a { b { c d; } }",
    "server { location / { autoindex maybe; } }",
    "server { location / { satisfy some; } }",
    "server { client_max_body_size 1x; }",
    "server { client_header_buffer_size 1g; }",
    "server { large_client_header_buffers 0 8k; }",
    "server { location / { expires soon; } }",
    "server { location / { expires @25h; } }",
    "server { location / { expires modified max; } }",
    "server { add_header A b sometimes; }",
    "server { location / { fastcgi_param A b if_empty; } }",
    "server { deny 10.0.0.0/33; }",
    "server { allow a.test; }",
    'server { index ""; }',
    "server { location @a { alias /b; } }",
    "server { location / { limit_except FETCH { deny all; } } }",
    "server { location / { limit_except GET { } limit_except PUT { } } }",
    "server { location / { proxy_redirect default; proxy_pass http://127.0.0.1; } }",
    "server { location / { proxy_pass http://$host; proxy_redirect default; } }",
    "server { location / { proxy_redirect on; } }",
    "server { location / { fastcgi_pass 127.0.0.1; } }",
    "server { location / { grpc_pass a; } }",
    "server { location / { uwsgi_pass 127.0.0.1:1/x; } }",
    "server { location / { proxy_pass http://127.0.0.1:70000; } }",
    "server { location / { proxy_pass http://unix:; } }",
    "upstream u { server 127.0.0.1:1; } server { location / { proxy_pass http://u:80; } }",
    "upstream u { server 127.0.0.1:1 wieght=2; } server { location / { proxy_pass http://u; } }",
    "upstream u { } server { location / { proxy_pass http://u; } }",
    "upstream u { server 127.0.0.1:1; } upstream U { server 127.0.0.1:1; }",
    "server { listen 127.0.0.1:1; listen 127.0.0.1:1; }",
    "server { listen 18181; listen *:18181; }",
    "server { listen 127.0.0.1:18181 default_server; } server { listen 127.0.0.1:18181 default_server; }",
    "server { listen 127.0.0.1:18181 fast; }",
    "access_log a.log none;",
    "access_log a.log buffer=1k;",
    "access_log a.log combined bufer=1k;",
    "server { location / { limit_req zone=none; } }",
    "server { location / { limit_req burst=1; } }",
    "limit_req_zone $uri zone=z:1m rate=1r/s; server { location / { limit_req zone=z burst=x; } }",
    "limit_conn_zone $uri zone=z:1m; server { location / { limit_conn z 0; } }",
    "server { location / { proxy_cache none; } }",
    "server { location / { return 200 a b; } }",
    "server { location / { location; } }",
)
"""Mistakes that people make."""


@pytest.fixture(scope="module")
def stage(each_binary: nginx.Binary) -> Iterator[Stage]:
    """A place to test configurations, with each nginx: each test writes the whole of its own."""
    with Stage(each_binary) as stage_:
        yield stage_


def _whole(http: str) -> str:
    return f"events {{ }} http {{ {http} }}"


def _said(stage: Stage, http: str) -> str | None:
    """Return what nginx refuses, with its place; None if it starts."""
    stage.write({"nginx.conf": _whole(http)})
    verdict = stage.verdict()
    return None if verdict.ok else _message(verdict)


def _message(verdict: Verdict) -> str:
    message = next(message for message in verdict.messages if message.level == "emerg")
    return f"{message.text} in {message.place}" if message.place else message.text


def _of_commands(message: str | None) -> str | None:
    """Return a message if it is one about the place or the number of arguments of a directive."""
    phrases = ("is not allowed here", "invalid number of arguments", "unknown directive", "has no opening",
    "is duplicate",
               "is not terminated by")  # fmt: skip
    return message if message and any(phrase in message for phrase in phrases) else None


@pytest.mark.parametrize("place", _PLACES)
def test_directives_stand_where_nginx_allows_them(stage: Stage, place: str) -> None:
    """Each directive is refused in the contexts, without the block or with it, where nginx refuses it."""
    wrong = {}
    for name in _NAMES:
        for text in (f"{name} a;", f"{name} a b {{ }}"):
            http = _PLACES[place].format(text)
            expected, found = _of_commands(_said(stage, http)), _of_commands(refused(_whole(http), stage))
            if expected != found and not (name in _OF_MODULES and "unknown directive" in (expected or "")):
                wrong[text] = (expected, found)
    assert not wrong


def test_directives_have_the_arguments_that_nginx_takes(stage: Stage) -> None:
    """Each directive is refused with the numbers of arguments with which nginx refuses it."""
    wrong = {}
    for name in _NAMES:
        for count in range(5):
            http = _PLACES["location"].format(" ".join([name, *"abcd"[:count]]) + ";")
            expected, found = _of_commands(_said(stage, http)), _of_commands(refused(_whole(http), stage))
            if expected != found and not (name in _OF_MODULES and "unknown directive" in (expected or "")):
                wrong[http] = (expected, found)
    assert not wrong


def test_directives_repeat_where_nginx_lets_them(stage: Stage) -> None:
    """A second directive of a block is refused for those that nginx has once."""
    wrong = {}
    for name in _NAMES:
        value = _VALUES.get(name, "on")
        for place in ("location", "server", "http") if value is not None else ():
            http = _PLACES[place].format(2 * f"{name} {value};")
            expected, found = _of_commands(_said(stage, http)), _of_commands(refused(_whole(http), stage))
            if expected != found and not (name in _OF_MODULES and "unknown directive" in (expected or "")):
                wrong[http] = (expected, found)
    assert not wrong


@pytest.mark.parametrize("size", [65_472, 65_505, 262_145])
@pytest.mark.parametrize(
    "http",
    [
        "variables_hash_bucket_size {};",
        "map_hash_bucket_size {}; map $uri $a {{ /a 1; }}",
        "map $uri $a {{ default 1; ~a 2; }} map_hash_max_size {};",
        "types_hash_bucket_size {}; server {{ listen 127.0.0.1:1; }}",
        "types_hash_bucket_size {}; server {{ listen 127.0.0.1:1; types_hash_bucket_size 64; }}",
        "server {{ listen 127.0.0.1:1; proxy_headers_hash_bucket_size {}; }}",
        "proxy_headers_hash_bucket_size {};",
    ],
)
def test_buckets_that_no_table_has(stage: Stage, http: str, size: int) -> None:
    """A bucket may be too large for any hash table, where nginx builds one."""
    text = http.format(size)
    assert refused(_whole(text), stage) == _said(stage, text)


@pytest.mark.parametrize("http", _WRONG)
def test_mistakes_are_refused(stage: Stage, http: str) -> None:
    """A mistake is refused with the words of nginx."""
    expected = _said(stage, http)
    assert expected is not None
    found = refused(_whole(http), stage)
    assert found is not None
    assert found.partition(" in nginx.conf")[0] == expected.partition(" in nginx.conf")[0]


@pytest.mark.parametrize(
    "http",
    [
        "server { return 200 $request_port; }",
        "server { if ($is_request_port) { return 200; } }",
        "server { return 200 a${request_port}b; } map $uri $request_port { a b; }",
        "server { set $request_port x; return 200 $request_port; }",
        "server { location ~ ^/(?<request_port>.) { return 200 $request_port; } }",
        "server { " + 40 * "rewrite ^/a /b; " + "rewrite ^/a /$request_port; }",
    ],
)
def test_variables_of_later_versions(stage: Stage, http: str) -> None:
    """A variable that came later is refused where nothing defines it, and must not be defined where nginx has it."""
    expected, found = _said(stage, http), refused(_whole(http), stage)
    assert (expected or "").partition(" in nginx.conf")[0] == (found or "").partition(" in nginx.conf")[0]


@pytest.mark.parametrize(
    "http",
    [
        "server { if $arg_x { return 403; } }",
        "server { if !-f $uri { return 403; } }",
        'server { if "($arg_x)" { return 403; } }',
        "server { if ( $arg_x ) { return 403; } }",
        "server { if ($1) { return 403; } }",
        "server { if ($uri/ ~ a) { return 403; } }",
        "server { if ($arg_x/ ~ a) { return 403; } }",
        "map $uri $uri/ { a b; } server { if ($uri/ = b) { return 403; } }",
        "geo uri $x { default 0; } server { return 200 $x; }",
        "geo $uri/ $x { default 0; } server { return 200 $x; }",
        "geo ${uri} $x { default 0; } server { return 200 $x; }",
        "geo $uri $x { default 0; } server { return 200 $x; }",
    ],
)
def test_variables_as_whole_words(stage: Stage, http: str) -> None:
    """A condition begins with a parenthesis, and nginx takes the whole word for the name of a variable there."""
    expected, found = _said(stage, http), refused(_whole(http), stage)
    assert (expected or "").partition(" in nginx.conf")[0] == (found or "").partition(" in nginx.conf")[0]


_UNDEFINED = (
    "log_format a $nobody;",
    "log_format a escape=json $uri$1;",
    "log_format a ${1}; server { rewrite ^/(.)$ /$1; }",
    "access_log logs/$nobody combined;",
    "access_log logs/a combined if=$nobody;",
    "map $nobody $a { a b; }",
    "map $uri $a { default $nobody; }",
    "map $uri $nobody { a b; } server { set $a $nobody; }",
    "map $uri $a { ~^/(?<nobody>.) $nobody; }",
    "geo $nobody $a { default 0; }",
    "split_clients a$nobody $a { * b; }",
    "limit_req_zone $nobody zone=a:1m rate=1r/s;",
    "limit_conn_zone $nobody zone=a:1m;",
    "upstream u { hash $nobody; server 127.0.0.1:1; }",
    "proxy_cache_bypass $arg_a $nobody;",
    "proxy_redirect ~^/a$nobody /;",
    "server { set $a $nobody; }",
    'server { set $a "${1}"; }',
    "server { set $nobody a; set $a $NoBody; }",
    "server { return 200 $1$uri; }",
    "server { return 200 $1nobody; }",
    "server { rewrite ^/(.)$nobody /$1; }",
    "server { rewrite ^/(.)$ /$1$nobody; }",
    "server { " + 40 * "rewrite ^/a /b; " + "rewrite ^/a /${1}; }",
    "server { if ($nobody) { break; } }",
    "server { if ($uri = $nobody) { break; } }",
    "server { if ($uri ~ $nobody) { break; } }",
    "server { if (!-f $nobody) { break; } }",
    "server { if ($uri ~ (?<nobody>.)) { return 200 $nobody; } }",
    "server { charset $nobody; }",
    "server { error_page 404 = /$nobody; }",
    "server { server_name $nobody ~^(?P<other>.)$; return 200 $other; }",
    "server { location /$nobody { } }",
    "server { location / { auth_basic a; auth_basic_user_file $nobody; } }",
    "server { location / { memcached_pass 127.0.0.1:1; } }",
    "server { location / { set $memcached_key $uri; memcached_pass 127.0.0.1:1; } }",
    "server { location ~ ^/(?<nobody>.) { add_header X-A $nobody$http_a$cookie_b$upstream_http_c; } }",
)


@pytest.mark.parametrize("http", _UNDEFINED)
def test_variables_that_nothing_defines(stage: Stage, http: str) -> None:
    """A variable is refused exactly where nginx refuses it: not in a pattern, a name, or where it is a capture."""
    expected, found = _said(stage, http), refused(_whole(http), stage)
    assert (expected or "").partition(" in nginx.conf")[0] == (found or "").partition(" in nginx.conf")[0]


_NAMELESS = (
    'log_format a "{}";',
    'access_log a.log combined "if={}";',
    'map "{}" $a {{ a b; }}',
    'map $uri $a {{ default "{}"; }}',
    'map $uri $a {{ "{}" b; }}',
    'geo $a {{ default "{}"; }}',
    'geo "{}" $a {{ default 0; }}',
    'split_clients "{}" $a {{ * b; }}',
    'limit_req_zone "{}" zone=a:1m rate=1r/s;',
    'upstream u {{ hash "{}"; server 127.0.0.1:1; }}',
    'server {{ charset "{}"; }}',
    'server {{ sub_filter "{}" x; }}',
    'server {{ sub_filter x "{}"; }}',
    'server {{ add_trailer X "{}"; }}',
    'server {{ auth_request_set "{}" a; }}',
    'server {{ auth_request_set $a "{}"; }}',
    'server {{ limit_rate "{}"; }}',
    'server {{ default_type "{}"; }}',
    'server {{ location / {{ proxy_set_body "{}"; }} }}',
    'server {{ location / {{ proxy_cookie_path / "{}"; }} }}',
    'server {{ location / {{ proxy_cache_bypass "{}"; }} }}',
    'server {{ location / {{ scgi_param X "{}"; }} }}',
    'server {{ location / {{ grpc_set_header X "{}"; }} }}',
    'server {{ location / {{ return 200 "{}"; }} }}',
)


@pytest.mark.parametrize("http", _NAMELESS)
def test_variables_without_a_name(stage: Stage, http: str) -> None:
    """A `$` that no name follows is refused exactly where nginx reads variables, with its words."""
    wrong = {}
    for text in ("$", "price $", "$-", "${}", "${uri", "${uri-}", "$ "):
        whole = http.format(text)
        expected, found = _said(stage, whole), refused(_whole(whole), stage)
        if "unknown directive" in (expected or ""):
            pytest.skip("a directive that this nginx does not know")
        if (expected or "").partition(" in nginx.conf")[0] != (found or "").partition(" in nginx.conf")[0]:
            wrong[whole] = expected, found
    assert not wrong


@pytest.mark.no_cover
def test_random_mistakes_are_refused(stage: Stage) -> None:
    """nginx and the model refuse the same sites."""
    mistakes = play(stage, 1, drawn(12, stage.binary))
    assert mistakes.refused > 25
    assert not mistakes.differing, mistakes
