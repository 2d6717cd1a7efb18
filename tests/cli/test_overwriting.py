"""No command overwrites a file that it has read: no copy of it would be kept."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

from nginxopt.cli import bench_folder
from nginxopt.errors import InputError, UsageError
from nginxopt.fleet.result import refuse_other
from tests.cli.compiling import snapshot

FILES = {
    "r.conf": "rewrite ^/a$ /b permanent;\n",
    "t.csv": "/a,/b\n",
    "n.conf": "events {}\nhttp { server { listen 80; include r.conf; } }\n",
    "m.conf": "events {}\nhttp { server { listen 80; include x.conf; } }\n",
    "paths.txt": "/a\n",
    "nginxopt.toml": 'baseline = "b.json"\n',
    "b.json": '{"version": 1, "findings": []}\n',
    "access.log": '1.2.3.4 - - [01/Jan/2025:00:00:00 +0000] "GET / HTTP/1.1" 200 1 "-" "-"\n',
    "web.yaml": """\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web
spec:
  defaultBackend:
    service:
      name: web
      port:
        number: 80
""",
    "map.yaml": "kind: ConfigMap\n",
}


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    """A folder with files that commands read, each with a second name."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
        os.link(tmp_path / name, tmp_path / f"hard-{name}")
        (tmp_path / f"soft-{name}").symlink_to(name)
    return tmp_path


@pytest.mark.parametrize("prefix", ["", "./", "hard-", "soft-"])
@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("rewrite-to-map r.conf --report", "r.conf"),
        ("rewrite-to-map r.conf --check --report", "r.conf"),
        ("rewrite-to-map n.conf --plan-only --report", "r.conf"),
        ("rewrite-to-map r.conf -c n.conf --report", "n.conf"),
        ("rewrite-to-map t.csv --report", "t.csv"),
        ("test n.conf t.csv --output", "t.csv"),
        ("test n.conf t.csv --output", "r.conf"),
        ("test n.conf paths.txt --base http://h --record --output", "paths.txt"),
        ("lint n.conf --output", "n.conf"),
        ("lint n.conf --output", "nginxopt.toml"),
        ("lint n.conf --output", "b.json"),
        ("lint n.conf --write-baseline", "nginxopt.toml"),
        ("bench rewrites r.conf --output", "r.conf"),
        ("bench compare n.conf n.conf --targets paths.txt --output", "paths.txt"),
        ("bench compare n.conf n.conf --targets paths.txt --output", "r.conf"),
        ("bench report b.json --output", "b.json"),
        ("fleet diff --result b.json --output", "b.json"),
        ("fleet report b.json --output", "b.json"),
        ("fleet report n.conf --since b.json --output", "b.json"),
        ("fleet lint n.conf --output", "n.conf"),
        ("fleet lint n.conf --trace t.csv --base http://h --output", "t.csv"),
        ("fleet lint n.conf --write-baseline", "nginxopt.toml"),
        ("profile n.conf access.log --save", "access.log"),
        ("profile n.conf access.log --save", "r.conf"),
        ("profile n.conf access.log --html", "r.conf"),
        ("profile n.conf access.log --exists paths.txt --save", "paths.txt"),
        ("test m.conf t.csv --assume include:x.conf=r.conf --output", "r.conf"),
        ("ingress web.yaml --output", "web.yaml"),
        ("ingress . --output", "web.yaml"),
        ("ingress . --config-map map.yaml --output", "map.yaml"),
    ],
)
def test_output_over_an_input(run: Any, inputs: Path, command: str, file: str, prefix: str) -> None:
    """An output file that is an input under any of its names is wrong usage; nothing is written."""
    before = snapshot(inputs)
    *words, option = command.split()
    ran = run(*words, option, prefix + file)
    assert (ran.status, ran.out) == (2, b"")
    assert f"{option} would overwrite the input file {prefix}{file}" in ran.err
    assert snapshot(inputs) == before


