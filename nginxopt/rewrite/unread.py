"""Decides whether unread text, in missing files or around a fragment, may affect HTTP requests.

A missing file, and one that an include may read only elsewhere (`nginxopt.config.places`), may contain anything that
is allowed in the block of its include: rules, other directives, whole blocks, and includes of known files. In `stream`,
`mail` and `events`, none of that affects HTTP requests. For a fragment, the text around it was not read.
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
    """Return whether all statements directly in the http block were read, such as maps and hash table sizes."""
    return config.http is not None and ("http",) not in _contexts(config)


def _contexts(config: Config) -> Iterator[Context]:
    """Yield the contexts of files that were not read, or may be others elsewhere, and may affect HTTP requests."""
    if config.elsewhere:
        includes = {include.origin for include in config.elsewhere}
        for directive, scope in config.walk():
            if directive.origin in includes and not set(scope.context[:1]) & set(_OTHERS):
                yield scope.context
