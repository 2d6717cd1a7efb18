"""What nginx refuses for the text alone: the messages of nginx's sources, each with an example and an accepted twin.

The tables in `refusals/` were written down from nginx 1.22.1 and 1.31.3: `\\n` is a line feed, `\\t` a tab, `\\\\` a
backslash.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from nginxopt.config import load_text
from nginxopt.errors import InputError
from nginxopt.facts import vendors
from nginxopt.facts.table import PLACES, declarations
from nginxopt.semantics import levels
from nginxopt.semantics.refusals import Refusal, RefusalStage, refusals
from nginxopt.text import encode
from nginxopt.version import Version
from tests.fuzz import refusals as mutants
from tests.rows import every_row

_TABLES = Path(__file__).parent / "refusals"
_RELEASES = ("1.22.1", "1.31.3")
_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\"}

_NOT_SAID = {
    "http_variables.log_format.unknown-variable-2": "a module may have variables that begin with ssl_",
    "http_variables.location.detail": "a group with a number as its name is not known",
    "regex.location.pcre2_compile-failed-in-at-2": "versions of PCRE2 differ in what they look behind",
}
"""The messages that are not found, and why."""


def rows(table: str) -> Iterator[list[str]]:
    """Yield the rows of a table."""
    for line in (_TABLES / f"{table}.tsv").read_bytes().decode().split("\n")[1:-1]:
        yield line.split("\t")


def text_of(cell: str) -> str:
    """Return the text that a cell stands for."""
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[0]), cell)


def said(text: str, release: str, *, is_all: bool = True) -> list[str]:
    """Return what is refused of a configuration, as nginx says it."""
    try:
        config = load_text(text.encode(), "nginx.conf")
        found = refusals(levels(config, Version.parse(release), as_given=is_all), Version.parse(release))
        return [refusal.message for refusal in found]
    except InputError as error:
        return [error.nginx or error.message]


def test_every_message_is_found() -> None:
    """First, with nginx's words and its line; and the twin, which differs in what is wrong, is accepted."""
    wrong = {}
    for name, release, message, line, example, twin in rows("refused"):
        found = mutants.said(encode(text_of(example)), Version.parse(release))
        accepted = said(text_of(twin), release) if twin else []
        place = 0 if not line or f":{line} " in message else int(line)  # some name a line in their midst
        is_same = bool(found) and message in found[0].message and found[0].line == place
        if accepted or not (is_same or name in _NOT_SAID):
            wrong[name] = message, line, found, accepted
    assert not wrong


def test_an_address_of_memcached_has_no_variables() -> None:
    """What follows `$` there is a part of a host name, so that no variable is missing."""
    text = "events {}\nhttp { server { location / { set $memcached_key a; memcached_pass $host$x; } } }"
    assert said(text, "1.22.1") == ['no port in upstream "$host$x"']


def test_utf_8_may_be_the_first_charset_before_1_31_3() -> None:
    """Both tell the table of a map from its second charset, and what is a duplicate."""
    text = "events {}\nhttp { charset_map utf-8 koi8-r { %s } %s }"
    assert said(text % ("", ""), "1.31.2") == []
    assert said(text % ("80 E282AC;", ""), "1.31.2") == ['invalid value "E282AC"']
    twice = text % ("", "charset_map koi8-r utf-8 {}")
    assert said(twice, "1.31.2") == ['duplicate "charset_map" between "koi8-r" and "utf-8"']
    assert said(text % ("", ""), "1.31.3") == [
        '"charset_map" with "utf-8" charset should be given in the second column'
    ]


def test_what_is_not_found_is_stated_once() -> None:
    """An exception that has become none goes."""
    found = {
        name for name, release, message, _, example, _ in rows("refused") if message in said(text_of(example), release)
    }
    assert not found & _NOT_SAID.keys()


@pytest.mark.parametrize("release", _RELEASES)
def test_each_directive_by_each_mistake(release: str) -> None:
    """A wrong place, too few and too many arguments, a bad value, the same directive twice: that is said first.

    Where the build lacks the module, nginx says something else first.
    """
    wrong = {}
    for name, kind, example, *messages in rows("by_directive"):
        message = dict(zip(_RELEASES, messages, strict=True))[release]
        told = mutants.said(encode(text_of(example)), Version.parse(release)) if message else []
        found = [each.message for each in told]
        if message == "accepted":
            wrong.update({(name, kind): found} if found else {})
        elif message and not found:
            wrong[name, kind] = [message]
        elif message and message != found[0] and "unknown directive" not in str([message, *found]):
            wrong[name, kind] = [message, *found]
    assert not wrong


