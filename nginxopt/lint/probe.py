"""Probes an upstream server: how it handles HTTP/1.1 and kept connections.

Sends a handful of raw requests like nginx, in sequence, and holds a few connections. An observation may refute a
premise; it cannot prove one, as a server may behave differently at other times and paths.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence

from nginxopt import lazy
from nginxopt.errors import RunError
from nginxopt.records import record
from nginxopt.settings.vocabulary import HTTP11_BACKENDS, IDLE_CONNECTIONS, Premise
from nginxopt.system.upstream import UpstreamConnection, UpstreamResponse, UpstreamTarget

_OF_THE_CONNECTION = lazy.pattern(r"ntlm|negotiate|kerberos", re.IGNORECASE)


@record(eq=True)
class Effort:
    """The extent of a probe: connections held idle, seconds one is held, and seconds to wait for a response."""

    held: int = 8
    idle: float = 5.0
    wait: float = 10.0


@record(eq=True)
class Observation:
    """An observation, and whether it fits a premise; None if it does not decide."""

    premise: Premise
    fits: bool | None
    text: str


def probe(target: UpstreamTarget, effort: Effort) -> Iterator[Observation]:
    """Probe a server and yield observations as they are made. Raise `RunError` if it does not answer HTTP/1.0."""
    server = _Server(target, effort)
    for encoding in ("", "gzip"):
        yield from _versions(server, encoding)
    yield from _kept(server)
    yield from _blocked(server)


def _versions(server: _Server, encoding: str) -> Iterator[Observation]:
    """Compare responses over HTTP/1.0, nginx's default before 1.29.7, with those over HTTP/1.1."""
    old, again = server.once("1.0", encoding), server.once("1.0", encoding)
    if old is None or again is None:
        raise RunError("no response over HTTP/1.0")
    new = server.once("1.1", encoding)
    with_encoding = f" with Accept-Encoding: {encoding}" if encoding else ""
    if new is None:
        yield Observation(HTTP11_BACKENDS, False, f"no response over HTTP/1.1{with_encoding}")
        return
    changing = old.differences(again)
    differs = sorted(old.differences(new) - changing)
    text = f"HTTP/1.1{with_encoding} has the same response as HTTP/1.0"
    if differs:
        text = f"HTTP/1.1{with_encoding} changes {', '.join(differs)}: {'; '.join(_compared(old, new, differs))}"
    yield Observation(HTTP11_BACKENDS, not differs, text)
    if changing:
        text = f"{', '.join(sorted(changing))} varies between responses{with_encoding} and was not compared"
        yield Observation(HTTP11_BACKENDS, None, text)
    if new.interim:
        text = f"unrequested interim responses over HTTP/1.1: {', '.join(map(str, new.interim))}"
        yield Observation(HTTP11_BACKENDS, False, text)
    if _OF_THE_CONNECTION.search(new.header("www-authenticate")):
        text = f"the server authenticates connections: WWW-Authenticate: {new.header('www-authenticate')}"
        yield Observation(IDLE_CONNECTIONS, False, text)


def _compared(old: UpstreamResponse, new: UpstreamResponse, names: Sequence[str]) -> Iterator[str]:
    for name in names:
        if name == "body":
            yield f"{len(old.body):,} to {len(new.body):,} bytes"
        else:
            yield f"{name} {old.essence().get(name, 'none')} to {new.essence().get(name, 'none')}"


def _kept(server: _Server) -> Iterator[Observation]:
    """Send two requests over one connection, then hold it idle."""
    with server.connect() as connection:
        first = connection.ask("1.1")
        if first is None:
            return
        if connection.ends(0.2):
            announces_close = "close" in first.header("connection").lower() or first.version == "1.0"
            text = "the server closes connections after a response" + (
                "" if announces_close else " that does not announce it"
            )
            yield Observation(IDLE_CONNECTIONS, announces_close, text)
            if announces_close:
                yield Observation(IDLE_CONNECTIONS, None, "connections are not kept, so a pool does not help")
            return
        if connection.ask("1.1") is None:
            yield Observation(IDLE_CONNECTIONS, False, "an open connection does not answer a second request")
            return
        yield Observation(IDLE_CONNECTIONS, True, "a connection answers a second request")
        seconds = connection.ends(server.effort.idle)
        if seconds:
            text = f"the server closes idle connections after {seconds:.1f} s: set a shorter keepalive_timeout"
            yield Observation(IDLE_CONNECTIONS, False, text)
            return
        answered = connection.ask("1.1") is not None
        text = f"a connection idle for {server.effort.idle:g} s " + ("answers" if answered else "does not answer")
        yield Observation(IDLE_CONNECTIONS, answered, text)


def _blocked(server: _Server) -> Iterator[Observation]:
    """Hold used connections idle, and send a request over another."""
    with contextlib.ExitStack() as stack:
        held = 0
        while held < server.effort.held:
            connection = stack.enter_context(server.connect())
            if connection.ask("1.1") is None:
                break
            held += 1
        free = held == server.effort.held and server.once("1.1", "") is not None
        text = f"{held} idle connections " + ("do not block other clients" if free else "block other clients")
        yield Observation(IDLE_CONNECTIONS, free, text)


class _Server:
    def __init__(self, target: UpstreamTarget, effort: Effort) -> None:
        self.target, self.effort = target, effort

    def connect(self) -> UpstreamConnection:
        return UpstreamConnection(self.target, self.effort.wait)

    def once(self, version: str, encoding: str) -> UpstreamResponse | None:
        with self.connect() as connection:
            return connection.ask(version, encoding)
