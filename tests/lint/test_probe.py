"""`nginxopt probe` finds the premises that a server breaks, for each kind of server."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading
import time

import pytest

from nginxopt.errors import RunError, UsageError
from nginxopt.lint import HTTP11_BACKENDS, IDLE_CONNECTIONS
from nginxopt.lint.probe import Effort, probe
from nginxopt.system.upstream import UpstreamResponse, UpstreamTarget
from tests import origins
from tests.rows import every_row
from tests.support import PATIENCE

QUICK = Effort(held=3, idle=0.3, wait=1.0)

KINDS = {
    "plain": (origins.plain, False, set(), "answers a second request"),
    "compressing": (origins.compressing, False, {HTTP11_BACKENDS}, "content-encoding none to gzip"),
    "1.0 only": (origins.old, False, {HTTP11_BACKENDS}, "status 200 to 505"),
    "upgrading": (origins.upgrading, False, {HTTP11_BACKENDS}, "upgrade none to h2c"),
    "hinting": (origins.hinting, False, {HTTP11_BACKENDS}, "unrequested interim responses over HTTP/1.1: 103"),
    "authenticating": (origins.authenticating, False, {IDLE_CONNECTIONS}, "WWW-Authenticate: NTLM"),
    "closing": (origins.closing, False, {IDLE_CONNECTIONS}, "does not answer a second request"),
    "serial": (origins.plain, True, {IDLE_CONNECTIONS}, "connections block other clients"),
}


@pytest.mark.slow
@every_row(("reply", "serial", "against", "expected"), KINDS.values(), ids=KINDS)
def test_each_kind_is_known(reply: origins.Reply, serial: bool, against: set[object], expected: str) -> None:
    """The observations contradict the premises that the server breaks, and no other."""
    with origins.serving(reply, serial=serial) as origin:
        seen = list(probe(UpstreamTarget.parse(f"http://127.0.0.1:{origin.port}/"), QUICK))
    assert {observation.premise for observation in seen if observation.fits is False} == against
    assert any(expected in observation.text for observation in seen), seen


def test_it_asks_a_handful() -> None:
    """A server receives a few requests, whatever it responds."""
    with origins.serving(origins.plain) as origin:
        list(probe(UpstreamTarget.parse(f"http://127.0.0.1:{origin.port}/a?b=1"), QUICK))
    assert len(origin.asked) <= 6 + 3 + QUICK.held + 1
    assert {request.head.partition(b" HTTP/")[0] for request in origin.asked} == {b"GET /a?b=1"}


def run(*args: str) -> subprocess.CompletedProcess[str]:
    """What the command does."""
    command = [sys.executable, "-m", "nginxopt", "probe", "--idle", "0.2", "--wait", "2", *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)


@pytest.mark.slow
def test_the_status_says_whether_the_premises_hold() -> None:
    """The exit status is 0 if no observation contradicts the premises, else 1; the last lines name them."""
    with origins.serving(origins.plain) as origin:
        good = run(f"http://127.0.0.1:{origin.port}/")
    assert (good.returncode, good.stderr) == (0, "")
    assert good.stdout.endswith("\nhttp11-backends: no evidence against it\nidle-connections: no evidence against it\n")
    with origins.serving(origins.old) as origin:
        bad = run(f"http://127.0.0.1:{origin.port}/")
    assert bad.returncode == 1
    assert "\nhttp11-backends: does not hold\n" in bad.stdout


ENDLESS = {
    "a header that drips": b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 1000,
    "chunks without end": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1\r\na\r\n" * 1000,
    "interim responses without end": b"HTTP/1.1 100 Continue\r\n\r\n" * 1000,
}


@pytest.mark.slow
@pytest.mark.parametrize("answer", ENDLESS.values(), ids=ENDLESS)
def test_a_response_without_end_times_out(answer: bytes) -> None:
    """The timeout covers the whole response, however often a part of it arrives."""
    sent: list[int] = []

    def drip(listener: socket.socket) -> None:
        with listener.accept()[0] as connection, contextlib.suppress(OSError):
            for byte in answer:
                connection.sendall(bytes([byte]))
                sent.append(byte)
                time.sleep(0.02)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=drip, args=(listener,))
        thread.start()
        with pytest.raises(RunError, match=r"no response over HTTP/1\.0"):
            list(probe(UpstreamTarget.parse(f"http://127.0.0.1:{listener.getsockname()[1]}/"), QUICK))
        thread.join()
    assert len(sent) < len(answer)


def test_a_response_with_very_many_headers() -> None:
    """They are compared in time proportional to them."""
    headers = [("a", "b")] * 200_000
    first = UpstreamResponse("1.1", 200, headers, b"")
    assert first.differences(UpstreamResponse("1.0", 200, headers, b"")) == set()
    assert first.differences(UpstreamResponse("1.1", 200, headers[1:], b"")) == {"a"}


def test_no_server_is_an_error() -> None:
    """The exit status is 5 if nothing listens, and 2 for an invalid URL."""
    with origins.serving(origins.plain) as origin:
        port = origin.port
    assert run(f"http://127.0.0.1:{port}/").returncode == 5
    wrong = run("127.0.0.1")
    assert (wrong.returncode, 'invalid URL "127.0.0.1"' in wrong.stderr) == (2, True)


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("http://a.test", UpstreamTarget(("a.test", 80), "a.test", "/", False)),
        ("https://a.test:8443/b?c=d", UpstreamTarget(("a.test", 8443), "a.test:8443", "/b?c=d", True)),
        ("http://[::1]:8080/", UpstreamTarget(("::1", 8080), "[::1]:8080", "/", False)),
        ("http://unix:/run/app.sock:/x", UpstreamTarget("/run/app.sock", "localhost", "/x", False)),
        ("http://unix:/run/app.sock", UpstreamTarget("/run/app.sock", "localhost", "/", False)),
    ],
)
def test_urls_are_as_in_proxy_pass(url: str, target: UpstreamTarget) -> None:
    """A URL names a host, port and path, or a socket in nginx's notation."""
    assert UpstreamTarget.parse(url) == target


@pytest.mark.parametrize("url", ["ftp://a.test/", "http://", "http://a.test:x/", "/a"])
def test_invalid_urls_are_refused(url: str) -> None:
    """An invalid URL is wrong usage."""
    with pytest.raises(UsageError):
        UpstreamTarget.parse(url)


PLACES = {"http://127.0.0.1:1/": "127.0.0.1:1", "http://unix:/none:/": "unix:/none"}


@pytest.mark.parametrize(("url", "place"), PLACES.items(), ids=["port", "socket"])
def test_a_server_that_does_not_answer_is_named_as_in_a_url(url: str, place: str) -> None:
    """Nobody listens: status 5, and one line that names the place."""
    ran = run(url)
    assert ran.returncode == 5
    assert ran.stderr.startswith(f"cannot connect to {place}: ")
    assert ran.stderr.count("\n") == 1
