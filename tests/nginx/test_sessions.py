"""Resumed TLS sessions on the real nginx: revoked clients, and how a response may reveal one."""

from __future__ import annotations

import os
import shutil
import signal
import ssl
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from nginxopt.system import nginx
from tests.lintcheck import fix_text
from tests.nginx.running import Running, running
from tests.nginx.test_rules_tls import client, connected
from tests.support import PATIENCE

pytestmark = pytest.mark.nginx

TICKETS = {"ssl-session-cache": "ssl_session_tickets off;", "ssl-session-tickets": ""}
TARGETS = {"ssl-session-cache": "1.22.1", "ssl-session-tickets": "1.28.0"}

NEW = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
"""The options for a new key."""
AUTHORITY = """
[ca]
default_ca = own
[own]
database = index.txt
serial = serial
crlnumber = crlnumber
private_key = ca.key
certificate = ca.pem
default_md = sha256
default_crl_days = 2
"""


@dataclass(frozen=True, slots=True)
class Authority:
    """A folder with an authority, a server's and a client's certificate, and lists without and with the client."""

    folder: Path
    files: Mapping[str, bytes]
    revoked: bytes


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """An authority that has revoked its one client."""
    if shutil.which("openssl") is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("no openssl command: install it to run these tests")
    folder = tmp_path_factory.mktemp("authority")
    for name, text in {"ca.cnf": AUTHORITY, "index.txt": "", "serial": "01\n", "crlnumber": "01\n"}.items():
        (folder / name).write_text(text)
    for command in (
        f"req -x509 {NEW} -days 2 -subj /CN=authority -keyout ca.key -out ca.pem",
        f"req -x509 {NEW} -days 2 -subj /CN=a.example -keyout cert.key -out cert.pem",
        f"req {NEW} -subj /CN=client -keyout client.key -out client.csr",
        "x509 -req -in client.csr -CA ca.pem -CAkey ca.key -set_serial 2 -days 2 -out client.pem",
        "ca -config ca.cnf -gencrl -out list.crl",
        "ca -config ca.cnf -revoke client.pem",
        "ca -config ca.cnf -gencrl -out revoked.crl",
    ):
        subprocess.run(["openssl", *command.split()], cwd=folder, check=True, capture_output=True, timeout=PATIENCE)
    names = ("ca.pem", "cert.pem", "cert.key", "list.crl")
    files = {name: (folder / name).read_bytes() for name in names}
    return Authority(folder, files, (folder / "revoked.crl").read_bytes())


def configuration(server: str, tickets: str = "") -> bytes:
    """A whole configuration that verifies clients at the address of the rules."""
    return (
        "error_log error.log;\nevents {}\nhttp {\n    access_log off;\n    ssl_protocols TLSv1.2 TLSv1.3;\n"
        f"    {tickets}\n    ssl_certificate cert.pem;\n    ssl_certificate_key cert.key;\n"
        f"    server {{\n        listen 203.0.113.1:443 ssl;\n        server_name a.example;\n        {server}\n"
        "        location / { return 200 $ssl_client_verify; }\n    }\n}\n"
    ).encode()


VERIFIED = "ssl_client_certificate ca.pem; ssl_crl list.crl; ssl_verify_client on;"


def status_after_revocation(binary: nginx.Binary, data: bytes, authority: Authority, version: ssl.TLSVersion) -> bytes:
    """What a client is answered on its second connection, between which it is revoked and nginx is reloaded."""
    text = data.decode().replace("listen 203.0.113.1:443", "listen unix:tls.sock")
    context = client(version)
    context.load_cert_chain(authority.folder / "client.pem", authority.folder / "client.key")
    with running(binary, text, authority.files) as server:
        path = server.prefix / "tls.sock"
        with connected(path, context) as first:
            assert asked(first) == b"200"
            session = first.session
        (server.prefix / "list.crl").write_bytes(authority.revoked)
        reload(server)
        with connected(path, context, session) as second:
            return asked(second)


def reload(server: Running | nginx.Running) -> None:
    """Have nginx read its files again, and wait until none of its former workers is left."""
    before = set(server.workers)
    os.kill(server.pid, signal.SIGHUP)
    deadline = time.monotonic() + PATIENCE
    while not (now := set(server.workers)) or now & before:
        assert time.monotonic() < deadline, "nginx was not reloaded in time"
        time.sleep(0.01)


