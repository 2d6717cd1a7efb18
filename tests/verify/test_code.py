"""What code at a place may read is part of what the place is compared by, and nothing else is."""

from __future__ import annotations

import re

import pytest

from nginxopt.errors import InputError
from nginxopt.facts.lexicon import NAMES
from nginxopt.semantics.site.levels import listed
from nginxopt.verify import Verification, verify
from nginxopt.verify.influences import CODE, INVISIBLE, NOT_SHOWN, Reads, counting, reads
from tests.rows import every_row
from tests.verify.test_verify import model

_RUNS_CODE = re.compile(
    r"_by_lua(?!.*_no_postpone)|^perl(?:_set)?$|^js_(?:access|content|filter|periodic|set|\w+_filter)$"
)
_MAPS = ("map $uri $tier { /a 1; /b 2; }", "map $uri $tier { /a 2; /b 1; }")
_UPSTREAMS = ("upstream u { server 127.0.0.1:1; }", "upstream u { server 127.0.0.1:2; }")
_DEFINING = ("js_set", "perl_set")
_BALANCING = ("balancer_by_lua", "balancer_by_lua_block", "balancer_by_lua_file")
_OF_WORDS = sorted(name for name in listed() - CODE.keys() if name not in ("log_by_lua", "include"))


def stated(name: str) -> tuple[str, str]:
    """A directive where it stands: what is in http, and what is in the server."""
    block = " { a() }" if name.endswith("_block") else " on;" if name == "ssi" else " x;"
    if name in _DEFINING:
        return f"{name} $y main.f;", "location / { return 200 $y; }"
    if name in _BALANCING:
        return f"upstream code {{ server 127.0.0.1:3; {name}{block} }}", "location / { proxy_pass http://code; }"
    if name.startswith("set_by_lua"):
        return "", f"location / {{ {name} $y{block} return 200 $y; }}"
    return "", f"location / {{ {name}{block} }}"


def compared(name: str, definitions: tuple[str, str]) -> Verification:
    """What `verify` says of sides with other definitions, which nothing but a directive can read."""
    http, server = stated(name)
    beside = "" if name in _DEFINING else "location /beside { content_by_lua_file x.lua; }" * name.startswith("log_")
    old, new = (
        model(f"events {{}} http {{ {text} {http} server {{ listen 80; {server} {beside} }} }}") for text in definitions
    )
    return verify(old, new)


def _doubts(name: str, definitions: tuple[str, str], what: str) -> bool:
    """Whether different definitions leave a doubt that names them and the directive that may read them."""
    result = compared(name, definitions)
    return result.verdict == "unknown" and any(name in doubt.reason and what in doubt.reason for doubt in result.doubts)


def test_code_may_read_every_variable() -> None:
    """A map that differs is in doubt, by its name and that of the directive; the same map in another order is not."""
    names = [name for name, read in CODE.items() if Reads.VARIABLES in read]
    assert [name for name in names if not _doubts(name, _MAPS, "$tier")] == []
    ordered = (_MAPS[0], "map $uri $tier { /b 2; /a 1; }")
    assert [name for name in names if compared(name, ordered).verdict != "equivalent"] == []


def test_code_may_read_every_upstream() -> None:
    """So is an upstream that differs."""
    names = [name for name, read in CODE.items() if Reads.UPSTREAMS in read]
    assert [name for name in names if not _doubts(name, _UPSTREAMS, " u, ")] == []


def test_code_without_a_request_reads_no_definition() -> None:
    """What nothing can read makes no difference."""
    names = [name for name, read in CODE.items() if not read]
    for definitions in (_MAPS, _UPSTREAMS):
        assert [name for name in names if compared(name, definitions).verdict != "equivalent"] == []


@pytest.mark.no_cover
@pytest.mark.parametrize("definitions", [_MAPS, _UPSTREAMS], ids=["map", "upstream"])
def test_words_say_what_all_other_directives_read(definitions: tuple[str, str]) -> None:
    """Beside any directive that is known, and runs no code, what no word names makes no difference."""
    assert {name for name in _OF_WORDS if reads(name)} == set()
    verdicts = {name: verdict for name in _OF_WORDS if (verdict := beside(name, definitions)) is not None}
    assert len(verdicts) > 100
    assert set(verdicts.values()) == {"equivalent"}


def beside(name: str, definitions: tuple[str, str]) -> str | None:
    """The verdict on sides with a directive; None if nginx refuses the arguments that are tried."""
    for argument in ("x", "on", "1", "/x y"):
        texts = (
            f"events {{}} http {{ {text} server {{ listen 80; location / {{ {name} {argument}; }} }} }}"
            for text in definitions
        )
        try:
            return verify(*map(model, texts)).verdict
        except InputError:
            continue
    return None


