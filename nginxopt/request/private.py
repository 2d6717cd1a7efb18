"""A private nginx on 127.0.0.1 with the http block of a configuration, as `transplant` writes it.

It listens on other ports, and passes requests for any upstream on to an echo server, which reports the request that it
received. Where the kernel allows it, both have a network of their own.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from time import monotonic, perf_counter, sleep
from types import TracebackType
from typing import NamedTuple, Self

from nginxopt.config import Config, load_text
from nginxopt.config.layout import quoted
from nginxopt.errors import UsageError
from nginxopt.records import record
from nginxopt.request.build import probe
from nginxopt.request.client import LOCAL, ConnectionForm, RequestForm
from nginxopt.request.model import OutcomeForm, SiteModel, World
from nginxopt.request.transplant import ECHO, PASSWORDS, PrivateStage, transplanted
from nginxopt.semantics import Address, Level, endpoints, read_listens
from nginxopt.semantics.site import Build
from nginxopt.semantics.site.lowering import http_level, placed
from nginxopt.semantics.values import PORT
from nginxopt.system.backend import Backend
from nginxopt.system.echo import Echo, EchoedRequest
from nginxopt.system.exchange import Response, certificate, exchange
from nginxopt.system.network import MACHINE, Network, own_network
from nginxopt.system.nginx import Binary, lay, permission, private_disk, private_prefix, reserved_ports, running
from nginxopt.text import encode
from nginxopt.version import Version

_MAIN = b"daemon off; master_process off; pid nginx.pid; error_log error.log;\nevents { }\n"
_MEASURED_MAIN = (
    b"daemon off; master_process off; pid nginx.pid; error_log error.log;\nevents { worker_connections 512; }\n"
)
# With each new second, nginx formats times, which takes thousands of instructions (ngx_time_update).
_TIMELESS = b"timer_resolution 1d;\n"
MODIFIED = 1_000_000_000
"""When each file was modified, in seconds since 1970: the same wherever it is."""

_STORE_SECONDS = 5.0
"""How long to wait until a response is in a cache."""
_OF_FILES = frozenset(["dav_methods", "create_full_put_path"])
"""Directives by which nginx changes the files that it serves."""


def source_of(connection: ConnectionForm) -> str:
    """Return the address from which a request is sent: that of its client if it is one of this machine."""
    client = connection["client"] or ""
    return client if client.startswith("127.") else LOCAL


class Exchange(NamedTuple):
    """What nginx did with a request.

    Attributes:
        response: None if it closed the connection without one.
        asked: What upstreams were asked for it.
        logged: What it wrote to the error log before it answered.
        seconds: The time from the request to the end of the response.
    """

    response: Response | None
    asked: Sequence[EchoedRequest]
    logged: bytes
    seconds: float


@record(eq=True)
class Measuring:
    """How to run an nginx that is measured.

    Attributes:
        wrapper: A command before that of nginx, which counts what nginx does; nginx then never formats times.
        also: The folders that the wrapper writes to.
        start_seconds: How long nginx may take to start.
        passwords: The file of users that stands for all of the configuration.
    """

    wrapper: tuple[str, ...] = ()
    also: tuple[Path, ...] = ()
    start_seconds: float = 120.0
    passwords: bytes = b""


class PrivateNginx:
    """The nginx, as a context manager.

    Raises `InputError` if it does not start, `MissingError` without the openssl that a certificate needs, and
    `UsageError` for assumptions that nginx cannot share.
    """

    def __init__(
        self,
        config: Config,
        prefix: str,
        world: World,
        binary: Binary,
        *,
        tls: bool,
        left_out: frozenset[str] = frozenset(),
        mirrors: bool = False,
        avoid: bytes = b"",
        answers: bool = True,
        sent: Sequence[tuple[str, str]] = (),
        failing: str | None = None,
        measuring: Measuring | None = None,
    ) -> None:
        """Take a configuration, whose relative paths begin at `prefix`; `tls` is for requests over TLS.

        `left_out` are further directives to leave out, `mirrors`, `answers` and `sent` are those of `Echo`, `avoid` is
        that of `reserved_ports`. `failing` is a file that nginx cannot serve, as it is a socket. With `measuring`,
        upstreams are a `Backend`, and nginx does all that takes time.
        """
        _refuse_assumptions(world)
        self._config = placed(config)
        self._old_prefix, self._world, self._binary, self._tls = prefix, world, binary, tls
        # nginx changes no files that are not its own.
        self._left_out, self._avoid = left_out | (_OF_FILES if world.root is not None else frozenset()), avoid
        self._mirrors, self._answers, self._sent = mirrors, answers, sent
        self._failing, self._measuring = failing, measuring
        self._network: Network = MACHINE
        self._cleanup = contextlib.ExitStack()

    def __enter__(self) -> Self:
        http = http_level(self._config, Version.of(self._binary.version))
        addresses = _addresses(http_servers(http))
        found = endpoints(read_listens(http_servers(http))).items()
        self._mapped = {(each.port, each.datagram) for each, endpoint in found if endpoint.takes_ipv4}
        with contextlib.ExitStack() as stack:
            self._prefix = stack.enter_context(private_prefix())
            self._network = stack.enter_context(own_network())
            self._echo = stack.enter_context(self._upstream())
            free = reserved_ports(len(addresses), avoid=self._avoid, network=self._network)
            reserved = stack.enter_context(free)
            self._ports: dict[Address, int] = dict(zip(addresses, reserved, strict=True))
            files = self._files(stack)
            tls = certificate(self._prefix) if self._tls else None
            folder = f"{Path(self._config.prefix).absolute()}/"
            stage = PrivateStage(
                self._ports, self._echo.port, files, self._old_prefix, folder, tls, self._left_out, self._binary,
                self._measuring is not None,
            )  # fmt: skip
            self._text = self._main() + transplanted(http, stage)
            permission.raise_first(list(permission.connections(load_text(self._text), {f"${ECHO}"})))
            (self._prefix / "nginx.conf").write_bytes(self._text)
            command = self._binary.command(self._prefix)
            if self._measuring is not None:
                (self._prefix / "logs").mkdir()
                how = self._measuring
                (self._prefix / PASSWORDS).write_bytes(how.passwords)
                started = running(
                    [*how.wrapper, *command],
                    self._prefix,
                    start_seconds=how.start_seconds,
                    also=how.also,
                    network=self._network,
                )
            else:
                started = running(command, self._prefix, network=self._network)
            self.process = stack.enter_context(started)
            self._cleanup = stack.pop_all()
        return self

    def _upstream(self) -> Echo:
        if self._measuring is not None:
            self.backend = Backend(self._network)
            return self.backend
        return Echo(self._network, mirrors=self._mirrors, answers=self._answers, sent=self._sent)

    def _files(self, stack: contextlib.ExitStack) -> str:
        """Return the folder that stands for the root of the disk."""
        if self._measuring is None:
            return _disk(self._world, self._prefix, self._failing)
        self.disk = stack.enter_context(private_disk())
        return str(self.disk)

    def _main(self) -> bytes:
        """Return the main block."""
        if self._measuring is None:
            return _MAIN
        modules = permission.refuse(self._config, self._binary)
        loads = b"".join(encode(f"load_module {quoted(str(path))};\n") for path in modules.values())
        jit = next((one for one, scope in self._config.walk() if one.name == "pcre_jit" and not scope.context), None)
        on = b"" if jit is None else b"pcre_jit %s;\n" % encode(str(jit.args[0]))
        return loads + on + (_TIMELESS if self._measuring.wrapper else b"") + _MEASURED_MAIN

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cleanup.close()

    def lay(self, files: Mapping[str, bytes]) -> None:
        """Put these files on the disk of an nginx that is measured, and no others; folders end with a slash."""
        lay(self.disk, files, modified=MODIFIED)

    def empty_caches(self) -> None:
        """Delete the responses that its caches keep, so that it asks upstreams again.

        A client may have a response before its file is in the cache, and until then it has a number for its name.
        """
        until = monotonic() + _STORE_SECONDS
        while any(path.name.rpartition(".")[2].isdigit() for path in self._kept()) and monotonic() < until:
            sleep(0.001)
        for path in self._kept():
            path.unlink(missing_ok=True)

    def _kept(self) -> list[Path]:
        """Return the files of responses, in caches and on their way there."""
        return [path for path in (self._prefix / "temp").rglob("*") if os.path.isfile(path)]

    @property
    def network(self) -> Network:
        """The network in which it runs."""
        return self._network

    @property
    def ports(self) -> Mapping[Address, int]:
        """The port of 127.0.0.1 for each address that its servers listen at."""
        return self._ports

    @property
    def names(self) -> tuple[bytes, ...]:
        """What may make responses of two such nginx differ: the folder and the ports of each."""
        return (bytes(self._prefix), *(b"%d" % port for port in (*self._ports.values(), self._echo.port)))

    def moved(self, sent: RequestForm) -> RequestForm:
        """Return a request as one to this nginx, which then closes the connection. Raises as `kept`."""
        kept = self.kept(sent)
        return {**kept, "headers": [*kept["headers"], ("Connection", "close")]}

    def kept(self, sent: RequestForm) -> RequestForm:
        """Return a request as one to this nginx. Raises `UsageError` if no server listens where it goes."""
        connection = sent["connection"]
        is_quic = connection.get("quic", False)
        family, place = connection["family"], (connection["port"], is_quic)
        everywhere = [("inet", "0.0.0.0"), ("inet6", "::")] if place in self._mapped else [(family, _ALL.get(family))]
        ports = {
            (each.family, each.host): port for each, port in self._ports.items() if (each.port, each.datagram) == place
        }
        port = next((ports[each] for each in [(family, connection["host"]), *everywhere] if each in ports), None)
        if port is None:
            where = f"{connection['host']}:{connection['port']}{' (QUIC)' if is_quic else ''}"
            listens = ", ".join(map(str, self._ports))
            raise UsageError(f"--nginx: no server listens at {where}", hint=f"these listen: {listens}")
        client = source_of(connection)
        here = {"family": "inet", "host": LOCAL, "port": port, "client": client, "quic": False, "protocol": None}
        moved = {**connection, **here}
        return {**sent, "connection": moved}  # type: ignore[typeddict-item] # the same keys

    def ask(self, moved: RequestForm) -> Exchange:
        """Send a request that was `moved`."""
        before, log = len(self._echo.asked), self._prefix / "error.log"
        logged, connection = log.stat().st_size, moved["connection"]
        self._echo.accel = self._world.accel
        start = perf_counter()
        data, port, network = request_bytes(moved), connection["port"], self._network
        source = source_of(connection)
        response = exchange(data, port, tls=connection["tls"], sni=connection["sni"], network=network, source=source)
        seconds = perf_counter() - start
        return Exchange(response, self._echo.asked[before:], log.read_bytes()[logged:], seconds)

    def expected(self, moved: RequestForm) -> OutcomeForm:
        """Return what the model says of this nginx."""
        return self._model.trace(moved, World(root="/", accel=self._world.accel))["outcome"]

    def original_port(self, port: int) -> int:
        """Return the original port that a port of this nginx stands for; any other port as it is."""
        return next((address.port for address, private in self._ports.items() if private == port), port)

    def original(self, data: bytes) -> bytes:
        """Return bytes with the folder and the ports of this nginx replaced by those that they stand for."""
        ports = {port: address.port for address, port in self._ports.items()} | {self._echo.port: 0}
        data = data.replace(str(self._prefix).encode(), b"")
        # All at once, as a port that stands for another may be one of this nginx itself.
        private = b"|".join(b"%d" % port for port in ports)
        return re.sub(rb"(?<!\d)(?:%s)(?!\d)" % private, lambda found: b"%d" % ports[int(found[0])], data)

    @cached_property
    def _model(self) -> SiteModel:
        build: Build = replace(probe(self._binary), prefix=f"{self._prefix}/")
        model = SiteModel(load_text(self._text, str(self._prefix / "nginx.conf")), build)
        return model if self._answers else model.without_upstreams()


_ALL = {"inet": "0.0.0.0", "inet6": "::"}
"""The host that stands for all addresses of a family."""


def _addresses(servers: Sequence[Level]) -> tuple[Address, ...]:
    """Return where servers listen, each address once: without `listen` at nginx's own, even if a file is missing that
    may have one.
    """
    implicit = [Address("inet", "0.0.0.0", PORT)] if any(not server.own("listen") for server in servers) else []
    return tuple(dict.fromkeys([*endpoints(read_listens(servers)), *implicit]))


def http_servers(http: Level) -> list[Level]:
    """Return the servers of http."""
    return [level for level in http.levels if level.kind == "server"]


def _refuse_assumptions(world: World) -> None:
    if world.variables:
        raise UsageError("--nginx cannot assume the value of a variable", hint="remove --assume VARIABLE=VALUE")
    if world.root is not None and (world.existing or world.missing):
        raise UsageError("--nginx takes files either from --root or from --assume")


def _disk(world: World, prefix: Path, failing: str | None) -> str:
    """Return the folder that stands for the root of the disk, with the files that are assumed to exist."""
    if world.root is not None:
        return str(Path(world.root).absolute()).rstrip("/")
    disk = prefix / "disk"
    for name in world.existing:
        path = disk / name.strip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("/"):
            path.mkdir(exist_ok=True)
            continue
        path.write_text(f"{name}\n")  # so that responses tell files apart
        os.utime(path, (MODIFIED, MODIFIED))
    disk.mkdir(exist_ok=True)
    if failing is not None:
        path = disk / failing.strip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        os.mknod(path, stat.S_IFSOCK | 0o600)
    return str(disk)


def request_bytes(sent: RequestForm) -> bytes:
    """Return a request as it is sent."""
    line = f"{sent['method']} {sent['target']} HTTP/{'.'.join(map(str, sent['version']))}"
    fields = "".join(f"{name}: {value}\r\n" for name, value in sent["headers"])
    sizes = [int(value) for name, value in sent["headers"] if name == "Content-Length" and value.isdecimal()]
    return f"{line}\r\n{fields}\r\n".encode("latin-1") + b"x" * max(sizes, default=0)
