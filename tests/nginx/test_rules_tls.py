"""Rules about TLS on the real nginx: resumed sessions, the negotiated protocol, sizes of records."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from nginxopt.system import nginx
from tests.certificates import issue, rsa_key
from tests.lintcheck import fixed
from tests.support import PATIENCE

pytestmark = pytest.mark.nginx

TARGET = "1.22.1"
CLIENTS = [
    (ssl.TLSVersion.TLSv1_2, "tickets"),
    (ssl.TLSVersion.TLSv1_2, "no tickets"),
    (ssl.TLSVersion.TLSv1_3, "tickets"),
]
CERTIFICATE = "ssl_protocols TLSv1.2 TLSv1.3; ssl_certificate cert.pem; ssl_certificate_key cert.key;\n"
PAGE = "x" * 40_000
WHERE = "unix:tls.sock"

# An address of the machine would not be judged: the socket of a path stands for port 443 while nginx runs.
PUBLIC = "203.0.113.1:443"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, bytes]:
    """A certificate signed by itself, and its key."""
    if shutil.which("openssl") is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("no openssl command: install it to run these tests")
    folder = tmp_path_factory.mktemp("certificate")
    key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout cert.key"
    command = f"openssl req -x509 {key} -days 2 -subj /CN=a.example -out cert.pem"
    subprocess.run(command.split(), cwd=folder, check=True, capture_output=True, timeout=PATIENCE)
    return {name: (folder / name).read_bytes() for name in ("cert.pem", "cert.key")}


@contextlib.contextmanager
def serving(binary: nginx.Binary, http: str, certificate: Mapping[str, bytes]) -> Iterator[Path]:
    """The socket at which nginx serves what stands in http."""
    text = http.replace(f"listen {PUBLIC}", f"listen {WHERE}").encode()
    files = {**certificate, "html/page.html": PAGE.encode()}
    with nginx.Instance(binary, http=text, files=files) as instance:
        yield instance.prefix / "tls.sock"


def connected(
    path: Path, context: ssl.SSLContext, session: ssl.SSLSession | None = None, *, name: str = "a.example"
) -> ssl.SSLSocket:
    """A connection by TLS to the socket at a path."""
    plain = socket.socket(socket.AF_UNIX)
    plain.settimeout(PATIENCE)
    plain.connect(str(path))
    return context.wrap_socket(plain, server_hostname=name, session=session)


def client(version: ssl.TLSVersion, tickets: str = "tickets") -> ssl.SSLContext:
    """The settings of a client of one version of TLS that trusts everybody."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = context.maximum_version = version
    if tickets != "tickets":
        context.options |= ssl.OP_NO_TICKET
    return context


def asked(connection: ssl.SSLSocket) -> bytes:
    """The answer on a new connection, which is read to its end, so that a session has come if there is one."""
    connection.sendall(b"GET /page.html HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n")
    parts = []
    while data := connection.recv(65_536):
        parts.append(data)
    return b"".join(parts)


def second(path: Path, context: ssl.SSLContext) -> tuple[bool, bytes, bytes]:
    """Whether a second connection resumes the session of the first, and both answers."""
    with connected(path, context) as first:
        answer = asked(first)
        session = first.session
    with connected(path, context, session) as again:
        other = asked(again)
        return bool(again.session_reused), answer, other


SERVER = f"server {{\n    listen {PUBLIC} ssl;\n    server_name a.example;\n}}\n"

WITHOUT = {
    "no cache": f"{CERTIFICATE}ssl_session_tickets off;\n{SERVER}",
    "off": f"{CERTIFICATE}ssl_session_tickets off;\nssl_session_cache off;\n{SERVER}",
    "a cache in another server than the default one": (
        f"{CERTIFICATE}ssl_session_tickets off;\nserver {{ listen {PUBLIC} ssl; server_name b.example; }}\n"
        f"server {{ listen {PUBLIC} ssl; server_name a.example; ssl_session_cache shared:A:1m; }}\n"
    ),
}


