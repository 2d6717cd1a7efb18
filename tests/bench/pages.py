"""Results with everything that a page can show, and a parser for the page."""

from __future__ import annotations

from xml.etree.ElementTree import Element

import html5lib

from nginxopt.bench import gate, measure
from nginxopt.bench.result import NodeUse, Outcome, Result, Sample
from nginxopt.bench.scenario import Attack, Experiment, Node, OpenLoop, Published, Target, Variant, VariantPair

HTML, SVG = "{http://www.w3.org/1999/xhtml}", "{http://www.w3.org/2000/svg}"


ROUNDS = 5


SIZES = (0, 500, 10_000)


NONE = "no rules"


def experiment(case: str = "far miss") -> Experiment:
    """Rewrites as the scenario has them, without rules in them."""
    nodes = (Node("edge", b"", says="nginx with one worker"),)
    variants = [Variant(NONE, "the server without rules", nodes, series=NONE, size=0)]
    for size in SIZES[1:]:
        for series in ("rewrites", "compiled"):
            variants.append(Variant(f"{size} {series}", f"the {series}", nodes, series=series, size=size))
    attacks = [
        Attack(variant.name, name, (Target("/favicon.ico", None),), OpenLoop(1000.0, 2))
        for name in (case, "hit last")
        for variant in variants
        if variant.size or name == case
    ]
    pairs = [VariantPair(f"{size} rewrites", f"{size} compiled") for size in SIZES[1:]]
    pairs += [VariantPair(NONE, variant.name) for variant in variants[1:]]
    published = (
        Published("median, 0 to 10,000 rewrites", "132.126 us", "906.9 us", 6.86, "p50", (NONE, "10000 rewrites")),
        Published("time of 100 requests", "1.765 s", "1.247 s", 0.71),
    )
    return Experiment(
        "rewrites",
        "Rewrites and the maps they compile to",
        "Compiled, they stay as without rules.",
        tuple(variants),
        tuple(attacks),
        tuple(pairs),
        "latency",
        published,
        NONE,
        notes=("the origin answers at once.",),
    )


def sample(attack: Attack, size: int, number: int) -> Sample:
    """A sample whose latencies grow with the number of rewrites."""
    cost = size * 50e-9 if "rewrites" in attack.variant else 0
    latencies = sorted((100e-6 + cost) * (1 + number / 100) * 1.005**index for index in range(600))
    return Sample(
        attack.variant,
        attack.case,
        number,
        Outcome(
            600,
            0.6,
            measure.percentiles(latencies),
            measure.histogram(latencies),
            {"200": 598, "0": 2},
            {"timeout": 2},
        ),
        {"edge": NodeUse(600 * (20e-6 + cost), 12_000_000 + size * 1000, 4_000_000, 10, 600)},
        7,
    )


def result_of(plan: Experiment) -> Result:
    """The result of a run of an experiment, with gates, all of it made up and the same every time."""
    sizes = {variant.name: variant.size or 0 for variant in plan.variants}
    samples = tuple(
        sample(attack, sizes[attack.variant], number) for number in range(1, ROUNDS + 1) for attack in plan.attacks
    )
    summaries, ratios = measure.summaries(samples), measure.ratios(plan, samples)
    gates = gate.check([gate.parse("p50<=1.05x none"), gate.parse("errors==0")], plan, summaries, ratios)
    return Result(
        plan,
        ROUNDS,
        samples,
        summaries,
        ratios,
        gates,
        dict.fromkeys(plan.cases, 1000.0),
        {plan.cases[0]: 2345.0},
        {name: 0.0125 + place / 1000 for place, name in enumerate(sizes)},
        {
            "date": "2026-01-02T03:04:05+00:00",
            "nginxopt": "0.1.0",
            "command": ["nginxopt", "bench", "rewrites", "--output", "a file.html"],
            "kernel": "Linux 6.1",
            "architecture": "x86_64",
            "cpu": "a CPU",
            "cpus": 2,
            "memory": 4_000_000_000,
            "load": [0.5, 0.25, 0.125],
            "nginx": "nginx 1.22.1",
            "path": "/usr/sbin/nginx",
            "runner": "local",
            "generator": "vegeta 12.12.0",
            "commands": {f"{attack.variant}, {attack.case}": "vegeta attack -rate=1000/1s" for attack in plan.attacks},
        },
    )


def parsed(page: str) -> Element:
    """The document; fails where a parser of HTML would have to guess."""
    document = html5lib.HTMLParser(strict=True).parse(page)
    assert isinstance(document, Element)
    return document


def words(page: str) -> str:
    """The text of the document outside of its style."""
    document = parsed(page)
    elements = [element for element in document.iter() if element.tag != f"{HTML}style"]
    return "\n".join(text for element in elements for text in (element.text, element.tail) if text)
