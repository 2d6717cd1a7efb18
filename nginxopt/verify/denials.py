"""Finds the `deny all` of locations that `return 403` replaces, so that clients and upstreams see the same.

nginx answers a `return` before it looks at access rules, and sends either error in the same way. What can tell both
apart stands between (limits, the client's address), makes a denial one opinion of several (`satisfy`), or is a
subrequest, for which no access rule counts (`ngx_http_core_access_phase`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nginxopt.config import Directive
from nginxopt.facts import declarations, group, script
from nginxopt.facts.lexicon import ROWS
from nginxopt.semantics import Level
from nginxopt.verify.unmodelled import LIMITS

_BETWEEN = frozenset(["satisfy", "set_real_ip_from", "degrade", *LIMITS])
"""With these in force, a request that is denied has another answer, or another effect."""

_ANYWHERE = ("ssi", "client_body_early_read")
"""Beginnings of names: these lead to any location by subrequests, or answer earlier. So may modules of others."""


def denials(levels: Sequence[Level]) -> Iterator[Directive]:
    """Yield the directives of a site whose files were all read, and which runs no code."""
    names = {name for level in levels if level.kind not in ROWS for name in level.names}
    if any(name.startswith(_ANYWHERE) or name in group("subrequest") or not declarations(name) for name in names):
        return
    for level in levels:
        if level.kind == "location" and _is_only_denied(level):
            yield from level.own("deny")


def _is_only_denied(level: Level) -> bool:
    """Return whether a location of a server denies all clients, and neither it nor what is in force has a say before.

    A named location is none: only fallbacks lead there.
    """
    server = level.parent
    if server is None or server.kind != "server" or level.levels or level.bulks or level.args[0].startswith("@"):
        return False
    if [each.args for each in level.own("deny")] != [("all",)] or any(map(level.own, ("allow", *script()))):
        return False
    in_force = (*level.names, *server.names, *(server.parent.names if server.parent is not None else ()))
    return _BETWEEN.isdisjoint(in_force)
