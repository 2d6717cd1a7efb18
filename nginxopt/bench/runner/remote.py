"""The runner for a host that runs already: it starts nothing there, and requests no more than it may."""

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
from nginxopt.bench.target import Url
from nginxopt.errors import RunError

_ANSWER_SECONDS = 10.0  # also until the connection is made
_END_OF_HEAD = b"\r\n\r\n"
_MOST_BYTES = 1 << 20  # of an answer to a probe


@dataclass(frozen=True, slots=True)
class Resolved:
    """The addresses of a URL's host when it was resolved, and the one that is used."""

    url: Url
    addresses: tuple[str, ...]
    address: str

    @property
    def connect_to(self) -> str | None:
        """What vegeta connects to instead of the host: `host:port:address:port`; None if the host is an address."""
        return (
            None if self.address == self.url.host else f"{self.url.host}:{self.url.port}:{self.address}:{self.url.port}"
        )


def resolve(url: Url) -> Resolved:
    """Resolve the host of a URL, once for the whole run. Raises `RunError` if it has no address.

    The first IPv4 address is used: vegeta cannot be told to connect to an IPv6 one in the place of a name.
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
        """Whether only processes of this machine reach it."""
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
    """A host that nginxopt does not run: nothing is known of its nginx but its answers."""

    folder: Path
    target: Resolved
    pause: float
    _next: float = field(default=0.0)

    def address(self, variant: Variant, role: str) -> str:  # noqa: ARG002 - there is one
        """Return the host, and its port if it is not the usual one."""
        return self.target.url.address

    def execute(self, command: Sequence[str], *, seconds: float) -> bytes:
        """Run a command of the load generator to its end, on this machine."""
        return local.execute(command, self.folder, seconds)

    def ask(self, variant: Variant, role: str, target: Target) -> bytes:  # noqa: ARG002 - there is one
        """Return the raw answer of the host, the pause after the last request at the earliest.

        Raises `RunError` if it cannot be reached or fails.
        """
        time.sleep(max(0.0, self._next - time.monotonic()))
        self._next = time.monotonic() + self.pause
        answer = self._answer(local.request(self.target.url.address, target, alone=True).data)
        status = answer[9:12]
        if status >= b"500":
            raise RunError(f"{self.target.url}: {target.method} {target.path} is answered with {status.decode()}")
        return answer

    def time_wait(self, *_: object, **__: object) -> None:
        """Return None: that of another machine is not known."""

    def status(self, *_: object, **__: object) -> NoReturn:
        """Raise `RunError`, as all that is about an nginx itself: the variant of a host has no nodes."""
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
        except OSError as error:  # also those of TLS
            raise RunError(f"{url} at {self.target.address} does not answer: {error.strerror or error}") from None


def _received(connection: socket.socket) -> bytes:
    """What comes until the connection ends, falls silent below the head, or is enough to judge."""
    answer = b""
    try:
        while len(answer) < _MOST_BYTES and (data := connection.recv(65536)):
            answer += data
    except TimeoutError:
        if _END_OF_HEAD not in answer:
            raise
    return answer
