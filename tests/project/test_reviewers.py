"""Programs that run nginxopt for reviewers: MegaLinter's plugin, and reviewdog."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support import PATIENCE

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "docs/mega-linter-plugin-nginxopt/nginxopt.megalinter-descriptor.yml"
DESCRIPTOR: dict[str, Any] = yaml.safe_load(PLUGIN.read_text())
(LINTER,) = DESCRIPTOR["linters"]

pytestmark = [pytest.mark.slow, pytest.mark.no_cover]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A copy of the slow site, with settings, in a git repository."""
    shutil.copytree(ROOT / "fixtures/slow-site", tmp_path, dirs_exist_ok=True)
    (tmp_path / "nginxopt.toml").write_text('target-version = "1.28.0"\n')
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    for command in (["init", "--quiet"], ["add", "."], [*identity, "commit", "--quiet", "--message", "a site"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    return tmp_path


def run(site: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """What MegaLinter runs: the arguments of the plugin, the settings, then others, then the files."""
    settings = [LINTER["cli_config_arg_name"], str(site / LINTER["config_file_name"])]
    command = [str(Path(sys.executable).parent / LINTER["linter_name"]), *LINTER["cli_lint_extra_args"], *settings]
    return subprocess.run(
        [*command, *words, "nginx.conf"], cwd=site, capture_output=True, text=True, check=False, timeout=PATIENCE
    )


def test_the_plugin_counts_the_findings(site: Path) -> None:
    """The status is 1, and the number of findings is where the plugin looks for it."""
    linted = run(site)
    assert linted.returncode == 1
    assert sum(map(int, re.findall(LINTER["cli_lint_errors_regex"], linted.stdout + linted.stderr))) > 5
    assert run(site, "--target-version", "nonsense").returncode == 2


def test_the_plugin_writes_sarif(site: Path) -> None:
    """The arguments for SARIF write the file that MegaLinter names."""
    report = site / "report.sarif"
    run(site, *(str(report) if "SARIF_OUTPUT_FILE" in word else word for word in LINTER["cli_sarif_args"]))
    assert json.loads(report.read_text())["version"] == "2.1.0"


def test_the_plugin_fixes(site: Path) -> None:
    """The argument for fixes changes files; others tell version and help."""
    before = (site / "nginx.conf").read_text()
    run(site, LINTER["cli_lint_fix_arg_name"], "--assume", "plain-command-line,pcre-library")
    assert (site / "nginx.conf").read_text() != before
    for argument in (LINTER["cli_version_arg_name"], LINTER["cli_help_arg_name"]):
        command = [str(Path(sys.executable).parent / "nginxopt"), argument]
        assert "nginxopt" in subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_the_plugin_takes_files_of_nginx() -> None:
    """It takes the files of the fixtures, and no .conf of other programs."""
    patterns = [re.compile(text) for text in DESCRIPTOR["file_contains_regex"]]
    others = {
        "systemd": "[Service]\nExecStart=/usr/sbin/nginx\n",
        "redis": "port 6379\nsave 900 1\n",
        "Apache": "<VirtualHost *:80>\n    ServerName a.example\n    RewriteRule ^/a$ /b [R=301]\n</VirtualHost>\n",
    }
    assert [name for name, text in others.items() if any(pattern.search(text) for pattern in patterns)] == []
    files = [path for path in (ROOT / "fixtures/slow-site").rglob("*.conf") if path.stat().st_size]
    assert files
    assert [path for path in files if not any(pattern.search(path.read_text()) for pattern in patterns)] == []


@pytest.mark.skipif(shutil.which("reviewdog") is None, reason="no reviewdog: install it to try its recipe")
def test_reviewdog_reads_sarif(site: Path) -> None:
    """It shows the finding of a line that changes, and fails at its level; without a change it is silent."""
    path = site / "nginx.conf"
    lines = path.read_text().splitlines(keepends=True)
    number = next(number for number, line in enumerate(lines) if "proxy_cache_path" in line)
    assert reviewed(site) == (0, "")
    path.write_text("".join([*lines[:number], lines[number].replace(";", "; # more", 1), *lines[number + 1 :]]))
    status, shown = reviewed(site)
    assert status == 1
    assert "cache-unbounded" in shown


def reviewed(site: Path) -> tuple[int, str]:
    """The status of reviewdog for the changes of a repository, and what it shows."""
    report = run(site, "--format", "sarif").stdout
    command = ["reviewdog", "-f=sarif", "-name=nginxopt", "-diff=git diff HEAD", "-reporter=local"]
    done = subprocess.run(
        [*command, "-fail-level=warning"], input=report, cwd=site, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout
