"""`nginxopt fleet query`."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import count

import click

from nginxopt.cli import options, stdout
from nginxopt.system.interrupts import interruptible
from nginxopt.text import fit
from nginxopt.text.display import cell, inert_document, printable

_EXAMPLES = """\b
Examples:
  nginxopt fleet query 'SELECT rule, count(DISTINCT host) FROM host_findings GROUP BY ALL ORDER BY 2 DESC'
  nginxopt fleet query "SELECT host, args FROM host_directives WHERE name = 'worker_connections'"
  nginxopt fleet query 'SELECT * FROM host_errors' --format csv
  nginxopt fleet query 'SHOW TABLES' --result prod.duckdb

\b
Tables: hosts, configurations, files, texts, directives, findings, patches, entries, errors, notes, tests, answers,
rules, versions, options; and of each host: host_files, host_directives, host_findings, host_errors.

\b
Exit status: 0 success, 2 usage error or invalid query, 3 unreadable result, 4 the packages of nginxopt[fleet]
are missing.
"""

_WIDEST = 60  # characters of a cell of the text table


@click.command("query", epilog=_EXAMPLES)
@click.argument("sql", metavar="SELECT")
@options.RESULT
@options.format_of(["text", "csv", "json"], "text")
@interruptible()
def command(sql: str, result: str, format_: str) -> None:
    """Query the result of nginxopt fleet lint in the SQL of DuckDB. Nothing is written."""
    from nginxopt.system import cluster

    cluster.require("duckdb")
    from nginxopt.fleet import reading

    with reading.opened(result) as database:
        columns, rows = reading.query(database, sql)
        pieces = {"text": _text, "csv": _csv, "json": _json}[format_](columns, rows)
        stdout.write(inert_document(piece, format_).encode() for piece in pieces)


def _text(columns: Sequence[str], rows: Iterable[tuple[object, ...]]) -> Iterator[str]:
    cells = [columns, *([fit(printable(_shown(value)), _WIDEST) for value in row] for row in rows)]
    widths = [max(len(row[number]) for row in cells) for number in range(len(columns))]
    for row in cells:
        yield "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() + "\n"


def _csv(columns: Sequence[str], rows: Iterable[tuple[object, ...]]) -> Iterator[str]:
    line = io.StringIO()
    writer = csv.writer(line, lineterminator="\n")
    for row in (columns, *(map(_shown, row) for row in rows)):
        writer.writerow(map(cell, row))
        yield line.getvalue()
        line.seek(0)
        line.truncate()


def _json(columns: Sequence[str], rows: Iterable[tuple[object, ...]]) -> Iterator[str]:
    keys = _distinct(columns)
    for row in rows:
        yield json.dumps(_jsonable(dict(zip(keys, row, strict=True))), default=_shown, allow_nan=False) + "\n"


def _distinct(columns: Sequence[str]) -> list[str]:
    """Return a key for each column: as in a subquery of DuckDB, the second and third `a` are `a_1` and `a_2`."""
    keys: list[str] = []
    for column in columns:
        numbered = (f"{column}_{number}" for number in count(1))
        is_second = column in keys
        keys.append(next(key for key in numbered if key not in (*columns, *keys)) if is_second else column)
    return keys


def _jsonable(value: object) -> object:
    """Return a value that JSON can represent: NaN and infinity become null, and the keys of maps strings."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key if isinstance(key, str) else _shown(key): _jsonable(item) for key, item in value.items()}
    return [_jsonable(item) for item in value] if isinstance(value, list | tuple) else value


def _shown(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
