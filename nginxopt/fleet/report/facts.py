"""The facts of a report, each by a query. Lists are sorted, so that the same result gives the same report."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nginxopt.fleet.report import groups
from nginxopt.fleet.report.drift import FileDrift, drift
from nginxopt.fleet.report.since import Since
from nginxopt.fleet.report.traffic import FleetTraffic
from nginxopt.records import record
from nginxopt.text.display import count

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@record(eq=True)
class Totals:
    """The numbers of hosts, of different configurations and files, of hosts with errors, and of findings on all
    hosts by severity.
    """

    hosts: int
    configurations: int
    files: int
    hosts_with_errors: int
    errors: int
    warnings: int
    infos: int


@record(eq=True)
class RuleFacts:
    """A rule with findings: on how many hosts, how many on all of them, and the rule's title and page."""

    rule: str
    severity: str
    hosts: int
    findings: int
    title: str
    url: str | None


@record(eq=True)
class GroupFacts:
    """A group: its hosts, their different configurations, and what is found on all of them; the hosts of each rule."""

    group: str
    rules: dict[str, int]
    hosts: int
    configurations: int
    hosts_with_errors: int
    errors: int
    warnings: int
    infos: int


@record(eq=True)
class Saved:
    """What a rule would save: the hosts with a known saving, and the sums of what one request to each of them saves.

    Of several findings on a host the largest counts, as a request may concern only one.
    """

    rule: str
    hosts: int
    instructions: int
    connections: int


@record(eq=True)
class HostFacts:
    """A host and the numbers of its findings."""

    host: str
    group: str
    errors: int
    warnings: int
    infos: int


@record(eq=True)
class ErrorFacts:
    """What could not be read or parsed, and on how many hosts; one of them is named."""

    message: str
    path: str | None
    line: int | None
    hosts: int
    host: str


@record(eq=True)
class FailedRow:
    """A row of the table of expectations that hosts failed, with one of them."""

    line: int
    request: str
    verdict: str
    problem: str
    hosts: int
    host: str


@record(eq=True)
class FleetReport:
    """A report; `since` is None if the result is not compared with an earlier one, `traffic` without profiles."""

    totals: Totals
    rules: tuple[RuleFacts, ...]
    groups: tuple[GroupFacts, ...]
    savings: tuple[Saved, ...]
    traffic: FleetTraffic | None
    drift: tuple[FileDrift, ...]
    since: Since | None
    worst: tuple[HostFacts, ...]
    errors: tuple[ErrorFacts, ...]
    failed: tuple[FailedRow, ...]
    versions: dict[str, str]
    options: dict[str, str]

    @property
    def shared(self) -> tuple[GroupFacts, ...]:
        """The groups of more than one host; a table of the others would repeat that of hosts."""
        return tuple(group for group in self.groups if group.hosts > 1)

    @property
    def alone(self) -> str:
        """The sentence about the hosts that are in no such group; empty without any."""
        number = len(self.groups) - len(self.shared)
        which = f"{'Each of ' if number > 1 else ''}{count(number, 'host')} is a group of its own"
        return f"{which}: --group-from says which belong together." if number else ""


_SEVERITIES = """
    count(*) FILTER (severity = 'error') AS errors,
    count(*) FILTER (severity = 'warning') AS warnings,
    count(*) FILTER (severity = 'info') AS infos
"""

_TOTALS = f"""
    SELECT (SELECT count(*) FROM hosts), (SELECT count(*) FROM configurations), (SELECT count(*) FROM texts),
        (SELECT count(DISTINCT host) FROM host_errors), {_SEVERITIES}
    FROM host_findings
"""

_RULES = """
    WITH found AS (
        SELECT rule, count(DISTINCT host) AS hosts, count(*) AS findings,
            list_min(list(list_position(['error', 'warning', 'info'], severity))) AS worst
        FROM host_findings GROUP BY rule
    )
    SELECT rule, ['error', 'warning', 'info'][worst], hosts, findings, coalesce(title, ''), url
    FROM found LEFT JOIN rules USING (rule) ORDER BY hosts DESC, findings DESC, rule
"""

_GROUPS = f"""
    WITH found AS (SELECT "group", {_SEVERITIES} FROM host_findings JOIN groups USING (host) GROUP BY ALL),
    broken AS (SELECT "group", count(DISTINCT host) AS broken FROM host_errors JOIN groups USING (host) GROUP BY ALL)
    SELECT "group", count(*), count(DISTINCT configuration), coalesce(any_value(broken), 0),
        coalesce(any_value(errors), 0), coalesce(any_value(warnings), 0), coalesce(any_value(infos), 0)
    FROM hosts JOIN groups USING (host) LEFT JOIN found USING ("group") LEFT JOIN broken USING ("group")
    GROUP BY "group" ORDER BY count(*) DESC, "group"
"""

_RULES_OF_GROUPS = """
    SELECT "group", rule, count(DISTINCT host) FROM host_findings JOIN groups USING (host) GROUP BY ALL ORDER BY ALL
"""

_SAVINGS = """
    WITH largest AS (
        SELECT host, rule, max(instructions) AS instructions, max(connections) AS connections
        FROM host_findings WHERE instructions > 0 OR connections > 0 GROUP BY ALL
    )
    SELECT rule, count(*), coalesce(sum(instructions), 0)::BIGINT, coalesce(sum(connections), 0)::BIGINT
    FROM largest GROUP BY rule ORDER BY 3 DESC, 4 DESC, rule
"""

_WORST = f"""
    SELECT host, "group", {_SEVERITIES} FROM host_findings JOIN groups USING (host)
    GROUP BY ALL ORDER BY errors DESC, warnings DESC, infos DESC, host LIMIT ?
"""

_ERRORS = """
    SELECT message, path, line, count(*), min(host) FROM (SELECT DISTINCT * FROM host_errors)
    GROUP BY ALL ORDER BY 4 DESC, message, path, line
"""

_FAILED = """
    SELECT line, request, verdict, problem, count(*), min(host) FROM hosts JOIN answers USING (configuration)
    GROUP BY ALL ORDER BY line, verdict, problem
"""


def facts(
    database: DuckDBPyConnection,
    group_of: Callable[[str], str],
    *,
    most: int = 20,
    since: Since | None = None,
    traffic: FleetTraffic | None = None,
) -> FleetReport:
    """Return the report of an opened result; `most` is how many of the worst hosts it has."""

    def rows(query: str, *values: object) -> list[tuple[Any, ...]]:
        return database.execute(query, list(values)).fetchall()

    groups.add(database, group_of)
    by_group: dict[str, dict[str, int]] = {}
    for group, rule, hosts in rows(_RULES_OF_GROUPS):
        by_group.setdefault(group, {})[rule] = hosts
    (totals,) = rows(_TOTALS)
    return FleetReport(
        Totals(*totals),
        tuple(RuleFacts(*row) for row in rows(_RULES)),
        tuple(GroupFacts(group, by_group.get(group, {}), *numbers) for group, *numbers in rows(_GROUPS)),
        tuple(Saved(*row) for row in rows(_SAVINGS)),
        traffic,
        tuple(drift(database)),
        since,
        tuple(HostFacts(*row) for row in rows(_WORST, most)),
        tuple(ErrorFacts(*row) for row in rows(_ERRORS)),
        tuple(FailedRow(*row) for row in rows(_FAILED)),
        dict(rows("SELECT name, version FROM versions ORDER BY name")),
        dict(rows("SELECT name, value FROM options ORDER BY name")),
    )
