"""Certificates and keys for tests, made when they are needed."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import AuthorityInformationAccessOID, NameOID

NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
"""The time of tests."""

Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


@dataclass(frozen=True)
class Issued:
    """A certificate and its key."""

    certificate: x509.Certificate
    key: Key

    @property
    def pem(self) -> bytes:
        """The certificate alone."""
        return self.certificate.public_bytes(Encoding.PEM)

    @property
    def der(self) -> bytes:
        """The certificate alone, in binary form."""
        return self.certificate.public_bytes(Encoding.DER)

    @property
    def private(self) -> bytes:
        """The key, in the clear."""
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())

    def locked(self, password: bytes) -> bytes:
        """The key, encrypted."""
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(password))


@cache
def rsa_key(number: int = 0, bits: int = 2048) -> rsa.RSAPrivateKey:
    """One of several RSA keys, which take long to make."""
    del number
    return rsa.generate_private_key(65537, bits)


_SIGNING = x509.KeyUsage(
    digital_signature=False, content_commitment=False, key_encipherment=False, data_encipherment=False,
    key_agreement=False, key_cert_sign=True, crl_sign=True, encipher_only=False, decipher_only=False,
)  # fmt: skip


def issue(
    *names: str,
    by: Issued | None = None,
    key: Key | None = None,
    days: tuple[int, int] = (-90, 300),
    says_issuer: bool = False,
    is_authority: bool = False,
    alternative: Sequence[str] | None = None,
) -> Issued:
    """Make a certificate for the common name `names[0]` and all names, valid from and to these days from NOW.

    `alternative` are the names of its subjectAltName, by default `names`; without any, it has none.
    """
    key = key or ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
    builder = (
        x509.CertificateBuilder(subject if by is None else by.certificate.subject, subject, key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW + datetime.timedelta(days[0]))
        .not_valid_after(NOW + datetime.timedelta(days[1]))
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
    )
    signer = (key if by is None else by.key).public_key()
    for extension in (  # RFC 5280 has them, and Python 3.13 asks for them
        x509.SubjectKeyIdentifier.from_public_key(key.public_key()),
        x509.AuthorityKeyIdentifier.from_issuer_public_key(signer),
    ):
        builder = builder.add_extension(extension, critical=False)
    if is_authority:
        builder = builder.add_extension(_SIGNING, critical=True)
    covered = names if alternative is None else alternative
    if covered:
        listed = x509.SubjectAlternativeName([x509.DNSName(name) for name in covered])
        builder = builder.add_extension(listed, critical=False)
    if says_issuer:
        where = x509.UniformResourceIdentifier("http://ca.example/ca.crt")
        access = x509.AccessDescription(AuthorityInformationAccessOID.CA_ISSUERS, where)
        builder = builder.add_extension(x509.AuthorityInformationAccess([access]), critical=False)
    return Issued(builder.sign(key if by is None else by.key, hashes.SHA256()), key)
