"""wrk, the load generator that measures throughput, and that replaces vegeta where it is missing.

It only has closed loops: each connection sends its next request once the response has arrived, for a fixed time.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from nginxopt.bench import measure
from nginxopt.bench.rendering import template
from nginxopt.bench.result import Outcome
from nginxopt.bench.scenario import Load, Target, Tls
from nginxopt.bench.site import RunningSite
from nginxopt.errors import RunError

TIMEOUT_SECONDS = 10
_VERSION_SECONDS = 30.0
_MICRO = 1e6
MARK = "nginxopt-result "
_KINDS = ("connect", "read", "write", "timeout")


class Wrk:
    """The command `binary`, found on the PATH of wherever it runs."""

    name = "wrk"

    def __init__(self, binary: str = "wrk") -> None:
        self._binary = binary

    def files(self, name: str, targets: Sequence[Target], address: str, load: Load) -> dict[str, bytes]:
        """Return the script that requests the targets in turn, counts statuses and prints the outcome as JSON."""
        requests = [json.dumps(_request(target, address, load)) for target in targets]
        script = template("wrk.lua.j2").render(
            requests=requests,
            ranks=measure.PERCENTILES,
            kinds=_KINDS,
            mark=MARK,
            connections=load.connections,
            connect_to=_connect_to(address, targets[0].tls),
        )
        return {f"{name}.lua": script.encode()}

    def command(self, name: str, address: str, load: Load, output: str, tls: Tls | None = None) -> list[str]:  # noqa: ARG002 - keeps no file
        """Return the command of an attack. An open loop becomes a closed one with the same connections."""
        options = ["--threads=1", f"--connections={load.connections}", f"--duration={max(1, round(load.seconds))}"]
        timeout = f"--timeout={TIMEOUT_SECONDS}"
        return [self._binary, *options, timeout, f"--script={name}.lua", _url(address, tls)]

    def outcome(self, site: RunningSite, output: str, printed: bytes) -> Outcome:  # noqa: ARG002 - all is printed
        """Return the outcome of an attack."""
        return parse(printed)

    def version(self, site: RunningSite) -> str:
        """Return the version. wrk prints it and exits with status 1."""
        printed = site.execute(["sh", "-c", f"{self._binary} --version; true"], seconds=_VERSION_SECONDS)
        words = printed.decode(errors="replace").split()
        return " ".join(words[:2])


def parse(printed: bytes) -> Outcome:
    """Parse the output of the script. Raises `RunError` if it printed no outcome."""
    text = printed.decode(errors="replace")
    lines = [line for line in text.splitlines() if line.startswith(MARK)]
    seen = json.loads(lines[-1].removeprefix(MARK)) if lines else {}
    errors = {kind: count for kind, count in seen.get("errors", {}).items() if count}
    if not seen.get("requests") and not errors:
        raise RunError(f"wrk got no response: {text.strip()[-500:]}")
    failed = sum(errors.values())
    return Outcome(
        seen["requests"] + failed,
        seen["duration"] / _MICRO,
        {name: value / _MICRO for name, value in seen["latency"].items()} if seen["requests"] else {},
        statuses=dict(sorted(seen["statuses"].items())) | ({"0": failed} if errors else {}),
        errors=errors,
        unfinished=seen["connections"],
    )


def _url(address: str, tls: Tls | None) -> str:
    """Return the URL of the command, from which wrk takes the name of the handshake; the script connects elsewhere."""
    if tls is None:
        return f"http://{address}/"
    host, _, port = address.rpartition(":")
    return f"https://{tls.server_name or host}:{port}/"


def _connect_to(address: str, tls: Tls | None) -> list[str]:
    """Return host and port, in quotes, where the script connects instead of to the URL; empty for the URL itself."""
    if tls is None or tls.server_name is None:
        return []
    host, _, port = address.rpartition(":")
    return [json.dumps(host), json.dumps(port)]


def _request(target: Target, address: str, load: Load) -> str:
    headers = dict(target.headers)
    lines = [f"{target.method} {target.path} HTTP/1.1", f"Host: {headers.pop('Host', address)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    lines += [] if load.keepalive else ["Connection: close"]
    return "\r\n".join([*lines, "", ""])
