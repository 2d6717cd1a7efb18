"""Helpers of the TLS rules: known endpoints, and session caches for servers."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from nginxopt import lazy
from nginxopt.config.layout import after, append, rewrite
from nginxopt.lint.diagnostic import Fix, Safety
from nginxopt.lint.queries.model import Model
from nginxopt.lint.queries.whole import is_read_by_code, readers
from nginxopt.lint.queries.zones import free_name
from nginxopt.semantics import FRAGMENT, Endpoint, Level
from nginxopt.settings.vocabulary import NO_CIPHER_REMOVAL, NO_CLIENT_REVOCATION, SESSIONS_BY_NAME
from nginxopt.text import Change

SIZE = "10m"
"""The size of nginx's own example; a megabyte holds about 4,000 sessions (docs, ssl_session_cache)."""

BY_HAND = "add a cache with a name that no other zone has: ssl_session_cache shared:NAME:10m"

CLIENTS = "the server verifies client certificates, and a resumed session skips that: decide by hand"
"""Why there is no fix if several servers share the sessions of clients with certificates (CVE-2025-23419)."""

# Variables that differ between a full handshake and one that resumes a session (ngx_ssl_get_session_id and others in
# ngx_event_openssl.c).
_OF_HANDSHAKES = (
    "ssl_session_reused", "ssl_session_id", "ssl_ciphers", "ssl_curve", "ssl_curves", "ssl_early_data", "ssl_sigalg",
    "ssl_sigalgs", "ssl_client_sigalg",
)  # fmt: skip
_LOGS = ("log_format", "access_log")

_SUITE = lazy.pattern(
    r"(?:(?P<exchange>ECDHE|DHE|EDH|ECDH|DH)-(?:RSA|ECDSA|DSS)-)?(?:AES|CAMELLIA|SEED|ARIA)\d*-?[A-Z0-9-]*"
)
_MODERN = lazy.pattern(r"GCM|CCM|CHACHA20")
_FORWARD = ("ECDHE", "DHE", "EDH")

# What does not depend on the server that the name of a session leads to: sessions, certificates, and what is asked for
# after the header of a request was read.
_OF_ALL = lazy.pattern(r"ssl_(?:certificate.*|session_.*|stapling.*|trusted_certificate|password_file|dhparam)")
_AT_FIRST = lazy.pattern(
    r"ssl_.*|http2.*|client_header_.*|large_client_header_buffers|ignore_invalid_headers|underscores_in_headers"
    r"|merge_slashes|max_headers|http3.*|quic_.*|connection_pool_size|request_pool_size"
)


def endpoints(model: Model) -> Iterator[Endpoint]:
    """Yield the addresses at which TLS is spoken, if it is certain what listens there: all of http was read."""
    if any(level.is_open for level in model.levels(FRAGMENT, "http", "server")):
        return
    yield from (endpoint for endpoint in model.endpoints.values() if endpoint.is_tls)


def has_shared_cache(server: Level) -> bool:
    """Whether the workers share the sessions of a server."""
    cache = server.setting("ssl_session_cache").directive
    return cache is not None and any(word.startswith("shared:") for word in cache.args)


def cache_fix(model: Model, server: Level) -> Fix | None:
    """Return how the default server of an address gets a cache that the workers share.

    It is stated in that server, so that no other inherits it. None if no name for it is surely free, or if several
    servers share the sessions and one of them asks for certificates.
    """
    argument, safety = _argument(model, server), _safety(model, server)
    if argument is None or safety is None:
        return None
    line = f"ssl_session_cache {argument};"
    stated = next(reversed(server.own("ssl_session_cache")), None)
    if stated:
        return Fix(f"set `{line}`", (rewrite(stated, line),), safety)
    return Fix(f"add `{line}`", _added(server, line), safety)


def by_hand(model: Model, server: Level) -> str:
    """Return the advice if `cache_fix` returns None."""
    return BY_HAND if _safety(model, server) else CLIENTS


def _safety(model: Model, server: Level) -> Safety | None:
    """Return the safety of resuming sessions with a default server; None if it should not be offered.

    A handshake that resumes a session does not verify certificates, run code such as `ssl_certificate_by_lua`, or read
    certificates named by variables.
    """
    shared = dict.fromkeys(
        other for endpoint in endpoints(model) if endpoint.default is server for other in endpoint.servers
    )
    asking = [other for other in shared if asks_for_certificates(other)]
    if asking and len(shared) > 1:
        return None
    stated_off = any(other.setting("ssl_session_cache").value == "off" for other in shared)
    if stated_off or any(map(_decides_by_handshake, shared)) or _tells_handshakes_apart(model):
        return Safety.UNSAFE
    safety = Safety.under(SESSIONS_BY_NAME) if _depends_on_name(model, shared) else Safety.SAFE
    if not all(map(_negotiates_again, shared)):
        safety &= Safety.under(NO_CIPHER_REMOVAL)
    return Safety.under(NO_CLIENT_REVOCATION) & safety if asking else safety


