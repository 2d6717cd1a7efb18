"""Makes builds of one source have the same bytes: one time and usual modes for everything, no folder of a machine."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_FILE, _PROGRAM = 0o644, 0o755


def epoch(source: Path) -> int:
    """Return the time of a build: `SOURCE_DATE_EPOCH`, or that of the last commit.

    Raises `subprocess.CalledProcessError` where neither is there.
    """
    stated = os.environ.get("SOURCE_DATE_EPOCH")
    if stated:
        return int(stated)
    command = ["git", "-C", str(source), "log", "-1", "--format=%ct"]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def environment(source: Path, time: int) -> dict[str, str]:
    """Return the environment in which two builds of a source are the same."""
    cargo = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    places = {source.resolve(): "/nginxopt", cargo.resolve(): "/cargo"}
    return {
        "SOURCE_DATE_EPOCH": str(time),
        "PYTHONHASHSEED": "0",
        "RUSTFLAGS": " ".join(f"--remap-path-prefix={path}={name}" for path, name in places.items()),
        "CFLAGS": " ".join(f"-ffile-prefix-map={path}={name}" for path, name in places.items()),
    }


@contextmanager
def usual_modes() -> Iterator[None]:
    """Create files that everybody may read: a wheel has the modes of the files from which it is made."""
    before = os.umask(0o022)
    try:
        yield
    finally:
        os.umask(before)


def sdist(source: Path, out: Path, time: int) -> Path:
    """Build the source distribution of a folder, and return its path."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "build", "--no-isolation", "--sdist", "--outdir", folder, str(source)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        (built,) = Path(folder).iterdir()
        out.mkdir(parents=True, exist_ok=True)
        path = out / built.name
        path.write_bytes(normal(built.read_bytes(), time))
    return path


def normal(archive: bytes, time: int) -> bytes:
    """Return a tar.gz with its files in order of name, of one time and of nobody."""
    packed = io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(archive)) as old,
        gzip.GzipFile(fileobj=packed, mode="wb", filename="", mtime=time) as compressed,
        tarfile.open(fileobj=compressed, mode="w", format=tarfile.PAX_FORMAT) as new,
    ):
        for member in sorted(old.getmembers(), key=lambda member: member.name):
            member.mtime, member.uid, member.gid, member.uname, member.gname = time, 0, 0, "", ""
            member.mode = _PROGRAM if member.isdir() or member.mode & 0o100 else _FILE
            member.pax_headers = {}
            new.addfile(member, old.extractfile(member) if member.isfile() else None)
    return packed.getvalue()
