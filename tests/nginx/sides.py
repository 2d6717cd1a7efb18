"""A whole configuration on the real nginx before and after `rewrite-to-map`: responses and logs of both."""

from __future__ import annotations

import os
import re
import select
import signal
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from nginxopt.config import load
from nginxopt.rewrite import Emission, Options, emit, plan, prove
from nginxopt.system import nginx
from nginxopt.system.http import Client, RequestBytes
from nginxopt.system.nginx import Instance
from tests.support import PATIENCE

HOST = "a.test"
_LAST = "/-last-of-all"
_SILENT = b"closed"
"""What is in a request to which nginx may close the connection without an answer."""
_BETWEEN = b"\r\0between two answers\0\r"


@dataclass(frozen=True, slots=True)
class Site:
    """A configuration: `main` and `http` stand before the servers, in the main file; each server is a file of its own.

    `files` are others that are included, or served; the compilation does not see those that are `missing`. `gives_up`
    is the pattern of a rule on which PCRE gives up for some URIs; see `limited`. Of its rules, `grouped` are in groups,
    and `filtered` behind filters, all in all or in each server; of its conditions, `chained` are in lookups, and
    `located` of its regex locations are in groups.
    """

    servers: Sequence[str]
    http: str = ""
    main: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    gives_up: str = ""
    missing: Mapping[str, str] = field(default_factory=dict)
    grouped: int | Sequence[int] | None = None
    chained: int = 0
    filtered: int | Sequence[int] | None = None
    located: int = 0

    @property
    def includes(self) -> list[bytes]:
        """What stands in each server."""
        return [f"include server-{number}.conf;".encode() for number in range(len(self.servers))]

    def texts(self) -> dict[str, bytes]:
        """The files, `nginx.conf` first."""
        servers = "\n".join(f"server {{ {include.decode()} }}" for include in self.includes)
        whole = f"{self.main}\nevents {{}}\nhttp {{\n{self.http}\n{servers}\n}}\n"
        files = (
            {f"server-{number}.conf": text for number, text in enumerate(self.servers)}
            | dict(self.files)
            | dict(self.missing)
        )
        return {"nginx.conf": whole.encode(), **{name: text.encode() for name, text in files.items()}}


def compiled(site: Site, folder: Path) -> dict[str, bytes]:
    """The files of a site after `rewrite-to-map`; its output is proved, and at least one rule of each server moves.

    None need move where it is known how many are `filtered`, or where a map is compiled instead.
    """
    for name, data in site.texts().items():
        if name in site.missing:
            continue
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    config = load(folder / "nginx.conf", missing_ok=bool(site.missing))
    groups = bool(site.chained or site.located) or site.grouped is not None or site.filtered is not None
    emission = emit(plan(config, Options(groups=groups)))
    proof = prove(emission)
    assert proof.holds, (proof.refutation, proof.counterexample)
    changed = {Path(change.file.path).name for change in emission.changes}
    assert emission.plan.moving or site.filtered is not None, dict(emission.plan.rules.reasons())
    for number, text in enumerate(site.servers):
        moves = f"server-{number}.conf" in changed or emission.plan.maps.moved or site.filtered is not None
        assert moves or "rewrite" not in text, text
    assert (emission.plan.chains.moved, emission.plan.locations.moved) == (site.chained, site.located)
    assert (site.grouped or 0) in (emission.plan.rules.grouped, _in_each_server(emission, site, "grouped"))
    assert site.filtered in (None, emission.plan.rules.filtered, _in_each_server(emission, site, "filtered"))
    after = {str(Path(file.path).relative_to(folder)): emission.after(file) for file in config.files}
    maps = {Path(emission.maps_path).name: emission.maps} if emission.maps_path else {}
    return {**site.texts(), **after, **maps}


def _in_each_server(emission: Emission, site: Site, what: str) -> list[int]:
    """Return how many rules of each server are `grouped` or `filtered`."""
    counts: Counter[str] = Counter()
    for part in emission.plan.rules.parts:
        counts[Path(part.file.path).name] += sum(getattr(run.native, what) for run in part.runs)
    return [counts[f"server-{number}.conf"] for number in range(len(site.servers))]


def together(names: Sequence[str], number: int) -> list[ParameterSet]:
    """Return the names in lists of up to so many, as parameters of a test that asks one nginx about all of a list."""
    lists = [names[first : first + number] for first in range(0, len(names), number)]
    return [pytest.param(each, id=f"{each[0]} to {each[-1]}") for each in lists]


LIMIT = b"(*LIMIT_MATCH=100000)"
"""What lets PCRE give up on a pattern after 100,000 calls of `match()` instead of 10,000,000, which take 0.3 s."""


def limited(text: bytes, pattern: bytes) -> bytes:
    """A text with the limit before each such pattern: PCRE gives up on the same URIs, and nginx answers 500 sooner."""
    return re.sub(rb'(rewrite +"?)(%s)' % re.escape(pattern), lambda match: match[1] + LIMIT + match[2], text)


def _limited(site: Site, files: Mapping[str, bytes]) -> dict[str, bytes]:
    pattern = site.gives_up.encode()
    texts = {name: limited(text, pattern) if pattern else text for name, text in files.items()}
    assert sum(text.count(LIMIT) for text in texts.values()) == "".join(site.servers).count(site.gives_up or "\0")
    return texts


