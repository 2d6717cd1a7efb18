"""Reads access logs: which requests nginx got, as far as the log format records them.

What a format does not record is never invented. It is taken from the site: the host of a site with a single one, and
https if the host is served over TLS. Headers and the address of the client are read only if the configuration depends
on them, so that more requests are equal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import BinaryIO

from nginxopt import lazy
from nginxopt._native import LineFormat, LogRequests
from nginxopt.config import Config
from nginxopt.errors import UsageError
from nginxopt.request.client import PORTS, ClientGate, Header, Request, Url
from nginxopt.request.log_formats import LogFormat
from nginxopt.request.referers import VARIABLE
from nginxopt.request.traffic import TargetGroup, Traffic

HOSTS = ("http_host", "host", "server_name")
"""The variables that contain the host, the most exact first."""
_OF_SITE = (*HOSTS, "scheme", "https", "server_port")
_OF_CLIENT = (b"remote_addr", b"allow", b"deny", b"geo", b"real_ip")
"""The words in a configuration whose effect depends on the address of the client."""
_OF_HEADERS = {
    "http_user_agent": (b"browser", b"user-agent"),
    "http_referer": (b"referer",),
    "http_cookie": (b"cookie",),
    "http_x_forwarded_for": (b"real_ip", b"geo", b"x-forwarded-for"),
    "http_authorization": (b"auth_basic", b"remote_user"),
}
"""The words in a configuration, besides the variable itself, whose effect depends on a header."""

_HEADER, _STATUS = "http_", "status"
_PIECE = 1 << 24
"""Bytes that are read at once."""
_NOT_KNOWN = b"-"


@dataclass(frozen=True)
class AccessLog:
    """How to read the lines of a log.

    Attributes:
        base: The site of requests without a host; its scheme is that of all.
        is_wrapped: Whether lines are inside of JSON, as Docker and journald keep them.
    """

    format: LogFormat
    config: Config
    gate: ClientGate
    base: Url | None = None
    is_wrapped: bool = False

    def read(self, file: BinaryIO, after_piece: Callable[[], object] = lambda: None) -> Traffic:
        """Return the requests of a log. Raises `UsageError` if the host of its requests is not known."""
        traffic = Traffic(f"access log in the format {self.format.name}", [], is_log=True)
        requests = LogRequests(self.lines([_STATUS]))
        while piece := file.read(_PIECE):
            requests.read(piece)
            after_piece()
        requests.read(b"")
        traffic.lines, traffic.broken, traffic.malformed = requests.lines
        traffic.broken_lines = requests.broken_lines
        for fields, targets in requests.groups():
            try:
                traffic.groups.append(self._group(fields, targets))
            except ValueError:
                traffic.malformed += sum(targets.values())
        traffic.notes += self._notes()
        return traffic

    def lines(self, more: Sequence[str] = ()) -> LineFormat:
        """Return how the lines are read: the fields of groups are the variables that decide, and `more`.

        Raises `UsageError` if nothing shows where a value ends.
        """
        if self._undivided:
            one, next_one = self._undivided
            raise UsageError(f"log_format {self.format.name} has nothing between ${one} and ${next_one}")
        first, *texts = self.format.texts
        names, group = self.format.variables, [*self._deciding, *more]
        return LineFormat(first, names, texts, self.format.escape, group, wrapped=self.is_wrapped)

    def fits(self, text: bytes) -> bool:
        """Return whether at least a third of the lines of a text have this format; a file may have several formats."""
        if not self.format.reads_requests or self._undivided is not None:
            return False
        requests = LogRequests(self.lines())
        requests.read(text)
        requests.read(b"")
        lines, broken, _ = requests.lines
        return 3 * (lines - broken) >= lines

    @cached_property
    def captured(self) -> tuple[str, ...]:
        """The variables that are read."""
        names = self.format.variables
        request = ("request",) if "request" in names else ("request_method", "server_protocol", *self.format.of_target)
        needed = (*request, *_OF_SITE, *filter(self._is_relevant, names))
        return tuple(dict.fromkeys(name for name in names if name in needed))

    @property
    def _deciding(self) -> list[str]:
        """The variables, besides those of the request, on which the outcome of a request may depend."""
        of_request = ("request",) if "request" in self.captured else self.format.of_target
        return [name for name in self.captured if name not in of_request]

    def values(self, fields: Sequence[bytes], more: Sequence[str] = ()) -> dict[str, bytes]:
        """Return the values of the fields of a group by their names, where `lines` got `more`."""
        names = [*(("method", "version") if "request" in self.captured else ()), *self._deciding, *more]
        return {name: self.format.unescape(field) for name, field in zip(names, fields, strict=False)}

    @property
    def _undivided(self) -> tuple[str, str] | None:
        return self.format.undivided(self.captured)

    def _is_relevant(self, name: str) -> bool:
        """Return whether a response may depend on a header or the address of the client."""
        if name == "remote_addr":
            return any(word in self._text for word in _OF_CLIENT)
        words = (name.encode(), *_OF_HEADERS.get(name, ()))
        if name == VARIABLE:
            return words[0] in self._text
        return name.startswith(_HEADER) and name != "http_host" and any(word in self._text for word in words)

    @cached_property
    def _text(self) -> bytes:
        """The text of the configuration without its log formats, in lower case."""
        text = b"\n".join(file.source.data for file in self.config.files).lower()
        return _LOG_FORMATS.sub(b"", text)

    def _group(self, fields: Sequence[bytes], targets: dict[bytes, int]) -> TargetGroup:
        """Return the requests of a group. Raises `ValueError` for an invalid scheme or version."""
        values = self.values(fields, [_STATUS])
        status = _status(values.pop(_STATUS))
        return TargetGroup(self.request(values), targets, status)

    @property
    def _has_decoded(self) -> bool:
        """Whether the lines have the decoded `$uri` instead of what the client sent."""
        return "request" not in self.captured and "request_uri" not in self.captured

    def request(self, fields: Mapping[str, bytes]) -> Request:
        """Return a request with the values of a line, without its target."""
        known = {name: value for name, value in fields.items() if value not in (b"", _NOT_KNOWN)}
        url = self._url(known)
        host = known.get("http_host") if "http_host" in fields else url.authority.encode("latin-1")
        headers: list[Header] = [] if host is None else [(b"Host", host)]
        for name, value in known.items():
            if name.startswith(_HEADER) and name != "http_host":
                headers.append((name.removeprefix(_HEADER).replace("_", "-").title().encode(), value))
        method = known.get("method") or known.get("request_method") or b"GET"
        version, client = _version(known), known.get("remote_addr")
        is_new = version is not None and version[0] > 1
        old = (1, 1) if is_new or version is None else version
        return Request(url, tuple(headers), method, old, version if is_new else None, client)

    def _url(self, known: Mapping[str, bytes]) -> Url:
        """Return the URL of a line without its target."""
        host = next((known[name].decode("latin-1") for name in HOSTS if name in known), None)
        if host is None:
            return self._base
        name, port = _split(host)
        likely = replace(self.base, host=name) if self.base else self.gate.likely(name)
        scheme = _scheme(known) or (likely.scheme if "server_port" not in known else self._scheme_at(known))
        stated = known.get("server_port") or (port if "http_host" in known else None)
        likely_port = likely.port if scheme == likely.scheme else PORTS[scheme]
        return Url(scheme, name, int(stated) if stated else likely_port, b"/")

    def _scheme_at(self, known: Mapping[str, bytes]) -> str:
        return "https" if self.gate.is_tls(int(known["server_port"])) else "http"

    @cached_property
    def _base(self) -> Url:
        """The site of requests without a host."""
        base = self.base or self.gate.base
        if base is None:
            raise UsageError(
                f"the format {self.format.name} has no host, and the configuration has several",
                hint="name the site with --base URL, or log $host",
            )
        return base

    def _notes(self) -> Iterator[str]:
        names = self.captured
        if self.base is None and not set(names).intersection(HOSTS):
            yield f"the log has no host: its requests are taken as those to {self._base.site} (--base)"
        elif self.base is None and not {"scheme", "https", "server_port"}.intersection(names):
            yield "the log has no scheme: https is assumed for hosts that are served over TLS (--base)"
        if self._has_decoded:
            yield "the log has $uri, not the request: it is taken as sent, though rewrites may have changed it"
            if len(self.format.of_target) < 2:
                yield "the log has no arguments: none are taken"
        if not {"request", "request_method"}.intersection(names):
            yield "the log has no method: GET is assumed"


_LOG_FORMATS = lazy.pattern(rb"\blog_format\s[^;]*;")


def _status(text: bytes) -> int | None:
    """Return the status of a line; None for anything else, such as the `000` of a client that disconnected."""
    return int(text) if re.fullmatch(rb"[1-9]\d\d", text) else None


def _split(host: str) -> tuple[str, bytes | None]:
    """Return host and port of a header `Host`."""
    name, colon, port = host.rpartition(":")
    return (name, port.encode()) if colon and port.isascii() and port.isdigit() and 0 < len(port) < 6 else (host, None)


def _scheme(known: Mapping[str, bytes]) -> str | None:
    """Return the scheme that a line states. Raises `ValueError` for another word than `http` and `https`."""
    if "scheme" in known:
        scheme = known["scheme"].decode()
        if scheme not in PORTS:
            raise ValueError(scheme)
        return scheme
    return "https" if known.get("https") == b"on" else None


def _version(known: Mapping[str, bytes]) -> tuple[int, int] | None:
    """Return the protocol version of a request; None if the line does not have it."""
    stated = known.get("version") or known.get("server_protocol", b"").removeprefix(b"HTTP/")
    if not stated:
        return (0, 9) if "method" in known else None
    major, _, minor = stated.partition(b".")
    return int(major), int(minor)
