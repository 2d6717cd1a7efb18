"""Canaries: the Service that gets some of the requests of another one (controller.go, lua/balancer.lua).

A canary belongs to a Service, not to a path: it gets its share of all requests for that Service, on any host.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from nginxopt.ingress.annotations import AnnotationValues, known
from nginxopt.ingress.manifests import Ingress, IngressBackend
from nginxopt.ingress.model import ANY_HOST, DEFAULT_BACKEND, IngressServer, exact_or_prefix, upstream_name
from nginxopt.ingress.writing import EmittedLines, quoted
from nginxopt.records import record
from nginxopt.semantics.refusals.setters import pattern_error

_ALL = 100
_LEAST, _MOST = 0.01, 99.99
"""The smallest and the largest share that nginx can split off, in percent."""


@record()
class Canary:
    """The upstream that gets some requests of another one, and the annotations that say which."""

    upstream: str
    values: AnnotationValues


class Canaries:
    """The canaries of Ingresses, which are in the order of the controller.

    Attributes:
        of: The canary of each upstream that has one.
        hidden: The upstreams that are canaries: the controller leaves out other paths to them.
        notes: What is not as written.
    """

    def __init__(self, read: Sequence[tuple[Ingress, AnnotationValues]]) -> None:
        self.of: dict[str, Canary] = {}
        self.notes: list[str] = []
        self._read = [(ingress, values) for ingress, values in read if values.flag("canary")]
        self._policies: dict[str, AnnotationValues | None] = {}
        for ingress, values in read if self._read else ():
            policy = values if values.flag("canary") else None
            if ingress.default is not None:
                self._policies[upstream_name(ingress, ingress.default)] = policy
            for backend in _backends(ingress):
                self._policies.setdefault(upstream_name(ingress, backend), policy)
        self.hidden = frozenset(name for name, policy in self._policies.items() if policy is not None)

    def merge(self, servers: Mapping[str, IngressServer]) -> None:
        """Find the upstreams of which they are canaries (`mergeAlternativeBackends`)."""
        deleted: set[str] = set()
        for ingress, values in self._read:
            self._note_others(ingress, values)
            if ingress.default is not None:
                self._merge(ingress, ingress.default, servers[ANY_HOST], None, deleted)
            for rule in ingress.rules:
                host = rule.host or ANY_HOST
                for path in rule.paths or ():
                    if path.backend is None:
                        continue
                    if host not in servers:
                        self._note(ingress, f"{host}{path.path}: has no effect, as no other Ingress has this host")
                    else:
                        place = (path.path, exact_or_prefix(path.kind))
                        self._merge(ingress, path.backend, servers[host], place, deleted)
        self.of = {name: canary for name, canary in self.of.items() if canary.upstream not in deleted}

    def _merge(
        self,
        ingress: Ingress,
        backend: IngressBackend,
        server: IngressServer,
        place: tuple[str, str] | None,
        deleted: set[str],
    ) -> None:
        """Make a Service the canary of those at a place of a server, or of all. Without one, it is `deleted`."""
        name = upstream_name(ingress, backend)
        if name in deleted:
            return
        where = server.host + (place[0] if place else "")
        policy = self._policies[name]
        merged = False
        for location in server.locations:
            if location.upstream == name:
                self._note(ingress, f"{where}: has no effect, as {name} answers itself there")
                return
            is_there = place is None or (location.path, location.kind) == place
            if not is_there or location.upstream == DEFAULT_BACKEND or location.upstream in self.hidden:
                continue
            merged = True
            if policy is None:
                self._note(ingress, f"{where}: has no effect, as another Ingress has {name} before")
            elif (first := self.of.setdefault(location.upstream, Canary(name, policy))).upstream != name:
                self._note(ingress, f"{where}: has no effect, as {first.upstream} is the canary already")
        if not merged:
            deleted.add(name)
            self._note(ingress, f"{where}: {name} gets no requests, as no other Ingress has this path with a Service")

    def _note_others(self, ingress: Ingress, values: AnnotationValues) -> None:
        """Note annotations that count only where the canary is none."""
        rows = known()
        names = sorted(
            name
            for name in ingress.annotations
            if values.text(name) and rows[name].state == "used" and not name.startswith(("canary", "upstream-hash"))
        )
        if names:
            has = "has" if len(names) == 1 else "have"
            self._note(ingress, f"{', '.join(names)}: {has} no effect in a canary")

    def _note(self, ingress: Ingress, note: str) -> None:
        self.notes.append(f"{ingress.place}: {ingress.key}: canary: {note}")


def _backends(ingress: Ingress) -> Iterator[IngressBackend]:
    for rule in ingress.rules:
        for path in rule.paths or ():
            if path.backend is not None:
                yield path.backend


def _escaped(text: str) -> str:
    return re.sub(r"[.^$*+?()\[\]{}|\\]", r"\\\g<0>", text)


def write_canaries(lines: EmittedLines, canaries: Mapping[str, Canary]) -> Mapping[str, str]:
    """Write what chooses between Services and their canaries; return the target of each: a name, or a variable."""
    return {
        primary: _Choice(lines, primary, canary, f"$canary_{number}").write()
        for number, (primary, canary) in enumerate(canaries.items(), 1)
    }


class _Choice:
    """Chooses one of two upstreams as `route_to_alternative_balancer` does: by a header, a cookie, and by chance."""

    def __init__(self, lines: EmittedLines, primary: str, canary: Canary, name: str) -> None:
        self._lines = lines
        self._primary = primary
        self._canary = canary.upstream
        self._values = canary.values
        self._name = name

    def write(self) -> str:
        """Write the maps and return what the last one gives."""
        return self._by_header(self._by_cookie(self._by_weight()))

    def _by_weight(self) -> str:
        weight = self._values.number("canary-weight")
        total = max(_ALL, self._values.number("canary-weight-total", _ALL))
        if weight <= 0:
            return self._primary
        if weight >= total:
            return self._canary
        share = min(_MOST, max(_LEAST, round(100 * weight / total, 2)))
        name = f"{self._name}_by_weight"
        with self._lines.block(f"split_clients $request_id {name}"):
            self._lines.add(f"{share:g}% {self._canary};", f"* {self._primary};")
        return name

    def _by_cookie(self, default: str) -> str:
        cookie = self._values.text("canary-by-cookie").strip()
        if not cookie:
            return default
        source = f"$cookie_{cookie}"
        if not re.fullmatch("[A-Za-z0-9_]+", cookie):  # no variable of a configuration has such a name
            source = f"{self._name}_cookie"
            value = source.removeprefix("$") + "_value"
            with self._lines.block(f"map $http_cookie {source}"):
                pattern = f"~*(?:^|[;,]) *{_escaped(cookie)} *= *(?<{value}>[^;]*)"
                self._lines.add(f"{quoted(pattern)} ${value};")
        return self._map(source, "_by_cookie", default, self._always())

    def _by_header(self, default: str) -> str:
        header = self._values.text("canary-by-header").strip()
        if not re.fullmatch("[A-Za-z0-9_-]+", header):  # nginx ignores headers with other names
            return default
        value, pattern = self._values.text("canary-by-header-value"), self._values.text("canary-by-header-pattern")
        if value:
            rows = [(f"^{_escaped(value)}$", self._canary)]
        elif not pattern:
            rows = self._always()
        elif pattern_error(pattern.encode()) is None:
            rows = [("^$", default), (pattern, self._canary)]  # without the header, its pattern is not asked
        else:
            rows = [(".", self._primary)]
        return self._map(f"$http_{header.lower().replace('-', '_')}", "", default, rows)

    def _always(self) -> list[tuple[str, str]]:
        return [("^always$", self._canary), ("^never$", self._primary)]

    def _map(self, source: str, ending: str, default: str, rows: Sequence[tuple[str, str]]) -> str:
        name = self._name + ending
        with self._lines.block(f"map {source} {name}"):
            self._lines.add(f"default {default};")
            self._lines.add(*(f"{quoted(f'~{pattern}')} {target};" for pattern, target in rows))
        return name
