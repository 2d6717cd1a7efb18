"""Many sites at once in one nginx: what it refuses is taken out, and what it answers and logs is read."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nginxopt.errors import InputError
from tests.fuzz.nodes import Rendered, render
from tests.fuzz.sites.around import http, whole
from tests.fuzz.sites.generate import Site, site
from tests.fuzz.sites.messages import Request, Response, response
from tests.fuzz.sites.requests import asks
from tests.fuzz.sites.scope import PORTS
from tests.fuzz.sites.stage import Stage

_TRIES = 400
_PLACE = re.compile(r"sites/(\d+)\.conf:(\d+)\Z")


@dataclass(frozen=True, slots=True)
class Logged:
    """What nginx logs of a request in the end: the level that logs it, the status, `$uri` and `$args`."""

    level: int
    status: int
    uri: bytes
    args: bytes


@dataclass(frozen=True, slots=True)
class Observation:
    """A request, what nginx answered, and what it logged, if anything."""

    request: Request
    raw: bytes
    logged: Logged | None

    @property
    def response(self) -> Response | None:
        """The response; None if nginx closed the connection."""
        return response(self.raw)


@dataclass(slots=True)
class Batch:
    """Sites, and what stands before them in `http`."""

    http: str
    sites: list[Site]
    refused: list[str] = field(default_factory=list)

    def text(self, stage: Stage, index: int) -> str:
        """Return the whole configuration of a site alone."""
        return stage.filled(whole(self.http, self.sites[index].text()), self.ports(stage, index))

    def ports(self, stage: Stage, index: int) -> Sequence[int]:
        """Return the ports of a site."""
        return stage.ports((index + 1) * PORTS)[index * PORTS :]


def made(seed: int, first: int, count: int, version: tuple[int, ...]) -> Batch:
    """Return the sites of these numbers."""
    draw = random.Random(f"{seed} {first} http")
    return Batch(http(draw), [site(seed, number, version) for number in range(first, first + count)])


def lay(stage: Stage, batch: Batch) -> None:
    """Write the sites for nginx, without the directives that it refuses."""
    rendered = [_write(stage, batch, index) for index in range(len(batch.sites))]
    stage.write({"nginx.conf": stage.filled(whole(batch.http, "include sites/*.conf;"))})
    (stage.root / "logs").mkdir(exist_ok=True)
    for _ in range(_TRIES):
        verdict = stage.verdict()
        if verdict.ok:
            return
        message = next(message for message in verdict.messages if message.level == "emerg")
        batch.refused.append(message.text)
        place = _PLACE.search(message.place)
        assert place, f"nginx refuses what stands nowhere: {message}"
        index, line = int(place[1]), int(place[2])
        nodes, node = rendered[index].places[_name(index), line]
        nodes.remove(node)
        rendered[index] = _write(stage, batch, index)
    raise AssertionError(f"nginx refuses too much: {batch.refused[-3:]}")


def observe(stage: Stage, batch: Batch, seed: int, each: int) -> list[list[Observation]]:
    """Return what nginx answers to requests of each site."""
    requests = []
    for index, one in enumerate(batch.sites):
        ports = batch.ports(stage, index)
        numbers = range(index * each, (index + 1) * each)
        requests.append([Request(ports[port], data) for port, data in asks(one, seed, each, numbers)])
    log = stage.root / "logs" / "a.log"
    log.unlink(missing_ok=True)
    with stage.running():
        answers = [stage.ask(some) for some in requests]
    logged = _read(log)
    return [
        [
            Observation(request, raw, logged.get(index * each + number))
            for number, (request, raw) in enumerate(zip(some, raws, strict=True))
        ]
        for index, (some, raws) in enumerate(zip(requests, answers, strict=True))
    ]


def observe_one(stage: Stage, batch: Batch, observation: Observation) -> Observation | None:
    """Return what nginx answers to a request to the only site of a batch; None if it refuses the site."""
    ports = stage.ports(PORTS)
    port = stage.place(observation.request.port) % PORTS
    request = Request(ports[port], observation.request.data)
    stage.write({"nginx.conf": batch.text(stage, 0)})
    log = stage.root / "logs" / "a.log"
    log.unlink(missing_ok=True)
    try:
        with stage.running():
            (raw,) = stage.ask([request])
    except InputError:
        return None
    except ConnectionRefusedError:
        return None
    return Observation(request, raw, next(iter(_read(log).values()), None))


def _name(index: int) -> str:
    return f"sites/{index:04}.conf"


def _write(stage: Stage, batch: Batch, index: int) -> Rendered:
    rendered = render(_name(index), batch.sites[index].nodes)
    text = rendered.files[_name(index)].decode("utf-8", "surrogateescape")
    stage.write({_name(index): stage.filled(text, batch.ports(stage, index))})
    return rendered


def _read(log: Path) -> dict[int, Logged]:
    """Return the lines of the log by the numbers of their requests; a request that was asked twice has its last."""
    logged = {}
    for line in log.read_bytes().splitlines() if log.exists() else ():
        words = line.split(b"\t")
        if len(words) == 5 and words[1].isdigit():
            level, number, status, uri, args = words
            logged[int(number)] = Logged(int(level), int(status), _unescaped(uri), _unescaped(args))
    return logged


def _unescaped(text: bytes) -> bytes:
    """Return a value of a log as it is: a missing one is `-` (ngx_http_log_variable)."""
    return b"" if text == b"-" else re.sub(rb"\\x([0-9A-F]{2})", lambda match: bytes([int(match[1], 16)]), text)
