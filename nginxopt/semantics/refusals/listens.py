"""The setters of `listen`: its parameters, the combinations that nginx refuses, and addresses that are listed twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from nginxopt.semantics.listens import addresses, binds
from nginxopt.semantics.refusals.reading import Listened, Setter, Stated, register
from nginxopt.semantics.refusals.urls import parse_url
from nginxopt.semantics.values import number, seconds, size
from nginxopt.version import Version

SETTERS: dict[str, Setter] = {}

_QUIC = Version(1, 25, 0)
_MULTIPATH = Version(1, 31, 0)
_AS_HTTP = Version(1, 25, 5)
"""The first release in which stream has virtual servers, and the messages of http."""
_PLAIN = {
    "http": ("default_server", "default", "bind", "deferred", "reuseport", "ssl", "http2", "proxy_protocol"),
    "stream": ("udp", "bind", "deferred", "reuseport", "ssl", "proxy_protocol"),
    "mail": ("bind", "ssl", "proxy_protocol"),
}
_INCOMPATIBLE = ("fastopen", "backlog", "accept_filter", "deferred", "multipath", "ssl", "http2", "so_keepalive")
"""Parameters that no datagram socket can have, in the order of nginx's checks; `proxy_protocol` is the last."""
_Value = Callable[[str], object]


def _backlog(text: str) -> int | None:
    """Return a number that is neither 0 nor -1 in the 32 bits that nginx has for it; None for any other text."""
    count = number(text)
    return None if count is None or count & 0xFFFFFFFF in (0, 0xFFFFFFFF) else count


_VALUES: Mapping[str, _Value] = {
    "fastopen": number,
    "backlog": _backlog,
    "rcvbuf": size,
    "sndbuf": size,
}


_OF_MAIL = ("backlog", "rcvbuf", "sndbuf")


@register(SETTERS, "ngx_http_core_listen", "ngx_stream_core_listen", "ngx_mail_core_listen")
def _listen(stated: Stated) -> Iterator[str]:
    address, *words = stated.args
    if not addresses(stated.args, stated.reading.target):
        yield f'{_error(address)} in "{address}" of the "listen" directive'
    for word in words:
        message = _of_word(stated, str(word))
        if message is not None:
            yield message
            return
    datagram = next((word for word in ("quic", "udp") if word in words), None)
    names = {word.partition("=")[0] for word in words}
    wrong = next((name for name in (*_INCOMPATIBLE, "proxy_protocol") if name in names), None)
    if datagram and wrong:
        yield stated.says(f'"{wrong}" parameter is incompatible with "{datagram}"')
        return
    yield from _taken(stated, tuple(map(str, words)))


def _taken(stated: Stated, words: tuple[str, ...]) -> Iterator[str]:
    """Enter the addresses; yield what nginx says of one that is there already (`ngx_http_add_addresses`)."""
    is_pair = stated.protocol == "mail" or (stated.protocol == "stream" and stated.reading.target < _AS_HTTP)
    for address in addresses(stated.args, stated.reading.target):
        known = stated.reading.listens.setdefault((stated.protocol, address), Listened())
        if known.servers and is_pair:
            yield f'duplicate "{address.numeric}" address and port pair'
            return
        if stated.level in known.servers:
            yield f"a duplicate listen {address.numeric}"
            return
        known.servers.add(stated.level)
        if binds(words):
            if known.is_set:
                yield f"duplicate listen options for {address.numeric}"
                return
            known.is_set = True
        if "default_server" in words or "default" in words:
            if known.has_default:
                yield f"a duplicate default server for {address.numeric}"
                return
            known.has_default = True


def _error(text: str) -> str:
    """Return what is wrong with an address that nginx refuses."""
    port = number(text)
    if port is not None:
        return "invalid port"
    first, _, last = text.partition("-")
    low, high = number(first.rpartition(":")[2]), number(last)
    if low is not None and high is not None:
        return "invalid port range" if low > high and 1 <= high <= 65_535 else "invalid port"
    return parse_url(text).error or "invalid host"


def _of_word(stated: Stated, word: str) -> str | None:
    name, equals, value = word.partition("=")
    protocol, target = stated.protocol, stated.reading.target
    if not equals:
        return None if _is_known(word, protocol, target) else _unknown(word, protocol, target)
    if word.startswith("ipv6only=o"):
        return None if value in ("on", "off") else f'invalid ipv6only flags "{value}"'
    if name == "so_keepalive":
        return None if value in ("on", "off") or _is_tunable(value) else f'invalid so_keepalive value: "{value}"'
    if name == "accept_filter" and protocol != "mail":
        return None
    if name in _VALUES and (protocol != "mail" or name in _OF_MAIL):
        return None if _VALUES[name](value) is not None else f'invalid {name} "{word}"'
    return _unknown(word, protocol, target)


def _is_known(word: str, protocol: str, target: Version) -> bool:
    if word == "quic":
        return protocol == "http" and target >= _QUIC
    if word == "multipath":
        return target >= _MULTIPATH
    if word == "default_server" and protocol == "stream":
        return target >= _AS_HTTP
    return word in _PLAIN[protocol]


def _unknown(word: str, protocol: str, target: Version) -> str:
    is_old = protocol == "stream" and target < _AS_HTTP
    return f'the invalid "{word}" parameter' if is_old else f'invalid parameter "{word}"'


def _is_tunable(value: str) -> bool:
    """Return whether nginx accepts `idle:interval:count`, of which one must not be 0."""
    idle, _, rest = value.partition(":")
    interval, _, count = rest.partition(":")
    known = [0 if not text else reads(text) for text, reads in ((idle, seconds), (interval, seconds), (count, number))]
    return None not in known and any(known)
