"""The scenarios are complete, and have the folder that they need."""

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
    ScenarioSettings,
)
from nginxopt.errors import InputError
from tests.bench.samples import experiment
from tests.rows import every_row

SETTINGS = ScenarioSettings(counts=(0, 3, 7))


SCENARIOS = {name: scenario.build(SETTINGS) for name, scenario in catalogue().items()}


def test_every_scenario_is_named_like_its_module() -> None:
    """Each scenario is named like its module."""
    assert list(SCENARIOS) == ["balance", "cache", "hop", "keepalive", "rewrites", "rush"]
    assert all(experiment.scenario == name for name, experiment in SCENARIOS.items())


@every_row("name", SCENARIOS)
def test_a_scenario_is_whole(name: str) -> None:
    """An experiment refers only to entries, roles and variants that it has."""
    experiment = SCENARIOS[name]
    for variant in experiment.variants:
        roles = {item.role for item in variant.nodes}
        assert variant.entry in roles
        assert {item.role for item in variant.probes} <= roles
        attacks = [attack for attack in experiment.attacks if attack.variant == variant.name]
        assert attacks
        assert {count.role for attack in attacks for count in attack.counts} <= roles
    assert experiment.comparisons
    assert experiment.published
    assert experiment.expects.endswith(".")


@every_row("name", SCENARIOS)
@every_row("generator", [Vegeta(), Wrk()], ids=["vegeta", "wrk"])
def test_a_folder_is_whole(name: str, generator: Vegeta | Wrk) -> None:
    """Every placeholder of an address has become one, no two alike, and the script starts and attacks all there is."""
    experiment = SCENARIOS[name]
    files = run_folder.files(experiment, generator, 5)
    assert len(set(run_folder.fixed_addresses(experiment).values())) == len(list(run_folder.places(experiment)))
    for path, text in files.items():
        assert not re.search(rb"@(?!round)[a-z]", text), path
    script = files["run"].decode()
    assert script.count("\nstart nginx/") == sum(len(variant.nodes) for variant in experiment.variants)
    assert len(re.findall(r"^    attack '", script, re.MULTILINE)) == len(experiment.attacks)
    assert all(b"daemon" not in text for path, text in files.items() if path.endswith("nginx.conf"))
    assert all(variant.name in files["README.md"].decode() for variant in experiment.variants)


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
    experiment = catalogue()["rewrites"].build(ScenarioSettings(rules=rules))
    assert [variant.name for variant in experiment.variants] == ["no rules", "2 rewrites", "2 compiled"]
    assert {attack.targets[0].path for attack in experiment.attacks} == {"/favicon.ico", "/a", "/b", "/bzqvx7"}
    with pytest.raises(InputError, match="a file of rules"):
        catalogue()["rewrites"].build(ScenarioSettings(rules=load_text(b"location / {}", context="server")))


def test_prefixes_of_an_operator() -> None:
    """Rules in groups are measured, too, at URIs that they match and miss."""
    text = b"".join(b"rewrite ^/old/%d/(.*)$ /new/%d/$1 permanent;\n" % (number, number) for number in range(70))
    experiment = catalogue()["rewrites"].build(ScenarioSettings(rules=load_text(text, "rules.conf")))
    paths = {(attack.case, attack.targets[0].path) for attack in experiment.attacks}
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
    experiment = catalogue()["rewrites"].build(ScenarioSettings(rules=load_text(text, "maps.conf")))
    names = ["no rules", "9 rows of $to", "9 compiled of $to", "9 rows of $bot", "9 compiled of $bot"]
    assert [variant.name for variant in experiment.variants] == names
    assert b"nxo-place" in experiment.variant("9 rows of $to").nodes[0].files["maps.conf"]
    targets = {(attack.variant, attack.case): attack.targets[0] for attack in experiment.attacks}
    assert targets["9 compiled of $to", "hit last of $to"].path == "/old/8/"
    assert targets["9 compiled of $bot", "hit last of $bot"].headers == (("user-agent", "agent8/"),)
    assert targets["no rules", "far miss of $bot"].path == "/no-map"
    assert not experiment.published


def test_cases_of_patterns() -> None:
    """A miss is no match of any pattern, and a hit is one; what is neither is left out."""
    targets = cases([b"^/a", b"(?i)^/B$"], [b"/a1", b"/b", b"/c"], b"/favicon.ico")
    assert targets == {
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
        catalogue()["rewrites"].build(ScenarioSettings(rules=load_text(text, "rules.conf")))