def asked(connection: ssl.SSLSocket) -> bytes:
    """The status on a new connection, which is read to its end."""
    connection.sendall(b"GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n")
    parts = []
    while data := connection.recv(65_536):
        parts.append(data)
    return b"".join(parts).split()[1]


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize(("rule", "tickets"), TICKETS.items())
def test_a_revoked_client_comes_back(
    each_binary: nginx.Binary, authority: Authority, rule: str, tickets: str, version: ssl.TLSVersion
) -> None:
    """A client that is revoked, with a reload, is refused; with the cache it resumes its session: a premise."""
    before = configuration(VERIFIED, tickets)
    assert fix_text(rule, before, target=TARGETS[rule], unsafe=False) == before
    after = fix_text(rule, before, target=TARGETS[rule])
    assert after != before
    assert status_after_revocation(each_binary, before, authority, version) == b"400"
    kept = rule == "ssl-session-cache" or each_binary.version >= (1, 23, 2)  # before, tickets have no key in a cache
    assert status_after_revocation(each_binary, after, authority, version) in (b"200",) if kept else (b"200", b"400")


def test_no_cache_is_offered_for_sessions_that_servers_share() -> None:
    """If another server of the address requests certificates there is no fix, whatever is assumed."""
    other = "} server { listen 203.0.113.1:443 ssl; server_name b.example;"
    for rule, tickets in TICKETS.items():
        for server in (f"{VERIFIED} {other}", f"{other} {VERIFIED}"):
            before = configuration(server, tickets)
            assert fix_text(rule, before, target="1.28.0") == before


def test_a_response_may_tell_that_a_session_was_resumed(each_binary: nginx.Binary, authority: Authority) -> None:
    """What tells a full handshake from another changes with a cache: then the fix is made on request only."""
    server = "add_header X-Reused $ssl_session_reused always;"
    before = configuration(server, "ssl_session_tickets off;")
    assert fix_text("ssl-session-cache", before, unsafe=False) == before
    heads = []
    for data in (before, fix_text("ssl-session-cache", before)):
        text = data.decode().replace("listen 203.0.113.1:443", "listen unix:tls.sock")
        with running(each_binary, text, authority.files) as nginx_:
            path, context = nginx_.prefix / "tls.sock", client(ssl.TLSVersion.TLSv1_2)
            with connected(path, context) as first:
                asked(first)
                session = first.session
            with connected(path, context, session) as second:
                second.sendall(b"GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n")
                answer = second.recv(65_536)
        heads.append(b"\r\nX-Reused: r\r\n" in answer)
    assert heads == [False, True]


OTHER = "} server { listen 203.0.113.1:443 ssl; server_name b.example;"
NAMES = {
    "a name that is refused": f"return 200 a; {OTHER} ssl_reject_handshake on; return 200 b;",
    "other ciphers": (
        f"ssl_ciphers ECDHE-ECDSA-AES256-GCM-SHA384; return 200 $ssl_cipher; {OTHER} "
        "ssl_ciphers ECDHE-ECDSA-AES128-GCM-SHA256; return 200 $ssl_cipher;"
    ),
    "the name is answered": f"return 200 $ssl_server_name; {OTHER} return 200 $ssl_server_name;",
}


@pytest.mark.parametrize("server", NAMES.values(), ids=NAMES)
def test_a_session_of_one_name_is_resumed_under_another(
    each_binary: nginx.Binary, authority: Authority, server: str
) -> None:
    """With a cache a TLS 1.2 session keeps its name and its cipher under another name: the fix waits for its premise.

    From 1.29.2, which reads the name in the ClientHello (CHANGES), a handshake for a rejected name fails nonetheless.
    """
    before = configuration(server, "ssl_session_tickets off; ssl_protocols TLSv1.2 TLSv1.3;")
    assert fix_text("ssl-session-cache", before, unsafe=False) == before
    after = fix_text("ssl-session-cache", before)
    assert after != before
    without_cache, with_cache = (under_another_name(each_binary, data, authority) for data in (before, after))
    stays_rejected = "ssl_reject_handshake" in server and each_binary.version >= (1, 29, 2)
    assert (with_cache == without_cache) is stays_rejected


