"""`make release`: what is published has the same bytes in each build, and says what it is."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from release import __main__ as release
from release import complete, crates, reproducible
from release import wheel as wheels
from tests.project.conftest import TIME, Twins, copied
from tests.support import ROOT

pytestmark = pytest.mark.no_cover


@pytest.mark.slow
def test_two_source_distributions_are_the_same(tmp_path: Path) -> None:
    """Built from two folders with other times and modes, they have the same bytes."""
    one, two = copied(tmp_path / "one"), copied(tmp_path / "two")
    (two / "README.md").chmod(0o600)
    os.utime(two / "setup.py", (TIME, TIME))
    built = [reproducible.sdist(source, tmp_path / f"out-{source.name}", TIME).read_bytes() for source in (one, two)]
    assert len(built[0]) > 100_000
    assert built[0] == built[1]


@pytest.mark.extended
def test_two_wheels_are_the_same(twins: Twins, tmp_path: Path) -> None:
    """Built in two folders with other modes for new files, they have the same bytes, and name none of these folders."""
    assert twins.one.name == twins.two.name
    assert hashlib.sha256(twins.one.read_bytes()).digest() == hashlib.sha256(twins.two.read_bytes()).digest()
    assert release.bill(Path(shutil.copy(twins.two, tmp_path))).exists()


def test_bills_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two bills of materials of a build with a time are the same; without one, each has its own number."""
    parts = [crates.Component("a", "1", "pkg:cargo/a@1", "MIT", ("text",))]
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    assert complete.bill("0.1.0", parts) != complete.bill("0.1.0", parts)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(TIME))
    assert complete.bill("0.1.0", parts) == complete.bill("0.1.0", parts)
    assert json.loads(complete.bill("0.1.0", parts))["metadata"]["timestamp"] == "2023-11-14T22:13:20+00:00"


def test_the_time_is_stated_or_that_of_the_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    """`SOURCE_DATE_EPOCH` goes before the commit."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "12")
    assert reproducible.epoch(ROOT) == 12
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    assert reproducible.epoch(ROOT) > TIME


def test_notes_are_those_of_the_version() -> None:
    """The notes are the part of the changelog, which has one for the version that is next."""
    text = "# Changelog\n\n## 0.2.0 (unreleased)\n\n- new\n\n## 0.1.0\n\n- old\n"
    assert release.notes(text, "0.2.0") == "# nginxopt 0.2.0\n\n- new\n"
    assert release.notes(text, "0.1.0") == "# nginxopt 0.1.0\n\n- old\n"
    with pytest.raises(SystemExit, match=r"says nothing of 0\.3\.0"):
        release.notes(text, "0.3.0")
    assert "`lint`" in release.notes((ROOT / "CHANGELOG.md").read_text(), release.version())


def test_sums_are_those_of_sha256sum(tmp_path: Path) -> None:
    """sha256sum accepts the list."""
    for name in ("b", "a"):
        (tmp_path / name).write_text(name)
    path = release.sums(tmp_path, [tmp_path / "b", tmp_path / "a"])
    assert [line.split("  ")[1] for line in path.read_text().splitlines()] == ["a", "b"]
    subprocess.run(["sha256sum", "--check", "--quiet", path.name], cwd=tmp_path, check=True)


@pytest.mark.parametrize("library", ["musl", "gnu"])
def test_a_wheel_for_musl_needs_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str) -> None:
    """An extension that needs musl alone gets the tag, with the same bytes in each build; one for glibc does not."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(TIME))
    source, extension, libc = tmp_path / "a.c", tmp_path / "a.so", tmp_path / "libc.so"
    source.write_text("int said(void) { return 1; }\n")
    make = ["cc", "-shared", "-o"]
    subprocess.run([*make, str(libc), "-nostdlib", "-Wl,-soname,libc.so", "-x", "c", "/dev/null"], check=True)
    needs = ["-nostdlib", "-Wl,--no-as-needed", str(libc)] if library == "musl" else ["-Wl,--no-as-needed", "-lc"]
    subprocess.run([*make, str(extension), str(source), *needs], check=True)
    tag = f"musllinux_1_2_{platform.machine()}"
    digests = []
    about = tmp_path / "content" / "a-1.dist-info"
    about.mkdir(parents=True)
    shutil.copyfile(extension, about.parent / "a.so")
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: a\nVersion: 1\n")
    tags = f"Tag: cp311-abi3-linux_{platform.machine()}\n"
    (about / "WHEEL").write_text(f"Wheel-Version: 1.0\nGenerator: a\nRoot-Is-Purelib: false\n{tags}")
    for folder in (tmp_path / "one", tmp_path / "two"):
        folder.mkdir()
        pack = [sys.executable, "-m", "wheel", "pack", "--dest-dir", str(folder), str(about.parent)]
        subprocess.run(pack, check=True)
        (wheel,) = folder.iterdir()
        if library == "gnu":
            with pytest.raises(wheels.LibraryError, match=r"libc\.so\.6"):
                wheels.tag_for_musl(wheel, tag)
            return
        tagged = wheels.tag_for_musl(wheel, tag)
        assert tagged.name == f"a-1-cp311-abi3-{tag}.whl"
        digests.append(hashlib.sha256(tagged.read_bytes()).hexdigest())
    assert len(set(digests)) == 1