def test_output_over_standard_input(inputs: Path) -> None:
    """The file that standard input comes from is an input, too."""
    command = [sys.executable, "-m", "nginxopt", "rewrite-to-map", "-", "--report", "r.conf"]
    with (inputs / "r.conf").open() as file:
        ran = subprocess.run(command, cwd=inputs, stdin=file, capture_output=True, text=True, check=False)
    assert (ran.returncode, "would overwrite the input file r.conf" in ran.stderr) == (2, True)
    assert (inputs / "r.conf").read_text() == FILES["r.conf"]


def test_output_folder_with_a_hard_link(run: Any, inputs: Path) -> None:
    """-o looks at the files, not at their names."""
    (inputs / "out").mkdir()
    os.link(inputs / "r.conf", inputs / "out" / "server.conf")
    before = snapshot(inputs)
    ran = run("rewrite-to-map", "r.conf", "-o", "out")
    assert (ran.status, "-o would overwrite the input file out/server.conf" in ran.err) == (2, True)
    assert snapshot(inputs) == before


@pytest.mark.usefixtures("inputs")
def test_streams_are_no_inputs(run: Any) -> None:
    """What is written to and not replaced may be read as well."""
    assert run("rewrite-to-map", "r.conf", "--report", "/dev/null", "-q").status == 0


