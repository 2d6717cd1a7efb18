"""How the action gets nginxopt: the wheel of a release by its hash, or built once; and that it lints once."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.project.action import STEPS, step

pytestmark = [pytest.mark.slow, pytest.mark.no_cover]


@pytest.fixture
def action(tmp_path: Path) -> Path:
    """A folder like that of the action, of release 1 and without hashes."""
    folder = tmp_path / "action"
    for name in ("nginxopt", "rules", "rust", "release"):
        (folder / name).mkdir(parents=True)
        (folder / name / "a").write_text(name)
    (folder / "pyproject.toml").write_text('[project]\nversion = "1"\n')
    (folder / "setup.py").write_text("")
    (folder / "release" / "hashes.txt").write_text("# none\n")
    return folder


def took(
    action: Path, machine: dict[str, str], package: Path, version: str = ""
) -> tuple[subprocess.CompletedProcess[str], dict[str, str], Path]:
    """Run the step that looks for a wheel, with those of a folder as the registry."""
    temp = action.parent / "temp"
    shutil.rmtree(temp, ignore_errors=True)
    temp.mkdir()
    environment = {
        **machine,
        "GITHUB_ACTION_PATH": str(action),
        "RUNNER_TEMP": str(temp),
        "GITHUB_OUTPUT": str(temp / "output"),
        "PIP_FIND_LINKS": str(package.parent),
        "RELEASE": version,
    }
    done = step("Wheel", temp, environment)
    output = temp / "output"
    lines = output.read_text().splitlines() if output.exists() else []
    return done, dict(line.split("=", 1) for line in lines), temp


def test_a_wheel_by_its_hash(action: Path, machine: dict[str, str], package: Path) -> None:
    """The wheel of the action's own release is taken if its hash is known, and one that is named with its hash."""
    known = hashlib.sha256(package.read_bytes()).hexdigest()
    (action / "release" / "hashes.txt").write_text(f"nginxopt==1 --hash=sha256:{known}\n")
    for version in ("", "1", f"1@sha256:{known}"):
        done, outputs, temp = took(action, machine, package, version)
        assert done.returncode == 0, done.stdout
        assert outputs["wheel"] == "true"
        assert [path.name for path in (temp / "nginxopt-wheel").iterdir()] == [package.name]
    done = step("Install nginxopt", temp, {**machine, "RUNNER_TEMP": str(temp)})
    assert done.returncode == 0, done.stdout
    assert (temp / "nginxopt/bin/nginxopt").exists()


def test_another_wheel_is_refused(action: Path, machine: dict[str, str], package: Path) -> None:
    """A wheel with another hash is not installed, and a release whose hash nobody knows is an error."""
    done, _, temp = took(action, machine, package, f"1@sha256:{'0' * 64}")
    assert done.returncode != 0
    assert not (temp / "nginxopt-wheel").exists() or not list((temp / "nginxopt-wheel").iterdir())
    done, _, _ = took(action, machine, package, "2")
    assert done.returncode == 1
    assert "::error title=nginxopt::The hash of nginxopt 2 is not known here" in done.stdout


def test_what_is_built_is_kept(action: Path, machine: dict[str, str], package: Path) -> None:
    """Without a hash, the cache is that of the sources: one byte more is another."""
    _, first, _ = took(action, machine, package)
    assert "wheel" not in first
    _, same, _ = took(action, machine, package, "1")
    (action / "rust" / "a").write_text("other")
    _, other, _ = took(action, machine, package)
    assert first == same != other
    assert STEPS["Cache"]["if"] == "steps.wheel.outputs.wheel != 'true'"
    assert "steps.wheel.outputs.sources" in STEPS["Cache"]["with"]["key"]


def test_it_lints_once() -> None:
    """One run makes the annotations, the alerts and the summary."""
    assert STEPS["Lint"]["run"].count("bin/nginxopt") == 1