@dataclass(frozen=True, slots=True)
class Said:
    """What a side says: its answers, and the lines of its logs without what differs between any two runs."""

    answers: tuple[bytes, ...]
    access: tuple[str, ...]
    errors: tuple[str, ...]


def record(binary: nginx.Binary, site: Site, files: Mapping[str, bytes], requests: Sequence[RequestBytes]) -> Said:
    """Responses and logs of nginx for requests, which every server receives in turn."""
    parts = re.fullmatch(rb"(.*)\nevents \{\}\nhttp \{(.*?)server \{ include .*", files["nginx.conf"], re.DOTALL)
    assert parts
    with Instance(
        binary,
        servers=site.includes,
        http=parts[2],
        main=parts[1],
        files={name: data for name, data in files.items() if name != "nginx.conf"},
        log_level="error",
    ) as side:
        answers = []
        for port in side.ports:
            with _Once(port) as client:
                for group in _up_to_silence(requests):
                    answers += client.ask(group)
                client.ask([get(_LAST)])  # nginx logs a request before it reads the next one
        _quit(side)  # the last one is logged as well, perhaps with another URI
        access, errors = (_lines(side, name) for name in ("access.log", "error.log"))
        assert not any(_BETWEEN in answer for answer in answers)
        answers = _clean(side, _BETWEEN.join(answers)).split(_BETWEEN)
    return Said(tuple(answers), access, tuple(re.sub(r"^.*?: \*\d+ ", "", line) for line in errors if "*" in line))


class _Once(Client):
    """A client that asks for nothing twice, as it would stand in the logs twice.

    Where nginx says that it closes the connection, it reads what is behind and drops it. Where it closes it without an
    answer (`return 444`), requests behind make that a reset, which can take answers with it: there must be none.
    """

    def receive(self, batch: Sequence[RequestBytes], sent: Sequence[object]) -> list[bytes]:
        """Return the answers to a batch; that to its last request is empty if nginx is silent."""
        assert len(sent) == 1, "requests are sent on one connection"
        answers: list[bytes] = []
        while rest := batch[len(answers) :]:
            came = self._pipelined(rest, fresh=bool(answers))
            answers += came
            if len(came) < len(rest) and not (came and b"\r\nConnection: close\r\n" in came[-1]):
                assert len(came) == len(rest) - 1, (rest[len(came)].data, "nginx closed the connection")
                assert _SILENT in rest[-1].data, (rest[-1].data, "nginx closed the connection")
                answers.append(b"")
        return answers


def _up_to_silence(requests: Sequence[RequestBytes]) -> Iterator[Sequence[RequestBytes]]:
    """Yield the requests in order, in groups that end with a request to which nginx may be silent."""
    first = 0
    for end, request in enumerate(requests, 1):
        if _SILENT in request.data or end == len(requests):
            yield requests[first:end]
            first = end


def _quit(side: Instance) -> None:
    """Let nginx end, and return once it has.

    Asked again and again, as one process of nginx can sleep on after a signal (`nginxopt.system.process.end`).
    """
    deadline = time.monotonic() + PATIENCE
    with os.fdopen(os.pidfd_open(side.pid)) as ended:
        while True:
            os.kill(side.pid, signal.SIGQUIT)
            if select.select([ended], [], [], 0.01)[0]:
                return
            assert time.monotonic() < deadline, "nginx does not end"


def _lines(side: Instance, name: str) -> tuple[str, ...]:
    log = side.prefix / name
    lines = _clean(side, log.read_bytes() if log.exists() else b"").decode("latin-1").splitlines()
    return tuple(line for line in lines if _LAST not in line)


def _clean(side: Instance, text: bytes) -> bytes:
    """A text without times, ports and the folder."""
    text = re.sub(rb"\r\n(Date|Expires|Last-Modified): [^\r]*", b"", text)
    for port in side.ports:
        text = text.replace(b"%d" % port, b"<port>")
    return text.replace(bytes(side.prefix), b"<prefix>")


def get(target: str, *, method: str = "GET", host: str = HOST, headers: str = "") -> RequestBytes:
    """A request on the connection that is there."""
    data = f"{method} {target} HTTP/1.1\r\nHost: {host}\r\n{headers}\r\n".encode("latin-1")
    return RequestBytes(data, head=method == "HEAD")


def check(binary: nginx.Binary, site: Site, folder: Path, requests: Sequence[RequestBytes]) -> Said:
    """Compile a site, and ask nginx on both sides; returns what it says, after it was found to be the same."""
    was = record(binary, site, _limited(site, site.texts()), requests)
    is_now = record(binary, site, _limited(site, compiled(site, folder)), requests)
    asked = [(server, request) for server in site.servers for request in requests]
    for (server, request), original, changed in zip(asked, was.answers, is_now.answers, strict=True):
        assert original == changed, (server, request.data, original, changed)
    # A connection that ends with its response may be logged behind the request on the next one.
    access = (sorted(was.access), sorted(is_now.access))
    for what, one_log, other_log in (("access", *access), ("error", was.errors, is_now.errors)):
        before, after = Counter(one_log), Counter(other_log)
        assert one_log == other_log, (what, list((before - after).items())[:3], list((after - before).items())[:3])
    return was
