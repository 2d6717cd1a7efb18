"""The scenarios: each is found, whole, and has the folder that it needs."""

from __future__ import annotations

import re

import pytest

from nginxopt import load_text
from nginxopt.bench import run_folder
from nginxopt.bench.cases import cases
from nginxopt.bench.catalogue import catalogue
from nginxopt.bench.load.vegeta import Vegeta
from nginxopt.bench.load.wrk import Wrk
from nginxopt.bench.scenario import (
    OpenLoop,
    Settings,
)
from nginxopt.errors import InputError
from tests.bench.samples import experiment

SETTINGS = Settings(counts=(0, 3, 7))


SCENARIOS = {name: scenario.build(SETTINGS) for name, scenario in catalogue().items()}


def test_every_scenario_is_found() -> None:
    """The scenarios are those of the issue, each under the name of its module."""
    assert list(SCENARIOS) == ["balance", "cache", "hop", "keepalive", "rewrites", "rush"]
    assert all(made.scenario == name for name, made in SCENARIOS.items())


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_is_whole(name: str) -> None:
    """What an experiment names is there: entries, roles of probes and counts, variants with attacks, comparisons."""
    made = SCENARIOS[name]
    for variant in made.variants:
        roles = {item.role for item in variant.nodes}
        assert variant.entry in roles
        assert {item.role for item in variant.probes} <= roles
        attacks = [attack for attack in made.attacks if attack.variant == variant.name]
        assert attacks
        assert {count.role for attack in attacks for count in attack.counts} <= roles
    assert made.comparisons
    assert made.published
    assert made.expects.endswith(".")


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("generator", [Vegeta(), Wrk()], ids=["vegeta", "wrk"])
def test_a_folder_is_whole(name: str, generator: Vegeta | Wrk) -> None:
    """Every placeholder of an address has become one, no two alike, and the script starts and attacks all there is."""
    made = SCENARIOS[name]
    files = run_folder.files(made, generator, 5)
    assert len(set(run_folder.fixed_addresses(made).values())) == len(list(run_folder.places(made)))
    for path, text in files.items():
        assert not re.search(rb"@(?!round)[a-z]", text), path
    script = files["run"].decode()
    assert script.count("\nstart nginx/") == sum(len(variant.nodes) for variant in made.variants)
    assert len(re.findall(r"^    attack '", script, re.MULTILINE)) == len(made.attacks)
    assert all(b"daemon" not in text for path, text in files.items() if path.endswith("nginx.conf"))
    assert all(variant.name in files["README.md"].decode() for variant in made.variants)


def test_a_folder_needs_its_rates() -> None:
    """A folder that is given away states its rates; one that is still to be found is refused."""
    with pytest.raises(ValueError, match="no rate"):
        run_folder.files(experiment().with_loads(lambda _: OpenLoop(None, 1)), Vegeta(), 1)


def test_what_looks_like_a_placeholder_stays() -> None:
    """Only places of the variant are put in: a named location of an operator's is none."""
    variant = experiment().variants[0]
    text = b"error_page 404 @edge; proxy_pass http://@edge@; @other@ @edge/status@"
    put = run_folder.put(text, variant, {("none", "edge"): "127.0.0.1:1", ("after", "other"): "127.0.0.1:2"})
    assert put == b"error_page 404 @edge; proxy_pass http://127.0.0.1:1; @other@ @edge/status@"


def test_names_lead_somewhere() -> None:
    """An experiment with a baseline, a comparison or an attack on no variant cannot be made."""
    with pytest.raises(ValueError, match="nobody"):
        experiment(baseline="nobody")


def test_rules_of_an_operator() -> None:
    """A file of rules is compiled, proved and asked at its first, middle and last key; one with blocks is refused."""
    rules = load_text(b"rewrite ^/a$ /x permanent;\nrewrite ^/b$ /y permanent;\n", "rules.conf", context="server")
    made = catalogue()["rewrites"].build(Settings(rules=rules))
    assert [variant.name for variant in made.variants] == ["no rules", "2 rewrites", "2 compiled"]
    assert {attack.targets[0].path for attack in made.attacks} == {"/favicon.ico", "/a", "/b", "/bzqvx7"}
    with pytest.raises(InputError, match="a file of rules"):
        catalogue()["rewrites"].build(Settings(rules=load_text(b"location / {}", context="server")))


def test_prefixes_of_an_operator() -> None:
    """Rules in groups are measured, too, at URIs that they match and miss."""
    text = b"".join(b"rewrite ^/old/%d/(.*)$ /new/%d/$1 permanent;\n" % (number, number) for number in range(70))
    made = catalogue()["rewrites"].build(Settings(rules=load_text(text, "rules.conf")))
    paths = {(attack.case, attack.targets[0].path) for attack in made.attacks}
    assert paths == {
        ("far miss", "/favicon.ico"),
        ("near miss", "/old/69zqvx7"),
        ("hit first", "/old/0/"),
        ("hit middle", "/old/35/"),
        ("hit last", "/old/69/"),
    }


def test_maps_of_an_operator() -> None:
    """Each map that becomes a tree is measured by itself; what the rest of the file defines has a value."""
    rows = b"".join(b"~^/old/%d/ $place/%d;" % (number, number) for number in range(9))
    agents = b"".join(b"~*^agent%d/ %d;" % (number, number) for number in range(9))
    text = b"geo $place { default /new; } map $uri $to { %s } map $http_user_agent $bot { %s }" % (rows, agents)
    made = catalogue()["rewrites"].build(Settings(rules=load_text(text, "maps.conf")))
    names = ["no rules", "9 rows of $to", "9 compiled of $to", "9 rows of $bot", "9 compiled of $bot"]
    assert [variant.name for variant in made.variants] == names
    assert b"nxo-place" in made.variant("9 rows of $to").nodes[0].files["maps.conf"]
    asked = {(attack.variant, attack.case): attack.targets[0] for attack in made.attacks}
    assert asked["9 compiled of $to", "hit last of $to"].path == "/old/8/"
    assert asked["9 compiled of $bot", "hit last of $bot"].headers == (("user-agent", "agent8/"),)
    assert asked["no rules", "far miss of $bot"].path == "/no-map"
    assert not made.published


def test_cases_of_patterns() -> None:
    """A miss is no match of any pattern, and a hit is one; what is neither is left out."""
    found = cases([b"^/a", b"(?i)^/B$"], [b"/a1", b"/b", b"/c"], b"/favicon.ico")
    assert found == {
        "far miss": b"/favicon.ico",
        "near miss": b"/bzqvx7",
        "hit first": b"/a1",
        "hit middle": b"/b",
        "hit last": b"/b",
    }
    assert cases([b"."], [b"/"], b"/far") == {"hit first": b"/", "hit middle": b"/", "hit last": b"/"}


@pytest.mark.parametrize("text", [b"", b"map $uri $to { ~a 1; }", b"rewrite ^/a/(.*)$ /b/$1 last;\n"])
def test_rules_that_stay_are_not_measured(text: bytes) -> None:
    """Rules of which none moves are the same before and after, so that there is nothing to compare."""
    with pytest.raises(InputError, match="nothing to compare"):
        catalogue()["rewrites"].build(Settings(rules=load_text(text, "rules.conf")))
