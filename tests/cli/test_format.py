"""`nginxopt format`: files, standard input, checks, settings and errors."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import pytest

from nginxopt.format import formatting
from nginxopt.text import Edit, Span
from tests.lsp.foreign import FOREIGN

UGLY = b"server {\nlisten  80;\n}\n"
PRETTY = b"server {\n    listen 80;\n}\n"


def pipe(monkeypatch: pytest.MonkeyPatch, text: bytes) -> None:
    """Make a text the standard input."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))


def test_files_and_folders_are_written(run: Any, tmp_path: Path) -> None:
    """Named files and those in a folder are formatted in place and keep their mode; a summary is printed."""
    (tmp_path / "conf.d").mkdir()
    paths = [tmp_path / "a.conf", tmp_path / "conf.d" / "b.conf", tmp_path / "conf.d" / "c.conf"]
    for path, text in zip(paths, (UGLY, UGLY, PRETTY), strict=True):
        path.write_bytes(text)
    paths[0].chmod(0o600)
    ran = run("format", "a.conf", "conf.d")
    assert (ran.status, ran.out) == (0, b"")
    assert ran.err == "reformatted a.conf\nreformatted conf.d/b.conf\n2 files reformatted, 1 file left unchanged\n"
    assert [path.read_bytes() for path in paths] == [PRETTY] * 3
    assert paths[0].stat().st_mode & 0o777 == 0o600
    assert run("format", "-q", ".").err == ""
    assert run("format").err == "3 files left unchanged\n"


@pytest.mark.parametrize("program", FOREIGN)
def test_files_of_other_programs_are_left_alone(run: Any, tmp_path: Path, program: str) -> None:
    """A file in a folder that is another program's is skipped with a note; one that is named is not."""
    (tmp_path / "other.conf").write_text(FOREIGN[program])
    (tmp_path / "site.conf").write_bytes(UGLY)
    ran = run("format", ".")
    assert (ran.status, (tmp_path / "other.conf").read_text()) == (0, FOREIGN[program])
    assert ran.err == (
        "skipped other.conf: it does not look like an nginx configuration; name it to format it\n"
        "reformatted site.conf\n1 file reformatted\n"
    )
    (tmp_path / "empty.conf").write_text("")
    (tmp_path / "comments.conf").write_text("  # server {}\n")
    rows = tmp_path / "rows.conf"
    rows.write_text("/a   /b;\n")
    ran = run("format", ".")
    assert [line for line in ran.err.splitlines() if line.startswith("skipped")] == [
        f"skipped {name}.conf: it does not look like an nginx configuration; name it to format it"
        for name in ("other", "rows")
    ]
    assert (tmp_path / "comments.conf").read_text() == "# server {}\n"
    assert run("format", "rows.conf").err == "reformatted rows.conf\n1 file reformatted\n"


def test_includes_are_not_followed(run: Any, tmp_path: Path) -> None:
    """Only the file that is named is formatted."""
    (tmp_path / "a.conf").write_bytes(b"include   b.conf;\n")
    (tmp_path / "b.conf").write_bytes(UGLY)
    assert run("format", "a.conf").err == "reformatted a.conf\n1 file reformatted\n"
    assert (tmp_path / "b.conf").read_bytes() == UGLY


def test_a_link_stays(run: Any, tmp_path: Path) -> None:
    """The target of a link is formatted, once under both of its names."""
    (tmp_path / "a.conf").write_bytes(UGLY)
    (tmp_path / "b.conf").symlink_to("a.conf")
    assert run("format", "b.conf", "a.conf").err == "reformatted b.conf\n1 file reformatted\n"
    assert (tmp_path / "b.conf").is_symlink()
    assert (tmp_path / "a.conf").read_bytes() == PRETTY


def test_a_hard_link_stays(run: Any, tmp_path: Path) -> None:
    """A file with two names is written in place, with a note."""
    (tmp_path / "a.conf").write_bytes(UGLY)
    os.link(tmp_path / "a.conf", tmp_path / "other")
    ran = run("format", "a.conf")
    assert "a.conf was written in place because it has several names (hard links); its old text is in" in ran.err
    assert (tmp_path / "other").read_bytes() == PRETTY


def test_check(run: Any, tmp_path: Path) -> None:
    """--check says what would change with status 1, and writes nothing."""
    (tmp_path / "a.conf").write_bytes(UGLY)
    (tmp_path / "b.conf").write_bytes(PRETTY)
    ran = run("format", ".", "--check")
    assert (ran.status, ran.out) == (1, b"")
    assert ran.err == "would reformat a.conf\n1 file would be reformatted, 1 file would be left unchanged\n"
    assert (tmp_path / "a.conf").read_bytes() == UGLY
    assert run("format", "b.conf", "--check").status == 0


def test_diff(run: Any, tmp_path: Path) -> None:
    """--diff shows the changes with status 1, and writes nothing."""
    (tmp_path / "a.conf").write_bytes(UGLY)
    ran = run("format", "a.conf", "--diff", "-q")
    assert (ran.status, ran.err) == (1, "")
    assert ran.out == b"--- a.conf\n+++ a.conf\n@@ -1,3 +1,3 @@\n server {\n-listen  80;\n+    listen 80;\n }\n"
    assert (tmp_path / "a.conf").read_bytes() == UGLY


