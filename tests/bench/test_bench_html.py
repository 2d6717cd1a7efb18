"""The report of a benchmark as a page: what is in it, and how a browser shows it."""

from __future__ import annotations

import io
import json
import re
import sys
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import html5lib
import pypdf
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nginxopt import cli
from nginxopt.bench import gate, measure
from nginxopt.bench.catalogue import catalogue
from nginxopt.bench.report import charts, html, numbers, sentences, table, vega
from nginxopt.bench.result import NodeUse, Outcome, Ratio, Result, Sample, to_dict, to_json
from nginxopt.bench.saved import from_json
from nginxopt.bench.scenario import Attack, Comparison, Experiment, Node, OpenLoop, Published, Settings, Target, Variant
from nginxopt.errors import InputError, MissingError
from tests.browser import Page, browser, needs_chromium

HTML, SVG = "{http://www.w3.org/1999/xhtml}", "{http://www.w3.org/2000/svg}"
HOSTILE = "</svg><script>alert('1')</script>\"&{{ 7 * 7 }}\x00\x1b\ud800\u202e"
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
        Attack(variant.name, each, (Target("/favicon.ico", None),), OpenLoop(1000.0, 2))
        for each in (case, "hit last")
        for variant in variants
        if variant.size or each == case
    ]
    pairs = [Comparison(f"{size} rewrites", f"{size} compiled") for size in SIZES[1:]]
    pairs += [Comparison(NONE, variant.name) for variant in variants[1:]]
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


def result_of(asked: Experiment) -> Result:
    """The result of a run of an experiment, with gates, all of it made up and the same every time."""
    sizes = {variant.name: variant.size or 0 for variant in asked.variants}
    samples = tuple(
        sample(attack, sizes[attack.variant], number) for number in range(1, ROUNDS + 1) for attack in asked.attacks
    )
    summaries, ratios = measure.summaries(samples), measure.ratios(asked, samples)
    gates = gate.check([gate.parse("p50<=1.05x none"), gate.parse("errors==0")], asked, summaries, ratios)
    return Result(
        asked,
        ROUNDS,
        samples,
        summaries,
        ratios,
        gates,
        dict.fromkeys(asked.cases, 1000.0),
        {asked.cases[0]: 2345.0},
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
            "commands": {f"{attack.variant}, {attack.case}": "vegeta attack -rate=1000/1s" for attack in asked.attacks},
        },
    )


@pytest.fixture(scope="module")
def result() -> Result:
    """A result with everything a page can show."""
    return result_of(experiment())


@pytest.fixture(scope="module")
def page(result: Result) -> str:
    """Its page."""
    return html.render(result)


def parsed(page: str) -> Element:
    """The document; fails where a parser of HTML would have to guess."""
    found = html5lib.HTMLParser(strict=True).parse(page)
    assert isinstance(found, Element)
    return found


def words(page: str) -> str:
    """The text of the document outside of its style."""
    document = parsed(page)
    return "\n".join(
        text for each in document.iter() if each.tag != f"{HTML}style" for text in (each.text, each.tail) if text
    )


def test_page_is_valid_and_stands_alone(page: str) -> None:
    """The page is HTML without an error, small, without scripts, and names nothing to be loaded."""
    document = parsed(page)
    assert len(page.encode()) < 1_000_000
    tags = {str(each.tag).partition("}")[2] for each in document.iter()}
    assert {"svg", "table", "style"} <= tags
    assert not tags & {"script", "link", "img", "iframe", "object", "embed", "image", "use", "foreignObject"}
    for each in document.iter():
        for name, text in each.attrib.items():
            assert name.rpartition("}")[2] not in ("href", "src", "srcset", "action")
            assert not name.startswith("on")
            assert "url(" not in text
    assert "url(" not in page
    assert "@import" not in page
    assert set(re.findall(r"https?://[^\"' <]*", page)) <= {"http://www.w3.org/2000/svg"}


def test_ids_are_unique(page: str) -> None:
    """No id comes twice: charts have none, so that as many as there are can stand on one page."""
    ids = [each.attrib["id"] for each in parsed(page).iter() if "id" in each.attrib]
    assert ids
    assert len(set(ids)) == len(ids)


def test_every_number_is_in_the_page(result: Result, page: str) -> None:
    """Each figure of each attack, each compared ratio with its interval, each gate and each error is in a table."""
    cells = {each.text for each in parsed(page).iter(f"{HTML}td")}
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
    for found, margin in zip(result.gates, ("4.8% inside the limit", "2 beyond the limit"), strict=True):
        assert found.gate in text
        assert margin in text


