"""One exchange with a server on 127.0.0.1, over TCP or TLS: the bytes of a request, and the response."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
from pathlib import Path

from nginxopt.errors import MissingError
from nginxopt.records import record
from nginxopt.system.deadline import Deadline
from nginxopt.system.http import any_certificate
from nginxopt.system.network import MACHINE, Network

_LOOPBACK = "127.0.0.1"
_SECONDS = 20.0
_OPENSSL = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -keyout cert.key -out cert.pem"


@record(eq=True)
class Response:
    """A response. Headers are decoded as Latin-1, and the body has no transfer coding."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def values(self, name: str) -> list[str]:
        """Return the values of a header."""
        return [value for own, value in self.headers if own.lower() == name.lower()]

    def header(self, name: str) -> str | None:
        """Return the first value of a header; None without it."""
        return next(iter(self.values(name)), None)


def exchange(
    request: bytes,
    port: int,
    *,
    tls: bool = False,
    sni: str | None = None,
    network: Network = MACHINE,
    source: str = _LOOPBACK,
) -> Response | None:
    """Send a request from a loopback address to 127.0.0.1 in a network, and return the response; None if the server
    closes without one.

    The request must make the server close the connection afterwards. Raises `OSError` if it does not answer within 20
    seconds.
    """
    with network.tcp() as plain, _connected(plain, port, sni, source, tls=tls) as connection:
        received, deadline = b"", Deadline(_SECONDS)
        try:
            connection.sendall(request)
            while data := _read(connection, deadline):
                received += data
        except (BrokenPipeError, ConnectionResetError, ssl.SSLEOFError):
            pass
        return _response(received) if received else None


def certificate(folder: Path) -> tuple[str, str]:
    """Make a certificate and its key in a folder, and return their paths. Raises `MissingError` without openssl."""
    if shutil.which("openssl") is None:
        raise MissingError("no openssl found, which makes the certificate of a private nginx", hint="install openssl")
    subprocess.run(["openssl", *_OPENSSL.split()], cwd=folder, check=True, capture_output=True, timeout=60)
    return str(folder / "cert.pem"), str(folder / "cert.key")


def _connected(plain: socket.socket, port: int, sni: str | None, source: str, *, tls: bool) -> socket.socket:
    plain.settimeout(_SECONDS)
    if source != _LOOPBACK:
        plain.bind((source, 0))
    plain.connect((_LOOPBACK, port))
    if not tls:
        return plain
    return any_certificate().wrap_socket(plain, server_hostname=sni)  # `certificate` made it


def _read(connection: socket.socket, deadline: Deadline) -> bytes:
    connection.settimeout(deadline.left())
    return connection.recv(65_536)


def _response(received: bytes) -> Response:
    head, _, body = received.partition(b"\r\n\r\n")
    first, *lines = (line.removesuffix("\r") for line in head.decode("latin-1").split("\n"))
    status = first.split(" ")[1:2]
    if not first.startswith("HTTP/") or not status:
        return Response(200, (), received)  # HTTP/0.9
    headers = tuple((name, value.strip(" ")) for name, _, value in (line.partition(":") for line in lines))
    response = Response(int(status[0]), headers, body)
    if "chunked" in (response.header("transfer-encoding") or ""):
        return Response(response.status, headers, _unchunked(body))
    return response


def _unchunked(body: bytes) -> bytes:
    data = b""
    while True:
        line, _, rest = body.partition(b"\r\n")
        size = int(line.partition(b";")[0] or b"0", 16)
        if not size:
            return data
        data, body = data + rest[:size], rest[size + 2 :]
