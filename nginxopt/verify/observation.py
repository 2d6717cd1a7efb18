"""What a client and upstreams see of an outcome."""

from __future__ import annotations

import re
from collections.abc import Sequence
from posixpath import normpath

from nginxopt.records import record
from nginxopt.request.outcomes import OutcomeForm, PassedForm
from nginxopt.semantics.site import LoweredSite
from nginxopt.semantics.site.form import SiteForm

_RESPONSES = ("return", "redirect", "error")
_SET_HEADER = {"proxy": "proxy_set_header", "grpc": "grpc_set_header"}
"""The directives that set the header Host, which has the name of the upstream otherwise."""
_PORTS = {"http": ":80", "https": ":443", "grpc": ":80", "grpcs": ":443"}


@record(eq=True)
class ObservedOutcome:
    """What a client and upstreams see of an outcome.

    Attributes:
        response: The response without what nobody sees: whether a `return` or an error produced it, and how the path of
            a file is written.
        host: The header Host of a request to an upstream; None if it is not known, or none is sent.
        server: The upstream or the address that the request is passed on to.
        servers: The addresses behind it.
    """

    response: tuple[object, ...]
    host: str | None = None
    server: str = ""
    servers: frozenset[str] = frozenset()

    @classmethod
    def of(cls, outcome: OutcomeForm, site: LoweredSite) -> ObservedOutcome:
        """Return what is seen of an outcome of a site."""
        headers = sorted((header["name"].lower(), header["value"]) for header in outcome["headers"])
        file = _file(outcome["file"] or "") if outcome["kind"] == "static" else None
        kind = "response" if outcome["kind"] in _RESPONSES else outcome["kind"]
        passed = outcome["upstream"]
        response = (kind, outcome["status"], outcome["location"], outcome["body"] or None, file, headers)
        if passed is None:
            return cls(response)
        sent = passed["scheme"], passed["method"], passed["target"]
        return cls((*response, *sent), _host(outcome, passed, site), passed["server"], _servers(passed, site.site))

    def differs(self, other: ObservedOutcome) -> bool:
        """Return whether another outcome certainly looks different.

        The names of upstreams do not count if both lead to one server, as no client sees them.
        """
        hosts = {self.host, other.host}
        is_for_another = len(hosts) > 1 and None not in hosts
        return self.response != other.response or is_for_another or self.is_elsewhere(other)

    def certainly_differs(self, other: ObservedOutcome) -> bool:
        """Return the same for outcomes whose headers or body may be unknown, which do not count then."""
        kind, status, *_, file, _ = self.response[:6]
        their_kind, their_status, *_, their_file, _ = other.response[:6]
        if kind != their_kind or (None not in (status, their_status) and status != their_status):
            return True
        sent, their_sent = self.response[6:], other.response[6:]
        hosts = {self.host, other.host}
        return (
            (file != their_file and None not in (file, their_file))
            or sent != their_sent
            or (len(hosts) > 1 and None not in hosts)
            or self.is_elsewhere(other)
        )

    def is_elsewhere(self, other: ObservedOutcome) -> bool:
        """Return whether another outcome leads to other servers."""
        return self.server != other.server and self.servers.isdisjoint(other.servers)


def _file(path: str) -> str:
    """Return a path as the operating system resolves it, without `//` and `..`; links are left as they are."""
    slash = "/" if path.endswith("/") else ""
    return normpath(path).replace("//", "/") + slash


def _servers(passed: PassedForm, site: SiteForm) -> frozenset[str]:
    """Return the addresses behind the server of a pass, which is an upstream or an address itself."""
    named = [upstream for upstream in site["upstreams"] if upstream["name"].lower() == passed["server"].lower()]
    servers = named[0]["servers"] if named else [passed["server"]]
    return frozenset(_address(server, passed["scheme"]) for server in servers)


def _address(server: str, scheme: str) -> str:
    """Return an address in the form in which all addresses of the same server are written."""
    host = server.lower().removesuffix(_PORTS.get(scheme, ""))
    return re.sub(r"^localhost(?=:|$)", "127.0.0.1", host)


def _host(outcome: OutcomeForm, passed: PassedForm, site: LoweredSite) -> str | None:
    """Return the header Host of a request to an upstream; None if it is not known."""
    setting = _SET_HEADER.get(outcome["kind"])
    if setting is None:
        return None
    level = site.levels[outcome["level"] or 0]
    stated = level.setting(setting)
    return _stated([directive.args for directive in stated.directives], passed) if stated.known else None


def _stated(headers: Sequence[Sequence[str]], passed: PassedForm) -> str | None:
    """Return the header Host among headers that replace the default ones as far as they have their names."""
    values = [value for name, value in headers if name.lower() == "host"]
    if not values:
        return name_of(passed)
    if len(values) > 1 or not values[0]:
        return None
    if values[0] in ("$proxy_host", "${proxy_host}"):
        return name_of(passed)
    return None if "$" in values[0] else values[0].lower()


def name_of(passed: PassedForm) -> str:
    """Return the server of a pass as `$proxy_host` has it, in small letters."""
    return passed["server"].lower().removesuffix(_PORTS.get(passed["scheme"], ""))
