"""What of a configuration was not read: the files that are missing, and so what they may hold.

A missing file is unknown text in the block its include stands in: script between the rules of a server or a location,
directives, whole blocks, includes of files that are known. In `stream`, `mail` and `events` it says nothing of HTTP
requests. Of a fragment, all that stands around it was not read.
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Config, Directive

_OTHERS = ("stream", "mail", "events")
"""Blocks of the main level that no HTTP request is answered by."""


def missing(config: Config) -> Iterator[tuple[Directive, tuple[Directive, ...]]]:
    """Yield the includes of missing files that may matter to HTTP requests, with the directives around them."""
    if config.missing:
        for directive, parents in config.outline():
            if config.is_missing(directive) and (not parents or parents[0].name not in _OTHERS):
                yield directive, parents


def is_known(config: Config) -> bool:
    """Return whether all of a main configuration was read that may matter to HTTP requests."""
    return config.http is not None and not any(missing(config))


def is_main_known(config: Config) -> bool:
    """Return whether all directives of the main level were read, such as `pcre_jit` and `load_module`."""
    return config.http is not None and all(parents for _, parents in missing(config))


def is_http_known(config: Config) -> bool:
    """Return whether all that stands directly in the http block was read: maps, and the sizes of hash tables."""
    return config.http is not None and all(parents != (config.http,) for _, parents in missing(config))
