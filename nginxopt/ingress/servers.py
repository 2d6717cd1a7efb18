"""Merges Ingresses into servers with their locations, as the controller does (controller.go, location.go)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from nginxopt.ingress.annotations import AnnotationValues
from nginxopt.ingress.canaries import Canaries
from nginxopt.ingress.manifests import Ingress, IngressRule
from nginxopt.ingress.model import ANY_HOST, IngressServer, Location, exact_or_prefix, upstream_name
from nginxopt.ingress.settings import ControllerSettings

_SNIPPETS = ("configuration-snippet", "server-snippet", "auth-snippet", "stream-snippet", "modsecurity-snippet")


class Merged:
    """The servers of Ingresses.

    Attributes:
        servers: In the order in which the controller writes them.
        canaries: The canary of each upstream that has one.
        notes: What is not as written.
    """

    def __init__(self, found: Iterable[Ingress], settings: ControllerSettings, *, validates: bool = True) -> None:
        self.notes: list[str] = []
        self._settings = settings
        self._read = [*self._values(_sorted(found), validates)]
        self._servers: dict[str, IngressServer] = {ANY_HOST: IngressServer(ANY_HOST, [_root(None, _no_values())])}
        self._fallback = self._servers[ANY_HOST].locations[0]
        self._canaries = Canaries(self._read)
        primary = [(ingress, values) for ingress, values in self._read if not values.flag("canary")]
        for ingress, values in primary:
            self._add_servers(ingress, values)
        for ingress, values in primary:
            self._set_servers(ingress, values)
        for ingress, values in primary:
            self._add_locations(ingress, values)
        self._canaries.merge(self._servers)
        self.canaries = self._canaries.of
        self.notes += self._canaries.notes
        self.servers = sorted(self._servers.values(), key=lambda server: server.host)
        aliases = {id(server.aliases): server.aliases for server in self.servers}  # those of an Ingress are one list
        others = {key: sorted({alias for alias in each if alias not in self._servers}) for key, each in aliases.items()}
        for server in self.servers:
            server.aliases = others[id(server.aliases)]
            ordered = sorted(sorted(server.locations, key=_by_path, reverse=True), key=_by_length, reverse=True)
            server.locations = [*_with_exact(ordered)]

    def _values(self, found: Iterable[Ingress], validates: bool) -> Iterator[tuple[Ingress, AnnotationValues]]:
        """Yield the Ingresses that the controller does not leave out, with their values."""
        for ingress in found:
            values = AnnotationValues(ingress, validates=validates)
            self.notes += [f"{ingress.place}: {ingress.key}: {note}" for note in values.notes]
            snippets = [name for name in _SNIPPETS if values.text(name)]
            if snippets and self._settings.is_stated and not self._settings.flag("allow-snippet-annotations"):
                values.drop(*snippets)
                names = ", ".join(snippets)
                self.notes.append(
                    f"{ingress.place}: {ingress.key}: {names}: has no effect without allow-snippet-annotations"
                )
            if not values.is_dropped:
                yield ingress, values

    def _add_servers(self, ingress: Ingress, values: AnnotationValues) -> None:
        """Add the servers of the hosts of an Ingress, each with a location for `/` (`createServers`)."""
        if ingress.default is not None and not ingress.rules and self._fallback.is_default:
            kept = _no_values(ingress, values)
            self._servers[ANY_HOST].locations[0] = self._fallback = replace(
                self._fallback, ingress=ingress, values=kept, backend=ingress.default, is_default=False
            )
        for rule in ingress.rules:
            host = rule.host or ANY_HOST
            if host not in self._servers:
                self._servers[host] = IngressServer(
                    host,
                    [_root(ingress, values)],
                    ciphers=values.text("ssl-ciphers"),
                    prefers_ciphers=_switch(values, "ssl-prefer-server-ciphers"),
                )

    def _set_servers(self, ingress: Ingress, values: AnnotationValues) -> None:
        """Set what servers have once: the first Ingress that states it wins."""
        aliases = [alias.strip() for alias in values.text("server-alias").split(",") if alias.strip()]
        secrets = _secrets(ingress)
        for rule in ingress.rules:
            server = self._servers[rule.host or ANY_HOST]
            if not server.aliases and any(alias != server.host for alias in aliases):
                server.aliases = aliases
            if values.text("server-snippet"):
                self._note_second(ingress, server, bool(server.snippet), "server-snippet")
                server.snippet = server.snippet or values.text("server-snippet")
            server.ciphers = server.ciphers or values.text("ssl-ciphers")
            server.prefers_ciphers = server.prefers_ciphers or _switch(values, "ssl-prefer-server-ciphers")
            if ingress.tls and not server.has_certificate and server.host != ANY_HOST:
                server.has_certificate = True
                server.secret = secrets.get(server.host.lower(), "")

    def _add_locations(self, ingress: Ingress, values: AnnotationValues) -> None:
        """Add the locations of an Ingress (`getBackendServers`)."""
        for rule in ingress.rules:
            server = self._servers[rule.host or ANY_HOST]
            if rule.paths is None and rule.host:
                continue
            if server.client is None and values.text("auth-tls-secret"):
                server.client = values
            self._add_paths(ingress, values, server, rule)

    def _add_paths(self, ingress: Ingress, values: AnnotationValues, server: IngressServer, rule: IngressRule) -> None:
        for path in rule.paths or ():
            if path.backend is None:
                note = f"{path.path}: left out, as its backend is no Service"
                self.notes.append(f"{ingress.place}: {ingress.key}: {note}")
                continue
            if (name := upstream_name(ingress, path.backend)) in self._canaries.hidden:
                note = f"{server.host}{path.path}: left out, as an older Ingress makes {name} a canary"
                self.notes.append(f"{ingress.place}: {ingress.key}: {note}")
                continue
            kind = exact_or_prefix(path.kind)
            location = Location(path.path, kind, ingress, values, path.backend)
            index = server.places.get(path.path)
            if index is None or server.locations[index].kind != kind:
                server.places.setdefault(path.path, len(server.locations))
                server.locations.append(location)
            elif server.locations[index].is_default:
                server.locations[index] = location
            else:
                self._note_taken(ingress, server, server.locations[index])
                continue
            server.has_www |= values.flag("from-to-www-redirect")

    def _note_taken(self, ingress: Ingress, server: IngressServer, location: Location) -> None:
        other = location.ingress
        assert other is not None
        if other.key != ingress.key:
            self.notes.append(
                f"{ingress.place}: {ingress.key}: {server.host}{location.path}: {other.key} has it, too, and wins:"
                " it was created before, or is the later one by name"
            )

    def _note_second(self, ingress: Ingress, server: IngressServer, is_second: bool, name: str) -> None:
        if is_second:
            self.notes.append(
                f"{ingress.place}: {ingress.key}: {name}: has no effect, as {server.host} has one of another Ingress"
            )


def _sorted(found: Iterable[Ingress]) -> Sequence[Ingress]:
    """Return Ingresses as the controller goes through them (`sortIngressSlice`): by age, then backwards by name."""
    return sorted(sorted(found, key=lambda ingress: ingress.key, reverse=True), key=lambda ingress: ingress.created)


def _root(ingress: Ingress | None, values: AnnotationValues) -> Location:
    backend = None if ingress is None else ingress.default
    return Location("/", "Prefix", ingress, values, backend, is_default=True)


def _no_values(ingress: Ingress | None = None, values: AnnotationValues | None = None) -> AnnotationValues:
    """Return no values; or those of an Ingress without what its default backend does not follow."""
    if values is not None and ingress is not None:
        kept = AnnotationValues(ingress)
        kept.drop(
            *("rewrite-target", "use-regex", "app-root", "ssl-redirect", "force-ssl-redirect"),
            *("temporal-redirect", "permanent-redirect", "from-to-www-redirect", "preserve-trailing-slash"),
        )
        return kept
    return AnnotationValues(Ingress("", "", {}, "", None, (), (), "", ""))


def _switch(values: AnnotationValues, name: str) -> str:
    return "" if not values.text(name) else "on" if values.flag(name) else "off"


def _secrets(ingress: Ingress) -> Mapping[str, str]:
    """Return the Secrets with the certificates of hosts (`extractTLSSecretName`); nothing if the entry names none."""
    secrets: dict[str, str] = {}
    for tls in ingress.tls:
        for host in tls.hosts:
            secrets.setdefault(host.lower(), f"{ingress.namespace}/{tls.secret}" if tls.secret else "")
    return secrets


def _by_path(location: Location) -> bytes:
    return location.path.encode()


def _by_length(location: Location) -> int:
    return len(location.path.encode())


def _with_exact(locations: Sequence[Location]) -> Iterator[Location]:
    """Yield locations, and an exact one beside each that is a prefix of whole segments (`updateServerLocations`)."""
    exact = {location.path for location in locations if location.kind == "Exact"}
    for location in locations:
        if location.path == "/":
            yield location
            continue
        location.ingress_path = location.path
        if location.kind != "Prefix" or location.is_pattern:
            yield location
            continue
        prefix = replace(location, path=location.path if location.path.endswith("/") else f"{location.path}/")
        yield prefix
        if location.path not in exact:
            yield replace(location, kind="Exact")
