"""The settings in force for a response, which an operator looks up next."""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Directive
from nginxopt.records import record
from nginxopt.request.outcomes import OutcomeForm, OutcomeKind
from nginxopt.semantics import Level
from nginxopt.semantics.headers import INHERITANCE
from nginxopt.semantics.upstreams import PROTOCOLS

_ALWAYS = ("add_header", "add_trailer", "expires", "error_page", "access_log", "error_log")
_LIMITS = (
    *("allow", "deny", "satisfy", "auth_basic", "auth_request", "limit_req", "limit_conn", "limit_rate"),
    *("client_max_body_size", "mirror"),
)
"""Those of the phases behind the script: a `return` or `rewrite` comes before them."""
_FILES = ("root", "alias", "index", "autoindex", "default_type", "etag", "gzip", "gzip_static", "open_file_cache")
_BEFORE_LIMITS: frozenset[OutcomeKind] = frozenset(["return", "redirect", "closed"])
_BY_KIND: dict[OutcomeKind, tuple[str, ...]] = {"static": _FILES, "unknown": _FILES}


@record(eq=True)
class InForce:
    """A setting in force: its directives, all those of a list; None if it is not known."""

    name: str
    directives: tuple[Directive, ...] | None


def in_force(level: Level, outcome: OutcomeForm) -> Iterator[InForce]:
    """Yield the settings at a level that matter to an outcome, as far as any are stated."""
    for name in _names(level, outcome["kind"]):
        setting = level.headers(name) if name in INHERITANCE else level.setting(name)
        if not setting.known:
            yield InForce(name, None)
        elif setting.directives:
            yield InForce(name, setting.directives)


def _names(level: Level, kind: OutcomeKind) -> Iterator[str]:
    yield from _ALWAYS
    if kind in _BEFORE_LIMITS:
        return
    yield from _LIMITS
    yield from _BY_KIND.get(kind, ())
    if kind in PROTOCOLS:
        yield from sorted(_of_protocol(level, f"{kind}_"))


def _of_protocol(level: Level | None, prefix: str) -> set[str]:
    """Return the settings of a protocol that a level or one around it states."""
    names: set[str] = set()
    while level is not None:
        names |= {name for name in level.names if name.startswith(prefix) and not name.endswith("_cache_path")}
        level = level.parent
    return names
