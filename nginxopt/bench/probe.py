"""Checks before the first attack that every variant works as described; otherwise stops the benchmark."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from nginxopt import lazy
from nginxopt.bench.scenario import Asks, Attack, ExpectedResponse, Experiment, OpenFiles, Probe, Target, Variant
from nginxopt.bench.site import RunningSite
from nginxopt.errors import RunError
from nginxopt.records import record

ROUND = "@round@"
_MOST_TARGETS = 50  # the number of targets of an attack that are checked before it

_PORT = lazy.pattern(r"^(https?://[^/?#]*:)(\d+)(?=[/?#]|$)")

Statuses = Mapping[tuple[str, str], frozenset[str]]
"""The statuses of the responses to the targets of an attack, by variant and case."""


_Known = dict[tuple[str, Target], ExpectedResponse]
"""The responses so far to targets without a stated one, by case."""


@record(eq=True)
class _Response:
    """The parts of a response that are checked."""

    status: int
    headers: dict[str, str]
    body: str

    @classmethod
    def of(cls, raw: bytes) -> _Response:
        head, _, body = raw.decode("latin-1").partition("\r\n\r\n")
        line, *fields = head.split("\r\n")
        status = re.match(r"HTTP/1\.[01] (\d{3})", line)
        headers = {name.lower(): value.strip() for name, _, value in (field.partition(":") for field in fields)}
        return cls(int(status[1]) if status else 0, headers, body)

    def __str__(self) -> str:
        if not self.status:
            return "no answer"
        to = f" to {self.headers['location']}" if "location" in self.headers else ""
        return f"{self.status}{to}"


def probe(site: RunningSite, experiment: Experiment) -> Statuses:
    """Return the statuses of the responses to the targets of each attack.

    Makes all probes of each variant, and requests up to 50 targets of each attack. If a target does not define its
    response, all variants of a case must answer it alike. Raises `RunError` if a variant does not work as described.
    """
    for variant in experiment.variants:
        for item in variant.probes:
            _hold(site, variant, item)
    known: _Known = {}
    return {(attack.variant, attack.case): _statuses(site, experiment, attack, known) for attack in experiment.attacks}


def in_round(targets: Iterable[Target], number: int | str) -> tuple[Target, ...]:
    """Return the targets with the number of a round in place of `@round@`."""
    return tuple(replace(target, path=target.path.replace(ROUND, str(number))) for target in targets)


def _hold(site: RunningSite, variant: Variant, item: Probe) -> None:
    if isinstance(item, OpenFiles):
        limit = site.open_files(variant, item.role)
        if limit != item.limit:
            raise RunError(
                f"{variant.name}: workers of {item.role} may open {limit:,} files, expected {item.limit:,}",
                hint="the hard limit of this shell (`ulimit -Hn`) may be lower",
            )
        return
    _ask(site, variant, item)


def _ask(site: RunningSite, variant: Variant, item: Asks) -> _Response:
    """Send the requests of a probe, and return the last response. Raises `RunError` if it is not as expected."""
    (target,) = in_round([item.target], "probe")
    response = [_Response.of(site.ask(variant, item.role, target)) for _ in range(item.times)][-1]
    wrong = _wrong(response, target.expected, site, variant, item.role)
    if wrong:
        raise RunError(f"{variant.name}: wrong response of {item.role} for {target.path}: {wrong}")
    return response


def _statuses(site: RunningSite, experiment: Experiment, attack: Attack, known: _Known) -> frozenset[str]:
    variant = experiment.variant(attack.variant)
    place = variant.place(attack)
    step = max(1, len(attack.targets) // _MOST_TARGETS)
    statuses = set()
    for target in attack.targets[::step]:
        key = (attack.case, replace(target, expected=None))
        response = _ask(site, variant, Asks(place, replace(target, expected=target.expected or known.get(key))))
        known.setdefault(key, ExpectedResponse(response.status, _portable(response, site, variant, place)))
        statuses.add(str(response.status))
    return frozenset(statuses)


def _portable(response: _Response, site: RunningSite, variant: Variant, place: str) -> str | None:
    """Return the Location with placeholders for what differs by variant: its address, its host, and its ports."""
    location = response.headers.get("location")
    if location is None:
        return None
    for mark, address in _places(site, variant, place):
        location = location.replace(address, mark)
    # nginx adds the port of the listen to any host, such as that of the request (ngx_http_header_filter).
    places = {port: mark for mark, port in reversed([*_ports(site, variant, place)])}
    return _PORT.sub(lambda found: f"{found[1]}{places.get(found[2], found[2])}", location)


def _placed(location: str, site: RunningSite, variant: Variant, place: str) -> str:
    """Return a Location with the addresses of the variant, asked at a place, in place of the placeholders."""
    for mark, address in (*_places(site, variant, place), *_ports(site, variant, place)):
        location = location.replace(mark, address)
    return location


def _places(site: RunningSite, variant: Variant, place: str) -> tuple[tuple[str, str], ...]:
    """Return the placeholders of the place that is asked, which each variant may have at another `listen`."""
    address = site.address(variant, place)
    return (f"@{variant.entry}@", address), ("@host@", address.rpartition(":")[0])


def _ports(site: RunningSite, variant: Variant, place: str) -> Iterator[tuple[str, str]]:
    """Yield a placeholder and the port of each place where the entry node listens, first of the one that is asked."""
    places = (variant.entry, *(variant.node(variant.entry).ports if variant.nodes else ()))
    for name in dict.fromkeys([place, *places]):
        _, colon, port = site.address(variant, name).rpartition(":")
        if colon:
            yield ("@port@" if name == place else f"@{name}/port@"), port


def _wrong(
    response: _Response, expected: ExpectedResponse | None, site: RunningSite, variant: Variant, place: str
) -> str:
    """Return what is wrong with a response; empty if nothing is."""
    if not response.status:
        return "no response"
    if expected is None:
        return ""
    if response.status != expected.status:
        return f"{response} instead of {expected.status}"
    if expected.location is not None:
        location = _placed(expected.location, site, variant, place)
        if response.headers.get("location") != location:
            return f"{response} instead of {expected.status} to {location}"
    if expected.body is not None and expected.body not in response.body:
        return f"the body does not contain {expected.body!r}"
    if expected.header is not None:
        name, value = expected.header
        if response.headers.get(name.lower()) != value:
            return f"the header {name} is {response.headers.get(name.lower())!r}, not {value!r}"
    return ""
