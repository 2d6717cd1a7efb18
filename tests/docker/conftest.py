"""A container engine, an image to build from, and vegeta: where one cannot be had, tests are skipped and say why."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from nginxopt.bench.runner import engine as engines
from nginxopt.bench.runner.engine import Engine
from nginxopt.errors import MissingError
from tests.support import PATIENCE, made_once


@pytest.fixture(scope="session")
def engine() -> Engine:
    """An engine that answers, with Compose."""
    try:
        return engines.find()
    except MissingError as error:
        pytest.skip(f"no containers here: {error.message}")


@pytest.fixture(scope="session")
def base_image(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A base image made of the packages of this system's release; no registry is asked. It stays for the next run."""
    release = _release()
    tag = f"nginxopt-base:{release}"

    def make(folder: Path) -> None:
        if not engine.has_image(tag):
            folder.mkdir()
            _make(engine, tag, release, folder)

    made_once(tmp_path_factory, "base-image", make)
    tried = engine.run("run", "--rm", tag, "true", seconds=PATIENCE)
    if tried.status:
        pytest.skip(f"no containers here: {tried.last()}")
    return tag


def _release() -> str:
    """The name of this system's release, such as `bookworm`."""
    known = Path("/etc/os-release")
    lines = known.read_text().splitlines() if known.exists() else []
    fields = dict(line.split("=", 1) for line in lines if "=" in line)
    if "VERSION_CODENAME" not in fields:
        pytest.skip("no base image: this system does not say what debootstrap could make")
    return fields["VERSION_CODENAME"].strip('"')


def _make(engine: Engine, tag: str, release: str, folder: Path) -> None:
    if shutil.which("debootstrap") is None or os.getuid() != 0:
        pytest.skip("no base image: only root can make one, with debootstrap")
    build = subprocess.run(
        ["debootstrap", "--variant=minbase", release, str(folder / "root")],
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    if build.returncode:
        last = (build.stdout + build.stderr).decode(errors="replace").strip().splitlines()[-1:]
        pytest.skip(f"no base image: debootstrap {release}: {' '.join(last)}")
    with subprocess.Popen(["tar", "-C", str(folder / "root"), "-c", "."], stdout=subprocess.PIPE) as packed:
        subprocess.run([engine.docker, "import", "-", tag], stdin=packed.stdout, capture_output=True, check=True)
    shutil.rmtree(folder / "root")


@pytest.fixture(scope="session")
def vegeta() -> str:
    """The path of vegeta on this machine, which goes into the image."""
    path = shutil.which("vegeta")
    if path is None:
        pytest.skip("no vegeta on PATH: it is built into the image")
    return path