@pytest.mark.parametrize("name", ["echo_location", "set_md5", "encrypted_session_key", "a_directive_that_is_new"])
def test_what_nobody_knows_may_read_everything(name: str) -> None:
    """A directive of an unknown module, in a location and in an upstream."""
    assert reads(name) == Reads.EVERYTHING
    for definitions in (_MAPS, _UPSTREAMS):
        assert compared(name, definitions).verdict == "unknown"
        balanced = [
            model(
                f"events {{}} http {{ {text} upstream code {{ server 127.0.0.1:3; {name}; }}"
                " server { listen 80; location / { proxy_pass http://code; } } }"
            )
            for text in definitions
        ]
        assert verify(*balanced).verdict == "unknown"


def test_the_table_has_every_directive_that_runs_code() -> None:
    """Of those that are known, by their names."""
    known = NAMES | listed()
    missing = {name for name in known if _RUNS_CODE.search(name)} - CODE.keys() - {"js_preread"}
    assert missing == set()
    variants = {name for name in CODE if "_by_lua" in name}
    assert CODE.keys() - known - variants == set()


def test_settings_that_no_program_sees_are_settings() -> None:
    """No name is left that does not count anyway."""
    assert INVISIBLE >= NOT_SHOWN


_SITE = "events {{}} http {{ {} server {{ listen 80; {} }} }}"


@pytest.mark.parametrize(
    ("http", "server"),
    [
        ("", "location / { content_by_lua_block { a() } }"),
        ("", "location / { ssi on; }"),
        ("js_set $x main.f;", ""),
        ("upstream u { server 127.0.0.1; balancer_by_lua_file a.lua; }", ""),
        ("", "unknown_to_all on;"),
    ],
)
def test_settings_that_code_may_see(http: str, server: str) -> None:
    """All that do not count elsewhere count where there is code, but for those that it cannot see."""
    assert counting([model(_SITE.format(http, server)).site]) == INVISIBLE - NOT_SHOWN
    assert counting([model(_SITE.format("", "log_by_lua_file a.lua; ssi off; return 200;")).site]) == set()
    logged = counting([model(_SITE.format("lua_capture_error_log 1m;" + http, server)).site])
    assert "error_log" in logged


def test_a_setting_beside_a_program() -> None:
    """It is in doubt by its name beside a program, and taken as given without one."""
    for server, verdict in (("content_by_lua_block { a() }", "unknown"), ("return 200;", "equivalent")):
        old, new = (
            model(_SITE.format("", f"{text} location / {{ {server} }}"))
            for text in ("client_body_buffer_size 1k;", "client_body_buffer_size 8k;")
        )
        result = verify(old, new)
        assert result.verdict == verdict
        assert any("client_body_buffer_size" in text for text in (*result.given, *(d.reason for d in result.doubts)))


@every_row(
    ("text", "unlike"),
    [
        ("js_var $x $tier; server { listen 80; return 200 $x; }", _MAPS),
        ("keyval $tier $x zone=z; server { listen 80; return 200 $x; }", _MAPS),
        (
            "server { listen 80; auth_request /i; auth_request_set $x $tier; location / { add_header X $x; } }",
            _MAPS,
        ),
        ("map $host $x { include nx; } server { listen 80; return 200 $x; }", _MAPS),
        ("server { listen 80; location / { sub_filter a $tier; } }", _MAPS),
        ("server { listen 80; location / { xslt_stylesheet a t=$tier; } }", _MAPS),
        ("server { listen 80; location / { xslt_stylesheet a; xslt_string_param t $tier; } }", _MAPS),
        ("server { listen 80; location / { echo $tier; } }", _MAPS),
    ],
)
def test_words_of_definitions_and_filters(text: str, unlike: tuple[str, str]) -> None:
    """What they read is what their words name, directly or not."""
    old, new = (model(f"events {{}} http {{ {definition} {text} }}") for definition in unlike)
    assert verify(old, new).verdict == "unknown"


def test_code_with_letters_of_any_language() -> None:
    """Words are bytes: a program may have any text, and variables in it."""
    text = 'events {} http { server { listen 80; location / { content_by_lua_block { ngx.say("Привет $x 世界") } } } }'
    assert verify(model(text), model(text)).verdict == "equivalent"
    assert verify(model(text), model(text.replace("世", "界"))).verdict == "unknown"


@pytest.mark.parametrize("outside", ["env TIER;", "rtmp { server { application live { live on; } } }"])
def test_what_code_may_read_outside_of_http(outside: str) -> None:
    """A program may read the environment, and a module its own block; nginx shows neither."""
    for content, verdict in (
        ("content_by_lua_file a.lua;", "unknown"),
        ("rtmp_stat all;", "unknown"),
        ("root /;", "equivalent"),
    ):
        http = f"events {{}} http {{ server {{ listen 80; location / {{ {content} }} }} }}"
        assert verify(model(http), model(f"{outside} {http}")).verdict == verdict, content
