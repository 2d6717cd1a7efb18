"""Certificates and keys: whether OpenSSL accepts them, with the calls that nginx makes, and their content.

OpenSSL itself decides whether a file is refused, through Python's `ssl`, which reads a certificate with its chain like
`ngx_ssl_certificate`. `cryptography` reads the content of certificates. Nothing of a private key is kept or shown, only
whether it belongs to its certificate. `ssl` takes only names of files, so it gets files in memory, which never reach a
disk.
"""

from __future__ import annotations

import importlib.util
import os
import re
import ssl
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import TYPE_CHECKING

from nginxopt import lazy
from nginxopt.errors import MissingError
from nginxopt.records import record

if TYPE_CHECKING:
    import datetime

    from cryptography import x509

_BLOCK = lazy.pattern(rb"^-----BEGIN ([^\n]*?)-----[ \t\r]*\n(.*?)^-----END \1-----[^\n]*", re.DOTALL | re.MULTILINE)

CERTIFICATES = (b"CERTIFICATE", b"X509 CERTIFICATE", b"TRUSTED CERTIFICATE")
"""The labels of a certificate (`check_pem` in OpenSSL's pem_lib.c)."""

_OTHER_TYPE = ("KEY_TYPE_MISMATCH", "NO_PRIVATE_KEY_ASSIGNED", "NO_CERTIFICATE_ASSIGNED")
_OTHER_KEY = ("KEY_VALUES_MISMATCH",)


@record(eq=True)
class Certificate:
    """A certificate.

    Attributes:
        subject: The subject, as text.
        names: The DNS names and addresses that it covers, in lower case: of its subjectAltName, else its common name.
        not_before: When it begins to be valid.
        not_after: When it expires.
        bits: The size of an RSA key in bits; 0 for other keys.
        is_self_issued: Whether issuer and subject are the same.
        names_issuer: Whether it states where the certificate of its issuer is. Then the issuer is not a root that
        clients have.
        issuer: The issuer, as text.
    """

    subject: str
    names: tuple[str, ...]
    not_before: datetime.datetime
    not_after: datetime.datetime
    bits: int
    is_self_issued: bool
    names_issuer: bool
    issuer: str


def is_available() -> bool:
    """Return whether `cryptography` is installed, by the extra `host`. Without it, no certificate is judged."""
    return importlib.util.find_spec("cryptography") is not None


class Certificates:
    """The findings of OpenSSL and `cryptography` about certificates and keys. Each file is judged once."""

    def __init__(self) -> None:
        self._chains: dict[bytes, tuple[Certificate, ...]] = {}

    def chain(self, data: bytes) -> tuple[Certificate, ...]:
        """Return the certificates in a file, in order, without those that `cryptography` cannot read."""
        if data not in self._chains:
            self._chains[data] = tuple(_read(data))
        return self._chains[data]


def judged(certificate: bytes, key: bytes | None, passwords: Sequence[bytes]) -> tuple[str, str]:
    """Return which function of OpenSSL refuses a certificate, and how a key fits it; empty if there is no problem.

    Without a key, only the certificate is judged.
    """
    if key is not None and not passwords and not _loaded(certificate, key, ()):
        return "", ""
    fault = fault_of_certificate(certificate)
    return fault, "" if fault or key is None else pairing(certificate, key, passwords)


def fault_of_certificate(data: bytes) -> str:
    """Return which function of OpenSSL refuses a file as a certificate with its chain; empty if none does."""
    if not _is_refused(data):
        return ""
    ends = (block.end() for block in _BLOCK.finditer(data) if block[1] in CERTIFICATES)
    end = next(ends, None)  # of the first certificate; a block before it may be broken
    return "PEM_read_bio_X509_AUX" if end is None or _is_refused(data[:end] + b"\n") else "PEM_read_bio_X509"


def _is_refused(data: bytes) -> bool:
    reason = _loaded(data, _other_key(), ())
    return bool(reason) and reason not in _OTHER_KEY and reason not in _OTHER_TYPE


