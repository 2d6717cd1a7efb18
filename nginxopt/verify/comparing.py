"""Decides whether two configurations answer every request alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from itertools import islice

from nginxopt.request.model import SiteModel
from nginxopt.semantics.values import size
from nginxopt.verify.asking import Asking, request_of
from nginxopt.verify.candidate import Candidate, candidates
from nginxopt.verify.emptied import emptied, unread_paths
from nginxopt.verify.explore import Divergence
from nginxopt.verify.given import given_unread, is_whole
from nginxopt.verify.hosts import Hosts, addresses, alone, pairs, taken, unlike, unlike_hosts
from nginxopt.verify.influences import counting
from nginxopt.verify.names import Names, names
from nginxopt.verify.outside import unlike_outside
from nginxopt.verify.part import ListenAddress, Part
from nginxopt.verify.path_condition import PathCondition
from nginxopt.verify.probes import of_locations, probes
from nginxopt.verify.renaming import renamed
from nginxopt.verify.servers import ServerComparison
from nginxopt.verify.side import VerifiedSide, unlike_settings
from nginxopt.verify.silent import Silent
from nginxopt.verify.symbols import CUT
from nginxopt.verify.verdict import Doubt, RequestWitness, Verification

MOST_DOUBTS = 20
"""The maximum number of doubts that are reported."""

_HTTP = 0  # the number of the http block
_BODY = 1 << 20
"""The largest body without a `client_max_body_size`."""
_MOST_BODY = 64 << 20
"""The largest body that is tried."""

_MOST_TRIED = 200  # differences between two servers for which requests are tried


def verify(old: SiteModel, new: SiteModel, *, only: Part | None = None) -> Verification:
    """Compare two configurations. The result has a witness if they differ, and doubts if that could not be decided.

    `only` limits the comparison to the requests of a part of the site. If nginx leads such a request to the rest of the
    site, the rest is assumed to answer alike.
    """
    result = _Verifier(old, new, only).result()
    if result.verdict == "unknown" and (models := emptied(old, new)) is not None:
        found = _Verifier(*models, only).result()
        if found.witness is not None:
            files = dict.fromkeys(path for model in (old, new) for path in unread_paths(model).values())
            premises = (*found.witness.premises, *(f"{path} is empty" for path in files))
            return replace(found, witness=replace(found.witness, premises=premises), doubts=result.doubts)
    return result


class _Verifier:
    def __init__(self, old: SiteModel, new: SiteModel, only: Part | None = None) -> None:
        self._only = only
        self._configs = (old.config, new.config)
        counted = counting((old.site, new.site))
        self._silent = Silent((old.site, new.site))
        self._old = VerifiedSide(old.site, old.site.site, counted, self._silent)
        form, self._renamed = renamed(old.site.site, new.site.site)
        self._new = VerifiedSide(new.site, form, counted, self._silent)
        self._names = names(
            old.site,
            new.site,
            self._renamed,
            is_read=lambda: all(map(is_whole, self._configs)) and not any(side.has_open for side in self._sides),
            is_run=lambda: any(side.runs_anything for side in self._sides),
        )
        if self._names != Names():
            upstreams = self._names.upstreams
            before, after = frozenset(upstreams.values()), frozenset(upstreams)
            self._old = VerifiedSide(old.site, old.site.site, counted, self._silent, shown=before)
            self._new = VerifiedSide(new.site, form, counted, self._silent, self._names, shown=after)
        self._comparison = ServerComparison(self._old, self._new, PathCondition() if only is None else only.region)
        self._asking = Asking(old, new)
        self._probes = list(probes(self._old, self._new))
        self._doubts: dict[tuple[str, int | None, int | None], Doubt] = {}

    def result(self) -> Verification:
        compared: set[tuple[int, int]] = set()
        self._compare_sites()
        self._compare_addresses()
        witness = self._ask_alone()
        for hosts in pairs(self._old, self._new, self._only):
            compared.add((hosts.old, hosts.new))
            witness = witness or self._probe_chains(hosts) or self._compare(hosts) or self._probe(hosts)
        compared.update(self._compare_others(compared))
        if self._only is not None and not compared:
            self._doubt(f"no address of both configurations has the port {self._only.port}", None, None)
        doubts = tuple(self._doubts.values())
        given = tuple(dict.fromkeys(self._given()))
        return Verification(witness, doubts[:MOST_DOUBTS], len(compared), self._asking.tried, given)

    def _given(self) -> Iterator[str]:
        """Yield the assumptions."""
        yield "files, name resolution and upstreams are the same before and after"
        if self._only is not None:
            yield "the rest of the site answers alike, where nginx itself leads requests of this part there"
        if self._comparison.is_uneven:
            yield "no request comes to nginx's limit of ten internal redirects: one side makes fewer of them"
        if any(side.has_state for side in self._sides):
            yield "caches and the counters of limits hold the same before and after"
        if self._old.arranged != self._new.arranged:
            yield "the order of header fields of different names does not count (field-order)"
        if self._names.zones or self._names.caches:
            zones = ", ".join(sorted({**self._names.zones, **self._names.caches}))
            yield f"caches and the counters of limits may start empty under another name: {zones} (state-restart)"
        if self._comparison.keeps_paths and any(side.passes for side in self._sides):
            yield "X-Accel-Redirect leads only to paths that begin with a slash, and to named locations"
        if self._silent.used:
            names = sorted({name for _, name in self._silent.used})
            stated = ", ".join(names)
            yield f"nginx accepts both configurations, so that no file states these twice: {stated} (both-start)"
        yield from self._given_uncounted()
        yield from given_unread(self._configs, self._sides, self._renamed)
        yield from (premise.text for side in self._sides for premise in side.site.premises)

    def _given_uncounted(self) -> Iterator[str]:
        """Yield what differs and is not compared."""
        counts = self._old.uncounted(), self._new.uncounted()
        names = sorted({name for name, *_ in (counts[0] - counts[1]) + (counts[1] - counts[0])})
        if names:
            yield f"these differ, and do not count as an answer: {', '.join(names)}"
            if self._old.unread or self._new.unread:
                yield f"what was not read shows none of them: {', '.join(names)}"
        outside = unlike_outside(*self._configs)
        if outside:
            yield f"these differ, and are not compared, as they stand outside of http: {', '.join(outside)}"

    def _ask_alone(self) -> RequestWitness | None:
        """Return a request that only one side answers, as the other does not listen where it goes."""
        for address, number in alone(self._old, self._new, self._only):
            side, socket = self._sides[number], addresses(self._sides[number])[address]
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
        """Return what has to be so for a side not to listen at an address."""
        is_read = is_whole(self._configs[number]) and not self._sides[number].has_open
        return () if is_read else (f"nothing that was not read listens at {address}",)

    def _compare_others(self, compared: set[tuple[int, int]]) -> list[tuple[int, int]]:
        """Compare the servers that were compared with none, and those whose listens may be in unread or unknown text,
        in their order."""
        known = {mine for mine, _ in compared}, {theirs for _, theirs in compared}
        old, new = (
            [number for number in side.open_servers() if number not in numbers]
            for side, numbers in zip(self._sides, known, strict=True)
        )
        if len(old) != len(new):
            self._doubt("a server is not compared: it may listen on what is missing or not understood", None, None)
        others = list(zip(old, new, strict=False))
        for mine, theirs in others:
            result = self._comparison.servers(mine, theirs)
            for difference in result.differences:
                self._doubt(self._reason(difference), difference.old.node, difference.new.node)
            hosts = [
                Hosts(mine, theirs, ListenAddress("", "", 0, quic=False), None, each)
                for each in self._patterns(mine, theirs)
            ]
            captures = (reason for each in hosts for reason in self._comparison.unlike_captures(each))
            for reason, before, after in (*result.reasons, *captures):
                self._doubt(reason, before, after)
        return others

    def _patterns(self, old: int, new: int) -> list[tuple[str | None, str | None]]:
        """Return the patterns by which one of two servers alone may be chosen."""
        mine, theirs = (
            {name["text"] for name in side.server(number)["names"] if name["text"].startswith("~")}
            for side, number in zip(self._sides, (old, new), strict=True)
        )
        return [*((each, None) for each in mine - theirs), *((None, each) for each in theirs - mine)]

    def _compare(self, hosts: Hosts) -> RequestWitness | None:
        """Return a request that two servers answer differently; add what is in doubt."""
        result = self._comparison.servers(hosts.old, hosts.new)
        for difference in islice(result.differences, _MOST_TRIED):
            witness = self._ask(self._requests(difference, hosts), hosts)
            if witness is not None:
                return witness
            self._doubt(self._reason(difference), difference.old.node, difference.new.node)
        captures = list(self._comparison.unlike_captures(hosts))
        if captures and (witness := self._probe_captures(hosts)) is not None:
            return witness
        for reason, mine, theirs in (*result.reasons, *captures):
            self._doubt(reason, mine, theirs)
        return None

    def _requests(self, difference: Divergence, hosts: Hosts) -> Iterator[Candidate]:
        """Yield requests that may show a difference, with bodies if it is about their sizes."""
        levels = difference.old.state.level, difference.new.state.level
        yield from candidates(difference.region, hosts.example)
        if self._sizes and "client_max_body_size" in unlike_settings(self._old, levels[0], self._new, levels[1]):
            for request in islice(candidates(difference.region, hosts.example), 1):
                yield from (replace(request, size=size) for size in self._sizes)

    @cached_property
    def _sizes(self) -> tuple[int, ...]:
        """The sizes of bodies that are just too large for one of the limits."""
        words = {
            directive.args[0]
            for side in self._sides
            for level in side.site.levels
            for directive in level.own("client_max_body_size")
        }
        limits = {limit for word in words if (limit := size(word, giga=True))} | {_BODY}
        return tuple(limit + 1 for limit in sorted(limits) if limit <= _MOST_BODY)

    def _probe_captures(self, hosts: Hosts) -> RequestWitness | None:
        """Return a request that is answered differently because its host sets different captures on the two sides."""
        patterns = [pattern for pattern in hosts.patterns if pattern is not None]
        probes = (
            replace(probe, host=host) for host in unlike_hosts(patterns) for probe in of_locations(self._old, self._new)
        )
        return self._ask(probes, hosts)

    def _probe(self, hosts: Hosts) -> RequestWitness | None:
        """Return a request that two servers answer differently, out of those that are likely to show a difference."""
        asked = filter(self._is_asked, self._probes)
        probes = (probe if probe.host is not None else replace(probe, host=hosts.example) for probe in asked)
        return self._ask(probes, hosts)

    def _probe_chains(self, hosts: Hosts) -> RequestWitness | None:
        """Return what `_probe` does, without a comparison, if long chains of maps differ: each of their maps divides
        the requests again, and all that it is compared with.
        """
        return self._probe(hosts) if self._comparison.has_long_chains else None

    def _ask(self, requests: Iterable[Candidate], hosts: Hosts) -> RequestWitness | None:
        """Return the first of some requests to the address of hosts that both sides answer differently."""
        is_tls = addresses(self._old)[hosts.address]["tls"]
        for request in filter(self._is_asked, requests):
            if request.host is None and hosts.address.quic:
                continue  # nginx refuses a request of HTTP/3 without a host
            over_tls = is_tls if request.is_tls is None else request.is_tls or hosts.address.quic
            witness = self._asking.witness(request_of(request, hosts.address, is_tls=over_tls))
            if witness is not None:
                return witness
        return None

    def _is_asked(self, request: Candidate) -> bool:
        return self._only is None or self._only.holds(request)

    def _compare_sites(self) -> None:
        """Add what is in doubt about all servers."""
        builds = self._old.form["build"], self._new.form["build"]
        if builds[0] != builds[1]:
            self._doubt("what differs between the versions of nginx is not compared", None, None)
        unread = [[(item["reason"], side.text(item["node"])) for item in side.form["opaque"]] for side in self._sides]
        names = [
            [[name["text"] for name in server["names"]] for server in side.form["servers"]] for side in self._sides
        ]
        if unread[0] != unread[1] or (unread[0] and names[0] != names[1]):
            self._doubt("something in http is not understood or missing, and may be servers", None, None)
        self._compare_places()
        is_part = not all(map(is_whole, self._configs))
        if is_part or any(side.has_open for side in self._sides):
            self._compare_for_unread(is_part or any(side.is_open(_HTTP) for side in self._sides))
        if is_part or any(config.elsewhere for config in self._configs):
            self._compare_taken()

    def _compare_taken(self) -> None:
        """Add doubts about servers that were not read, which answer the hosts that other servers do not."""
        old, new = (taken(side) for side in self._sides)
        for address, name in sorted((old - new) + (new - old)):
            host = f'the host "{name}"' if name else "hosts without a server of their own"
            self._doubt(f"{address}: a server that was not read may answer {host} on one side", None, None)

    def _compare_for_unread(self, has_servers: bool) -> None:
        """Add doubts about what an unread file may use: variables, upstreams, and, if it `has_servers`, settings of
        http.

        The file that includes a fragment is also an unread file.
        """
        if has_servers:
            unlike = unlike_settings(self._old, _HTTP, self._new, _HTTP)
            if unlike:
                self._doubt(f"servers that were not read have other settings: {', '.join(unlike)}", None, None)
        for name in self._comparison.unlike_definitions():
            self._doubt(f"${name} is another one now, and may be read in what was not read", None, None)
        for name in sorted(self._old.upstreams.keys() & self._new.upstreams.keys()):
            if self._old.upstreams[name] != self._new.upstreams[name]:
                self._doubt(f"the upstream {name} is another one now, and may be used in what was not read", None, None)

    def _compare_places(self) -> None:
        """Add doubts about unread files that the two sides include in different places."""
        variables = self._old.definitions.keys() & self._new.definitions.keys()
        before, after = (side.unread_places(variables) for side in self._sides)
        moved = sorted(place for place in before.keys() & after.keys() if before[place] != after[place])
        for *_, path in moved:
            self._doubt(f"{path} was not read, and is included before other blocks than it was", None, None)

    @property
    def _sides(self) -> tuple[VerifiedSide, VerifiedSide]:
        return self._old, self._new

    def _compare_addresses(self) -> None:
        for address, reason in unlike(self._old, self._new, self._only):
            self._doubt(f"{address}: {reason}", None, None)

    def _reason(self, difference: Divergence) -> str:
        """Return what is in doubt, as a phrase."""
        old, new = difference.old, difference.new
        if difference.is_kept:
            return "a map that is not volatile may keep its value while nginx changes the URI"
        if difference.is_at_limit:
            return "nginx's limit of ten internal redirects is reached, and one side has made fewer of them"
        if old.kind != new.kind:
            return f"{_PHRASES[old.kind]} before, {_PHRASES[new.kind]} now"
        read = self._comparison.read_by_code(old.state.level, new.state.level)
        if old.what != new.what:
            if old.kind == "opaque" and read is not None:
                return read
            return f"{_PHRASES[old.kind]}, but not the same"
        names = unlike_settings(self._old, old.state.level, self._new, new.state.level)
        if names:
            return f"other settings: {', '.join(names)}"
        if read is not None:
            return read
        if old.state.entered != new.state.entered:
            checked = {name for name, *_ in old.state.entered ^ new.state.entered}
            if CUT in checked:
                return "a map changes a capture in a text after nginx has measured the length of the text"
            return f"nginx checks {', '.join(sorted(checked))} as it enters a location, and not alike on both sides"
        return "the same settings, with other values of variables"

    def _doubt(self, reason: str, old: int | None, new: int | None) -> None:
        self._doubts.setdefault((reason, old, new), Doubt(reason, old, new))


_PHRASES = {
    "return": "a return",
    "redirect": "a redirect",
    "slash": "a redirect to the name of a location",
    "locating": "a location is chosen",
    "last": "a location is chosen again",
    "end": "a handler answers",
    "exit": "the script goes on",
    "opaque": "something that is not understood",
}
