"""How a load is divided, clocks are compared, and results are merged."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nginxopt.bench import measure
from nginxopt.bench.load import vegeta
from nginxopt.bench.load_workers import clock, merge
from nginxopt.bench.load_workers.clock import Trip
from nginxopt.bench.load_workers.shares import shares
from nginxopt.bench.scenario import ClosedLoop, OpenLoop, Target
from nginxopt.errors import RunError

TARGETS = tuple(Target(f"/{number}") for number in range(7))
FIXTURES = Path(__file__).parent / "vegeta"

counts = st.integers(1, 5000)
workers = st.integers(1, 40)


@given(rate=counts, workers=workers)
def test_rates_add_up(rate: int, workers: int) -> None:
    """The rates of all shares add up to the rate, are whole numbers, and differ by one at most."""
    parts = shares(OpenLoop(rate, 1), TARGETS, workers)
    rates = [part.load.rate or 0 for part in parts if isinstance(part.load, OpenLoop)]
    assert len(parts) == len(rates) == min(rate, workers)
    assert sum(rates) == rate
    assert all(part == int(part) >= 1 for part in rates)
    assert max(rates) - min(rates) <= 1


@given(connections=counts, requests=st.none() | counts, workers=workers)
def test_connections_and_requests_add_up(connections: int, requests: int | None, workers: int) -> None:
    """The connections of all shares add up, the requests too, and each share has at least one of both."""
    parts = shares(ClosedLoop(connections, 1, requests), TARGETS, workers)
    loads = [part.load for part in parts if isinstance(part.load, ClosedLoop)]
    assert sum(load.connections for load in loads) == connections
    assert all(load.connections >= 1 for load in loads)
    if requests is None:
        assert all(load.requests is None for load in loads)
    else:
        assert sum(load.requests or 0 for load in loads) == requests
        assert all((load.requests or 0) >= 1 for load in loads)


@given(share=st.integers(1, 9), workers=st.integers(1, 9))
def test_equal_shares_are_one_generator(share: int, workers: int) -> None:
    """With equal rates, the requests of all workers are those of one generator, in its order and at its times."""
    rate = share * workers
    parts = shares(OpenLoop(rate, 1), TARGETS, workers)
    sent = [
        (round(part.first + turn * workers / rate, 6), part.targets[turn % len(TARGETS)].path)
        for part in parts
        for turn in range(share)
    ]
    first = parts[0].first
    assert sorted(sent) == [(round(first + turn / rate, 6), f"/{turn % len(TARGETS)}") for turn in range(rate)]


def test_less_than_a_request_for_each() -> None:
    """At one request a second, one of three workers makes it; a rate that is no whole number is rounded as always."""
    (part,) = shares(OpenLoop(1, 5), TARGETS, 3)
    assert part.load == OpenLoop(1, 5)
    assert part.targets == TARGETS
    rates = [part.load.rate for part in shares(OpenLoop(10.4, 5), TARGETS, 3) if isinstance(part.load, OpenLoop)]
    assert rates == [4, 3, 3]


@given(
    offset=st.floats(-4000, 4000),
    ways=st.lists(st.tuples(st.floats(0.0001, 2), st.floats(0.0001, 2)), min_size=1, max_size=8),
)
def test_the_offset_of_a_clock_is_within_its_error(offset: float, ways: list[tuple[float, float]]) -> None:
    """Whatever the ways there and back take, the true offset is not further away than the error that is reported."""
    measured = clock.compare(Trip(100, 100 + there + offset, 100 + there + back) for there, back in ways)
    assert abs(measured.offset - offset) <= measured.error + 1e-6
    assert measured.error == pytest.approx(min(there + back for there, back in ways) / 2)


def test_an_offset_that_may_be_none_is_none() -> None:
    """Times are corrected by an hour, and not by what a round trip alone explains."""
    assert clock.compare([Trip(10, 3610.5, 11)]).correction == 3600
    assert clock.compare([Trip(10, 10.9, 11)]).correction == 0


def parts() -> list[bytes]:
    """The results of two attacks, as vegeta encoded them."""
    return [path.read_bytes() for path in sorted(FIXTURES.glob("*.csv"))]


def test_merged_results_are_exact() -> None:
    """Percentiles, statuses and errors are those of all requests; times are on one clock, and numbers count all."""
    first, second = parts()
    ahead = [(first, 0.0), (shifted(second, 3600), 3600.0)]
    merged = merge.merged(ahead)
    outcome, alone = vegeta.parse(merged, "raw"), [vegeta.parse(part, "raw") for part in (first, second)]
    assert outcome == vegeta.parse(first + second, "raw")
    assert outcome.requests == sum(one.requests for one in alone)
    assert Counter(outcome.statuses) == Counter(alone[0].statuses) + Counter(alone[1].statuses)
    answered = sorted(int(row[2]) / 1e9 for row in rows(first + second) if not measure.has_failed(row[1]))
    assert dict(outcome.percentiles) == measure.percentiles(answered)
    assert outcome.percentiles["p50"] != (alone[0].percentiles["p50"] + alone[1].percentiles["p50"]) / 2
    times = [int(row[0]) for row in rows(merged)]
    assert times == sorted(times)
    assert [int(row[8]) for row in rows(merged)] == list(range(outcome.requests))


@pytest.mark.skipif(shutil.which("vegeta") is None, reason="no vegeta on PATH: install it for this test")
def test_vegeta_reads_merged_results(tmp_path: Path) -> None:
    """vegeta reports of the merged file what it reports of all files."""
    reports = []
    (tmp_path / "merged.csv").write_bytes(merge.merged((part, 0.0) for part in parts()))
    for files in (["merged.csv"], [str(path) for path in sorted(FIXTURES.glob("*.csv"))]):
        command = ["vegeta", "report", "-type=json", *files]
        reports.append(json.loads(subprocess.run(command, cwd=tmp_path, capture_output=True, check=True).stdout))
    merged, separate = reports
    for name in ("requests", "status_codes", "errors", "earliest", "latest", "end"):
        assert sorted(merged[name]) == sorted(separate[name]) if name == "errors" else merged[name] == separate[name]
    assert merged["latencies"]["max"] == separate["latencies"]["max"]
    assert merged["latencies"]["mean"] == separate["latencies"]["mean"]


def test_records_span_lines() -> None:
    """An error of vegeta that has a line break or quotes stays one record."""
    data = b'2,0,5,0,0,"a ""b""\nc",,,0,GET,http://x/,\n1,200,5,0,0,,,,0,GET,http://x/,\n'
    assert [record[:2] for record in merge.records(data)] == [b"2,", b"1,"]
    merged = merge.merged([(data, 0.0)])
    assert [row[5] for row in rows(merged)] == ["", 'a "b"\nc']


def test_no_results() -> None:
    """Without a record there is no first request, and what is no record is refused."""
    assert merge.first_start(b"") is None
    assert merge.first_start(b"2000000000,\n1500000000,\n") == 1.5
    with pytest.raises(ValueError, match="invalid literal"):
        merge.first_start(b"not found\n")
    with pytest.raises(RunError, match="no request"):
        vegeta.parse(merge.merged([]), "raw")


def rows(data: bytes) -> list[list[str]]:
    """The fields of records."""
    return list(csv.reader(io.StringIO(data.decode())))


def shifted(data: bytes, seconds: int) -> bytes:
    """Results from a clock that is ahead."""
    lines = (line.partition(b",") for line in data.splitlines(keepends=True))
    return b"".join(b"%d,%b" % (int(time) + seconds * 10**9, rest) for time, _, rest in lines)
