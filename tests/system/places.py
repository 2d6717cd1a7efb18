"""Folders to write to, and what they must contain afterwards."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounts and other users are root's")


def hidden(folder: Path) -> list[str]:
    """The hidden names in a folder."""
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))


def texts(folder: Path) -> dict[str, bytes]:
    """What stands in the files of a folder that are not hidden."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.startswith(".")}


def write(folder: Path, **named: bytes) -> None:
    """Make files in a folder."""
    for name, text in named.items():
        (folder / name).write_bytes(text)


NAMES = (b"a" * 255, b"new\nline", b"\xff\xfe", "ü".encode() * 127, b"-n", b"a b'c")
