"""`if-chain-to-map`: when a chain of conditions can become a map, and why not."""

from __future__ import annotations

import pytest

from tests.lintcheck import diagnose

IFS = "".join(f"if ($arg_k = {key}) {{ set $x v; }} " for key in ("a", "b", "c"))
LONG = "".join(f'if ($arg_k = "{key * 50}") {{ set $x v; }} ' for key in ("a", "b", "c"))


@pytest.mark.parametrize(
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
    """The first map fixes the hash sizes of all: there is no fix if sizes are set later or too small for its keys."""
    (diagnostic,) = diagnose("if-chain-to-map", http, context="http")
    assert (diagnostic.fix is not None) is is_offered
    assert is_offered or diagnostic.finding.help.startswith("no map is suggested: its keys may not fit")


SKIP = "set $skip 0; " + "".join(f"if ($request_uri ~ ^/{name}) {{ set $skip 1; }} " for name in ("a", "b", "admin"))
OTHERWISE = {
    "another condition": ("if ($request_method = POST) { set $skip 1; }", "$skip is also set in nginx.conf:"),
    "a location": ("location /x { set $skip 1; }", "$skip is also set in nginx.conf:"),
    "the answer of another server": ("auth_request_set $skip $upstream_http_x;", "$skip is also set in nginx.conf:"),
    "njs": ("js_set $skip a.b;", "$skip is also set in nginx.conf:"),
    "Lua": ("location /x { access_by_lua_file a.lua; }", "code (Lua"),
    "again at its place": ("set $skip 1;", "$skip is also set in nginx.conf:"),
    "nothing else": ("", None),
}


@pytest.mark.parametrize(("rest", "reason"), OTHERWISE.values(), ids=OTHERWISE.keys())
def test_advice_is_under_the_conditions_of_the_fix(rest: str, reason: str | None) -> None:
    """No map is suggested by hand where the fix is refused, as it would give the variable other values."""
    (diagnostic,) = diagnose("if-chain-to-map", f"server {{ {SKIP} {rest} }}", context="http")
    assert (diagnostic.fix is None) is (reason is not None)
    assert diagnostic.finding.help.startswith(f"no map is suggested: {reason}" if reason else "")


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


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        (r"(a)\\1", "has a group that may not become (?:...)"),
        (r"(a)\\g{-1}", "has a group that may not become (?:...)"),
        ("(a)?(?(1)b|c)", "has a group that may not become (?:...)"),
        ("(a)(?1)", "has a group that may not become (?:...)"),
        ("(a|b(?R))", "has a group that may not become (?:...)"),
        ("(?|(a)|(b))", "has a group that may not become (?:...)"),
        ("(?<name>a)", "has a named group, which sets a variable"),
        ("(a)(?P<name>b)", "has a named group, which sets a variable"),
        ("(?'name'a)", "has a group that may not become (?:...)"),
        ("(?=a)b", "may match an empty value, on which a map tries no pattern"),
    ],
)
def test_a_map_keeps_no_capture(pattern: str, reason: str) -> None:
    """A pattern with a group that may be referred to by number gets no map, with the reason."""
    (diagnostic,) = diagnose("if-chain-to-map", f"server {{ {chain(pattern)} }}", context="http")
    assert diagnostic.fix is None
    written = pattern.replace("\\\\", "\\")
    assert diagnostic.finding.help == f'no map is suggested: "{written}" {reason}'


def test_a_map_tries_plain_keys_first() -> None:
    """A chain of exact and regex conditions gets no map: in a map the last match would not win."""
    text = "server { if ($arg_k = a) { set $x 1; } if ($arg_k ~ a) { set $x 2; } if ($arg_k = b) { set $x 3; } }"
    (diagnostic,) = diagnose("if-chain-to-map", text, context="http")
    assert diagnostic.fix is None
    assert diagnostic.finding.help == "no map is suggested: a map tries its plain keys before its regular expressions"


def test_a_value_may_not_be_a_capture() -> None:
    """A value with a capture gets no map, as a suggested map captures nothing."""
    (diagnostic,) = diagnose("if-chain-to-map", f"server {{ {chain('(a)', '$1')} }}", context="http")
    assert diagnostic.fix is None
    assert diagnostic.finding.help == "no map is suggested: $x is set to a capture"


@pytest.mark.parametrize(
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
    """There is no fix where a capture is read after the conditions, or next to the variable or a map of it."""
    text = f"map $x$host $y {{ default 1; }} server {{ {chain('(a)')} {rest} }}"
    (diagnostic,) = diagnose("if-chain-to-map", text, context="http")
    assert (diagnostic.fix is not None) is is_offered
    reason = "code (Lua" if "js_content" in rest else "its patterns would overwrite $1 to $9"
    assert is_offered or diagnostic.finding.help.startswith(f"no map is suggested: {reason}")


def test_conditions_that_return_name_the_command() -> None:
    """Conditions that return have no fix; the help names the command, and what it saves."""
    chain = "".join(f"if ($uri ~ ^/{number}/) {{ return 403; }}\n" for number in range(20))
    (diagnostic,) = diagnose("if-chain-to-map", f"server {{ {chain} }}", context="http")
    assert diagnostic.message == "20 ifs test $uri in turn, and only the first that is true returns"
    assert diagnostic.fix is None
    assert diagnostic.finding.help.startswith("nginxopt rewrite-to-map ")
    assert diagnose("if-chain-to-map", f"server {{ {''.join(chain.splitlines()[:7])} }}", context="http") == ()


def test_conditions_that_set_a_flag_are_one_finding() -> None:
    """A flag that a later condition tests is a chain for the command, and said once, as what it is."""
    chain = "".join(f"if ($http_user_agent ~ Bot{number}x) {{ set $bad 1; }}\n" for number in range(20))
    text = f"server {{ set $bad 0; {chain} if ($bad = 1) {{ return 403; }} }}"
    (diagnostic,) = diagnose("if-chain-to-map", text, context="http")
    assert diagnostic.message == "20 ifs test $http_user_agent one after the other, to set $bad"
    assert diagnostic.finding.help.startswith("nginxopt rewrite-to-map ")
