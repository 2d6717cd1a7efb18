"""The HTML report: valid, self-contained, with every number and sentence."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from nginxopt.bench import measure
from nginxopt.bench.report import html, numbers, sentences
from nginxopt.bench.result import Ratio, Result, to_json
from nginxopt.bench.saved import from_json
from nginxopt.bench.scenario import Attack, Experiment, OpenLoop, Target, Variant
from tests.bench.pages import HTML, NONE, ROUNDS, experiment, parsed, result_of, words

pytestmark = pytest.mark.no_cover

HOSTILE = "</svg><script>alert('1')</script>\"&{{ 7 * 7 }}\x00\x1b\ud800\u202e"


def test_page_is_valid_and_stands_alone(page: str) -> None:
    """The page is HTML without an error, small, without scripts, and names nothing to be loaded."""
    document = parsed(page)
    assert len(page.encode()) < 1_000_000
    tags = {str(element.tag).partition("}")[2] for element in document.iter()}
    assert {"svg", "table", "style"} <= tags
    assert not tags & {"script", "link", "img", "iframe", "object", "embed", "image", "use", "foreignObject"}
    for element in document.iter():
        for name, text in element.attrib.items():
            assert name.rpartition("}")[2] not in ("href", "src", "srcset", "action")
            assert not name.startswith("on")
            assert "url(" not in text
    assert "url(" not in page
    assert "@import" not in page
    assert set(re.findall(r"https?://[^\"' <]*", page)) <= {"http://www.w3.org/2000/svg"}


def test_ids_are_unique(page: str) -> None:
    """No id comes twice: charts have none, so that as many as there are can stand on one page."""
    ids = [element.attrib["id"] for element in parsed(page).iter() if "id" in element.attrib]
    assert ids
    assert len(set(ids)) == len(ids)


def test_every_number_is_in_the_page(result: Result, page: str) -> None:
    """Each figure of each attack, each compared ratio with its interval, each gate and each error is in a table."""
    cells = {element.text for element in parsed(page).iter(f"{HTML}td")}
    shown = (*(f"p{rank}" for rank in measure.PERCENTILES), "mean", "throughput", "hits_a_day", "errors", "cpu", "rss")
    for summary in result.summaries:
        assert {
            numbers.quantity(figure, summary.figures[figure]) for figure in (*shown, "pss", "accepts.edge")
        } <= cells
    for seconds in result.test_seconds.values():
        assert numbers.quantity("mean", seconds) in cells
    compared = [ratio for ratio in result.ratios if ratio.figure in ("p50", "p99", "mean", "cpu")]
    assert compared
    for ratio in compared:
        assert numbers.change(ratio).replace(" (", "\n").removesuffix(")") in cells
    assert str(2 * ROUNDS) in cells
    text = words(page)
    for verdict, margin in zip(result.gates, ("4.8% inside the limit", "2 beyond the limit"), strict=True):
        assert verdict.gate in text
        assert margin in text


def test_what_was_run_is_in_the_page(result: Result, page: str) -> None:
    """The page shows variants, loads, published and measured figures, versions, machine and commands."""
    text = words(page)
    for variant in result.experiment.variants:
        assert f"{variant.says}; edge: nginx with one worker" in text
    assert "1,000 requests per second for 2 s, connections are kept: GET /favicon.ico" in text
    assert "At 1,000 requests per second, 43% of the capacity of the slowest variant (2,345)." in text
    (ours,) = (
        ratio for ratio in result.ratios if (ratio.before, ratio.after, ratio.figure) == (NONE, "10000 rewrites", "p50")
    )
    assert f"far miss: {numbers.change(ours)}" in text
    assert "not measured alike" in text
    command = "nginxopt bench rewrites --output 'a file.html'"
    for expected in (command, "2 x a CPU", "0.5, 0.25, 0.125", "vegeta 12.12.0"):
        assert expected in text


def test_answers_are_sentences(result: Result, page: str) -> None:
    """A comparison says in how many cases a figure is lower or higher, and where no difference was seen."""
    text = words(page)
    ratios = [ratio.ratio for ratio in result.ratios if (ratio.before, ratio.figure) == ("10000 rewrites", "cpu")]
    low, high = (numbers.times(pick(ratios)) for pick in (min, max))
    assert low == high
    assert f"CPU per request: lower in 2 of 2 cases ({low} x)." in text
    same = [ratio for ratio in result.ratios if (ratio.after, ratio.figure) == ("500 compiled", "p50")]
    assert [ratio.before for ratio in same if not ratio.difference] == [NONE]


@pytest.mark.parametrize(
    ("ratios", "sentence", "range_"),
    [
        ([(0.5, 0.4, 0.6, True)], "Median latency: 0.50 x (0.40 to 0.60).", "2.0 times lower"),
        ([(0.5, 0.4, 1.6, False)], "Median latency: no difference seen (0.40 to 1.60 x).", "no difference seen"),
        (
            [(0.5, 0.4, 0.6, True), (0.25, 0.2, 0.3, True), (3, 2, 4, True), (1, 0.9, 1.1, False), (2, 1.5, 3, False)],
            "Median latency: lower in 2 of 5 cases (0.25 to 0.50 x), higher in 1 of 5 cases (3.00 x);"
            " no difference seen in 1; too few rounds in 1.",
            "4.0 times lower (1) to 3.0 times higher (2)",
        ),
        (
            [(1, 0.9, 1.1, False), (2, 1.5, 3, False)],
            "Median latency: no difference seen in 1; too few rounds in 1 of 2 cases.",
            "too few rounds",
        ),
        ([(1, 0.9, 1.1, False)] * 2, "Median latency: no difference seen in 2 of 2 cases.", "no difference seen"),
    ],
)
def test_sentences(ratios: list[tuple[float, float, float, bool]], sentence: str, range_: str) -> None:
    """Over the cases of a comparison it is counted where a figure is lower, higher, the same, or cannot be told."""
    ratios_ = [Ratio("a", "b", str(case), "p50", *values) for case, values in enumerate(ratios)]
    assert sentences.conclusion("p50", ratios_) == sentence
    assert sentences.headline(ratios_) == range_


def test_a_busy_node_is_noted(result: Result) -> None:
    """A case in which a node was near its capacity says so above all figures."""
    busy = replace(result, rates=dict.fromkeys(result.rates, 1500.0))
    text = words(html.render(busy))
    assert "Note: far miss, 10000 rewrites: edge took 78% of a CPU; near capacity" in text
    assert "500 rewrites: edge took" not in text


@pytest.mark.slow
def test_hostile_words_are_words() -> None:
    """Names, notes and provenance with markup, templates and what no document can hold change nothing but the text."""
    experiment_ = experiment(case=HOSTILE)
    renamed = replace(experiment_, title=HOSTILE, notes=(HOSTILE,))
    hostile = replace(result_of(renamed), provenance={"nginx": HOSTILE, "command": [HOSTILE], "date": HOSTILE})
    text = html.render(hostile)
    assert "<script" not in text
    assert "49" not in re.findall(r"<h1>.*?</h1>", text, re.DOTALL)[0]
    assert text.count("<svg") == text.count("</svg>")
    assert "alert('1')" in words(text)


def test_same_result_same_page(result: Result, page: str) -> None:
    """A result read from its JSON is the same, as JSON and as a page."""
    again = from_json(to_json(result).encode(), "result.json")
    assert to_json(again) == to_json(result)
    assert html.render(again) == page


def test_many_variants_have_several_tables(result: Result) -> None:
    """More variants than fit on paper stand in several tables, each once."""
    names = [f"variant {number}" for number in range(8)]
    experiment_ = Experiment(
        "compare",
        "Many",
        "",
        tuple(Variant(name, name, ()) for name in names),
        tuple(Attack(name, "all", (Target("/", None),), OpenLoop(10.0, 1)) for name in names),
        (),
        "latency",
    )
    samples = tuple(replace(result.samples[0], variant=name, case="all") for name in names)
    result_ = Result(experiment_, 1, samples, measure.summaries(samples), ())
    heads = [
        [cell.text for cell in table.iter(f"{HTML}th") if cell.get("scope") == "col"][1:]
        for table in parsed(html.render(result_)).iter(f"{HTML}table")
    ]
    assert heads == [names[:6], names[6:]]
