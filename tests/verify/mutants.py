"""Configurations of a corpus with one visible change each: another value, or without a header, a block or a row."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nginxopt.config import Directive, Scope, load_text
from nginxopt.errors import NginxoptError
from nginxopt.request.model import SiteModel
from nginxopt.semantics.site import Build
from nginxopt.text import Span
from nginxopt.verify import Verification, verify
from nginxopt.version import Version

_VALUES = {
    "add_header": 1, "proxy_set_header": 1, "error_page": -1, "fastcgi_param": 1, "uwsgi_param": 1, "return": -1,
    "root": 0, "alias": 0, "allow": 0, "deny": 0, "proxy_pass": 0, "fastcgi_pass": 0, "try_files": -1, "index": 0,
    "expires": -1, "auth_basic": 0, "client_max_body_size": 0, "proxy_hide_header": 0, "rewrite": 1, "set": 1,
    "default_type": 0, "proxy_redirect": -1, "proxy_cookie_path": -1, "sub_filter": 1, "add_trailer": 1,
}  # fmt: skip
"""Directives with which of their arguments is seen from outside."""

_OTHERS = {
    "allow": "198.51.100.0/24", "deny": "198.51.100.0/24", "expires": "17m", "client_max_body_size": "12345",
    "proxy_pass": "http://192.0.2.77:7777", "fastcgi_pass": "192.0.2.77:7777", "return": "https://mutant.example/",
    "error_page": "/mutant", "try_files": "/mutant", "proxy_redirect": "/mutant/",
}  # fmt: skip
_REMOVED = ("add_header", "proxy_set_header", "error_page", "deny", "location", "server", "fastcgi_param")
_TABLES = ("map", "geo")
_BUILD = Build(Version(1, 28, 0))


@dataclass(frozen=True, slots=True)
class Mutant:
    """A change of a file: the line, what it is, and the text of the file then."""

    line: int
    told: str
    text: bytes


def mutants(draw: random.Random, path: Path, most: int) -> tuple[SiteModel | None, list[Mutant]]:
    """Return the model of a file, and changes of different kinds; no model if it is refused."""
    data = path.read_bytes()
    try:
        config = load_text(data, str(path), missing_ok=True)
        old = SiteModel(config, _BUILD)
    except NginxoptError:
        return None, []
    main = config.main.source
    kinds: dict[str, list[Mutant]] = {}
    for directive, scope in _within(config.readings):
        if directive.source is main:
            for kind, mutant in _changes(data, directive, scope):
                kinds.setdefault(kind, []).append(mutant)
    chosen = draw.sample(sorted(kinds), min(most, len(kinds)))
    return old, [draw.choice(kinds[kind]) for kind in chosen]


def verified(old: SiteModel, mutant: Mutant, path: Path) -> Verification | None:
    """What `verify` says of a mutant; None if it is refused."""
    try:
        return verify(old, SiteModel(load_text(mutant.text, str(path), missing_ok=True), _BUILD))
    except NginxoptError:
        return None


def _within(scope: Scope) -> Iterator[tuple[Directive, Scope]]:
    for each in scope.tree():
        yield from ((directive, each) for directive in each.directives)


def _changes(data: bytes, directive: Directive, scope: Scope) -> Iterator[tuple[str, Mutant]]:
    name = str(directive.name)
    is_in_http = scope.context[:1] not in (("stream",), ("mail",))
    if not is_in_http or scope.context[-1:] == ("upstream",):
        return
    if scope.context[-1:] and scope.context[-1] in _TABLES:
        if len(directive.args) == 1 and "$" not in directive.args[0] and name not in ("include", "default"):
            yield "value of a row", _with(data, directive, directive.args[0].span, b"mutant")
            yield "without a row", _without(data, directive)
        return
    if name in _VALUES and len(directive.args) > max(0, _VALUES[name]):
        word = directive.args[_VALUES[name]]
        text = _OTHERS.get(name) or f"{word.removesuffix('/')}-mutant"
        if name == "return" and len(directive.args) == 1:
            text = "418"
        yield f"another {name}", _with(data, directive, word.span, f'"{text}"'.encode("utf-8", "surrogateescape"))
    if name in _REMOVED:
        yield f"without {name}", _without(data, directive)


def _with(data: bytes, directive: Directive, span: Span, text: bytes) -> Mutant:
    return Mutant(directive.line, f"{directive.name} {text!r}", data[: span.start] + text + data[span.end :])


def _without(data: bytes, directive: Directive) -> Mutant:
    span = directive.span
    return Mutant(directive.line, f"without {directive.name}", data[: span.start] + data[span.end :])
