"""The `Location` of a response: as an address that clients ask for next, and compared with an expected one."""

from __future__ import annotations

import re
from urllib.parse import urljoin

from nginxopt import lazy
from nginxopt.request.client import PORTS, Url

_SITE = lazy.pattern(r"(https?)://([^/?#]*)", re.IGNORECASE)
_ESCAPED = lazy.pattern(r"%([0-9A-Fa-f]{2})")
_NOT_ASCII = lazy.pattern(r"[^\x21-\x7e]")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def absolute(location: str, url: Url) -> str:
    """Return where a `Location` leads that is the response to a request to `url` (RFC 9110, 10.2.2)."""
    return location if _SITE.match(location) else urljoin(str(url), location)


def normal(address: str) -> str:
    """Return an address in its normal form, which equivalent addresses share (RFC 3986, 6.2.2 and 6.2.3).

    Scheme and host are in lower case, the default port of the scheme is left out, an empty path becomes `/`, bytes
    beyond ASCII are escaped, and characters that need no escape have none.
    """
    match = _SITE.match(address)
    rest = _escaped(address[match.end() :] if match else address)
    if match is None:
        return rest
    scheme, host = match[1].lower(), match[2].lower().removesuffix(":")
    host = host.removesuffix(f":{PORTS[scheme]}")
    return f"{scheme}://{host}{rest if rest.startswith('/') else f'/{rest}'}"


def leads_to(location: str, expected: str, url: Url) -> bool:
    """Return whether a `Location` that is the response to a request to `url` is the expected one.

    An expected path is one of the host of the request, over whatever scheme and port.
    """
    if not location:
        return False
    if location == expected:  # as most are; to normalise both takes much longer
        return True
    actual = absolute(location, url)
    if not expected.startswith("/") or expected.startswith("//"):
        return normal(actual) == normal(absolute(expected, url))
    if actual == f"{url.site}{expected}":
        return True
    match = _SITE.match(actual)
    if match is None or host_of(match[2]) != host_of(url.host):
        return False
    return normal(f"{url.site}{actual[match.end() :]}") == normal(f"{url.site}{expected}")


def host_of(authority: str) -> str:
    """Return the host of an authority, in lower case, without a port and a final dot."""
    return re.sub(r":\d*\Z", "", authority.rpartition("@")[2]).lower().rstrip(".")


def _escaped(text: str) -> str:
    encoded = _NOT_ASCII.sub(lambda match: "".join(f"%{byte:02X}" for byte in _bytes(match[0])), text)
    return _ESCAPED.sub(_escape, encoded)


def _bytes(char: str) -> bytes:
    return char.encode("utf-8", "surrogateescape")


def _escape(match: re.Match[str]) -> str:
    char = chr(int(match[1], 16))
    return char if char in _UNRESERVED else match[0].upper()
