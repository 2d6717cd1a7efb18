r"""The formats of access logs: `combined`, and each `log_format` of a configuration.

nginx writes the values between fixed texts and escapes what could be mistaken for these (`ngx_http_log_escape`):
`escape=default` writes `"`, `\` and what is not printable ASCII as `\xXX` and a value that is not known as `-`,
`escape=json` writes the escapes of a JSON string and nothing for such a value, `escape=none` writes values as they are.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal

from nginxopt import lazy
from nginxopt.config import Config, Directive, encode

Escape = Literal["default", "json", "none"]

COMBINED = (
    '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"'
)
"""The format that nginx has by itself (`ngx_http_combined_fmt`)."""

KNOWN = {
    "main": f'{COMBINED} "$http_x_forwarded_for"',
    "vhost_combined": f"$host:$server_port {COMBINED}",
    "vhost": f"$host {COMBINED}",
    "nginx-proxy": f'$host {COMBINED} "$upstream_addr"',
    "upstreaminfo": f"{COMBINED} $request_length $request_time [$proxy_upstream_name] "
    "[$proxy_alternative_upstream_name] $upstream_addr $upstream_response_length $upstream_response_time "
    "$upstream_status $req_id",
    "proxy": "[$time_local] $upstream_cache_status $upstream_status $status - $request_method $scheme $host "
    '"$request_uri" [Client $remote_addr] [Length $body_bytes_sent] [Gzip $gzip_ratio] [Sent-to $server] '
    '"$http_user_agent" "$http_referer"',
}
"""Formats that packages and images bring, for logs whose `log_format` the configuration lacks: those of nginx.org's
packages, of Debian's tools, of nginx-proxy, of ingress-nginx, and of Nginx Proxy Manager."""

_TARGETS, _ARGUMENTS = ("request_uri", "uri", "document_uri"), ("args", "query_string")

_ESCAPES: dict[str, Escape] = {"default": "default", "json": "json", "none": "none"}
_VARIABLE = lazy.pattern(r"\$(?:\{(\w+)\}|(\w+))", re.ASCII)
_BEFORE_PATH = ("scheme", "request_method", "host", "http_host", "server_name")
"""Variables that need no text behind them if a path follows: they have no slash."""


@dataclass(frozen=True)
class LogFormat:
    """A format of lines. `directive` is None for `combined` of nginx."""

    name: str
    text: str
    escape: Escape = "default"
    directive: Directive | None = None

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """The names of its variables, without `$`."""
        return tuple(match[1] or match[2] for match in _VARIABLE.finditer(self.text))

    @cached_property
    def texts(self) -> list[bytes]:
        """The texts between its variables: the one in front of the first, then those behind each."""
        return [encode(text) for text in _VARIABLE.split(self.text)[::3]]

    def undivided(self, captured: Iterable[str]) -> tuple[str, str] | None:
        """Return two adjacent variables, one of them captured, if nothing shows where the first one ends."""
        wanted, names = set(captured), self.variables
        literals = _VARIABLE.split(self.text)[::3]
        for pair, between in zip(pairwise(names), literals[1:], strict=False):
            is_divided = between or (pair[0] in _BEFORE_PATH and pair[1] in ("request_uri", "uri"))
            if not is_divided and wanted.intersection(pair):
                return pair
        return None

    @property
    def reads_requests(self) -> bool:
        """Whether its lines have the target of the request."""
        return "request" in self.variables or bool(self.of_target)

    @cached_property
    def of_target(self) -> tuple[str, ...]:
        """The variables that have the target without `$request`: `$request_uri`, else `$uri` and `$args`."""
        names = [name for name in _TARGETS if name in self.variables]
        args = [name for name in _ARGUMENTS if name in self.variables]
        return () if not names else (names[0],) if names[0] == "request_uri" else (names[0], *args[:1])

    def unescape(self, value: bytes) -> bytes:
        """Return a value as it was before nginx escaped it."""
        if self.escape == "none" or b"\\" not in value:
            return value
        return _ESCAPED.sub(_unescaped, value) if self.escape == "json" else _HEX.sub(_of_hex, value)


def log_formats(config: Config) -> list[LogFormat]:
    """Return the formats of a configuration, and `combined` unless it has one of its own."""
    formats = [_read(directive) for directive, _ in config.walk() if directive.name == "log_format"]
    own = {each.name: each for each in formats if each is not None}
    return [*own.values(), *([] if "combined" in own else [LogFormat("combined", COMBINED)])]


def known_formats(names: Collection[str]) -> list[LogFormat]:
    """Return those formats of `KNOWN` whose names are not among `names`."""
    return [LogFormat(name, text) for name, text in KNOWN.items() if name not in names]


def stated_format(text: str) -> LogFormat:
    """Return the format of a text, behind `escape=json ` or the like if it has another escape than `default`."""
    escape, _, rest = text.partition(" ")
    stated = _ESCAPES.get(escape.removeprefix("escape=")) if escape.startswith("escape=") else None
    return LogFormat("stated", text) if stated is None else LogFormat("stated", rest, stated)


def _read(directive: Directive) -> LogFormat | None:
    """Return the format of a directive; None for one that nginx refuses."""
    name, *texts = map(str, directive.args) if directive.args else ("",)
    escape: Escape = "default"
    if texts and texts[0].startswith("escape="):
        stated = _ESCAPES.get(texts.pop(0).removeprefix("escape="))
        if stated is None:
            return None
        escape = stated
    return LogFormat(name, "".join(texts).rstrip("\n"), escape, directive) if texts else None


_HEX = lazy.pattern(rb"\\x([0-9A-Fa-f]{2})")
_ESCAPED = lazy.pattern(rb'\\(?:u00([0-9A-Fa-f]{2})|(["\\nrtbf/]))')
_CONTROLS = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f"}


def _of_hex(match: re.Match[bytes]) -> bytes:
    return bytes.fromhex(match[1].decode())


def _unescaped(match: re.Match[bytes]) -> bytes:
    return _of_hex(match) if match[1] else _CONTROLS.get(match[2], match[2])
