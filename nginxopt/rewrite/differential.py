"""Compares an emission with its configuration on a real nginx: list by list, and as a whole.

What is right part by part may differ together. For the whole, both configurations are transplanted
(`nginxopt.request.transplant`): same servers and locations, on ports of 127.0.0.1, with an upstream that answers with
the request that it gets. All requests go to each server.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterator
from itertools import islice, zip_longest
from pathlib import Path

from nginxopt import lazy
from nginxopt.config import Config
from nginxopt.errors import NginxoptError
from nginxopt.facts import group
from nginxopt.request.model import World
from nginxopt.request.private import PrivateNginx, http_servers
from nginxopt.rewrite.comparison import AskedServer, Differential, Limits, Mismatch, Tally, compare
from nginxopt.rewrite.kinds.maps.differential import Sender, sender
from nginxopt.rewrite.kinds.registry import KINDS
from nginxopt.rewrite.proving import Emission
from nginxopt.rewrite.requests import HOST, sample
from nginxopt.rewrite.verification import NotVerifiedError, sides
from nginxopt.semantics import Address, Level, read_listens
from nginxopt.semantics.site.lowering import http_level, placed
from nginxopt.system.http import RequestBytes
from nginxopt.system.nginx import Binary
from nginxopt.text import encode
from nginxopt.version import Version

_LEFT_OUT = group("stateful")
"""Directives that make a response depend on earlier requests."""
_NAME = lazy.pattern(r"(?:\*?\.)?([a-z0-9_-]+(?:\.[a-z0-9_-]+)*)", re.IGNORECASE)
_OTHER = b"host.invalid"
"""A host that the default server answers."""
_MOST = 4_000
"""The most values that are sent for the source of a map or the variable of a chain."""
_PID = lazy.pattern(rb"\$\{?pid\b")


def differential_of_whole(emission: Emission, *, binary: Binary, limits: Limits) -> Differential:
    """Return the differences between the responses of the whole original and of the whole result.

    `Differential.omitted` is the reason if nothing can be compared, as the original does not run in a private nginx.
    """
    started = time.monotonic()
    try:
        pair = sides(emission)
        doors = list(_doors(pair[0], Version.of(binary.version)))
    except (NginxoptError, NotVerifiedError) as error:
        return _omitted(str(error), started)
    if pair[0].missing:
        return _omitted(f"{pair[0].missing[0].args[0]} is missing", started)
    if any(_PID.search(file.source.data) for file in pair[0].files):
        return _omitted("responses may show $pid", started)
    with contextlib.ExitStack() as running:
        try:
            original = running.enter_context(_nginx(pair, 0, binary))
        except NginxoptError as error:
            return _omitted(str(error), started)
        try:
            compiled = running.enter_context(_nginx(pair, 1, binary))
        except NginxoptError as error:
            start = Mismatch("start", b"", b"", str(error).encode(errors="surrogateescape"))
            return Differential(0, (start,), 1, time.monotonic() - started, 0)
        return _compared((original, compiled), doors, list(_requests(emission, limits.requests)), started, limits)


def _omitted(why: str, started: float) -> Differential:
    return Differential(0, (), 0, time.monotonic() - started, 0, omitted=" ".join(why.split()))


def _nginx(pair: tuple[Config, Config], index: int, binary: Binary) -> PrivateNginx:
    config = pair[index]
    texts = b"".join(file.source.data for each in pair for file in each.files)
    prefix = f"{Path(config.prefix or '.').absolute()}/"
    return PrivateNginx(config, prefix, World(), binary, tls=False, left_out=_LEFT_OUT, mirrors=True, avoid=texts)


def _doors(config: Config, version: Version) -> Iterator[tuple[Address, bytes]]:
    """Yield an address and a host for each server."""
    for server in http_servers(http_level(placed(config), version)):
        addresses = (address for listen in read_listens([server]) for address in listen.addresses)
        yield from ((address, _host(server)) for address in islice((a for a in addresses if not a.datagram), 1))


def _host(server: Level) -> bytes:
    """Return a host that a server answers: its first name without a pattern."""
    names = [_NAME.fullmatch(name) for directive in server.own("server_name") for name in directive.args]
    return next((encode(name[1]) for name in names if name and name[1] != "_"), _OTHER)


def _compared(
    pair: tuple[PrivateNginx, PrivateNginx],
    doors: list[tuple[Address, bytes]],
    requests: list[RequestBytes],
    started: float,
    limits: Limits,
) -> Differential:
    """Send requests to each of the doors."""
    total = Tally()
    each = max(50, limits.requests // max(1, len(doors)))
    for number, (address, host) in enumerate(doors, 1):
        asked = [AskedServer(nginx.ports[address], nginx.names, nginx.network) for nginx in pair]
        chosen = [_to(host, request) for request in requests[:: len(requests) // each + 1]]
        deadline = started + limits.seconds * number / len(doors)
        tally = compare(asked[0], asked[1], chosen, deadline, limits.progress)
        total.requests += tally.requests
        total.mismatched += tally.mismatched
        total.unstable += tally.unstable
        total.shown += tally.shown
    skipped = len(requests) * len(doors) - total.requests
    shown = tuple(total.shown[:10])
    return Differential(total.requests, shown, total.mismatched, time.monotonic() - started, skipped, total.unstable)


def _to(host: bytes, request: RequestBytes) -> RequestBytes:
    data = request.data.replace(b"\r\nHost: %s\r\n" % HOST, b"\r\nHost: %s\r\n" % host, 1)
    return RequestBytes(data, head=request.head, alone=request.alone)


def _requests(emission: Emission, limit: int) -> Iterator[RequestBytes]:
    """Yield the requests: first those for URIs, mixed with those for the values of variables."""
    uris = [b"/", *(uri for kind in KINDS for uri in kind.uris(emission))]
    of_uris = sample(uris, [b"/"], limit=limit, capturing=False).requests
    of_values = (_sent(source, values) for kind in KINDS for source, values in kind.values(emission))
    yield from dict.fromkeys(
        request for each in zip_longest(of_uris, *of_values) for request in each if request is not None
    )


def _sent(source: str, values: Iterator[bytes]) -> Iterator[RequestBytes]:
    send: Sender = sender(source)[0]
    return (request for request in map(send, islice(values, _MOST)) if request is not None)


REQUESTS = 20_000
"""The most requests to each side."""
SECONDS = 60.0
"""The time limit for all, in seconds."""


def ask(
    emission: Emission, binary: Binary, *, progress: Callable[[int, int], None] | None = None
) -> list[Differential]:
    """Return the results of the comparisons list by list, with at most `REQUESTS` and `SECONDS` in total.

    Lists that are right alone may differ together: see `ask_whole`.
    """
    questions = [question for kind in KINDS for question in kind.questions(emission)]
    share = max(1, len(questions))
    limits = Limits(max(500, REQUESTS // share), SECONDS / share, progress)
    return [question(binary, limits) for question in questions]


def ask_whole(
    emission: Emission, binary: Binary, *, progress: Callable[[int, int], None] | None = None
) -> list[Differential]:
    """Return the result of the comparison of the whole configuration, if it changes, with a quarter of the limits."""
    limits = Limits(REQUESTS // 4, SECONDS / 4, progress)
    return [differential_of_whole(emission, binary=binary, limits=limits)] if emission.changes else []
