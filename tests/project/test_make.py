"""The targets of the Makefile: what they run, and where it is said."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from functools import cache

import pytest

from tests.support import PATIENCE, ROOT

pytestmark = pytest.mark.no_cover

MAKEFILE = (ROOT / "Makefile").read_text()
HEADER = re.findall(r"^# make (\w+) ", MAKEFILE, re.MULTILINE)
FOR_USERS = ["demo", "test", "check", "docs", "site", "lint", "release", "clean"]


@cache
def dry_run(*target: str) -> str:
    """The commands of a target, with its variables; without make the test is skipped."""
    if shutil.which("make") is None:
        pytest.skip("no make")
    command = ["make", "--dry-run", "--always-make", "--no-print-directory", *target]
    # `make test EXTENDED=1` hands its variables down, also to tests.
    environment = {name: value for name, value in os.environ.items() if name not in {"EXTENDED", "MAKEFLAGS"}}
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_targets_are_explained() -> None:
    """The header names the targets for users, and CONTRIBUTING.md those for developers."""
    assert HEADER == FOR_USERS
    contributing = (ROOT / "CONTRIBUTING.md").read_text()
    assert {"test", "check", "lint"} <= set(re.findall(r"^    make (\w+) ", contributing, re.MULTILINE))


@pytest.mark.extended
@pytest.mark.slow
@pytest.mark.parametrize("target", ["check", "test"])
def test_what_both_run(target: str) -> None:
    """`make check` and `make test` run each linter and pytest."""
    commands = dry_run(target)
    for words in ("ruff check", "ruff format", "mypy", "cargo fmt", "cargo clippy", "--features python", "-m pytest"):
        assert words in commands, words


def test_only_make_test_is_whole() -> None:
    """`make test` tests the crate, and measures coverage if it leaves no test out; `make check` does neither."""
    whole, extended, quick = dry_run("test"), dry_run("test", "EXTENDED=1"), dry_run("check")
    assert ("--cov" in whole, "--cov" in extended) == (False, True)
    assert "cargo test" in whole
    assert "--cov" not in quick
    assert "cargo test" not in quick


def test_extended_tests_are_left_to_ci() -> None:
    """`make test` leaves out what is extended, and nothing else; continuous integration leaves out nothing."""
    assert re.findall(r'-m "(.*?)"', dry_run("test")) == ["not extended"]
    [command] = re.findall(r"make (test .*?) <", (ROOT / ".ci" / "run").read_text())
    assert re.findall(r'-m "(.*?)"', dry_run(*command.split())) == []


@pytest.mark.extended
@pytest.mark.slow
def test_make_check_asks_neither_nginx_nor_containers() -> None:
    """Of the folders whose tests need one, or build something, it selects what does neither."""
    [selection] = re.findall(r'-m "(.*?)"', dry_run("check"))
    command = [sys.executable, "-m", "pytest", "--collect-only", "--quiet", "--no-cov", "-p", "no:cacheprovider"]
    command += ["-m", selection, "tests/nginx", "tests/docker", "tests/project"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False).stdout
    assert set(re.findall(r"^tests/(\S+?)::", listed, re.MULTILINE)) == {
        f"project/test_{name}.py"
        for name in (
            "circles",
            "docs",
            "fixtures",
            "layers",
            "make",
            "native",
            "release",
            "security",
            "starting_nginx",
            "supply",
            "unused",
        )
    }
