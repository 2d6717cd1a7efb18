"""What findings cost a fleet under its own traffic: the profiles of its hosts, added up."""

from __future__ import annotations

import glob
from collections.abc import Iterator
from typing import TYPE_CHECKING

from nginxopt.errors import UsageError
from nginxopt.fleet.hosts import named_by
from nginxopt.lint.diagnostic import SavedADay, Saving
from nginxopt.profile.savings import Concern, Savings
from nginxopt.profile.sums import load_all
from nginxopt.records import record
from nginxopt.text.display import unicode

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@record(eq=True)
class SavedByRule:
    """What all hosts with a profile would save in a day if the findings of a rule were fixed.

    Attributes:
        hosts: The number of those on which requests reach a finding.
        requests: The requests of a day that do.
        cpu_seconds: The least and the most processor time of nginx.
        connections: Connections to upstreams that nginx would not open.
        host: The host that saves most.
    """

    rule: str
    hosts: int
    requests: int
    cpu_seconds: tuple[float, float]
    connections: int
    host: str


@record(eq=True)
class FleetTraffic:
    """The traffic of a fleet, as far as there are profiles.

    Attributes:
        hosts: The number of hosts with a profile.
        requests: Their requests of a day.
        share: The least and the most of a processor core that nginx needs itself, on all hosts with a time in their
            logs; None if no host has one.
        busiest: The host where that is most.
        is_small: Whether nginx certainly needs so little on each of them that nothing is worth a change for CPU.
        savings: The savings by rule, the largest first.
    """

    hosts: int
    requests: int
    share: tuple[float, float] | None
    busiest: str | None
    is_small: bool
    savings: tuple[SavedByRule, ...]


_SAVINGS = """
    SELECT rule, instructions, connections, nanoseconds, cause, least, most, savings.place, requests, places
    FROM hosts JOIN savings USING (configuration)
    JOIN (SELECT configuration, number, rule FROM findings) USING (configuration, number)
    WHERE host = ? ORDER BY number
"""


def paths_of(pattern: str) -> dict[str, list[str]]:
    """Return the files of a pattern by the host in their paths, such as `profiles/{host}.profile`.

    Raises `UsageError` for a pattern that names no host, or no file.
    """
    if pattern.count("{host}") != 1:
        raise UsageError(f'--profile "{pattern}" names no host', hint="such as profiles/{host}.profile")
    host_of = named_by(pattern, "--profile")
    found: dict[str, list[str]] = {}
    for path in sorted(glob.glob(pattern.replace("{host}", "*"), recursive=True)):  # noqa: PTH207 - as it was given
        host = host_of(path)
        if host is not None:
            found.setdefault(unicode(host), []).append(path)
    if not found:
        raise UsageError(f'--profile "{pattern}": no such file')
    return found


def traffic(database: DuckDBPyConnection, paths: dict[str, list[str]]) -> FleetTraffic:
    """Return what findings cost under the profiles of hosts; several of a host add up.

    Raises `UsageError` if no profile belongs to a host of the result, `InputError` for files that are not profiles.
    """
    known = {host for (host,) in database.execute("SELECT host FROM hosts").fetchall()}
    named = sorted(known.intersection(paths))
    if not named:
        raise UsageError(f"no profile is of a host of the result, such as {min(known, default='none')}")
    saved: dict[str, dict[str, SavedADay]] = {}
    requests, are_small = 0, True
    shares: dict[str, tuple[float, float]] = {}
    for host in named:
        savings = Savings(load_all(paths[host]))
        requests += round(savings.work.requests / savings.work.days)
        are_small &= savings.work.is_small
        if savings.work.share is not None:
            shares[host] = savings.work.share
        for rule, of_rule in _saved(database, host, savings):
            by_host = saved.setdefault(rule, {})
            by_host[host] = by_host[host].plus(of_rule) if host in by_host else of_rule
    return FleetTraffic(
        len(named),
        requests,
        (sum(low for low, _ in shares.values()), sum(high for _, high in shares.values())) if shares else None,
        max(shares, key=lambda host: shares[host][1]) if shares else None,
        are_small,
        tuple(sorted((_of_rule(rule, by_host) for rule, by_host in saved.items()), key=_order)),
    )


def _saved(database: DuckDBPyConnection, host: str, savings: Savings) -> Iterator[tuple[str, SavedADay]]:
    """Yield the savings of a host for findings that requests reach. One for all requests counts once for a rule."""
    everywhere: set[tuple[str, str]] = set()
    for rule, instructions, connections, nanoseconds, cause, least, most, *asked in database.execute(
        _SAVINGS, [host]
    ).fetchall():
        place, requests, places = asked
        saves = Saving(instructions, connections, nanoseconds, cause, (least, most))
        concern = Concern(saves, place, requests, frozenset(places))
        if savings.is_everywhere(concern):
            if (rule, cause) in everywhere:
                continue
            everywhere.add((rule, cause))
        of_finding = savings.of(concern)
        if of_finding.requests:
            yield rule, of_finding


def _of_rule(rule: str, by_host: dict[str, SavedADay]) -> SavedByRule:
    first, *others = by_host.values()
    for other in others:
        first = first.plus(other)
    host = max(by_host, key=lambda name: (by_host[name].most, by_host[name].connections))
    return SavedByRule(rule, len(by_host), first.requests, (first.least, first.most), first.connections, host)


def _order(saved: SavedByRule) -> tuple[float, int, str]:
    return -saved.cpu_seconds[1], -saved.connections, saved.rule
