"""Turns a user's configuration into a node of a benchmark that does not interfere with the real nginx.

Edits change only what reaches outside the private prefix: `listen` gets private addresses, logs and caches go into the
prefix, includes lead to copies, and directives that the command line sets (`daemon`, `pid`, `user` ...) are removed.
`Isolated.changes` lists all changes. Upstreams, certificates and static files are used in place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from nginxopt.bench.scenario import Node
from nginxopt.config import Block, Config, Directive, File, Scope, Token
from nginxopt.config.layout import quoted
from nginxopt.errors import InputError
from nginxopt.semantics import Address, read_addresses
from nginxopt.semantics.addresses import PORT
from nginxopt.system.nginx.writes import SERVED
from nginxopt.text import Edit, Span, apply, encode

_GONE = frozenset({"daemon", "master_process", "pid", "user", "lock_file"})
_CACHES = frozenset(f"{module}_cache_path" for module in ("proxy", "fastcgi", "uwsgi", "scgi"))
_TEMPORARY = frozenset(f"{module}_temp_path" for module in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
# Directives whose relative paths start from the directory of nginx.conf (ngx_conf_full_name with conf_prefix).
_BESIDE = frozenset(
    [
        *(f"{part}ssl_{name}" for part in ("", "proxy_") for name in ("certificate", "certificate_key")),
        *(f"{part}ssl_{name}" for part in ("", "proxy_") for name in ("trusted_certificate", "crl", "password_file")),
        *("ssl_client_certificate", "ssl_dhparam", "ssl_session_ticket_key", "ssl_stapling_file"),
        *("auth_basic_user_file", "geoip_country", "geoip_city"),
    ]
)
_NOT_PLAIN = frozenset({"ssl", "quic", "proxy_protocol", "udp"})
_DEFAULT = Address("inet", "0.0.0.0", PORT)
_MOST_PORTS = 64
_LOG_TO = "access.log"
_ROLE = "edge"


@dataclass(frozen=True, slots=True)
class Isolated:
    """A configuration that can run beside the real one.

    Attributes:
        path: The path of the original configuration.
        files: Its texts, by path in the prefix.
        ports: The names of its addresses. The first one takes the load, and uses plain HTTP.
        changes: The changes, and how often each was made.
    """

    path: str
    files: Mapping[str, bytes]
    ports: Mapping[Address, str]
    changes: Counter[str]

    def measured(self) -> str:
        """Return a sentence that names the address that takes the load, and those that take none."""
        entry, *others = map(str, self.ports)
        unmeasured = f" Not measured: {', '.join(others)}." if others else ""
        return f"measured is {entry}, with plain HTTP.{unmeasured}"

    def node(self) -> Node:
        """Return the configuration as a node."""
        others = {path: text for path, text in self.files.items() if path != "nginx.conf"}
        says = f"{self.path}, with private addresses and files"
        return Node(
            _ROLE, self.files["nginx.conf"], others, status=False, says=says, ports=tuple(self.ports.values())[1:]
        )


def isolate(config: Config) -> Isolated:
    """Isolate a whole configuration.

    Raises `InputError` for a fragment, or if none of its servers listens for plain HTTP.
    """
    isolation = _Isolation(config)
    edits = isolation.edits()
    files = {name: apply(file.source.data, edits.get(file, [])) for file, name in isolation.names.items()}
    return Isolated(config.main.path, files, isolation.ports, isolation.changes)


class _Isolation:
    """The edits that isolate a configuration, and the data from its servers."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.changes: Counter[str] = Counter()
        self.names = {
            file: "nginx.conf" if file is config.main else f"files/{number}.conf"
            for number, file in enumerate(config.files)
        }
        self.without_listen: set[Directive] = set()
        self.ports = self._ports()

    def _ports(self) -> dict[Address, str]:
        """Return a name for each address; the first takes the load."""
        plain: dict[Address, bool] = {}
        for server in self.config.scope.tree():
            if server.opener is None or server.context[-1] != "server":
                continue
            in_http = "http" in server.context
            listens = [directive for directive in server.directives if directive.name == "listen" and directive.args]
            for listen in listens:
                is_plain = in_http and _NOT_PLAIN.isdisjoint(listen.args[1:])
                for address in _addresses(listen):
                    plain[address] = is_plain and plain.get(address, True)
            if not listens and in_http:
                plain.setdefault(_DEFAULT, True)
                self.without_listen.add(server.opener)
        entry = next((address for address, is_plain in plain.items() if is_plain), None)
        if entry is None:
            raise InputError(
                "no server listens for plain HTTP, so there is nothing to measure", path=self.config.main.path
            )
        addresses = dict.fromkeys([entry, *plain])
        return {address: f"{_ROLE}/p{number}" if number else _ROLE for number, address in enumerate(addresses)}

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
        if name in _BESIDE and args and _is_relative(args[-1]):
            path = Path(self.config.prefix).absolute() / args[-1]
            return self._word("relative paths, such as those of certificates, are absolute", args[-1], str(path))
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
    addresses = read_addresses(listen.args[0])
    if not addresses:
        raise listen.error(f'nginx refuses the address "{listen.args[0]}"', at=listen.args[0])
    if len(addresses) > _MOST_PORTS:
        raise listen.error(f"cannot measure a range of more than {_MOST_PORTS} ports", at=listen.args[0])
    return addresses


def _is_relative(path: str) -> bool:
    return not path.startswith(("/", "data:", "engine:", "$")) and "." in path
