"""The certificates that servers of http, stream and mail present, with their keys."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from typing import TYPE_CHECKING

from nginxopt.config import Directive, has_placeholder
from nginxopt.lint.hosted.places import Places, places
from nginxopt.lint.queries.model import Model, once
from nginxopt.records import record
from nginxopt.semantics import Level

if TYPE_CHECKING:
    from nginxopt.system.certificates import Certificate

INLINE = "data:"
"""The prefix of a certificate or key that is written in the configuration itself (since 1.15.10)."""

_OF_KEYS = ("engine:", "store:")
"""The prefix of a key that OpenSSL gets from elsewhere, such as a hardware module."""


@record(eq=True)
class CertificatePair:
    """A certificate and its key as a configuration names them.

    Attributes:
        certificate: The directive of the certificate.
        key: The directive of its key; None if it is not known which it is.
        passwords: The directive of the passwords of the key; None if there is none.
        levels: The levels that load them.
    """

    certificate: Directive
    key: Directive | None
    passwords: Directive | None
    levels: list[Level]


@record(eq=True)
class ServedCertificate:
    """A certificate that servers present, as it was read.

    Attributes:
        directive: The directive that names it.
        path: Its path on the machine; `data:` if it stands in the configuration.
        chain: The certificate, and those that follow it in the file.
        servers: The servers that present it.
        has_other_key: Whether its key is of another kind: nginx starts, and no handshake succeeds.
    """

    directive: Directive
    path: str
    chain: tuple[Certificate, ...]
    servers: tuple[Level, ...]
    has_other_key: bool


def protocol_of(level: Level) -> str:
    """Return the protocol block around a level: `http`, `stream` or `mail`; empty outside of them."""
    return next((kind for kind in ("http", "stream", "mail") if level.around(kind) is not None), "")


@once
def tls_servers(model: Model) -> tuple[Level, ...]:
    """Return the servers of any protocol: blocks with that name, none of an upstream."""
    return tuple(level for level in model.root.walk() if level.kind == "server" and protocol_of(level))


@once
def pairs(model: Model) -> tuple[CertificatePair, ...]:
    """Return the certificates that servers load when nginx starts, each once.

    With a variable in one of them, nginx loads all of a server in handshakes (`ngx_http_ssl_compile_certificates`).
    """
    found: dict[tuple[object, ...], CertificatePair] = {}
    for server in tls_servers(model):
        certificates, keys = server.setting("ssl_certificate"), server.setting("ssl_certificate_key")
        stated = [*certificates.directives, *keys.directives]
        if any(not directive.args or "$" in directive.args[0] for directive in stated):
            continue
        passwords = server.setting("ssl_password_file").directive
        is_certain = certificates.known and keys.known and len(keys.directives) >= len(certificates.directives)
        for number, certificate in enumerate(certificates.directives):
            key = keys.directives[number] if is_certain else None
            add(found, CertificatePair(certificate, key, passwords, []), server)
    return tuple(found.values())


def add(found: dict[tuple[object, ...], CertificatePair], pair: CertificatePair, level: Level) -> None:
    """Add a level to the pair of the same directives."""
    stated = (pair.certificate, pair.key, pair.passwords)
    identity = tuple(None if directive is None else directive.origin for directive in stated)
    found.setdefault(identity, pair).levels.append(level)


def password_list(where: Places, directive: Directive | None) -> tuple[bytes, ...] | None:
    """Return the passwords of a file as `ngx_ssl_read_password_file` reads them; none without a file.

    None if they are not known. An empty file has one empty password.
    """
    if directive is None:
        return ()
    path = where.of_conf(directive.args[0]) if directive.args else None
    if path is None:
        return None
    try:
        lines = where.machine.read(path).split(b"\n")
    except OSError:
        return None
    return tuple(filter(None, (line.removesuffix(b"\r") for line in lines))) or (b"",)


@record(eq=True)
class ReadFile:
    """A file of a certificate or key, which was read or not.

    Attributes:
        path: Its path on the machine; `data:` if it stands in the configuration.
        data: Its bytes; None if it could not be read.
        error: The errno value of the reason, `ENOPKG` if `cryptography` is missing; 0 if it was read.
    """

    path: str
    data: bytes | None
    error: int = 0


@record(eq=True)
class Examined:
    """A certificate and its key as they were read and judged by OpenSSL.

    Attributes:
        pair: The directives.
        certificate: The file of the certificate; None if it is not known.
        key: That of the key; None if it is not known.
        fault: The function of OpenSSL that refuses the certificate; empty if none does.
        fit: How the key fits (`nginxopt.system.certificates.pairing`); empty if it does, or is not known.
    """

    pair: CertificatePair
    certificate: ReadFile | None
    key: ReadFile | None
    fault: str = ""
    fit: str = ""


@once
def examined(model: Model) -> tuple[Examined, ...]:
    """Return the certificates of servers, each with its key, as they are on the machine; none without one."""
    where = places(model)
    return () if where is None else tuple(examine(where, pair) for pair in pairs(model))


def examine(where: Places, pair: CertificatePair) -> Examined:
    """Read a certificate and its key, and ask OpenSSL."""
    from nginxopt.system.certificates import judged

    certificate = _read(where, pair.certificate)
    key = None if pair.key is None else _read(where, pair.key)
    if certificate is None or certificate.data is None:
        return Examined(pair, certificate, key)
    passwords = password_list(where, pair.passwords)
    is_known = key is not None and key.data is not None and passwords is not None
    fault, fit = judged(certificate.data, key.data if key is not None and is_known else None, passwords or ())
    return Examined(pair, certificate, key, fault, fit)


def _read(where: Places, directive: Directive) -> ReadFile | None:
    """Return the file of a certificate or key; None if its path is not known, or names none here."""
    word = directive.args[0]
    if word.startswith(_OF_KEYS) or has_placeholder(word):
        return None
    if word.startswith(INLINE):
        return _judgeable(INLINE, word[len(INLINE) :].encode(errors="surrogateescape"))
    path = where.of_conf(word)
    if path is None:
        return None
    try:
        data = where.machine.read(path)
    except OSError as error:
        return ReadFile(path, None, error.errno or errno.EIO)
    return _judgeable(path, data)


def _judgeable(path: str, data: bytes) -> ReadFile:
    from nginxopt.system.certificates import is_available

    return ReadFile(path, data) if is_available() else ReadFile(path, None, errno.ENOPKG)


@once
def served(model: Model) -> tuple[ServedCertificate, ...]:
    """Return the certificates that could be read; none without a machine."""
    where = places(model)
    return () if where is None else tuple(_served(where, examined(model)))


def _served(where: Places, found: tuple[Examined, ...]) -> Iterator[ServedCertificate]:
    from nginxopt.system.certificates import OTHER_TYPE

    for each in found:
        file = each.certificate
        chain = () if file is None or file.data is None or each.fault else where.machine.certificates.chain(file.data)
        if file is not None and chain:
            pair = each.pair
            yield ServedCertificate(pair.certificate, file.path, chain, tuple(pair.levels), each.fit == OTHER_TYPE)