def _depends_on_name(model: Model, servers: Collection[Level]) -> bool:
    """Whether it matters which server of an address created a session.

    In TLS 1.2, a resumed session keeps its original server name and cipher, whatever name the client sends now, and
    nginx before 1.27.5 uses the server of that name until it reads the header. Verified on nginx 1.22.1:
    `ssl_reject_handshake` accepts clients that have a session of another name.
    """
    if all(map(_speaks_new_only, servers)):
        return False
    is_read = any(reader.name not in _LOGS for reader in readers(model, ("ssl_server_name",)))
    return is_read or len(set(map(_at_first, servers))) > 1


def _speaks_new_only(server: Level) -> bool:
    """Whether a server speaks TLS 1.3 alone."""
    stated = server.setting("ssl_protocols").directive
    return stated is not None and list(stated.args) == ["TLSv1.3"]


def _negotiates_again(server: Level) -> bool:
    """Whether a resumed session has the cipher and curve of its own handshake, as that of TLS 1.3 has.

    OpenSSL's commands may state other protocols than `ssl_protocols`.
    """
    commands = (command.args[0].lower() for command in server.setting("ssl_conf_command").directives if command.args)
    return _speaks_new_only(server) and not any("protocol" in command for command in commands)


def _at_first(server: Level) -> tuple[tuple[str, ...], ...]:
    """Return the settings that apply to a server before the request header is read."""
    levels = [level for level in (server, server.parent) if level is not None]
    names = {name for level in levels for name in level.names if _AT_FIRST.fullmatch(name)}
    return tuple(
        (name, *directive.args)
        for name in sorted(name for name in names if not _OF_ALL.fullmatch(name))
        for directive in server.setting(name).directives
    )


def asks_for_certificates(server: Level) -> bool:
    """Whether a server may ask clients for certificates, by its own directives or by OpenSSL commands."""
    verify = server.setting("ssl_verify_client")
    commands = (command.args[0].lower() for command in server.setting("ssl_conf_command").directives if command.args)
    return not (verify.is_unset or verify.value == "off") or any("verify" in command for command in commands)


def _decides_by_handshake(server: Level) -> bool:
    """Whether a server accepts early data, or chooses certificates by variables."""
    early = server.setting("ssl_early_data")
    certificates = (word for directive in server.setting("ssl_certificate").directives for word in directive.args)
    return not (early.is_unset or early.value == "off") or any("$" in word for word in certificates)


def _tells_handshakes_apart(model: Model) -> bool:
    """Whether anything other than a log may detect a resumed session."""
    return is_read_by_code(model) or any(reader.name not in _LOGS for reader in readers(model, _OF_HANDSHAKES))


def _added(server: Level, line: str) -> tuple[Change, ...]:
    assert server.block is not None  # guaranteed by `endpoints`
    own = [
        directive
        for directive in server.directives
        if directive.name.startswith("ssl_") and directive.source is server.block.source
    ]
    return (after(own[-1], [line]) if own else append(server.block, [line]),)


def _argument(model: Model, server: Level) -> str | None:
    """Return the shared cache of the configuration or a new one; a separate one per address if clients are verified.

    With a common cache, a client verified by one server could resume its session at another with other revocations.
    """
    if any(map(asks_for_certificates, model.levels("server"))):
        defaults = list(dict.fromkeys(endpoint.default for endpoint in endpoints(model)))
        return _new(model, f"SSL_{defaults.index(server) + 1}")
    for directive, _ in model.each("ssl_session_cache"):
        for word in directive.args:
            if word.startswith("shared:"):
                return str(word)
    return _new(model, "SSL")


def _new(model: Model, preferred: str) -> str | None:
    name = free_name(model, preferred)
    return None if name is None else f"shared:{name}:{SIZE}"


def dated(suite: str) -> str:
    """Return what is dated about a suite, by its name in OpenSSL; empty if nothing is, or for any other word."""
    match = _SUITE.fullmatch(suite)
    if match is None:
        return ""
    if match["exchange"] not in _FORWARD:
        return "no forward secrecy"
    return "" if _MODERN.search(suite) else "CBC"
