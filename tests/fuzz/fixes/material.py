"""Keys, certificates and lists of revoked ones, made once with `openssl`; and the files that are served."""

from __future__ import annotations

import functools
import subprocess
import tempfile
from pathlib import Path

FILE_TIME = 946_684_800
"""When every file of a prefix was changed last: `Last-Modified` and `ETag` are the same in every run."""

_CA = """
[ca]
default_ca = it
[it]
database = {0}/index.txt
serial = {0}/serial
crlnumber = {0}/crlnumber
new_certs_dir = {0}
default_md = sha256
default_crl_days = 3000
default_days = 3000
policy = any
[any]
commonName = supplied
[req]
distinguished_name = name
[name]
[ext]
basicConstraints = critical,CA:TRUE
"""

CLIENTS = ("alice", "bob")
"""Who has a certificate; the list `revoked.crl` has alice's."""


@functools.cache
def tls() -> dict[str, bytes]:
    """Return `ca.pem`, the certificates and keys of the server, alice and bob, `none.crl` and `revoked.crl`."""
    with tempfile.TemporaryDirectory(prefix="nginxopt-") as name:
        folder = Path(name)
        (folder / "ca.cnf").write_text(_CA.format(name))
        (folder / "index.txt").touch()
        for number in ("serial", "crlnumber"):
            (folder / number).write_text("1000\n")
        _run(folder, "req", "-x509", *_key("ca"), *_of("authority"), "-config", "ca.cnf", "-extensions", "ext")
        for who in ("server", *CLIENTS):
            _run(folder, "req", *_key(who, ".csr"), *_of(who), "-config", "ca.cnf")
            _run(folder, "ca", "-batch", "-notext", *_AUTHORITY, "-in", f"{who}.csr", "-out", f"{who}.pem")
        _run(folder, "ca", "-gencrl", *_AUTHORITY, "-out", "none.crl")
        _run(folder, "ca", "-revoke", "alice.pem", *_AUTHORITY)
        _run(folder, "ca", "-gencrl", *_AUTHORITY, "-out", "revoked.crl")
        names = ["ca.pem", "none.crl", "revoked.crl"]
        names += [f"{who}.{kind}" for who in ("server", *CLIENTS) for kind in ("pem", "key")]
        return {name: (folder / name).read_bytes() for name in names}


_AUTHORITY = ("-config", "ca.cnf", "-cert", "ca.pem", "-keyfile", "ca.key")


def _key(who: str, suffix: str = ".pem") -> list[str]:
    return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{who}.key",
            "-out", f"{who}{suffix}"]  # fmt: skip


def _of(who: str) -> list[str]:
    return ["-subj", f"/CN={who}"]


def _run(folder: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


_LINES = "".join(
    f"line {number} <!--# echo var='uri' --> http://app.test/ the quick brown fox\n" for number in range(60)
)

STATIC: dict[str, bytes] = {
    "html/index.html": b"<html><head></head><body>index http://app.test/</body></html>\n",
    "html/a.html": f"<html><body>{_LINES}</body></html>\n".encode(),
    "html/app.js": b"var a = 1;\n" * 200,
    "html/b.css": b"a { color: red }\n" * 100,
    "html/c.png": bytes(range(256)) * 16,
    "html/sub/index.html": b"below\n",
    "html/sub/d.txt": b"0123456789" * 500,
    "html/big.bin": bytes(range(251)) * 2_000,
    "html/50x.html": b"sorry\n",
}
"""What `root html` serves."""
