"""Drift: files that should be the same on all hosts of a group, and are not.

The usual variant of a file is the one that most hosts have. The others are compared with it directive by directive, so
moved lines and comments are no difference.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, NamedTuple

from nginxopt.records import record

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

COMPARED = 50
"""The most variants of a file that are compared. If every host has its own, there is no usual one to drift from."""

NAMED = 20
"""The most hosts of a variant that are named."""


@record(eq=True)
class DirectiveDrift:
    """A directive that differs: its context and name, its line in the variant, and its parameters there and here.

    `usual` is None for one that only the variant has, `here` for one that it lacks; then there is no line.
    """

    context: str
    name: str
    line: int | None
    usual: str | None
    here: str | None


_ALIKE = 4
"""From this number on, directives of one name that one side lacks are one line for readers."""


def condensed(differences: Sequence[DirectiveDrift]) -> list[DirectiveDrift]:
    """Merge many differences of one context and name that one side lacks into one for readers: `101 rewrite`."""
    alike: dict[object, list[DirectiveDrift]] = {}
    for number, difference in enumerate(differences):
        lacks = (difference.usual is None, difference.here is None)
        one = (difference.context, difference.name, *lacks) if any(lacks) else number
        alike.setdefault(one, []).append(difference)
    return [line for group in alike.values() for line in (group if len(group) < _ALIKE else [_as_one(group)])]


def _as_one(group: Sequence[DirectiveDrift]) -> DirectiveDrift:
    usual, here = (None if side is None else "" for side in (group[0].usual, group[0].here))
    return DirectiveDrift(group[0].context, f"{len(group):,} {group[0].name}", group[0].line, usual, here)


@record(eq=True)
class FileForm:
    """A variant of a file: the number of hosts that have it, some of their names, and its digest; None where it is
    missing.

    `differences` are those from the usual variant; empty if only comments or layout differ, None if it was not
    compared.

    """

    text: str | None
    hosts: int
    names: tuple[str, ...]
    differences: tuple[DirectiveDrift, ...] | None

    @property
    def is_alone(self) -> bool:
        """Whether one host alone has it."""
        return self.hosts == 1


@record(eq=True)
class FileDrift:
    """A file of a group that has several variants, the usual one first."""

    group: str
    path: str
    hosts: int
    variants: tuple[FileForm, ...]


_VARIANTS = """
    WITH members AS (SELECT "group", host, configuration FROM hosts JOIN groups USING (host)
        WHERE configuration IN (SELECT configuration FROM files)),
    alike AS (SELECT "group" FROM members GROUP BY "group" HAVING count(DISTINCT configuration) > 1),
    paths AS (
        SELECT DISTINCT "group", path FROM members JOIN files USING (configuration) SEMI JOIN alike USING ("group")
    ),
    forms AS (
        SELECT "group", path, text, count(*) AS hosts, min(host) AS first, list_sort(list(host))[1:{named}] AS names
        FROM paths JOIN members USING ("group") LEFT JOIN files USING (configuration, path) GROUP BY ALL
    )
    SELECT "group", path, text, hosts, names FROM forms
    WHERE ("group", path) IN (SELECT ("group", path) FROM forms GROUP BY "group", path HAVING count(*) > 1)
    ORDER BY "group", path, hosts DESC, first
"""


def drift(database: DuckDBPyConnection) -> Iterator[FileDrift]:
    """Yield the files with several variants, by group and path; a host that could not be parsed is in no group."""
    found: dict[tuple[str, str], list[tuple[str | None, int, list[str]]]] = {}
    for group, path, text, hosts, names in database.execute(_VARIANTS.format(named=NAMED)).fetchall():
        found.setdefault((group, path), []).append((text, hosts, names))
    for (group, path), forms in found.items():
        usual = _directives(database, forms[0][0])
        variants = [
            FileForm(text, hosts, tuple(names), None if number >= COMPARED else _compared(database, usual, text))
            for number, (text, hosts, names) in enumerate(forms)
        ]
        yield FileDrift(group, path, sum(hosts for _, hosts, _ in forms), tuple(variants))


class _Directive(NamedTuple):
    context: str
    name: str
    args: str


def _directives(database: DuckDBPyConnection, text: str | None) -> list[tuple[_Directive, int]]:
    query = "SELECT context, name, array_to_string(args, ' '), line FROM directives WHERE text = ? ORDER BY number"
    rows = database.execute(query, [text]).fetchall()
    return [(_Directive(context, name, args or ""), line) for context, name, args, line in rows]


def _compared(
    database: DuckDBPyConnection, usual: Sequence[tuple[_Directive, int]], text: str | None
) -> tuple[DirectiveDrift, ...]:
    """Return how a variant differs from the usual one; nothing if either is a missing file."""
    if text is None or not usual:
        return ()
    return tuple(_differences(usual, _directives(database, text)))


def _differences(
    usual: Sequence[tuple[_Directive, int]], here: Sequence[tuple[_Directive, int]]
) -> Iterator[DirectiveDrift]:
    before = [directive for directive, _ in usual]
    after = [directive for directive, _ in here]
    for kind, start, end, first, last in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind != "equal":
            yield from _replaced(before[start:end], here[first:last])


def _replaced(before: Sequence[_Directive], after: Sequence[tuple[_Directive, int]]) -> Iterator[DirectiveDrift]:
    """Yield the differences of two runs: directives of the same context and name are one that changed."""
    left = list(before)
    for directive, line in after:
        same = next((old for old in left if (old.context, old.name) == (directive.context, directive.name)), None)
        if same is not None:
            left.remove(same)
        yield DirectiveDrift(
            directive.context, directive.name, line, None if same is None else same.args, directive.args
        )
    for old in left:
        yield DirectiveDrift(old.context, old.name, None, old.args, None)
