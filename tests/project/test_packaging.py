"""The published packages: the source distribution, its wheel, and the cost of an import."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.support import BUILD_FAST, tracked

pytestmark = [pytest.mark.slow, pytest.mark.no_cover]

ROOT = Path(__file__).parents[2]
# Always the same place, so that cargo compiles again only what has changed.
BUILD = ROOT / "build" / "packaging"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def build(what: str, source: Path) -> Path:
    """Build one distribution from a folder; return the one file that comes of it."""
    out = BUILD / what
    shutil.rmtree(out, ignore_errors=True)
    command = [sys.executable, "-m", "build", "--no-isolation", f"--{what}", "--outdir", str(out), str(source)]
    environment = os.environ | BUILD_FAST
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Warning" not in done.stdout + done.stderr, done.stdout + done.stderr
    (built,) = out.iterdir()
    return built


@pytest.fixture(scope="module")
def sdist() -> Path:
    """The source distribution, unpacked."""
    unpacked = BUILD / f"nginxopt-{PROJECT['project']['version']}"
    shutil.rmtree(unpacked, ignore_errors=True)
    with tarfile.open(build("sdist", ROOT)) as archive:
        # A file that a link would put elsewhere is refused, where Python knows how (3.11.4).
        archive.extractall(BUILD, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))  # type: ignore[arg-type]
    return unpacked


@pytest.fixture(scope="module")
def wheel(sdist: Path) -> set[str]:
    """The names in the wheel that is built from the source distribution."""
    return set(zipfile.ZipFile(build("wheel", sdist)).namelist())


def test_the_sdist_holds_all_sources(sdist: Path) -> None:
    """Every file that a build needs, and what is to be read first, is in the source distribution."""
    wanted = tracked("nginxopt", "rules", "rust/src", "rust/Cargo.toml", "rust/Cargo.lock", ".cargo")
    wanted |= {"LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml"}
    assert {name for name in wanted if not (sdist / name).exists()} == set()


def test_the_wheel_holds_the_package(wheel: set[str]) -> None:
    """Every file of the package is in the wheel, the rules as `nginxopt.rules`, and the extension."""
    rules = {f"nginxopt/{name}" for name in tracked("rules")}
    extensions = {name for name in wheel if name.startswith("nginxopt/_native.") and name.endswith(".so")}
    assert tracked("nginxopt") | rules <= wheel
    assert extensions == {"nginxopt/_native.abi3.so"}


def test_the_wheel_holds_nothing_else(wheel: set[str]) -> None:
    """No second top-level package and no Rust source is installed."""
    top = {name.split("/")[0] for name in wheel}
    distribution = f"nginxopt-{PROJECT['project']['version']}"
    assert top == {"nginxopt", f"{distribution}.dist-info", f"{distribution}.data"}
    installed = {Path(name).name for name in wheel if name.startswith(f"{distribution}.data/data/share/")}
    assert installed == {Path(name).name for name in tracked("docs/man", "docs/completions")}
    assert not [name for name in wheel if ".data/" in name and ".data/data/share/" not in name]
    assert [name for name in wheel if name.endswith((".rs", ".toml", ".pyc"))] == []


@pytest.mark.parametrize("statement", ["import nginxopt", "import nginxopt.rewrite", "import nginxopt.errors"])
def test_an_import_loads_nothing_heavy(statement: str) -> None:
    """The package is imported without the parser, the extension, the templates or the command line."""
    heavy = ["crossplane", "nginxopt._native", "click", "jinja2", "nginxopt.config.configuration", "nginxopt.cli"]
    code = f"import sys; {statement}; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_version_is_said_once() -> None:
    """The package, the project and the crate have one version."""
    import nginxopt

    crate = tomllib.loads((ROOT / "rust" / "Cargo.toml").read_text())
    assert nginxopt.__version__ == PROJECT["project"]["version"] == crate["package"]["version"]
