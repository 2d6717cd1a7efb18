"""What follows parts of programs that differ is compared for each state in which requests leave them."""

from __future__ import annotations

import pytest

from tests.rows import every_row
from tests.verify.pairs import Pair
from tests.verify.test_verify import verified

_FEW, _MANY = 2, 40
"""Fewer and more states than are followed one by one."""

_BETWEEN = 'if ($uri = /between) { set $other "$cookie_q"; }\n'
_HIDDEN = 'if ($cookie_q = "hidden$arg_z") { return 200 "%s"; }\nreturn 200 "z$uri";\n'
"""An answer that depends on the state, and that requests which only name URIs do not get."""


def _chain(rows: int) -> str:
    return "".join(f'if ($uri ~ "^/a{row}\\z") {{ set $flag {row}; }}\n' for row in range(1, rows))


def _pair(rows: int, answers: tuple[str, str]) -> Pair:
    """A chain of `if` and a map that set the same, with an equal part and another answer behind them."""
    looked_up = 'if ($looked_up != "") { set $flag $looked_up; }\n'
    texts = [
        f'map $uri $looked_up {{ volatile; default ""; {_rows(rows)} }}\n'
        f'server {{ set $flag ""; {flags} {_BETWEEN} {_HIDDEN % answer} }}\n'
        for flags, answer in zip((_chain(rows), looked_up), answers, strict=True)
    ]
    return Pair("exits", *texts)


def _rows(rows: int) -> str:
    return "".join(f'"~^/a{row}\\z" {row};\n' for row in range(1, rows))


@pytest.mark.parametrize("rows", [_FEW, _MANY])
@pytest.mark.parametrize("answer", ["$flag", "$flag$flag"])
def test_what_follows_is_equal(rows: int, answer: str) -> None:
    """The same part behind a chain and the map that replaces it answers alike in the states that both leave."""
    assert verified(_pair(rows, (answer, answer))).verdict == "equivalent"


@every_row("rows", [_FEW, _MANY])
@every_row("answers", [("$flag$flag", "$flag"), ("$flag", "${flag}0"), ("$flag", "$flag$uri")])
def test_what_follows_differs(rows: int, answers: tuple[str, str]) -> None:
    """Another part behind them is never equivalent, even if only requests whose state a row has set show it."""
    for pair in (_pair(rows, answers), _pair(rows, answers[::-1])):
        assert verified(pair).verdict != "equivalent"


_MATCH_LIMIT = "no request comes to the match limit of PCRE, at which nginx answers 500"


@pytest.mark.parametrize(
    ("old", "new", "is_given"),
    [
        ('if ($uri ~ "^/(a+)+$") { set $q 1; } return 200;', "return 200;", True),
        ('location ~ "^/(a+)+$" { return 200; }', 'location ~ "^/a+$" { return 200; }', True),
        ("rewrite ^/(?:a|aa)+$ /x permanent;", "rewrite ^/a+$ /x permanent;", True),
        ("rewrite ^/a/(.*) /x permanent;", "rewrite ^/a/ /x permanent;", False),
        ('if ($uri ~ "^/(a+)+$") { return 204; } root /a;', 'if ($uri ~ "^/(a+)+$") { return 204; } root /a/;', False),
    ],
)
def test_patterns_on_which_pcre_may_give_up_are_a_premise(old: str, new: str, is_given: bool) -> None:
    """Where they stand on one side only, the other side answers requests on which PCRE gives up."""
    result = verified(Pair("limit", f"server {{ {old} }}\n", f"server {{ {new} }}\n"))
    assert result.verdict == "equivalent"
    assert any(given.startswith(_MATCH_LIMIT) for given in result.given) == is_given