def test_fleet_lint_replaces_only_a_result(tmp_path: Path) -> None:
    """A file that is not a database, or has no hosts, stays, and so does a device or a pipe."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "hosts.conf").write_text("events {}\n")
    (tmp_path / "words.conf").write_text("# fleet DUCK.example.com\nevents {}\n")
    (tmp_path / "old.duckdb").write_bytes(b"12345678DUCK" + bytes(8))
    refuse_other(tmp_path / "new.duckdb")
    refuse_other(tmp_path / "old.duckdb")
    with duckdb.connect(str(tmp_path / "mine.duckdb")) as database:
        database.execute("CREATE TABLE sales (day DATE)")
    for name in ("hosts.conf", "words.conf", "mine.duckdb", "pipe", "/dev/null"):
        with pytest.raises(InputError, match="is not the result of nginxopt fleet lint"):
            refuse_other(tmp_path / name)


@pytest.mark.parametrize("option", ["--output", "--write-baseline"])
@pytest.mark.parametrize("name", ["broken.conf", "main.conf"])
def test_lint_keeps_what_it_could_not_parse_and_what_is_around(
    run: Any, tmp_path: Path, option: str, name: str
) -> None:
    """A file with an error, and the main file of a fragment, are read as well."""
    (tmp_path / "broken.conf").write_text("http {\n")
    (tmp_path / "main.conf").write_text("events {}\nhttp { include part.conf; }\n")
    (tmp_path / "part.conf").write_text("server { listen 80; }\n")
    before = snapshot(tmp_path)
    ran = run("lint", "broken.conf", "part.conf", "--isolated", "--assume", "./main.conf", option, name)
    assert (ran.status, f"{option} would overwrite the input file {name}" in ran.err) == (2, True)
    assert snapshot(tmp_path) == before


def test_a_baseline_replaces_only_a_baseline(run: Any, tmp_path: Path) -> None:
    """Be it a damaged one, such as after a merge."""
    hosts = tmp_path / "hosts"
    hosts.mkdir()
    (hosts / "web1.conf").write_text("events {}\nhttp { gzip on; }\n")
    before = snapshot(hosts)
    ran = run("fleet", "lint", "hosts", "--workers", "1", "--write-baseline", "hosts/web1.conf")
    assert (ran.status, "hosts/web1.conf: is not a baseline; nothing was written" in ran.err) == (3, True)
    assert snapshot(hosts) == before
    (tmp_path / "known.json").write_text("{\n<<<<<<< HEAD\n")
    assert run("lint", "hosts/web1.conf", "--isolated", "--write-baseline", "known.json").status == 0
    assert '"findings"' in (tmp_path / "known.json").read_text()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("fleet lint n.conf --output f.duckdb --write-baseline no/b.json", "no/b.json: cannot be written"),
        ("fleet lint n.conf --output f.duckdb --write-baseline out", "out: cannot be written: Is a directory"),
        ("bench rewrites --output out", "out: cannot be written: Is a directory"),
        ("lint g.conf --fix --isolated --output no/r.txt", "no/r.txt: cannot be written: No such file or directory"),
        ("rules new acme-x --folder r.conf/rules", "r.conf/rules: cannot create directory: Not a directory"),
    ],
)
def test_an_output_that_cannot_be_written(run: Any, inputs: Path, command: str, message: str) -> None:
    """Long work is not begun if its result cannot be written, and nothing is left behind."""
    (inputs / "out").mkdir()
    (inputs / "g.conf").write_text("events {}\nhttp { gzip on; gzip_comp_level 9; }\n")
    before = snapshot(inputs)
    ran = run(*command.split())
    assert ran.status == 3
    assert message in ran.err
    assert snapshot(inputs) == before
    assert not (inputs / "out.run").exists()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("rewrite-to-map r.conf -o out --report out/http.conf", "--report and -o would both write out/http.conf"),
        ("rewrite-to-map r.conf -o out --report ./link/server.conf", "--report and -o would both write ./link/server"),
        ("rewrite-to-map r.conf -o new --report new", "--report and -o would both write new"),
        (
            "rewrite-to-map n.conf -o out --report out/nxo_646322.conf",
            "--report and -o would both write out/nxo_646322.conf",
        ),
        ("rewrite-to-map t.csv -o out --report out/server.conf", "--report and -o would both write out/server.conf"),
        (
            "rewrite-to-map n.conf --write --report nxo_646322.conf",
            "--report and --write would both write nxo_646322.conf",
        ),
        ("rewrite-to-map r.conf --diff --report -", "--diff and --report - cannot be used together"),
        ("lint n.conf --write-baseline c.json --output c.json", "--write-baseline cannot be used with --output"),
        ("fleet lint n.conf --output f --write-baseline f", "--output and --write-baseline would both write f"),
        (
            "fleet lint n.conf --output p/ --write-baseline p/c.json",
            "--output and --write-baseline would both write p/",
        ),
        ("bench rewrites --emit out --output c.json", "--emit and --output cannot be used together"),
        ("bench rewrites --output c.run", "--output c.run: .run is for the directory of the run"),
        ("bench rewrites --output theirs.json", "/theirs.run, which has no mark of nginxopt bench"),
        ("bench rewrites ours.run/nginx/r.conf --output ours.json", "which has the input file ours.run/nginx/r.conf"),
    ],
)
def test_output_over_another_output(run: Any, inputs: Path, command: str, message: str) -> None:
    """Two outputs with one path, and files of others where an output belongs, are wrong usage; nothing is written."""
    (inputs / "out").mkdir()
    (inputs / "link").symlink_to("out")
    for name in ("theirs.run", "ours.run"):
        (inputs / name / "nginx").mkdir(parents=True)
        (inputs / name / "nginx" / "r.conf").write_text(FILES["r.conf"])
    (inputs / "ours.run" / ".nginxopt-bench").touch()
    before = snapshot(inputs)
    ran = run(*command.split())
    assert (ran.status, ran.out, message in ran.err) == (2, b"", True), ran.err
    assert snapshot(inputs) == before


def test_a_report_beside_the_result(run: Any, inputs: Path) -> None:
    """A report may stand in the folder of the result, under another name."""
    (inputs / "out").mkdir()
    assert run("rewrite-to-map", "r.conf", "-o", "out", "--report", "out/report.json", "-q").status == 0
    assert {file.name for file in (inputs / "out").iterdir()} == {"http.conf", "server.conf", "report.json"}


def test_a_run_replaces_only_its_own_directory(tmp_path: Path) -> None:
    """What an earlier run left is removed, other files stay; a directory without the mark of a run is refused."""
    output = str(tmp_path / "result.json")
    for _ in range(2):
        bench_folder.refuse(output, [])
        with bench_folder.opened(output) as folder:
            assert folder == tmp_path / "result.run"
            assert {path.name for path in folder.iterdir()} <= {".nginxopt-bench", "notes.txt"}
            (folder / "results").mkdir()
            (folder / "notes.txt").touch()
    (folder / ".nginxopt-bench").unlink()
    with pytest.raises(UsageError, match="has no mark of nginxopt bench") as caught:
        bench_folder.refuse(output, [])
    assert "if an older nginxopt bench made the directory, remove it" in str(caught.value.hint)