@pytest.mark.parametrize("release", _RELEASES)
def test_values_at_the_edges(release: str) -> None:
    """Numbers, sizes and times, with and without units, are read as nginx reads them."""
    wrong = {}
    for name, value, *messages in rows("values"):
        message = dict(zip(_RELEASES, messages, strict=True))[release]
        found = said(_placed(name, value), release)
        if bool(found) != (message != "accepted") or (found and message not in found):
            wrong[name, value] = message, found
    assert not wrong


def _placed(name: str, value: str) -> str:
    places = declarations(name)[0].places
    text = f"{name} {value};\n"
    if places & PLACES["http"]:
        return f"events {{}}\nhttp {{\n{text}}}\n"
    return f"events {{}}\n{text}" if places & PLACES["main"] else f"events {{}}\nhttp {{ server {{\n{text}}} }}\n"


@pytest.mark.parametrize("release", _RELEASES)
def test_odd_configurations_that_nginx_accepts(release: str) -> None:
    """Nothing is said of them."""
    wrong = {name: found for name, text in rows("accepted") if (found := said(text_of(text), release))}
    assert not wrong


def _found(text: str) -> list[Refusal]:
    config = load_text(text.encode(), "nginx.conf", missing_ok=True)
    return list(refusals(levels(config, Version(1, 28, 0)), Version(1, 28, 0)))


def test_all_faults_are_found_at_once() -> None:
    """nginx stops at the first."""
    text = "events { use x; } http { sendfil on; send_timeout 1y; server { error_page 200 /a; return 200 $nope; } }"
    assert [refusal.message for refusal in _found(text)] == [
        'invalid event type "x"',
        'unknown directive "sendfil"',
        '"send_timeout" directive invalid value',
        'value "200" must be between 300 and 599',
        'unknown "nope" variable',
    ]


def test_a_refusal_has_the_word_that_is_wrong() -> None:
    """Or the name of its directive."""
    (first, second) = _found(
        "events {}\nhttp {\n    server {\n        error_page 200\n   99 /a; expires x y;\n    }\n}\n"
    )
    assert (str(first.word), first.stage) == ("200", RefusalStage.SETTER)
    assert (str(second.word), second.stage) == ("expires", RefusalStage.SETTER)


@every_row(
    "text",
    [
        "server { listen 80; limit_req zone=around; access_log a.log around; return 200 $around; }",
        "events {} http { include missing/*.conf; server { proxy_cache around; return 200 $around; } }",
        "events {} http { server { include missing.conf; listen 443 ssl; } }",
        "server { listen 443 ssl; proxy_buffers 2 4k; }",
        "load_module x.so; events {} http { server { return 200 $of_a_module; } }",
        "events {} http { more_set_headers 'a: b'; frobnicate on; server { return 200 $of_a_module; } }",
        "load_module x.so; events {} http { frobnicate on; }",
        "events {} http { include gone.conf; frobnicate on; }",
        "server { frobnicate on; }",
        "events {} http { mruby_init a; server { mruby_set $a b; } }",
        "events {} http { server { listen %ip%:80; send_timeout ${TIME}; keepalive_timeout @TIMEOUT@; } }",
        "events {} http { map $uri $a { proxy_pass 404; error_page 1; } }",
    ],
)
def test_what_may_stand_elsewhere_is_not_refused(text: str) -> None:
    """Around a fragment, in a file that was not read, in a module, or in the place of a placeholder."""
    assert not [refusal.message for refusal in _found(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "events {}\nhttp {\n sendfil on;\n server { send_timeout 1y;\n",
            ["3 unknown directive", '4 "send_timeout"', "5 unexpected end of file"],
        ),
        (
            "worker_processes 1;\nevents\n  worker_connections 9;\n}\nhttp {}\n",
            ['3 directive "events" has no', '4 unexpected "}"'],
        ),
        ("events {\nhttp {\n}\n", ['2 "http" directive is not', "4 unexpected end of file"]),
        ("events {}\nhttp {\n upstream u {\n", ["4 unexpected end of file"]),
    ],
)
def test_what_stands_before_a_syntax_error_is_judged(text: str, found: list[str]) -> None:
    """nginx acts on each directive as it reads it; what it says at the end of a block, it does not say before."""
    told = [f"{each.line} {each.message}" for each in mutants.said(text.encode(), Version(1, 22, 1))]
    assert [each.startswith(start) for each, start in zip(told, found, strict=True)] == [True] * len(found)


