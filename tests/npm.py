"""npm, where it is installed and a registry answers."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support import PATIENCE

_OF_NETWORK = re.compile(r"ENOTFOUND|EAI_AGAIN|E\w*TIMEDOUT|SOCKET_TIMEOUT|ECONN|E\w+UNREACH|CERT|E40[134]|E5\d\d")
"""What npm says where there is no registry, or none that has the packages."""


_FETCH_SECONDS = 300.0
"""How long a registry may take for 170 MB; what needs them is skipped then."""


def need() -> None:
    """Skip the test if npm is not installed."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")


def install(folder: Path, *options: str) -> None:
    """Install what the lock file of a folder names; skip the test if npm cannot get it."""
    _fetch(folder, "ci", "--no-audit", "--no-fund", *options)


def fetched(folder: Path, package: str) -> Path:
    """Return the archive of a package, put into a folder; skip the test if npm cannot get it."""
    name = _fetch(folder, "pack", package).split()[-1]
    return folder / name


def _fetch(folder: Path, *arguments: str) -> str:
    need()
    try:
        done = run(folder, *arguments, "--fetch-retries=1", timeout=_FETCH_SECONDS)
    except subprocess.TimeoutExpired:
        pytest.skip("npm does not get the packages in time")
    if done.returncode and _OF_NETWORK.search(done.stderr):
        pytest.skip("npm cannot fetch the packages")
    assert done.returncode == 0, done.stderr
    return done.stdout


def run(folder: Path, *arguments: str, timeout: float = PATIENCE) -> subprocess.CompletedProcess[str]:
    """Run npm in a folder."""
    return subprocess.run(["npm", *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=timeout)
