"""The fixtures of containers, for the test of the image, of what is published, and of the machine that runs the action.

What several files need is built once in a run of all tests.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from release import reproducible, wheel
from tests.docker.conftest import base_image, engine
from tests.project.action import step
from tests.support import BUILD_FAST, PATIENCE, ROOT, made_once, tracked

__all__ = ["base_image", "engine"]


TIME = 1_700_000_000
"""The time of the builds that are compared."""

_PARTS = ("nginxopt", "rules", "rust", "docs/man", "docs/completions", ".cargo")
_FILES = ("LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml", "setup.py", "MANIFEST.in")


def copied(folder: Path) -> Path:
    """A copy of what a build reads, with times of its own."""
    for name in (*tracked(*_PARTS), *_FILES):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, target)
        os.utime(target, (0, 0))
    return folder


@pytest.fixture(scope="session")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution, unpacked."""

    def make(folder: Path) -> None:
        command = [sys.executable, "-m", "build", "--no-isolation", "--sdist", "--outdir", str(folder), str(ROOT)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "Warning" not in done.stdout + done.stderr, done.stdout + done.stderr
        (built,) = folder.iterdir()
        with tarfile.open(built) as archive:
            # A file that a link would put elsewhere is refused, where Python knows how (3.11.4).
            archive.extractall(folder / "unpacked", **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))  # type: ignore[arg-type]

    (unpacked,) = (made_once(tmp_path_factory, "sdist", make) / "unpacked").iterdir()
    return unpacked


@dataclass(frozen=True, slots=True)
class Twins:
    """Two wheels of one source, and the environment in which they were built."""

    one: Path
    two: Path
    environment: dict[str, str]


@pytest.fixture(scope="session")
def twins(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Twins:
    """Wheels of the source distribution and of a copy of the repository, with other modes for new files.

    The crates that nginxopt uses are compiled once, from one folder in any case, and nginxopt itself for each wheel.
    """
    copy = sdist.parents[1] / "copy"
    places = [reproducible.environment(source, TIME) for source in (sdist, copy)]
    flags = {name: " ".join(place[name] for place in places) for name in ("RUSTFLAGS", "CFLAGS")}
    environment = BUILD_FAST | places[0] | flags

    def make(folder: Path) -> None:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in environment.items():
                patch.setenv(name, value)
            for source, modes in ((sdist, 0o022), (copied(copy), 0o077)):
                for known in Path(BUILD_FAST["CARGO_TARGET_DIR"]).rglob(".fingerprint/nginxopt*"):
                    shutil.rmtree(known)  # cargo compiles nginxopt itself again
                before = os.umask(modes)
                try:
                    wheel.build(folder / source.name, f"{platform.machine()}-unknown-linux-gnu", source)
                finally:
                    os.umask(before)

    folder = made_once(tmp_path_factory, "twins", make)
    (one,), (two,) = ((folder / source.name).glob("*.whl") for source in (sdist, copy))
    return Twins(one, two, environment)


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
