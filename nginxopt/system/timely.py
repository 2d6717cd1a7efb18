"""Connections of httpcore with a deadline for the whole exchange.

httpcore's timeout applies to each read, so it reads on as long as interim responses, headers or a body keep arriving.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterable
from typing import Any

import httpcore

from nginxopt.system.deadline import Deadline

_SLICE = 1 << 14
"""The number of bytes that are written at once."""


class TimelyBackend(httpcore.NetworkBackend):
    """Opens connections that wait until a deadline at most; it replaces the timeouts of requests."""

    def __init__(self, deadline: Deadline, backend: httpcore.NetworkBackend | None = None) -> None:
        self._deadline = deadline
        self._backend = httpcore.SyncBackend() if backend is None else backend

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002 - the deadline is in its place
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect."""
        left = _left(self._deadline, httpcore.ConnectTimeout)
        return _TimelyStream(self._backend.connect_tcp(host, port, left, local_address, socket_options), self._deadline)


class _TimelyStream(httpcore.NetworkStream):
    """A connection that waits until the deadline at most."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: Deadline) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        return self._stream.read(max_bytes, _left(self._deadline, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        for at in range(0, len(buffer), _SLICE):
            self._stream.write(buffer[at : at + _SLICE], _left(self._deadline, httpcore.WriteTimeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002
    ) -> httpcore.NetworkStream:
        left = _left(self._deadline, httpcore.ConnectTimeout)
        return _TimelyStream(self._stream.start_tls(ssl_context, server_hostname, left), self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _left(deadline: Deadline, error: Callable[[str], Exception]) -> float:
    try:
        return deadline.left()
    except TimeoutError as timed_out:
        raise error(str(timed_out)) from None
