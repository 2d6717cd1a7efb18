"""Groups of hosts that should be alike, by their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from nginxopt import lazy
from nginxopt.errors import UsageError
from nginxopt.fleet.hosts import named_by

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

OTHERS = "(others)"
"""The group of hosts whose names the pattern does not match."""

_DIGITS = lazy.pattern(r"\d+")


def grouped_by(pattern: str | None) -> Callable[[str], str]:
    """Return a function that finds the group of a host from its name, by `--group-from`.

    The pattern has the form of `--host-from`, with `{group}` or a group `(?P<group>...)`. Without one, hosts whose
    names differ only in their numbers are a group: `web1` and `web12` are in `web#`. Raises `UsageError` for a pattern
    without a group.
    """
    if pattern is None:
        return lambda host: _DIGITS.sub("#", host)
    if "{group}" not in pattern and "(?P<group>" not in pattern:
        raise UsageError(f'--group-from "{pattern}" names no group', hint="such as {group}-*, or (?P<group>...)")
    find = named_by(pattern.replace("{group}", "{host}").replace("(?P<group>", "(?P<host>"), "--group-from")
    return lambda host: find(host) or OTHERS


def add(database: DuckDBPyConnection, group_of: Callable[[str], str]) -> None:
    """Add the temporary table `groups` of hosts and groups, and the view `host_groups` with configurations."""
    hosts = [host for (host,) in database.execute("SELECT host FROM hosts ORDER BY host").fetchall()]
    database.execute('CREATE TEMP TABLE groups (host VARCHAR, "group" VARCHAR)')
    database.execute("INSERT INTO groups SELECT unnest(?), unnest(?)", [hosts, list(map(group_of, hosts))])
