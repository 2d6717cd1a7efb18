"""Requests as a client sends them: the URL as curl reads it, by default the headers of curl, and where it connects.

Only the scheme of a URL may be left out. The path stays as it is written (as with `curl --path-as-is`): nginx resolves
`..` by itself, and answers a path that leads above the root with 400.

What a name resolves to is not in the configuration. Of the addresses with the port of the URL, the client connects to
one where a server has the name, and otherwise to one that listens everywhere.
"""

from __future__ import annotations

import base64
import ipaddress
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NotRequired, TypedDict
from urllib.parse import unquote_to_bytes

from nginxopt import lazy
from nginxopt._native import Patterns
from nginxopt.errors import UsageError
from nginxopt.records import record
from nginxopt.semantics.site.form import SiteForm, SocketForm
from nginxopt.text.source import decimal

PORTS = {"http": 80, "https": 443}
"""The schemes, and the port of a URL without one."""

_SCHEME = lazy.pattern(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_AUTHORITY_END = lazy.pattern(r"[/?#]|\Z")
_BLANK = lazy.pattern(r"[\x00-\x20\x7f]")
_NOT_IN_HOST = lazy.pattern(r"[!@{}\[\]\\$'\"^`*<>=;,+&()|#?/:\x00-\x20\x7f]")
"""What curl refuses in a name (`hostname_check` in lib/urlapi.c)."""
_NOT_ASCII = lazy.pattern(rb"[\x80-\xff]")


class UrlError(ValueError):
    """A text is not a URL; `column` is the first invalid character, counted from 1."""

    def __init__(self, message: str, column: int) -> None:
        super().__init__(message)
        self.message = message
        self.column = column


@record(eq=True)
class Url:
    """An http or https URL.

    Attributes:
        host: The name, or the address, an IPv6 one in brackets, in the case in which it is written.
        target: Path and arguments as in a request line; bytes beyond ASCII in the path are escaped.
        user: `user:password`, decoded.
    """

    scheme: str
    host: str
    port: int
    target: bytes
    user: bytes | None = None

    @property
    def is_tls(self) -> bool:
        """Whether the client begins with a TLS handshake."""
        return self.scheme == "https"

    @property
    def authority(self) -> str:
        """The value of the header `Host`: without the port if it is that of the scheme."""
        return self.host if self.port == PORTS[self.scheme] else f"{self.host}:{self.port}"

    @property
    def site(self) -> str:
        """The URL without its target."""
        return f"{self.scheme}://{self.authority}"

    @property
    def authorization(self) -> bytes | None:
        """The value of the header `Authorization`; None without a user."""
        return None if self.user is None else b"Basic " + base64.b64encode(self.user)

    def __str__(self) -> str:
        """Return the URL; a target that is not a path, such as `*` or a whole URL, with the site that it is sent to."""
        target = self.target.decode("utf-8", "surrogateescape")
        return self.site + target if target.startswith(("/", "?")) else f"{target} sent to {self.site}"


def read_url(text: str, base: Url | None = None, *, spaces: bool = False) -> Url:
    """Return a URL, or a path of `base`. Raises `UrlError` if a text is neither.

    `spaces`: whether to percent-encode spaces behind the host, as a browser's address bar does.
    """
    if base is not None and text.startswith("/"):
        return Url(base.scheme, base.host, base.port, _target(text, 0, spaces=spaces), base.user)
    scheme = _SCHEME.match(text)
    if scheme is None or scheme[1].lower() not in PORTS:
        column = 1 if scheme is None else scheme.end(1)
        raise UrlError("a URL begins with http:// or https://" + (", a path with /" if base else ""), column)
    match = _AUTHORITY_END.search(text, scheme.end())
    assert match is not None
    name, host, port, user = _site(text[: match.start()])
    return Url(name, host, port, _target(text, match.start(), spaces=spaces), user)


@lru_cache(maxsize=64)
def _site(text: str) -> tuple[str, str, int, bytes | None]:
    """Return scheme, host, port and user of a URL without its target; the addresses of a list share few."""
    name, mark, _ = text.partition("://")
    name, end = name.lower(), len(text)
    user, start = _user(text, len(name + mark), end)
    name_end = _name_end(text, start, end)
    return name, _host(text, start, name_end), _port(text, name_end, end) or PORTS[name], user


def _user(text: str, start: int, end: int) -> tuple[bytes | None, int]:
    """Return user and password, decoded, and where the host begins."""
    at = text.rfind("@", start, end)
    if at < 0:
        return None, start
    _refuse_blanks(text, start, at)
    user, _, password = text[start:at].partition(":")
    return unquote_to_bytes(user) + b":" + unquote_to_bytes(password), at + 1


def _name_end(text: str, start: int, end: int) -> int:
    """Return where the host ends, and perhaps a colon with a port begins."""
    if text.startswith("[", start):
        closing = text.find("]", start, end)
        if closing < 0:
            raise UrlError("the bracket of the address is not closed", start + 1)
        return closing + 1
    colon = text.find(":", start, end)
    return end if colon < 0 else colon


def _host(text: str, start: int, end: int) -> str:
    host = text[start:end]
    if not host:
        raise UrlError("the host is missing", start + 1)
    if host.startswith("["):
        return _bracketed(host, start)
    if wrong := _NOT_IN_HOST.search(text, start, end):
        raise UrlError(f"{_named(wrong[0])} in the host", wrong.start() + 1)
    if host.isascii():
        return host
    try:
        return host.encode("idna").decode()
    except UnicodeError:
        raise UrlError("the host is not a name", start + 1) from None


def _bracketed(host: str, start: int) -> str:
    try:
        ipaddress.IPv6Address(host[1:-1])
    except ValueError:
        raise UrlError("not an IPv6 address", start + 2) from None
    return host


def _port(text: str, start: int, end: int) -> int | None:
    """Return the port behind a colon; None if there is none."""
    digits = text[start + 1 : end]
    if not digits and text[start:end] in ("", ":"):
        return None
    port = decimal(digits) or 0
    if text[start] != ":" or not 0 < port <= 65_535:
        raise UrlError("the port is not a number from 1 to 65535", start + (2 if text[start] == ":" else 1))
    return port


def _target(text: str, start: int, *, spaces: bool) -> bytes:
    """Return path and arguments without the fragment, which no client sends."""
    _refuse_blanks(text.replace(" ", "+") if spaces else text, start, len(text))
    path, mark, arguments = text[start:].replace(" ", "%20").partition("#")[0].partition("?")
    encoded = (path or "/").encode("utf-8", "surrogateescape")
    escaped = _NOT_ASCII.sub(lambda byte: b"%%%02X" % byte[0][0], encoded)
    return escaped + (mark + arguments).encode("utf-8", "surrogateescape")


def _refuse_blanks(text: str, start: int, end: int) -> None:
    if wrong := _BLANK.search(text, start, end):
        raise UrlError(f"{_named(wrong[0])} in the URL", wrong.start() + 1)


def _named(char: str) -> str:
    if char == " ":
        return "a space"
    return f'"{char}"' if char.isprintable() else f"the control character {ord(char)}"


Header = tuple[bytes, bytes]

CURL: tuple[Header, ...] = ((b"User-Agent", b"curl/8.5.0"), (b"Accept", b"*/*"))
"""The headers that curl sends besides `Host`."""

_METHOD = lazy.pattern(r"([A-Za-z_-]+)[ \t]+(?=\S)")
_HEADER = lazy.pattern(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+)[ \t]*([:;])[ \t]*([^\x00\r\n]*)")


@record(eq=True)
class Request:
    """A request to a URL.

    Attributes:
        headers: In order, including `Host`.
        protocol: HTTP/2 or HTTP/3 if the request uses one of these; the rest is then as for HTTP/1.1.
        client: The address of the client, without a port; None if it is not known.
    """

    url: Url
    headers: tuple[Header, ...]
    method: bytes = b"GET"
    version: tuple[int, int] = (1, 1)
    protocol: tuple[int, int] | None = None
    client: bytes | None = None

    def __str__(self) -> str:
        method = "" if self.method == b"GET" else f"{self.method.decode('latin-1')} "
        return f"{method}{self.url}"


def from_curl(url: Url, *, method: bytes = b"GET", headers: Iterable[str] = (), client: bytes | None = None) -> Request:
    """Return the request that curl sends; `headers` are as with its `-H`.

    `Name: value` adds a header or replaces one that curl sends by itself, `Name;` sends one without a value, and
    `Name:` sends none. Raises `UrlError` for a text that is not a header; its column is that of the text.
    """
    if headers == () and url.user is None:
        return Request(url, _own_headers(url.authority), method, client=client)
    sent = {b"host": (b"Host", url.authority.encode())}
    if url.authorization is not None:
        sent[b"authorization"] = (b"Authorization", url.authorization)
    sent |= {name.lower(): (name, value) for name, value in CURL}
    more: list[Header] = []
    for name, value in map(_header, headers):
        own = name.lower() in sent
        if own and value is not None:
            sent[name.lower()] = (name, value)
        elif own:
            del sent[name.lower()]
        elif value is not None:
            more.append((name, value))
    return Request(url, (*sent.values(), *more), method, client=client)


@lru_cache(maxsize=64)
def _own_headers(authority: str) -> tuple[Header, ...]:
    """Return the headers that curl adds to a request. Cached, as all rows of a table have the same few hosts."""
    return ((b"Host", authority.encode()), *CURL)


def read_request(text: str, base: Url | None = None, *, headers: Iterable[str] = (), spaces: bool = False) -> Request:
    """Return the request for `URL` or `METHOD URL`. Raises `UrlError` with the column in the whole text.

    `spaces` is as for `read_url`.
    """
    match = _METHOD.match(text)
    start = match.end() if match else 0
    try:
        url = read_url(text[start:], base, spaces=spaces)
    except UrlError as error:
        raise UrlError(error.message, error.column + start) from None
    return from_curl(url, method=match[1].encode() if match else b"GET", headers=headers)


def _header(text: str) -> tuple[bytes, bytes | None]:
    """Return a header of `-H`; its value is None if none is to be sent."""
    match = _HEADER.fullmatch(text.encode("utf-8", "surrogateescape"))
    if match is None or (match[2] == b";" and match[3]):
        raise UrlError('a header is "Name: value"', 1)
    value = match[3].rstrip(b" \t")
    return match[1], value if value or match[2] == b";" else None


_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""For each address that listens everywhere, one that a client can connect to."""
_NAMELESS = frozenset(["", "_", "localhost", "$hostname"])
"""Names of servers that no site has."""


LOCAL = "127.0.0.1"
"""The address of a private nginx, and of a client that asks it."""


class ConnectionForm(TypedDict):
    """What `Connection` of `rust/src/request/world.rs` reads. Text is bytes as Latin-1."""

    family: str
    host: str
    port: int
    tls: bool
    quic: NotRequired[bool]
    protocol: NotRequired[tuple[int, int] | None]
    sni: str | None
    client: str | None


class RequestForm(TypedDict):
    """What `Request` of `rust/src/request/world.rs` reads."""

    method: str
    target: str
    version: tuple[int, int]
    headers: list[tuple[str, str]]
    connection: ConnectionForm


class NobodyListensError(UsageError):
    """nginx does not listen where a request goes."""


@dataclass(frozen=True)
class ClientGate:
    """Connects clients to the sockets of a site.

    Attributes:
        to: An address to connect to whatever the URL says, as curl's `--connect-to`: host and port.
    """

    site: SiteForm
    to: tuple[str, int] | None = None

    def form(self, request: Request) -> RequestForm:
        """Return a request for the model. Raises `NobodyListensError`."""
        return {
            "method": request.method.decode("latin-1"),
            "target": request.url.target.decode("latin-1"),
            "version": request.version,
            "headers": [(name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers],
            "connection": {**self.connection(request.url, request.client), "protocol": request.protocol},
        }

    def text(self, request: Request) -> str:
        """Return the form of a request as JSON. What many requests share is written once. Raises as `form`."""
        url = request.url
        key = (
            url.scheme, url.host, url.port, request.method, request.version, request.headers, request.protocol,
            request.client,
        )  # fmt: skip
        if key not in self._texts:
            self._texts[key] = json.dumps({**self.form(request), "target": ""}).partition('"target": ""')
        before, _, behind = self._texts[key]
        return f'{before}"target": {json.dumps(url.target.decode("latin-1"))}{behind}'

    @cached_property
    def _texts(self) -> dict[object, tuple[str, str, str]]:
        """The forms made so far, without their targets."""
        return {}

    def connection(self, url: Url, client: bytes | None = None) -> ConnectionForm:
        """Return the connection of a client for a URL. Raises `NobodyListensError` if there is none."""
        key = (url.scheme, url.host, url.port)
        if key not in self._connections:
            self._connections[key] = self._connect(url)
        return {**self._connections[key], "client": None if client is None else client.decode("latin-1")}

    @cached_property
    def _connections(self) -> dict[tuple[str, str, int], ConnectionForm]:
        """The connections so far, by scheme, host and port."""
        return {}

    def _connect(self, url: Url) -> ConnectionForm:
        host, port = self.to or (url.host.strip("[]"), url.port)
        sockets = [socket for socket in self._sockets if socket["port"] == port]
        address = _address(host)
        socket = self._of_name(host.lower().rstrip("."), sockets) if address is None else _of_address(address, sockets)
        if socket is None or (url.is_tls and not socket["tls"]):
            raise self._nobody(url, port, without_tls=socket is not None)
        is_name = _address(url.host.strip("[]")) is None
        return {
            "family": "inet" if address and address.version == 4 else socket["family"],
            "host": str(address) if address else _EVERYWHERE.get(socket["host"], socket["host"]),
            "port": port,
            "tls": url.is_tls,
            "sni": url.host.rstrip(".") if url.is_tls and is_name else None,
            "client": None,
        }

    @cached_property
    def base(self) -> Url | None:
        """The site of a path without a host: that of the only host with a name, over TLS if it is served so.

        None if there are several hosts.
        """
        names = {name for names in self._names for name in names if name not in _NAMELESS}
        if len(names) > 1 or any(name.startswith(("~", "*", ".")) or name.endswith("*") for name in names):
            return None
        return self.likely(next(iter(names), "localhost"))

    def likely(self, name: str) -> Url:
        """Return the site that a client probably means by a host: over TLS if it is served so."""
        own = [socket for socket in self._sockets if self._has(socket, name.lower())] or self._sockets
        socket = next((socket for socket in own if socket["tls"]), next(iter(own), None))
        if socket is None:
            return Url("http", name, PORTS["http"], b"/")
        return Url("https" if socket["tls"] else "http", name, socket["port"], b"/")

    def is_tls(self, port: int) -> bool:
        """Return whether nginx begins with a TLS handshake at a port."""
        return any(socket["tls"] for socket in self._sockets if socket["port"] == port)

    def serves(self, url: Url) -> bool:
        """Return whether a server of the site has the host of a URL as a name, at its port."""
        host = url.host.lower().rstrip(".")
        sockets = [socket for socket in self._sockets if socket["port"] == url.port and socket["tls"] == url.is_tls]
        servers = {server for socket in sockets for server in socket["servers"]}
        return any(is_named(name, host) for server in servers for name in self._names[server])

    def _has(self, socket: SocketForm, name: str) -> bool:
        return any(name in self._names[server] for server in socket["servers"])

    @cached_property
    def _sockets(self) -> list[SocketForm]:
        """The sockets that a client reaches over TCP."""
        return [socket for socket in self.site["sockets"] if socket["family"] != "unix" and not socket["quic"]]

    def _of_name(self, name: str, sockets: Sequence[SocketForm]) -> SocketForm | None:
        """Return the socket that a name probably leads to."""
        chosen = [
            *(socket for socket in sockets if socket["family"] == "name" and socket["host"] == name),
            *(socket for socket in sockets if self._has(socket, name)),
            *(socket for socket in sockets if socket["host"] in _EVERYWHERE),
            *sockets,
        ]
        return next(iter(chosen), None)

    @cached_property
    def _names(self) -> list[frozenset[str]]:
        """The names of each server, in lower case."""
        return [frozenset(name["text"].lower() for name in server["names"]) for server in self.site["servers"]]

    def _nobody(self, url: Url, port: int, *, without_tls: bool) -> NobodyListensError:
        reason = f"nginx listens at port {port} without TLS" if without_tls else f"no server listens at port {port}"
        where = ", ".join(dict.fromkeys(map(_place, self._sockets)))
        if where:
            hint = f"it listens at {where}; choose one with --connect"
        elif self.site["sockets"]:
            hint = "it listens at no address of TCP"
        else:
            hint = "no server was read: those of other files are missing here, if it includes some"
        return NobodyListensError(f"{url.site}: {reason}", hint=hint)


def _of_address(address: _Address, sockets: Sequence[SocketForm]) -> SocketForm | None:
    """Return the socket of an address, as nginx finds it: its own, or the one that listens everywhere.

    That may be one of IPv6 that takes connections of IPv4 as well.
    """
    family = "inet" if address.version == 4 else "inet6"
    own = {str(address): 0, "0.0.0.0" if family == "inet" else "::": 1}
    fitting = [socket for socket in sockets if socket["family"] == family and socket["host"] in own]
    mapped = (socket for socket in sockets if address.version == 4 and socket["takes_ipv4"] and socket["host"] == "::")
    return min(fitting, key=lambda socket: own[socket["host"]], default=next(mapped, None))


def is_named(name: str, host: str) -> bool:
    """Return whether a name of a server is that of a host: exact, with a wildcard, or a pattern."""
    if name.startswith("~"):
        return Patterns([b"(?i)" + name[1:].encode("latin-1")]).first(host.encode("latin-1")) is not None
    if name.startswith((".", "*.")):
        return host.endswith(name.lstrip("*")) or (name[0] == "." and host == name[1:])
    return host == name or (name.endswith(".*") and host.startswith(name[:-1]))


def _address(host: str) -> _Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _place(socket: SocketForm) -> str:
    host = "*" if socket["host"] == "0.0.0.0" else socket["host"]
    place = f"[{host}]:{socket['port']}" if socket["family"] == "inet6" else f"{host}:{socket['port']}"
    return f"{place} (TLS)" if socket["tls"] else place
