"""The default values of directives by nginx version, as far as rules need them: the column `default` of the facts."""

from __future__ import annotations

from nginxopt.facts import fact
from nginxopt.facts.declarations import declarations
from nginxopt.version import Version

PIVOT = Version(1, 29, 7)
"""The first version with a connection pool by default (CHANGES 1.29.7): `keepalive 32 local`, `proxy_http_version 1.1`,
and no `Connection` header."""


def default(name: str, target: Version) -> str | None:
    """Return the default of the directive `name` in a version; None if it has none, or if it is not listed here.

    For a version that does not have the directive, this is the default of the first version that has it.
    """
    known = fact(name)
    if known is None or known.default != "declared":
        return (known and known.default) or None
    rows = declarations(name)
    return next((row.default for row in rows if row.is_in(target)), rows[0].default)