def test_names_of_any_bytes(run: Any, tmp_path: Path) -> None:
    """Diffs quote names as `diff` does; messages and errors escape what does not print."""
    for name in ("a b.conf", "c\nd.conf", "\udcff.conf"):
        (tmp_path / name).write_bytes(UGLY)
    heads = [line for line in run("format", ".", "--diff").out.splitlines() if line.startswith(b"+++")]
    assert sorted(heads) == [b'+++ "\\377.conf"', b'+++ "c\\nd.conf"', b"+++ a b.conf\t"]
    assert run("format", ".", "--check").err.splitlines()[:3] == [
        "would reformat a b.conf",
        r"would reformat c\nd.conf",
        r"would reformat \xff.conf",
    ]
    assert run("format", "\udcfe.conf", "-q").err.startswith(r"\xfe.conf: cannot be read")


@pytest.mark.parametrize("text", [UGLY, PRETTY])
def test_standard_input(run: Any, monkeypatch: pytest.MonkeyPatch, text: bytes) -> None:
    """Standard input is printed formatted; with --check, only its status."""
    pipe(monkeypatch, text)
    assert (run("format", "-").out) == PRETTY
    pipe(monkeypatch, text)
    ran = run("format", "-", "--check", "--stdin-filename", "x.conf")
    assert (ran.status, ran.out, "x.conf" in ran.err) == (int(text == UGLY), b"", text == UGLY)


def test_standard_input_that_cannot_be_read(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken text is an error under its name, and nothing is printed."""
    pipe(monkeypatch, b"server {\n")
    ran = run("format", "-", "--stdin-filename", "x.conf")
    assert (ran.status, ran.out) == (3, b"")
    assert ran.err.startswith("x.conf:1:8: this block is not closed")
    assert "left unchanged" not in ran.err


def test_an_error_stops_no_other_file(run: Any, tmp_path: Path) -> None:
    """Broken, missing and templated files are errors with status 3; the others are formatted."""
    (tmp_path / "a.conf").write_bytes(b"server {\n")
    (tmp_path / "b.conf").write_bytes(b"listen {{ port }};\n")
    (tmp_path / "c.conf").write_bytes(UGLY)
    ran = run("format", "a.conf", "b.conf", "c.conf", "d.conf")
    assert ran.status == 3
    assert "a.conf:1:8: this block is not closed" in ran.err
    assert "b.conf:1:8: this is a Jinja or Mustache template: check the rendered file" in ran.err
    assert "d.conf: cannot be read: No such file or directory" in ran.err
    assert "reformatted c.conf\n1 file reformatted\n" in ran.err
    assert (tmp_path / "c.conf").read_bytes() == PRETTY
    assert (tmp_path / "b.conf").read_bytes() == b"listen {{ port }};\n"


def test_a_defect_writes_nothing(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the result does not read as the text does, no file is written, and the status is 70."""
    (tmp_path / "a.conf").write_bytes(UGLY)
    monkeypatch.setattr(formatting, "_changes", lambda *_: iter([Edit(Span(0, 6), b"serve")]))
    ran = run("format", "a.conf")
    assert ran.status == 70
    assert "a.conf: the formatted text differs at line 1; nothing was written" in ran.err
    assert (tmp_path / "a.conf").read_bytes() == UGLY


def test_settings(run: Any, tmp_path: Path) -> None:
    """The table `format` sets the indentation, and options override it; names of rules are not asked for."""
    (tmp_path / "nginxopt.toml").write_text(
        'select = ["of-a-newer-release"]\nseverity = { newer = "info" }\nexclude = ["x"]\n[format]\nindent-width = 2\n'
    )
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "b.conf").write_bytes(UGLY)
    path = tmp_path / "a.conf"
    path.write_bytes(UGLY)
    assert run("format").err == "reformatted a.conf\n1 file reformatted\n"
    assert path.read_bytes() == PRETTY.replace(b"    ", b"  ")
    assert run("format", "--indent-style", "tab").status == 0
    assert path.read_bytes() == PRETTY.replace(b"    ", b"\t")
    (tmp_path / "nginxopt.toml").write_text('[format]\nindent-style = "tab"\n')
    assert run("format", "a.conf", "--check").status == 0
    assert run("format", "a.conf", "--indent-style", "space", "--indent-width", "3").status == 0
    assert path.read_bytes() == PRETTY.replace(b"    ", b"   ")
    assert run("format", "a.conf", "--isolated").status == 0
    assert path.read_bytes() == PRETTY


def test_more_than_standard_input(run: Any) -> None:
    """Standard input has no company."""
    ran = run("format", "-", "a.conf")
    assert (ran.status, ran.err) == (2, "standard input cannot be combined with other paths\n")
    ran = run("format", "nginx.conf", "--stdin-filename", "x.conf")
    assert (ran.status, ran.err) == (2, "--stdin-filename needs - as PATH, which reads standard input\n")
