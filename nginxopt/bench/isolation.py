"""Turns a user's configuration into a node of a benchmark that does not interfere with the real nginx.

Edits change only what reaches outside the private prefix: `listen` gets private addresses, logs and caches go into the
prefix, includes lead to copies, and directives that the command line sets (`daemon`, `pid`, `user` ...) are removed.
TLS gets a certificate of its own, with all of its other settings. `Isolated.changes` lists all changes. Upstreams and
static files are used in place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from nginxopt.bench.scenario import Node
from nginxopt.config import Block, Config, Directive, File, Scope, Token
from nginxopt.config.layout import quoted
from nginxopt.facts import group
from nginxopt.records import record
from nginxopt.semantics import Address, read_addresses
from nginxopt.semantics.values import PORT
from nginxopt.system.nginx.writes import SERVED
from nginxopt.text import Edit, Span, apply, encode

_GONE = frozenset({"daemon", "master_process", "pid", "user", "lock_file"})
_CACHES = frozenset(f"{module}_cache_path" for module in ("proxy", "fastcgi", "uwsgi", "scgi"))
_TEMPORARY = frozenset(f"{module}_temp_path" for module in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
# Directives with relative paths that nginx resolves from the directory of nginx.conf (ngx_conf_full_name, conf_prefix).
_BESIDE = group("beside")
CERTIFICATE, KEY = "certificate.pem", "certificate.key"
"""The names of the replacement certificate and its key in the prefix."""

_CERTIFICATES = {"ssl_certificate": CERTIFICATE, "ssl_certificate_key": KEY}
_AUTHORITIES = frozenset({"ssl_client_certificate", "ssl_trusted_certificate"})
# Files for another certificate, or secrets of another machine. Without a file, nginx generates ticket keys. DH
# parameters are only for clients without elliptic curves, which load generators have.
_OF_OTHERS = frozenset(
    {
        *("ssl_crl", "ssl_dhparam", "ssl_ech_file", "ssl_password_file", "ssl_session_ticket_key"),
        *("ssl_stapling", "ssl_stapling_file", "ssl_stapling_responder", "ssl_stapling_verify"),
    }
)
_NOTHING = "$is_args"
"""A variable that is empty in a handshake, so that nginx reads a certificate with a variable in its path each time."""

_DEFAULT = Address("inet", "0.0.0.0", PORT)
_DATAGRAM = frozenset({"quic", "udp"})
_MOST_PORTS = 64
_LOG_TO = "access.log"
ROLE = "edge"


@record(eq=True)
class Isolated:
    """A configuration that can run beside the real one.

    Attributes:
        path: The path of the original configuration.
        files: Its texts, by path in the prefix.
        ports: The names of its addresses.
        changes: The changes, and how often each was made.
    """

    path: str
    files: Mapping[str, bytes]
    ports: Mapping[Address, str]
    changes: Counter[str]

    def node(self) -> Node:
        """Return the configuration as a node."""
        others = {path: text for path, text in self.files.items() if path != "nginx.conf"}
        says = f"{self.path}, with private addresses and files"
        ports = tuple(name for name in dict.fromkeys(self.ports.values()) if name != ROLE)
        return Node(ROLE, self.files["nginx.conf"], others, status=False, says=says, ports=ports)


@record(eq=True)
class ServerCertificate:
    """A certificate and its key, in PEM."""

    pem: bytes
    key: bytes


def isolate(
    config: Config, ports: Mapping[Address, str] | None = None, certificate: ServerCertificate | None = None
) -> Isolated:
    """Isolate a whole configuration.

    `ports` are the names of its addresses, and may have others; by default they are those of `named`. Without a
    `certificate`, those of the configuration are used in place. Raises `InputError` for a `listen` that cannot be
    replaced.
    """
    isolation = _Isolation(config, named(addresses(config)) if ports is None else ports, certificate)
    edits = isolation.edits()
    files = {name: apply(file.source.data, edits.get(file, [])) for file, name in isolation.names.items()}
    if certificate is not None:
        files |= {CERTIFICATE: certificate.pem, KEY: certificate.key}
    return Isolated(config.main.path, files, isolation.ports, isolation.changes)


def addresses(config: Config) -> dict[Address, Directive]:
    """Return the addresses of all servers, including `stream` and `mail`, each with a `listen` or server that has it.

    Raises `InputError` for a `listen` that nginx refuses, or that has too many ports.
    """
    found: dict[Address, Directive] = {}
    for server in config.scope.tree():
        if server.opener is None or server.context[-1] != "server":
            continue
        listens = [directive for directive in server.directives if directive.name == "listen" and directive.args]
        for listen in listens:
            for address in _addresses(listen):
                found.setdefault(address, listen)
        if not listens and "http" in server.context:
            found.setdefault(_DEFAULT, server.opener)
    return found


def named(addresses: Iterable[Address]) -> dict[Address, str]:
    """Return a name for each address: `edge`, and then `edge/p1`, `edge/p2` ..."""
    return {address: place(number) for number, address in enumerate(addresses)}


def place(number: int) -> str:
    """Return the name of an address by its number, from 0."""
    return f"{ROLE}/p{number}" if number else ROLE


def has_certificate(config: Config) -> bool:
    """Return whether a configuration names certificates that `isolate` replaces."""
    return any(directive.name in (*_CERTIFICATES, *_AUTHORITIES) for directive, _ in config.walk())


class _Isolation:
    """The edits that isolate a configuration."""

    def __init__(self, config: Config, ports: Mapping[Address, str], certificate: ServerCertificate | None) -> None:
        self.config = config
        self.ports = ports
        self.certificate = certificate
        self.changes: Counter[str] = Counter()
        self.names = {
            file: "nginx.conf" if file is config.main else f"files/{number}.conf"
            for number, file in enumerate(config.files)
        }
        self.without_listen = {
            server.opener
            for server in config.scope.tree()
            if server.opener is not None
            and server.context[-1] == "server"
            and "http" in server.context
            and not any(directive.name == "listen" and directive.args for directive in server.directives)
        }

    def edits(self) -> dict[File, list[Edit]]:
        """Return the edits of each file. A file that is included twice gets its edits once."""
        owner = {id(file.source): file for file in self.config.files}
        first_read: dict[Directive, Scope] = {}
        for directive, scope in self.config.walk():
            first_read.setdefault(directive, scope)
        edits: dict[File, list[Edit]] = {}
        for directive, scope in first_read.items():
            edit = self._edit(directive, scope)
            if edit is not None:
                edits.setdefault(owner[id(directive.source)], []).append(edit)
        return edits

    def _edit(self, directive: Directive, scope: Scope) -> Edit | None:
        """Return the edit that replaces a directive; None if it stays."""
        name, args = str(directive.name), directive.args
        if not scope.context and name in _GONE:
            return self._changed(f"{name} is set on the command line", directive.span, "")
        if name == "include" and not directive.block and args:
            copies = [f"include {self.names[file]};" for file in self.config.included(directive)]
            return self._changed("includes refer to the copies", directive.span, " ".join(copies))
        if name == "listen" and args and scope.context[-1:] == ("server",):
            return self._listen(directive)
        if directive in self.without_listen and directive.block:
            return self._add_listen(directive.block)
        if name == "http" and directive.block and not scope.context:
            return self._defaults(directive.block)
        if name in SERVED and args:
            text = "" if name.startswith(("dav", "create")) else f"{name} off;"
            return self._changed(f"{name} is off, as it changes the files that are served", directive.span, text)
        if name == "error_log" and args:
            return self._word("error_log goes to error.log", args[0], "error.log")
        if name == "access_log" and args and args[0] != "off":
            return self._word(f"access_log goes to {_LOG_TO}", args[0], _LOG_TO)
        if name in _CACHES and args:
            return self._word(f"{name} lies in the folder of the run", args[0], f"temp/cache-{directive.span.start}")
        if name in _TEMPORARY and args:
            return self._word(f"{name} lies in the folder of the run", args[0], f"temp/{name}")
        if name in ("google_perftools_profiles", "state", "working_directory") or name.endswith("ssl_key_log"):
            return self._changed(f"{name} is left out, as nginx writes there", directive.span, "")
        if self.certificate is not None and args and not directive.block:
            edit = self._tls(directive, scope)
            if edit is not None:
                return edit
        if name in _BESIDE and args and _is_relative(args[-1]):
            path = Path(self.config.prefix).absolute() / args[-1]
            return self._word("relative paths, such as those of certificates, are absolute", args[-1], str(path))
        return None

    def _tls(self, directive: Directive, scope: Scope) -> Edit | None:
        """Return the edit that replaces a file of TLS; None for another directive."""
        name, args = str(directive.name), directive.args
        if name in _CERTIFICATES:
            is_read_each_time = "$" in args[0] and "http" in scope.context
            path = _CERTIFICATES[name] + (_NOTHING if is_read_each_time else "")
            return self._word("certificates and keys are replaced by one of its own (RSA, 2048 bits)", args[0], path)
        if name in _AUTHORITIES:
            return self._word(f"{name} is the certificate of its own", args[0], CERTIFICATE)
        if name in _OF_OTHERS:
            return self._changed(f"{name} is left out, as it belongs to another certificate", directive.span, "")
        return None

    def _listen(self, directive: Directive) -> Edit:
        parameters = [quoted(word) for word in directive.args[1:] if not word.startswith("ipv6only=")]
        names = (f"@{self.ports[address]}@" for address in _addresses(directive))
        text = " ".join(f"{' '.join(['listen', name, *parameters])};" for name in names)
        return self._changed("listen addresses are private", directive.span, text)

    def _add_listen(self, server: Block) -> Edit:
        inside = server.span.start + 1
        text = f" listen @{self.ports[_DEFAULT]}@;"
        return self._changed("servers without listen have a private address", Span(inside, inside), text)

    def _defaults(self, block: Block) -> Edit | None:
        """Return the edit that adds directives to a block without which nginx would write to its installed paths."""
        own = {str(directive.name) for directive, scope in self.config.walk() if scope.context[-1:] == ("http",)}
        statements = {
            "access_log": f"access_log {_LOG_TO};",
            **{name: f"{name} temp/{name};" for name in sorted(_TEMPORARY)},
        }
        missing = [text for name, text in statements.items() if name not in own]
        if not missing:
            return None
        inside = block.span.start + 1
        what = "logs and temporary files with default paths are in the directory of the run"
        return self._changed(what, Span(inside, inside), f" {' '.join(missing)}")

    def _word(self, what: str, word: Token, text: str) -> Edit:
        return self._changed(what, word.span, quoted(text))

    def _changed(self, what: str, span: Span, text: str) -> Edit:
        self.changes[what] += 1
        return Edit(span, encode(text))


def _addresses(listen: Directive) -> tuple[Address, ...]:
    """Return the addresses of a `listen`. Raises `InputError` if there are none, or too many."""
    addresses = read_addresses(listen.args[0], datagram=not _DATAGRAM.isdisjoint(listen.args[1:]))
    if not addresses:
        raise listen.error(f'nginx refuses the address "{listen.args[0]}"', at=listen.args[0])
    if len(addresses) > _MOST_PORTS:
        raise listen.error(f"cannot measure a range of more than {_MOST_PORTS} ports", at=listen.args[0])
    return addresses


def _is_relative(path: str) -> bool:
    return not path.startswith(("/", "data:", "engine:", "$")) and "." in path
