"""Commands that write files: links, modes, devices, mounts, and changes of the files meanwhile."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from nginxopt import cli
from nginxopt.cli import bench_folder
from nginxopt.config import Config
from nginxopt.system.nginx import Binary, Verdict, trial
from tests.support import ended, the_nginx
from tests.system.test_files_system import hidden, mounted, needs_root

SITE = "server {\n    listen 127.0.0.1:1;\n    gzip on; gzip_types text/css; gzip_comp_level 9;\n}\n"
MAIN = "events {}\nhttp {\n    include sites/*.conf;\n}\n"
LINT = ("lint", "--isolated", "--target-version", "1.22.1", "--select", "gzip-level")
RULES = "".join(f"rewrite ^/old/{number}$ /new/{number} permanent;\n" for number in range(8))
NGINX = """events {{}}
http {{
    server {{
        listen 127.0.0.1:1;
        {rules}
    }}
}}
"""


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    status: int
    out: bytes
    err: str


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Any:
    """A function that runs nginxopt in a folder with a configuration of three files."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sites").mkdir()
    (tmp_path / "nginx.conf").write_text(MAIN)
    for name in "abc":
        (tmp_path / "sites" / f"{name}.conf").write_text(SITE)

    def call(*args: str) -> Ran:
        with pytest.raises(SystemExit) as ended:
            cli.main(args)
        captured = capfdbinary.readouterr()
        return Ran(ended.value.code if isinstance(ended.value.code, int) else 1, captured.out, captured.err.decode())

    return call


def levels(folder: Path) -> list[str]:
    """The compression level in each of the sites."""
    return [path.read_text().partition("gzip_comp_level ")[2][:1] for path in sorted((folder / "sites").glob("*.conf"))]


@needs_root
def test_fix_of_a_mount_is_all_or_none(run: Any, tmp_path: Path) -> None:
    """A file that is mounted by itself is fixed in place, with a note where its old text is; the others as usual."""
    source = tmp_path / "source"
    source.write_text(SITE)
    site = tmp_path / "sites" / "b.conf"
    with mounted("--bind", source, site):
        ran = run(*LINT, "nginx.conf", "--fix")
        assert (ran.status, levels(tmp_path)) == (0, ["6"] * 3)
    assert b"b.conf was written in place because it is a mount point; its old text is in" in ran.out
    assert (tmp_path / "sites" / ".b.conf.nginxopt-orig").read_text() == SITE
    assert "level 6" in source.read_text()


@needs_root
def test_fix_writes_nothing_if_one_file_cannot_be_written(run: Any, tmp_path: Path) -> None:
    """With one file on a read-only mount no file is changed."""
    source = tmp_path / "source"
    source.write_text(SITE)
    with mounted("--bind", source, tmp_path / "sites" / "b.conf"):
        subprocess.run(["mount", "-o", "remount,ro,bind", tmp_path / "sites" / "b.conf"], check=True)
        ran = run(*LINT, "nginx.conf", "--fix")
        assert (ran.status, levels(tmp_path)) == (3, ["9"] * 3)
        assert "b.conf: cannot be written: Read-only file system; nothing was written" in ran.err


@pytest.mark.parametrize("command", ["lint", "rewrite-to-map"])
def test_a_read_only_file_is_not_changed(run: Any, tmp_path: Path, command: str) -> None:
    """A file of mode 0444 is refused, with the reason, and nothing is written."""
    site = tmp_path / "sites" / "b.conf"
    site.write_text(SITE.replace("}\n", RULES + "}\n"))
    site.chmod(0o444)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.conf")}
    arguments = (*LINT, "nginx.conf", "--fix") if command == "lint" else ("rewrite-to-map", "nginx.conf", "--write")
    ran = run(*arguments)
    assert ran.status == 3
    assert "sites/b.conf: is read-only (mode 0444); nothing was written" in ran.err
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_one_file_that_cannot_be_written_does_not_keep_the_others(run: Any, tmp_path: Path) -> None:
    """Of several configurations, those that can be written are fixed; the other one is named and keeps its findings."""
    for path in (tmp_path / "sites").glob("*.conf"):
        path.write_text(f"events {{}}\nhttp {{\n{SITE}}}\n")
    (tmp_path / "sites" / "b.conf").chmod(0o444)
    ran = run(*LINT, "sites", "--fix")
    assert (ran.status, levels(tmp_path)) == (3, ["6", "9", "6"])
    assert b"sites/b.conf: error is read-only (mode 0444); its configuration was left as it is" in ran.out
    assert b"sites/b.conf:5:51: info gzip-level" in ran.out


