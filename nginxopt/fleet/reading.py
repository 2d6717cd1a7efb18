"""Opens results to read them: a file, or a folder of Parquet files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from nginxopt.errors import InputError, UsageError
from nginxopt.fleet import tables
from nginxopt.fleet.result import CLOSED, PART, connected_to_read, refuse_other_values
from nginxopt.text.display import unicode

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@contextmanager
def opened(path: str) -> Iterator[DuckDBPyConnection]:
    """Open a result, from which nothing but its tables can be read, and nothing can be written.

    Raises `InputError` for a file that is not a result, is incomplete, or was written by another version of nginxopt.
    """
    if path.endswith(PART):
        raise InputError("this run did not end", path=path, hint="nginxopt fleet lint --resume goes on with it")
    if not os.path.exists(path):
        raise InputError("no such file", path=path, hint="nginxopt fleet lint writes one")
    if not (os.path.isfile(path) or os.path.isdir(path)):
        raise InputError("cannot be read: not a regular file", path=path)
    try:
        database = _folder(Path(path)) if os.path.isdir(path) else connected_to_read(Path(path))
    except duckdb.Error as error:
        raise InputError(f"cannot be read: {first_line(error)}", path=path) from None
    with database:
        try:
            _refuse_other_format(database, path)
            _refuse_other_tables(database, path)
            for view in tables.view_declarations(temporary=True):  # ours: a crafted file may define other views
                database.execute(view)
            yield database
        except duckdb.Error as error:  # such as an overflow in the sums of a crafted file
            raise InputError(f"cannot be read: {first_line(error)}", path=path) from None


def _folder(path: Path) -> DuckDBPyConnection:
    database = duckdb.connect(config=CLOSED)  # type: ignore[arg-type]
    for table in tables.TABLES:
        file = str(path.absolute() / f"{table}.parquet").replace("'", "''")
        database.execute(f"CREATE VIEW {table} AS FROM read_parquet('{file}', hive_partitioning = false)")
    folder = str(path.absolute()).replace("'", "''")
    database.execute(f"SET allowed_directories = ['{folder}/']")
    database.execute("SET enable_external_access = false")
    database.execute("SET lock_configuration = true")
    return database


def _refuse_other_format(database: DuckDBPyConnection, path: str) -> None:
    try:
        found = database.execute("SELECT version FROM versions WHERE name = 'format'").fetchone()
    except duckdb.Error as error:
        raise InputError(f"not the result of nginxopt fleet lint: {first_line(error)}", path=path) from None
    if found is None or found[0] != tables.FORMAT:
        raise InputError(f"a result of format {found and found[0]}; this nginxopt reads {tables.FORMAT}", path=path)


_OTHERS = f"""
    SELECT function_name FROM duckdb_functions() WHERE NOT internal
    UNION ALL SELECT view_name FROM duckdb_views() WHERE NOT internal AND NOT temporary
        AND database_name = current_database() AND view_name NOT IN ({", ".join(f"'{name}'" for name in tables.VIEWS)})
"""
"""Macros and views that no run writes: what they read is not in the result."""


def _refuse_other_tables(database: DuckDBPyConnection, path: str) -> None:
    """Raise `InputError` for a crafted result: its tables or values are not those that a run writes."""
    if os.path.isfile(path) and (other := database.execute(_OTHERS).fetchone()):
        raise InputError(f"not the result of nginxopt fleet lint: it has {other[0]}", path=path)
    for table, columns in tables.TABLES.items():
        found = database.execute(f"DESCRIBE {table}").fetchall()
        if not columns.items() <= {(name, kind) for name, kind, *_ in found}:
            raise InputError(f"not the result of nginxopt fleet lint: {table} has other columns", path=path)
    refuse_other_values(database, path)


def query(database: DuckDBPyConnection, sql: str) -> tuple[list[str], Iterator[tuple[object, ...]]]:
    """Return the columns and the rows of a query. Raises `UsageError` if it is invalid, or does not return rows."""
    sql = unicode(sql)  # a result stores names in this form
    try:
        statements = duckdb.extract_statements(sql)
        reads = (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN)
        if len(statements) != 1 or statements[0].type not in reads:
            raise UsageError("not one SELECT", hint="a result is only read")
        _execute(database, sql)
        columns = [str(column[0]) for column in database.description or ()]
        return columns, _rows(database)
    except duckdb.Error as error:
        raise UsageError(str(error)) from None


def _execute(database: DuckDBPyConnection, sql: str) -> None:
    """Run a query in a thread, because Python handles signals only while its main thread runs Python code."""
    with ThreadPoolExecutor(1) as thread:
        try:
            thread.submit(database.execute, sql).result()
        except BaseException:
            database.interrupt()
            raise


def _rows(database: DuckDBPyConnection) -> Iterator[tuple[object, ...]]:
    while rows := database.fetchmany(1000):
        yield from rows


def first_line(error: Exception) -> str:
    """Return the first line of what DuckDB says."""
    return str(error).partition("\n")[0]
