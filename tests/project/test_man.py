"""Man pages and completions are those of the commands, and shells and man read them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from nginxopt.cli import nginxopt
from tests.cli.test_options import commands
from tests.rows import every_row
from tests.support import PATIENCE, ROOT

pytestmark = [pytest.mark.slow, pytest.mark.no_cover]

MAN = ROOT / "docs" / "man"
COMPLETIONS = ROOT / "docs" / "completions"
PAGES = sorted(MAN.glob("*.1"))


def test_every_command_has_a_page() -> None:
    """There is a page for each command, with each of its long options."""
    names = {"nginxopt", *(f"nginxopt-{path.replace(' ', '-')}" for path, _ in commands(nginxopt))}
    assert {path.stem for path in PAGES} == names
    for path, command in commands(nginxopt):
        text = (MAN / f"nginxopt-{path.replace(' ', '-')}.1").read_text().replace("\\-", "-")
        for parameter in command.params:
            assert all(option in text for option in parameter.opts if option.startswith("--"))


def test_they_are_installed() -> None:
    """The wheel has every page and script."""
    data = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["data-files"]
    listed = {path for patterns in data.values() for pattern in patterns for path in ROOT.glob(pattern)}
    assert listed == {*PAGES, *COMPLETIONS.iterdir()}


@pytest.mark.skipif(shutil.which("groff") is None, reason="no groff")
def test_man_reads_every_page() -> None:
    """groff has nothing to say of any page."""
    done = subprocess.run(
        ["groff", "-man", "-ww", "-Tutf8", "-z", *map(str, PAGES)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    assert done.stderr == ""


@pytest.mark.skipif(shutil.which("groff") is None, reason="no groff")
def test_a_page_shows_what_help_shows() -> None:
    """The examples and the text of --help are on the page, with backslashes and dashes as they are."""
    done = subprocess.run(
        ["groff", "-man", "-Tascii", "-rLL=200n", str(MAN / "nginxopt-rewrite-to-map.1")],
        capture_output=True, text=True, timeout=PATIENCE, check=True,
    )  # fmt: skip
    shown = re.sub(r"\x1b\[[\d;]*m|.\x08", "", done.stdout)
    assert "nginxopt rewrite-to-map rows.map --context 'map $uri $new'" in shown
    assert "SEE ALSO\n       nginxopt(1)" in shown


# --- completion


def asked(shell: str, *words: str) -> str:
    """What nginxopt answers a shell that completes the last of the words."""
    answers = {
        "bash": {"COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)},
        "zsh": {"COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)},
        "fish": {"COMP_WORDS": " ".join(words[:-1]), "COMP_CWORD": words[-1]},
    }
    done = CliRunner().invoke(nginxopt, env={"_NGINXOPT_COMPLETE": f"{shell}_complete", **answers[shell]})
    assert done.exit_code == 0
    return done.stdout


@every_row("shell", ["bash", "zsh", "fish"])
@every_row(
    ("words", "expected"),
    [
        (("nginxopt", "rew"), "rewrite-to-map"),
        (("nginxopt", "lint", "--target"), "--target-version"),
        (("nginxopt", "lint", "--format", "sa"), "sarif"),
        (("nginxopt", "lint", "ngi"), "file"),
        (("nginxopt", "lint", "--baseline", "x"), "file"),
        (("nginxopt", "rules", "te"), "test"),
        (("nginxopt", "rules", "test", "x"), "file"),
        (("nginxopt", "explain", "gzip-l"), "gzip-level"),
        (("nginxopt", "bench", "keep"), "keepalive"),
    ],
)
def test_a_shell_is_answered(shell: str, words: Sequence[str], expected: str) -> None:
    """Commands, options, choices, rules and names of files are completed."""
    assert re.search(rf"(^|[,\n]){re.escape(expected)}\b", asked(shell, *words))


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_bash_completes(tmp_path: Path) -> None:
    """The script defines a completion for nginxopt that bash runs."""
    source = (
        f"source {COMPLETIONS / 'nginxopt'}\n"
        "COMP_WORDS=(nginxopt verify --target); COMP_CWORD=2\n"
        "_nginxopt_completion nginxopt --target verify; printf '%s\\n' \"${COMPREPLY[@]}\"\n"
        "complete -p nginxopt\n"
    )
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", source], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=True,
        env={**os.environ, "PATH": path},
    )  # fmt: skip
    assert "--target-version" in done.stdout.splitlines()
    assert "-F _nginxopt_completion" in done.stdout


@pytest.mark.parametrize(("name", "shell"), [("_nginxopt", "zsh"), ("nginxopt.fish", "fish")])
def test_other_shells_read_their_script(name: str, shell: str) -> None:
    """zsh and fish parse their scripts, where they are installed."""
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell}")
    subprocess.run([shell, "-n", str(COMPLETIONS / name)], timeout=PATIENCE, check=True)
