"""Whether a configuration shows that it serves many requests.

To save a connection or some microseconds per request matters to a site with thousands of requests a second, and is
noise for a small wiki. Unless they are named, rules with `under_load` report only where the text shows load, or with
`--host`. A file for developers (`nginx.dev.conf`) or of an exercise (`examples/nginx.conf`) shows none, and neither do
several processes of one machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from nginxopt import lazy
from nginxopt.lint.queries import names
from nginxopt.semantics import values

if TYPE_CHECKING:
    from nginxopt.lint.declare import Check
    from nginxopt.lint.diagnostic import Finding
    from nginxopt.lint.queries.model import Model
    from nginxopt.semantics import Upstream

_MANY = 2_000
"""More `worker_connections` than any distribution sets by default (512, 768 or 1024)."""

_TUNED = ("keepalive", "worker_rlimit_nofile", "proxy_cache_path", "fastcgi_cache_path", "open_file_cache")
"""Directives by which operators tune a server that is busy; those of one location often come with its example."""

_LOCAL = lazy.pattern(r"unix:|127\.|localhost\b|\[::1\]")


def judged(check: Check, model: Model) -> Iterator[Finding]:
    """Yield the findings of a rule for a machine or for a configuration that shows load; otherwise decline."""
    if model.host is not None:
        yield from check(model)
    elif is_shown(model):
        yield from (finding for finding in check(model) if not finding.is_small)
    else:
        model.decline()


def is_shown(model: Model) -> bool:
    """Return whether the configuration is tuned for many requests, or balances them over several servers."""
    if names.is_without_service(model.config.main.path):
        return False
    stated = [values.number(directive.args[0]) for directive, _ in model.each("worker_connections") if directive.args]
    tuned = (level for _, level in model.each(*_TUNED) if level.kind != "location")
    is_tuned = any((number or 0) >= _MANY for number in stated) or any(True for _ in tuned)
    return is_tuned or balances(model) or any(map(_is_limited, model.upstreams.values()))


def _is_limited(upstream: Upstream) -> bool:
    return any(word.startswith("max_conns=") for server in upstream.servers for word in server.args)


def balances(model: Model) -> bool:
    """Return whether an upstream has several servers that are not all on this machine."""
    return any(
        sum(not any(map(_LOCAL.match, server.args[:1])) for server in upstream.servers) > 1
        for upstream in model.upstreams.values()
    )
