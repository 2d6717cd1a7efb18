"""What the measure of coverage leaves out is left out."""

from __future__ import annotations

import sys

import pytest

from tests.measuring import UNMEASURED
from tests.support import ROOT


def test_the_files_are_there() -> None:
    """Each file that is named is there."""
    assert [name for name in UNMEASURED if not (ROOT / name).is_file()] == []


@pytest.mark.no_cover
def test_nothing_traces_what_is_left_out() -> None:
    """A test that is left out runs at full speed, also in a process of xdist."""
    assert sys.gettrace() is None
