"""The unread parts of a configuration: its missing files, and what they may contain.

A missing file is unknown text in the block its include stands in: script between the rules of a server or a location,
directives, whole blocks, includes of files that are known. In `stream`, `mail` and `events` it says nothing of HTTP
requests. Of a fragment, all that stands around it was not read.
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Config, Context

_OTHERS = ("stream", "mail", "events")
"""Blocks of the main level that do not affect HTTP requests."""


def is_known(config: Config) -> bool:
    """Return whether all parts of a main configuration that may affect HTTP requests were read."""
    return config.http is not None and not any(True for _ in _contexts(config))


def is_main_known(config: Config) -> bool:
    """Return whether all directives of the main level were read, such as `pcre_jit` and `load_module`."""
    return config.http is not None and () not in _contexts(config)


def is_http_known(config: Config) -> bool:
    """Return whether all that stands directly in the http block was read: maps, and the sizes of hash tables."""
    return config.http is not None and ("http",) not in _contexts(config)


def _contexts(config: Config) -> Iterator[Context]:
    """Yield the places of missing files that may affect HTTP requests."""
    if config.missing:
        for directive, scope in config.walk():
            if config.is_missing(directive) and not set(scope.context[:1]) & set(_OTHERS):
                yield scope.context
