"""Searches for a request that two configurations answer differently.

A witness of a difference is looked for among requests of its region, the plainest first; then among requests for all
locations, and among those that are likely to show something (`witnesses`). The models of both sides answer each
request, and the first that they answer differently is the witness.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice

from nginxopt import lazy
from nginxopt.request.client import RequestForm
from nginxopt.semantics.site.levels import ROWS
from nginxopt.semantics.values import size
from nginxopt.verify.canonical import clients
from nginxopt.verify.explore import Divergence
from nginxopt.verify.hosts import Hosts, ListenAddress, Part, addresses, unlike_hosts
from nginxopt.verify.hosts import alone as listening
from nginxopt.verify.path_condition import Candidate, candidates
from nginxopt.verify.premises import HOST_HEADER, Premises
from nginxopt.verify.side import VerifiedSide, unlike_settings
from nginxopt.verify.unread import Unread
from nginxopt.verify.verdict import RequestWitness
from nginxopt.verify.witnesses import HEAD_LIMITS, Asking, guarded, guards, of_locations, probes, request_of, showing

_HEADER = lazy.pattern(r"\$\{?http_(\w+)", re.ASCII)
"""The variable of a header of a request."""

_PLAIN = lazy.pattern(r"/[\w/.~-]*", re.ASCII)
"""A path that needs no escapes in `X-Accel-Redirect`."""

_ELSEWHERE = "http://192.0.2.1:81/x"

_BODY = 1 << 20
"""The default of `client_max_body_size`, in bytes."""
_MOST_BODY = 64 << 20
"""The largest limit of bodies that is tried, in bytes."""

_ACCESS = ("allow", "deny")
_OTHER_CLIENT = "127.0.0.2"
_MOST_CLIENTS = 20  # addresses from which a request is tried

MOST_GUARDED = 5
"""The number of differences of two servers, and of requests for each, that are tried with guards."""

_MOST_PLACES = 50
"""The number of requests for locations of two servers that are tried."""


class WitnessSearch:
    """Asks the models of both sides for requests. `only` limits them to a part of the site; `are_whole`: whether each
    side is a main configuration.

    Attributes:
        probed: The number of requests that were tried as they are likely to show something.
    """

    def __init__(
        self,
        sides: tuple[VerifiedSide, VerifiedSide],
        asking: Asking,
        premises: Premises,
        only: Part | None,
        are_whole: Sequence[bool],
    ) -> None:
        self._sides = self._old, self._new = sides
        self._asking = asking
        self._premises = premises
        self._only = only
        self._are_whole = are_whole
        self._addresses = addresses(self._old), addresses(self._new)
        self._probed: set[ListenAddress] = set()
        self.probed = 0

    @property
    def tried(self) -> int:
        """The number of requests that were tried."""
        return self._asking.tried

    def alone(self) -> RequestWitness | None:
        """Return a request that only one side answers, as the other one does not listen at its address."""
        for address, number in listening(self._old, self._new, self._only):
            side, socket = self._sides[number], self._addresses[number][address]
            names = (name["text"] for name in side.server(socket["default"])["names"])
            host = next((name for name in names if name[:1].isalnum() and not name.endswith("*")), "other.invalid")
            for probe in of_locations(self._old, self._new):
                request = replace(probe, host=host if self._only is None else self._only.host)
                if self._is_asked(request):
                    sent = request_of(request, address, is_tls=socket["tls"])
                    witness = self._asking.alone(sent, number, self._unread_listens(address, 1 - number))
                    if witness is not None:
                        return witness
        return None

    def _unread_listens(self, address: ListenAddress, number: int) -> tuple[str, ...]:
        """Return what must hold if a side does not listen at an address; nothing if all of it was read."""
        is_read = self._are_whole[number] and not self._sides[number].has_open
        return () if is_read else (f"nothing that was not read listens at {address}",)

    def of_difference(self, difference: Divergence, hosts: Hosts, *, is_guarded: bool) -> RequestWitness | None:
        """Return a request that shows a difference of two servers; `is_guarded`: also try what leads past a script."""
        witness = self._ask(self._requests(difference, hosts), hosts)
        if witness is None and is_guarded:
            return self._ask(self._guarded(candidates(difference.region, hosts.example)), hosts)
        return witness

    def of_places(self, hosts: Hosts, differences: Sequence[Divergence]) -> RequestWitness | None:
        """Return a witness among requests for locations.

        Any of them may reach the place where the sides differ: by an error page, or as an upstream sends it there
        (`X-Accel-Redirect`).
        """
        probes = (replace(each, host=hosts.example) for each in of_locations(self._old, self._new))
        requests = list(islice(filter(self._is_asked, probes), _MOST_PLACES))
        witness = self._ask(requests, hosts)
        if witness is not None or self._only is not None:
            return witness
        forms = (form for request in requests if (form := self._form(request, hosts)) is not None)
        passed = next(filter(self._asking.may_accelerate, forms), None)
        if passed is None:
            return None
        targets = dict.fromkeys(target for each in differences for target in self._targets(each, hosts))
        found = (self._asking.accelerated(passed, target) for target in islice(targets, _MOST_PLACES))
        return next((each for each in found if each is not None), None)

    def _targets(self, difference: Divergence, hosts: Hosts) -> Iterator[str]:
        """Yield values of `X-Accel-Redirect` that may lead to a difference: its named location, or paths."""
        level: int | None = difference.old.state.level
        while level is not None:
            form = self._old.form["levels"][level]
            if form["kind"] == "location" and form["args"][0].startswith("@"):
                yield form["args"][0]
                return
            level = form["parent"]
        for request in islice(candidates(difference.region, hosts.example), MOST_GUARDED):
            path = request.path.decode("latin-1")
            if _PLAIN.fullmatch(path):
                yield path
                yield f"{path}{_ELSEWHERE}"  # for a location whose name ends with a URL to pass requests on to

    def of_captures(self, hosts: Hosts) -> RequestWitness | None:
        """Return a request that is answered differently because its host sets different captures on the two sides."""
        patterns = [pattern for pattern in hosts.patterns if pattern is not None]
        probes = (
            replace(probe, host=host) for host in unlike_hosts(patterns) for probe in of_locations(self._old, self._new)
        )
        return self._ask(probes, hosts)

    def of_servers(self, hosts: Hosts) -> RequestWitness | None:
        """Return a request that two servers answer differently, out of those that are likely to show a difference."""
        is_first = hosts.address not in self._probed  # a probe with a host of its own is one request for all servers
        self._probed.add(hosts.address)
        asked = (probe for probe in self._probes if is_first or probe.host is None)
        probes = [probe if probe.host is not None else replace(probe, host=hosts.example) for probe in asked]
        self.probed += len(probes)
        return self._ask(probes, hosts) or self._ask(self._guarded(probes), hosts) or self._probe_early(hosts)

    def _probe_early(self, hosts: Hosts) -> RequestWitness | None:
        """Return a request that shows how two servers differ before they choose a location."""
        levels = self._old.server(hosts.old)["level"], self._new.server(hosts.new)["level"]
        unlike = unlike_settings(self._old, levels[0], self._new, levels[1])
        if not unlike:
            return None
        limits = self._limits(unlike)
        probes = (replace(each, host=hosts.example) for each in self._early)
        return self._ask((shown for each in probes for shown in showing(each, unlike, limits)), hosts)

    @cached_property
    def _early(self) -> tuple[Candidate, ...]:
        """Requests for some locations."""
        return tuple(islice(filter(self._is_asked, of_locations(self._old, self._new)), MOST_GUARDED))

    def _limits(self, names: Collection[str]) -> list[int]:
        """Return the limits of the heads of requests that settings with some names state, the smallest first."""
        limiting = HEAD_LIMITS.intersection(names)
        levels = (level for side in self._sides for level in side.site.levels) if limiting else ()
        stated = (each for level in levels for name in limiting & level.names for each in level.own(name))
        return sorted({limit for each in stated for word in each.args if (limit := size(word))})[:MOST_GUARDED]

    @cached_property
    def _probes(self) -> list[Candidate]:
        return list(filter(self._is_asked, probes(self._old, self._new)))

    def _requests(self, difference: Divergence, hosts: Hosts) -> Iterator[Candidate]:
        """Yield requests that may show a difference, with bodies if it is about their sizes, from other addresses if
        it is about access."""
        levels = difference.old.state.level, difference.new.state.level
        yield from candidates(difference.region, hosts.example)
        if headers := self._headers(levels):
            for request in islice(candidates(difference.region, hosts.example), 1):
                known = {name.lower() for name, _ in request.headers}
                more = tuple(each for each in headers if each[0].lower() not in known)
                yield replace(request, headers=(*request.headers, *more))
        unlike = unlike_settings(self._old, levels[0], self._new, levels[1])
        for request in islice(candidates(difference.region, hosts.example), 1):
            yield from showing(request, unlike, self._limits(unlike))
            if ROWS in unlike:
                ends = (b"x.%s" % each.encode("latin-1") for each in self._extensions(levels))
                yield from (replace(request, path=request.path + end) for end in ends)
        if any(name in _ACCESS for name in unlike):
            for request in islice(candidates(difference.region, hosts.example), 1):
                yield from (replace(request, client=client) for client in self._clients)
        if self._sizes and "client_max_body_size" in {*unlike, *difference.checked}:
            for request in islice(candidates(difference.region, hosts.example), 1):
                yield from (replace(request, size=size) for size in self._sizes)

    def _extensions(self, levels: tuple[int, int]) -> list[str]:
        """Return file extensions to which two blocks may give different types."""
        mine, theirs = (
            {part for part in side.settings(level).get(ROWS, ()) if not isinstance(part, Unread)}
            for side, level in zip(self._sides, levels, strict=True)
        )
        return sorted({word for row in mine ^ theirs for word in row[1:] if word.isalnum()})[:MOST_GUARDED]

    def _guarded(self, requests: Iterable[Candidate]) -> Iterator[Candidate]:
        """Yield some requests with what may lead them past a script that both sides have (`witnesses.guards`)."""
        for request in islice(requests, MOST_GUARDED):
            yield from guarded(request, self._guards)

    @cached_property
    def _guards(self) -> tuple[Candidate, ...]:
        return guards(self._old, self._new)

    def _headers(self, levels: tuple[int, int]) -> tuple[tuple[bytes, bytes], ...]:
        """Return the headers that settings read in which two blocks differ, as `$http_x` or as a parameter `HTTP_X`,
        with a value for each."""
        words = (
            word
            for name in unlike_settings(self._old, levels[0], self._new, levels[1])
            for side, level in zip(self._sides, levels, strict=True)
            for directive in side.site.levels[level].setting(name).directives
            for word in directive.args
        )
        texts = (f"${word}" if word.startswith("HTTP_") else word for word in words)
        names = dict.fromkeys(name for text in texts for name in _HEADER.findall(text.lower()) if name != "host")
        return tuple((name.replace("_", "-").encode(), b"x") for name in names)

    @cached_property
    def _clients(self) -> tuple[str, ...]:
        """The addresses to send requests from: a local one that access rules rarely name, and those that they name."""
        words = (
            word
            for side in self._sides
            for level in side.site.levels
            for name in _ACCESS
            for directive in level.own(name)
            for word in map(str, directive.args)
        )
        return tuple(dict.fromkeys([_OTHER_CLIENT, *clients(words)]))[:_MOST_CLIENTS]

    @cached_property
    def _sizes(self) -> tuple[int, ...]:
        """The sizes of bodies that exceed a limit by one byte."""
        words = {
            directive.args[0]
            for side in self._sides
            for level in side.site.levels
            for directive in level.own("client_max_body_size")
        }
        limits = {limit for word in words if (limit := size(word, giga=True))} | {_BODY}
        return tuple(limit + 1 for limit in sorted(limits) if limit <= _MOST_BODY)

    def _ask(self, requests: Iterable[Candidate], hosts: Hosts) -> RequestWitness | None:
        """Return the first of some requests to the address of hosts that both sides answer differently."""
        for request in filter(self._is_asked, requests):
            form = self._form(request, hosts)
            witness = None if form is None else self._asking.witness(form)
            if witness is not None:
                return witness
        return None

    def _form(self, request: Candidate, hosts: Hosts) -> RequestForm | None:
        """Return a candidate as a request to the address of hosts; None if it needs a host there and has none."""
        if request.host is None and (hosts.address.quic or self._premises.holds(HOST_HEADER)):
            return None  # nginx refuses a request of HTTP/3 without a host
        takes_tls = self._addresses[0][hosts.address]["tls"]
        is_tls = hosts.address.quic or (takes_tls and request.is_tls is not False)
        return request_of(request, hosts.address, is_tls=is_tls)

    def _is_asked(self, request: Candidate) -> bool:
        return self._only is None or self._only.holds(request)
