"""The tables of a result: what each has of hosts and of the configurations that they share.

A configuration is all bytes of a host. Hosts with the same bytes share one, and its findings; files with the same text
share the text in the same way. The views `host_...` join both to the hosts.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from nginxopt.text.display import unicode

FORMAT = "3"
"""Incremented by changes after which an older nginxopt cannot read a result."""

MOST = 5000
"""The number of rows that one statement inserts: DuckDB needs many times the memory of their text."""

LONGEST = 500_000
"""The bytes of columns that one statement inserts, unless one row has more."""

TABLES: Mapping[str, Mapping[str, str]] = {
    "hosts": {"host": "VARCHAR", "configuration": "VARCHAR", "place": "VARCHAR"},
    "configurations": {
        "configuration": "VARCHAR",
        "is_dump": "BOOLEAN",
        "files": "INTEGER",
        "bytes": "BIGINT",
        "lines": "BIGINT",
        "hidden": "INTEGER",
    },
    "files": {"configuration": "VARCHAR", "number": "INTEGER", "path": "VARCHAR", "text": "VARCHAR"},
    "texts": {"text": "VARCHAR", "bytes": "BIGINT", "lines": "BIGINT", "content": "BLOB"},
    "directives": {
        "text": "VARCHAR",
        "number": "INTEGER",
        "line": "INTEGER",
        "context": "VARCHAR",
        "name": "VARCHAR",
        "args": "VARCHAR[]",
    },
    "findings": {
        "configuration": "VARCHAR",
        "number": "INTEGER",
        "rule": "VARCHAR",
        "severity": "VARCHAR",
        "path": "VARCHAR",
        "text": "VARCHAR",
        "start": "BIGINT",
        "end": "BIGINT",
        "line": "INTEGER",
        "column": "INTEGER",
        "message": "VARCHAR",
        "help": "VARCHAR",
        "witness": "VARCHAR",
        "fix": "VARCHAR",
        "fix_title": "VARCHAR",
        "instructions": "BIGINT",
        "connections": "BIGINT",
    },
    "savings": {
        "configuration": "VARCHAR",
        "number": "INTEGER",
        "instructions": "BIGINT",
        "connections": "BIGINT",
        "nanoseconds": "BIGINT",
        "cause": "VARCHAR",
        "least": "DOUBLE",
        "most": "DOUBLE",
        "place": "VARCHAR",
        "requests": "VARCHAR",
        "places": "VARCHAR[]",
    },
    "patches": {"configuration": "VARCHAR", "path": "VARCHAR", "patch": "BLOB"},
    "entries": {
        "configuration": "VARCHAR",
        "file": "VARCHAR",
        "rule": "VARCHAR",
        "fingerprint": "VARCHAR",
        "cause": "VARCHAR",
    },
    "errors": {
        "host": "VARCHAR",
        "configuration": "VARCHAR",
        "path": "VARCHAR",
        "line": "INTEGER",
        "column": "INTEGER",
        "message": "VARCHAR",
    },
    "notes": {"configuration": "VARCHAR", "path": "VARCHAR", "line": "INTEGER", "message": "VARCHAR"},
    "tests": {"configuration": "VARCHAR", "passed": "INTEGER", "failed": "INTEGER", "unknown": "INTEGER"},
    "answers": {
        "configuration": "VARCHAR",
        "line": "INTEGER",
        "request": "VARCHAR",
        "verdict": "VARCHAR",
        "problem": "VARCHAR",
    },
    "rules": {"rule": "VARCHAR", "title": "VARCHAR", "category": "VARCHAR", "severity": "VARCHAR", "url": "VARCHAR"},
    "versions": {"name": "VARCHAR", "version": "VARCHAR"},
    "options": {"name": "VARCHAR", "value": "VARCHAR"},
}
"""The types of the columns of each table."""

_NULLABLE = {
    "hosts": {"configuration"},
    "findings": {"help", "witness", "fix", "fix_title", "instructions", "connections"},
    "entries": {"cause"},
    "errors": {"host", "configuration", "path", "line", "column"},
    "notes": {"path", "line"},
    "rules": {"url"},
}
"""The columns that a run may leave empty, of each table."""

VIEWS: Mapping[str, str] = {
    "host_files": "SELECT host, files.* FROM hosts JOIN files USING (configuration)",
    "host_findings": "SELECT host, findings.* FROM hosts JOIN findings USING (configuration)",
    "host_directives": "SELECT host, path, directives.* FROM hosts JOIN files USING (configuration)"
    " JOIN directives USING (text)",
    "host_errors": "SELECT hosts.host, errors.* EXCLUDE (host) FROM hosts JOIN errors"
    " ON errors.host = hosts.host OR errors.configuration = hosts.configuration",
}
"""The views, which join the tables to the hosts."""


def declarations() -> Iterable[str]:
    """Return the statements that make the tables and views."""
    for name, columns in TABLES.items():
        declared = ", ".join(f'"{column}" {kind}' for column, kind in columns.items())
        yield f"CREATE TABLE {name} ({declared})"
    yield from view_declarations()


def view_declarations(*, temporary: bool = False) -> Iterable[str]:
    """Return the statements that make the views, in the file or for one connection."""
    return (f"CREATE {'TEMP ' * temporary}VIEW {name} AS {query}" for name, query in VIEWS.items())


def invalid(table: str) -> str:
    """Return the condition in SQL for rows that no run writes."""
    wrong = [f'"{column}" IS NULL' for column in TABLES[table] if column not in _NULLABLE.get(table, ())]
    severities = " OR severity NOT IN ('error', 'warning', 'info')" if "severity" in TABLES[table] else ""
    return " OR ".join(wrong) + severities + _ALSO_INVALID.get(table, "")


_ALSO_INVALID = {
    "savings": " OR requests NOT IN ('all', 'pass', 'level') OR NOT (0 <= least AND least <= most AND most <= 1)"
    " OR least(instructions, connections, nanoseconds) < 0"
}


def insertion(table: str) -> str:
    """Return the statement that adds rows, from a JSON array of objects."""
    structure = json.dumps([_structure(table)])
    rows = f"SELECT unnest(from_json(?, '{structure}'), recursive := true)"
    blobs = [f"from_base64({name}) AS {name}" for name, kind in TABLES[table].items() if kind == "BLOB"]
    return f"INSERT INTO {table} " + (f"SELECT * REPLACE ({', '.join(blobs)}) FROM ({rows})" if blobs else rows)


def columns(table: str, first: str, rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    """Yield rows whose first columns are equal as JSON of whole columns, which takes a third of the bytes of `row`.

    Each piece has at most `MOST` rows, and of several not more than `LONGEST` bytes.
    """
    for start in range(0, len(rows), MOST):
        yield from _pieces(table, first, rows[start : start + MOST])


def _pieces(table: str, first: str, rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    shared, *names = TABLES[table]
    values = {name: list(map(_valid, column)) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
    piece = json.dumps({shared: first, **values})
    if len(piece) <= LONGEST or len(rows) == 1:
        yield piece
        return
    half = len(rows) // 2
    yield from _pieces(table, first, rows[:half])
    yield from _pieces(table, first, rows[half:])


def insertion_of_columns(table: str) -> str:
    """Return the statement that adds rows, from a JSON array of what `columns` yields."""
    shared, *names = TABLES[table]
    structure = json.dumps([{shared: TABLES[table][shared], **{name: [_structure(table)[name]] for name in names}}])
    selected = ", ".join([f"piece.{shared}", *(f'unnest(piece."{name}")' for name in names)])
    return f"INSERT INTO {table} SELECT {selected} FROM (SELECT unnest(from_json(?, '{structure}')) AS piece)"


def _structure(table: str) -> dict[str, Any]:
    """Return the types of a row in JSON, in which bytes are in base64."""
    kinds = {name: "VARCHAR" if kind == "BLOB" else kind for name, kind in TABLES[table].items()}
    return {name: [kind[:-2]] if kind.endswith("[]") else kind for name, kind in kinds.items()}


def row(table: str, *values: str | bytes | float | list[str] | None) -> str:
    """Return a row as JSON; bytes in text that are not UTF-8 are escaped."""
    columns = TABLES[table]
    return json.dumps(dict(zip(columns, map(_valid, values), strict=True)))


def _valid(value: str | bytes | float | list[str] | None) -> Any:
    if isinstance(value, list):
        return list(map(_valid, value))
    if isinstance(value, bytes):
        return b64encode(value).decode()
    return unicode(value) if isinstance(value, str) and not value.isascii() else value
