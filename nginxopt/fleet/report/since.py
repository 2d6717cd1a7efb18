"""What is new since an earlier result: findings that a host did not have, by rule, file and message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from nginxopt.records import record

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@record(eq=True)
class New:
    """A new finding: the number of hosts that have it, and one of them."""

    rule: str
    severity: str
    path: str
    message: str
    hosts: int
    host: str


@record(eq=True)
class Since:
    """The differences from an earlier result.

    Attributes:
        result: The path of the earlier result.
        new: The new findings; all of those on hosts that it does not have.
        fixed: The number of findings on all hosts that are gone, without those on hosts that are gone.
        hosts_added: The number of hosts that it does not have.
        hosts_gone: The number of hosts that it has and this one does not.
    """

    result: str
    new: tuple[New, ...]
    fixed: int
    hosts_added: int
    hosts_gone: int


class _Found(NamedTuple):
    """The findings of a host with the same rule, file and message."""

    host: str
    rule: str
    path: str
    message: str
    severity: str
    findings: int


_FOUND = """
    SELECT host, rule, path, message, min(severity), count(*) FROM host_findings
    GROUP BY host, rule, path, message ORDER BY host, rule, path, message
"""


def since(now: DuckDBPyConnection, before: DuckDBPyConnection, result: str) -> Since:
    """Compare two results. Both are sorted and read row by row, so memory does not grow with the number of findings."""
    present, past = _hosts(now), _hosts(before)
    new: Counter[tuple[str, str, str, str]] = Counter()
    examples: dict[tuple[str, str, str, str], str] = {}
    fixed = 0
    for found, old in _joined(_rows(now), _rows(before)):
        if found is not None and found.findings > (old.findings if old else 0):
            key = found.rule, found.severity, found.path, found.message
            new[key] += 1
            examples.setdefault(key, found.host)
        elif old is not None and old.host in present:
            fixed += old.findings - (found.findings if found else 0)
    order = sorted(new, key=lambda key: (-new[key], key))
    return Since(
        result,
        tuple(New(*key, new[key], examples[key]) for key in order),
        fixed,
        len(present - past),
        len(past - present),
    )


def _hosts(database: DuckDBPyConnection) -> set[str]:
    return {host for (host,) in database.execute("SELECT host FROM hosts").fetchall()}


def _rows(database: DuckDBPyConnection) -> Iterator[_Found]:
    cursor = database.execute(_FOUND)
    while rows := cursor.fetchmany(1000):
        yield from map(_Found._make, rows)


def _joined(left: Iterator[_Found], right: Iterator[_Found]) -> Iterator[tuple[_Found | None, _Found | None]]:
    """Merge two sorted sequences by host, rule, path and message. A row that only one has is paired with None."""
    one, other = next(left, None), next(right, None)
    while one is not None or other is not None:
        if other is None or (one is not None and one[:4] < other[:4]):
            yield one, None
            one = next(left, None)
        elif one is None or other[:4] < one[:4]:
            yield None, other
            other = next(right, None)
        else:
            yield one, other
            one, other = next(left, None), next(right, None)
