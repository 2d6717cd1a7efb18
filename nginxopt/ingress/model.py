"""The servers and locations that Ingresses become."""

from __future__ import annotations

from dataclasses import dataclass, field

from nginxopt.ingress.annotations import AnnotationValues
from nginxopt.ingress.manifests import Ingress, IngressBackend

ANY_HOST = "_"
"""The name of the server for all other hosts."""
DEFAULT_BACKEND = "upstream-default-backend"


def upstream_name(ingress: Ingress, backend: IngressBackend) -> str:
    """Return the name of the upstream of a Service (`upstreamName`)."""
    return f"{ingress.namespace}-{backend.service}-{backend.port}"


def exact_or_prefix(kind: str) -> str:
    """Return the type of a path as the controller takes it (`SetDefaultNGINXPathType`)."""
    return "Exact" if kind == "Exact" else "Prefix"


@dataclass(slots=True)
class Location:
    """A location. `backend` is None for the default backend of the controller; `is_default` as in `IsDefBackend`."""

    path: str
    kind: str
    ingress: Ingress | None
    values: AnnotationValues
    backend: IngressBackend | None = None
    is_default: bool = False
    ingress_path: str = ""

    @property
    def upstream(self) -> str:
        """The name of the upstream (`upstreamName`)."""
        if self.backend is None or self.ingress is None:
            return DEFAULT_BACKEND
        return upstream_name(self.ingress, self.backend)

    @property
    def needs_rewrite(self) -> bool:
        """Whether the path is rewritten (`needsRewrite`)."""
        return self.values.text("rewrite-target") not in ("", self.path)

    @property
    def is_pattern(self) -> bool:
        """Whether the path makes all locations of its server patterns (`enforceRegexModifier`)."""
        return self.needs_rewrite or self.values.flag("use-regex")


@dataclass(slots=True)
class IngressServer:
    """A server.

    Attributes:
        secret: The namespace and name of the Secret with its certificate; empty for the default certificate.
        has_certificate: Whether requests of http are redirected to https by default.
        has_www: Whether there is a server that redirects from or to the name with `www.`.
        places: The index of the first location of each path.
    """

    host: str
    locations: list[Location]
    aliases: list[str] = field(default_factory=list)
    snippet: str = ""
    secret: str = ""
    has_certificate: bool = False
    has_www: bool = False
    client: AnnotationValues | None = None
    ciphers: str = ""
    prefers_ciphers: str = ""
    places: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.places = {location.path: index for index, location in enumerate(self.locations)}
