"""The target nginx version and where it comes from."""

from __future__ import annotations

from pathlib import Path

import pytest

from nginxopt.errors import MissingError
from nginxopt.settings.target import ASSUMED, TargetVersion, choose
from nginxopt.version import Version

OLD, NEW = Version(1, 22, 1), Version(1, 30, 0)


def binary(folder: Path, version: str) -> str:
    """A program that prints this version for `-v`."""
    path = folder / "nginx"
    path.write_text(f'#!/bin/sh\necho "nginx version: {version}" >&2\n')
    path.chmod(0o755)
    return str(path)


def test_what_is_stated_counts_before_the_settings() -> None:
    """A version on the command line overrides the settings, and both override the binary."""
    assert choose(OLD, NEW) == TargetVersion(OLD, "stated")
    assert choose(None, NEW) == TargetVersion(NEW, "settings")


@pytest.mark.parametrize(
    ("version", "target"),
    [
        ("nginx/1.22.1 (Debian)", TargetVersion(OLD, "nginx -v")),
        ("nginx/1.30.0", TargetVersion(NEW, "nginx -v")),
        ("openresty/1.21.4.1", TargetVersion(Version(1, 21, 4), "nginx -v")),
        ("Tengine/3.1.0", TargetVersion(ASSUMED, "assumed", is_guess=True)),
    ],
)
def test_the_binary_is_asked(tmp_path: Path, version: str, target: TargetVersion) -> None:
    """Without a stated version the binary is asked; the version of a fork with its own numbers is unknown."""
    assert choose(None, None, binary(tmp_path, version)) == target


def test_without_a_binary_a_version_is_assumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without nginx a default version is assumed; a named binary must exist."""
    monkeypatch.setattr("shutil.which", lambda _: None)
    assert choose(None, None) == TargetVersion(ASSUMED, "assumed", is_guess=True)
    with pytest.raises(MissingError):
        choose(None, None, str(tmp_path / "nginx"))