@pytest.mark.parametrize("case", WITHOUT)
@pytest.mark.parametrize(("version", "tickets"), CLIENTS)
def test_ssl_session_cache(
    binary: nginx.Binary, certificate: Mapping[str, bytes], case: str, version: ssl.TLSVersion, tickets: str
) -> None:
    """Without tickets and cache no session is resumed; after the fix each one is, and the answers stay."""
    before = WITHOUT[case]
    after = fixed("ssl-session-cache", before, context="http", target=TARGET).decode()
    assert after != before
    context = client(version, tickets)
    with serving(binary, before, certificate) as path:
        resumed, first, again = second(path, context)
    assert not resumed
    with serving(binary, after, certificate) as path:
        resumed, *answers = second(path, context)
    assert resumed
    assert [answer.split(b"\r\n\r\n")[1] for answer in (first, again, *answers)] == [PAGE.encode()] * 4


@pytest.mark.parametrize(
    ("version", "tickets", "resumed"), [(*CLIENTS[0], True), (*CLIENTS[1], False), (*CLIENTS[2], True)]
)
def test_tickets_need_no_cache(
    binary: nginx.Binary, certificate: Mapping[str, bytes], version: ssl.TLSVersion, tickets: str, resumed: bool
) -> None:
    """With tickets, which are on by default, clients that take them resume without a cache: no finding."""
    with serving(binary, CERTIFICATE + SERVER, certificate) as path:
        assert second(path, client(version, tickets))[0] is resumed


def test_http2(binary: nginx.Binary, certificate: Mapping[str, bytes]) -> None:
    """HTTP/2 is agreed on after the fix; clients that do not offer it speak HTTP/1.1 and have the same answer."""
    before = CERTIFICATE + SERVER
    after = fixed("http2-missing", before, context="http", target=TARGET).decode()
    agreed, answers = [], []
    for text in (before, after):
        with serving(binary, text, certificate) as path:
            for protocols in (["h2", "http/1.1"], ["http/1.1"], []):
                context = client(ssl.TLSVersion.TLSv1_3)
                if protocols:
                    context.set_alpn_protocols(protocols)
                with connected(path, context) as connection:
                    agreed.append(connection.selected_alpn_protocol())
                    if agreed[-1] != "h2":
                        answers.append(asked(connection))
    assert agreed == ["http/1.1", "http/1.1", None, "h2", "http/1.1", None]
    assert len({answer.split(b"\r\n\r\n")[1] for answer in answers}) == 1


def test_ssl_buffer_size(binary: nginx.Binary, certificate: Mapping[str, bytes]) -> None:
    """The records of a page are of 16 KB before the fix, and of 4 KB after it."""
    before = CERTIFICATE + SERVER
    after = fixed("ssl-buffer-size", before, context="http", target=TARGET).decode()
    with serving(binary, before, certificate) as path:
        large = records(path)
    with serving(binary, after, certificate) as path:
        small = records(path)
    assert 16_000 < max(large) < 16_384 + 300
    assert max(small) < 4_096 + 300
    assert (sum(size > 1000 for size in large), sum(size > 1000 for size in small)) == (3, 10)


def records(path: Path) -> list[int]:
    """The sizes of the TLS records in which a page comes."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = client(ssl.TLSVersion.TLSv1_2).wrap_bio(incoming, outgoing, server_hostname="a.example")
    received = bytearray()
    with socket.socket(socket.AF_UNIX) as plain:
        plain.settimeout(PATIENCE)
        plain.connect(str(path))
        while True:
            with contextlib.suppress(ssl.SSLWantReadError):
                tls.do_handshake()
                break
            plain.sendall(outgoing.read())
            incoming.write(plain.recv(65_536))
        tls.write(b"GET /page.html HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n")
        plain.sendall(outgoing.read())
        while data := plain.recv(65_536):
            received += data
    return list(_sizes(bytes(received)))


def _sizes(data: bytes) -> Iterator[int]:
    """The length that stands in each record's header (RFC 5246, 6.2.1)."""
    while data:
        size = int.from_bytes(data[3:5], "big")
        yield size
        data = data[5 + size :]


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_key_of_another_kind_fails_every_handshake(binary: nginx.Binary, version: ssl.TLSVersion) -> None:
    """As `certificate-chain` says: nginx starts with an EC key for an RSA certificate, and no client can connect."""
    server = f"server {{ listen {WHERE} ssl; {CERTIFICATE} }}"
    rsa = issue("a.example", key=rsa_key())
    with serving(binary, server, {"cert.pem": rsa.pem, "cert.key": rsa.private}) as path:
        connected(path, client(version)).close()
    other = {"cert.pem": rsa.pem, "cert.key": issue("a.example").private}
    with serving(binary, server, other) as path, pytest.raises(ssl.SSLError):
        connected(path, client(version))
