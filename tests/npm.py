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


def need() -> None:
    """Skip the test if npm is not installed."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")


def install(folder: Path) -> None:
    """Install what the lock file of a folder names; skip the test if npm cannot get it."""
    need()
    try:
        installed = run(folder, "ci", "--no-audit", "--no-fund", "--fetch-retries=1")
    except subprocess.TimeoutExpired:
        pytest.skip("npm does not get the packages in time")
    if installed.returncode and _OF_NETWORK.search(installed.stderr):
        pytest.skip("npm cannot fetch the packages")
    assert installed.returncode == 0, installed.stderr


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run npm in a folder."""
    return subprocess.run(
        ["npm", *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=PATIENCE
    )
