"""nginxopt fleet lint: what it finds, counts and writes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

from nginxopt.cli import nginxopt
from nginxopt.errors import InputError, UsageError
from nginxopt.fleet import judging, linting
from nginxopt.fleet.hosts import Recipe
from nginxopt.fleet.judging import Judged
from nginxopt.fleet.plan import FleetOptions
from nginxopt.fleet.storage import Stored
from nginxopt.lint.catalogue import catalogue
from tests.fleet.fleets import BROKEN, FOUND, GOOD, SITE, dump, lint, rows, tree

pytestmark = pytest.mark.usefixtures("workers")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_each_host_has_the_findings_of_its_configuration(tmp_path: Path) -> None:
    """They are those of nginxopt lint in the same files, with the names that these have on the host."""
    folder = tree(tmp_path / "hosts" / "web1", a=SITE)
    lint("hosts", status=1)
    command = ["lint", str(folder), "--isolated", "--target-version", "1.22.1", "--format", "json"]
    alone = json.loads(CliRunner().invoke(nginxopt, command, standalone_mode=False).output)
    expected = [
        (found["rule"], found["severity"], found["file"].replace(str(folder), "/etc/nginx"), found["line"])
        for found in alone["diagnostics"]
    ]
    assert expected
    assert rows("SELECT rule, severity, path, line FROM host_findings ORDER BY number") == expected


def test_the_nginx_of_each_host_is_recognised(tmp_path: Path) -> None:
    """Without a stated target version, each host is judged for a release that has what its files use."""
    early = b"http {\n    server { listen 81; location / { early_hints $http2; proxy_pass http://192.0.2.1; } }"
    tree(tmp_path / "hosts" / "new", GOOD.replace(b"http {", early))
    tree(tmp_path / "hosts" / "old", GOOD)
    command = ["fleet", "lint", "hosts", "--isolated", "--workers", "1", "--select", "newer-directive"]
    for stated, found in (([], []), (["--target-version", "1.28.0"], [("new",)])):
        output = f"{len(stated)}.duckdb"
        CliRunner().invoke(nginxopt, [*command, "--output", output, *stated], standalone_mode=False)
        assert rows("SELECT host FROM host_findings", output) == found


def test_hosts_share_files_but_no_findings(tmp_path: Path) -> None:
    """What is found in a file depends on the files around it, also where a worker has parsed it for another host."""
    other = GOOD.replace(b"http {", b'http {\n    proxy_http_version 1.1;\n    proxy_set_header Connection "";')
    for name, main in (("web1", GOOD), ("web2", other), ("web3", GOOD + b"# the same\n")):
        tree(tmp_path / "hosts" / name, main, a=SITE.replace(b":80;", b":80;\n    keepalive 8;"))
    lint("hosts", status=1)
    found = rows("SELECT host, rule, path, line, message FROM host_findings ORDER BY ALL")
    expected = []
    for name in ("web1", "web2", "web3"):
        folder = str(tmp_path / "hosts" / name)
        command = ["lint", folder, "--isolated", "--target-version", "1.22.1", "--format", "json"]
        alone = json.loads(CliRunner().invoke(nginxopt, command, standalone_mode=False).output)
        expected += [
            (name, each["rule"], each["file"].replace(folder, "/etc/nginx"), each["line"], each["message"])
            for each in alone["diagnostics"]
        ]
    assert found == sorted(expected)
    assert len({row[1:] for row in found if row[0] == "web1"} ^ {row[1:] for row in found if row[0] == "web2"}) > 0


def test_trees_dumps_and_archives_have_the_same_findings(tmp_path: Path) -> None:
    """The same files, in a tree, in a dump and in a tar file, are judged alike."""
    folder = tree(tmp_path / "hosts" / "web", a=SITE)
    (tmp_path / "dumps").mkdir()
    (tmp_path / "dumps" / "web.txt").write_bytes(dump(folder))
    subprocess.run(["tar", "-czf", "hosts.tar.gz", "hosts"], check=True)
    found = []
    for source in ("hosts", "dumps", "hosts.tar.gz"):
        lint(source, "--output", f"{source}.duckdb", "--host-from", r"(?P<host>web)(\.txt|/nginx.conf)$", status=1)
        found.append(rows(FOUND, f"{source}.duckdb"))
    assert found[0]
    assert found == [found[0]] * 3


def test_the_same_bytes_are_judged_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hosts with the same files share a configuration, and its findings count for each."""
    asked: list[str] = []

    def judge(recipe: Recipe, plan: FleetOptions) -> Judged:
        asked.append(str(recipe))
        return judging.judge(recipe, plan)

    monkeypatch.setattr("nginxopt.fleet.worker.judge", judge)
    for number in range(40):
        tree(tmp_path / "hosts" / f"web{number}", a=SITE if number % 2 else SITE + b"\n")
    lint("hosts", status=1)
    assert len(asked) == 2
    assert rows("SELECT count(*), count(DISTINCT configuration) FROM hosts") == [(40, 2)]
    counts = rows("SELECT host, count(*) FROM host_findings GROUP BY ALL")
    assert len(counts) == 40
    assert len({count for _, count in counts}) == 1


