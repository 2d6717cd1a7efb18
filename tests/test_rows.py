"""Rows of one law: each is checked, and a failure names all that do not hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rows import every_row


def test_a_failure_names_all_rows_that_fail() -> None:
    """Those after the first failure are checked, too; the name of a row is its id, or its values."""
    asked = []

    @every_row("text, number", [("a", 1), pytest.param("b", 2, id="second"), ("c", 3)])
    def law(text: str, number: int) -> None:
        asked.append(text)
        if number == 2:
            pytest.fail("it is even")
        assert number < 3

    with pytest.raises(ExceptionGroup, match="2 of 3 rows fail") as failed:
        law()
    assert asked == ["a", "b", "c"]
    assert [each.__notes__ for each in failed.value.exceptions] == [["in the row second"], ["in the row 'c', 3"]]


def test_a_row_that_is_skipped_hides_no_failure() -> None:
    """The test is skipped only if all others hold."""

    @every_row("number", [1, 2, 3])
    def law(number: int) -> None:
        if number == 1:
            pytest.skip("no one")
        assert number == 2

    with pytest.raises(AssertionError):
        law()


def test_rows_are_multiplied_and_have_folders(tmp_path: Path) -> None:
    """As several parametrizations are; each row has an empty folder."""
    seen = []

    @every_row("one", "ab")
    @every_row("other", [1, 2], ids=["first", "second"])
    def law(one: str, other: int, tmp_path: Path) -> None:
        assert not any(tmp_path.iterdir())
        (tmp_path / "x").touch()
        seen.append((one, other))

    law(tmp_path=tmp_path)
    assert seen == [("a", 1), ("a", 2), ("b", 1), ("b", 2)]


def test_a_skipped_row_skips_the_test() -> None:
    """With its reason."""

    @every_row("number", [1, 2])
    def law(number: int) -> None:
        if number == 1:
            pytest.skip("no one")

    with pytest.raises(pytest.skip.Exception, match="1: no one"):
        law()
