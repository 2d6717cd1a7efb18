"""A configuration for a private nginx: the same http block on ports of 127.0.0.1, with an echo for each upstream.

What leads out of the machine or writes outside the folder of that nginx is replaced or left out: the addresses of
upstreams, resolvers, logs, caches, files that are stored. What would run programs is refused, as in every trial
(`nginxopt.system.nginx.permission`). All else means the same to nginx as in the original.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from nginxopt import lazy
from nginxopt.config import Bulk, Directive
from nginxopt.config.layout import quoted
from nginxopt.records import record
from nginxopt.semantics import PROTOCOLS, Address, Level, Upstream, read_addresses, read_pass
from nginxopt.semantics.values import PORT, RANGES
from nginxopt.system.nginx import Binary, permission
from nginxopt.text import encode

ECHO = "nginxopt_echo"
"""A variable with the address of the echo, so that a pass to a variable is still one."""

PASSWORDS = "passwords"
"""The file of users of an nginx that is measured, beside its configuration."""
_FILE_TEST = lazy.pattern(r"!?-[fdex]")
_KEPT_OF_LISTEN = ("default_server", "default", "proxy_protocol")
_LEFT_OUT = frozenset(
    [
        *("access_log", "error_log", "log_by_lua", "log_by_lua_block", "log_by_lua_file"),
        *("aio", "directio", "sendfile", "thread_pool", "http2", "http3", "quic_retry"),
        *("resolver", "resolver_timeout", "health_check", "include", "tunnel_pass"),
        *(f"{protocol}_store" for protocol in PROTOCOLS),
        *(f"{name}_temp_path" for name in ("client_body", *PROTOCOLS)),
        *(f"{protocol}_bind" for protocol in PROTOCOLS),
    ]
)
_MEASURED = frozenset(["access_log", "error_log", "sendfile"])
"""Directives that no answer depends on, but that take time: they are left out unless nginx is measured."""
_SLOWED = frozenset(["limit_rate", "limit_rate_after", "keepalive_requests", "keepalive_timeout", "keepalive_time"])
"""Directives that close connections or slow down responses for a client that never stops asking."""
_OF_TLS_MEASURED = lazy.pattern(
    r"ssl_(protocols|ciphers|prefer_server_ciphers|session_\w+(?<!_key)|buffer_size|ecdh_curve)"
)
_LOGS = "logs"
_LEFT_OUT_OF_UPSTREAMS = ("server", "zone", "resolver", "state")
_OF_TLS = ("ssl", "proxy_ssl_", "grpc_ssl_", "uwsgi_ssl_")
_SCHEMES = {"proxy": "http://", "grpc": "grpc://"}
_WITH_EDITS = ("http", "server", "location", "if", "limit_except")

Edit = Callable[[Directive, Level], bytes]


@record(eq=True)
class PrivateStage:
    """Where the private nginx runs.

    Attributes:
        ports: The port for each address that servers listen at.
        echo: The port of the echo.
        disk: The folder that stands for the root of the disk, without a slash at its end.
        prefix: The folder of relative paths, with a slash at its end.
        conf: The folder of the main configuration, with a slash at its end.
        certificate: The files of a certificate and its key; None to leave out TLS.
        left_out: Names of further directives to leave out.
        binary: The nginx that gets the text, which must not run programs without permission; None for none.
        is_measured: Whether nginx is measured. Then it also writes logs, in its own folder, sends files as the original
            does, never delays or rejects a request for coming too early, and has passwords of its own.
    """

    ports: Mapping[Address, int]
    echo: int
    disk: str
    prefix: str
    conf: str
    certificate: tuple[str, str] | None = None
    left_out: frozenset[str] = frozenset()
    binary: Binary | None = None
    is_measured: bool = False

    def path(self, path: str) -> str:
        """Return the path of a file on the stage; a variable is taken to be an absolute path."""
        return self.disk + (path if path.startswith(("/", "$")) else self.prefix + path)


def transplanted(http: Level, stage: PrivateStage) -> bytes:
    """Return the http block for a stage.

    Raises `InputError` for a pass whose whole URL is a variable, for a text that has the variable `ECHO`, and for
    programs.
    """
    writer = _Writer(stage)
    text = b"http {\n%s}\n" % b"".join(writer.http(http))
    if stage.binary is not None:
        permission.raise_first(permission.programs(writer.written, stage.binary))
    return text


class _Writer:
    def __init__(self, stage: PrivateStage) -> None:
        self.written: list[Directive] = []
        self._stage = stage
        self._opened: set[Address] = set()
        self._upstreams: dict[str, Upstream] = {}
        self._echo = f"127.0.0.1:{stage.echo}"
        self._edits: dict[str, Edit] = {
            "listen": self._listen,
            "root": self._root,
            "alias": self._root,
            "auth_basic_user_file": self._user_file,
            **{f"{protocol}_cache_path": self._cache for protocol in PROTOCOLS},
            **{f"{protocol}_pass": self._pass for protocol in PROTOCOLS},
        }
        self._left_out = stage.left_out | (_LEFT_OUT - _MEASURED | _SLOWED if stage.is_measured else _LEFT_OUT)
        if stage.is_measured:
            self._edits |= {"access_log": self._access_log, "error_log": self._error_log, "limit_req": self._limit}

    def http(self, http: Level) -> Iterator[bytes]:
        """Yield the content of http."""
        upstreams = [level for level in http.levels if level.kind == "upstream" and level.args]
        self._upstreams = {level.args[0].lower(): Upstream(str(level.args[0]), level) for level in upstreams}
        if self._stage.is_measured:
            yield b"keepalive_requests 1000000000;\nkeepalive_timeout 1h;\n"
            yield b"" if http.own("access_log") else encode(f"access_log {_LOGS}/access.log;\n")
        else:
            yield b"access_log off;\n"
        for name in (b"client_body", b"proxy", b"fastcgi", b"uwsgi", b"scgi"):
            yield b"%s_temp_path temp/%s;\n" % (name, name)
        if self._stage.certificate:
            yield encode("ssl_certificate {};\nssl_certificate_key {};\n".format(*self._stage.certificate))
        if not http.own("root"):
            yield encode(f"root {quoted(self._stage.path('html'))};\n")
        yield from self._content(http)
        # This is last, as nginx accepts sizes of hash tables only before the first map.
        yield encode(f'map "" ${ECHO} {{ default {self._echo}; }}\n')

    def _content(self, level: Level) -> Iterator[bytes]:
        """Yield the content of a level, with all included files."""
        inner = iter(level.levels)
        if level.kind == "server" and not level.own("listen"):
            yield self._listens((Address("inet", "0.0.0.0", PORT),), "")
        if level.kind == "upstream":
            yield encode(f"server {self._echo};\n")
        for node in level.scope.nodes if level.scope else ():
            if isinstance(node, Bulk):
                yield node.source.data[node.span.start : node.span.end] + b"\n"
            elif node.block is not None:
                yield from self._block(next(inner), self._head(node))
            else:
                yield self._statement(node, level)
        for block in inner:  # those around a fragment
            yield from self._block(block, b"location /" if block.kind == "location" else encode(block.kind))

    def _block(self, level: Level, head: bytes) -> Iterator[bytes]:
        yield head.rstrip() + b" {\n"
        yield from self._content(level)
        yield b"}\n"

    def _head(self, opener: Directive) -> bytes:
        """Return the opening of a block. If an `if` tests a file, its path is the one in the stage's folder."""
        self._note(opener)
        words = {}
        if opener.name == "if" and len(opener.args) == 2 and _FILE_TEST.fullmatch(opener.args[0]):
            words = {1: self._stage.path(opener.args[1])} if opener.args[1].startswith("/") else {}
        assert opener.block is not None
        return _text(opener, opener.block.span.start, words)

    def _statement(self, directive: Directive, level: Level) -> bytes:
        name = str(directive.name)
        is_of_upstream = level.kind == "upstream" and name in _LEFT_OUT_OF_UPSTREAMS
        is_of_tls = name.startswith(_OF_TLS) and not (self._stage.certificate and self._is_kept_of_tls(name))
        is_looked_up = name == "set_real_ip_from" and not all(map(permission.is_range, directive.args))
        if is_looked_up or name in self._left_out or is_of_upstream or is_of_tls:
            return b""
        if level.kind not in permission.OF_ROWS:
            self._note(directive)
        edit = self._edits.get(name) if directive.args and level.kind in _WITH_EDITS else None
        return (_text(directive) if edit is None else edit(directive, level)) + b"\n"

    def _note(self, directive: Directive) -> None:
        """Note a directive that is written. Raises `InputError` if it could change what leads to the echo."""
        self.written.append(directive)
        for word in directive.args:
            if ECHO in word.lower():
                raise directive.error(f"the variable ${ECHO} is that of --nginx", at=word)

    def _is_kept_of_tls(self, name: str) -> bool:
        return name == "ssl" or (self._stage.is_measured and _OF_TLS_MEASURED.fullmatch(name) is not None)

    def _access_log(self, directive: Directive, _: Level) -> bytes:
        """Return the same log in a file of the stage."""
        if directive.args[0] == "off":
            return _text(directive)
        return _text(directive, words={0: f"{_LOGS}/{directive.span.start}.log"})

    def _error_log(self, directive: Directive, _: Level) -> bytes:
        return _text(directive, words={} if directive.args[0] == "/dev/null" else {0: "error.log"})

    def _limit(self, directive: Directive, _: Level) -> bytes:
        """Return a limit that is never reached, as it takes the same time to find that."""
        zone = next((str(word) for word in directive.args if word.startswith("zone=")), "")
        return encode(f"limit_req {quoted(zone)} burst=1000000 nodelay;")

    def _listen(self, directive: Directive, level: Level) -> bytes:
        """Return the same on ports of the stage; TLS over a TCP port of its own stands for QUIC."""
        is_quic = "quic" in directive.args
        kept = (*_KEPT_OF_LISTEN, "ssl") if self._stage.certificate else _KEPT_OF_LISTEN
        addresses = read_addresses(directive.args[0], datagram=is_quic, ranges=level.target >= RANGES)
        words = ["ssl" if word == "quic" else word for word in directive.args[1:]]
        return self._listens(addresses, "".join(f" {word}" for word in words if word in kept))

    def _listens(self, addresses: tuple[Address, ...], parameters: str) -> bytes:
        lines = []
        for address in addresses:
            shared = "" if address in self._opened else " reuseport"  # as the port is held by whoever reserved it
            self._opened.add(address)
            lines.append(f"listen 127.0.0.1:{self._stage.ports[address]}{parameters}{shared};\n")
        return encode("".join(lines))

    def _root(self, directive: Directive, _: Level) -> bytes:
        return _text(directive, words={0: self._stage.path(directive.args[0])})

    def _user_file(self, directive: Directive, _: Level) -> bytes:
        path = directive.args[0]
        if self._stage.is_measured:
            return _text(directive, words={0: PASSWORDS})
        return _text(directive, words={0: path if path.startswith(("/", "$")) else self._stage.conf + path})

    def _cache(self, directive: Directive, _: Level) -> bytes:
        return _text(directive, words={0: f"temp/cache-{directive.span.start}"})

    def _pass(self, directive: Directive, level: Level) -> bytes:
        """Return a pass to the echo, with the URI that it had."""
        target = read_pass(directive, level, self._upstreams)
        if target is None:
            return _text(directive)
        scheme = _SCHEMES.get(target.protocol, "")
        if (
            target.upstream is not None and not target.has_variable
        ):  # which has the echo as its server, and keeps its name as the default `Host`
            return _text(directive, words={0: f"{scheme}{target.host}{target.uri or ''}"})
        if target.has_variable and scheme and not target.scheme:
            raise directive.error("--nginx cannot replace a server in a URL that is a variable", at=directive.args[0])
        host = f"${ECHO}" if target.has_variable else self._echo
        return _text(directive, words={0: f"{scheme}{host}{target.uri or ''}"})


def _text(directive: Directive, end: int | None = None, words: Mapping[int, str] | None = None) -> bytes:
    """Return the text of a directive up to `end`, with other words for some of its arguments."""
    data, at, pieces = directive.source.data, directive.span.start, []
    for index, word in sorted((words or {}).items()):
        token = directive.args[index]
        pieces += [data[at : token.start], encode(quoted(word))]
        at = token.end
    return b"".join([*pieces, data[at : directive.span.end if end is None else end]])