def test_a_text_is_hashed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And not for each of its findings, as a text of a megabyte may have thousands."""
    hashed: list[bytes] = []
    original = judging._digest_of

    def digest_of(data: bytes) -> str:
        hashed.append(data)
        return original(data)

    monkeypatch.setattr(judging, "_digest_of", digest_of)
    servers = b"server { listen 80; server_name a; }\n" * 50
    host = tmp_path / "host"
    host.mkdir()
    (host / "nginx.conf").write_bytes(b"events {}\nhttp {\n" + servers + b"}\n")
    judged = judging.judge(Stored(str(host), is_tree=True), FleetOptions())
    assert sum(map(len, judged.columns["findings"])) > 50
    assert len(hashed) <= 2


def test_a_host_that_cannot_be_read_is_a_row(tmp_path: Path) -> None:
    """No main file, a broken main file, a broken include: each is an error of its host, and the others are checked."""
    tree(tmp_path / "hosts" / "good", a=SITE)
    tree(tmp_path / "hosts" / "broken", BROKEN)
    tree(tmp_path / "hosts" / "half", a=SITE, b=b"server {")
    (tmp_path / "hosts" / "empty").mkdir()
    done = lint("hosts", status=3)
    assert (
        "3 hosts cannot be read or parsed\n"
        "  broken: /etc/nginx/nginx.conf:2: this block is not closed\n"
        "  empty: no nginx.conf in the tree\n"
        "  half: /etc/nginx/conf.d/b.conf:1: this block is not closed\n"
    ) in done.output
    assert rows("SELECT host, path, line, message FROM host_errors ORDER BY host") == [
        ("broken", "/etc/nginx/nginx.conf", 2, "this block is not closed"),
        ("empty", None, None, "no nginx.conf in the tree"),
        ("half", "/etc/nginx/conf.d/b.conf", 1, "this block is not closed"),
    ]
    assert rows("SELECT DISTINCT host FROM host_findings") == [("good",)]


def test_the_first_hosts_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    """Each with one error, and how many others there are; the report has them all."""
    for number in range(7):
        tree(tmp_path / "hosts" / f"web{number}", BROKEN, b=b"server {")
    told = lint("hosts", status=3).output.partition("7 hosts cannot be read or parsed\n")[2].splitlines()
    assert [line.partition(":")[0] for line in told[:5]] == [f"  web{number}" for number in range(5)]
    assert told[5] == "  and 2 others"


def test_a_bug_is_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a rule of nginxopt raises is an error of the host, and says that it is a bug."""

    def fail(*_: object) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(linting, "check", fail)
    tree(tmp_path / "hosts" / "web1")
    lint("hosts", status=70)
    ((message,),) = rows("SELECT message FROM host_errors")
    assert message.startswith("internal-error: the configuration failed: ZeroDivisionError: by zero at linting.py:")


