"""Hostile configurations through every command, a few of each kind; `NGINXOPT_HOSTILE` names another number."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.fuzz.hostile.generate import KINDS
from tests.fuzz.hostile.play import COMMANDS
from tests.support import ROOT

RUNS = int(os.environ.get("NGINXOPT_HOSTILE", "2"))
"""Configurations of each kind that every command gets; 834 are 10,000 in all."""

pytestmark = [pytest.mark.extended, pytest.mark.no_cover]  # each command runs in a fork

_GROUPS = [",".join([*KINDS][number::4]) for number in range(4)]
"""The kinds, as many at once as make the start of a process cheap."""


@pytest.mark.parametrize("kinds", _GROUPS)
def test_every_command_ends_with_a_result_or_a_message(kinds: str) -> None:
    """In 512 MB and 10 s of the processor: no traceback, no panic, no file outside, and a message for status 3."""
    runs = RUNS * len(COMMANDS) * len(kinds.split(","))
    command = [sys.executable, "-m", "tests.fuzz.hostile", "--kinds", kinds, "--seed", "7", "--runs", str(runs)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-5_000:] + done.stderr[-1_000:]
    assert f"{runs} runs" in done.stdout
