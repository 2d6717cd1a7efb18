"""What `ngx_parse_url` in ngx_inet.c refuses of an address."""

from __future__ import annotations

from nginxopt.records import record
from nginxopt.semantics.addresses import packed_inet6, quad
from nginxopt.semantics.values import number
from nginxopt.text import encode

_MOST_PATH = 107
_MOST_PORT = 65_535


@record(eq=True)
class ParsedAddress:
    """An address that was parsed.

    Attributes:
        error: Why nginx refuses it, as `ngx_parse_url` says it; None if it does not.
        host: The host; empty for a UNIX socket.
        port: The port that the text states; None if it states none.
        is_numeric: Whether the host is an IP address or a socket, so that nothing is resolved.
        uri: The URI part, for addresses that may have one.
    """

    error: str | None
    host: str = ""
    port: int | None = None
    is_numeric: bool = False
    uri: str = ""


def parse_url(text: str, *, uri: bool = False) -> ParsedAddress:
    """Parse an address of a server, which may have a URI part with `uri`. Names are not resolved."""
    if text[:5].lower() == "unix:":
        return _unix(text[5:], uri)
    return _inet6(text, uri) if text.startswith("[") else _inet(text, uri)


def parse_address(text: str) -> bool:
    """Return whether a text is an address with or without a port (`ngx_parse_addr_port`)."""
    host, _, port = text[1:].partition("]") if text.startswith("[") else text.partition(":")
    if text.startswith("["):
        return packed_inet6(host) is not None and (not port or (port[0] == ":" and _port(port[1:]) is not None))
    if text.count(":") > 1:
        return packed_inet6(text) is not None
    return quad(host) is not None and (":" not in text or _port(port) is not None)


def _unix(text: str, may_have_uri: bool) -> ParsedAddress:
    path, _, uri = text.partition(":") if may_have_uri else (text, "", "")
    if not path:
        return ParsedAddress("no path in the unix domain socket")
    if len(encode(path)) > _MOST_PATH:
        return ParsedAddress("too long path in the unix domain socket")
    return ParsedAddress(None, is_numeric=True, port=0, uri=uri)


def _inet6(text: str, may_have_uri: bool) -> ParsedAddress:
    host, bracket, rest = text[1:].partition("]")
    if not bracket:
        return ParsedAddress("invalid host")
    uri = ""
    if may_have_uri and "/" in rest:
        rest, _, uri = rest.partition("/")
        uri = f"/{uri}"
    port: int | None = None
    if rest:
        port = _port(rest[1:])
        if rest[0] != ":":
            return ParsedAddress("invalid host")
        if port is None:
            return ParsedAddress("invalid port")
    if not host:
        return ParsedAddress("no host")
    if packed_inet6(host) is None:
        return ParsedAddress("invalid IPv6 address")
    return ParsedAddress(None, host, port, True, uri)


def _inet(text: str, may_have_uri: bool) -> ParsedAddress:
    end = min((at for at in (text.find("/"), text.find("?")) if at >= 0), default=len(text))
    if end < len(text) and not may_have_uri:
        return ParsedAddress("invalid host")
    host, colon, digits = text[:end].partition(":")
    port = _port(digits) if colon else None
    if colon and port is None:
        return ParsedAddress("invalid port")
    if not host:
        return ParsedAddress("no host")
    return ParsedAddress(None, host, port, quad(host) is not None, text[end:])


def _port(text: str) -> int | None:
    port = number(text)
    return port if port is not None and 1 <= port <= _MOST_PORT else None