def test_a_bug_of_one_rule_is_a_row_beside_the_findings_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other rules are run, and the status is 70."""
    monkeypatch.setitem(catalogue()["upstream-keepalive-missing"].__dict__, "check", rule_fails)
    tree(tmp_path / "hosts" / "web1", a=SITE)
    lint("hosts", "--select", "all", status=70)
    assert rows("SELECT count(*) FROM host_findings") > [(0,)]
    ((message,),) = rows("SELECT message FROM host_errors")
    assert message.startswith("internal-error: rule upstream-keepalive-missing failed: KeyError: ")


def rule_fails(_: object) -> None:
    """A rule with a bug."""
    raise KeyError("no such row")


def test_a_bug_of_a_fix_leaves_the_findings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fixes that cannot be made are an error of the host, and no patch."""
    monkeypatch.setattr(linting, "fixes", rule_fails_to_fix)
    tree(tmp_path / "hosts" / "web1", a=SITE)
    lint("hosts", "--select", "all", "--diff", "--unsafe-fixes", status=70)
    assert rows("SELECT count(*) FROM host_findings") > [(0,)]
    assert rows("SELECT count(*) FROM patches") == [(0,)]


def rule_fails_to_fix(*_: object, **__: object) -> None:
    """Fixes with a bug."""
    raise KeyError("no such place")


def test_bytes_that_are_no_text_survive(tmp_path: Path) -> None:
    """Other encodings in directives and file names are escaped, the text itself is kept."""
    tree(tmp_path / "hosts" / "web1", a=b"server { server_name \xff\xe9.de; }\n")
    lint("hosts")
    assert rows("SELECT args FROM host_directives WHERE name = 'server_name'") == [([r"\xff\xe9.de"],)]
    assert (b"server { server_name \xff\xe9.de; }\n",) in rows("SELECT content FROM texts")


def test_every_option_of_lint_that_selects_applies(tmp_path: Path) -> None:
    """--select, --ignore, --fail-on and the settings decide what is found and what the status is."""
    tree(tmp_path / "hosts" / "web1", a=SITE)
    lint("hosts", "--select", "upstream-keepalive-missing", status=1)
    assert rows("SELECT rule, connections FROM host_findings") == [("upstream-keepalive-missing", 1)]
    lint("hosts", "--select", "upstream-keepalive-missing", "--fail-on", "error", status=0)
    lint("hosts", "--ignore", "all", status=0)
    assert rows("SELECT rule FROM host_findings") == []
    (tmp_path / "s.toml").write_text('select = ["upstream-keepalive-missing"]\n')
    done = CliRunner().invoke(nginxopt, ["fleet", "lint", "hosts", "--config", "s.toml"], standalone_mode=False)
    assert done.return_value == 1
    assert rows("SELECT rule FROM host_findings") == [("upstream-keepalive-missing",)]


def test_a_baseline_hides_what_it_records(tmp_path: Path) -> None:
    """Findings that --write-baseline records are hidden on all hosts, and by the setting, too; others are not."""
    tree(tmp_path / "hosts" / "web1", a=SITE)
    tree(tmp_path / "hosts" / "web2")
    done = lint("hosts", "--write-baseline", "known.json", status=0)
    count = len({row[1:] for row in rows(FOUND)})
    assert f"known.json: {count} finding" in done.output
    tree(
        tmp_path / "hosts" / "web3",
        a=SITE,
        b=b"server { error_log off; location / { proxy_pass http://127.0.0.1:1; } }\n",
    )
    done = lint("hosts", "--baseline", "known.json", status=1)
    assert {row[0] for row in rows(FOUND)} == {"web3"}
    assert "the baseline hides" in done.output
    (tmp_path / "s.toml").write_text('baseline = "known.json"\n')
    CliRunner().invoke(nginxopt, ["fleet", "lint", "hosts/web*", "--config", "s.toml"], standalone_mode=False)
    assert {row[0] for row in rows(FOUND)} == {"web3"}
    with pytest.raises(InputError, match="cannot be read"):
        raise lint("hosts", "--baseline", "none.json").exception or AssertionError


