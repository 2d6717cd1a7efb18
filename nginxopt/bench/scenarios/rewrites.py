"""Compares rewrites, or rows of a map, that nginx tries in sequence with the maps they compile to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from nginxopt.bench import regex_maps
from nginxopt.bench.cases import cases
from nginxopt.bench.nodes import node
from nginxopt.bench.regex_maps import MeasuredMap
from nginxopt.bench.rewrite_rules import FAR_MISS, Parts, fragment, literal, location, parts, proved, uri
from nginxopt.bench.scenario import (
    Attack,
    ExpectedResponse,
    Experiment,
    OpenLoop,
    Published,
    Scenario,
    ScenarioSettings,
    Target,
    Variant,
    VariantPair,
)
from nginxopt.config import Config
from nginxopt.rewrite import Emission
from nginxopt.rewrite.kinds.maps.reading import read
from nginxopt.rewrite.requests import receivable
from nginxopt.text import encode
from nginxopt.text.display import percent_encode

NONE = "no rules"
LOAD = OpenLoop(rate=1000, seconds=2)

_WITNESSES = 100
_SERVER = 'location / {\n    return 200 "ok";\n}'
_OK = ExpectedResponse(200, body="ok")
_EXPECTS = "With rewrites, time and CPU per request grow with their number; with maps, they stay as without rules."
_TITLE_OF_MAPS = "Maps with regular expressions and the trees they compile to"
_EXPECTS_OF_MAPS = "With rows, time and CPU per request grow with their number; with a tree, they hardly do."
_PUBLISHED = (
    Published(
        "median at 1,000 req/s for 10 s, 0 to 819 rewrites",
        "132.126 us",
        "172.16 us",
        1.30,
        "p50",
        (NONE, "819 rewrites"),
    ),
    Published(
        "median at 1,000 req/s for 10 s, 0 to 10,000 rewrites",
        "132.126 us",
        "906.9 us",
        6.86,
        "p50",
        (NONE, "10000 rewrites"),
    ),
    Published(
        "mean at 1,000 req/s for 10 s, 0 to 819 rewrites", "154.8 us", "191.6 us", 1.24, "mean", (NONE, "819 rewrites")
    ),
    Published(
        "mean at 1,000 req/s for 10 s, 0 to 10,000 rewrites",
        "154.8 us",
        "8.855 ms",
        57.2,
        "mean",
        (NONE, "10000 rewrites"),
    ),
)


def build(settings: ScenarioSettings) -> Experiment:
    """Return the experiment on a file of rules, on the maps of a configuration, or on generated rules."""
    if settings.rules is None:
        return _made(settings.counts)
    return _maps(settings.rules) if any(read(settings.rules, settings.rules.files)) else _given(settings.rules)


def _made(counts: tuple[int, ...]) -> Experiment:
    sizes = tuple(sorted({count for count in counts if count > 0}))
    rules = {size: list(literal(size)) for size in sizes}
    variants = [_none()]
    for size in sizes:
        variants += _pair(size, b"".join(rules[size]), fragment(rules[size]))
    attacks = [Attack(variant.name, *question, LOAD) for variant in variants for question in _questions(variant.size)]
    return _experiment(variants, attacks)


def _given(config: Config) -> Experiment:
    emission = proved(config)
    count = emission.plan.rules.total
    before, after = _pair(count, config.main.source.data, parts(emission))
    variants = [_none(), before, after]
    attacks = [Attack(NONE, "far miss", (Target(FAR_MISS.decode(), _OK),), LOAD)]
    attacks += [
        Attack(variant.name, case, (Target(path, None),), LOAD)
        for variant in (before, after)
        for case, path in _paths(emission).items()
    ]
    return _experiment(variants, attacks)


def _maps(config: Config) -> Experiment:
    """Return the experiment on each map with regular expressions that becomes a tree."""
    maps = regex_maps.measured(config)
    none = Target("/no-map", ExpectedResponse(301, regex_maps.NO_VALUE))
    variants, attacks = [_none(regex_maps.server(""))], []
    for each in maps:
        of_map = "" if len(maps) == 1 else f" of {each.variable}"
        pair = _pair_of_map(each, of_map)
        variants += pair
        attacks.append(Attack(NONE, f"far miss{of_map}", (none,), LOAD))
        attacks += [
            Attack(variant.name, f"{case}{of_map}", (target,), LOAD)
            for variant in pair
            for case, target in each.targets.items()
        ]
    return replace(_experiment(variants, attacks), title=_TITLE_OF_MAPS, expects=_EXPECTS_OF_MAPS, published=())


def _experiment(variants: list[Variant], attacks: list[Attack]) -> Experiment:
    # Case by case, so that attacks that are compared follow each other.
    cases = dict.fromkeys(attack.case for attack in attacks)
    ordered = tuple(attack for case in cases for attack in attacks if attack.case == case)
    others = [variant.name for variant in variants if variant.name != NONE]
    pairs = [VariantPair(before, after) for before, after in zip(others[::2], others[1::2], strict=True)]
    return Experiment(
        "rewrites",
        "Rewrites and the maps they compile to",
        _EXPECTS,
        tuple(variants),
        ordered,
        (*pairs, *(VariantPair(NONE, name) for name in others)),
        "latency",
        _PUBLISHED,
        baseline=NONE,
    )


def _none(server: str = _SERVER) -> Variant:
    return Variant(NONE, "the server without rules", (node("edge", server),), series=NONE, size=0)


def _pair(size: int, rules: bytes, compiled: Parts) -> tuple[Variant, Variant]:
    """Return the variants with the rules and with what they compile to."""
    before = node("edge", f"include rules.conf;\n{_SERVER}", files={"rules.conf": rules})
    files = {"http.conf": compiled.http, "server.conf": compiled.server}
    after = node("edge", f"include server.conf;\n{_SERVER}", http="include http.conf;", files=files)
    return (
        Variant(f"{size} rewrites", "the rules, one after the other", (before,), series="rewrites", size=size),
        Variant(f"{size} compiled", "the maps of the rules", (after,), series="compiled", size=size),
    )


def _pair_of_map(each: MeasuredMap, of_map: str) -> tuple[Variant, Variant]:
    """Return the variants with a map and with its tree."""
    before, after = (
        node("edge", regex_maps.server(each.variable), http="include maps.conf;", files={"maps.conf": text})
        for text in (each.before, each.after)
    )
    size = each.rows
    return (
        Variant(f"{size} rows{of_map}", "the rows, one after the other", (before,), series="rows", size=size),
        Variant(f"{size} compiled{of_map}", "the tree of the rows", (after,), series="compiled", size=size),
    )


def _questions(size: int | None) -> Iterator[tuple[str, tuple[Target, ...]]]:
    """Yield the cases of generated rules, and the targets of each."""
    size = size or 0
    yield "far miss", (Target(FAR_MISS.decode(), _OK),)
    yield "near miss", (Target(uri(size).decode(), _OK),)
    if size:
        for case, number in (("hit first", 0), ("hit middle", size // 2), ("hit last", size - 1)):
            to = f"https://bench.test{location(number).decode()}"
            yield case, (Target(uri(number).decode(), ExpectedResponse(301, to), headers=(("Host", "bench.test"),)),)


def _paths(emission: Emission) -> dict[str, str]:
    """Return the URI of each case of a user's rules, which determine its response."""
    rules = emission.plan.config.main.block.directives()
    patterns = [encode(rule.args[0]) for rule in rules if rule.name == "rewrite"]
    runs = [run.native for part in emission.plan.rules.parts for run in part.compiled]
    matched = [uri for run in runs for uri in (*run.sample, *run.witnesses(_WITNESSES))]
    # Without URIs that ordinary clients never send, such as those with a final newline, which `$` allows.
    plain = [uri for uri in matched if receivable(uri) and percent_encode(uri) == uri]
    return {case: percent_encode(path).decode() for case, path in cases(patterns, plain, FAR_MISS).items()}


SCENARIO = Scenario("rewrites", "Compare rewrites with the maps they compile to", build)
