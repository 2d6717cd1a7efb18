"""What nginx refuses for the machine: files, certificates, users and host names that are missing or wrong.

The messages are those of nginx, without the codes of OpenSSL in parentheses, which differ between its releases.
"""

from __future__ import annotations

import errno
import os
import posixpath
from collections.abc import Callable, Generator, Iterator

from nginxopt.config import Directive, Token, has_placeholder
from nginxopt.config.filesystem import is_pattern
from nginxopt.lint.hosted import names
from nginxopt.lint.hosted.places import Places, places
from nginxopt.lint.hosted.servers import (
    INLINE,
    CertificatePair,
    Examined,
    ReadFile,
    add,
    examine,
    examined,
    tls_servers,
)
from nginxopt.lint.queries.model import Model, once
from nginxopt.records import record
from nginxopt.semantics import Level
from nginxopt.version import Version

CACHED = Version(1, 27, 2)
"""The first release that reads certificates itself and keeps them (CHANGES 1.27.2): other messages."""

_TEMPORARY = tuple(f"{name}_temp_path" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
_CACHES = tuple(f"{name}_cache_path" for name in ("proxy", "fastcgi", "uwsgi", "scgi"))
_PASSED = {"proxy": "https", "grpc": "grpcs", "uwsgi": "suwsgi"}
"""The modules that pass requests over TLS, each with its scheme for TLS."""

_MISSING = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
"""The errors with which opening a path fails if nothing is there."""

_TICKET_KEYS = (48, 80)
"""The sizes of a file of `ssl_session_ticket_key` in bytes."""


@record(eq=True)
class HostRefusal:
    """What nginx refuses on a machine.

    Attributes:
        directive: The directive.
        word: The word that names what is missing or wrong.
        message: What nginx says, without the place.
    """

    directive: Directive
    word: Token
    message: str


@record(eq=True)
class OutOfReach:
    """Something that this process cannot inspect, so that nothing is known of it.

    Attributes:
        directive: The directive that names it.
        word: The word that does.
        what: What it is, and why nothing is known of it.
        help: How to have it inspected; empty if there is no general way.
    """

    directive: Directive
    word: Token
    what: str
    help: str = ""


_Found = Iterator[HostRefusal | OutOfReach]
_Content = Generator[HostRefusal | OutOfReach, None, tuple[str, bytes] | None]


@once
def refusals(model: Model) -> tuple[HostRefusal, ...]:
    """Return what nginx refuses on the machine, in no certain order; nothing without a machine."""
    return tuple(found for found in _found(model) if isinstance(found, HostRefusal))


@once
def unread(model: Model) -> tuple[OutOfReach, ...]:
    """Return what could not be inspected, each file once."""
    first: dict[str, OutOfReach] = {}
    for found in _found(model):
        if isinstance(found, OutOfReach):
            first.setdefault(found.what, found)
    return tuple(first.values())


@once
def _found(model: Model) -> tuple[HostRefusal | OutOfReach, ...]:
    where = places(model)
    if where is None:
        return ()
    parts: list[Callable[[Model, Places], _Found]] = [_files, _users, _servers, _passes, _names]
    seen: dict[tuple[object, ...], HostRefusal | OutOfReach] = {}
    for part in parts:
        for found in part(model, where):
            what = found.message if isinstance(found, HostRefusal) else found.what
            seen.setdefault((found.directive.origin, found.word.start, what), found)
    return tuple(seen.values())


def _reason(number: int) -> str:
    """Return an error as nginx writes it: its number and text."""
    return f"({number}: {os.strerror(number)})"


def _hidden(directive: Directive, word: Token, path: str) -> OutOfReach:
    return OutOfReach(directive, word, f"{path} may not be read by this user", "check it as root")


def _without_package(directive: Directive, word: Token) -> OutOfReach:
    what = "certificates need the package cryptography"
    return OutOfReach(directive, word, what, "install it with pip install 'nginxopt[host]'")


def _files(model: Model, where: Places) -> _Found:
    """Find files that nginx opens and folders that it makes when it starts (`ngx_init_cycle`)."""
    for directive, _ in model.config.walk():
        if directive.args:
            yield from _file(str(directive.name), directive, where)


def _file(name: str, directive: Directive, where: Places) -> _Found:
    word = directive.args[0]
    is_one_file = name == "include" and directive.block is None and not is_pattern(word)
    if is_one_file or name.endswith("ssl_password_file"):
        yield from _opened(where, directive, where.of_conf(word))
    if name.endswith(("ssl_password_file", "auth_basic_user_file")):
        yield from _closed(where, directive, where.of_conf(word))
    if name in ("error_log", "access_log", "pid") and not word.startswith(("syslog:", "memory:", "off", "stderr")):
        yield from _created(where, directive, where.absolute(word), "open")
    elif name in _TEMPORARY or name in _CACHES:
        yield from _created(where, directive, where.absolute(word), "mkdir")


def _opened(where: Places, directive: Directive, path: str | None) -> _Found:
    """Find a file that is not there."""
    reached = None if path is None else where.look(path)
    if path is None or reached is None:
        return
    word = directive.args[0]
    if reached.is_hidden:
        yield _hidden(directive, word, path)
    elif reached.error:
        yield HostRefusal(directive, word, f'open() "{path}" failed {_reason(reached.error)}')


def _closed(where: Places, directive: Directive, path: str | None) -> _Found:
    """Find a file of passwords that this process may not read."""
    try:
        if path is not None:
            where.machine.tree.read(path, 1)
    except PermissionError:
        yield _hidden(directive, directive.args[0], path or "")
    except OSError:
        return


def _created(where: Places, directive: Directive, path: str | None, call: str) -> _Found:
    """Find a file or folder that cannot be made, as the folder above is not there."""
    reached = None if path is None else where.look(path)
    if path is None or reached is None:
        return
    word = directive.args[0]
    if reached.is_hidden:
        yield _hidden(directive, word, path)
    elif reached.entry is not None:
        if call == "open" and reached.entry.is_folder:
            yield HostRefusal(directive, word, f'open() "{path}" failed {_reason(errno.EISDIR)}')
    elif reached.error == errno.ENOENT:
        above = where.machine.tree.look(posixpath.dirname(path.rstrip("/")))
        if above.error == errno.ENOENT:
            yield HostRefusal(directive, word, f'{call}() "{path}" failed {_reason(errno.ENOENT)}')
    else:
        yield HostRefusal(directive, word, f'{call}() "{path}" failed {_reason(reached.error)}')


def _users(model: Model, where: Places) -> _Found:
    """Find a user or group that is not there (`ngx_set_user`), which nginx looks for only as root."""
    accounts, machine = where.machine.accounts, where.machine
    if accounts is None or machine.starts_as_root is False or not accounts.is_complete:
        return
    for directive in model.root.own("user"):
        if not directive.args or any(has_placeholder(word) for word in directive.args):
            continue
        user, group = directive.args[0], directive.args[-1]
        if accounts.user(user) is None:
            yield HostRefusal(directive, user, f'getpwnam("{user}") failed')
        elif accounts.group(group) is None:
            yield HostRefusal(directive, group, f'getgrnam("{group}") failed')


def _servers(model: Model, where: Places) -> _Found:
    """Find what servers cannot load for TLS (`ngx_http_ssl_merge_srv_conf` and those of stream and mail)."""
    for found in examined(model):
        yield from _pair(found)
    for server in tls_servers(model):
        rejects = server.setting("ssl_reject_handshake").value == "on"
        if server.setting("ssl_certificate").is_set or rejects:
            yield from _context(model, where, server, "")


def _pair(found: Examined) -> _Found:
    """Find a certificate or key that OpenSSL does not take (`ngx_ssl_certificate`)."""
    from nginxopt.system.certificates import ENCRYPTED, MISMATCH, UNREADABLE

    certificate, key = found.certificate, found.key
    if certificate is None:
        return
    place = (found.pair.certificate, found.pair.certificate.args[0])
    if certificate.data is None or found.fault:
        opening = f"{found.fault or 'PEM_read_bio_X509_AUX'}()"
        yield from _not_loaded(certificate, place, "certificate", opening)
    elif key is not None:
        place = _place_of_key(found.pair)
        if key.data is None or found.fit in (UNREADABLE, ENCRYPTED):
            yield from _not_loaded(key, place, "certificate key", "PEM_read_bio_PrivateKey()")
        elif found.fit == MISMATCH:
            yield HostRefusal(*place, f'SSL_CTX_use_PrivateKey("{key.path}") failed (SSL: key values mismatch)')


def _not_loaded(file: ReadFile, place: tuple[Directive, Token], kind: str, function: str) -> _Found:
    """Find that a file is missing, or refused by a function of OpenSSL."""
    if file.error in (errno.EACCES, errno.EPERM):
        yield _hidden(*place, file.path)
    elif file.error == errno.ENOPKG:
        yield _without_package(*place)
    elif file.error != errno.EFBIG:
        opened = "BIO_new_file()" if file.error in _MISSING else function
        yield HostRefusal(*place, f'cannot load {kind} "{file.path}": {opened} failed')


def _place_of_key(pair: CertificatePair) -> tuple[Directive, Token]:
    """Return the place of a finding about a key: never a key that is written in the configuration."""
    key = pair.key
    if key is None or key.args[0].startswith(INLINE):
        return pair.certificate, pair.certificate.args[0]
    return key, key.args[0]


def _context(model: Model, where: Places, level: Level, prefix: str) -> _Found:
    """Find other files of a server, or of a pass with the prefix of its module, that OpenSSL does not take."""
    verified = level.setting(f"{prefix}ssl_verify" if prefix else "ssl_verify_client")
    is_verified = verified.known and verified.value not in (None, "off")
    if not prefix and is_verified:
        yield from _authorities(model, where, level.setting("ssl_client_certificate").directive)
    if not prefix or is_verified:
        yield from _authorities(model, where, level.setting(f"{prefix}ssl_trusted_certificate").directive)
        yield from _revoked(model, where, level.setting(f"{prefix}ssl_crl").directive)
    if prefix:
        return
    yield from _parameters(where, level.setting("ssl_dhparam").directive)
    for directive in level.setting("ssl_session_ticket_key").directives:
        yield from _ticket_key(where, directive)
    stapled = level.setting("ssl_stapling_file").directive
    if stapled is not None and level.setting("ssl_stapling").value == "on":
        yield from _bytes(where, stapled, lambda path: f'BIO_new_file("{path}") failed')


def _bytes(where: Places, directive: Directive, missing: Callable[[str], str]) -> _Content:
    """Return the path and bytes of a file; None if they are not known, or if it is missing, which is found."""
    path = where.of_conf(directive.args[0]) if directive.args else None
    if path is None:
        return None
    try:
        return path, where.machine.read(path)
    except PermissionError:
        yield _hidden(directive, directive.args[0], path)
    except OSError as error:
        if error.errno in _MISSING:
            yield HostRefusal(directive, directive.args[0], missing(path))
    return None


def _authorities(model: Model, where: Places, directive: Directive | None) -> _Found:
    """Find certificates of authorities that OpenSSL does not take (`ngx_ssl_trusted_certificate`)."""
    from nginxopt.system.certificates import fault_of_authorities, fault_of_certificate, is_available

    if directive is None or not directive.args or not directive.args[0]:
        return
    is_new = model.target >= CACHED
    word = directive.args[0]

    def message(path: str, call: str) -> str:
        if is_new:
            return f'cannot load certificate "{path}": {call}() failed'
        return f'SSL_CTX_load_verify_locations("{path}") failed'

    read = yield from _bytes(where, directive, lambda path: message(path, "BIO_new_file"))
    if read is None:
        return
    path, data = read
    if is_new and not is_available():
        yield _without_package(directive, word)
        return
    fault = fault_of_certificate(data) if is_new else fault_of_authorities(data)
    if fault:
        yield HostRefusal(directive, word, message(path, fault))


def _revoked(model: Model, where: Places, directive: Directive | None) -> _Found:
    """Find a revocation list that OpenSSL cannot read as one (`ngx_ssl_crl`)."""
    from nginxopt.system.certificates import blocks, fault_of_authorities

    if directive is None or not directive.args or not directive.args[0]:
        return

    def message(path: str, call: str) -> str:
        if model.target >= CACHED:
            return f'cannot load CRL "{path}": {call}() failed'
        return f'X509_LOOKUP_load_file("{path}") failed'

    read = yield from _bytes(where, directive, lambda path: message(path, "BIO_new_file"))
    if read is None:
        return
    path, data = read
    is_list = blocks(data, b"X509 CRL") if model.target >= CACHED else not fault_of_authorities(data)
    if not is_list:
        yield HostRefusal(directive, directive.args[0], message(path, "PEM_read_bio_X509_CRL"))


def _parameters(where: Places, directive: Directive | None) -> _Found:
    """Find Diffie-Hellman parameters that OpenSSL cannot read as such (`ngx_ssl_dhparam`)."""
    from nginxopt.system.certificates import blocks

    if directive is None or not directive.args or not directive.args[0]:
        return
    read = yield from _bytes(where, directive, lambda path: f'BIO_new_file("{path}") failed')
    if read is not None and not blocks(read[1], b"DH PARAMETERS", b"X9.42 DH PARAMETERS"):
        yield HostRefusal(directive, directive.args[0], f'PEM_read_bio_DHparams("{read[0]}") failed')


def _ticket_key(where: Places, directive: Directive) -> _Found:
    read = yield from _bytes(where, directive, lambda path: f'open() "{path}" failed {_reason(errno.ENOENT)}')
    if read is not None and len(read[1]) not in _TICKET_KEYS:
        yield HostRefusal(directive, directive.args[0], f'"{read[0]}" must be 48 or 80 bytes')


def _passes(model: Model, where: Places) -> _Found:
    """Find what passes over TLS cannot load (`ngx_http_proxy_set_ssl` and those of grpc, uwsgi and stream)."""
    found: dict[tuple[object, ...], CertificatePair] = {}
    passing: list[tuple[Level, str]] = []
    for pass_ in model.passes:
        scheme = _PASSED.get(pass_.protocol)
        if scheme is not None and (pass_.scheme == scheme or pass_.has_variable):
            passing.append((pass_.level, f"{pass_.protocol}_"))
    for server in tls_servers(model):
        if server.around("stream") is not None and server.setting("proxy_ssl").value == "on":
            passing.append((server, "proxy_"))
    for level, prefix in passing:
        certificate = level.setting(f"{prefix}ssl_certificate").directive
        key = level.setting(f"{prefix}ssl_certificate_key").directive
        stated = [directive for directive in (certificate, key) if directive is not None]
        fixed = all(directive.args and directive.args[0] and "$" not in directive.args[0] for directive in stated)
        if certificate is not None and key is not None and fixed:
            passwords = level.setting(f"{prefix}ssl_password_file").directive
            add(found, CertificatePair(certificate, key, passwords, []), level)
        yield from _context(model, where, level, prefix)
    for pair in found.values():
        yield from _pair(examine(where, pair))


def _names(model: Model, where: Places) -> _Found:
    """Find host names without an address, if names may be looked up."""
    if where.machine.lookup is None:
        return
    asked = list(names.host_names(model))
    answers = where.machine.lookup([each.host for each in asked])
    for each in asked:
        if each.host not in answers:
            what = f'"{each.host}" could not be looked up: no answer in time, or no name server'
            yield OutOfReach(each.directive, each.word, what)
        elif not answers[each.host]:
            yield HostRefusal(each.directive, each.word, each.message)