def test_a_baseline_hides_the_same_wherever_it_is(tmp_path: Path) -> None:
    """The files of a baseline are those on the hosts, so it can be moved."""
    tree(tmp_path / "hosts" / "web1", a=SITE)
    lint("hosts", "--write-baseline", "known.json", status=0)
    files = {entry["file"] for entry in json.loads((tmp_path / "known.json").read_text())["findings"]}
    assert files
    assert all(file.startswith("/etc/nginx/") for file in files)
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "known.json").rename(tmp_path / "deep" / "er" / "known.json")
    lint("hosts", "--baseline", "deep/er/known.json", status=0)
    assert rows(FOUND) == []


def test_files_that_were_not_collected_decide_about_fixes(tmp_path: Path) -> None:
    """A tree may lack the files of a folder, the output of nginx -T has all: only there a fix needs no premise."""
    slow = GOOD.replace(b"http {", b"http {\n    gzip on; gzip_types text/css; gzip_comp_level 9;")
    folder = tree(tmp_path / "hosts" / "web1", slow)
    (tmp_path / "dumps").mkdir()
    (tmp_path / "dumps" / "web1.txt").write_bytes(dump(folder))
    lint("hosts", "--diff", "--select", "gzip-level")
    assert rows("SELECT * FROM patches") == []
    assert rows("SELECT message FROM notes") != []
    lint("dumps", "--diff", "--select", "gzip-level", "--output", "dumps.duckdb")
    assert len(rows("SELECT * FROM patches", "dumps.duckdb")) == 1
    lint("hosts", "--diff", "--select", "gzip-level", "--assume", "whole-configuration")
    assert len(rows("SELECT * FROM patches")) == 1


def test_what_a_baseline_records_is_not_fixed(tmp_path: Path) -> None:
    """With --diff there are no changes for findings that the baseline records."""
    tree(tmp_path / "hosts" / "web1", a=SITE)
    lint("hosts", "--diff", "--unsafe-fixes", status=1)
    assert rows("SELECT * FROM patches")
    lint("hosts", "--write-baseline", "known.json", status=0)
    lint("hosts", "--diff", "--unsafe-fixes", "--baseline", "known.json", status=0)
    assert rows("SELECT * FROM patches") == []


def test_the_baseline_of_a_dump_is_one_of_a_fleet(tmp_path: Path) -> None:
    """nginxopt lint - --write-baseline records the same of the output of nginx -T."""
    text = dump(tree(tmp_path / "hosts" / "web1", a=SITE))
    lint("hosts", "--write-baseline", "of_fleet.json", status=0)
    command = ["lint", "-", "--isolated", "--target-version", "1.22.1", "--write-baseline", "of_dump.json"]
    assert CliRunner().invoke(nginxopt, command, standalone_mode=False, input=text).return_value == 0
    assert (tmp_path / "of_dump.json").read_text() == (tmp_path / "of_fleet.json").read_text()


def test_a_fleet_with_errors_has_no_baseline(tmp_path: Path) -> None:
    """What could not be read may have findings, so nothing is recorded."""
    tree(tmp_path / "hosts" / "broken", BROKEN)
    assert "known.json was not written" in lint("hosts", "--write-baseline", "known.json", status=3).output
    assert not (tmp_path / "known.json").exists()


