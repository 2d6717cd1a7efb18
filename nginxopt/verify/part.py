"""A part of a site, as `--only` names it."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from nginxopt import lazy
from nginxopt.records import record
from nginxopt.request.urls import Url
from nginxopt.verify.candidate import Candidate
from nginxopt.verify.path_condition import Matches, PathCondition
from nginxopt.verify.patterns import starts_with
from nginxopt.verify.symbols import URI, Variable

_UNRESOLVED = lazy.pattern(rb"//|/\.\.?(?:/|\Z)|\0")


class ListenAddress(NamedTuple):
    """An address that nginx listens on. QUIC, which uses UDP, and TCP at the same port are two addresses."""

    family: str
    host: str
    port: int
    quic: bool

    def __str__(self) -> str:
        place = self.host if self.family == "unix" else f"{self.host}:{self.port}"
        return f"{place} (QUIC)" if self.quic else place


@record(eq=True)
class Part:
    """The requests to a host and port whose path starts with `path`, decoded."""

    host: str
    port: int
    path: bytes

    @classmethod
    def of(cls, url: Url) -> Part:
        """Return the part at a URL without arguments."""
        return cls(url.host.lower(), url.port, unquote_to_bytes(url.target))

    @property
    def region(self) -> PathCondition:
        """The requests."""
        if self.path == b"/":
            return PathCondition()
        return PathCondition().with_answer(Matches(Variable(URI), starts_with(self.path)), True)

    @property
    def is_resolved(self) -> bool:
        """Whether a path can start like this after nginx has resolved `//`, `.` and `..`."""
        return _UNRESOLVED.search(self.path) is None

    def is_at(self, address: ListenAddress) -> bool:
        """Return whether requests of the part may come to an address."""
        return address.family != "unix" and address.port == self.port

    def holds(self, request: Candidate) -> bool:
        """Return whether a request is one of them."""
        return request.path.startswith(self.path) and request.host in (None, self.host)