@pytest.mark.parametrize("rows", [('"~^/(a+)+$" 1;', '"~^/a+$" 1;'), ('"~^/(.*)/(.*)$" 1;', '"~^/.*/" 1;')])
def test_maps_with_patterns_on_which_pcre_may_give_up(rows: tuple[str, str]) -> None:
    """A map that differs is asked for other requests, too."""
    texts = (f'map $uri $m {{ {each} }}\nserver {{ return 200 "$m"; }}\n' for each in rows)
    result = verified(Pair("limit", *texts))
    assert any(given.startswith(_MATCH_LIMIT) for given in result.given)


_LONG = "a" * 40
_GIVES_UP = 'map %s $looked_up { volatile; default "$other"; "~^/?(a+)+$" row; }\nserver { %s }\n'
"""A pattern on which PCRE gives up for `_LONG` and another byte: nginx then takes the default row."""


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("$uri", f'location = "/{_LONG}!" {{ set $other %d; return 200 "$looked_up"; }}'),
        ("$subject", f'location /a {{ set $subject "{_LONG}!"; set $other %d; return 200 "$looked_up"; }}'),
        ("$uri", f'set $other %d; if ($uri = "/{_LONG}!") {{ return 200 "$looked_up"; }}'),
    ],
)
def test_a_lookup_in_which_pcre_gives_up_depends_on_all_rows(source: str, text: str) -> None:
    """nginx takes the default row, whose value differs."""
    pair = Pair("gives up", *(_GIVES_UP % (source, text % value) for value in (1, 2)))
    assert verified(pair).verdict != "equivalent"


_TAILS = ("", "/", "\\n", "/\\n")
"""What may stand behind `/k` in a URI that `^/k/?$` matches."""


def _looked_up(keys: dict[str, str], condition: str = "$key = $uri") -> Pair:
    """Rules that each match four URIs, and maps with a row for each of these, which say where a URI leads."""
    rules = "".join(f"rewrite ^/{letter}/?$ /to/{letter} permanent;\n" for letter in "abcdefgh")
    own = "".join(f'"{key}" "{key}";\n' for key in keys)
    to = "".join(f'"{key}" "{target}";\n' for key, target in keys.items())
    maps = f'map $uri $key {{ volatile; default ""; {own} }}\nmap $uri $to {{ volatile; default ""; {to} }}\n'
    behind = 'return 200 "$uri";'
    return Pair(
        "keys",
        f"server {{ {rules} {behind} }}\n",
        f"{maps}server {{ if ({condition}) {{ rewrite ^ $to permanent; }} {behind} }}\n",
    )


def _keys() -> dict[str, str]:
    return {f"/{letter}{tail}": f"/to/{letter}" for letter in "abcdefgh" for tail in _TAILS}


def test_each_uri_of_a_rule_is_a_key() -> None:
    """A map with a key for each URI that rules match, as it is spelled, answers as the rules do."""
    assert verified(_looked_up(_keys())).verdict == "equivalent"


@pytest.mark.parametrize("key", [f"/d{tail}" for tail in _TAILS])
@pytest.mark.parametrize("target", [None, "/to/e", "/to/d?", ""])
def test_one_key_that_is_wrong(key: str, target: str | None) -> None:
    """A key that is missing or leads elsewhere is never equivalent, even where a newline ends the URI."""
    keys = _keys()
    if target is None:
        del keys[key]
    else:
        keys[key] = target
    assert verified(_looked_up(keys)).verdict != "equivalent"


@pytest.mark.parametrize("more", ["/i", "/a//", "/a.", "/aa\\n"])
def test_one_key_too_many(more: str) -> None:
    """Nor is a key that no rule matches."""
    assert verified(_looked_up({**_keys(), more: "/to/a"})).verdict != "equivalent"


@pytest.mark.parametrize("condition", ["$key", "$to", "$to = /to/a", "$key != $uri"])
def test_another_condition(condition: str) -> None:
    """A map ignores case, so a condition that does not compare spellings is never equivalent."""
    assert verified(_looked_up(_keys(), condition)).verdict != "equivalent"
