"""Hostile configurations through every command, a few of each kind; `NGINXOPT_HOSTILE` names another number."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping

import pytest

from nginxopt.budget import LIMITS
from tests.fuzz.hostile.generate import KINDS
from tests.fuzz.hostile.play import COMMANDS
from tests.support import ROOT

_FEW = 2
RUNS = int(os.environ.get("NGINXOPT_HOSTILE", _FEW))
"""Configurations of each kind that every command gets; 834 are 10,000 in all."""

pytestmark = [pytest.mark.extended, pytest.mark.no_cover]  # each command runs in a fork

_GROUPS = [",".join([*KINDS][number::4]) for number in range(4)]
"""The kinds, as many at once as make the start of a process cheap."""

# Nine commands read a template until its budget ends, and take four seconds for all of it.
_SMALL = {"NGINXOPT_BUDGET": f"template-work={LIMITS['template-work'].default // 10}"}


def _played(runs: int, *options: str, environment: Mapping[str, str]) -> None:
    command = [sys.executable, "-m", "tests.fuzz.hostile", "--seed", "7", "--runs", str(runs), *options]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-5_000:] + done.stderr[-1_000:]
    assert f"{runs} runs" in done.stdout


@pytest.mark.parametrize("kinds", _GROUPS)
def test_every_command_ends_with_a_result_or_a_message(kinds: str) -> None:
    """In 512 MB and 10 s of the processor: no traceback, no panic, no file outside, and a message for status 3."""
    runs = RUNS * len(COMMANDS) * len(kinds.split(","))
    _played(runs, "--kinds", kinds, environment=_SMALL if RUNS == _FEW else {})


def test_the_usual_budget_of_templates_is_small_enough() -> None:
    """A command that reads a template until its usual budget ends takes no more of either."""
    _played(1, "--kinds", "choices", "--commands", "lint", environment={})
