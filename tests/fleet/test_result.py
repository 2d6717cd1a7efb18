"""The file that a run writes, batch by batch."""

from __future__ import annotations

import hashlib
import os
import signal
from pathlib import Path

import duckdb
import pytest

from nginxopt.errors import InputError
from nginxopt.fleet import result
from nginxopt.fleet.judging import JudgedText
from nginxopt.fleet.result import PartialResult
from nginxopt.fleet.tables import MOST, columns, row

pytestmark = pytest.mark.no_cover


@pytest.fixture
def part(tmp_path: Path) -> PartialResult:
    """A result of no host yet."""
    return result.begin(tmp_path / "fleet.duckdb.part", {}, {}, [])


def _text(data: bytes) -> JudgedText:
    return JudgedText(hashlib.sha256(data).hexdigest(), data, [])


@pytest.mark.extended
@pytest.mark.slow
def test_a_file_of_64_megabytes_is_written(part: PartialResult) -> None:
    """DuckDB gets more memory for a batch that needs it."""
    data = b"x" * (64 << 20)
    part.add({}, texts=[_text(data)])
    assert part.unwritten >= len(data)
    part.commit()
    assert part.unwritten == 0
    part.close()
    with duckdb.connect(str(part.path), read_only=True) as database:
        assert database.execute("SELECT octet_length(content) FROM texts").fetchall() == [(len(data),)]


@pytest.mark.extended
@pytest.mark.parametrize(("count", "size"), [(1, 8_000_000), (MOST, 2_000), (2 * MOST + 1, 10)])
def test_findings_of_any_size_are_written(part: PartialResult, count: int, size: int) -> None:
    """One message of megabytes, or many long ones, need more memory than a result usually takes."""
    message = "m" * size
    place = (0, 1, 2, 3)
    rows = [
        (number, "a", "info", "b", "c", *place, message, None, None, None, None, None, None) for number in range(count)
    ]
    part.add({}, columns={"findings": list(columns("findings", "0" * 64, rows))})
    part.commit()
    counted = part._database.execute("SELECT count(DISTINCT number), min(length(message)) FROM findings").fetchall()
    assert counted == [(count, size)]
    part.close()


@pytest.mark.parametrize("count", [0, 1, MOST, 2 * MOST + 1])
def test_directives_are_written_in_order(part: PartialResult, count: int) -> None:
    """However many a file has, and whatever bytes are in them, the rows are those that were given."""
    rows = [(number, number + 1, f"http/{number % 7}", "set\xe9\udcff", ["$a", f"{number}"]) for number in range(count)]
    for name in (b"one", b"two"):
        digest = hashlib.sha256(name).hexdigest()
        part.add({}, texts=[JudgedText(digest, name, list(columns("directives", digest, rows)))])
    part.commit()
    expected = [(*row[:3], "set\xe9\\xff", row[4]) for row in rows]
    for name in (b"one", b"two"):
        query = "SELECT * EXCLUDE (text) FROM directives WHERE text = ? ORDER BY number"
        assert part._database.execute(query, [hashlib.sha256(name).hexdigest()]).fetchall() == expected
    part.close()


def test_a_signal_during_a_batch_neither_loses_nor_doubles_it(
    part: PartialResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The batch is written first; whoever then commits again, as a run does at its end, writes nothing."""
    hosts = [row("hosts", f"web{number}", "0" * 64, "x") for number in range(1000)]
    part.add({"hosts": hosts}, texts=[_text(b"events {}")])
    write_texts = part._write_texts

    def interrupted() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        write_texts()

    monkeypatch.setattr(part, "_write_texts", interrupted)
    with pytest.raises(KeyboardInterrupt):
        part.commit()
    monkeypatch.undo()
    part.commit()
    assert len(part.done()) == 1000
    part.close()


def test_only_the_owner_reads_results(tmp_path: Path) -> None:
    """A result has secrets of configurations: its file, its log of batches and its tables are the owner's."""
    part = result.begin(tmp_path / "fleet.duckdb.part", {}, {}, [])
    part.add({}, texts=[_text(b"secret")])
    part.commit()
    made = [*tmp_path.iterdir()]
    assert len(made) == 2
    assert {path.stat().st_mode & 0o077 for path in made} == {0}
    result.finish(part, tmp_path / "tables", parquet=True)
    assert {path.stat().st_mode & 0o077 for path in (tmp_path / "tables", *(tmp_path / "tables").iterdir())} == {0}


@pytest.mark.parametrize(
    "statement",
    [
        "DROP VIEW host_findings; CREATE VIEW host_findings AS SELECT * FROM read_text('/etc/hostname')",
        "CREATE MACRO length(x) AS x",
        "CREATE TABLE more (a INT)",
        "ALTER TABLE texts ADD COLUMN secret VARCHAR DEFAULT (current_setting('memory_limit'))",
        "DROP TABLE versions",
    ],
)
def test_a_crafted_part_is_not_resumed(part: PartialResult, statement: str) -> None:
    """A file that was not written by a run has other tables, views or macros, and none of them is evaluated."""
    part.close()
    with duckdb.connect(str(part.path)) as database:
        database.execute(statement)
    with pytest.raises(InputError, match="not the result of nginxopt fleet lint"):
        result.resumed(part.path, {}, {})


def test_a_part_reaches_no_other_file(part: PartialResult, tmp_path: Path) -> None:
    """Whatever is in it, a result that is written or resumed reads no file beside it."""
    (tmp_path / "other.csv").write_text("a\n1\n")
    part.close()
    again = result.resumed(part.path, {}, {})
    for source in (tmp_path / "other.csv", Path("/etc/hostname")):
        with pytest.raises(duckdb.PermissionException):
            again._database.execute(f"SELECT * FROM read_text('{source}')")
    again.close()
