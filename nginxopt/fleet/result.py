"""The result of a run: a DuckDB file, which the command alone writes, in batches.

While it is incomplete, its name ends in `.part`. Each batch is one transaction, so it is in the file entirely or not at
all. A file with the final name is always complete.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import duckdb

from nginxopt.errors import InputError, RunError, UsageError
from nginxopt.fleet import tables
from nginxopt.fleet.judging import JudgedText
from nginxopt.lint.baseline import BaselineEntry
from nginxopt.records import record
from nginxopt.system.interrupts import uninterrupted

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from nginxopt.lint.declare import Rule

PART = ".part"
_PARQUET = frozenset(f"{table}.parquet" for table in tables.TABLES)
CLOSED = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
"""Settings with which DuckDB fetches no extensions from a server."""


@record(eq=True)
class FleetSummary:
    """What a result has.

    Attributes:
        hosts: The number of hosts.
        configurations: The number of different configurations.
        with_errors: The number of hosts with errors.
        with_bugs: The number of those that show a bug of nginxopt.
        failed: The number of hosts that failed rows of the table.
        patched: The number of hosts whose files fixes change.
        hidden: The number of findings on all hosts that the baseline hides.
        findings: The number of findings on all hosts by severity.
    """

    hosts: int
    configurations: int
    with_errors: int
    with_bugs: int
    failed: int
    patched: int
    hidden: int
    findings: Mapping[str, int]


@record(eq=True)
class UnreadHost:
    """A host that cannot be read or parsed, and why; `path` and `line` are None where it has no main file."""

    host: str
    path: str | None
    line: int | None
    message: str

    def __str__(self) -> str:
        place = [str(part) for part in (self.path, self.line) if part is not None]
        return ": ".join([self.host, *([":".join(place)] if place else []), self.message])


Schema = frozenset[tuple[str, str | None]]
"""The kinds and definitions of what a database has."""

_SMALL = {"memory_limit": "40MB", "threads": "1"}
"""DuckDB gets little memory and one thread: batches are small, and the processors belong to the workers."""

_MANY_BYTES = 8_000_000  # of texts in a batch
_LONG_BYTES = 2_000_000  # of rows or columns in a statement
_MEMORY_FOR_MANY = "512MB"  # DuckDB copies large batches


class PartialResult:
    """A result that is being written.

    A batch is kept in memory until `commit`, and then written in one transaction. `unwritten` is its size in bytes.
    """

    def __init__(self, path: Path, database: DuckDBPyConnection) -> None:
        self.path = path
        self.unwritten = 0
        self._database = database
        self._rows: dict[str, list[str]] = {}
        self._columns: dict[str, list[str]] = {}
        self._texts: dict[str, JudgedText] = {}

    def _schema(self) -> Schema:
        return _schema(self._database)

    def done(self) -> list[tuple[str, str | None]]:
        """Return the hosts in the file with the digests of their configurations; None for those with an error."""
        return self._ask("SELECT host, configuration FROM hosts")

    def add(
        self,
        rows: Mapping[str, Sequence[str]],
        *,
        columns: Mapping[str, Sequence[str]] = MappingProxyType({}),
        texts: Sequence[JudgedText] = (),
    ) -> None:
        """Add rows, whole columns and texts to the batch."""
        for added, kept in ((rows, self._rows), (columns, self._columns)):
            for table, values in added.items():
                kept.setdefault(table, []).extend(values)
                self.unwritten += sum(map(len, values))
        for text in texts:
            self.unwritten += len(text.data) + sum(map(len, text.directives))
        self._texts |= {text.digest: text for text in texts}

    def forget_unfinished(self) -> None:
        """Remove results for hosts that are not in the file, as an interrupt may come between writing the two."""
        with self._transaction():
            for table, columns in tables.TABLES.items():
                if "configuration" in columns and table != "hosts":
                    known = "SELECT configuration FROM hosts WHERE configuration IS NOT NULL"
                    self._database.execute(f"DELETE FROM {table} WHERE configuration NOT IN ({known})")
            self._database.execute("DELETE FROM errors WHERE host NOT IN (SELECT host FROM hosts)")

    def commit(self) -> None:
        """Write the batch, even if a signal arrives. Raises `RunError` if that fails, such as for a full disk."""
        with uninterrupted():  # a signal after the transaction would leave the batch here, to be written again
            try:
                with self._transaction():
                    self._write_texts()
                    for table, values in self._rows.items():
                        self._insert(table, values)
                    for table, pieces in self._columns.items():
                        self._insert_columns(table, pieces)
            except duckdb.Error as error:
                raise _unwritable(self.path, error) from None
            self._rows, self._columns, self._texts, self.unwritten = {}, {}, {}, 0

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with _private():  # DuckDB may create its log file here
            self._database.execute("BEGIN")
            try:
                yield
            except BaseException:
                self._database.execute("ROLLBACK")
                raise
            self._database.execute("COMMIT")

    def _write_texts(self) -> None:
        """Write the texts that no earlier configuration has."""
        if not self._texts:
            return
        query = "SELECT text FROM texts WHERE text IN (SELECT unnest(?))"
        known = {digest for (digest,) in self._database.execute(query, [list(self._texts)]).fetchall()}
        new = [text for digest, text in self._texts.items() if digest not in known]
        if sum(len(text.data) for text in new) > _MANY_BYTES:
            self._take_memory()
        columns = [
            [text.digest for text in new],
            [len(text.data) for text in new],
            [text.data.count(b"\n") for text in new],
            [text.data for text in new],
        ]
        self._database.execute("INSERT INTO texts SELECT unnest(?), unnest(?), unnest(?), unnest(?)", columns)
        self._insert_columns("directives", [piece for text in new for piece in text.directives])

    def _insert(self, table: str, rows: Sequence[str]) -> None:
        for start in range(0, len(rows), tables.MOST):
            self._put(tables.insertion(table), rows[start : start + tables.MOST])

    def _insert_columns(self, table: str, pieces: Sequence[str]) -> None:
        for batch in _batches(pieces):
            self._put(tables.insertion_of_columns(table), batch)

    def _put(self, statement: str, items: Sequence[str]) -> None:
        """Execute a statement with a JSON array."""
        text = f"[{','.join(items)}]"
        if len(text) > _LONG_BYTES:
            self._take_memory()
        self._database.execute(statement, [text])

    def _take_memory(self) -> None:
        self._database.execute(f"SET memory_limit = '{_MEMORY_FOR_MANY}'")

    def summary(self) -> FleetSummary:
        """Return what is in the file."""
        hosts, configurations = self._one("SELECT count(*), count(DISTINCT configuration) FROM hosts")
        (unread,) = self._one("SELECT count(DISTINCT host) FROM host_errors")
        (bugs,) = self._one("SELECT count(DISTINCT host) FROM host_errors WHERE message LIKE 'internal-error: %'")
        (failed,) = self._one("SELECT count(*) FROM hosts JOIN tests USING (configuration) WHERE failed + unknown > 0")
        (patched,) = self._one("SELECT count(DISTINCT host) FROM hosts JOIN patches USING (configuration)")
        (hidden,) = self._one("SELECT coalesce(sum(hidden), 0) FROM hosts JOIN configurations USING (configuration)")
        findings = self._ask("SELECT severity, count(*) FROM host_findings GROUP BY ALL")
        return FleetSummary(hosts, configurations, unread, bugs, failed, patched, int(hidden), dict(findings))

    def first_errors(self, most: int) -> list[UnreadHost]:
        """Return an error of each of the first hosts that have one, in the order of their names."""
        query = """SELECT host, path, line, message FROM host_errors
            WHERE host IN (SELECT DISTINCT host FROM host_errors ORDER BY host LIMIT ?)
            QUALIFY row_number() OVER (PARTITION BY host ORDER BY path, line, message) = 1 ORDER BY host"""
        return [UnreadHost(*row) for row in self._ask(query, [most])]

    def entries(self) -> list[BaselineEntry]:
        """Return the entries of a new baseline, each once."""
        query = "SELECT file, rule, fingerprint, min(cause) FROM entries GROUP BY file, rule, fingerprint"
        return [BaselineEntry(*row) for row in self._ask(query)]

    def _one(self, query: str) -> tuple[Any, ...]:
        (row,) = self._ask(query)
        return row

    def _ask(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query. Raises `InputError` where a file that is resumed is damaged."""
        try:
            with _private():  # DuckDB writes what does not fit into its memory to files beside this one
                return self._database.execute(query, values).fetchall()
        except duckdb.Error as error:
            raise _damaged(self.path, error) from None

    def close(self) -> None:
        """Close the file, so that everything is in it."""
        with _private():
            self._database.close()