@every_row(
    ("inside", "message"),
    [
        ("sendfile on;\nsendfile maybe;", '"sendfile" directive is duplicate'),
        ("server { fastcgi_split_path_info ^(.+)$; }", 'pattern "^(.+)$" must have 2 captures'),
        ("server { location / { grpc_pass grpc://backend; } }", 'no port in upstream "backend"'),
        ("charset_map a b { c { } }", 'unexpected "{"'),
        ("server { valid_referers a b;\nvalid_referers server_names B; }", 'conflicting parameter "b"'),
        ('ssl_certificate cert.pem; ssl_certificate_key "${uri";', None),
        ("server { error_page 404 /a $; }", "invalid variable name"),
        ("server { error_page 404 =$ /a; }", 'invalid value "=$"'),
        ("server { location / { proxy_pass ~^(?<a>.*)$; } }", "invalid variable name"),
        ("server { proxy_redirect ~a$ /b; }", None),
        ("server { proxy_redirect ~a$ /b$; }", "invalid variable name"),
        ("server { proxy_redirect /a ~b$; }", "invalid variable name"),
        ("server { access_log ~a$ combined; }", "invalid variable name"),
        ("server { return ${uri; }", 'invalid return code "${uri"'),
        ("server { return 999x ${uri; }", 'invalid return code "999x"'),
        ("server { return 99 ${uri; }", 'the closing bracket in "uri" variable is missing'),
        ("expires -5 ${uri;", '"expires" directive invalid value'),
        ("server { set a ${uri; }", 'invalid variable name "a"'),
        ("server { rewrite ^a ${uri lost; }", 'invalid parameter "lost"'),
        ("sendfile on $;", 'invalid number of arguments in "sendfile" directive'),
        ("map $uri $a { b c $; }", "invalid number of the map parameters"),
        ("limit_req zone=;", 'zero size shared memory zone ""'),
        ("proxy_cache weight=2;", 'zero size shared memory zone "weight=2"'),
        ("open_log_file_cache off 1m;", 'invalid "open_log_file_cache" parameter "1m"'),
        ("charset_map a utf-8 {}\ncharset_map b utf-8 {}\ncharset_map b utf-8 {}", None),
        ("server { fastcgi_split_path_info ^(?:a)[(](b)\\((c)$; }", None),
        ('log_format a "$REMOTE_ADDR";\naccess_log /dev/null a;', None),
        ('log_format a "$REMOTE_ADDR";\naccess_log /dev/null b;', 'unknown log format "b"'),
    ],
)
def test_what_mutants_showed(inside: str, message: str | None) -> None:
    """As nginx says it, on both versions."""
    for release in _RELEASES:
        told = mutants.said(f"events {{}}\nhttp {{\n{inside}\n}}\n".encode(), Version.parse(release))
        found = [each.message for each in told]
        assert found[:1] == ([message] if message else [])


_UNCLOSED = 'the closing bracket in "uri" variable is missing'


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        ("server { access_log /a nolog if=${uri; }", 'unknown log format "nolog"'),
        ("server { access_log /a${uri nolog; }", _UNCLOSED),
        ("server { access_log /a combined buffer=x if=${uri; }", 'invalid buffer size "x"'),
        ("server { access_log /a combined if=${uri buffer=x; }", _UNCLOSED),
        ("server { access_log /a combined flush=1s if=${uri; }", _UNCLOSED),
        ("server { access_log /a$uri combined buffer=1k if=${uri; }", _UNCLOSED),
        ("server { access_log syslog:server=127.0.0.1,a=1 nolog if=$; }", 'unknown syslog parameter "a=1"'),
        ("server { disable_symlinks a from=${uri; }", 'invalid parameter "a"'),
        ("server { disable_symlinks from=${uri a; }", _UNCLOSED),
        ("server { error_page 404 =a ${uri; }", 'invalid value "=a"'),
        ("server { error_page 9999 ${uri; }", _UNCLOSED),
        (
            "server { root $document_root${uri; }",
            'the $document_root variable cannot be used in the "root" directive',
        ),
        ("log_format a escape=b ${uri;", 'unknown log format escaping "b"'),
        ("map ${uri a { b c; }", _UNCLOSED),
        ("split_clients ${uri a { * c; }", _UNCLOSED),
        ("map $uri $a { ~( ${uri; }", _UNCLOSED),
    ],
)
def test_of_two_faults_in_a_directive_nginx_says_the_first(inside: str, message: str) -> None:
    """As nginx says it, on both versions."""
    for release in _RELEASES:
        told = mutants.said(f"events {{}}\nhttp {{\n{inside}\n}}\n".encode(), Version.parse(release))
        assert told[0].message == message