def test_what_was_run_is_in_the_page(result: Result, page: str) -> None:
    """Variants, loads, published figures with ours beside them, versions, machine and commands are told."""
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
    for said in ("nginxopt bench rewrites --output 'a file.html'", "2 x a CPU", "0.5, 0.25, 0.125", "vegeta 12.12.0"):
        assert said in text


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
    ("ratios", "said", "range_"),
    [
        ([(0.5, 0.4, 0.6, True)], "Median latency: 0.50 x (0.40 to 0.60).", "0.50 x"),
        ([(0.5, 0.4, 1.6, False)], "Median latency: no difference seen (0.40 to 1.60 x).", "no difference seen"),
        (
            [(0.5, 0.4, 0.6, True), (0.25, 0.2, 0.3, True), (3, 2, 4, True), (1, 0.9, 1.1, False), (2, 1.5, 3, False)],
            "Median latency: lower in 2 of 5 cases (0.25 to 0.50 x), higher in 1 of 5 cases (3.00 x);"
            " no difference seen in 1; too few rounds in 1.",
            "0.25 to 3.00 x",
        ),
        (
            [(1, 0.9, 1.1, False), (2, 1.5, 3, False)],
            "Median latency: no difference seen in 1; too few rounds in 1 of 2 cases.",
            "too few rounds",
        ),
        ([(1, 0.9, 1.1, False)] * 2, "Median latency: no difference seen in 2 of 2 cases.", "no difference seen"),
    ],
)
def test_sentences(ratios: list[tuple[float, float, float, bool]], said: str, range_: str) -> None:
    """Over the cases of a comparison it is counted where a figure is lower, higher, the same, or cannot be told."""
    found = [Ratio("a", "b", str(case), "p50", *each) for case, each in enumerate(ratios)]
    assert sentences.conclusion("p50", found) == said
    assert sentences.headline(found) == range_


def test_a_busy_node_is_noted(result: Result) -> None:
    """A case in which a node was near its capacity says so above all figures."""
    made = replace(result, rates=dict.fromkeys(result.rates, 1500.0))
    text = words(html.render(made))
    assert "Note: far miss, 10000 rewrites: edge took 78% of a CPU; near capacity" in text
    assert "500 rewrites: edge took" not in text


def test_hostile_words_are_words() -> None:
    """Names, notes and provenance with markup, templates and what no document can hold change nothing but the text."""
    asked = experiment(case=HOSTILE)
    renamed = replace(asked, title=HOSTILE, notes=(HOSTILE,))
    made = replace(result_of(renamed), provenance={"nginx": HOSTILE, "command": [HOSTILE], "date": HOSTILE})
    text = html.render(made)
    assert "<script" not in text
    assert "49" not in re.findall(r"<h1>.*?</h1>", text, re.DOTALL)[0]
    assert text.count("<svg") == text.count("</svg>")
    assert "alert('1')" in words(text)


@pytest.mark.parametrize(
    ("figure", "longest", "scale"), [("p50", 4, "linear"), ("p50", 80, "log"), ("cpu", 80, "linear")]
)
def test_growth_starts_at_zero_unless_it_cannot(
    result: Result, monkeypatch: pytest.MonkeyPatch, figure: str, longest: int, scale: str
) -> None:
    """A growth curve is linear from zero, but for latencies that differ too much; its scale holds every value."""
    specs: list[Any] = []

    def kept(spec: Any, *_: str) -> str:
        specs.append(spec)
        return ""

    monkeypatch.setattr(vega, "svg", kept)
    last = result.experiment.variants[-2].name
    samples = []
    for each in result.samples:
        percentiles = {**each.outcome.percentiles, "p50": (longest if each.variant == last else 1) * 100e-6}
        samples.append(replace(each, outcome=replace(each.outcome, percentiles=percentiles)))
    made = replace(result, samples=tuple(samples), summaries=measure.summaries(samples))
    drawn = charts.growth(made, figure)
    assert drawn is not None
    assert ("logarithmic" in drawn.caption) == (scale == "log")
    assert len(specs) == 2
    for spec in specs:
        axis = spec["encoding"]["y"]["scale"]
        low, high = axis["domain"]
        assert axis["type"] == scale
        assert (low == 0) == (scale == "linear")
        values = [row["value"] for layer in spec["layer"] for row in layer["data"]["values"]]
        assert low <= min(values)
        assert max(values) <= high


