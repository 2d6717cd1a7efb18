"""Makes a configuration of Ingresses."""

from __future__ import annotations

from collections.abc import Sequence

from nginxopt.errors import InputError
from nginxopt.ingress.emission import IngressEmission
from nginxopt.ingress.manifests import Ingress
from nginxopt.ingress.servers import Merged
from nginxopt.ingress.settings import ControllerSettings
from nginxopt.records import record
from nginxopt.text.display import count
from nginxopt.version import Version


@record(eq=True)
class Converted:
    """A configuration: its text, and what it does not do as the controller does, or leaves out."""

    text: str
    notes: tuple[str, ...]


def convert(
    found: Sequence[Ingress], settings: ControllerSettings, version: Version, *, validates: bool = True
) -> Converted:
    """Return the configuration of Ingresses, for a release of nginx. Raises `InputError` if there is no Ingress.

    `validates`: whether the controller checks the values of annotations (`--enable-annotation-validation`).
    """
    if not found:
        raise InputError("no Ingress in the manifests")
    merged = Merged(found, settings, validates=validates)
    emission = IngressEmission(merged.servers, merged.canaries, settings, version)
    head = (
        f"What ingress-nginx makes of {count(len(found), 'Ingress', 'Ingresses')}, without its Lua;",
        "written by nginxopt ingress.",
    )
    text = emission.render(head)
    return Converted(text, (*settings.notes, *merged.notes, *emission.notes))
