"""Reads Ingresses from manifests: YAML with any number of documents, lists as kubectl prints them, JSON."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from nginxopt import budget
from nginxopt.config.includes import source
from nginxopt.errors import InputError
from nginxopt.ingress.documents import documents, mapping, scalar
from nginxopt.records import record
from nginxopt.text import Source

PREFIX = "nginx.ingress.kubernetes.io/"
"""What the names of the controller's annotations begin with, by default."""

_CLASS = "kubernetes.io/ingress.class"
_ENDS = (".yaml", ".yml", ".json")
_GROUPS = ("networking.k8s.io/", "extensions/")
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?")


@record(eq=True)
class IngressBackend:
    """The Service that answers: its name, and the number or name of its port."""

    service: str
    port: str


@record(eq=True)
class RulePath:
    """A path of a rule; without a `backend` if that is no Service."""

    path: str
    kind: str
    backend: IngressBackend | None


@record(eq=True)
class IngressRule:
    """The paths of a host; of any other host if that is empty. `paths` is None for a rule without `http`."""

    host: str
    paths: tuple[RulePath, ...] | None


@record(eq=True)
class IngressTls:
    """Hosts with a certificate, and the Secret that has it."""

    hosts: tuple[str, ...]
    secret: str


@record()
class Ingress:
    """An Ingress.

    Attributes:
        annotations: Those of the controller, without `PREFIX`.
        ingress_class: The class, or nothing.
        created: When it was created, if the manifest says so, as text that can be compared.
        place: The file and line of the manifest.
    """

    namespace: str
    name: str
    annotations: Mapping[str, str]
    ingress_class: str
    default: IngressBackend | None
    rules: tuple[IngressRule, ...]
    tls: tuple[IngressTls, ...]
    created: str
    place: str

    @property
    def key(self) -> str:
        """The namespace and the name."""
        return f"{self.namespace}/{self.name}"


def ingresses(paths: Sequence[str], read: Source | None = None) -> list[Ingress]:
    """Return the Ingresses of files, and of `files_of` folders; `-` is standard input, which may have been `read`.

    Raises `InputError` for what is no YAML, and for an Ingress that Kubernetes would refuse.
    """
    with budget.counting("alias-values"):
        return [ingress for file in files_of(paths) for ingress in _of_text(read or source(file))]


def files_of(paths: Sequence[str]) -> list[str]:
    """Return the files that are read: those named, and the manifests below folders that are named."""
    return [file for path in paths for file in _files(path)]


def _files(path: str) -> list[str]:
    folder = Path(path)
    if path == "-" or not os.path.isdir(folder):
        return [path]
    return sorted(str(file) for file in folder.rglob("*") if file.suffix in _ENDS and os.path.isfile(file))


def _of_text(text: Source) -> Iterator[Ingress]:
    for line, document in documents(text):
        for item in _items(document):
            if item.get("kind") == "Ingress" and scalar(item.get("apiVersion")).startswith(_GROUPS):
                yield _Reading(f"{text.path}:{line}", text.path).ingress(item)


def _items(document: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of a document, which may be a list of them, or of lists."""
    pending = [document]
    while pending:
        found = mapping(pending.pop())
        if not scalar(found.get("kind")).endswith("List"):
            if found:
                yield found
        else:
            items = found.get("items")
            pending += reversed(items if isinstance(items, list) else [])


class _Reading:
    """Reads one Ingress; `place` names it in messages until it has a name."""

    def __init__(self, place: str, path: str) -> None:
        self._place = place
        self._path = path

    def ingress(self, item: Mapping[str, Any]) -> Ingress:
        metadata, spec = mapping(item.get("metadata")), mapping(item.get("spec"))
        self._place = f"{self._place}: Ingress {scalar(metadata.get('name'))}"
        annotations = self._texts(metadata.get("annotations"))
        own = {name.removeprefix(PREFIX): text for name, text in annotations.items() if name.startswith(PREFIX)}
        return Ingress(
            namespace=self._named(metadata.get("namespace") or "default", "namespace"),
            name=self._named(metadata.get("name"), "name"),
            annotations=own,
            ingress_class=scalar(spec.get("ingressClassName")) or annotations.get(_CLASS, ""),
            default=self._backend(spec.get("defaultBackend") or spec.get("backend")),
            rules=tuple(map(self._rule, self._list(spec.get("rules"), "rules"))),
            tls=tuple(map(self._tls, self._list(spec.get("tls"), "tls"))),
            created=scalar(metadata.get("creationTimestamp")),
            place=self._place.partition(": Ingress")[0],
        )

    def _texts(self, found: Any) -> Mapping[str, str]:
        for name, value in mapping(found).items():
            if not isinstance(value, str):
                shown = scalar(value).lower() if isinstance(value, bool) else scalar(value)
                raise self._refused(f'the annotation {name} is not a text: write it as "{shown}"')
        return mapping(found)

    def _rule(self, rule: Any) -> IngressRule:
        http = mapping(rule).get("http")
        paths = None if http is None else tuple(map(self._path_of, self._list(mapping(http).get("paths"), "paths")))
        return IngressRule(self._host(mapping(rule).get("host") or ""), paths)

    def _path_of(self, path: Any) -> RulePath:
        found = mapping(path)
        kind = scalar(found.get("pathType")) or "ImplementationSpecific"
        text = self._text(found.get("path") or "/", "path")
        if not text.startswith("/") or any(char in text for char in "\r\n\0"):
            raise self._refused(f"{text!r} is not a path: it begins with /")
        return RulePath(text, kind, self._backend(found.get("backend")))

    def _backend(self, backend: Any) -> IngressBackend | None:
        """Return the Service of a backend, which v1beta1 wrote as `serviceName` and `servicePort`."""
        found = mapping(backend)
        if "serviceName" in found:
            port = self._named(scalar(found.get("servicePort")), "servicePort")
            return IngressBackend(self._named(found["serviceName"], "serviceName"), port)
        service = mapping(found.get("service"))
        if not service:
            return None
        stated = mapping(service.get("port"))
        port = self._named(scalar(stated.get("number") or stated.get("name")), "port of a Service")
        return IngressBackend(self._named(service.get("name"), "name of a Service"), port)

    def _tls(self, tls: Any) -> IngressTls:
        found = mapping(tls)
        hosts = tuple(map(self._host, self._list(found.get("hosts"), "hosts")))
        secret = found.get("secretName")
        return IngressTls(hosts, self._named(secret, "secretName") if secret else "")

    def _host(self, host: Any) -> str:
        text = self._text(host, "host")
        if text and not _NAME.fullmatch(text.removeprefix("*.")):  # nginx would take `~a` for a pattern of names
            raise self._refused(f"{text!r} is not a host")
        return text

    def _list(self, found: Any, name: str) -> Sequence[Any]:
        if not isinstance(found or [], list):
            raise self._refused(f"{name} is not a list")
        return found or []

    def _text(self, found: Any, name: str) -> str:
        if not isinstance(found, str):
            raise self._refused(f"the {name} is not a text")
        return found

    def _named(self, found: Any, name: str) -> str:
        text = self._text(found, name)
        if not _NAME.fullmatch(text):
            raise self._refused(f"{text!r} is not a {name}")
        return text

    def _refused(self, message: str) -> InputError:
        return InputError(message, path=self._place)
