"""What each annotation takes, and what the controller does with a value that it does not take.

`annotations.tsv` has a row for each annotation (internal/ingress/annotations): the kind of its value, what becomes of a
value that is invalid, what the configuration makes of the annotation, and what an HTTPRoute has for it.

- `invalid`: the annotation is `ignored`, the paths of the Ingress are `denied` (503), or the Ingress is `dropped`.
- `state`: `used`, or why it is not: `_WHY`.
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Iterator, Mapping
from functools import cache
from ipaddress import ip_network
from typing import Literal, NamedTuple, cast

from nginxopt.ingress.manifests import Ingress

Invalid = Literal["ignored", "denied", "dropped"]


class Annotation(NamedTuple):
    """A row of `annotations.tsv`; `route` is empty if an HTTPRoute has nothing for it."""

    name: str
    value: str
    invalid: Invalid
    state: str
    route: str


@cache
def known() -> Mapping[str, Annotation]:
    """Return the annotations by name."""
    text = (pkgutil.get_data(__package__, "annotations.tsv") or b"").decode()
    rows = [line.split("\t") for line in text.splitlines()[1:]]
    return {row[0]: Annotation(row[0], row[1], cast("Invalid", row[2]), row[3], row[4]) for row in rows}


_WHY = {
    "cache": "answers of the auth server are not cached",
    "gone": "nginx has no server push any more",
    "missing": "it needs an object or a module that is not here",
    "clients": "it keeps a client at its pod, and beside a canary at its Service",
    "pods": "it chooses among the pods of a Service",
    "speed": "it changes no answer",
    "trace": "it changes no answer",
}
"""Why an annotation has no part in the configuration, by its state."""

_CHARS = r"\-._~a-zA-Z0-9/:"
_KINDS = {
    "any": r"(?s).*",
    "auth": r".*(basic|digest).*",
    "balance": r"round_robin|ewma|chash|chashsubset|sticky_balanced|sticky_persistent",
    "bool": r"1|t|T|TRUE|true|True|0|f|F|FALSE|false|False",
    "chars": rf"[{_CHARS}]*",
    "ciphers": r"[A-Za-z0-9!:+\-_@=]*",
    "codes": r"([45][0-9]{2},? ?)*",
    "connection": r"close|keep-alive",
    "cookie": r"off|[\-._~a-zA-Z0-9/:]+\s+[\-._~a-zA-Z0-9/:]+",
    "file": r"[A-Za-z0-9.\-_]*",
    "flag": r"on|off",
    "hash": r"[A-Za-z0-9\-_~/:.$,&={}()+ ]*",
    "headers": r"[A-Za-z0-9\-_, ]*",
    "http": r"1\.[01]",
    "int": r"[+-]?[0-9]{1,18}",
    "method": r"GET|HEAD|POST|PUT|PATCH|DELETE|CONNECT|OPTIONS|TRACE",
    "methods": r"[A-Za-z]+(, ?[A-Za-z]+)*(, ?)?",
    "names": r"[A-Za-z0-9.\-_~^$*\\|()\[\]+?,/ ]*",
    "next": r"((error|timeout|invalid_header|http_500|http_502|http_503|http_504|http_403|http_404|http_429"
    r"|non_idempotent|off)\s?)+",
    "origins": r"[A-Za-z0-9.\-_~/:*, ]*",
    "page": r"@?[A-Za-z0-9.\-_:/]*",
    "path": rf"/?[{_CHARS}$]*",
    "pattern": rf"[{_CHARS}^$\[\](){{}}*+?|&=\\]*",
    "protocol": r"(?i)auto_http|https?|grpcs?|fcgi",
    "quoted": r"[^\r\n\"]*",
    "satisfy": r"any|all",
    "service": r"[a-z]([\-a-z0-9]{0,61}[a-z0-9])?",
    "size": r"(?i)[0-9]+[bkmg]?",
    "text": r"[^\r\n]*",
    "url": rf"[{_CHARS},?&=]*",
    "variables": rf"[{_CHARS},?&=$ ]*",
    "verify": r"on|off|optional|optional_no_ca",
    "words": rf"[{_CHARS} ]*",
}
"""What values match that the controller takes, by kind (parser/validators.go and the files of the annotations)."""

_READ_WITH = {
    **dict.fromkeys(("auth-always-set-cookie", "auth-method", "auth-request-redirect"), "auth-url"),
    "auth-response-headers": "auth-url",
    **dict.fromkeys(("auth-realm", "auth-secret", "auth-secret-type"), "auth-type"),
    "temporal-redirect-code": "temporal-redirect",
}
"""What the controller reads only if the Ingress has another annotation, by name: a value is not checked otherwise."""

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://(?![^/]*\.\.)[^/]+.*")

_VARIABLES = ("auth-url", "auth-signin")
"""URLs that may have variables."""

_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})

ALIASES: Mapping[str, str] = {"whitelist-source-range": "allowlist-source-range", "limit-whitelist": "limit-allowlist"}
"""Former names of annotations, which count if the new one is not there."""


class AnnotationValues:
    """The values of the annotations of one Ingress, those that the controller takes.

    Attributes:
        is_dropped: Whether the controller leaves the Ingress out.
        is_denied: Whether it answers 503 on all of its paths.
        notes: What is not as written.
    """

    def __init__(self, ingress: Ingress, *, validates: bool = True) -> None:
        self.is_dropped = False
        self.is_denied = False
        self.notes: list[str] = []
        self._values: dict[str, str] = {}
        for name, text in ingress.annotations.items():
            if _READ_WITH.get(name, name) in ingress.annotations:
                self._take(name, text, validates)
        if self.text("auth-type") and not self.text("auth-secret"):
            self._deny("auth-type", "there is no auth-secret")
        if (url := self.text("auth-url")) and not _URL.fullmatch(url):
            self._deny("auth-url", f"{url!r} is no URL with a host")
        for former, name in ALIASES.items():
            if former in self._values:
                self._values.setdefault(name, self._values[former])
        self.notes += _left_out(ingress)

    def _take(self, name: str, text: str, validates: bool) -> None:
        row = known().get(name)
        value = "\n".join(line.strip() for line in text.split("\n"))
        if row is None:
            self.notes.append(f"{name}: the controller has no such annotation")
        elif not _fits(row, value, validates):
            self.notes.append(f"{name}: {_OUTCOMES[row.invalid]}, as the controller does not take {text!r}")
            self.is_dropped |= row.invalid == "dropped"
            self.is_denied |= row.invalid == "denied"
        elif value:
            self._values[name] = value

    def _deny(self, name: str, reason: str) -> None:
        self.notes.append(f"{name}: {_OUTCOMES['denied']}, as {reason}")
        self.is_denied = True

    def text(self, name: str, default: str = "") -> str:
        """Return the value of an annotation."""
        return self._values.get(name, default)

    def number(self, name: str, default: int = 0) -> int:
        """Return the value of an annotation that is a number."""
        return int(self._values[name]) if name in self._values else default

    def flag(self, name: str, default: bool = False) -> bool:
        """Return the value of an annotation that is true or false."""
        return self._values[name] in _TRUE if name in self._values else default

    def drop(self, *names: str) -> None:
        """Forget annotations."""
        for name in names:
            self._values.pop(name, None)


_OUTCOMES = {
    "ignored": "has no effect",
    "denied": "all paths of this Ingress answer 503",
    "dropped": "this Ingress has no effect",
}


def _fits(row: Annotation, value: str, validates: bool) -> bool:
    """Return whether the controller takes a value. Numbers, truth values and addresses are always checked."""
    if not value:
        return True
    if row.value == "addresses":
        return all(map(_is_network, value.split(",")))
    if not validates and row.value not in ("int", "bool"):
        return True
    kind = "variables" if row.name in _VARIABLES else row.value
    return re.fullmatch(_KINDS[kind], value.strip()) is not None


def _is_network(text: str) -> bool:
    try:
        ip_network(text.strip(), strict=False)
    except ValueError:
        return False
    return True


def _left_out(ingress: Ingress) -> Iterator[str]:
    """Yield the annotations that have no part in the configuration, with the reason."""
    for name in ingress.annotations:
        row = known().get(name)
        if row is not None and row.state != "used":
            yield f"{name}: left out, as {_WHY[row.state]}"
