"""Rows of one law in one test: each is checked, and a failure names all that do not hold.

`pytest.mark.parametrize` makes a test of each row, which may cost more than the check. It is for cases that somebody
asks for alone, that take seconds, or that have fixtures of their own.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest
from _pytest.mark import ParameterSet

from nginxopt.config import roots


def every_row(
    names: str | Sequence[str], rows: Iterable[Any], *, ids: Callable[[Any], object] | Iterable[object] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test on all rows, with arguments as those of `pytest.mark.parametrize`.

    `tmp_path` is another folder for each row; other fixtures are those of the test. If rows are skipped, so is the
    test, after all others have passed.
    """
    arguments = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    is_bare = isinstance(names, str) and len(arguments) == 1
    given_ids = None if ids is None or callable(ids) else list(ids)
    table = []
    for number, row in enumerate(rows):
        name = row.id if isinstance(row, ParameterSet) else given_ids[number] if given_ids else None
        values = row.values if isinstance(row, ParameterSet) else (row,) if is_bare else row
        assert not (isinstance(row, ParameterSet) and row.marks), f"{row} has marks, which are those of a test"
        shown = (str(ids(value)) if callable(ids) else repr(value) for value in values)
        table.append((str(name or ", ".join(shown))[:1_000], values))
    assert table, f"no rows of {names}"

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def run(**fixtures: Any) -> None:
            failures: list[Exception] = []
            skipped: list[str] = []
            for number, (name, values) in enumerate(table):
                given = fixtures | dict(zip(arguments, values, strict=True))
                if "tmp_path" in fixtures:
                    given["tmp_path"] = fixtures["tmp_path"] / f"row-{number}"
                    given["tmp_path"].mkdir()
                try:
                    test(**given)
                except pytest.skip.Exception as reason:
                    skipped.append(f"{name}: {reason}")
                except (Exception, pytest.fail.Exception) as failure:
                    shown = failure if isinstance(failure, Exception) else AssertionError(str(failure))
                    shown.add_note(f"in the row {name}")
                    failures.append(shown)
                roots.forget()
            if len(failures) == 1:
                raise failures[0]
            if failures:
                raise ExceptionGroup(f"{len(failures)} of {len(table)} rows fail", failures)
            if skipped:
                pytest.skip("; ".join(skipped))

        fixtures = [one for one in inspect.signature(test).parameters.values() if one.name not in arguments]
        run.__signature__ = inspect.Signature(fixtures)  # type: ignore[attr-defined]
        return run

    return decorate
