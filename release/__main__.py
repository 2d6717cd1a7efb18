"""Builds all that is published of a version: the source distribution, wheels, a bill of materials, notes, checksums,
and the recipes of Homebrew and nixpkgs.

    python -m release --out dist        or: make release

Wheels are built from the source distribution, for the C libraries whose target rustup has. Two builds of one commit
with the same compilers have the same bytes; `SOURCE_DATE_EPOCH` states another time than that of the commit.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterable
from pathlib import Path

from release import reproducible, wheel
from release.complete import BILL, ROOT

SUMS = "SHA256SUMS"
NOTES = "NOTES.md"
_PLACE = ROOT / "build" / "release"


def release(out: Path, targets: Iterable[str]) -> list[Path]:
    """Build everything into a folder, and return the files: the sums of all others come last."""
    time = reproducible.epoch(ROOT)
    out.mkdir(parents=True, exist_ok=True)
    source = reproducible.sdist(ROOT, out, time)
    unpacked = _unpacked(source)
    os.environ |= reproducible.environment(unpacked, time)
    os.environ.setdefault("CARGO_TARGET_DIR", str(_PLACE / "target"))
    wheels = [wheel.build(out, target, unpacked) for target in targets]
    files = [source, *wheels, *(bill(path) for path in wheels)]
    notes_file = out / NOTES
    notes_file.write_text(notes((ROOT / "CHANGELOG.md").read_text(), version()), encoding="utf-8")
    files += [notes_file, *recipes(out, hashlib.sha256(source.read_bytes()).digest())]
    return [*files, sums(out, files)]


def version() -> str:
    """Return the version of the project."""
    return str(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"])


def notes(changelog: str, of: str) -> str:
    """Return what the changelog says of a version. Raises `SystemExit` if it says nothing."""
    found = re.search(rf"^## {re.escape(of)}\b.*\n((?:(?!^## ).*\n?)*)", changelog, re.MULTILINE)
    text = found[1].strip() if found else ""
    if not text:
        raise SystemExit(f"CHANGELOG.md says nothing of {of}")
    return f"# nginxopt {of}\n\n{text}\n"


def recipes(out: Path, digest: bytes) -> list[Path]:
    """Write the recipes for the source distribution that has this SHA-256, and return their paths."""
    written = []
    for template, (unknown, known) in {
        ROOT / "release" / "homebrew" / "nginxopt.rb": ("0" * 64, digest.hex()),
        ROOT / "release" / "nix" / "package.nix": (_encoded(bytes(32)), _encoded(digest)),
    }.items():
        text = template.read_text()
        if unknown not in text:
            raise SystemExit(f"{template} has no place for the hash of the source distribution")
        written.append(out / template.name)
        written[-1].write_text(text.replace(unknown, known))
    return written


def _encoded(digest: bytes) -> str:
    return base64.b64encode(digest).decode()


def bill(path: Path) -> Path:
    """Write the bill of materials of a wheel beside it, and return its path."""
    with zipfile.ZipFile(path) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(BILL))
        beside = path.with_name(f"{path.stem}.cdx.json")
        beside.write_bytes(archive.read(name))
    return beside


def sums(out: Path, files: Iterable[Path]) -> Path:
    """Write the SHA-256 of files as sha256sum does, and return the path of the list."""
    path = out / SUMS
    lines = (f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in sorted(files))
    path.write_text("".join(lines))
    return path


def _unpacked(source: Path) -> Path:
    """Unpack a source distribution where each release does, as the path of a build may be in it."""
    shutil.rmtree(_PLACE / "source", ignore_errors=True)
    with tarfile.open(source) as archive:
        archive.extractall(_PLACE / "source", **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))  # type: ignore[arg-type]
    (unpacked,) = (_PLACE / "source").iterdir()
    return unpacked


def installed() -> list[str]:
    """Return the targets of this processor that rustup has: glibc, and musl if it is there."""
    targets = [f"{platform.machine()}-unknown-linux-{library}" for library in ("gnu", "musl")]
    told = subprocess.run(
        ["rustup", "target", "list", "--installed"], capture_output=True, text=True, check=True
    ).stdout
    for target in targets:
        if target not in told.split():
            print(f"no wheel for {target}: rustup target add {target}", file=sys.stderr)
    return [target for target in targets if target in told.split()]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("dist"), help="folder of the files")
    parser.add_argument("--target", action="append", help="target triple  [default: those that rustup has]")
    arguments = parser.parse_args()
    for built in release(arguments.out, arguments.target or installed()):
        print(built)
