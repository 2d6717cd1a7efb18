"""The machine that examples on pages of rules are judged for: a small server with a few files, certificates and users.

Nothing is read from the disk, and its certificates are made when a rule first asks for them.
"""

from __future__ import annotations

import datetime
import errno
import os
import stat
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from nginxopt.config.root_folder import Entry, RootFolder
from nginxopt.system.machine import Accounts, Machine

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.x509 import Certificate

NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
"""The time on the machine."""

FOLDER = "/etc/nginx"
"""The folder of its main file."""

_USERS = {"root": (0, 0), "nginx": (101, 101), "www-data": (33, 33)}

Content = bytes | Callable[[], bytes] | None


class Listed(RootFolder):
    """A file tree given by its files: each path with its content, or a function that returns it; None for a folder.

    The folders above these paths exist as well. `modes` has the permissions of those that do not have the usual ones;
    root owns all.
    """

    def __init__(self, files: Mapping[str, Content], modes: Mapping[str, int]) -> None:
        super().__init__()
        self._files, self._modes = files, modes

    def inside(self, path: str) -> str | None:
        """Return the path: relative ones start from the folder of the main file."""
        return path if path.startswith("/") else os.path.normpath(f"{FOLDER}/{path}")

    def _entry(self, path: str) -> Entry:
        content = self._files.get(path)
        if content is None and not any(f"{name}/".startswith(f"{path.rstrip('/')}/") for name in self._files):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        kind, mode = (stat.S_IFDIR, 0o755) if content is None else (stat.S_IFREG, 0o644)
        return Entry(path, kind | self._modes.get(path, mode))

    def _content(self, path: str, most: int) -> bytes:
        content = self._files[path]
        return (content() if callable(content) else content or b"")[:most]


@lru_cache(maxsize=1)
def machine() -> Machine:
    """Return the machine; names in `.invalid` have no address, and those in `.unanswered` no answer."""
    authority = cache(lambda: _issued("Example CA", days=3650))
    leaf = cache(lambda: _issued("example.com", "www.example.com", days=300, by=authority()))
    old = cache(lambda: _issued("example.com", days=20))
    other = cache(lambda: _issued("example.net", days=300))
    files: dict[str, Content] = {
        FOLDER: None,
        f"{FOLDER}/users": b"anna:$6$salt$hash\n",
        f"{FOLDER}/old-users": b"anna:{PLAIN}secret\n",
        "/etc/ssl/example.com.pem": lambda: _pem(leaf(), authority()),
        "/etc/ssl/example.com.key": lambda: _key(leaf()),
        "/etc/ssl/unordered.pem": lambda: _pem(leaf(), other(), authority()),
        "/etc/ssl/old.pem": lambda: _pem(old()),
        "/etc/ssl/old.key": lambda: _key(old()),
        "/etc/ssl/other.key": lambda: _key(other()),
        "/srv/www/index.html": b"",
        "/srv/private": None,
        "/var/log/nginx": None,
    }
    accounts = Accounts(_USERS.get, {name: numbers[1] for name, numbers in _USERS.items()}.get, lambda _: frozenset())
    return Machine(Listed(files, {"/srv/private": 0o700}), accounts, NOW, _lookup)


def _lookup(names: Iterable[str]) -> dict[str, bool]:
    return {name: not name.endswith(".invalid") for name in names if not name.endswith(".unanswered")}


_Issued = tuple["Certificate", "EllipticCurvePrivateKey"]


def _issued(*names: str, days: int, by: _Issued | None = None) -> _Issued:
    """Return a certificate with these names and its key, issued by another, or by itself as an authority."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
    issuer, issuer_key = (subject, key) if by is None else (by[0].subject, by[1])
    builder = (
        x509.CertificateBuilder(issuer, subject, key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW - datetime.timedelta(90))
        .not_valid_after(NOW + datetime.timedelta(days))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name) for name in names]), critical=False)
        .add_extension(x509.BasicConstraints(ca=" " in names[0], path_length=None), critical=True)
    )
    return builder.sign(issuer_key, hashes.SHA256()), key


def _pem(*issued: _Issued) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding

    return b"".join(certificate.public_bytes(Encoding.PEM) for certificate, _ in issued)


def _key(issued: _Issued) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return issued[1].private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
