"""What the rules about TLS share: which endpoints are known, and how a server gets a session cache."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nginxopt.config import Directive
from nginxopt.diagnostic import Change, Fix
from nginxopt.inherit import FRAGMENT, Level
from nginxopt.layout import after, append, rewrite
from nginxopt.listens import Endpoint
from nginxopt.model import Model

CACHE = "shared:SSL:10m"
"""The cache of nginx's own example; a megabyte holds about 4,000 sessions (docs, ssl_session_cache)."""

BY_HAND = "state a cache with a name that no other zone has: ssl_session_cache shared:NAME:10m"

_ZONE = re.compile(r"(?:^|[:=])SSL(?::|$)")


def endpoints(model: Model) -> Iterator[Endpoint]:
    """Yield the addresses at which TLS is spoken, if it is certain what listens there: all of http was read."""
    if any(level.is_open for level in model.levels(FRAGMENT, "http", "server")):
        return
    yield from (endpoint for endpoint in model.endpoints.values() if endpoint.is_tls)


def has_shared_cache(server: Level) -> bool:
    """Whether the workers share the sessions of a server."""
    cache = server.setting("ssl_session_cache").directive
    return cache is not None and any(word.startswith("shared:") for word in cache.args)


def cache_fix(model: Model, server: Level, beside: Directive | None = None) -> Fix | None:
    """Return how a server gets a cache that the workers share, None if no name for it is surely free.

    What is stated is replaced; else the cache is put behind `beside`, which holds for the server.
    """
    argument = _argument(model)
    if argument is None:
        return None
    line = f"ssl_session_cache {argument};"
    stated = server.setting("ssl_session_cache").directive
    if stated:
        return Fix(f"set `{line}`", (rewrite(stated, line),))
    return Fix(f"add `{line}`", _added(server, beside, line))


def _added(server: Level, beside: Directive | None, line: str) -> tuple[Change, ...]:
    own = [directive for directive in server.directives if directive.name.startswith("ssl_")]
    place = beside or next(reversed(own), None)
    if place:
        return (after(place, [line]),)
    assert server.block is not None  # nothing around it is unknown: see `endpoints`
    return (append(server.block, [line]),)


def _argument(model: Model) -> str | None:
    """The shared cache that the configuration has, or else a new one if no zone of any module has its name."""
    for directive, _ in model.each("ssl_session_cache"):
        for word in directive.args:
            if word.startswith("shared:"):
                return str(word)
    words = (word for directive, _ in model.config.outline() for word in directive.args)
    return None if model.config.missing or any(map(_ZONE.search, words)) else CACHE
