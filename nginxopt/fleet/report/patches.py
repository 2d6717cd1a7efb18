"""The changes of fixes as one patch. A change that several hosts share is there once, after a line with the hosts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from nginxopt.errors import UsageError
from nginxopt.text.display import count, printable, unicode

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_PATCHES = """
    WITH changes AS (
        SELECT configuration, list(patch ORDER BY path) AS patches FROM patches GROUP BY configuration
    )
    SELECT list(host ORDER BY host), patches FROM hosts JOIN changes USING (configuration)
    WHERE len($1) = 0 OR list_contains($1, host)
    GROUP BY patches ORDER BY count(*) DESC, min(host)
"""


def render(database: DuckDBPyConnection, hosts: Sequence[str] = ()) -> Iterator[bytes]:
    """Yield the patch of all hosts, or of some; paths in it are those on a host, without the first slash.

    Raises `UsageError` for a host that the result does not have, and for the result of a run without `--diff`.
    """
    if database.execute("SELECT value FROM options WHERE name = 'diff'").fetchone() != ("true",):
        raise UsageError("the changes of fixes were not kept", hint="run nginxopt fleet lint with --diff")
    wanted = [unicode(host) for host in hosts]  # a result stores names in this form
    known = database.execute("SELECT DISTINCT host FROM hosts WHERE list_contains($1, host)", [wanted]).fetchall()
    unknown = sorted({*wanted}.difference(host for (host,) in known))
    if unknown:
        raise UsageError(f"the result has no host {unknown[0]}")
    for names, patches in database.execute(_PATCHES, [wanted]).fetchall():
        yield f"# {count(len(names), 'host')}: {printable(' '.join(names))}\n".encode()
        yield from patches
