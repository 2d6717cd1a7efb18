"""Shapes of the lists that people have: named groups, one gate for rules that cannot move, locations in unread text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from nginxopt.config import load, load_text
from nginxopt.rewrite import Emission, Options, plan, prove
from nginxopt.rewrite.premises import FAILED_CAPTURES, LOCATION_INCLUDES, LOCATION_SETTINGS
from nginxopt.rewrite.proving import proved
from tests.rows import every_row

NAMED = "".join(f"rewrite ^/docs/{number}/(?<old>.*)$ /doc/{number}/$old permanent;\n" for number in range(40))
GATED = "".join(
    f"rewrite ^.*/provision/{kind}([a-f0-9]{{12}})\\.cfg$ /p/?mac=$1&k={kind}{flag};\n"
    for kind, flag in (*((f"k{number}", " last" * (number % 2)) for number in range(12)), (".*-", ""), (".*_", " last"))
).replace("{12}", "+")


def compiled(text: str, context: str | None = "server") -> Emission:
    """Compile a text, and prove it."""
    config = load_text(text.encode(), "site.conf", context=context, missing_ok=True)
    emission, proof = proved(plan(config, Options(groups=True)))
    assert proof.holds
    return emission


def text_of(emission: Emission) -> str:
    """The text of the main file."""
    return emission.after(emission.plan.config.main).decode()


def test_named_groups_are_in_groups() -> None:
    """Rules with named groups are in groups as they are written; the lookup sets none of their variables."""
    emission = compiled(NAMED)
    assert emission.plan.rules.grouped == 40
    assert emission.plan.cost[1].far < 5
    assert "(?<old>" not in emission.maps.decode()
    assert all(f"    {line}" in text_of(emission) for line in NAMED.splitlines())


def test_reasons_of_named_groups() -> None:
    """A named group alone is no reason to stay for a rule that matches endlessly many URIs."""
    emission = compiled("rewrite ^/a/(?<old>.*)$ /b/$old last;\nrewrite ^/c/(?<old>x|y)$ /d/$old last;\n")
    assert emission.plan.rules.reasons() == {"wildcard": 1, "named-capture": 1}


def test_one_gate() -> None:
    """Rules that go on, and those on which PCRE may give up, are behind one pattern with what all of them need."""
    emission = compiled("rewrite ^/first$ /1 last;\n" + GATED)
    assert emission.plan.rules.filtered >= GATED.count("rewrite")
    assert text_of(emission).count("if ($uri ~") == 1
    assert emission.plan.cost[1].far <= 2
    assert "/provision/" in text_of(emission).partition("if ($uri ~")[2].partition("\n")[0]


def test_a_gate_for_many_rules() -> None:
    """More than 16 rules that go on are behind one pattern."""
    rules = "".join(f"rewrite ^/a{number}/(.*)$ /b{number}/$1;\n" for number in range(60))
    emission = compiled(rules)
    assert (emission.plan.rules.filtered, emission.plan.cost[1].far) == (60, 1)
    assert text_of(emission).count("if ($uri ~") == 1


IN_A_LOCATION = "events {{}} http {{ server {{ location / {{ {settings}\n{rules} }} }} {http} }}"


@pytest.mark.parametrize(
    ("settings", "http", "is_assumed"),
    [
        ("expires 1h;", "", False),
        ("expires 1h;", "include none.conf;", False),
        ("add_header X-A 1;", "", False),
        ("add_header X-A 1;", "include none.conf;", True),
        ("include none.conf;", "", True),
    ],
)
def test_unread_settings_of_a_location(settings: str, http: str, is_assumed: bool) -> None:
    """Where unread text may give a location what an `if` lacks, rules are in groups under a premise."""
    emission = compiled(IN_A_LOCATION.format(settings=settings, rules=NAMED, http=http), None)
    assert emission.plan.rules.grouped == 40
    assert (LOCATION_SETTINGS.name in emission.maps.decode()) == is_assumed


@pytest.mark.parametrize(
    ("settings", "grouped"),
    [("types { a b; }", 40), ("try_files $uri =404;", 0), ("some_module on;", 0), ("if ($arg_x) { expires 1h; }", 0)],
)
def test_included_settings_of_a_location(settings: str, grouped: int, tmp_path: Path) -> None:
    """What a file that was read gives a location counts as if it were written there."""
    text = IN_A_LOCATION.format(settings="include part.conf;", rules=NAMED, http="")
    (tmp_path / "nginx.conf").write_text(text)
    (tmp_path / "part.conf").write_text("include more.conf;")
    (tmp_path / "more.conf").write_text(settings)
    emission, proof = proved(plan(load(tmp_path / "nginx.conf"), Options(groups=True)))
    assert proof.holds
    assert emission.plan.rules.grouped == grouped
    assert LOCATION_SETTINGS.name not in emission.maps.decode()


@pytest.mark.parametrize("settings", ["try_files $uri =404;", "if ($arg_x) { expires 2h; }", "include lua.conf;"])
def test_the_proof_reads_included_files(settings: str, tmp_path: Path) -> None:
    """Rules in groups are refuted if a file that their location includes has what an `if` does not inherit."""
    text = IN_A_LOCATION.format(settings="include part.conf;", rules=NAMED, http="")
    (tmp_path / "nginx.conf").write_text(text)
    (tmp_path / "lua.conf").write_text("some_module on;")
    (tmp_path / "part.conf").write_text("expires 1h;")
    right, proof = proved(plan(load(tmp_path / "nginx.conf"), Options(groups=True)))
    assert proof.holds
    (tmp_path / "part.conf").write_text(settings)
    config = load(tmp_path / "nginx.conf")
    [change] = right.changes
    planned = replace(right.plan, config=config, subject=config.main)
    refuted = prove(replace(right, plan=planned, changes=(replace(change, file=config.main),))).refutation
    assert refuted == "an `if` in a location would replace the location's configuration"


SERVING = "".join(f"location ~ ^/p/{number}/(.*)$ {{ %s proxy_pass http://u$1; }}\n" for number in range(20))


@every_row(
    ("content", "located", "is_assumed"),
    [
        ("deny all;", 20, False),
        ("alias /srv/$1;", 20, False),
        ("include none.conf;", 20, True),
        ("some_module on;", 0, False),
        ("add_header_inherit merge;", 0, False),
        ("location /p/x { }", 0, False),
    ],
)
def test_locations_of_any_content(content: str, located: int, is_assumed: bool) -> None:
    """Eight or more regex locations are nested, whatever directives of nginx they have."""
    emission = compiled(SERVING.replace("%s", content))
    assert emission.plan.locations.moved == located
    assert emission.plan.cost[0].far == 20
    assert emission.plan.cost[1].far == (1 if located else 20)
    assert (LOCATION_INCLUDES.name in {premise.name for premise in proved(emission.plan)[1].premises}) == is_assumed


GROUPS = "".join(f"location ~ ^/(a|b){number}/ {{ return 404; }}\n" for number in range(9))
"""Regex locations whose patterns have groups."""


@every_row(
    ("server", "reading", "is_stated"),
    [
        ("server_name ~^(.+)[.]example[.]com$;", "return 200 $1;", True),
        ("server_name ~^(?<sub>.+)[.]example[.]com$;", "return 200 $1;", True),
        ("server_name ~^(.+)[.]example[.]com$;", "return 200 x;", False),
        ("server_name ~^(?:a|b)[.]example[.]com$;", "return 200 $1;", False),
        ("server_name www.example.com;", "return 200 $1;", False),
        ("if ($args ~ (.)x) { set $seen 1; }", "return 200 $1;", True),
        ("if ($args ~ x) { set $seen 1; }", "return 200 $1;", False),
        ("rewrite ^/x/(.*)$ /$1;", "return 200 $1;", True),
        ("include unread.conf;", "return 200 x;", True),
    ],
)
def test_captures_behind_patterns_that_fail(server: str, reading: str, is_stated: bool) -> None:
    """With PCRE 8 a pattern that fails overwrites captures, so fewer of them are a premise where they may be read."""
    text = f"events {{ }} http {{ server {{ {server} %s location / {{ {reading} }} }} }}"
    assert _states_failed_captures(text % GROUPS) == is_stated
    assert not _states_failed_captures(text % GROUPS.replace("(", "(?:"))
    rules = "".join(f"rewrite ^/(old)/{number}$ /new/{number} permanent;\n" for number in range(40))
    assert not _states_failed_captures(text % rules), "a rewrite that fails leaves no captures"


def _states_failed_captures(text: str) -> bool:
    premises = {premise.name for premise in proved(compiled(text, None).plan)[1].premises}
    return FAILED_CAPTURES.name in premises


def test_few_locations_that_serve_stay() -> None:
    """Of fewer, most requests match one, and each would cost more; locations that return are nested from three on."""
    few = "".join(SERVING.replace("%s", "").splitlines(keepends=True)[:7])
    returning = "".join(f"location ~ ^/r/{number} {{ return 404; }}\n" for number in range(3))
    assert not compiled(few).changes
    assert compiled(few[: few.index("location ~ ^/p/3")] + returning).plan.locations.moved == 3


def test_includes_that_are_not_followed(tmp_path: Path) -> None:
    """Locations are nested as well where the files that they include are there, and were not asked for."""
    (tmp_path / "part.conf").write_text("expires 1h;")
    text = f"events {{}} http {{ server {{ {SERVING.replace('%s', 'include part.conf;')} }} }}"
    (tmp_path / "nginx.conf").write_text(text)
    config = load_text(text.encode(), str(tmp_path / "nginx.conf"), includes=False)
    emission, proof = proved(plan(config, Options(groups=True)))
    assert proof.holds
    assert emission.plan.locations.moved == 20
