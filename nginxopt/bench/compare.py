"""Builds the experiment that compares two configurations of the user, before and after a change."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, count

from nginxopt import lazy
from nginxopt.bench.isolation import ROLE, Isolated, ServerCertificate, addresses, isolate, place
from nginxopt.bench.listeners import Listener, Listeners, RequestTarget, sent_host, site
from nginxopt.bench.report.sentences import told
from nginxopt.bench.run_folder import slug
from nginxopt.bench.scenario import Attack, Experiment, Measured, OpenLoop, Target, Tls, Variant, VariantPair
from nginxopt.config import Config
from nginxopt.errors import InputError
from nginxopt.records import record
from nginxopt.request.client import UrlError, read_url
from nginxopt.semantics import Address
from nginxopt.settings.target import ASSUMED
from nginxopt.text import Source, Span, decode
from nginxopt.version import Version

LOAD = OpenLoop(rate=1000, seconds=2)

_FIELD = lazy.pattern(r"[\w!#$%&'*+.^`|~-]+", re.ASCII)
"""The name of a header (RFC 9110, 5.6.2)."""
_METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH")


def build(
    before: Config,
    after: Config,
    targets: tuple[Target, ...],
    *,
    version: Version = ASSUMED,
    certificate: ServerCertificate | None = None,
) -> Experiment:
    """Return the experiment. Both configurations must answer each target with the same status and Location.

    `version` is that of nginx. `certificate` is for all servers with TLS; without it, they have their own. Targets of
    different schemes, hosts or ports are cases of their own. Raises `UsageError` for targets that no listener of a
    configuration fits.
    """
    configs = {"before": before, "after": after}
    cases = _cases(configs, targets, version)
    ports = _ports(configs, cases)
    sides = {name: isolate(config, ports[name], certificate) for name, config in configs.items()}
    used = list(dict.fromkeys(place for names in ports.values() for place in names.values()))
    nodes = {
        name: replace(side.node(), ports=tuple(place for place in used if place != ROLE))
        for name, side in sides.items()
    }
    attacks = tuple(case.attack(name, ports[name]) for case in cases for name in sides)
    return Experiment(
        "compare",
        "Two configurations",
        "Both respond the same; the ratio of after to before is the effect of the change.",
        tuple(Variant(name, side.path, (nodes[name],)) for name, side in sides.items()),
        attacks,
        (VariantPair("before", "after"),),
        "latency",
        notes=(*_measured(configs, attacks), *_changes(sides, configs)),
    )


@record(eq=True)
class _Case:
    """Targets for one listener of each side; `listeners` has them by the name of the side."""

    name: str
    targets: tuple[Target, ...]
    listeners: Mapping[str, Listener]

    def attack(self, side: str, ports: Mapping[Address, str]) -> Attack:
        """Return the load on a side, which has these names for its addresses."""
        listener = self.listeners[side]
        measured = Measured(listener.scheme, listener.host, str(listener.address), listener.http2, listener.server)
        tls = Tls(listener.server_name) if listener.scheme == "https" else None
        targets = tuple(replace(_to(target, listener.host), tls=tls, site="") for target in self.targets)
        place = ports[listener.address]
        return Attack(side, self.name, targets, LOAD, place="" if place == ROLE else place, measured=measured)


def _cases(configs: Mapping[str, Config], targets: Sequence[Target], version: Version) -> list[_Case]:
    """Divide the targets by listener."""
    sides = {name: Listeners(name, config, version) for name, config in configs.items()}
    first, *others = sides
    groups: dict[tuple[RequestTarget | None, str | None], list[Target]] = {}
    for target in targets:
        where = site(target)
        groups.setdefault((where, sent_host(target) if where is None else None), []).append(target)
    chosen: dict[Listener, list[tuple[RequestTarget | None, list[Target]]]] = {}
    for (where, host), group in groups.items():
        listener = sides[first].of_paths(host, group) if where is None else sides[first].of_site(where, group)
        chosen.setdefault(listener, []).append((where, group))
    cases: list[_Case] = []
    names = {listener: f"{listener.scheme}://{listener.host or listener.address}" for listener in chosen}
    for listener, parts in chosen.items():
        requests = tuple(target for _, group in parts for target in group)
        rest = {name: sides[name].like(listener, stated=parts[0][0], targets=requests) for name in others}
        cases.append(_Case(_unlike(names[listener], cases), requests, {first: listener, **rest}))
    return cases


def _unlike(name: str, cases: Sequence[_Case]) -> str:
    """Return a name whose files are not those of the cases so far: `https://a-b` and `https://a.b` would share them."""
    taken = {slug(case.name) for case in cases}
    return next(
        text for text in chain([name], (f"{name} ({number})" for number in count(2))) if slug(text) not in taken
    )


def _ports(configs: Mapping[str, Config], cases: Sequence[_Case]) -> dict[str, dict[Address, str]]:
    """Return a name for each address of each side: the same for the listeners of a case, and for equal addresses."""
    every = dict.fromkeys(address for config in configs.values() for address in addresses(config))
    names: dict[str, dict[Address, str]] = {}
    for side, config in configs.items():
        entries: dict[Address, str] = {}
        for number, case in enumerate(cases):
            entries.setdefault(case.listeners[side].address, place(number))
        rest = {address: place(len(cases) + number) for number, address in enumerate(every)}
        names[side] = {address: {**rest, **entries}[address] for address in addresses(config)}
    return names


def _to(target: Target, host: str | None) -> Target:
    """Return a target with a `Host`, unless it has one."""
    return (
        target
        if host is None or sent_host(target) is not None
        else replace(target, headers=(("Host", host), *target.headers))
    )


def _measured(configs: Mapping[str, Config], attacks: Sequence[Attack]) -> Iterator[str]:
    """Yield what is measured on each side, and what is not."""
    for side, config in configs.items():
        own = [attack for attack in attacks if attack.variant == side]
        yield from (f"{side}: measured is {told(attack)}." for attack in own)
        taken = {attack.measured.address for attack in own if attack.measured is not None}
        others = [address for address in map(str, addresses(config)) if address not in taken]
        if others:
            yield f"{side}: not measured: {', '.join(others)}."


def _changes(sides: Mapping[str, Isolated], configs: Mapping[str, Config]) -> Iterator[str]:
    for name, side in sides.items():
        yield from (f"{name}: {what} ({number})." for what, number in sorted(side.changes.items()))
    for name, config in configs.items():
        read = [variable for variable in (b"$server_port", b"$server_addr") if _reads(config, variable)]
        if read:
            names = " and ".join(variable.decode() for variable in read)
            yield f"{name}: {names} {'is' if len(read) == 1 else 'are'} private here, and the configuration reads it."
    if any(directive.name.endswith("_pass") for config in configs.values() for directive, _ in config.walk()):
        yield "Upstream servers are the real ones."


def _reads(config: Config, variable: bytes) -> bool:
    return any(variable in file.source.data for file in config.files)


def targets(source: Source) -> tuple[Target, ...]:
    """Return the targets of a file. Raises `InputError` with the place of an invalid line.

    A line is a path or a URL, `METHOD` and one of them, or a header `Name: value` of the request above it; `#` starts a
    comment.
    """
    targets: list[Target] = []
    at = 0
    for raw in source.data.splitlines(keepends=True):
        line = decode(raw).strip()
        target = None if not line or line.startswith("#") else _target(line, targets)
        if target is None and line and not line.startswith("#"):
            raise InputError(
                "neither a request nor a header",
                source=source,
                span=Span(at, at + len(raw.rstrip())),
                expected="/path, https://host/path, METHOD and one of them, or a header (Name: value) below a request",
            )
        if target is not None:
            targets.append(target)
        at += len(raw)
    if not targets:
        raise InputError("no requests in this file", path=source.path, expected="one path per line")
    return tuple(targets)


def _target(line: str, targets: list[Target]) -> Target | None:
    """Return the request of a line, or the previous request with the header of the line; None if it is neither."""
    method, space, rest = line.partition(" ")
    asked = _asked(rest, method) if method in _METHODS else None if space else _asked(line, "GET")
    if asked is not None:
        return asked
    name, colon, value = line.partition(":")
    if targets and colon and _FIELD.fullmatch(name) and not value.startswith("//"):
        last = targets.pop()
        return replace(last, headers=(*last.headers, ("Host" if name.lower() == "host" else name, value.strip())))
    return None


def _asked(text: str, method: str) -> Target | None:
    """Return the request for a path or a URL; None if it is neither."""
    if text.startswith("/") and " " not in text:
        return Target(text, None, method)
    try:
        url = read_url(text)
    except UrlError:
        return None
    after = text.partition("://")[2]
    authority = re.split("[/?#]", after, maxsplit=1)[0].rpartition("@")[2]
    own = (("Authorization", url.authorization.decode()),) if url.authorization else ()
    return Target(url.target.decode(), None, method, own, site=f"{url.scheme}://{authority}")
