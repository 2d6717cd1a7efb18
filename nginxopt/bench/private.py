"""A configuration of an operator's own, as a node: what reaches outside its prefix is changed, and nothing else.

Changed are byte spans: listen addresses become private ones, logs and caches go into the prefix, includes name the
copies, and what is said on the command line (`daemon`, `pid`, `user` ...) goes. `Private.changes` tells all of it.
Upstreams, certificates and static files stay where they are.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from nginxopt.bench.scenario import Node
from nginxopt.config import Block, Config, Directive, File, Scope, Token
from nginxopt.config.layout import quoted
from nginxopt.errors import InputError
from nginxopt.semantics import Address, read_addresses
from nginxopt.semantics.addresses import PORT
from nginxopt.text import Edit, Span, apply, encode

_GONE = frozenset({"daemon", "master_process", "pid", "user", "lock_file"})
_CACHES = frozenset(f"{module}_cache_path" for module in ("proxy", "fastcgi", "uwsgi", "scgi"))
_TEMPORARY = frozenset(f"{module}_temp_path" for module in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
# Relative ones start from the directory of nginx.conf (ngx_conf_full_name with conf_prefix).
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


@dataclass(slots=True)
class Private:
    """A configuration made private: its texts by path in the prefix, and what was changed, with how often.

    `ports` are the names of its addresses, `entry` of the first that speaks plain HTTP.
    """

    config: Config
    files: dict[str, bytes] = field(default_factory=dict)
    ports: dict[Address, str] = field(default_factory=dict)
    changes: Counter[str] = field(default_factory=Counter)
    _edits: dict[File, list[Edit]] = field(default_factory=dict)
    _without_listen: set[Directive] = field(default_factory=set)

    def node(self, role: str) -> Node:
        """Return it as a node."""
        main = self.files["nginx.conf"]
        others = {path: text for path, text in self.files.items() if path != "nginx.conf"}
        says = f"{self.config.main.path}, with private addresses and files"
        return Node(role, main, others, status=False, says=says, ports=tuple(self.ports.values())[1:])


def private(config: Config, role: str = "edge") -> Private:
    """Return a whole configuration made private, to run as `role`.

    `InputError` if it is no whole configuration, or if no server of it listens for plain HTTP.
    """
    made = Private(config)
    names = {
        file: "nginx.conf" if file is config.main else f"files/{number}.conf"
        for number, file in enumerate(config.files)
    }
    _name_addresses(made, role)
    owner = {id(file.source): file for file in config.files}
    for directive, scope in _once(config).items():
        edit = _edit(made, directive, scope, names)
        if edit is not None:
            made._edits.setdefault(owner[id(directive.source)], []).append(edit)
    for file, name in names.items():
        made.files[name] = apply(file.source.data, made._edits.get(file, []))
    return made


def _once(config: Config) -> dict[Directive, Scope]:
    """Return each directive with the scope in which it is first read; a file that is included twice is one text."""
    first: dict[Directive, Scope] = {}
    for directive, scope in config.walk():
        first.setdefault(directive, scope)
    return first


def _name_addresses(made: Private, role: str) -> None:
    """Give each address a name, the one that takes the load first."""
    plain: dict[Address, bool] = {}
    for server in made.config.scope.tree():
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
            made._without_listen.add(server.opener)
    entry = next((address for address, is_plain in plain.items() if is_plain), None)
    if entry is None:
        raise InputError("no server listens for plain HTTP, so there is nothing to measure", path=made.config.main.path)
    for number, address in enumerate(dict.fromkeys([entry, *plain])):
        made.ports[address] = f"{role}/p{number}" if number else role


def _addresses(listen: Directive) -> tuple[Address, ...]:
    """Return the addresses of a `listen`; `InputError` if there are none, or too many to have a port each here."""
    addresses = read_addresses(listen.args[0])
    if not addresses:
        raise listen.error(f'nginx refuses the address "{listen.args[0]}"', at=listen.args[0])
    if len(addresses) > _MOST_PORTS:
        raise listen.error(f"cannot measure a range of more than {_MOST_PORTS} ports", at=listen.args[0])
    return addresses


def _edit(made: Private, directive: Directive, scope: Scope, names: dict[File, str]) -> Edit | None:
    """What becomes of one directive; None if it stays."""
    name, args = str(directive.name), directive.args
    if not scope.context and name in _GONE:
        return _changed(made, f"{name} is set on the command line", directive.span, "")
    if name == "include" and not directive.block and args:
        copies = [f"include {names[file]};" for file in made.config.included(directive)]
        return _changed(made, "includes refer to the copies", directive.span, " ".join(copies))
    if name == "listen" and args and scope.context[-1:] == ("server",):
        return _listen(made, directive)
    if directive in made._without_listen and directive.block:
        return _add_listen(made, directive.block)
    if name == "http" and directive.block and not scope.context:
        return _defaults(made, directive.block)
    if name == "error_log" and args:
        return _word(made, "error_log goes to error.log", args[0], "error.log")
    if name == "access_log" and args and args[0] != "off":
        return _word(made, f"access_log goes to {_LOG_TO}", args[0], _LOG_TO)
    if name in _CACHES and args:
        return _word(made, f"{name} lies in the folder of the run", args[0], f"temp/cache-{directive.span.start}")
    if name in _TEMPORARY and args:
        return _word(made, f"{name} lies in the folder of the run", args[0], f"temp/{name}")
    if name in _BESIDE and args and _is_relative(args[-1]):
        path = Path(made.config.prefix).absolute() / args[-1]
        return _word(made, "relative paths, such as those of certificates, are absolute", args[-1], str(path))
    return None


def _listen(made: Private, directive: Directive) -> Edit:
    parameters = [quoted(word) for word in directive.args[1:] if not word.startswith("ipv6only=")]
    names = (f"@{made.ports[address]}@" for address in _addresses(directive))
    text = " ".join(f"{' '.join(['listen', name, *parameters])};" for name in names)
    return _changed(made, "listen addresses are private", directive.span, text)


def _add_listen(made: Private, server: Block) -> Edit:
    inside = server.span.start + 1
    text = f" listen @{made.ports[_DEFAULT]}@;"
    return _changed(made, "servers without listen have a private address", Span(inside, inside), text)


def _defaults(made: Private, block: Block) -> Edit | None:
    """Without these directives nginx writes where it was built to: into the log and the directories of the real one."""
    own = {str(directive.name) for directive, scope in made.config.walk() if scope.context[-1:] == ("http",)}
    statements = {
        "access_log": f"access_log {_LOG_TO};",
        **{name: f"{name} temp/{name};" for name in sorted(_TEMPORARY)},
    }
    missing = [text for name, text in statements.items() if name not in own]
    if not missing:
        return None
    inside = block.span.start + 1
    what = "logs and temporary files with default paths are in the directory of the run"
    return _changed(made, what, Span(inside, inside), f" {' '.join(missing)}")


def _is_relative(path: str) -> bool:
    return not path.startswith(("/", "data:", "engine:", "$")) and "." in path


def _word(made: Private, what: str, word: Token, text: str) -> Edit:
    return _changed(made, what, word.span, quoted(text))


def _changed(made: Private, what: str, span: Span, text: str) -> Edit:
    made.changes[what] += 1
    return Edit(span, encode(text))