def test_fixes_are_kept_as_a_patch(tmp_path: Path) -> None:
    """The patch of a host makes of its tree what nginxopt lint --fix does; hosts with the same one share it."""
    site = SITE.replace(b"listen 80;", b"listen 80; # caf\xe9")
    for name in ("web1", "web2"):
        tree(tmp_path / "hosts" / name, a=site)
    tree(tmp_path / "hosts" / "web3", b"events {}\n")
    options = ("--assume", "idle-connections,http11-backends", "--select", "upstream-keepalive-missing")
    assert "fixes for 2 hosts" in lint("hosts", "--diff", *options, status=1).output
    whole = CliRunner().invoke(nginxopt, ["fleet", "diff"], standalone_mode=False).stdout_bytes
    assert whole.startswith(b"# 2 hosts: web1 web2\n--- etc/nginx/conf.d/a.conf\n")
    assert whole.count(b"+++ ") == 1
    command = ["fleet", "diff", "web1", "--output", "web1.patch"]
    assert CliRunner().invoke(nginxopt, command, standalone_mode=False).exception is None
    subprocess.run(["patch", "-d", "hosts/web1", "-p2", "-i", "../../web1.patch"], check=True, capture_output=True)
    command = ["lint", "hosts/web2", "--isolated", "--target-version", "1.22.1", "--fix", *options]
    assert CliRunner().invoke(nginxopt, command, standalone_mode=False).return_value == 0
    one, other = ((tmp_path / "hosts" / name / "conf.d" / "a.conf").read_bytes() for name in ("web1", "web2"))
    assert one == other != site
    lint("hosts", "--diff", *options, status=0)
    assert CliRunner().invoke(nginxopt, ["fleet", "diff"], standalone_mode=False).stdout_bytes == b""


def test_hosts_and_files_of_any_name_are_patched(tmp_path: Path) -> None:
    """`patch` changes all files of a host, whatever bytes its name and theirs have."""
    host, names = tmp_path / "hosts" / "web\udcff", ("my site.conf", "a\nb.conf", 'a"\\.conf', "\udcff.conf", "z.conf")
    folder = tree(tmp_path / "hosts" / "web1")
    for number, name in enumerate(names):
        (folder / "conf.d" / name).write_bytes(SITE.replace(b"app", b"app%d" % number))
    folder.rename(host)
    lint("hosts", "--diff", "--assume", "idle-connections,http11-backends", status=1)
    for command in (["fleet", "diff", str(host.name)], ["fleet", "diff", r"web\xff"]):
        patch = CliRunner().invoke(nginxopt, command, standalone_mode=False).stdout_bytes
        assert patch.startswith(rb"# 1 host: web\xff" + b"\n--- ")
    subprocess.run(["patch", "-d", host, "-p2"], input=patch, check=True, capture_output=True)
    assert all(b"keepalive" in (host / "conf.d" / name).read_bytes() for name in names)
    command = ["fleet", "query", "SELECT count(*) FROM hosts WHERE host = 'web\udcff'", "--format", "csv"]
    assert CliRunner().invoke(nginxopt, command, standalone_mode=False).output.split() == ["count_star()", "1"]


def test_a_patch_that_was_not_kept_is_an_error(tmp_path: Path) -> None:
    """A result of a run without --diff, and a host that it does not have, are refused."""
    tree(tmp_path / "hosts" / "web1", a=SITE)
    lint("hosts", status=1)
    done = CliRunner().invoke(nginxopt, ["fleet", "diff"], standalone_mode=False)
    assert isinstance(done.exception, UsageError)
    assert "were not kept" in str(done.exception)
    lint("hosts", "--diff", status=1)
    done = CliRunner().invoke(nginxopt, ["fleet", "diff", "web9"], standalone_mode=False)
    assert isinstance(done.exception, UsageError)
    assert "no host web9" in str(done.exception)


def test_templates_are_read_in_all_readings(tmp_path: Path) -> None:
    """A tree of templates has the findings that hold whatever the tags are; a table cannot be asked of it."""
    (tmp_path / "hosts").mkdir()
    branch = b"{% if big %}worker_processes 1;{% endif %}\n"
    folder = tree(tmp_path / "hosts" / "web1", branch + GOOD, a=SITE.replace(b"10.0.0.1", b"{{ address }}"))
    lint("hosts", status=1)
    found = rows("SELECT rule, path, line FROM host_findings")
    assert ("upstream-keepalive-missing", "/etc/nginx/conf.d/a.conf", 1) in found
    command = ["lint", str(folder), "--isolated", "--target-version", "1.22.1", "--format", "json"]
    alone = json.loads(CliRunner().invoke(nginxopt, command, standalone_mode=False).output)
    assert sorted(rule for rule, _, _ in found) == sorted(finding["rule"] for finding in alone["diagnostics"])
    notes = rows("SELECT path, line, message FROM notes WHERE message LIKE 'this is a%'")
    assert [(path, line) for path, line, _ in notes] == [("/etc/nginx/nginx.conf", 1), ("/etc/nginx/conf.d/a.conf", 1)]
    (tmp_path / "table.csv").write_text("from,to,status\n/c,,200\n")
    lint("hosts", "--trace", "table.csv", status=3)
    (message,) = rows("SELECT message FROM host_errors")[0]
    assert message == "this is a Jinja template: check the rendered file"