@pytest.mark.parametrize("inside", ["proxy_redirect ~( ${uri;", "proxy_cookie_path ~( ${uri;", "rewrite ( ${uri;"])
def test_a_pattern_is_compiled_before_the_value_beside_it(inside: str) -> None:
    """Except for a row of a map."""
    told = mutants.said(f"events {{}}\nhttp {{ server {{ {inside} }} }}\n".encode(), Version.parse("1.22.1"))
    assert told[0].message.startswith("pcre2_compile() failed")
    assert len(told) == 2


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("cookie a b domain=${uri", 'unknown parameter "b"'),
        ("cookie a domain=${uri b", _UNCLOSED),
        ("cookie a domain=b domain=$", '"sticky" directive parameter "domain" is duplicate'),
        ("route $ b", 'invalid variable name "$"'),
        ("route b $", 'invalid variable name "b"'),
    ],
)
def test_the_words_of_sticky_are_read_one_by_one(value: str, message: str) -> None:
    """As nginx 1.31.3 says it."""
    text = f"events {{}} http {{ upstream u {{ server 127.0.0.1; sticky {value}; }} }}"
    assert mutants.said(text.encode(), Version.parse("1.31.3"))[0].message == message


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("route $a$b", 'unknown "a$b" variable'),
        ("route ${uri}", 'unknown "{uri}" variable'),
        ("route $", 'invalid variable name "$"'),
        ("learn create=$upstream_cookie_a$b lookup=$cookie_a zone=z:1m", None),
        ("learn create=$upstream_cookie_a lookup=$a$rg_a zone=z:1m", 'unknown "a$rg_a" variable'),
        ("cookie a domain=$a$b", 'unknown "a" variable'),
        ("cookie a domain=$", "invalid variable name"),
    ],
)
def test_a_session_is_of_one_variable(value: str, message: str | None) -> None:
    """As nginx 1.31.3 says it: all after the `$` is a name, but for what a cookie has."""
    site = "server { location / { proxy_pass http://u; } }"
    text = f"events {{}} http {{ upstream u {{ server 127.0.0.1; sticky {value}; }} {site} }}"
    assert said(text, "1.31.3")[:1] == ([message] if message else [])


def test_what_a_setter_sets_by_a_slot_is_set_once() -> None:
    """`ssl` remembers its line, and `starttls` looks at `ssl`, but a second one is refused like that of any flag."""
    for text, message in (
        ("http { server { ssl off; ssl off; } }", '"ssl" directive is duplicate'),
        ("mail { server { protocol imap; starttls off; starttls off; } }", '"starttls" directive is duplicate'),
    ):
        assert said(f"events {{}} {text}", "1.22.1")[:1] == [message]


def test_sockets_that_listen_take_connections() -> None:
    """nginx counts them after the file: an address shares the socket of all addresses of its port."""
    text = "events { worker_connections 2; }\nhttp { server { listen 80; listen 127.0.0.1:80; listen 81; } }\n"
    assert said(text, "1.22.1") == ["2 worker_connections are not enough for 2 listening sockets"]
    assert said(text.replace("connections 2", "connections 3"), "1.22.1") == []


def test_a_name_that_no_table_has_is_unknown_to_a_plain_build() -> None:
    """The configuration was read as a whole, and nothing in it shows a module."""
    text = "events {} http { frobnicate on; map $uri $a { frobnicate on; } server { return 200 $of_a_module; } }"
    assert [refusal.message for refusal in _found(text)] == ['unknown directive "frobnicate"']
    release = vendors.target("plus-R34")
    config = load_text(text.encode(), "nginx.conf")
    assert not list(refusals(levels(config, release), release))


def test_a_store_defines_the_second_variable() -> None:
    """`keyval` looks up the value of the first one, which may be a variable of nginx."""
    text = "events {{}} http {{ keyval_zone zone=z:1m; keyval {} zone=z; server {{ return 200 $b; }} }}"
    release = vendors.target("plus-R34")
    for words, message in (("$request_id $b", None), ("$b $request_id", 'the duplicate "request_id" variable')):
        config = load_text(text.format(words).encode(), "nginx.conf")
        found = [refusal.message for refusal in refusals(levels(config, release), release)]
        assert found[:1] == ([message] if message else [])


def test_a_value_that_envsubst_fills_in_is_not_judged() -> None:
    """`$NAME` is one in a template; the other words of nginx are judged."""
    text = "events {{}} http {{ proxy_cache_path /a keys_zone=a:1m max_size={}; }}"
    for word, message in (("$SIZE", None), ("1x", 'invalid max_size value "max_size=1x"')):
        assert [refusal.message for refusal in _found(text.format(word))] == ([message] if message else [])
