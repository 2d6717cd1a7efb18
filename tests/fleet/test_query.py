"""nginxopt fleet query: what it prints, and that it only reads."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from nginxopt.cli import nginxopt
from nginxopt.errors import InputError, UsageError
from tests.fleet.fleets import lint, rows, tree
from tests.support import PATIENCE, ended

pytestmark = pytest.mark.usefixtures("workers")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
def test_a_result_is_only_read(tmp_path: Path) -> None:
    """A query cannot write, read other files, or change that."""
    tree(tmp_path / "hosts" / "web1")
    (tmp_path / "secret.csv").write_text("a\n1\n")
    lint("hosts")
    lint("hosts", "--output", "result/")
    before = Path("fleet.duckdb").read_bytes()
    for result in ("fleet.duckdb", "result"):
        for query in (
            "DELETE FROM hosts",
            "COPY hosts TO 'x.csv'",
            "SELECT 1; SELECT 2",
            "SET enable_external_access = true",
            "ATTACH 'other.duckdb'",
            "SELECT * FROM read_csv('secret.csv')",
            f"SELECT * FROM '{tmp_path}/secret.csv'",
            "SELECT nothing FROM nowhere",
            "",
        ):
            with pytest.raises(UsageError):
                rows(query, result)
    assert Path("fleet.duckdb").read_bytes() == before
    assert not Path("x.csv").exists()


@pytest.mark.parametrize(
    ("format_", "expected"),
    [("text", "host  n\nweb1  1\n"), ("csv", "host,n\nweb1,1\n"), ("json", '{"host": "web1", "n": 1}\n')],
)
def test_a_query_prints_its_rows(tmp_path: Path, format_: str, expected: str) -> None:
    """As a table, as CSV, and as lines of JSON."""
    tree(tmp_path / "hosts" / "web1")
    lint("hosts")
    command = ["fleet", "query", "SELECT host, 1 AS n FROM hosts", "--format", format_]
    assert CliRunner().invoke(nginxopt, command, standalone_mode=False).output == expected


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ("'nan'::DOUBLE n, ['inf'::FLOAT, 1] l", {"n": None, "l": [None, 1.0]}),
        ("{'a': '-inf'::DOUBLE} s", {"s": {"a": None}}),
        ("map([DATE '2026-01-02'], ['nan'::DOUBLE]) m", {"m": {"2026-01-02": None}}),
        ("1 a, 2 a, 3 a", {"a": 1, "a_1": 2, "a_2": 3}),
        ("1 a, 2 a, 3 a_1", {"a": 1, "a_2": 2, "a_1": 3}),
        ("1 a_1, 2 a, 3 A, 4 a", {"a_1": 1, "a": 2, "A": 3, "a_2": 4}),
    ],
)
def test_rows_are_json_with_all_columns(tmp_path: Path, columns: str, expected: object) -> None:
    """What JSON cannot hold is null or a string, and columns of the same name have keys of their own."""

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    tree(tmp_path / "hosts" / "web1")
    lint("hosts")
    command = ["fleet", "query", f"SELECT {columns}", "--format", "json"]
    printed = CliRunner().invoke(nginxopt, command, standalone_mode=False).output
    assert json.loads(printed, parse_constant=refuse) == expected


def _queries(pid: int) -> bool:
    """Return whether a process works in two threads, or has worked in one for longer than it takes to start."""
    seconds = []
    for path in Path(f"/proc/{pid}/task").glob("*/stat"):
        with contextlib.suppress(OSError):  # the thread has ended
            fields = path.read_text().rpartition(")")[2].split()  # proc_pid_stat(5)
            seconds.append((int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"))
    return sum(one > 0.1 for one in seconds) > 1 or sum(seconds) > 2


@pytest.mark.extended
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_query_of_hours_is_interrupted(tmp_path: Path, number: signal.Signals) -> None:
    """Ctrl-C and SIGTERM end a query while DuckDB works in all its threads."""
    tree(tmp_path / "hosts" / "web1")
    lint("hosts")
    hours = "SELECT count(*) FROM range(1000000000000) WHERE range % 7 = 1"
    command = [sys.executable, "-m", "nginxopt", "fleet", "query", hours]
    with ended(subprocess.Popen(command, stderr=subprocess.PIPE)) as process:
        while process.poll() is None and not _queries(process.pid):
            time.sleep(0.05)
        process.send_signal(number)
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + number
    assert b"Traceback" not in errors


@pytest.mark.parametrize("data", [None, b"", b"no database", b"SQLite format 3\0" + bytes(4096)])
def test_what_is_no_result_is_refused(tmp_path: Path, data: bytes | None) -> None:
    """A missing file, an empty one and those of other programs are errors with the path."""
    if data is not None:
        (tmp_path / "fleet.duckdb").write_bytes(data)
    with pytest.raises(InputError) as caught:
        rows("SELECT 1")
    assert "fleet.duckdb" in caught.value.render()
