"""Archives that unpack to far more than they hold, trees whose links never end, results that no run wrote.

Each is a row, or an error.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import struct
import tarfile
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random

import duckdb
import pytest
from click.testing import CliRunner, Result

from nginxopt import budget
from nginxopt.cli import nginxopt
from nginxopt.errors import InputError, NginxoptError, UsageError
from nginxopt.fleet import archives, result
from nginxopt.fleet.content import HostContent, Link
from nginxopt.fleet.judging import judge
from nginxopt.fleet.plan import FleetOptions, versions
from nginxopt.fleet.storage import Stored
from nginxopt.fleet.tables import columns, row
from tests.rows import every_row

SITE = b"events {}\nhttp { server { listen 80; } }\n"
MIB = 1024**2


def tar(path: Path, members: Iterable[tuple[str, bytes | int]], mode: str = "w:gz") -> str:
    """Write a tar of files, by content or by the number of their zeros; return its path."""
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = content if isinstance(content, int) else len(content)
            data = io.BytesIO(content) if isinstance(content, bytes) else _Zeros(content)
            archive.addfile(info, data)
    return str(path)


class _Zeros(io.RawIOBase):
    """A file of zeros."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self._left = size

    def read(self, size: int = -1) -> bytes:
        """Return zeros."""
        size = self._left if size < 0 else min(size, self._left)
        self._left -= size
        return bytes(size)


