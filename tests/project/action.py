"""The action of this repository, whose steps tests run as GitHub does."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.support import PATIENCE, ROOT

ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS: dict[str, dict[str, Any]] = {step["name"]: step for step in ACTION["runs"]["steps"]}

# How GitHub and GitLab start a shell: https://docs.github.com/en/actions/reference/workflow-syntax#jobsjob_idstepsshell
BASH = ("bash", "--noprofile", "--norc", "-e", "-o", "pipefail")


def expanded(text: str, inputs: Mapping[str, str], outputs: Mapping[str, str]) -> str:
    """A text of the action with the values that stand for `${{ }}`."""
    values = {f"inputs.{name}": value for name, value in inputs.items()}
    values |= {f"steps.lint.outputs.{name}": value for name, value in outputs.items()}
    return re.sub(r"\$\{\{ (.*?) \}\}", lambda match: values[match[1]], text)


def step(name: str, folder: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run the script of a step as GitHub does."""
    script = folder / "step.sh"
    script.write_text(STEPS[name]["run"])
    return subprocess.run(
        [*BASH, str(script)],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
