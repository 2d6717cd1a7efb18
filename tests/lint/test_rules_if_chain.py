"""`if-chain-to-map`: when a chain of conditions can become a map, and why not."""

from __future__ import annotations

import pytest

from tests.lintcheck import diagnose
from tests.rows import every_row


@pytest.fixture(autouse=True)
def _short_chains(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three conditions are many."""
    monkeypatch.setattr("nginxopt.rules.if_chain_to_map.LEAST", 3)
    monkeypatch.setattr("nginxopt.rules.if_chain_to_map.LEAST_PATTERNS", 3)


IFS = "".join(f"if ($arg_k = {key}) {{ set $x v; }} " for key in ("a", "b", "c"))
LONG = "".join(f'if ($arg_k = "{key * 50}") {{ set $x v; }} ' for key in ("a", "b", "c"))


@every_row(
    ("http", "is_offered"),
    [
        (f"server {{ {IFS} }}", True),
        (f"map_hash_max_size 4096; server {{ {IFS} }}", True),
        (f"server {{ {IFS} }} map_hash_max_size 4096;", False),
        (f"server {{ {IFS} }} map_hash_bucket_size 128; map $uri $y {{ default 1; }}", False),
        (f"server {{ {LONG} }}", False),
        (f"map_hash_bucket_size 128; server {{ {LONG} }}", True),
    ],
)
def test_a_chain_becomes_a_map_that_nginx_accepts(http: str, is_offered: bool) -> None:
    """The first map fixes the hash sizes of all: the rule is silent if sizes are set later or too small."""
    assert [each.fix is not None for each in diagnose("if-chain-to-map", http, context="http")] == [True] * is_offered


SKIP = "set $skip 0; " + "".join(f"if ($request_uri ~ ^/{name}) {{ set $skip 1; }} " for name in ("a", "b", "admin"))
OTHERWISE = {
    "another condition": "if ($request_method = POST) { set $skip 1; }",
    "a location": "location /x { set $skip 1; }",
    "the answer of another server": "auth_request_set $skip $upstream_http_x;",
    "njs": "js_set $skip a.b;",
    "Lua": "location /x { access_by_lua_file a.lua; }",
    "again at its place": "set $skip 1;",
}


@every_row("rest", OTHERWISE.values(), ids=OTHERWISE.keys())
def test_no_map_where_something_else_sets_the_variable(rest: str) -> None:
    """The rule is silent where a map would give the variable other values."""
    assert [each.fix is None for each in diagnose("if-chain-to-map", f"server {{ {SKIP} }}", context="http")] == [False]
    assert diagnose("if-chain-to-map", f"server {{ {SKIP} {rest} }}", context="http") == ()


def test_in_a_fragment_the_condition_of_the_advice_is_said() -> None:
    """What was not read may set the variable, too: the map is suggested under that condition."""
    (diagnostic,) = diagnose("if-chain-to-map", f"{IFS} include more.conf;", context="server")
    assert diagnostic.fix is None
    assert diagnostic.finding.help.startswith("if nothing that was not read sets $x, in the http block: map ")


@pytest.mark.parametrize("commented", ["set $skip # why\n1;", "\n# why\nset $skip 1;"])
def test_comments_are_not_lost(commented: str) -> None:
    """Conditions whose blocks have comments stay, and the map is suggested to write by hand."""
    conditions = SKIP.replace("set $skip 1;", commented, 1)
    (diagnostic,) = diagnose("if-chain-to-map", f"server {{ {conditions} }}", context="http")
    assert diagnostic.fix is None
    assert "map $request_uri $skip {" in diagnostic.finding.help


def chain(pattern: str, value: str = "v") -> str:
    """Three conditions that set a value, one of them with this pattern."""
    others = " ".join(f"if ($arg_k ~ {key}) {{ set $x v; }}" for key in ("one", "two"))
    return f'{others} if ($arg_k ~ "{pattern}") {{ set $x "{value}"; }}'


@every_row(
    "conditions",
    [
        *map(chain, [r"(a)\\1", r"(a)\\g{-1}", "(a)?(?(1)b|c)", "(a)(?1)", "(a|b(?R))", "(?|(a)|(b))"]),
        *map(chain, ["(?<name>a)", "(a)(?P<name>b)", "(?'name'a)", "(?=a)b"]),
        chain("(a)", "$1"),
        "if ($arg_k = a) { set $x 1; } if ($arg_k ~ a) { set $x 2; } if ($arg_k = b) { set $x 3; }",
    ],
)
def test_no_map_is_suggested_that_is_not_equivalent(conditions: str) -> None:
    """The rule is silent with groups that may be referred to, empty values, captures, and plain keys after patterns."""
    assert len(diagnose("if-chain-to-map", f"server {{ {chain('(a)')} }}", context="http")) == 1
    assert diagnose("if-chain-to-map", f"server {{ {conditions} }}", context="http") == ()


@every_row(
    ("rest", "is_offered"),
    [
        ("return 200 $x;", True),
        ("rewrite ^/(.*)$ /b/$1 last;", True),
        ("return 200 $1;", False),
        ("rewrite ^/(.*)$ /$x/$1 last;", False),
        ("rewrite ^/(.*)$ /$1?pool=$y last;", False),
        ("location / { js_content f; }", False),
    ],
)
def test_a_map_overwrites_no_capture_that_is_read(rest: str, is_offered: bool) -> None:
    """The rule is silent where a capture is read after the conditions, or next to the variable or a map of it."""
    text = f"map $x$host $y {{ default 1; }} server {{ {chain('(a)')} {rest} }}"
    assert [each.fix is not None for each in diagnose("if-chain-to-map", text, context="http")] == [True] * is_offered


def test_conditions_that_return_name_the_command() -> None:
    """Conditions that return have no fix; the help names the command, and what it saves."""
    chain = "".join(f"if ($uri ~ ^/{number}/) {{ return 403; }}\n" for number in range(30))
    (diagnostic,) = diagnose("if-chain-to-map", f"server {{ {chain} }}", context="http")
    assert diagnostic.message == "30 ifs test $uri in turn, and only the first that is true returns"
    assert diagnostic.fix is None
    assert diagnostic.finding.help.startswith("nginxopt rewrite-to-map ")
    assert diagnose("if-chain-to-map", f"server {{ {''.join(chain.splitlines()[:20])} }}", context="http") == ()


def test_conditions_that_set_a_flag_are_one_finding() -> None:
    """A flag that a later condition tests is a chain for the command, and said once, as what it is."""
    chain = "".join(f"if ($http_user_agent ~ Bot{number}x) {{ set $bad 1; }}\n" for number in range(30))
    text = f"server {{ set $bad 0; {chain} if ($bad = 1) {{ return 403; }} }}"
    (diagnostic,) = diagnose("if-chain-to-map", text, context="http")
    assert diagnostic.message == "30 ifs test $http_user_agent one after the other, to set $bad"
    assert diagnostic.finding.help.startswith("nginxopt rewrite-to-map ")