def under_another_name(binary: nginx.Binary, data: bytes, authority: Authority) -> bytes:
    """The body that a client with a session of `a.example` receives from `b.example`, empty if the handshake fails."""
    text = data.decode().replace("listen 203.0.113.1:443", "listen unix:tls.sock")
    with running(binary, text, authority.files) as nginx_:
        path, context = nginx_.prefix / "tls.sock", client(ssl.TLSVersion.TLSv1_2)
        with connected(path, context) as first:
            asked(first)
            session = first.session
        try:
            with connected(path, context, session, name="b.example") as second:
                second.sendall(b"GET / HTTP/1.1\r\nHost: b.example\r\nConnection: close\r\n\r\n")
                return second.recv(65_536).rpartition(b"\r\n")[2]
        except ssl.SSLError:
            return b""


A, B = "ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-ECDSA-AES128-GCM-SHA256"
REMOVED = {
    "a cipher of TLS 1.2": (ssl.TLSVersion.TLSv1_2, f"ssl_ciphers {A}:{B};", f"ssl_ciphers {B};", b"200"),
    "a curve of TLS 1.2": (ssl.TLSVersion.TLSv1_2, "ssl_ecdh_curve P-256:P-384;", "ssl_ecdh_curve P-384;", b"200"),
    "TLS 1.2": (ssl.TLSVersion.TLSv1_2, "ssl_protocols TLSv1.2 TLSv1.3;", "ssl_protocols TLSv1.3;", b""),
    "a curve of TLS 1.3": (ssl.TLSVersion.TLSv1_3, "ssl_ecdh_curve P-256:P-384;", "ssl_ecdh_curve P-384;", b""),
}
"""A version, a setting, what remains of it, and what a client that has nothing else gets with its former session."""


def status_after_removal(binary: nginx.Binary, data: bytes, authority: Authority, case: str) -> bytes:
    """What a client is answered that resumes a session after what it uses was removed; empty if it is refused."""
    version, stated, left, _ = REMOVED[case]
    text = data.decode().replace("listen 203.0.113.1:443", "listen unix:tls.sock")
    context = client(version)
    if version is ssl.TLSVersion.TLSv1_2:
        context.set_ciphers(A)
    context.set_ecdh_curve("prime256v1") if "curve" in case else None
    with running(binary, text, authority.files) as server:
        path = server.prefix / "tls.sock"
        with connected(path, context) as first:
            assert asked(first) == b"200"
            session = first.session
        conf = server.prefix / "nginx.conf"
        assert stated in conf.read_text()
        conf.write_text(conf.read_text().replace(stated, left))
        reload(server)
        try:
            with connected(path, context, session) as second:
                return asked(second)
        except (ssl.SSLError, ConnectionError):
            return b""


@pytest.mark.parametrize("case", REMOVED)
@pytest.mark.parametrize(("rule", "tickets"), TICKETS.items())
def test_a_client_comes_back_with_what_was_removed(
    each_binary: nginx.Binary, authority: Authority, rule: str, tickets: str, case: str
) -> None:
    """A session of TLS 1.2 outlives its cipher and its curve with the cache, and nothing else does: a premise."""
    _, stated, _, expected = REMOVED[case]
    before = configuration(stated if "protocols" not in stated else "", tickets)
    assert fix_text(rule, before, target=TARGETS[rule], unsafe=False) == before
    after = fix_text(rule, before, target=TARGETS[rule])
    assert status_after_removal(each_binary, before, authority, case) == b""
    kept = rule == "ssl-session-cache" or each_binary.version >= (1, 23, 2)  # before, tickets have no key in a cache
    assert status_after_removal(each_binary, after, authority, case) == (expected if kept else b"")


def test_sessions_of_tls_1_3_alone_need_no_premise() -> None:
    """A handshake of TLS 1.3 agrees on cipher and curve again, so the fix is safe where nothing else is spoken."""
    for rule, tickets in TICKETS.items():
        for protocols, is_safe in {"TLSv1.3": True, "TLSv1.2 TLSv1.3": False}.items():
            before = configuration(f"ssl_protocols {protocols};", tickets)
            assert (fix_text(rule, before, target="1.28.0", unsafe=False) != before) is is_safe
