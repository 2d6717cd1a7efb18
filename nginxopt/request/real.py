"""Asks a real nginx what the model was asked, and compares both answers.

nginx runs on 127.0.0.1 with the configuration as `transplant` writes it: on other ports, with an echo for every
upstream. The model is asked about the same text, so that both know the same.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from nginxopt.config import Config, load_text
from nginxopt.errors import UsageError
from nginxopt.request.build import probe
from nginxopt.request.connection import RequestForm
from nginxopt.request.model import Model
from nginxopt.request.outcomes import OutcomeForm, shown
from nginxopt.request.trace import Comparison, Trace
from nginxopt.request.transplant import Stage, transplanted
from nginxopt.request.world import World
from nginxopt.semantics import Address, Level, endpoints, read_listens
from nginxopt.semantics.site.blocks import http_level, placed
from nginxopt.semantics.upstreams import PROTOCOLS
from nginxopt.system.echo import Asked, Echo
from nginxopt.system.exchange import Response, certificate, exchange
from nginxopt.system.nginx import Binary, private_prefix, reserved_ports, running, user
from nginxopt.version import Version

_MAIN = b"daemon off; master_process off; pid nginx.pid; error_log error.log;\n%s\nevents { }\n"
_LOCAL = "127.0.0.1"


def compare(config: Config, trace: Trace, world: World, binary: Binary) -> Comparison:
    """Return how the answer of nginx differs from that of a trace.

    Raises `InputError` if nginx does not start, `MissingError` without the openssl that a certificate needs, and
    `UsageError` for assumptions that nginx cannot share.
    """
    _refuse_assumptions(world)
    if trace.outcome["kind"] == "unknown":
        return Comparison(str(binary), reason="the outcome is unknown")
    config = placed(config)
    http = http_level(config, Version.of(binary.version))
    addresses = tuple(endpoints(read_listens(http_servers(http))))
    with contextlib.ExitStack() as stack:
        prefix = stack.enter_context(private_prefix())
        echo = stack.enter_context(Echo())
        ports = dict(zip(addresses, stack.enter_context(reserved_ports(len(addresses))), strict=True))
        files = _disk(world, prefix)
        tls = certificate(prefix) if trace.sent["connection"]["tls"] else None
        stage = Stage(ports, echo.port, files, trace.site.site["build"]["prefix"], f"{_folder(config)}/", tls)
        text = _MAIN % user() + transplanted(http, stage)
        (prefix / "nginx.conf").write_bytes(text)
        sent = _moved(trace, ports)
        expected = _expected(text, prefix, binary, sent)
        if expected["kind"] == "unknown":
            unknown = expected["unknown"]
            return Comparison(str(binary), reason="the outcome is unknown" if unknown is None else unknown["reason"])
        stack.enter_context(running(binary.command(prefix), prefix))
        response = exchange(
            _bytes(sent), sent["connection"]["port"], tls=tls is not None, sni=sent["connection"]["sni"]
        )
        return Comparison(str(binary), tuple(differences(expected, response, echo.asked)))


def http_servers(http: Level) -> list[Level]:
    """Return the servers of http."""
    return [level for level in http.levels if level.kind == "server"]


def _refuse_assumptions(world: World) -> None:
    if world.variables:
        raise UsageError("--nginx cannot assume the value of a variable", hint="remove --assume VARIABLE=VALUE")
    if world.root is not None and (world.existing or world.missing):
        raise UsageError("--nginx takes files either from --root or from --assume")


def _disk(world: World, prefix: Path) -> str:
    """Return the folder that stands for the root of the disk, with the files that are assumed to exist."""
    if world.root is not None:
        return str(Path(world.root).absolute()).rstrip("/")
    disk = prefix / "disk"
    for name in world.existing:
        path = disk / name.strip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(exist_ok=True) if name.endswith("/") else path.write_text("file\n")
    disk.mkdir(exist_ok=True)
    return str(disk)


def _folder(config: Config) -> Path:
    return Path(config.prefix).absolute()


def _moved(trace: Trace, ports: dict[Address, int]) -> RequestForm:
    """Return the request to the private nginx."""
    connection = trace.sent["connection"]
    address = next(
        address
        for host in (connection["host"], "0.0.0.0", "::")
        for address in ports
        if (address.host, address.port, address.datagram) == (host, connection["port"], False)
    )
    moved = {**connection, "family": "inet", "host": _LOCAL, "port": ports[address], "client": _LOCAL}
    headers = [*trace.sent["headers"], ("Connection", "close")]
    return {**trace.sent, "headers": headers, "connection": moved}  # type: ignore[typeddict-item] # the same keys


def _expected(text: bytes, prefix: Path, binary: Binary, sent: RequestForm) -> OutcomeForm:
    """Return what the model says of the private nginx."""
    build = replace(probe(binary), prefix=f"{prefix}/")
    model = Model(load_text(text, str(prefix / "nginx.conf")), build)
    return model.trace(sent, World(root="/"))["outcome"]


def _bytes(sent: RequestForm) -> bytes:
    """Return a request as it is sent."""
    line = f"{sent['method']} {sent['target']} HTTP/{'.'.join(map(str, sent['version']))}"
    fields = "".join(f"{name}: {value}\r\n" for name, value in sent["headers"])
    return f"{line}\r\n{fields}\r\n".encode("latin-1")


def differences(outcome: OutcomeForm, response: Response | None, asked: Sequence[Asked]) -> Iterator[str]:
    """Yield what differs between an outcome and the response of nginx, or the request that the echo got."""
    if response is None or outcome["kind"] == "closed":
        if (response is None) != (outcome["kind"] == "closed"):
            yield f"nginx {'closes the connection' if response is None else f'answers {response.status}'}"
        return
    if outcome["kind"] in PROTOCOLS:
        yield from _passed(outcome, response, asked)
    elif outcome["status"] is not None and outcome["status"] != response.status:
        yield f"nginx answers {response.status}, not {outcome['status']}"
    if outcome["unknown"] is not None:
        return
    location = response.header("location")
    if (outcome["location"] or None) != (location or None):
        yield f"nginx sends the Location {shown(location or 'none')}, not {shown(outcome['location'] or 'none')}"
    if outcome["body"] and outcome["body"].encode("latin-1") != response.body:
        yield f"nginx sends the body {shown(response.body.decode('latin-1'))!r}, not {shown(outcome['body'])!r}"
    for header in outcome["headers"]:
        if header["value"] not in response.values(header["name"]):
            yield f"nginx does not send {shown(header['name'])}: {shown(header['value'])}"


def _passed(outcome: OutcomeForm, response: Response, asked: Sequence[Asked]) -> Iterator[str]:
    passed = outcome["upstream"]
    if not asked:
        yield f"nginx passes nothing on, and answers {response.status}"
        return
    if asked[-1].protocol != outcome["kind"]:
        yield f"nginx passes the request on by {asked[-1].protocol}, not {outcome['kind']}"
    elif passed is not None and passed["target"] is not None and outcome["kind"] == "proxy":
        line = f"{passed['method']} {passed['target']}"
        if line.encode("latin-1") != asked[-1].line:
            yield f"nginx passes on {shown(asked[-1].line.decode('latin-1'))}, not {shown(line)}"
