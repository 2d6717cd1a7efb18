"""A client for upstream servers, over TCP, a UNIX socket or TLS, that parses complete responses.

Unlike this client for any server, `nginxopt.system.http` returns the bytes of a local nginx unparsed.
"""

from __future__ import annotations

import contextlib
import re
import socket
import ssl
import time
from dataclasses import field
from urllib.parse import urlsplit

from nginxopt.errors import RunError, UsageError
from nginxopt.records import record
from nginxopt.system.deadline import Deadline

_MOST = 16 << 20  # the most bytes of a response, with interim ones before it, that are read
# Headers that differ between equal responses, or belong to the connection and not to the response (RFC 9110, 7.6.1).
_OF_THE_MESSAGE = {
    "date", "age", "expires", "connection", "keep-alive", "transfer-encoding", "content-length", "set-cookie", "server",
}  # fmt: skip


@record(eq=True)
class UpstreamTarget:
    """A server and a path: `http://host:port/path`, or `http://unix:/socket:/path` in nginx's syntax."""

    address: tuple[str, int] | str
    host: str
    path: str
    tls: bool

    @classmethod
    def parse(cls, url: str) -> UpstreamTarget:
        """Parse a URL. Raise `UsageError` if it is not http or https."""
        scheme, _, rest = url.partition("://")
        if scheme not in ("http", "https") or not rest:
            raise UsageError(
                f'invalid URL "{url}"', hint="http://host:port/path, https://..., http://unix:/socket:/path"
            )
        if rest.startswith("unix:"):
            file, _, path = rest[5:].partition(":")
            return cls(file, "localhost", path or "/", scheme == "https")
        try:
            parts = urlsplit(url)
            port = parts.port or (443 if scheme == "https" else 80)
        except ValueError as error:
            raise UsageError(f'invalid URL "{url}": {error}') from None
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        return cls((parts.hostname or "", port), parts.netloc.rpartition("@")[2], path, scheme == "https")


@record(eq=True, frozen=False)
class UpstreamResponse:
    """A complete response; `interim` are the statuses of interim responses (1xx) before it."""

    version: str
    status: int
    headers: list[tuple[str, str]]
    body: bytes
    interim: list[int] = field(default_factory=list)

    def header(self, name: str) -> str:
        """Return the values of a header, joined; empty if there is none."""
        return ", ".join(value for own, value in self.headers if own == name)

    def essence(self) -> dict[str, object]:
        """Return the response without the parts that differ between equal responses, such as the date."""
        named: dict[str, list[str]] = {}
        for name, value in self.headers:
            if name not in _OF_THE_MESSAGE:
                named.setdefault(name, []).append(value)
        joined = {name: ", ".join(values) for name, values in named.items()}
        return {"status": self.status, **joined, "body": self.body}

    def differences(self, other: UpstreamResponse) -> set[str]:
        """Return the names of the parts in which this response differs from another one."""
        mine, theirs = self.essence(), other.essence()
        return {name for name in {*mine, *theirs} if mine.get(name) != theirs.get(name)}


def _place(address: tuple[str, int] | str) -> str:
    """Return an address as in a URL: a path, or host and port."""
    if isinstance(address, str):
        return f"unix:{address}"
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class UpstreamConnection:
    """A connection to the server. Raises `RunError` if it cannot be opened."""

    def __init__(self, target: UpstreamTarget, wait: float) -> None:
        self._target = target
        self._wait = wait
        self._deadline = Deadline(wait)
        self._received = b""
        self._size = 0
        try:
            self._socket = self._open()
        except OSError as error:
            raise RunError(f"cannot connect to {_place(target.address)}: {error.strerror or error}") from None

    def _open(self) -> socket.socket:
        if isinstance(self._target.address, str):
            plain = socket.socket(socket.AF_UNIX)
            plain.settimeout(self._wait)
            plain.connect(self._target.address)
        else:
            plain = socket.create_connection(self._target.address, self._wait)
        if not self._target.tls:
            return plain
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # nginx does not verify it either
        return context.wrap_socket(plain, server_hostname=self._target.host.partition(":")[0])

    def __enter__(self) -> UpstreamConnection:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def ask(self, version: str, encoding: str = "") -> UpstreamResponse | None:
        """Return the response to a GET; None if it is missing or incomplete. Raises `RunError` for one without end."""
        lines = [f"GET {self._target.path} HTTP/{version}", f"Host: {self._target.host}"]
        lines += ["Connection: close"] if version == "1.0" else []
        lines += [f"Accept-Encoding: {encoding}"] if encoding else []
        self._deadline.begin()
        self._size = 0
        try:
            self._socket.settimeout(self._wait)
            self._socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
            return self._response()
        except (OSError, ValueError):
            return None

    def ends(self, seconds: float) -> float:
        """Wait at most `seconds` until the server closes the connection. Return the time it took; 0 if it did not."""
        started = time.monotonic()
        self._socket.settimeout(seconds)
        try:
            ended = not self._socket.recv(1)
        except TimeoutError:
            return 0
        except OSError:
            ended = True
        return max(time.monotonic() - started, 0.001) if ended else 0

    def _response(self) -> UpstreamResponse:
        interim: list[int] = []
        while True:
            version, status, headers = self._head()
            if status >= 200 or status == 101:
                return UpstreamResponse(version, status, headers, self._body(version, status, headers), interim)
            interim.append(status)

    def _head(self) -> tuple[str, int, list[tuple[str, str]]]:
        text = self._until(b"\r\n\r\n").decode("latin-1")
        first, *lines = text.removesuffix("\r\n\r\n").split("\r\n")
        status_line = re.match(r"HTTP/(\d\.\d) (\d{3})", first)
        if status_line is None:
            raise ValueError(first)
        headers = [(name.lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines)]
        return status_line[1], int(status_line[2]), headers

    def _body(self, version: str, status: int, headers: list[tuple[str, str]]) -> bytes:
        named = dict(headers)
        if status in (101, 204, 304):
            return b""
        if "chunked" in named.get("transfer-encoding", ""):
            return self._chunks()
        if "content-length" in named:
            return self._take(int(named["content-length"]))
        if version == "1.1" and "close" not in named.get("connection", "").lower() and not self._is_last():
            raise ValueError("a response without a length on an open connection")
        return self._rest()

    def _is_last(self) -> bool:
        """Return whether the server closes the connection without announcing it, which ends the body."""
        with contextlib.suppress(OSError):
            self._rest()
            return True
        return False

    def _chunks(self) -> bytes:
        body = b""
        while size := int(self._until(b"\r\n").partition(b";")[0], 16):
            body += self._take(size)
            self._until(b"\r\n")
        while self._until(b"\r\n") != b"\r\n":
            pass
        return body

    def _rest(self) -> bytes:
        with contextlib.suppress(ValueError):
            while True:
                self._more()
        return self._take(len(self._received))

    def _until(self, end: bytes) -> bytes:
        while end not in self._received:
            self._more()
        return self._take(self._received.index(end) + len(end))

    def _take(self, count: int) -> bytes:
        while len(self._received) < count:
            self._more()
        taken, self._received = self._received[:count], self._received[count:]
        return taken

    def _more(self) -> None:
        """Receive more data. Raise `TimeoutError` if the response as a whole takes too long."""
        self._socket.settimeout(self._deadline.left())
        data = self._socket.recv(65536)
        if not data:
            raise ValueError("the response ends early")
        self._size += len(data)
        if self._size > _MOST:
            message = f"{_place(self._target.address)} answers with more than {_MOST:,} bytes"
            raise RunError(message, hint="probe a path with a smaller response")
        self._received += data
