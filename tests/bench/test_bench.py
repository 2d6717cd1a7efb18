"""What of the bench has no effects: scenarios, folders, statistics, gates, results, and what load generators say."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from importlib import resources
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nginxopt import load_text
from nginxopt.bench import compare, gate, isolation, measure, probe, run_folder
from nginxopt.bench.benchmark import Benchmark
from nginxopt.bench.catalogue import catalogue
from nginxopt.bench.load import vegeta, wrk
from nginxopt.bench.load.vegeta import Vegeta
from nginxopt.bench.load.wrk import Wrk
from nginxopt.bench.nodes import node
from nginxopt.bench.report import numbers, table
from nginxopt.bench.result import NodeUse, Outcome, Ratio, Result, Sample, to_json
from nginxopt.bench.runner.local import directives
from nginxopt.bench.scenario import (
    Attack,
    ClosedLoop,
    Comparison,
    Expected,
    Experiment,
    OpenLoop,
    Settings,
    Target,
    Variant,
)
from nginxopt.errors import InputError, RunError, UsageError
from nginxopt.text import Source

SETTINGS = Settings(counts=(0, 3, 7))
SCENARIOS = {name: scenario.build(SETTINGS) for name, scenario in catalogue().items()}
LATENCIES = st.lists(st.floats(1e-7, 50, allow_nan=False), min_size=1).map(sorted)
SCHEMA = json.loads((resources.files("nginxopt") / "schemas" / "bench-result.json").read_text())


def sample(variant: str, number: int, p50: float, *, failed: int = 0) -> Sample:
    """A sample of 100 requests in a second."""
    statuses = {"200": 100 - failed} | ({"0": failed} if failed else {})
    errors = {"timeout": failed} if failed else {}
    use = {"edge": NodeUse(0.01, 2000, 1000, 10, 100)}
    outcome = Outcome(100, 1.0, {"p50": p50}, ((p50, 100),), statuses, errors, "raw.bin")
    return Sample(variant, "case", number, outcome, use, 3)


def experiment(**changes: object) -> Experiment:
    """Two variants, before and after, and one without anything."""
    variants = tuple(Variant(name, name, (node("edge", "return 200 ok;"),)) for name in ("none", "before", "after"))
    attacks = tuple(Attack(variant.name, "case", (Target("/"),), OpenLoop(100, 1)) for variant in variants)
    pairs = tuple(Comparison(*names) for names in (("before", "after"), ("none", "before"), ("none", "after")))
    fields: dict[str, object] = {"baseline": "none", **changes}
    return Experiment("test", "A test", "Nothing.", variants, attacks, pairs, "latency", **fields)  # type: ignore[arg-type]


def result(*, after: float = 0.5, gates: tuple[str, ...] = ()) -> Result:
    """What five rounds found in which before took 1 s, none 0.4 s, and after what is given."""
    made = Benchmark(experiment(), None, None, Path("run"), 5, [gate.parse(text) for text in gates])  # type: ignore[arg-type]
    for number in range(1, 6):
        for name, p50 in (("none", 0.4), ("before", 1.0), ("after", after)):
            made.samples.append(sample(name, number, p50 * (1 + number / 100)))
    return made.result()


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
    assert {attack.targets[0].path for attack in made.attacks} == {"/favicon.ico", "/a", "/b", "/b-"}
    with pytest.raises(InputError, match="a file of rules"):
        catalogue()["rewrites"].build(Settings(rules=load_text(b"location / {}", context="server")))


@pytest.mark.parametrize("text", [b"", b"rewrite ^/a/(.*)$ /b/$1 last;\n"])
def test_rules_that_stay_are_not_measured(text: bytes) -> None:
    """Rules of which none moves are the same before and after, so that there is nothing to compare."""
    with pytest.raises(InputError, match="nothing to compare"):
        catalogue()["rewrites"].build(Settings(rules=load_text(text, "rules.conf", context="server")))


@given(LATENCIES)
def test_percentiles(latencies: list[float]) -> None:
    """A percentile is a latency that was seen; so many per cent do not exceed it, and fewer do without it."""
    found = measure.percentiles(latencies)
    assert found["p100"] == latencies[-1]
    assert found["min"] == latencies[0]
    for rank in measure.PERCENTILES:
        value = found[f"p{rank}"]
        assert sum(latency <= value for latency in latencies) >= rank / 100 * len(latencies)
        assert sum(latency < value for latency in latencies) < rank / 100 * len(latencies)


@given(LATENCIES)
def test_histogram(latencies: list[float]) -> None:
    """Every latency is in one class, and none exceeds the bound of its class."""
    classes = measure.histogram(latencies)
    assert sum(count for _, count in classes) == len(latencies)
    at = 0
    for bound, count in classes:
        assert max(latencies[at : at + count]) <= bound
        at += count


@settings(max_examples=20)  # each draws some thousand resamples
@given(st.lists(st.floats(0.1, 10), min_size=1, max_size=20))
def test_interval(values: list[float]) -> None:
    """The interval holds the median, lies within the values, and is the same each time."""
    middle, low, high = measure.interval(values)
    assert min(values) <= low <= middle <= high <= max(values)
    assert measure.interval(values) == (middle, low, high)


def test_ratios() -> None:
    """What after is over before, by pairs of rounds; an interval that contains 1 is no difference."""
    found = {(ratio.before, ratio.after): ratio for ratio in result().ratios if ratio.figure == "p50"}
    halved = found["before", "after"]
    assert halved.ratio == pytest.approx(0.5)
    assert halved.difference
    assert not next(ratio for ratio in result(after=1.0).ratios if ratio.figure == "p50").difference
    # CPU, memory and counters are the same in all samples here.
    assert all(ratio.ratio == 1 for ratio in result().ratios if ratio.figure in ("cpu", "pss", "accepts.edge"))


@pytest.mark.parametrize(("rounds", "tells"), [(1, False), (4, False), (5, True)])
def test_few_rounds_show_no_difference(rounds: int, tells: bool) -> None:
    """A few pairs that agree may do so by chance: that is no difference yet."""
    pairs = [(sample("before", number, 1.0), sample("after", number, 9.0)) for number in range(rounds)]
    found = measure.ratios(experiment(), [one for pair in pairs for one in pair])
    assert [ratio.difference for ratio in found if ratio.figure == "p50"] == [tells]


def test_a_round_that_is_half_done_is_no_pair() -> None:
    """What was measured on one side only does not count as a pair."""
    samples = [sample("before", 1, 1.0), sample("after", 1, 2.0), sample("before", 2, 50.0)]
    assert {ratio.ratio for ratio in measure.ratios(experiment(), samples) if ratio.figure == "p50"} == {2.0}


def test_failures_are_no_throughput() -> None:
    """Answers that failed count as errors, and not as throughput."""
    figures = measure.figures(sample("before", 1, 1.0, failed=40))
    assert (figures["throughput"], figures["errors"], figures["hits_a_day"]) == (60, 40, 60 * 86_400)
    assert (figures["cpu"], figures["cpu.edge"], figures["accepts.edge"]) == (0.0001, 0.0001, 0.1)


@pytest.mark.parametrize(
    ("text", "figure", "operator", "value", "of"),
    [
        ("p99<=2ms", "p99", "<=", 0.002, None),
        ("errors==0", "errors", "==", 0, None),
        ("instructions<=1.05x", "instructions", "<=", 1.05, "before"),
        (" p50 <= 1.05 x none ", "p50", "<=", 1.05, "none"),
        ("throughput>=20k", "throughput", ">=", 20_000, None),
        ("cpu.edge<30us", "cpu.edge", "<", 30e-6, None),
        ("pss<=64MB", "pss", "<=", 64e6, None),
        ("accepts.app<.5", "accepts.app", "<", 0.5, None),
    ],
)
def test_gates(text: str, figure: str, operator: str, value: float, of: str | None) -> None:
    """A gate is a figure, a comparison and a value with a unit, or a ratio."""
    found = gate.parse(text)
    assert (found.figure, found.operator, found.of) == (figure, operator, of)
    assert found.value == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "column", "expected"),
    [
        ("", 0, "a figure"),
        ("p51<=2ms", 0, "one of p50"),
        ("p99=<2ms", 3, "one of <="),
        ("p99<=fast", 5, "a number"),
        ("p99<=2KB", 6, "x, or one of ns"),
        ("p99<=2xx", 6, "x, or one of ns"),
        ("p99<=2x some", 8, "none"),
        ("p99<=2ms now", 9, "the end"),
        ("rss.edge<=2MB", 0, "one of p50"),
    ],
)
def test_gates_that_cannot_be_read(text: str, column: int, expected: str) -> None:
    """An error shows the gate, a caret where it stops making sense, and what could stand there."""
    with pytest.raises(UsageError) as error:
        gate.parse(text)
    _, shown, caret, hint = error.value.message.split("\n")
    assert shown == f"    {text}"
    assert caret.index("^") == 4 + column
    assert hint.startswith(f"  expected {expected}")


def test_gates_are_held_where_it_is_worst() -> None:
    """A gate tells the value furthest off, where it was seen, and the margin; none of it is about the baseline."""
    texts = ("p50<=0.6x", "p50<=1.05x none", "p50<=2s", "errors==0", "throughput>=101")
    held = {found.gate: found for found in result(gates=texts).gates}
    assert [held[text].holds for text in texts] == [True, False, True, True, False]
    assert held["p50<=1.05x none"].value == pytest.approx(1.25)
    assert held["p50<=1.05x none"].margin == pytest.approx(-0.2 / 1.05)
    assert held["p50<=1.05x none"].where == "after over none, case"
    assert held["p50<=2s"].where == "after, case"
    assert held["throughput>=101"].margin == pytest.approx(-1 / 101)


def test_a_gate_on_nothing() -> None:
    """A gate on a figure that was not measured is an error, and does not hold in silence."""
    with pytest.raises(UsageError, match="instructions was not measured"):
        result(gates=("instructions<=1x",))


def test_the_schema_describes_a_result() -> None:
    """The JSON of a result follows the schema, which says what each of its fields is."""
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    found = json.loads(to_json(result(gates=("p50<=1x",))))
    found["provenance"] = dict.fromkeys(("date", "nginxopt", "kernel", "architecture", "cpu", "runner"), "")
    found["provenance"] |= {"command": [], "cpus": 1, "memory": 1, "load": [1.5]}
    jsonschema.validate(found, SCHEMA)
    assert found["complete"]
    assert found["attacks"][0]["load"]["rate"] == 100
    # What the load generator saw stands among the fields of its sample, in the order of the first results.
    assert list(found["samples"][0]) == SCHEMA["$defs"]["sample"]["required"]


def test_table() -> None:
    """The table has the figures of each variant, ratios with their interval, and gates with their margin."""
    text = "\n".join(table.lines(result(gates=("p50<=0.4x",))))
    assert "before -> after: p50 0.50 x" in text
    assert "case at 100 req/s" in text
    assert "FAILED  p50<=0.4x: 0.5 (after over before, case), 25.0% beyond the limit" in text


def test_the_table_tells_of_a_queue() -> None:
    """A node that was near its capacity at the rate asked for is named: its latency is that of the queue."""
    made = replace(result(), rates={"case": 100.0})
    busy = [replace(found, figures={**found.figures, "cpu.edge": 0.009}) for found in made.summaries[:1]]
    text = "\n".join(table.lines(replace(made, summaries=(*busy, *made.summaries[1:]))))
    assert text.count("took 90% of a CPU") == text.count("of a CPU") == 1


@pytest.mark.parametrize(
    ("figure", "number", "text"),
    [("p50", 0.000122, "122 us"), ("cpu.edge", 6.1e-6, "6.1 us"), ("throughput", 20500.0, "20,500 req/s"),
     ("throughput", 999.7, "1,000 req/s"),
     ("rss", 5.2e6, "5.2 MB"), ("errors", 0.0, "0"), ("p99", 0.0, "0 s"), ("requests.app", 0.01, "0.01")],
)  # fmt: skip
def test_values(figure: str, number: float, text: str) -> None:
    """A figure is shown with three digits and a unit that suits its size."""
    assert numbers.quantity(figure, number) == text


def test_ratios_as_they_are_shown() -> None:
    """A ratio has its interval; if that contains 1 there is no number; one that is the same each time has none."""
    assert numbers.change(Ratio("a", "b", "case", "p50", 0.5, 0.4, 0.6, True)) == "0.50 x (0.40 to 0.60)"
    assert numbers.change(Ratio("a", "b", "case", "p50", 0.5, 0.4, 1.1, False)) == "no difference seen (0.40 to 1.10 x)"
    assert numbers.change(Ratio("a", "b", "case", "p50", 0.5, 0.4, 0.6, False)) == "0.50 x (too few rounds)"
    assert numbers.change(Ratio("a", "b", "case", "instructions", 1.3, 1.3, 1.3, False)) == "1.30 x"


CSV = b"""\
1000000000,200,2000000,0,2,,,name,0,GET,http://127.0.0.1/,SGVhZGVy
1001000000,200,1000000,0,2,,,name,1,GET,http://127.0.0.1/,
1002000000,500,100,0,2,500 Internal Server Error,,name,2,GET,http://127.0.0.1/,
1003000000,0,7000000,0,0,"Get ""http://127.0.0.1/"": read tcp 1->2: read: connection reset by peer",,,3,GET,http://,
1003000000,0,9,0,0,no targets to attack,,name,4,,,
"""


def test_vegeta_results() -> None:
    """Every request counts, by status and kind of error; latencies are of answers; the end of targets is no request."""
    found = vegeta.parse(CSV, "raw.bin")
    assert found.requests == 4
    assert found.seconds == pytest.approx(0.01)
    assert found.statuses == {"0": 1, "200": 2, "500": 1}
    assert found.errors == {"connection reset by peer": 1}
    assert (found.percentiles["p50"], found.percentiles["p100"]) == (0.001, 0.002)
    with pytest.raises(RunError, match="made no request"):
        vegeta.parse(b"", "raw.bin")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ('Get "http://a/": dial tcp 0.0.0.0:0->127.0.0.1:1: connect: connection refused', "connection refused"),
        ('Get "http://a/": context deadline exceeded (Client.Timeout exceeded while awaiting headers)', "timeout"),
        ('Get "http://a/": EOF', "EOF"),
        ("", "unknown"),
    ],
)
def test_kinds_of_errors(error: str, kind: str) -> None:
    """A kind of error has no address in it, so that alike errors are counted together."""
    assert vegeta.kind(error) == kind


def test_vegeta_commands() -> None:
    """An open loop has a rate; a closed one as many workers as connections, and it can end with its targets."""
    target = Target("/a", headers=(("Host", "a.test"),))
    assert "-rate=250/1s" in Vegeta().command("t", "h:1", OpenLoop(250.2, 1), "o")
    closed = ClosedLoop(7, 1, requests=3, keepalive=False)
    command = Vegeta().command("t", "h:1", closed, "o")
    assert {"-rate=0", "-max-workers=7", "-max-connections=7", "-lazy", "-keepalive=false"} <= set(command)
    text = Vegeta().files("t", [target], "h:1", closed)["t.targets"].decode()
    assert text.split("\n\n") == ["GET http://h:1/a\nHost: a.test"] * 2 + ["GET http://h:1/a\nHost: a.test\n"]


def test_wrk_results() -> None:
    """What the script prints is in microseconds; socket errors are requests without an answer."""
    counts = '"statuses": {"200": 8, "500": 2}, "errors": {"connect": 0, "read": 3, "write": 0, "timeout": 0}'
    times = '"connections": 5, "requests": 10, "duration": 2000000, "latency": {"p50": 1500}'
    found = wrk.parse(f"Running\nnginxopt-result {{{times}, {counts}}}\n".encode())
    assert (found.requests, found.seconds, found.unfinished) == (13, 2.0, 5)
    assert found.statuses == {"200": 8, "500": 2, "0": 3}
    assert found.percentiles == {"p50": 0.0015}
    none = times.replace("10,", "0,", 1)
    assert wrk.parse(f"nginxopt-result {{{none}, {counts}}}".encode()).percentiles == {}
    with pytest.raises(RunError, match="unable to connect"):
        wrk.parse(b"unable to connect to 127.0.0.1:1 Connection refused")


def test_wrk_requests_are_raw() -> None:
    """The script holds requests as they are sent, with what Lua and JSON escape alike."""
    text = Wrk().files("t", [Target('/"a"', headers=(("X", "\\"),))], "h:1", ClosedLoop(1, 1, keepalive=False))["t.lua"]
    assert b'"GET /\\"a\\" HTTP/1.1\\r\\nHost: h:1\\r\\nX: \\\\\\r\\nConnection: close\\r\\n\\r\\n"' in text


TARGETS = b"# what is asked\n/a\nGET /b?c=d\nHost: b.test\nX-A: 1:2\n\nHEAD /c\n"


def test_targets() -> None:
    """A line is a path, a request, or a header of the request above."""
    assert compare.targets(Source("t", TARGETS)) == (
        Target("/a", None),
        Target("/b?c=d", None, "GET", (("Host", "b.test"), ("X-A", "1:2"))),
        Target("/c", None, "HEAD"),
    )


@pytest.mark.parametrize(
    ("text", "place"), [(b"/a\nwhat is this\n", "t:2:1: "), (b"Host: a\n", "t:1:1: "), (b"\n", "t: ")]
)
def test_targets_that_are_none(text: bytes, place: str) -> None:
    """A line that is none of it is an error with its place, and so is a file without a request."""
    with pytest.raises(InputError) as error:
        compare.targets(Source("t", text))
    assert error.value.render().startswith(place)


WHOLE = b"""\
user www-data; pid /run/nginx.pid; daemon on;
error_log /var/log/nginx/error.log notice;
events {}
http {
    access_log /var/log/nginx/access.log combined buffer=4k; # kept as a log
    proxy_cache_path /var/cache/pages keys_zone=a:1m;
    include snippets/*.conf;
    server { listen 443 ssl; ssl_certificate tls/a.pem; access_log off; }
    server { listen 0.0.0.0:80 default_server; listen [::]:80 ipv6only=on; }
    server { server_name b.test; }
}
"""


def test_an_isolated_configuration() -> None:
    """Nothing outside is listened at or written to, what is on the command line is gone, and all of it is told."""
    made = isolation.isolate(load_text(WHOLE, "/etc/app/nginx.conf", missing_ok=True))
    text = made.files["nginx.conf"].decode()
    ports = {str(address): name for address, name in made.ports.items()}
    assert ports == {"*:80": "edge", "*:443": "edge/p1", "[::]:80": "edge/p2"}
    for word in ("www-data", "/run", "/var", "daemon", "ipv6only", "include"):
        assert word not in text
    assert "access_log access.log combined buffer=4k; # kept as a log" in text
    assert "listen @edge/p1@ ssl; ssl_certificate /etc/app/tls/a.pem; access_log off;" in text
    assert "server { listen @edge@; server_name b.test; }" in text
    assert "client_body_temp_path temp/client_body_temp_path;" in text
    assert made.changes["listen addresses are private"] == 3
    assert made.node().ports == ("edge/p1", "edge/p2")


def test_isolated_includes(tmp_path: Path) -> None:
    """Included files are copied and named in order; one that is included twice is one copy."""
    (tmp_path / "a.inc").write_text("listen 80;")
    (tmp_path / "nginx.conf").write_text("events {} http { server { include *.inc; } server { include a.inc; } }")
    made = isolation.isolate(load_text((tmp_path / "nginx.conf").read_bytes(), str(tmp_path / "nginx.conf")))
    assert made.files["files/1.conf"] == b"listen @edge@;"
    assert made.files["nginx.conf"].count(b"include files/1.conf;") == 2
    assert b"listen" not in made.files["nginx.conf"]


def test_isolated_ranges_of_ports() -> None:
    """Each port of a range has an address of its own, shared with the server that names the port alone."""
    servers = b"server { listen 8000-8002 backlog=9; } server { listen *:8001; } server { listen localhost; }"
    made = isolation.isolate(load_text(b"events {} http { %s }" % servers, "nginx.conf"))
    text = made.files["nginx.conf"].decode()
    assert "server { listen @edge@ backlog=9; listen @edge/p1@ backlog=9; listen @edge/p2@ backlog=9; }" in text
    assert "server { listen @edge/p1@; } server { listen @edge/p3@; }" in text
    assert [str(address) for address in made.ports] == ["*:8000", "*:8001", "*:8002", "localhost:80"]


@pytest.mark.parametrize("address", ["70000", "a/b", "1-65535"])
def test_isolated_addresses_that_cannot_be(address: str) -> None:
    """What nginx refuses, or what there are not ports enough for, is an error at its place."""
    with pytest.raises(InputError, match=r"refuses|range") as caught:
        isolation.isolate(load_text(b"events {} http { server { listen %s; } }" % address.encode(), "nginx.conf"))
    assert caught.value.span is not None


def test_a_configuration_without_plain_http() -> None:
    """A configuration that only speaks TLS has nothing to measure, and says so."""
    with pytest.raises(InputError, match="plain HTTP"):
        isolation.isolate(load_text(b"events {} http { server { listen 443 ssl; } }", "nginx.conf"))


class Answers:
    """A site whose nodes answer with fixed bytes."""

    def __init__(self, **answers: bytes) -> None:
        self.answers = answers

    def address(self, variant: Variant, role: str) -> str:
        """The address of a node."""
        return f"{variant.name}.test:80" if role == "edge" else role

    def ask(self, variant: Variant, role: str, target: Target) -> bytes:  # noqa: ARG002
        """The answer of a variant."""
        return self.answers.get(variant.name, b"HTTP/1.1 200 OK\r\nX-Node: a\r\n\r\nok")


@pytest.mark.parametrize(
    ("answer", "expected", "why"),
    [
        (b"", Expected(), "no response"),
        (b"HTTP/1.1 502 Bad Gateway\r\n\r\n", Expected(), "502 instead of 200"),
        (b"HTTP/1.1 301 Moved\r\nLocation: /b\r\n\r\n", Expected(301, "/a"), "301 to /b instead of 301 to /a"),
        (b"HTTP/1.1 200 OK\r\n\r\nno", Expected(body="ok"), "the body does not contain 'ok'"),
        (
            b"HTTP/1.1 200 OK\r\nX-Node: b\r\n\r\n",
            Expected(header=("X-Node", "a")),
            "the header X-Node is 'b', not 'a'",
        ),
    ],
)
def test_probes(answer: bytes, expected: Expected, why: str) -> None:
    """A variant that does not answer as it must ends the run with the reason."""
    made = experiment()
    attacks = tuple(Attack(item.variant, item.case, (Target("/", expected),), item.load) for item in made.attacks)
    made = Experiment(**{**{field: getattr(made, field) for field in made.__slots__}, "attacks": attacks})
    with pytest.raises(RunError, match=re.escape(f"none: wrong response of edge for /: {why}")):
        probe.probe(Answers(none=answer), made)  # type: ignore[arg-type]


def test_variants_must_answer_alike() -> None:
    """Targets without an answer of their own are answered alike, but for the address, or the run ends."""
    made = experiment()
    attacks = tuple(Attack(item.variant, item.case, (Target("/", None),), item.load) for item in made.attacks)
    made = Experiment(**{**{field: getattr(made, field) for field in made.__slots__}, "attacks": attacks})
    redirects = {
        name: f"HTTP/1.1 302 Found\r\nLocation: http://{name}.test:80/x\r\n\r\n".encode() for name in ("none", "before")
    }
    assert probe.probe(Answers(**redirects, after=redirects["none"].replace(b"none", b"after")), made) == {  # type: ignore[arg-type]
        (name, "case"): frozenset({"302"}) for name in ("none", "before", "after")
    }
    with pytest.raises(RunError, match=r"after: .* 200 instead of 302"):
        probe.probe(Answers(**redirects), made)  # type: ignore[arg-type]


def test_rounds_have_their_own_pages() -> None:
    """A page that nobody has asked for before is another one in each round."""
    assert [target.path for target in probe.in_round([Target("/p?@round@"), Target("/q")], 3)] == ["/p?3", "/q"]


def test_directives_of_the_command_line() -> None:
    """A profiled nginx is one process whose clock does not tick."""
    assert "daemon off; pid nginx.pid;" in directives()
    assert "master_process off; timer_resolution 1d;" in directives(single=True)


def test_the_script_quotes() -> None:
    """Words of commands that mean something to a shell are quoted in the script; its variable is not."""
    script = run_folder.files(experiment(), Vegeta("/opt/my tools/vegeta"), 1)["run"].decode()
    command = next(line for line in script.splitlines() if "-targets=" in line)
    words = shlex.split(command)
    assert words[:2] == ["/opt/my tools/vegeta", "attack"]
    assert words[2] == "-targets=results/$round/none.case.targets"
