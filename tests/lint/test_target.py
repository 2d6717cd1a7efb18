"""Which nginx a configuration is judged for, and how that is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from nginxopt.errors import MissingError
from nginxopt.lint.target import ASSUMED, Target, choose
from nginxopt.version import Version

OLD, NEW = Version(1, 22, 1), Version(1, 30, 0)


def binary(folder: Path, says: str) -> str:
    """A program that answers `-v` as a server of the family would."""
    path = folder / "nginx"
    path.write_text(f'#!/bin/sh\necho "nginx version: {says}" >&2\n')
    path.chmod(0o755)
    return str(path)


def test_what_is_stated_counts_before_the_settings() -> None:
    """A version on the command line goes before that of the settings, and both before any binary."""
    assert choose(OLD, NEW) == Target(OLD, "stated")
    assert choose(None, NEW) == Target(NEW, "settings")


@pytest.mark.parametrize(
    ("says", "target"),
    [
        ("nginx/1.22.1 (Debian)", Target(OLD, "nginx -v")),
        ("nginx/1.30.0", Target(NEW, "nginx -v")),
        ("openresty/1.21.4.1", Target(Version(1, 21, 4), "nginx -v")),
        ("Tengine/3.1.0", Target(ASSUMED, "assumed")),
    ],
)
def test_the_binary_is_asked(tmp_path: Path, says: str, target: Target) -> None:
    """Without a stated version the binary is asked; of a relative of nginx with numbers of its own nothing is known."""
    assert choose(None, None, binary(tmp_path, says)) == target


def test_without_a_binary_a_version_is_assumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without nginx a version is assumed, but one that is named must be there."""
    monkeypatch.setattr("shutil.which", lambda _: None)
    assert choose(None, None) == Target(ASSUMED, "assumed")
    with pytest.raises(MissingError):
        choose(None, None, str(tmp_path / "nginx"))