def _batches(pieces: Sequence[str]) -> Iterator[list[str]]:
    """Yield columns that are inserted at once."""
    batch: list[str] = []
    size = 0
    for piece in pieces:
        if batch and size + len(piece) > tables.LONGEST:
            yield batch
            batch, size = [], 0
        batch.append(piece)
        size += len(piece)
    if batch:
        yield batch


def begin(path: Path, options: Mapping[str, str], versions: Mapping[str, str], rules: Sequence[Rule]) -> PartialResult:
    """Return a new file. Raises `UsageError` if there is one that is not complete, `RunError` if it cannot be made."""
    if os.path.lexists(path):
        raise UsageError(
            f"{path} is there already, from a run that did not end",
            hint="--resume goes on with it; remove it to begin again",
        )
    part = PartialResult(path, _connected(path, writes=parquet_files(path)))
    rows = [(rule.id, rule.title, rule.category, str(rule.severity), rule.url) for rule in rules]
    try:
        with part._transaction():
            for statement in tables.declarations():
                part._database.execute(statement)
            part._insert("options", [tables.row("options", *item) for item in options.items()])
            part._insert("versions", [tables.row("versions", *item) for item in versions.items()])
            part._insert("rules", [tables.row("rules", *row) for row in rows])
    except duckdb.Error as error:
        raise _unwritable(path, error) from None
    return part