def test_each_host_is_asked_the_table(tmp_path: Path) -> None:
    """--trace says of each host which rows fail, as nginxopt test does."""
    (tmp_path / "table.csv").write_text("from,to,status\n/a,/b,301\n/c,,200\n")
    redirect = b"server { listen 80; location /a { return 301 /b; } location / { return 200; } }\n"
    tree(tmp_path / "hosts" / "web1", a=redirect)
    tree(tmp_path / "hosts" / "web2", a=redirect.replace(b"/b", b"/x"))
    done = lint("hosts", "--trace", "table.csv", "--base", "http://localhost", "--ignore", "all", status=1)
    assert "1 host failed the table" in done.output
    tested = rows("SELECT host, passed, failed, unknown FROM hosts JOIN tests USING (configuration) ORDER BY host")
    assert tested == [("web1", 2, 0, 0), ("web2", 1, 1, 0)]
    ((line, problem),) = rows("SELECT line, problem FROM answers")
    assert line == 2
    assert "expected 301 to /b, got 301 to" in problem


def test_a_table_that_is_broken_ends_the_run_before_it_begins(tmp_path: Path) -> None:
    """The error names the row; nothing is written."""
    tree(tmp_path / "hosts" / "web1")
    (tmp_path / "table.csv").write_text("from,to,status\n/a,/b,9999\n")
    done = lint("hosts", "--trace", "table.csv", "--base", "http://localhost")
    assert isinstance(done.exception, InputError)
    assert "table.csv:2:7" in done.exception.render()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["hosts", "table.csv"]


def test_a_folder_of_parquet_files_has_the_same_rows(tmp_path: Path) -> None:
    """With a slash at its end --output is a folder; a second run replaces it."""
    tree(tmp_path / "hosts" / "web1", a=SITE)
    lint("hosts", status=1)
    for _ in range(2):
        lint("hosts", "--output", "result/", status=1)
        assert rows(FOUND, "result") == rows(FOUND)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["fleet.duckdb", "hosts", "result"]


@pytest.mark.parametrize("sources", [["."], ["*"], ["web1", "fleet.duckdb"]])
def test_a_second_run_finds_the_same_hosts(tmp_path: Path, sources: list[str]) -> None:
    """The result beside the hosts is no host, also where the `*` of a shell names it, which is said."""
    tree(tmp_path / "web1")
    lint("web1")
    for quiet in ([], ["--quiet"]):
        said = lint(*sources, *quiet, status=0).output
        assert rows("SELECT host FROM hosts") == [("web1",)]
        is_named = "fleet.duckdb" in sources and not quiet
        assert ("fleet.duckdb is a result of nginxopt fleet lint, not a host" in said) == is_named


def test_files_that_the_run_reads_are_no_hosts() -> None:
    """Settings, table and baseline beside the hosts are none, also where the `*` of a shell names them."""
    tree(Path("web1"))
    Path("nginxopt.toml").write_text('baseline = "b.json"\n')
    Path("b.json").write_text('{"version": 1, "findings": []}\n')
    Path("t.csv").write_text("/a,,404\n")
    for sources in (["."], ["web1", "b.json", "nginxopt.toml", "t.csv"]):
        ran = CliRunner().invoke(nginxopt, ["fleet", "lint", *sources, "--workers", "1", "--trace", "t.csv"])
        assert rows("SELECT host FROM hosts") == [("web1",)]
        for name in sources[1:]:
            assert f"{name} is an input of nginxopt fleet lint, not a host" in ran.output


