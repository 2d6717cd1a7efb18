"""A configuration of an operator's own, as a node: what reaches outside its prefix is changed, and nothing else.

Changed are byte spans: listen addresses become private ones, logs and caches go into the prefix, includes name the
copies, and what is said on the command line (`daemon`, `pid`, `user` ...) goes. `Private.changes` tells all of it.
Upstreams, certificates and static files stay where they are.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from nginxopt.bench.scenario import Node
from nginxopt.config import Block, Config, Directive, File, Scope, Token
from nginxopt.config.layout import quoted
from nginxopt.errors import InputError
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
_ANYWHERE = re.compile(r"(?:\*|0\.0\.0\.0):(\d+)|(\d+)")
_LOG_TO = "access.log"


@dataclass(slots=True)
class Private:
    """A configuration made private: its texts by path in the prefix, and what was changed, with how often.

    `ports` are the names of its addresses, `entry` of the first that speaks plain HTTP.
    """

    config: Config
    files: dict[str, bytes] = field(default_factory=dict)
    ports: dict[str, str] = field(default_factory=dict)
    changes: Counter[str] = field(default_factory=Counter)
    _edits: dict[File, list[Edit]] = field(default_factory=dict)
    _silent: list[Directive | None] = field(default_factory=list)

    def node(self, role: str) -> Node:
        """Return it as a node."""
        main = self.files["nginx.conf"]
        others = {path: text for path, text in self.files.items() if path != "nginx.conf"}
        says = f"{self.config.main.path}, made private"
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
    listens: list[tuple[str, bool]] = []
    for server in made.config.scope.tree():
        if server.context[-1:] != ("server",):
            continue
        in_http = "http" in server.context
        found = [inner for inner in server.directives if inner.name == "listen" and inner.args]
        listens += [(_address(inner.args[0]), in_http and not _NOT_PLAIN & set(inner.args[1:])) for inner in found]
        if not found and in_http:
            listens.append((_DEFAULT, True))
            made._silent.append(server.opener)
    special = {address for address, is_plain in listens if not is_plain}
    plain = [address for address, is_plain in listens if is_plain and address not in special]
    if not plain:
        raise InputError(
            "no server of it listens for plain HTTP, so there is nothing to measure", path=made.config.main.path
        )
    for number, address in enumerate(dict.fromkeys([plain[0], *(address for address, _ in listens)])):
        made.ports[address] = f"{role}/p{number}" if number else role


_DEFAULT = "*:80"


def _address(text: str) -> str:
    """An address with its port, the same for all ways to say `any IPv4 address`."""
    anywhere = _ANYWHERE.fullmatch(text)
    if anywhere:
        return f"*:{anywhere[1] or anywhere[2]}"
    return text if re.search(r":\d+$", text) or text.startswith("unix:") else f"{text}:80"


def _edit(made: Private, directive: Directive, scope: Scope, names: dict[File, str]) -> Edit | None:
    """What becomes of one directive; None if it stays."""
    name, args = str(directive.name), directive.args
    if not scope.context and name in _GONE:
        return _changed(made, f"{name} is given on the command line", directive.span, "")
    if name == "include" and not directive.block and args:
        copies = [f"include {names[file]};" for file in made.config.included(directive)]
        return _changed(made, "includes name the copies", directive.span, " ".join(copies))
    if name == "listen" and args and scope.context[-1:] == ("server",):
        return _listen(made, directive)
    if directive in made._silent and directive.block:
        return _without_listen(made, directive.block)
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
        return _word(made, "relative paths of certificates and the like are absolute", args[-1], str(path))
    return None


def _listen(made: Private, directive: Directive) -> Edit:
    address, *parameters = directive.args
    kept = [str(word) for word in parameters if not word.startswith("ipv6only=")]
    words = ["listen", f"@{made.ports[_address(address)]}@", *map(quoted, kept)]
    return _changed(made, "listen addresses are private ones", directive.span, f"{' '.join(words)};")


def _without_listen(made: Private, server: Block) -> Edit:
    inside = server.span.start + 1
    text = f" listen @{made.ports[_DEFAULT]}@;"
    return _changed(made, "servers without listen got a private address", Span(inside, inside), text)


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
    what = "logs and temporary files that were left to nginx's default lie in the folder of the run"
    return _changed(made, what, Span(inside, inside), f" {' '.join(missing)}")


def _is_relative(path: str) -> bool:
    return not path.startswith(("/", "data:", "engine:", "$")) and "." in path


def _word(made: Private, what: str, word: Token, text: str) -> Edit:
    return _changed(made, what, word.span, quoted(text))


def _changed(made: Private, what: str, span: Span, text: str) -> Edit:
    made.changes[what] += 1
    return Edit(span, encode(text))
