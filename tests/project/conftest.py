"""The fixtures of containers, for the test of the image, and of the machine that runs the action."""

from __future__ import annotations

import os
import sys
import zipfile
from pathlib import Path

import pytest

from tests.docker.conftest import base_image, engine
from tests.project.action import step
from tests.support import made_once

__all__ = ["base_image", "engine"]


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel whose command is the nginxopt that is tested, and which needs no other package."""
    path = tmp_path_factory.mktemp("package") / "nginxopt-1-py3-none-any.whl"
    python = repr(sys.executable)
    run = f"os.execv({python}, [{python}, '-P', '-m', 'nginxopt', *sys.argv[1:]])"
    files = {
        "stand_in.py": f"import os, sys\ndef main():\n    {run}\n",
        "nginxopt-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: nginxopt\nVersion: 1\n",
        "nginxopt-1.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "nginxopt-1.dist-info/entry_points.txt": "[console_scripts]\nnginxopt = stand_in:main\n",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
        archive.writestr("nginxopt-1.dist-info/RECORD", "".join(f"{name},,\n" for name in files))
    return path


@pytest.fixture(scope="session")
def source(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the action, from which that wheel is built."""
    folder = tmp_path_factory.mktemp("source")
    (folder / "release").mkdir()
    (folder / "release" / "runtime.txt").write_text("# none\n")
    (folder / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    )
    build = f"def build_wheel(folder, *_):\n    shutil.copy({str(package)!r}, folder)\n    return {package.name!r}\n"
    (folder / "backend.py").write_text(f"import shutil\n{build}")
    return folder


@pytest.fixture(scope="session")
def machine(source: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of GitHub's machine after the first step, which installs without a network."""
    environment = {
        **os.environ,
        "GITHUB_ACTION_PATH": str(source),
        "PIP_NO_INDEX": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }

    def install(folder: Path) -> None:
        folder.mkdir()
        of_step = {"RUNNER_TEMP": str(folder), "GITHUB_OUTPUT": str(folder / "output")}
        done = step("Install nginxopt", folder, environment | of_step)
        assert done.returncode == 0, done.stdout

    temp = tmp_path_factory.mktemp("runner")
    (temp / "nginxopt").symlink_to(made_once(tmp_path_factory, "action", install) / "nginxopt")
    return environment | {"RUNNER_TEMP": str(temp), "GITHUB_OUTPUT": str(temp / "output")}
