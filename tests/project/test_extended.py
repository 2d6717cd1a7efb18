"""What `make test` leaves out is there, and nothing else is left out."""

from __future__ import annotations

import pytest

from tests.extended import EXTENDED, is_extended
from tests.support import ROOT


@pytest.mark.parametrize("name", EXTENDED)
def test_what_is_named_is_there(name: str) -> None:
    """Each file that is named is there, and each test in its file."""
    file, _, function = name.partition("::")
    text = (ROOT / file).read_text()
    assert not function or f"def {function}(" in text


def test_cases_are_left_out_with_their_test() -> None:
    """A name stands for all its cases, and for no other test whose name begins alike."""
    (function,) = (name for name in EXTENDED if name.startswith("tests/lint/test_templates.py::"))
    assert is_extended(f"{function}[0]")
    assert not is_extended(f"{function}_and_more")
    assert not is_extended(function.partition("::")[0] + "::another")
