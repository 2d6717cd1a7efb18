"""Limits for a whole request, and parts that are right alone: a real nginx compares whole configurations."""

from __future__ import annotations

from pathlib import Path

import pytest

from nginxopt.config import load, load_text
from nginxopt.rewrite import Emission, Options, differential, evaluations, plan
from nginxopt.rewrite.comparison import Differential
from nginxopt.rewrite.differential import ask, ask_whole
from nginxopt.rewrite.proving import proved
from nginxopt.system import nginx
from tests.rewrite import composed

pytestmark = pytest.mark.nginx

CASES = {
    "fifty": composed.by_default(50),
    "default": composed.by_default(52),
    "text": composed.by_text(52),
    "row": composed.by_row(98),
    "source": composed.by_source(52),
    "circle": composed.in_a_circle(3),
    "too deep": composed.by_default(120),
    "before plain maps": composed.beyond_plain_maps(20, 75),
    "below others": composed.below_others(20, 75),
}


@pytest.fixture(autouse=True)
def _few_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send 1,000 requests at most to each whole."""
    monkeypatch.setattr(differential, "REQUESTS", 4_000)


def emitted(text: str) -> Emission:
    """The proved emission for a configuration."""
    emission, proof = proved(plan(load_text(text.encode(), "nginx.conf"), Options(groups=True)))
    assert proof.holds
    return emission


def whole(emission: Emission, binary: nginx.Binary) -> Differential:
    """The comparison of the whole."""
    (comparison,) = ask_whole(emission, binary)
    assert comparison.omitted is None
    return comparison


@pytest.mark.parametrize("name", CASES)
def test_deep_evaluations(a_binary: nginx.Binary, name: str) -> None:
    """Maps that evaluate each other, beside one that becomes a tree in any case, give the values that they gave."""
    http = f"{CASES[name]} map $uri $other {{ default no; {composed.rows(500)} }}"
    emission = emitted(composed.site(http, "$m0 $other"))
    assert emission.plan.maps.compiled
    comparison = whole(emission, a_binary)
    assert [str(mismatch) for mismatch in comparison.mismatches] == []
    assert comparison.requests > 20


@pytest.mark.parametrize("name", ["fifty", "default", "text", "circle", "before plain maps"])
def test_nginx_differs_beyond_the_limit(a_binary: nginx.Binary, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the limits, nginx gives other values: each part alone is right, and only the comparison of the whole
    shows it.
    """
    monkeypatch.setattr(evaluations, "too_much", lambda *_: {})
    monkeypatch.setattr("nginxopt.rewrite.proving.exceeded", lambda *_: [])
    emission = emitted(composed.site(CASES[name]))
    assert not whole(emission, a_binary).ok


def test_sections_are_compared_with_their_own_maps(binary: nginx.Binary, tmp_path: Path) -> None:
    """The maps of a section read variables that only its own statements set."""
    servers = "".join(
        f"server {{ listen 8080; server_name s{server}.test; "
        + "".join(f"rewrite ^/s{server}/b{rule}$ /n{server}/{rule} permanent;\n" for rule in range(500))
        + "location / { return 200 $uri; } }\n"
        for server in range(2)
    )
    (tmp_path / "nginx.conf").write_text(f"events {{}} http {{ {servers} }}")
    emission, proof = proved(plan(load(tmp_path / "nginx.conf"), Options(groups=True)))
    assert proof.holds
    comparisons = ask(emission, binary) + ask_whole(emission, binary)
    assert len(comparisons) == 3
    assert [str(mismatch) for each in comparisons for mismatch in each.mismatches] == []
    assert all(each.requests > 500 and each.omitted is None for each in comparisons)


LOOP = "".join(f"rewrite ^/(a{number}/.*)$ /a{(number + 1) % 12}/$1 last;\n" for number in range(12))
FINITE = "".join(f"rewrite ^/(a{number})$ /a{number + 1} last;\n" for number in range(12))


@pytest.mark.parametrize("rules", [LOOP, FINITE], ids=["endless", "twelve steps"])
def test_changes_of_the_uri_count_as_before(a_binary: nginx.Binary, rules: str) -> None:
    """nginx allows ten changes of the URI by rules of locations; a compiled rule is one change, as it was."""
    server = (
        f'server {{ listen 8080; error_page 500 /-failed; location = /-failed {{ return 200 "$uri $request_uri"; }}'
        f" location / {{ {rules} return 200 $uri; }} }}"
    )
    emission = emitted(f"events {{}} http {{ {server} }}")
    assert emission.plan.rules.compiled
    comparison = whole(emission, a_binary)
    assert [str(mismatch) for mismatch in comparison.mismatches] == []
    assert comparison.requests > 50


def test_an_upstream_gets_the_same(binary: nginx.Binary) -> None:
    """What is passed to an upstream is compared, too."""
    http = f"map $http_user_agent $kind {{ default none; {composed.rows(1).replace('^/', '')} }}"
    server = "location / { proxy_set_header X-Kind $kind; proxy_pass http://10.0.0.1; }"
    emission = emitted(f"events {{}} http {{ {http} server {{ listen 80; {server} }} }}")
    assert whole(emission, binary).ok
    from dataclasses import replace

    wrong = emission.trees.replace(b'"v1a"', b'"v1x"')
    assert wrong != emission.trees
    assert not whole(replace(emission, maps=emission.maps.replace(emission.trees, wrong), trees=wrong), binary).ok


def test_why_a_whole_is_not_compared(binary: nginx.Binary) -> None:
    """A configuration that a private nginx does not take is compared part by part only."""
    emission = emitted(f"events {{}} http {{ {composed.by_default(2)} server {{ unheard_of on; }} }}")
    (comparison,) = ask_whole(emission, binary)
    assert "unheard_of" in (comparison.omitted or "")
    assert (comparison.requests, comparison.ok) == (0, True)


def test_no_changes_are_not_compared(binary: nginx.Binary) -> None:
    """Nothing is asked about a configuration in which nothing moves."""
    assert ask_whole(emitted("events {} http { server { } }"), binary) == []