def test_charts_are_named(page: str) -> None:
    """Each chart is an image with a title and a description for a screen reader, and its parts stay inside."""
    drawn = [each for each in parsed(page).iter(f"{SVG}svg") if each.get("role") == "img"]
    assert len(drawn) == 6 + 2 * 2 + 2  # comparisons; two growth curves and the distribution, by case
    for chart in drawn:
        assert chart[0].tag == f"{SVG}title"
        assert chart[1].tag == f"{SVG}desc"
        assert chart.get("viewBox")
        assert chart.get("width") is None
    assert len({chart[0].text for chart in drawn}) == len(drawn)


def test_same_result_same_page(result: Result, page: str) -> None:
    """A result read from its JSON is the same, as JSON and as a page."""
    again = from_json(to_json(result).encode(), "result.json")
    assert to_json(again) == to_json(result)
    assert html.render(again) == page


def test_instructions_have_growth_and_no_distribution(result: Result) -> None:
    """Of a run that counted instructions there are their ratios and their growth, and nothing of latencies."""
    sizes = {variant.name: variant.size or 0 for variant in result.experiment.variants}
    counted = tuple(
        Sample(each.variant, each.case, 1, instructions=5000.0 + 100 * sizes[each.variant])
        for each in result.samples
        if each.round == 1
    )
    asked = replace(result.experiment, metric="instructions")
    made = replace(
        result,
        experiment=asked,
        samples=counted,
        summaries=measure.summaries(counted),
        ratios=measure.ratios(asked, counted),
        gates=(),
        complete=False,
    )
    text = words(html.render(made))
    assert "Instructions per request by number of rules" in text
    assert "callgrind, one request after the other: GET /favicon.ico" in text
    assert f"The run ended early: these figures include {len(counted)} load runs" in text
    assert "Latency distribution" not in text
    assert "Gates" not in text


def test_many_variants_have_several_tables(result: Result) -> None:
    """More variants than fit on paper stand in several tables, each once."""
    names = [f"variant {number}" for number in range(8)]
    asked = Experiment(
        "compare",
        "Many",
        "",
        tuple(Variant(name, name, ()) for name in names),
        tuple(Attack(name, "all", (Target("/", None),), OpenLoop(10.0, 1)) for name in names),
        (),
        "latency",
    )
    samples = tuple(replace(result.samples[0], variant=name, case="all") for name in names)
    made = Result(asked, 1, samples, measure.summaries(samples), ())
    heads = [
        [each.text for each in found.iter(f"{HTML}th") if each.get("scope") == "col"][1:]
        for found in parsed(html.render(made)).iter(f"{HTML}table")
    ]
    assert heads == [names[:6], names[6:]]


@given(
    st.lists(
        st.dictionaries(st.sampled_from(measure.BOUNDS), st.integers(1, 1000), min_size=1, max_size=30),
        min_size=1,
        max_size=3,
    )
)
def test_distribution_is_monotone(histograms: list[dict[float, int]]) -> None:
    """The points of a distribution go up and to the right, from no more than all requests to no more than one."""
    samples = [Sample("", "", 1, Outcome(1, 1.0, {"p100": max(found)}, tuple(found.items()))) for found in histograms]
    points = list(charts.exceeded(samples))
    total = sum(sum(found.values()) for found in histograms)
    assert points == sorted(points)
    assert points[0][0] >= 1
    assert points[-1] == (float(total), max(max(found) for found in histograms))


def test_distribution_of_percentiles() -> None:
    """Where no histogram was kept, the percentiles are the distribution."""
    found = [Sample("", "", 1, Outcome(1, 1.0, {"p50": 0.001, "p99": 0.004, "p100": 0.1}))]
    assert list(charts.exceeded(found)) == [(2.0, 0.001), (100.0, 0.004)]


@given(st.floats(1e-9, 1e9), st.floats(1.01, 1e9))
def test_ticks_are_round_and_inside(low: float, span: float) -> None:
    """The marks of a logarithmic scale lie on it, ascend, and are few."""
    high = low * span
    found = list(charts.ticks(low, high))
    assert found == sorted(found)
    assert all(low <= tick <= high for tick in found)
    assert len(found) <= 10


def damaged() -> Iterator[bytes]:
    """A result with each of its parts gone, or something else in its place."""
    whole = to_dict(result_of(experiment()))
    small = {
        **whole,
        "samples": whole["samples"][:1],
        "summaries": whole["summaries"][:1],
        "ratios": whole["ratios"][:1],
    }
    yield from (b"", b"[]", b"nothing", b"\xff", b'{"format": 2}', b'{"format": 1}', b"[" * 100_000)
    yield json.dumps(small).replace("0.0002", "NaN").encode()
    others: tuple[Any, ...] = (None, [1], "text", {"x": []})
    for path in paths(small):
        for other in others:
            yield json.dumps(changed(small, path, other)).encode()
        yield json.dumps(changed(small, path)).encode()


