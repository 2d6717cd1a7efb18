"""The runner for an existing host: it starts nothing there, and limits the rate of its requests."""

from __future__ import annotations

import contextlib
import socket
import ssl
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import NoReturn

from nginxopt.bench.runner import local
from nginxopt.bench.scenario import Experiment, Target, Variant
from nginxopt.bench.target import TargetUrl
from nginxopt.errors import RunError
from nginxopt.records import record
from nginxopt.system.deadline import Deadline

_ANSWER_SECONDS = 10.0  # the time limit for connecting, and for a response
_END_OF_HEAD = b"\r\n\r\n"
_MOST_BYTES = 1 << 20  # the most bytes of a response to a probe that are read


@record(eq=True)
class Resolved:
    """A URL, the addresses to which its host was resolved, and the address that is used."""

    url: TargetUrl
    addresses: tuple[str, ...]
    address: str

    @property
    def connect_to(self) -> str | None:
        """vegeta's option to connect to the address: `host:port:address:port`; None if the host is an address."""
        return (
            None if self.address == self.url.host else f"{self.url.host}:{self.url.port}:{self.address}:{self.url.port}"
        )


def resolve(url: TargetUrl) -> Resolved:
    """Resolve the host of a URL, once for the whole run. Raises `RunError` if it has no address.

    Uses the first IPv4 address, because vegeta cannot replace a name by an IPv6 address.
    """
    try:
        found = socket.getaddrinfo(url.host, url.port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise RunError(f"{url.host} cannot be resolved: {error.strerror}") from None
    addresses = tuple(dict.fromkeys(str(entry[4][0]) for entry in found))
    usable = [address for address in addresses if ":" not in address or address == url.host]
    if not usable:
        raise RunError(f"{url.host} has only IPv6 addresses", hint=f"use one of them: http://[{addresses[0]}]/")
    return Resolved(url, addresses, usable[0])


class Remote:
    """Requests a resolved URL, at most `cap` times a second."""

    name = "target"

    def __init__(self, target: Resolved, cap: int) -> None:
        self._target = target
        self._cap = cap

    @property
    def is_here(self) -> bool:
        """Whether only processes of this machine can connect to it."""
        return ip_address(self._target.address).is_loopback

    @contextlib.contextmanager
    def deploy(self, experiment: Experiment, folder: Path) -> Iterator[RemoteSite]:  # noqa: ARG002 - it runs already
        """Yield the host."""
        yield RemoteSite(folder, self._target, 1 / self._cap)

    def provenance(self) -> Mapping[str, str]:
        """Return the URL, all addresses of its host, and the one that was used."""
        target = self._target
        return {"target": str(target.url), "addresses": ", ".join(target.addresses), "address": target.address}


@dataclass(slots=True)
class RemoteSite:
    """A host that nginxopt does not run, of which only the responses are known."""

    folder: Path
    target: Resolved
    pause: float
    _next: float = field(default=0.0)

    def address(self, variant: Variant, role: str) -> str:  # noqa: ARG002 - there is one
        """Return the host, and the port if it is not the default."""
        return self.target.url.address

    def execute(self, command: Sequence[str], *, seconds: float) -> bytes:
        """Run a command of the load generator to its end, on this machine."""
        return local.execute(command, self.folder, seconds)

    def ask(self, variant: Variant, role: str, target: Target) -> bytes:  # noqa: ARG002 - there is one
        """Return the raw response of the host. Waits until `pause` seconds have passed since the last request.

        Raises `RunError` if the connection fails.
        """
        time.sleep(max(0.0, self._next - time.monotonic()))
        self._next = time.monotonic() + self.pause
        answer = self._answer(local.request(self.target.url.address, target, alone=True).data)
        status = answer[9:12]
        if status >= b"500":
            raise RunError(f"{self.target.url}: {target.method} {target.path} is answered with {status.decode()}")
        return answer

    def time_wait(self, *_: object, **__: object) -> None:
        """Return None: the sockets of another machine are not known."""

    def status(self, *_: object, **__: object) -> NoReturn:
        """Raise `RunError`, like all methods about nodes, which the variant of an existing host does not have."""
        raise RunError(f"{self.target.url} is not run by nginxopt: only its answers are known")

    clock = memory = open_files = test_seconds = instructions = status

    def _answer(self, request: bytes) -> bytes:
        url = self.target.url
        try:
            with contextlib.ExitStack() as open_:
                connection = open_.enter_context(
                    socket.create_connection((self.target.address, url.port), _ANSWER_SECONDS)
                )
                if url.scheme == "https":
                    context = ssl.create_default_context()
                    connection = open_.enter_context(context.wrap_socket(connection, server_hostname=url.host))
                connection.sendall(request)
                return _received(connection)
        except OSError as error:  # including TLS errors
            raise RunError(f"{url} at {self.target.address} does not answer: {error.strerror or error}") from None


def _received(connection: socket.socket) -> bytes:
    """Return the bytes until the connection ends, sends nothing more after the head, or the limit is reached."""
    answer, deadline = b"", Deadline(_ANSWER_SECONDS)
    try:
        while len(answer) < _MOST_BYTES:
            connection.settimeout(deadline.left())
            data = connection.recv(65536)
            if not data:
                break
            answer += data
    except TimeoutError:
        if _END_OF_HEAD not in answer:
            raise
    return answer
