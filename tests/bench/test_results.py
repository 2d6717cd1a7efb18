"""Results: their schema, and the table that shows them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from nginxopt.bench.report import html, numbers, table
from nginxopt.bench.result import Ratio, to_json
from nginxopt.bench.saved import from_json
from nginxopt.errors import InputError
from tests.bench.samples import result
from tests.rows import every_row
from tests.schemas import schema, validate, validator

SCHEMA = schema("bench-result")


def test_the_schema_describes_a_result() -> None:
    """The JSON of a result follows the schema, which says what each of its fields is."""
    document = json.loads(to_json(result(gates=("p50<=1x",))))
    document["provenance"] = dict.fromkeys(("date", "nginxopt", "kernel", "architecture", "cpu", "runner"), "")
    document["provenance"] |= {"command": [], "cpus": 1, "memory": 1, "load": [1.5]}
    validate(document, "bench-result")
    assert document["complete"]
    assert document["attacks"][0]["load"]["rate"] == 100
    # What the load generator saw stands among the fields of its sample, in the order of the first results.
    assert list(document["samples"][0]) == SCHEMA["$defs"]["sample"]["required"]


def test_table() -> None:
    """The table has the figures of each variant, ratios with their interval, and gates with their margin."""
    text = "\n".join(table.lines(result(gates=("p50<=0.4x",))))
    assert "before -> after: p50 0.50 x" in text
    assert "case at 100 req/s" in text
    assert "FAILED  p50<=0.4x: 0.5 (after over before, case), 25.0% beyond the limit" in text


WORKERS: dict[str, Any] = {
    "load_workers": [
        {"address": f"tcp://10.0.0.{number}:1", "host": "a", "cpus": 2, "vegeta": "vegeta 1"} for number in (1, 2)
    ],
    "load_starts": [
        {
            "variant": "none",
            "case": "case",
            "round": 1,
            "skew": 0.0021,
            "workers": [
                {"address": "tcp://10.0.0.1:1", "share": "5 req/s", "clock_offset": -3, "clock_error": 0.1, "late": 0.0}
            ],
        }
    ],
    "lost_workers": ["none, case, round 2: load worker tcp://10.0.0.2:1 is gone"],
}


def test_load_workers_are_told() -> None:
    """All reports say how far apart workers and their clocks were, and which were lost; a saved result keeps it."""
    measured = replace(result(), provenance=WORKERS)
    read = from_json(to_json(measured).encode(), "result.json")
    text = "\n".join(table.lines(read))
    assert "2 workers made the load, and started at most 2.1 ms apart." in text
    assert "Their clocks differ by at most 3 s, measured to 100 ms." in text
    assert "Lost: none, case, round 2: load worker tcp://10.0.0.2:1 is gone." in text
    page = html.render(read)
    assert '<p class="bad">Lost: none, case, round 2' in page
    properties = SCHEMA["properties"]["provenance"]["properties"]
    for name, value in WORKERS.items():
        validator(properties[name]).validate(value)


@pytest.mark.parametrize(
    "damage",
    [{"load_workers": [{}]}, {"load_starts": [{"workers": []}]}, {"load_starts": [1]}, {"lost_workers": "a"}],
)
def test_damaged_load_workers_are_refused(damage: dict[str, object]) -> None:
    """What is no worker or no start is no result."""
    with pytest.raises(InputError, match="not a benchmark result"):
        from_json(to_json(replace(result(), provenance={**WORKERS, **damage})).encode(), "result.json")


def test_the_table_tells_of_a_queue() -> None:
    """The table names a node near its capacity at the requested rate, as its latency is that of the queue."""
    queued = replace(result(), rates={"case": 100.0})
    busy = [replace(summary, figures={**summary.figures, "cpu.edge": 0.009}) for summary in queued.summaries[:1]]
    text = "\n".join(table.lines(replace(queued, summaries=(*busy, *queued.summaries[1:]))))
    assert text.count("took 90% of a CPU") == text.count("of a CPU") == 1


@every_row(
    ("figure", "number", "text"),
    [("p50", 0.000122, "122 us"), ("cpu.edge", 6.1e-6, "6.1 us"), ("throughput", 20500.0, "20,500 req/s"),
     ("throughput", 999.7, "1,000 req/s"),
     ("rss", 5.2e6, "5.2 MB"), ("errors", 0.0, "0"), ("p99", 0.0, "0 s"), ("requests.app", 0.01, "0.01")],
)  # fmt: skip
def test_values(figure: str, number: float, text: str) -> None:
    """A figure is shown with three digits and a unit that suits its size."""
    assert numbers.quantity(figure, number) == text


def test_ratios_as_they_are_shown() -> None:
    """A ratio has its interval; if that contains 1 there is no number; a count that is exact has none."""
    assert numbers.change(Ratio("a", "b", "case", "p50", 0.5, 0.4, 0.6, True)) == "0.50 x (0.40 to 0.60)"
    assert numbers.change(Ratio("a", "b", "case", "p50", 0.5, 0.4, 1.1, False)) == "no difference seen (0.40 to 1.10 x)"
    assert numbers.change(Ratio("a", "b", "case", "p50", 0.5, 0.4, 0.6, False)) == "0.50 x (too few rounds)"
    assert numbers.change(Ratio("a", "b", "case", "p99", 0.5, 0.5, 0.5, False)) == "0.50 x (too few rounds)"
    assert numbers.change(Ratio("a", "b", "case", "instructions", 1.3, 1.3, 1.3, True)) == "1.30 x"