def test_fix_keeps_hard_links_and_attributes(run: Any, tmp_path: Path) -> None:
    """A file with two names keeps both, with the same text; extended attributes stay."""
    site, other = tmp_path / "sites" / "a.conf", tmp_path / "elsewhere"
    os.link(site, other)
    os.setxattr(tmp_path / "sites" / "b.conf", "user.note", b"mine")
    ran = run(*LINT, "nginx.conf", "--fix")
    assert (ran.status, levels(tmp_path)) == (0, ["6"] * 3)
    assert site.samefile(other)
    assert os.getxattr(tmp_path / "sites" / "b.conf", "user.note") == b"mine"


EDITS = {
    "a file that is fixed": "echo '# mine' >> sites/a.conf",
    "a file that is not": "echo '# mine' >> nginx.conf",
    "a new file": "echo '# mine' > sites/z.conf",
    "a file that is gone": "rm -f sites/c.conf",
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_while_fix_runs_is_not_lost(
    run: Any, tmp_path: Path, edit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is saved while nginx is asked stays, and no fix of the old texts is written."""
    original = trial.test

    def watched(config: Config, binary: Binary) -> Verdict:
        subprocess.run(["sh", "-c", EDITS[edit]], cwd=tmp_path, check=True)
        return original(config, binary)

    monkeypatch.setattr(trial, "test", watched)
    ran = run(*LINT, "nginx.conf", "--fix", "--nginx", the_nginx().path)
    assert ran.status == 3, ran.err
    assert "during this command; nothing was written" in ran.err
    assert set(levels(tmp_path)) <= {"9", ""}
    if edit != "a file that is gone":
        assert any("# mine" in path.read_text() for path in tmp_path.rglob("*.conf"))


@pytest.mark.parametrize("target", ["/dev/null", "pipe", "/dev/stdout"])
@pytest.mark.parametrize("command", ["rewrite-to-map", "lint", "baseline"])
def test_a_report_is_written_to_devices_and_pipes(run: Any, tmp_path: Path, target: str, command: str) -> None:
    """A device and a pipe receive the report and stay what they are."""
    (tmp_path / "rules.conf").write_text(RULES)
    if target == "pipe":
        os.mkfifo(tmp_path / "pipe")
    arguments = {
        "rewrite-to-map": ("rewrite-to-map", "rules.conf", "--check", "-q", "--report", target),
        "lint": (*LINT, "nginx.conf", "--format", "json", "--output", target),
        "baseline": (*LINT, "nginx.conf", "--write-baseline", target),
    }[command]
    before = Path("/dev/null").stat()
    reader = subprocess.Popen(["cat", target], stdout=subprocess.PIPE) if target == "pipe" else None
    ran = run(*arguments)
    output = reader.communicate()[0] if reader else ran.out
    assert ran.status in (0, 1), ran.err
    after = Path("/dev/null").stat()
    assert (stat.S_ISCHR(after.st_mode), after.st_ino, after.st_mode) == (True, before.st_ino, before.st_mode)
    assert output.startswith(b"{") == (target != "/dev/null")
    if target == "pipe":
        assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


@pytest.mark.parametrize("layout", ["fragment", "configuration", "folder"])
@needs_root
def test_maps_are_as_private_as_their_source(run: Any, tmp_path: Path, layout: str) -> None:
    """The maps have the owner and mode of the file that they are made of, in place and in a folder."""
    source = tmp_path / "rules.conf"
    source.write_text(RULES if layout == "fragment" else NGINX.format(rules=RULES))
    source.chmod(0o640)
    os.chown(source, 0, 1234)
    how = ("-o", "out") if layout == "folder" else ("--write",)
    before = set(tmp_path.iterdir())
    assert run("rewrite-to-map", "rules.conf", "-q", *how).status == 0
    written = list((tmp_path / "out").iterdir()) if layout == "folder" else [*set(tmp_path.iterdir()) - before, source]
    assert len(written) > 1
    for path in written:
        assert (stat.S_IMODE(path.stat().st_mode), path.stat().st_gid) == (0o640, 1234), path


@pytest.mark.parametrize("how", [("--write",), ("-o", "out")])
def test_maps_are_as_private_as_the_rules(run: Any, tmp_path: Path, how: tuple[str, ...]) -> None:
    """Rules that are read from an included file which fewer may read make maps which fewer may read."""
    (tmp_path / "nginx.conf").write_text(MAIN)
    (tmp_path / "sites").mkdir(exist_ok=True)
    for name, mode in (("open", 0o644), ("secret", 0o600)):
        site = tmp_path / "sites" / f"{name}.conf"
        site.write_text(f"server {{\n    listen 127.0.0.1:1;\n    server_name {name};\n{RULES}}}\n")
        site.chmod(mode)
    assert run("rewrite-to-map", "nginx.conf", "-q", *how).status == 0
    (maps,) = tmp_path.glob("**/nxo_*.conf")
    assert stat.S_IMODE(maps.stat().st_mode) == 0o600


def test_what_a_killed_run_left_is_removed(run: Any, tmp_path: Path) -> None:
    """kill -9 while files are written leaves hidden files at most, and the next run removes them."""
    script = (
        "import os, sys\nfrom nginxopt import cli\n"
        "os.fsync = lambda _: (print('writing', flush=True), __import__('time').sleep(60))\n"
        f"cli.main({[*LINT, 'nginx.conf', '--fix']!r})"
    )
    command = [sys.executable, "-c", script]
    with ended(subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE)) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"writing\n"
    assert process.returncode == -signal.SIGKILL
    assert hidden(tmp_path / "sites")
    assert levels(tmp_path) == ["9"] * 3
    run(*LINT, "nginx.conf")
    assert hidden(tmp_path / "sites")
    assert run(*LINT, "nginx.conf", "--fix").status == 0
    assert (hidden(tmp_path / "sites"), levels(tmp_path)) == ([], ["6"] * 3)
    left = tmp_path / "sites" / ".nginxopt-0123456789abcdef-0"
    left.write_text("")
    assert run(*LINT, "nginx.conf", "--fix").status == 0
    assert not left.exists()
    left.write_text("")
    assert run("rewrite-to-map", "nginx.conf", "--write").status == 0
    assert not left.exists()


@pytest.mark.parametrize("option", ["--output", "--write-baseline"])
def test_a_report_does_not_replace_the_configuration(run: Any, tmp_path: Path, option: str) -> None:
    """A report over a file that is checked is wrong usage."""
    (tmp_path / "link").symlink_to("nginx.conf")
    for name in ("nginx.conf", "sites/a.conf", "link"):
        ran = run(*LINT, "nginx.conf", option, name)
        assert (ran.status, levels(tmp_path)) == (2, ["9"] * 3)
        assert f"{option} would overwrite the input file {name}" in ran.err
    assert (tmp_path / "nginx.conf").read_text() == MAIN


def test_a_report_that_cannot_be_written_after_the_fixes(run: Any, tmp_path: Path) -> None:
    """If the report cannot be written, the message says that the files are fixed."""
    ran = run(*LINT, "nginx.conf", "--fix", "--output", "/dev/full")
    assert (ran.status, levels(tmp_path)) == (3, ["6"] * 3)
    assert "/dev/full: cannot be written: No space left on device; the files are already fixed" in ran.err


def test_a_folder_that_holds_the_source(run: Any, tmp_path: Path) -> None:
    """-o does not overwrite what was read: no copy of it would be kept."""
    (tmp_path / "nginx.conf").write_text(NGINX.format(rules=RULES))
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    ran = run("rewrite-to-map", "nginx.conf", "-o", "sites/..")
    assert ran.status == 2
    assert "-o would overwrite the input file sites/../nginx.conf" in ran.err
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_what_was_written_before_a_failure_is_told(run: Any, tmp_path: Path) -> None:
    """Of several FILE each is compiled on what was written for the one before; a failure says which are done."""
    for name in ("a.rules", "b.rules"):
        (tmp_path / name).write_text(RULES)
    (tmp_path / "b.rules").chmod(0o444)
    ran = run("rewrite-to-map", "a.rules", "b.rules", "--write", "-q")
    assert ran.status == 3
    assert "a.rules: written before this error\nb.rules: is read-only (mode 0444); nothing was written" in ran.err


def test_a_benchmark_makes_no_folder_beside_a_device(tmp_path: Path) -> None:
    """What a run keeps lies beside its output, unless that is a device or a pipe."""
    with bench_folder.opened("/dev/null") as kept:
        assert kept.parent != Path("/dev")
    assert not Path("/dev/null.run").exists()
    with bench_folder.opened(str(tmp_path / "out.json")) as kept:
        assert kept == tmp_path / "out.run"


def test_a_copy_is_not_kept_where_an_include_reads_it(run: Any, tmp_path: Path) -> None:
    """A wildcard that begins with a dot would find the old text beside the file: nothing is written."""
    text = NGINX.format(rules=RULES + "include .n*;")
    (tmp_path / "nginx.conf").write_text(text)
    ran = run("rewrite-to-map", "nginx.conf", "--write")
    assert ran.status == 3
    assert "this include would also match the copy of a changed file; nothing was written" in ran.err
    assert (tmp_path / "nginx.conf").read_text() == text
