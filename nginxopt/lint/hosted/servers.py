"""The certificates that servers of http, stream and mail present, with their keys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nginxopt.config import Directive, has_placeholder
from nginxopt.lint.hosted.places import Places, places
from nginxopt.lint.queries.model import Model, once
from nginxopt.semantics import Level

if TYPE_CHECKING:
    from nginxopt.system.certificates import Certificate

INLINE = "data:"
"""Before a certificate or key that stands in the configuration itself (since 1.15.10)."""

_OF_KEYS = ("engine:", "store:")
"""Before a key that OpenSSL has elsewhere, such as in a hardware module."""


@dataclass(frozen=True, slots=True)
class Pair:
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


@dataclass(frozen=True, slots=True)
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
def pairs(model: Model) -> tuple[Pair, ...]:
    """Return the certificates that servers load when nginx starts, each once.

    With a variable in one of them, nginx loads all of a server in handshakes (`ngx_http_ssl_compile_certificates`).
    """
    found: dict[tuple[object, ...], Pair] = {}
    for server in tls_servers(model):
        certificates, keys = server.setting("ssl_certificate"), server.setting("ssl_certificate_key")
        stated = [*certificates.directives, *keys.directives]
        if any(not directive.args or "$" in directive.args[0] for directive in stated):
            continue
        passwords = server.setting("ssl_password_file").directive
        is_certain = certificates.known and keys.known and len(keys.directives) >= len(certificates.directives)
        for number, certificate in enumerate(certificates.directives):
            key = keys.directives[number] if is_certain else None
            add(found, Pair(certificate, key, passwords, []), server)
    return tuple(found.values())


def add(found: dict[tuple[object, ...], Pair], pair: Pair, level: Level) -> None:
    """Add a level to the pair of the same directives."""
    stated = (pair.certificate, pair.key, pair.passwords)
    identity = tuple(None if directive is None else directive.origin for directive in stated)
    found.setdefault(identity, pair).levels.append(level)


def content(where: Places, word: str) -> tuple[str, bytes] | None:
    """Return the path and the bytes of a certificate or key; None if the path is not known, or names none here.

    Raises `OSError` if the file cannot be read.
    """
    if word.startswith(_OF_KEYS) or has_placeholder(word):
        return None
    if word.startswith(INLINE):
        return INLINE, word[len(INLINE) :].encode(errors="surrogateescape")
    path = where.of_conf(word)
    return None if path is None else (path, where.machine.read(path))


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


@once
def served(model: Model) -> tuple[ServedCertificate, ...]:
    """Return the certificates that could be read; none without a machine."""
    where = places(model)
    return () if where is None else tuple(_served(where, pairs(model)))


def _served(where: Places, found: tuple[Pair, ...]) -> Iterator[ServedCertificate]:
    from nginxopt.system.certificates import OTHER_TYPE, fault_of_certificate

    for pair in found:
        try:
            read = content(where, pair.certificate.args[0])
        except OSError:
            continue
        if read is None or fault_of_certificate(read[1]):
            continue
        chain = where.machine.certificates.chain(read[1])
        if chain:
            has_other_key = paired(where, pair, read[1]) == OTHER_TYPE
            yield ServedCertificate(pair.certificate, read[0], chain, tuple(pair.levels), has_other_key)


def paired(where: Places, pair: Pair, certificate: bytes) -> str:
    """Return how a key fits its certificate; empty if that is not known."""
    from nginxopt.system.certificates import pairing

    passwords = password_list(where, pair.passwords)
    if pair.key is None or passwords is None:
        return ""
    try:
        read = content(where, pair.key.args[0])
    except OSError:
        return ""
    return "" if read is None else pairing(certificate, read[1], passwords)
