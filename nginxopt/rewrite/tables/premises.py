"""The premises of a table: assumptions about the configuration, under which nginx answers each row correctly."""

from __future__ import annotations

from dataclasses import replace

from nginxopt.rewrite.premises import OWN_NAMES, TABLE_SIZES, RewritePremise
from nginxopt.rewrite.tables.table import Table

FIRST_IN_SERVER = RewritePremise(
    "first-in-server",
    "server.conf is included in a server, before its other rewrite, if, return and set directives",
)
NO_FILES = RewritePremise(
    "no-files",
    "no file has a path that a row without ! answers: Netlify serves such a file, nginx answers the row",
)
CLIENT_SCHEME = RewritePremise(
    "client-scheme", "$scheme is the scheme of the client: no proxy in front of nginx ends TLS"
)
FORWARDED_PROTO = RewritePremise(
    "forwarded-proto",
    "the proxy in front of nginx sets X-Forwarded-Proto to the scheme of the client, whatever the client sends",
)
PLAIN_REST = RewritePremise(
    "plain-rest",
    "nobody asks for a path with & + ; = # or % below one whose target has a query",
)

_OF_TABLES = {premise.name: premise for premise in (NO_FILES, CLIENT_SCHEME, FORWARDED_PROTO, PLAIN_REST)}

PREMISES = (FIRST_IN_SERVER, *_OF_TABLES.values(), OWN_NAMES, TABLE_SIZES)
"""All premises, in the order of the summary."""


def behind_proxy(table: Table) -> Table:
    """Return the table for hosts behind a proxy that states the scheme of the client."""
    names = ("forwarded-proto" if name == "client-scheme" else name for name in table.premises)
    return replace(table, premises=tuple(names))


def is_forwarded(table: Table) -> bool:
    """Return whether `X-Forwarded-Proto` is the scheme of a request, and `$scheme` only without one."""
    return FORWARDED_PROTO.name in table.premises


def of(table: Table) -> tuple[RewritePremise, ...]:
    """Return the premises of the text emitted for a table."""
    return tuple(premise for premise in PREMISES if premise.name not in _OF_TABLES or premise.name in table.premises)
