"""What `stapling-dead` flags staples nothing on the real nginx, and what it does not flag staples."""

from __future__ import annotations

import base64
import contextlib
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

import pytest

from nginxopt.system import nginx
from tests.lintcheck import diagnose, fixed
from tests.nginx.example import certificate
from tests.support import PATIENCE

pytestmark = pytest.mark.nginx

SERVER = (
    "server {{ listen unix:tls ssl; ssl_certificate {0}cert.pem; ssl_certificate_key {0}key.pem; ssl_stapling on; }}\n"
)
KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


def test_nothing_is_stapled_without_a_responder(each_binary: nginx.Binary) -> None:
    """nginx starts with what `stapling-dead` flags, and sends no OCSP response."""
    server = SERVER.format("letsencrypt/")
    assert len(diagnose("stapling-dead", server, context="http")) == 1
    assert "ssl_stapling" not in fixed("stapling-dead", server, context="http").decode()
    files = {f"letsencrypt/{name}": data for name, data in certificate().items()}
    with nginx.Instance(each_binary, servers=[b""], http=server.encode(), files=files) as instance:
        assert b"OCSP response: no response sent" in stapled(instance)


def test_a_response_is_stapled_without_a_resolver(each_binary: nginx.Binary, tmp_path: Path) -> None:
    """nginx asks the responder at the addresses that it had at the start, so a missing `resolver` is not flagged."""
    server = SERVER.format("")
    assert not diagnose("stapling-dead", server, context="http")
    certificate()  # skips the test without openssl
    with (
        responder(tmp_path) as files,
        nginx.Instance(each_binary, servers=[b""], http=server.encode(), files=files) as instance,
    ):
        deadline = time.monotonic() + PATIENCE
        while b"Cert Status: good" not in (told := stapled(instance)):
            assert time.monotonic() < deadline, told


def stapled(instance: nginx.Instance) -> bytes:
    """What a client says about the OCSP response of nginx."""
    command = ["openssl", "s_client", "-status", "-unix", str(instance.prefix / "tls")]
    return subprocess.run(command, input=b"", capture_output=True, timeout=PATIENCE, check=False).stdout


@contextlib.contextmanager
def responder(folder: Path) -> Iterator[Mapping[str, bytes]]:
    """An authority that answers OCSP requests at localhost, and the files of a certificate that names it."""
    openssl(folder, "req", "-x509", *KEY, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=authority")
    openssl(folder, "req", *KEY, "-keyout", "key.pem", "-out", "request.pem", "-subj", "/CN=a.test")
    (folder / "index").write_text("V\t991231235959Z\t\t07\tunknown\t/CN=a.test\n")
    with ThreadingHTTPServer(("127.0.0.1", 0), handler(folder)) as server:
        url = f"http://localhost:{server.server_port}/"
        (folder / "extensions").write_text(f"authorityInfoAccess=OCSP;URI:{url}")
        signing = ("-CA", "ca.pem", "-CAkey", "ca.key", "-set_serial", "7", "-extfile", "extensions")
        openssl(folder, "x509", "-req", "-in", "request.pem", *signing, "-out", "leaf.pem")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        chain = (folder / "leaf.pem").read_bytes() + (folder / "ca.pem").read_bytes()
        yield {"cert.pem": chain, "key.pem": (folder / "key.pem").read_bytes()}
        server.shutdown()


def handler(folder: Path) -> type[BaseHTTPRequestHandler]:
    """A handler that lets openssl answer the OCSP request in a URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            (folder / "asked").write_bytes(base64.b64decode(unquote(self.path.removeprefix("/"))))
            signer = ("-index", "index", "-CA", "ca.pem", "-rsigner", "ca.pem", "-rkey", "ca.key", "-nmin", "60")
            openssl(folder, "ocsp", *signer, "-reqin", "asked", "-respout", "answer")
            self.send_response(200)
            self.send_header("Content-Type", "application/ocsp-response")
            self.end_headers()
            self.wfile.write((folder / "answer").read_bytes())

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    return Handler


def openssl(folder: Path, *arguments: str) -> None:
    """Run openssl in a folder."""
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True, timeout=PATIENCE)
