"""The package of rules in fixtures/, as pip installs it, is used by nginxopt."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import PATIENCE, ROOT

pytestmark = [pytest.mark.slow, pytest.mark.extended, pytest.mark.no_cover]

SITE = "events {}\nhttp {\n    upstream a { server a.example.com; }\n    server { autoindex on; }\n}\n"
PAGE = "https://wiki.example.com/nginx/internal-upstream"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package, installed without a network."""
    copy, folder = tmp_path_factory.mktemp("source") / "acme", tmp_path_factory.mktemp("installed")
    shutil.copytree(ROOT / "fixtures" / "acme-nginx-rules", copy)
    options = ["--quiet", "--no-index", "--no-build-isolation", "--no-deps", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(folder), str(copy)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def run(installed: Path, folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """Run nginxopt where the package is installed."""
    (folder / "nginx.conf").write_text(SITE)
    environment = {**os.environ, "PYTHONPATH": str(installed), "NO_COLOR": "1"}
    command = [sys.executable, "-m", "nginxopt", *args]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False, env=environment
    )


def test_lint_runs_them(installed: Path, tmp_path: Path) -> None:
    """Installed rules are run by default, and a report links to the page that a rule states."""
    args = ("--isolated", "--target-version", "1.28.0", "--format", "sarif", "--ignore", "all")
    assert json.loads(run(installed, tmp_path, "lint", "nginx.conf", *args).stdout)["runs"][0]["results"] == []
    done = run(installed, tmp_path, "lint", "nginx.conf", *args[:-2])
    sarif = json.loads(done.stdout)["runs"][0]
    lines = {
        result["ruleId"]: result["locations"][0]["physicalLocation"]["region"]["startLine"]
        for result in sarif["results"]
    }
    assert {name: line for name, line in lines.items() if name.startswith("acme-")} == {
        "acme-internal-upstream": 3,
        "acme-no-autoindex": 4,
    }
    pages = {rule["id"]: rule.get("helpUri") for rule in sarif["tool"]["driver"]["rules"]}
    assert (pages["acme-internal-upstream"], pages["acme-no-autoindex"]) == (PAGE, None)
    assert done.returncode == 1


def test_their_examples_pass(installed: Path, tmp_path: Path) -> None:
    """`rules test` runs the examples of installed rules."""
    done = run(installed, tmp_path, "rules", "test", "--isolated")
    assert done.stdout == "ok    acme-internal-upstream: 3 examples\nok    acme-no-autoindex: 3 examples\n"
    assert (done.returncode, done.stderr) == (0, "2 rules\n")


def test_a_broken_release_is_told(installed: Path, tmp_path: Path) -> None:
    """A package that does not import is an error with its name and version, and everything else is checked."""
    broken = tmp_path / "broken"
    shutil.copytree(installed, broken)
    (broken / "acme_nginx_rules" / "_names.py").write_text("INTERNAL = None\nraise RuntimeError('no network')\n")
    done = run(broken, tmp_path, "lint", "nginx.conf", "--isolated", "--target-version", "1.28.0")
    assert "warning acme-no-autoindex" in done.stdout
    assert (
        "_names.py:2:1: error rule acme-internal-upstream of the package acme-nginx-rules 1.0 cannot be" in done.stdout
    )
    assert done.returncode == 7


def test_a_folder_with_the_same_rules(installed: Path, tmp_path: Path) -> None:
    """A folder that repeats an installed rule is an error that names both."""
    (tmp_path / "nginxopt.toml").write_text('rules = ["checks"]\n')
    (tmp_path / "checks").mkdir()
    shutil.copy(installed / "acme_nginx_rules" / "acme_no_autoindex.py", tmp_path / "checks")
    done = run(installed, tmp_path, "lint", "nginx.conf", "--rules")
    assert done.returncode == 3
    package = "acme_nginx_rules.acme_no_autoindex of the package acme-nginx-rules 1.0"
    assert f'{package} and checks/acme_no_autoindex.py have the same id, "acme-no-autoindex"' in done.stderr