def paths(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places in JSON, of a list that of its first item only."""
    items = data.items() if isinstance(data, dict) else list(enumerate(data))[:1] if isinstance(data, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from paths(inner, (*path, key))


def changed(data: Any, path: tuple[Any, ...], *other: Any) -> Any:
    """JSON with something else at a place, or nothing."""
    key, *rest = path
    copy = dict(data) if isinstance(data, dict) else list(data)
    if rest:
        copy[key] = changed(data[key], tuple(rest), *other)
    elif other:
        copy[key] = other[0]
    else:
        del copy[key]
    return copy


def test_damaged_results_are_refused_or_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is no result is refused with its name; what is read can be shown, whatever is in it."""
    monkeypatch.setattr(vega, "svg", lambda spec, *_: str(len(json.dumps(spec))))
    refused = []
    for data in damaged():
        try:
            read = from_json(data, "bad.json")
        except InputError as error:
            refused.append(error.render())
        else:
            assert "\n".join(table.lines(read))
            assert html.render(read)
    assert len(refused) > 100
    assert all(text.startswith("bad.json: ") for text in refused)


def test_report_command(
    result: Result,
    page: str,
    tmp_path: Path,
    capfdbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An earlier result is told again, as a page or as a table, on standard output or in a file."""
    saved, written = tmp_path / "result.json", tmp_path / "result.html"
    saved.write_text(to_json(result))

    def run(*args: str, name: str = "report") -> tuple[int, bytes]:
        with pytest.raises(SystemExit) as ended:
            cli.main(["bench", name, *args])
        assert isinstance(ended.value.code, int)
        return ended.value.code, capfdbinary.readouterr().out

    assert run(str(saved), "--output", str(written)) == (0, b"")
    assert written.read_text() == page
    assert run(str(saved), "--format", "table") == (0, ("\n".join(table.lines(result)) + "\n").encode())
    assert run(str(written)) == (3, b"")
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    assert run(str(saved)) == (4, b"")
    assert run("--counts", "1", "--format", "html", "--output", str(tmp_path / "x"), name="rewrites") == (4, b"")
    assert not (tmp_path / "x.run").exists()  # it is said before the run


def test_without_what_draws(result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra, the page is refused with what to install."""
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(MissingError, match="vl-convert-python") as caught:
        html.render(result)
    assert "nginxopt[html]" in caught.value.render()


def test_published_figures_are_of_variants() -> None:
    """What a scenario says a published figure is here, is a figure and a comparison of its own."""
    for name, scenario in catalogue().items():
        if name == "rewrites":
            continue  # 10,000 rules take a while to compile
        asked = scenario.build(Settings())
        pairs = {(pair.before, pair.after) for pair in asked.comparisons}
        for figure in asked.published:
            assert not figure.compares or (figure.compares in pairs and figure.figure in measure.FIGURES)


@pytest.fixture(scope="module")
def shown(page: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """The page in a browser."""
    folder = tmp_path_factory.mktemp("browser")
    (folder / "report.html").write_text(page)
    with browser(folder) as tab:
        tab.open(folder / "report.html")
        yield tab


WIDTHS = (320, 390, 768, 1440, 2560)

# Every text that shows, with its colour and that of what lies behind it, as the browser computed them.
TEXTS = """
(() => {
  const numbers = color => color.match(/[\\d.]+/g).map(Number)
  const behind = each => {
    for (let at = each; at; at = at.parentElement) {
      const color = numbers(getComputedStyle(at).backgroundColor)
      if (color.length < 4 || color[3] > 0) return color.slice(0, 3)
    }
    return [255, 255, 255]
  }
  const found = []
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  while (walker.nextNode()) {
    const each = walker.currentNode.parentElement
    if (!walker.currentNode.data.trim() || each.closest('title, desc')) continue
    const style = getComputedStyle(each)
    const color = each.namespaceURI.endsWith('svg') ? style.fill : style.color
    found.push([walker.currentNode.data.trim(), numbers(color).slice(0, 3), behind(each)])
  }
  return found
})()
"""

# What reaches beyond what it is in, though nothing scrolls there: elements wider than the window, and labels of charts.
BEYOND = """
[...document.querySelectorAll('body *')]
  .filter(each => !each.closest('.scroll') && !each.closest('title, desc'))
  .map(each => [each.getBoundingClientRect(), each.tagName + ' ' + each.textContent.slice(0, 30)])
  .filter(([box]) => box.width && (box.right > innerWidth + 1 || box.left < -1))
  .map(([, what]) => what)
"""

BOXES = """
[...document.querySelectorAll('svg[role=img]')].map(each => {
  const box = each.getBoundingClientRect()
  const marks = [...each.querySelectorAll('path, line')].map(mark => mark.getBoundingClientRect())
  const largest = side => Math.max(...marks.map(mark => mark[side]))
  return [box.width, box.height, largest('width'), largest('height')]
})
"""


def luminance(color: list[float]) -> float:
    """The relative luminance of an sRGB colour (WCAG 2.2)."""
    parts = [part / 255 for part in color]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: list[float], other: list[float]) -> float:
    """The contrast of two colours (WCAG 2.2): 1 to 21."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@needs_chromium
@pytest.mark.parametrize("width", WIDTHS)
def test_no_width_is_too_small(shown: Page, width: int) -> None:
    """On a phone and on a wide screen nothing reaches beyond the window but tables that scroll by themselves."""
    shown.look(width)
    assert shown.ask("document.documentElement.scrollWidth <= innerWidth")
    assert shown.ask(BEYOND) == []


@needs_chromium
@pytest.mark.parametrize("width", WIDTHS)
def test_charts_are_drawn(shown: Page, width: int) -> None:
    """Every chart has room, keeps it, and what is drawn in it has a size."""
    shown.look(width)
    boxes = shown.ask(BOXES)
    assert len(boxes) == 12
    for box_width, box_height, mark_width, mark_height in boxes:
        assert 200 < box_width <= min(width, 400)
        assert box_height > 60
        assert mark_width > 100
        assert mark_height > 30


@needs_chromium
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_texts_can_be_read(shown: Page, dark: bool) -> None:
    """In light and in dark mode every text, those of charts too, has a contrast of 4.5 or more (WCAG 2.2, AA)."""
    shown.look(1440, dark=dark)
    texts = shown.ask(TEXTS)
    assert len(texts) > 300
    assert {luminance(behind) < 0.5 for _, _, behind in texts} == {dark}
    assert [text for text, color, behind in texts if contrast(color, behind) < 4.5] == []


@needs_chromium
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_lines_can_be_told_from_the_page(shown: Page, dark: bool) -> None:
    """Each colour of a line has a contrast of 3 or more to the page (WCAG 2.2, 1.4.11), and is like no other."""
    shown.look(1440, dark=dark)
    names = ["--paper", "--baseline", *(f"--series-{number}" for number in range(charts.SERIES))]
    colors = [
        shown.ask(
            "(() => { const e = document.createElement('i'); document.body.append(e);"
            f" e.style.color = 'var({name})'; const c = getComputedStyle(e).color; e.remove();"
            " return c.match(/\\d+/g).map(Number) })()"
        )
        for name in names
    ]
    paper, *lines = colors
    assert all(contrast(paper, line) >= 3 for line in lines)
    assert len({tuple(line) for line in lines}) == len(lines)


@needs_chromium
def test_nothing_is_loaded(shown: Page) -> None:
    """The browser asks for the file itself, and for nothing else."""
    assert [address.rpartition("/")[2] for address in shown.requests()] == ["report.html"]


@needs_chromium
def test_it_prints(shown: Page, result: Result, page: str) -> None:
    """Printed from dark mode it is light, on a few pages, and all its headings and cells are there."""
    shown.look(1440, dark=True)
    shown.call(
        "Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}]
    )
    assert shown.ask("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    shown.call("Emulation.setEmulatedMedia", media="")
    document = pypdf.PdfReader(io.BytesIO(shown.pdf()))
    assert 4 <= len(document.pages) <= 9
    width, height = (round(float(side)) for side in document.pages[0].mediabox[2:])
    assert (width, height) == (595, 842)  # A4, in points
    text = "".join(found.extract_text() for found in document.pages)
    printed = re.sub(r"\s+", "", unicodedata.normalize("NFKC", text))  # fonts have ligatures
    for each in parsed(page).iter():
        if each.tag in (f"{HTML}h1", f"{HTML}h2", f"{HTML}td") and each.text:
            assert re.sub(r"\s+", "", each.text) in printed
    assert result.experiment.title.replace(" ", "") in printed
