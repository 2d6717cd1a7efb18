"""Opens results to read them: a file, or a folder of Parquet files."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from nginxopt.errors import InputError, UsageError
from nginxopt.fleet import tables
from nginxopt.fleet.result import CLOSED, PART
from nginxopt.text.display import unicode

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@contextmanager
def opened(path: str) -> Iterator[DuckDBPyConnection]:
    """Open a result, from which nothing but its tables can be read, and nothing can be written.

    Raises `InputError` for a file that is none, that is not complete, or that another nginxopt wrote.
    """
    if path.endswith(PART):
        raise InputError("this run did not end", path=path, hint="nginxopt fleet lint --resume goes on with it")
    if not Path(path).exists():
        raise InputError("no such file", path=path, hint="nginxopt fleet lint writes one")
    if not (Path(path).is_file() or Path(path).is_dir()):
        raise InputError("cannot be read: not a regular file", path=path)
    try:
        database = _database(Path(path))
    except duckdb.Error as error:
        raise InputError(f"cannot be read: {first_line(error)}", path=path) from None
    with database:
        _refuse_other_format(database, path)
        yield database


def _database(path: Path) -> DuckDBPyConnection:
    if not path.is_dir():
        closed = {**CLOSED, "enable_external_access": "false", "lock_configuration": "true"}
        return duckdb.connect(str(path), read_only=True, config=closed)  # type: ignore[arg-type]
    database = duckdb.connect(config=CLOSED)  # type: ignore[arg-type]
    for table in tables.TABLES:
        file = str(path.absolute() / f"{table}.parquet").replace("'", "''")
        database.execute(f"CREATE VIEW {table} AS FROM read_parquet('{file}')")
    for view in tables.view_declarations():
        database.execute(view)
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


def query(database: DuckDBPyConnection, sql: str) -> tuple[list[str], Iterator[tuple[object, ...]]]:
    """Return the columns and the rows of a query. Raises `UsageError` for one that is wrong, or that is no query."""
    sql = unicode(sql)  # as a result stores names
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
    """Run a query in a thread, as a signal takes effect only while the main thread is in Python."""
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