def test_a_result_alone_is_no_fleet() -> None:
    """Without hosts there is no run."""
    tree(Path("web1"))
    lint("web1")
    with pytest.raises(InputError, match="no host found"):
        raise lint("fleet.duckdb", "--output", "other.duckdb").exception or AssertionError


def test_without_the_extra_the_command_says_what_to_install(tmp_path: Path) -> None:
    """Without DuckDB, the command names the extra and has the status of something missing."""
    tree(tmp_path / "hosts" / "web1")
    code = "import sys; from nginxopt.cli import main; main(sys.argv[1:])"
    blocked = "import importlib.util as u; f = u.find_spec; u.find_spec = lambda n: None if n == 'duckdb' else f(n); "
    for command in (["lint", "hosts"], ["query", "SELECT 1"]):
        done = subprocess.run([sys.executable, "-c", blocked + code, "fleet", *command], capture_output=True, text=True)
        assert done.returncode == 4, done.stderr
        assert "pip install 'nginxopt[fleet]'" in done.stderr


def test_what_was_found_for_no_host_is_forgotten(tmp_path: Path) -> None:
    """An interrupt between a finding and its host leaves no second finding when the run is resumed."""
    for name in ("web1", "web2"):
        tree(tmp_path / "hosts" / name, a=SITE if name == "web1" else SITE.replace(b"app", b"other"))
    tree(tmp_path / "hosts" / "web3", BROKEN)
    (tmp_path / "hosts" / "empty").mkdir()
    lint("hosts", status=3)
    expected = rows(FOUND), rows("SELECT * FROM host_errors ORDER BY ALL")
    Path("fleet.duckdb").rename("fleet.duckdb.part")
    with duckdb.connect("fleet.duckdb.part") as database:
        database.execute("DELETE FROM hosts WHERE host IN ('web2', 'web3', 'empty')")
    lint("hosts", "--resume", status=3)
    assert (rows(FOUND), rows("SELECT * FROM host_errors ORDER BY ALL")) == expected
    assert rows("SELECT count(*), count(DISTINCT configuration) FROM configurations") == [(4, 4)]


def test_names_of_any_bytes_are_known_again(tmp_path: Path) -> None:
    """A host whose name is not UTF-8 is escaped, and is not asked about twice."""
    folder = tree(tmp_path / "hosts" / "web1", a=SITE)
    folder.rename(os.fsdecode(bytes(folder.parent) + b"/web\xff"))
    lint("hosts", status=1)
    Path("fleet.duckdb").rename("fleet.duckdb.part")
    lint("hosts", "--resume", status=1)
    assert rows("SELECT host FROM hosts") == [(r"web\xff",)]


def test_a_host_of_any_size_does_not_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than the largest size, in one file or in several, is an error of the host."""
    monkeypatch.setenv("NGINXOPT_BUDGET", f"host-bytes={1024**2}")
    tree(tmp_path / "hosts" / "tree", a=b"#" * 600_000, b=b"#" * 600_000)
    (tmp_path / "hosts" / "file.txt").write_bytes(b"#" * 1_200_000)
    lint("hosts", status=3)
    assert rows("SELECT host, message FROM host_errors ORDER BY host") == [
        ("file", "too large: more than 1,048,576 bytes in the files of one host of a fleet (budget host-bytes)"),
        ("tree", "too large: more than 1,048,576 bytes in the files of one host of a fleet (budget host-bytes)"),
    ]


def test_options_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    """Each is a usage error, before anything is read."""
    tree(tmp_path / "hosts" / "web1", GOOD)
    for args in (["--workers", "2", "--scheduler", "tcp://127.0.0.1:1"], ["--base", "http://a"], ["--select", "none"]):
        assert isinstance(lint("hosts", *args).exception, UsageError), args
    assert not Path("fleet.duckdb.part").exists()