def resumed(path: Path, options: Mapping[str, str], versions: Mapping[str, str]) -> PartialResult:
    """Return a file that is not complete. Raises `UsageError` for one of other options or versions."""
    if not os.path.exists(path):
        raise UsageError(f"--resume: there is no {path}", hint="nothing was begun, or the result is complete")
    part = PartialResult(path, _connected(path, writes=parquet_files(path)))
    try:
        if part._schema() != _schema_of_results():
            raise InputError("not the result of nginxopt fleet lint: it has other tables", path=str(path))
        with _private():
            refuse_other_values(part._database, str(path))
        before = dict(part._database.execute("SELECT name, value FROM options").fetchall())
        with_versions = dict(part._database.execute("SELECT name, version FROM versions").fetchall())
    except (duckdb.Error, ValueError) as error:
        raise _damaged(path, error) from None
    for kind, now, then in (("the options", options, before), ("the versions", versions, with_versions)):
        other = sorted((name for name in {*now, *then} if now.get(name) != then.get(name)), key=str)
        if other:
            part.close()
            name = other[0]
            raise UsageError(
                f"--resume: {kind} are others than those of {path}: {name} was {then.get(name)}, is {now.get(name)}",
                hint="run it as before, or remove the file to begin again",
            )
    try:
        part.forget_unfinished()
    except duckdb.Error as error:
        raise _damaged(path, error) from None
    return part


def refuse_other(output: Path) -> None:
    """Raise `InputError` if there is something at `output` that is not a result, which a result would replace.

    A device such as /dev/null is not refused. If a folder is there, `finish` reports that no file can be written.
    """
    is_there = os.path.exists(output) and not os.path.isdir(output)
    if is_there and (not _is_database(output) or _is_other_database(output)):
        raise InputError("is not the result of nginxopt fleet lint; nothing was written", path=str(output))


def is_result(path: Path) -> bool:
    """Return whether there is a result at a path, complete or not: a database, its log, or a folder of tables.

    A configuration is never mistaken for one: a database contains null bytes, and the folder only Parquet files.
    """
    try:
        if os.path.isdir(path):
            with os.scandir(path) as entries:
                first = next(entries, None)
                return first is not None and first.name in _PARQUET and all(entry.name in _PARQUET for entry in entries)
        is_log = path.suffix == ".wal" and _is_database(path.with_suffix(""))
        return path.name in _PARQUET or is_log or _is_database(path)
    except (OSError, ValueError):  # reading it will report why it fails
        return False


def _is_database(path: Path) -> bool:
    """Return whether a regular file begins as DuckDB writes it (duckdb.org/docs/internals/storage)."""
    if not os.path.isfile(path):
        return False
    with path.open("rb") as file:
        head = file.read(20)  # a checksum, the letters, and the version of the format in 64 bits
    return head[8:12] == b"DUCK" and head.endswith(b"\0")


def _is_other_database(path: Path) -> bool:
    """Return whether a database has no hosts. One that cannot be opened is of another version of DuckDB."""
    try:
        with connected_to_read(path) as database:
            return ("hosts",) not in database.execute("SELECT table_name FROM information_schema.tables").fetchall()
    except duckdb.Error:
        return False


def finish(part: PartialResult, output: Path, *, parquet: bool) -> None:
    """Give a complete result its name: a file, or a folder with a Parquet file for each table."""
    if parquet:
        folder = _parquet_folder(part.path)
        if os.path.exists(folder):  # left by a run that ended at this point
            _remove_result(folder)
        folder.mkdir(mode=_PRIVATE, parents=True)
        try:
            with _private():
                for table, file in zip(tables.TABLES, parquet_files(part.path), strict=True):
                    part._database.execute(f"COPY {table} TO '{_quoted(file)}' (FORMAT parquet)")
        except duckdb.Error as error:  # such as for a full disk
            raise _unwritable(folder, error) from None
    part.close()
    try:
        if parquet:
            if os.path.exists(output):
                _remove_result(output)
            folder.rename(output)
            part.path.unlink()
        else:
            part.path.replace(output)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}; the result is {part.path}", path=str(output)) from None


