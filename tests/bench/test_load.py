"""The arguments of load generators, and the parsing of their output."""

from __future__ import annotations

import pytest

from nginxopt.bench import compare
from nginxopt.bench.load import vegeta, wrk
from nginxopt.bench.load.vegeta import Vegeta
from nginxopt.bench.load.wrk import Wrk
from nginxopt.bench.scenario import (
    ClosedLoop,
    OpenLoop,
    Target,
    Tls,
)
from nginxopt.errors import InputError, RunError
from nginxopt.text import Source

CSV = b"""\
1000000000,200,2000000,0,2,,,name,0,GET,http://127.0.0.1/,SGVhZGVy
1001000000,200,1000000,0,2,,,name,1,GET,http://127.0.0.1/,
1002000000,500,100,0,2,500 Internal Server Error,,name,2,GET,http://127.0.0.1/,
1003000000,0,7000000,0,0,"Get ""http://127.0.0.1/"": read tcp 1->2: read: connection reset by peer",,,3,GET,http://,
1003000000,0,9,0,0,no targets to attack,,name,4,,,
"""


def test_vegeta_results() -> None:
    """Every request counts, by status and kind of error; latencies are of answers; the end of targets is no request."""
    outcome = vegeta.parse(CSV, "raw.bin")
    assert outcome.requests == 4
    assert outcome.seconds == pytest.approx(0.01)
    assert outcome.statuses == {"0": 1, "200": 2, "500": 1}
    assert outcome.errors == {"connection reset by peer": 1}
    assert (outcome.percentiles["p50"], outcome.percentiles["p100"]) == (0.001, 0.002)
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


def test_tls_of_load_generators() -> None:
    """The name of the handshake is the host of the URL, and the connection goes to the address, never to a proxy."""
    tls, load = Tls("a.test"), ClosedLoop(1, 1)
    target = Target("/a", headers=(("Host", "b.test"),), tls=tls)
    command = Vegeta().command("t", "h:1", load, "o", tls)
    assert command[:4] == ["env", "NO_PROXY=*", "no_proxy=*", "vegeta"]
    assert {"-connect-to=a.test:1:h:1", "-insecure"} <= set(command)
    assert Vegeta().piped(load, "o", "h:1", tls)[:4] == command[:4]
    assert Vegeta().files("t", [target], "h:1", load)["t.targets"] == b"GET https://a.test:1/a\nHost: b.test\n"
    assert Wrk().command("t", "h:1", load, "o", tls)[-1] == "https://a.test:1/"
    assert b'wrk.lookup("h", "1")' in Wrk().files("t", [target], "h:1", load)["t.lua"]
    nameless = Tls()
    assert not any(word.startswith("-connect-to") for word in Vegeta().command("t", "h:1", load, "o", nameless))
    assert Wrk().command("t", "h:1", load, "o", nameless)[-1] == "https://h:1/"
    assert b"wrk.resolve" not in Wrk().files("t", [Target("/", tls=nameless)], "h:1", load)["t.lua"]


def test_wrk_results() -> None:
    """What the script prints is in microseconds; socket errors are requests without an answer."""
    counts = '"statuses": {"200": 8, "500": 2}, "errors": {"connect": 0, "read": 3, "write": 0, "timeout": 0}'
    times = '"connections": 5, "requests": 10, "duration": 2000000, "latency": {"p50": 1500}'
    outcome = wrk.parse(f"Running\nnginxopt-result {{{times}, {counts}}}\n".encode())
    assert (outcome.requests, outcome.seconds, outcome.unfinished) == (13, 2.0, 5)
    assert outcome.statuses == {"200": 8, "500": 2, "0": 3}
    assert outcome.percentiles == {"p50": 0.0015}
    none = times.replace("10,", "0,", 1)
    assert wrk.parse(f"nginxopt-result {{{none}, {counts}}}".encode()).percentiles == {}
    with pytest.raises(RunError, match="unable to connect"):
        wrk.parse(b"unable to connect to 127.0.0.1:1 Connection refused")


def test_wrk_requests_are_raw() -> None:
    """The script holds requests as they are sent, with what Lua and JSON escape alike."""
    text = Wrk().files("t", [Target('/"a"', headers=(("X", "\\"),))], "h:1", ClosedLoop(1, 1, keepalive=False))["t.lua"]
    assert b'"GET /\\"a\\" HTTP/1.1\\r\\nHost: h:1\\r\\nX: \\\\\\r\\nConnection: close\\r\\n\\r\\n"' in text


TARGETS = b"""# what is asked
/a
GET /b?c=d
host: b.test
X-A: 1:2

HEAD https://c.test:8443/c?d#e
http://user:word@d.test
"""


def test_targets() -> None:
    """A line is a path, a URL, a request, or a header of the request above."""
    assert compare.targets(Source("t", TARGETS)) == (
        Target("/a", None),
        Target("/b?c=d", None, "GET", (("Host", "b.test"), ("X-A", "1:2"))),
        Target("/c?d", None, "HEAD", site="https://c.test:8443"),
        Target("/", None, "GET", (("Authorization", "Basic dXNlcjp3b3Jk"),), site="http://d.test"),
    )


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (b"/a\nwhat is this\n", "t:2:1: "),
        (b"/a\nftp://a.test/\n", "t:2:1: "),
        (b"Host: a\n", "t:1:1: "),
        (b"\n", "t: "),
    ],
)
def test_targets_that_are_none(text: bytes, place: str) -> None:
    """A line that is none of it is an error with its place, and so is a file without a request."""
    with pytest.raises(InputError) as error:
        compare.targets(Source("t", text))
    assert error.value.render().startswith(place)
