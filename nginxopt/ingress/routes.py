"""Lists the annotations of Ingresses, with what an HTTPRoute of the Gateway API has in their place."""

from __future__ import annotations

from collections.abc import Iterable

from nginxopt.ingress.annotations import known
from nginxopt.ingress.manifests import Ingress
from nginxopt.records import record
from nginxopt.text.display import printable


@record(eq=True)
class ListedAnnotation:
    """An annotation: the Ingresses that have it, and what an HTTPRoute has for it; nothing if it has nothing."""

    name: str
    ingresses: tuple[str, ...]
    route: str

    @property
    def line(self) -> str:
        """The annotation on one line."""
        first, *others = self.ingresses
        where = f"{first} and {len(others)} more" if others else first
        return f"{printable(self.name)}: {self.route or 'no counterpart in HTTPRoute'} ({where})"


def listed(found: Iterable[Ingress]) -> list[ListedAnnotation]:
    """Return the annotations of Ingresses: first those without a counterpart, then by name."""
    places: dict[str, list[str]] = {}
    for ingress in found:
        for name in ingress.annotations:
            places.setdefault(name, []).append(ingress.key)
    table = known()
    rows = [
        ListedAnnotation(name, tuple(keys), table[name].route if name in table else "") for name, keys in places.items()
    ]
    return sorted(rows, key=lambda row: (bool(row.route), row.name))
