"""Cases as files: `NAME.conf`, and what comes of it beside it in `NAME.out`.

With `NGINXOPT_UPDATE=1` a test writes what comes of a case, and so a new case is its `.conf` alone:

    NGINXOPT_UPDATE=1 .venv/bin/python -m pytest --no-cov tests/format/test_format.py && git diff tests/format/cases
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet


def cases(folder: Path) -> list[ParameterSet]:
    """Return the cases in a folder and below, each as the path of its `.conf`."""
    found = sorted(folder.rglob("*.conf"))
    assert found, f"{folder} has no cases"
    return [pytest.param(path, id=str(path.relative_to(folder).with_suffix(""))) for path in found]


def expect(case: Path, result: bytes) -> None:
    """Compare what comes of a case with what stands beside it, or write it there."""
    expected = case.with_suffix(".out")
    if os.environ.get("NGINXOPT_UPDATE"):
        expected.write_bytes(result)
    assert result.decode(errors="backslashreplace") == expected.read_bytes().decode(errors="backslashreplace")
