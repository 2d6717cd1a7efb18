"""vegeta, the default generator. Its result files are kept, so that `vegeta report` and `vegeta plot` can read them."""

from __future__ import annotations

import csv
import io
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from itertools import cycle, islice

from nginxopt.bench import measure
from nginxopt.bench.result import Outcome
from nginxopt.bench.scenario import ClosedLoop, Load, OpenLoop, Target, Tls
from nginxopt.bench.site import RunningSite
from nginxopt.errors import RunError

TIMEOUT_SECONDS = 10
_ENCODE_SECONDS = 300.0
_VERSION_SECONDS = 30.0
_NANO = 1_000_000_000
_NO_MORE_TARGETS = "no targets to attack"  # the error that ends an attack with -lazy; it is not a request


class Vegeta:
    """The command `binary`, found on the PATH of wherever it runs."""

    name = "vegeta"

    def __init__(
        self, binary: str = "vegeta", *, scheme: str = "http", connect_to: str | None = None, direct: bool = False
    ) -> None:
        """Set how vegeta connects.

        `scheme` is `https` for TLS. `connect_to` (`host:port:address:port`) replaces the host of URLs. `direct` ignores
        the proxy of the environment, which Go never uses for 127.0.0.1. Targets with a `Tls` always do, as Go would use
        it for the names in their URLs.
        """
        self._binary = binary
        self._scheme = scheme
        self._connect_to = connect_to
        self._direct = direct

    def files(self, name: str, targets: Sequence[Target], address: str, load: Load) -> dict[str, bytes]:
        """Return the targets in vegeta's http format. If the load has a number of requests, this is that of targets."""
        texts = [_target(target, self._site(address, target.tls)) for target in targets]
        if isinstance(load, ClosedLoop) and load.requests is not None:
            texts = list(islice(cycle(texts), load.requests))
        return {f"{name}.targets": "\n".join(texts).encode()}

    def command(self, name: str, address: str, load: Load, output: str, tls: Tls | None = None) -> list[str]:
        """Return the command of an attack. It discards bodies and does not follow redirects."""
        return self._attack(load, address, tls, f"-targets={name}.targets", f"-output={output}.bin")

    def piped(self, load: Load, output: str, address: str = "", tls: Tls | None = None) -> list[str]:
        """Return the command of an attack that reads targets from standard input and writes results to a file.

        The address of plain HTTP is in the targets alone.
        """
        return self._attack(load, address, tls, "-targets=stdin", f"-output={output}")

    def encode(self, path: str) -> list[str]:
        """Return the command that prints the results in a file as CSV, a line for each request."""
        return [self._binary, "encode", "-to=csv", path]

    def _site(self, address: str, tls: Tls | None) -> str:
        """Return how the URLs of targets begin. vegeta takes the name of the handshake from them."""
        return f"{self._scheme}://{address}" if tls is None else f"https://{_named(address, tls)}"

    def _attack(self, load: Load, address: str, tls: Tls | None, *files: str) -> list[str]:
        connect_to = [] if self._connect_to is None else [self._connect_to]
        if tls is not None and tls.server_name is not None:
            connect_to.append(f"{_named(address, tls)}:{address}")
        return [
            *(["env", "NO_PROXY=*", "no_proxy=*"] if self._direct or tls is not None else []),
            self._binary,
            "attack",
            *files,
            "-redirects=-1",
            "-max-body=0",
            f"-timeout={TIMEOUT_SECONDS}s",
            f"-keepalive={str(load.keepalive).lower()}",
            f"-duration={load.seconds:g}s",
            *(f"-connect-to={mapping}" for mapping in connect_to),
            *([] if tls is None else ["-insecure"]),  # a `Tls` accepts any certificate
            *_pace(load),
        ]

    def outcome(self, site: RunningSite, output: str, printed: bytes) -> Outcome:  # noqa: ARG002 - nothing is printed
        """Return the outcome of an attack, from the single requests that `vegeta encode` prints."""
        raw = f"{output}.bin"
        rows = site.execute(self.encode(raw), seconds=_ENCODE_SECONDS)
        return parse(rows, raw)

    def version(self, site: RunningSite) -> str:
        """Return the line with the version. Custom builds have none."""
        printed = site.execute([self._binary, "-version"], seconds=_VERSION_SECONDS).decode(errors="replace")
        fields = dict(line.split(":", 1) for line in printed.splitlines() if ":" in line)
        return f"vegeta {fields.get('Version', '').strip() or 'of unknown version'}"


def parse(rows: bytes, raw: str) -> Outcome:
    """Parse the rows of `vegeta encode -to=csv`. Raises `RunError` if there are none."""
    starts, ends, latencies = [], [], []
    statuses: Counter[str] = Counter()
    errors: Counter[str] = Counter()
    for row in csv.reader(io.StringIO(rows.decode(errors="replace"))):
        start, status, latency, error = int(row[0]), row[1], int(row[2]), row[5]
        if error == _NO_MORE_TARGETS:
            continue
        starts.append(start)
        ends.append(start + latency)
        statuses[status] += 1
        if status == "0":
            errors[kind(error)] += 1
        if not measure.has_failed(status):
            latencies.append(latency / _NANO)
    if not starts:
        raise RunError("vegeta made no request", hint=f"run `vegeta report {raw}` for its results")
    latencies.sort()
    seconds = (max(ends) - min(starts)) / _NANO
    return Outcome(
        len(starts),
        seconds,
        measure.percentiles(latencies),
        measure.histogram(latencies),
        dict(sorted(statuses.items())),
        dict(errors.most_common()),
        raw,
        busiest_second=_busiest_second(starts),
    )


def kind(error: str) -> str:
    """Return the kind of error, without addresses."""
    if "deadline exceeded" in error or "timeout" in error.lower():
        return "timeout"
    return error.rsplit(": ", 1)[-1] or "unknown"


def _busiest_second(starts: Sequence[int]) -> int:
    """Return the most requests that began within any second; `starts` are in nanoseconds."""
    ordered = sorted(starts)
    return max(place - bisect_right(ordered, at - _NANO, hi=place + 1) + 1 for place, at in enumerate(ordered))


def _named(address: str, tls: Tls) -> str:
    """Return host:port with the name of the handshake as host."""
    host, _, port = address.rpartition(":")
    return f"{tls.server_name or host}:{port}"


def _target(target: Target, site: str) -> str:
    lines = [f"{target.method} {site}{target.path}", *(f"{name}: {value}" for name, value in target.headers)]
    return "\n".join([*lines, ""])


def _pace(load: Load) -> list[str]:
    if isinstance(load, OpenLoop):
        assert load.rate is not None, "found before the attack"
        return [f"-rate={max(1, round(load.rate))}/1s"]
    count = load.connections
    bounds = [f"-workers={count}", f"-max-workers={count}", f"-connections={count}", f"-max-connections={count}"]
    lazy = ["-lazy"] if load.requests is not None else []  # an attack ends with its targets if they are read lazily
    return ["-rate=0", *bounds, *lazy]
