"""Numbers of things in words."""

from __future__ import annotations

import pytest

from nginxopt.text.display import be, count


@pytest.mark.parametrize(
    ("number", "expected"), [(0, "0 keys are"), (1, "1 key is"), (2, "2 keys are"), (12_345, "12,345 keys are")]
)
def test_one_thing_and_others(number: int, expected: str) -> None:
    """One thing is, any other number are; thousands are set apart."""
    assert f"{count(number, 'key')} {be(number)}" == expected


def test_a_plural_of_its_own() -> None:
    """A noun whose plural does not end in s alone brings it."""
    assert [count(number, "entry", "entries") for number in (1, 3)] == ["1 entry", "3 entries"]
