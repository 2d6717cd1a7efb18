"""URLs as curl reads them, with the column of what is wrong with one.

Only the scheme may not be left out. The path stays as it is written (as with `curl --path-as-is`): nginx resolves `..`
by itself, and answers a path that leads above the root with 400.
"""

from __future__ import annotations

import base64
import ipaddress
from urllib.parse import unquote_to_bytes

from nginxopt import lazy
from nginxopt.records import record
from nginxopt.text.decimal import number

PORTS = {"http": 80, "https": 443}
"""The schemes, and the port of a URL without one."""

_SCHEME = lazy.pattern(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_AUTHORITY_END = lazy.pattern(r"[/?#]|\Z")
_BLANK = lazy.pattern(r"[\x00-\x20\x7f]")
_NOT_IN_HOST = lazy.pattern(r"[!@{}\[\]\\$'\"^`*<>=;,+&()|#?/:\x00-\x20\x7f]")
"""What curl refuses in a name (`hostname_check` in lib/urlapi.c)."""
_NOT_ASCII = lazy.pattern(rb"[\x80-\xff]")


class UrlError(ValueError):
    """A text that is no URL; `column` counts its characters from 1."""

    def __init__(self, message: str, column: int) -> None:
        super().__init__(message)
        self.message = message
        self.column = column


@record(eq=True)
class Url:
    """An http or https URL.

    Attributes:
        host: The name, or the address, an IPv6 one in brackets, in the case in which it is written.
        target: Path and arguments as in a request line; other bytes than ASCII in the path are escaped.
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
        """The URL; a target that is no path, such as `*` or a URL of its own, with the site that it is sent to."""
        target = self.target.decode("utf-8", "surrogateescape")
        return self.site + target if target.startswith(("/", "?")) else f"{target} sent to {self.site}"


def read_url(text: str, base: Url | None = None, *, spaces: bool = False) -> Url:
    """Return a URL, or a path of `base`. Raises `UrlError` if a text is neither.

    `spaces`: those behind the host are percent-encoded, as in a browser's address bar.
    """
    if base is not None and text.startswith("/"):
        return Url(base.scheme, base.host, base.port, _target(text, 0, spaces=spaces), base.user)
    scheme = _SCHEME.match(text)
    if scheme is None or scheme[1].lower() not in PORTS:
        column = 1 if scheme is None else scheme.end(1)
        raise UrlError("a URL begins with http:// or https://" + (", a path with /" if base else ""), column)
    match = _AUTHORITY_END.search(text, scheme.end())
    assert match is not None
    end = match.start()
    user, start = _user(text, scheme.end(), end)
    name_end = _name_end(text, start, end)
    name = scheme[1].lower()
    host = _host(text, start, name_end)
    return Url(name, host, _port(text, name_end, end) or PORTS[name], _target(text, end, spaces=spaces), user)


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
    port = number(digits) or 0
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
