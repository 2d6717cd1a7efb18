"""Patterns are compiled at their first use."""

from __future__ import annotations

import copy
import pickle
import re

import pytest

from nginxopt.lazy import pattern


def test_a_lazy_pattern_is_used_as_any() -> None:
    """Methods and attributes are those of the compiled pattern; flags count."""
    text = rb"(?P<a>b)+"
    lazy, compiled = pattern(text, re.IGNORECASE), re.compile(text, re.IGNORECASE)
    found = lazy.fullmatch(b"BB")
    assert found is not None
    assert found["a"] == b"B"
    assert (lazy.pattern, lazy.groupindex, lazy.flags) == (compiled.pattern, compiled.groupindex, compiled.flags)
    with pytest.raises(AttributeError):
        _ = lazy.nothing  # type: ignore[attr-defined]


def test_a_wrong_pattern_is_an_error_at_its_first_use() -> None:
    """It is the error of `re.compile`."""
    wrong = pattern("(")
    with pytest.raises(re.error):
        wrong.match("")


def test_patterns_are_copied_and_pickled() -> None:
    """As workers of the fleet get the modules of rules by value; used or not."""
    used = pattern(r"\d+", re.ASCII)
    assert used.match("1")
    for lazy in (used, pattern(r"\d+", re.ASCII)):
        for other in (pickle.loads(pickle.dumps(lazy)), copy.deepcopy(lazy)):
            assert (other.pattern, other.flags) == (r"\d+", re.ASCII)
            assert other.findall("1 22") == ["1", "22"]