def _remove_result(folder: Path) -> None:
    """Remove an earlier result. Other files in its folder stay, and are an error."""
    for table in tables.TABLES:
        (folder / f"{table}.parquet").unlink(missing_ok=True)
    folder.rmdir()


def _parquet_folder(part: Path) -> Path:
    """Return the folder of the tables of a result that is being written."""
    return part.with_name(part.name + ".parquet")


def parquet_files(part: Path) -> list[Path]:
    """Return the files of the tables of a result that is being written, in the order of `tables.TABLES`."""
    return [_parquet_folder(part).absolute() / f"{table}.parquet" for table in tables.TABLES]


_BESIDE = (".wal", ".wal.recovery", ".wal.checkpoint", ".tmp")
"""The suffixes of files next to a database, which DuckDB may read and write like it, wherever links lead."""


def connected_to_read(path: Path) -> DuckDBPyConnection:
    """Open a complete result. It has no other files, so DuckDB may read nothing else, and writes nothing.

    Raises `InputError` if there is such a file, `duckdb.Error` if DuckDB cannot read the result.
    """
    _refuse_beside(path, lambda beside: os.path.exists(beside) or os.path.islink(beside), "no result has such a file")
    database = duckdb.connect(str(path), read_only=True, config={**CLOSED})
    if database.execute("SELECT current_setting('lock_configuration')").fetchone() == (True,):
        return database  # it is open already, with these settings
    for setting in ("temp_directory = ''", "enable_external_access = false", "lock_configuration = true"):
        database.execute(f"SET {setting}")
    return database


def _refuse_beside(path: Path, refused: Callable[[Path], bool], message: str) -> None:
    for place in {path, path.resolve()}:
        for ending in _BESIDE:
            beside = place.with_name(place.name + ending)
            if refused(beside):
                raise InputError(message, path=str(beside), hint="remove it")


def _connected(path: Path, *, writes: Sequence[Path]) -> DuckDBPyConnection:
    """Open a file that is being written; its queries reach no other file but those in `writes`."""
    _refuse_beside(path, os.path.islink, "a link, which DuckDB would write through")
    try:
        with _private():
            database = duckdb.connect(str(path), config={**CLOSED, **_SMALL})
        allowed = ", ".join(f"'{_quoted(file)}'" for file in writes)
        database.execute(f"SET allowed_paths = [{allowed}]")
        database.execute("SET enable_external_access = false")
    except duckdb.Error as error:
        raise _unwritable(path, error) from None
    return database


_PRIVATE = 0o700


@contextmanager
def _private() -> Iterator[None]:
    """Make files that only their owner may read: configurations have secrets, whatever the modes of their copies."""
    before = os.umask(0o777 & ~_PRIVATE)
    try:
        yield
    finally:
        os.umask(before)


def refuse_other_values(database: DuckDBPyConnection, path: str) -> None:
    """Raise `InputError` for rows that no run writes."""
    for table in tables.TABLES:
        if database.execute(f"SELECT 1 FROM {table} WHERE {tables.invalid(table)} LIMIT 1").fetchone():
            raise InputError(f"not the result of nginxopt fleet lint: {table} has other values", path=path)


def _schema_of_results() -> Schema:
    with duckdb.connect(config={**CLOSED}) as database:
        for statement in tables.declarations():
            database.execute(statement)
        return _schema(database)


def _schema(database: DuckDBPyConnection) -> Schema:
    """Return the statements that define the tables, views, indexes and macros of a database."""
    query = """SELECT 'table', sql FROM duckdb_tables() WHERE NOT internal
        UNION ALL SELECT 'view', sql FROM duckdb_views() WHERE NOT internal
        UNION ALL SELECT 'index', sql FROM duckdb_indexes()
        UNION ALL SELECT 'sequence', sql FROM duckdb_sequences()
        UNION ALL SELECT function_name, macro_definition FROM duckdb_functions() WHERE NOT internal"""
    return frozenset(database.execute(query).fetchall())


def _unwritable(path: Path, error: Exception) -> RunError:
    return RunError(f"{path} cannot be written: {_first_line(error)}")


def _damaged(path: Path, error: Exception) -> InputError:
    return InputError(f"not the result of nginxopt fleet lint: {_first_line(error)}", path=str(path))


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")