def packed_zip(path: Path, members: Iterable[tuple[str, bytes]]) -> str:
    """Write a zip of files; return its path."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return str(path)


def found(url: str) -> dict[str, str]:
    """What is read of each host of an archive: `read`, or the reason."""
    results: dict[str, str] = {}
    for host in archives.read(url, None).hosts(lambda _: False):
        try:
            host.recipe.read()
        except InputError as error:
            results[host.name] = error.message
        else:
            results[host.name] = "read"
    return results


def test_a_host_that_is_too_large_is_a_row(tmp_path: Path) -> None:
    """One host beyond its limit is refused, before its file is unpacked, and the others are read."""
    members: list[tuple[str, bytes | int]] = [("a/nginx.conf", SITE), ("b/nginx.conf", SITE)]
    members += [("b/huge", 5 * MIB), ("c/nginx.conf", SITE)]
    with budget.using({"host-bytes": MIB}):
        results = found(tar(tmp_path / "hosts.tar.gz", members))
    assert results["a"] == results["c"] == "read"
    assert "budget host-bytes" in results["b"]


def test_hosts_whose_files_are_apart_wait_within_a_limit(tmp_path: Path) -> None:
    """In a tar that takes turns between hosts, those with most bytes are given up; in a zip all are read."""
    names = [f"host{number}" for number in range(8)]
    members = [(f"{name}/{part}.conf", b"#" * 1000) for part in range(10) for name in names]
    members += [(f"{name}/nginx.conf", SITE) for name in names]
    with budget.using({"archive-waiting": 40_000}):
        waiting = found(tar(tmp_path / "hosts.tar.gz", members))
        assert set(found(packed_zip(tmp_path / "hosts.zip", members)).values()) == {"read"}
    assert 0 < sum(result == "read" for result in waiting.values()) < len(names)
    assert all(result == "read" or "archive-waiting" in result for result in waiting.values())
    assert set(waiting) == set(names)


@pytest.mark.parametrize(("name", "limit"), [("archive-members", 50), ("archive-bytes", 100_000)])
@pytest.mark.parametrize("write", [tar, packed_zip])
def test_an_archive_as_a_whole_has_limits(
    tmp_path: Path, write: Callable[[Path, Iterable[tuple[str, bytes]]], str], name: str, limit: int
) -> None:
    """Beyond the number of members, or of bytes that it unpacks to, an archive is refused with its path."""
    path = tmp_path / ("hosts.tar.gz" if write is tar else "hosts.zip")
    url = write(path, [(f"host/{number}.conf", b"#" * 2_000) for number in range(60)])
    with budget.using({name: limit}), pytest.raises(budget.ExceededError) as caught:
        found(url)
    assert (caught.value.budget, caught.value.path) == (name, url)


def test_a_header_of_any_size_is_not_read(tmp_path: Path) -> None:
    """A name of 100 MiB, which `tarfile` would read at once, ends the archive."""
    header = tarfile.TarInfo("././@LongLink")
    header.type, header.size = tarfile.GNUTYPE_LONGNAME, 100 * MIB
    path = tmp_path / "hosts.tar.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(header.tobuf(tarfile.GNU_FORMAT))
        for _ in range(100):
            file.write(b"a" * MIB)
    with pytest.raises(budget.ExceededError, match="host-bytes"):
        archives.read(str(path), None)


def test_a_sparse_file_in_a_tar_is_not_unpacked(tmp_path: Path) -> None:
    """A file of 10 GiB without a byte in it is too large for its host."""
    real = 10 * 1024 * MIB
    sparse = tarfile.TarInfo("host/huge.conf")
    sparse.size = 0
    sparse.pax_headers = {
        "GNU.sparse.major": "0",
        "GNU.sparse.minor": "1",
        "GNU.sparse.name": "host/huge.conf",
        "GNU.sparse.realsize": str(real),
        "GNU.sparse.size": str(real),
        "GNU.sparse.map": f"{real},0",
    }
    path = tmp_path / "hosts.tar"
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(sparse)
        main = tarfile.TarInfo("host/nginx.conf")
        main.size = len(SITE)
        archive.addfile(main, io.BytesIO(SITE))
    results = found(str(path))
    assert all("too large" in result for result in results.values())
    assert results


def test_links_that_double_end(tmp_path: Path) -> None:
    """Folders with two links to the next folder have a name for each way through them, which are too many."""
    files: dict[str, bytes | Link] = {"nginx.conf": SITE, "d40/a.conf": b"a;"}
    for number in range(40):
        for name in "xy":
            files[f"d{number}/{name}"] = Link(f"../d{number + 1}")
    with pytest.raises(budget.ExceededError, match="files in one configuration"):
        HostContent(files).dump()
    del tmp_path


def test_a_text_with_many_names_is_there_once() -> None:
    """A file that links give a thousand names takes the memory of one."""
    files: dict[str, bytes | Link] = {"nginx.conf": SITE, "large": b"#" * MIB}
    files |= {f"sites/{number}.conf": Link("../large") for number in range(1_000)}
    dump = HostContent(files).dump()
    assert dump.read("/etc/nginx/sites/999.conf") == b"#" * MIB
    assert len(dump._source.data) < 2 * MIB


@every_row("suffix", [".tar", ".tar.gz", ".tar.bz2", ".tar.xz", ".zip"])
@every_row("content", [b"", b"\x1f\x8b", b"BZh9", b"\xfd7zXZ\0", b"PK\5\6" + b"\xff" * 18, b"PK\6\6" * 20])
def test_what_is_no_archive_is_an_error(tmp_path: Path, suffix: str, content: bytes) -> None:
    """Damaged archives of all kinds end with an error."""
    path = tmp_path / f"hosts{suffix}"
    path.write_bytes(content + os.urandom(500) if content else content)
    with pytest.raises(InputError):
        found(str(path))


def test_a_host_that_takes_long_or_much_is_a_row(tmp_path: Path) -> None:
    """Includes that double, and a limit of time, are errors of their host; what can be said of it is kept."""
    (tmp_path / "nginx.conf").write_text("events {}\nhttp { include a; include a; }\n")
    for name, after in zip("abcdefghijklmnopqrstu", "bcdefghijklmnopqrstuv", strict=True):
        (tmp_path / name).write_text(f"include {after};\ninclude {after};\n")
    (tmp_path / "v").write_text("")
    judged = judge(Stored(str(tmp_path), is_tree=True), FleetOptions())
    assert any("budget inclusions" in row for row in judged.rows["errors"])
    with budget.using({"inclusions": 10**9, "directives": 10**9, "seconds": 1}):
        judged = judge(Stored(str(tmp_path), is_tree=True), FleetOptions())
    assert any("budget seconds" in row for row in judged.rows["errors"])


@pytest.fixture
def crafted(tmp_path: Path) -> Path:
    """A result of one host with a finding, which a test changes."""
    path = tmp_path / "fleet.duckdb"
    part = result.begin(tmp_path / "fleet.duckdb.part", {"diff": "true"}, versions(), [])
    rows = {"hosts": [row("hosts", "web1", "c", "web1")], "rules": [row("rules", "if", "t", "c", "info", "https://h/")]}
    rows["texts"] = [row("texts", "t", len(SITE), 2, SITE)]
    rows["patches"] = [row("patches", "c", "nginx.conf", b"@@")]
    finding = (0, "if", "info", "nginx.conf", "t", 0, 6, 1, 1, "m", *[None] * 6)
    saving: tuple[object, ...] = (0, 1, 1, 0, "", 0.0, 0.0, ":1", "all", [])
    found = {"findings": list(columns("findings", "c", [finding])), "savings": list(columns("savings", "c", [saving]))}
    part.add(rows, columns=found)
    part.commit()
    result.finish(part, path, parquet=False)
    return path


_REPORTS = [
    *(["report", "--format", format_, "fleet.duckdb"] for format_ in ("text", "json", "sarif", "html")),
    ["report", "--since", "fleet.duckdb", "fleet.duckdb"],
    ["diff", "--result", "fleet.duckdb"],
    ["query", "FROM host_findings", "--result", "fleet.duckdb"],
]


def _reported(command: list[str], folder: Path) -> Result:
    with contextlib.chdir(folder):
        return CliRunner().invoke(nginxopt, ["fleet", *command], standalone_mode=False)


def test_a_result_is_reported(crafted: Path) -> None:
    """The result that the tests below change is none of the errors that they expect."""
    assert [command for command in _REPORTS if _reported(command, crafted.parent).exception] == []


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE hosts SET host = NULL",
        "UPDATE findings SET severity = 'evil'",
        "UPDATE findings SET message = NULL",
        "UPDATE texts SET content = NULL",
        "UPDATE rules SET title = NULL",
        "UPDATE savings SET most = 'nan'::DOUBLE",
        "UPDATE savings SET least = -1",
        "UPDATE savings SET requests = 'evil'",
        "UPDATE savings SET connections = -1",
        "CREATE MACRO coalesce_(x) AS x",
        "CREATE VIEW more AS SELECT 1",
        "DROP VIEW host_findings; ALTER TABLE findings ALTER line TYPE VARCHAR; CREATE VIEW host_findings AS SELECT 1",
        "DROP VIEW host_errors; DROP TABLE errors; CREATE VIEW errors AS SELECT {'a': 1} AS host",
    ],
)
def test_a_crafted_result_is_an_error(crafted: Path, statement: str) -> None:
    """Other values, columns, views and macros than those of a run are refused before they reach a report."""
    with duckdb.connect(str(crafted)) as database:
        database.execute(statement)
    for command in _REPORTS:
        error = _reported(command, crafted.parent).exception
        assert isinstance(error, InputError), command
        assert "not the result of nginxopt fleet lint" in error.message


@pytest.mark.parametrize(
    "statement",
    [
        'UPDATE findings SET "end" = 1000',
        "UPDATE findings SET start = -1",
        "UPDATE findings SET instructions = 9223372036854775807;"
        " INSERT INTO hosts VALUES ('web2', 'c', 'web2'); INSERT INTO findings FROM findings",
    ],
)
def test_numbers_of_a_crafted_result_are_errors_at_most(crafted: Path, statement: str) -> None:
    """A place outside its text, or counts whose sum overflows, end no report with a traceback."""
    with duckdb.connect(str(crafted)) as database:
        database.execute(statement)
    for command in _REPORTS:
        assert isinstance(_reported(command, crafted.parent).exception, InputError | UsageError | None)


@pytest.mark.parametrize("ending", [".wal", ".wal.recovery", ".wal.checkpoint", ".tmp"])
def test_links_beside_a_result_lead_nowhere(crafted: Path, ending: str, tmp_path: Path) -> None:
    """What DuckDB takes for parts of a database, a stranger can link to any file, which a view then reads."""
    outside = tmp_path / "outside"
    outside.mkdir()
    secret = outside / "secret"
    secret.write_text("SECRET")
    with duckdb.connect(str(crafted)) as database:
        database.execute("DROP VIEW host_errors")
        names = "'h' AS host, 'c' AS configuration, 'p' AS path, 1 AS line, 1 AS \"column\", content AS message"
        database.execute(f"CREATE VIEW host_errors AS SELECT {names} FROM read_text('{secret}')")
    beside = crafted.with_name(crafted.name + ending)
    beside.symlink_to(outside if ending == ".tmp" else secret)
    for command in (*_REPORTS, ["query", "FROM main.host_errors"], ["query", f"FROM read_text('{secret}')"]):
        done = _reported(command, tmp_path)
        assert "SECRET" not in done.output
        assert isinstance(done.exception, InputError)
    part = crafted.rename(tmp_path / "fleet.duckdb.part")
    beside.rename(part.with_name(part.name + ending))
    with pytest.raises(InputError, match="a link"):
        result.resumed(part, {}, {})
    part.unlink()
    with pytest.raises(InputError, match="a link"):
        result.begin(part, {}, {}, [])
    assert [path.read_text() for path in outside.iterdir()] == ["SECRET"]


def test_a_crafted_view_is_not_evaluated(crafted: Path) -> None:
    """The views of a result are those of this nginxopt: one that never ends is not asked."""
    with duckdb.connect(str(crafted)) as database:
        database.execute("DROP VIEW host_findings")
        database.execute("CREATE VIEW host_findings AS SELECT count(*) FROM range(1000000000000) WHERE range % 7 = 1")
    done = _reported(["report", "--format", "json", "fleet.duckdb"], crafted.parent)
    assert json.loads(done.output)["totals"]["infos"] == 1


@pytest.mark.parametrize(("url", "is_link"), [("https://example.com/", True), ("javascript:alert(1)", False)])
def test_a_page_links_to_pages_only(crafted: Path, url: str, is_link: bool) -> None:
    """A crafted address of a rule is no code that a click runs."""
    with duckdb.connect(str(crafted)) as database:
        database.execute("UPDATE rules SET url = ?", [url])
    done = _reported(["report", "--format", "html", "fleet.duckdb"], crafted.parent)
    assert (f'href="{url}"' in done.output) == is_link
    assert is_link or url not in done.output


@pytest.mark.parametrize("statement", ["UPDATE findings SET severity = 'evil'", "UPDATE hosts SET host = NULL"])
def test_a_part_with_other_values_is_not_resumed(crafted: Path, statement: str) -> None:
    """What would end the summary of the run with a traceback is an error before it goes on."""
    with duckdb.connect(str(crafted)) as database:
        database.execute(statement)
    with pytest.raises(InputError, match="has other values"):
        result.resumed(crafted, {"diff": "true"}, versions())


def _sealed(data: bytearray) -> bytes:
    """Return a database with the checksums of its blocks made right, so that damage reaches what reads them."""
    for start, size in [(4096 * n, 4096) for n in range(3)] + [
        (at, 1 << 18) for at in range(12_288, len(data), 1 << 18)
    ]:
        total = 5381
        for (word,) in struct.iter_unpack("<Q", data[start + 8 : start + size]):
            total ^= word * 0xBF58476D1CE4E5B9 & (1 << 64) - 1
        data[start : start + 8] = total.to_bytes(8, "little")
    return bytes(data)


def test_the_checksums_are_those_of_duckdb(crafted: Path) -> None:
    """What the tests below rely on."""
    assert _sealed(bytearray(crafted.read_bytes())) == crafted.read_bytes()


@pytest.mark.parametrize("seed", range(12))
def test_a_damaged_result_is_an_error(crafted: Path, seed: int) -> None:
    """Whatever bytes of it were changed, a report, a query and a run that goes on end with a message."""
    random, data = Random(seed), bytearray(crafted.read_bytes())
    used = [at for at in range(4096, len(data) - 8) if data[at]]
    for _ in range(random.choice((1, 3, 20))):
        at = random.choice(used)
        data[at : at + 4] = random.choice((b"\xff\xff\xff\xff", b"\0\0\0\1", random.randbytes(4)))
    damaged = _sealed(data)
    for command in _REPORTS:
        crafted.write_bytes(damaged)
        assert isinstance(_reported(command, crafted.parent).exception, InputError | UsageError | None)
    part = crafted.rename(crafted.with_name("fleet.duckdb.part"))
    with contextlib.suppress(NginxoptError):
        resumed = result.resumed(part, {"diff": "true"}, versions())
        resumed.done()
        resumed.summary()
        resumed.close()


def test_what_duckdb_keeps_beside_a_result_is_private(tmp_path: Path) -> None:
    """What does not fit into its memory is in files of their owner alone, as the result is."""
    part = result.begin(tmp_path / "fleet.duckdb.part", {}, {}, [])
    part._ask("CREATE TEMP TABLE large AS SELECT range, repeat(hash(range)::VARCHAR, 9) FROM range(1_000_000)")
    beside = list((tmp_path / "fleet.duckdb.part.tmp").iterdir())
    assert beside
    masks = [path.stat().st_mode & 0o77 for path in (*beside, tmp_path / "fleet.duckdb.part.tmp")]
    part.close()
    assert not any(masks)