def fault_of_authorities(data: bytes) -> str:
    """Return which function of OpenSSL refuses a file of authorities and revoked certificates; empty if none does."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    with _in_memory(data) as path:
        try:
            context.load_verify_locations(path)
        except OSError:  # SSLError is one
            return "SSL_CTX_load_verify_locations"
    return ""


def pairing(certificate: bytes, key: bytes, passwords: Sequence[bytes]) -> str:
    """Return how a key fits a certificate that OpenSSL accepts: one of the constants below; empty if it fits.

    `passwords` are those of `ssl_password_file`, which are tried in turn.
    """
    reasons = [_loaded(certificate, key, (password,)) for password in passwords] or [_loaded(certificate, key, ())]
    if "" in reasons:
        return ""
    if any(reason in _OTHER_KEY for reason in reasons):
        return MISMATCH
    if any(reason in _OTHER_TYPE for reason in reasons):
        return OTHER_TYPE
    if ASKED in reasons and not passwords:
        return ENCRYPTED
    return UNREADABLE


MISMATCH = "mismatch"
"""The key belongs to another certificate of its kind: nginx does not start."""

OTHER_TYPE = "type"
"""The key is of another kind than the certificate, such as EC and RSA: nginx starts, and no handshake succeeds."""

ENCRYPTED = "encrypted"
"""The key is encrypted, and no password is stated: nginx asks for it at each start."""

UNREADABLE = "unreadable"
"""The file is not a private key, or none of the passwords opens it: nginx does not start."""

ASKED = "a password"


def _loaded(certificate: bytes, key: bytes, passwords: Sequence[bytes]) -> str:
    """Return the name of OpenSSL's reason for not loading a certificate and its key; empty if it loads them."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers("ALL:@SECLEVEL=0")  # keys that are too weak are judged elsewhere
    asked = False

    def password() -> bytes:
        nonlocal asked
        asked = True
        return passwords[0] if passwords else b"\0"

    with ExitStack() as files:
        paths = [files.enter_context(_in_memory(data)) for data in (certificate, key)]
        try:
            context.load_cert_chain(paths[0], paths[1], password)
        except (OSError, ValueError) as error:  # SSLError is an OSError; a password may be too long
            reason = getattr(error, "reason", None) or "REFUSED"
            if reason in _OTHER_KEY or reason in _OTHER_TYPE:
                return str(reason)
            return ASKED if asked and not passwords else str(reason)
    return ""


@contextmanager
def _in_memory(data: bytes) -> Iterator[str]:
    """Yield the name of a file in memory with this content."""
    if not hasattr(os, "memfd_create"):
        raise MissingError("certificates are checked only on Linux")
    opened = os.memfd_create("nginxopt")
    try:
        with os.fdopen(os.dup(opened), "wb") as file:
            file.write(data)
        yield f"/proc/self/fd/{opened}"
    finally:
        os.close(opened)


@cache
def _other_key() -> bytes:
    """Return a key that belongs to no certificate, used to judge a certificate alone."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def blocks(data: bytes, *labels: bytes) -> bool:
    """Return whether a PEM file has a block with one of these labels."""
    return any(block[1] in labels for block in _BLOCK.finditer(data))


def _read(data: bytes) -> Iterator[Certificate]:
    from cryptography import x509

    for block in _BLOCK.finditer(data):
        if block[1] != b"CERTIFICATE":
            continue
        try:
            yield _certificate(x509.load_pem_x509_certificate(block[0]))
        except ValueError:  # OpenSSL may accept what cryptography cannot read
            return


def _certificate(read: x509.Certificate) -> Certificate:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric import rsa

    bits = 0
    try:
        key = read.public_key()
    except (UnsupportedAlgorithm, ValueError):
        pass
    else:
        bits = key.key_size if isinstance(key, rsa.RSAPublicKey) else 0
    return Certificate(
        read.subject.rfc4514_string(),
        tuple(_names(read)),
        read.not_valid_before_utc,
        read.not_valid_after_utc,
        bits,
        read.issuer == read.subject,
        _names_issuer(read),
        read.issuer.rfc4514_string(),
    )


def _names_issuer(read: x509.Certificate) -> bool:
    from cryptography import x509
    from cryptography.x509.oid import AuthorityInformationAccessOID

    try:
        access = read.extensions.get_extension_for_class(x509.AuthorityInformationAccess).value
    except (x509.ExtensionNotFound, ValueError):
        return False
    return any(each.access_method == AuthorityInformationAccessOID.CA_ISSUERS for each in access)


def _names(read: x509.Certificate) -> Iterator[str]:
    """Yield the names that a certificate covers. Clients use the common name only if there are no others (RFC 6125)."""
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    try:
        stated = read.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        yield from (str(name.value).lower() for name in read.subject.get_attributes_for_oid(NameOID.COMMON_NAME))
        return
    except ValueError:
        return
    yield from (name.lower() for name in stated.get_values_for_type(x509.DNSName))
    yield from (str(address) for address in stated.get_values_for_type(x509.IPAddress))
