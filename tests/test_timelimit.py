"""The limit of time: work that would not end is ended, in Python and in native code, in any thread."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable

import pytest

from nginxopt import budget
from nginxopt._native import PanicException, work_forever
from nginxopt.budget import limited
from nginxopt.errors import InputError
from nginxopt.faults import is_bug


def in_python() -> None:
    """Work forever in Python, and drop what is raised on the way."""
    while True:
        with contextlib.suppress(Exception):  # what the limit raises is none
            sum(range(1_000))


@pytest.mark.parametrize("work", [in_python, work_forever])
@pytest.mark.parametrize("elsewhere", [False, True])
def test_work_without_an_end_is_ended(work: Callable[[], None], elsewhere: bool) -> None:
    """After the limit there is an error with the path, in the main thread as in others; later work goes on."""
    caught: list[InputError] = []

    def run() -> None:
        with budget.using({"seconds": 1}):
            try:
                limited(work, path="a.conf")
            except InputError as error:
                caught.append(error)

    if elsewhere:
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join()
    else:
        run()
    (error,) = caught
    assert isinstance(error, budget.ExceededError)
    assert (error.budget, error.path) == ("seconds", "a.conf")
    assert limited(lambda: 3) == 3


def test_work_in_time_is_left_alone() -> None:
    """What ends in time has its result, and nothing is raised afterwards, whenever it ends."""
    for number in range(300):
        with budget.using({"seconds": 1}):
            assert limited(lambda: number) == number  # noqa: B023 - called at once
    for _ in range(3):
        with budget.using({"seconds": 1}):
            try:
                limited(lambda: time.sleep(1))  # ends when the limit does
            except budget.ExceededError:
                continue
    time.sleep(0)


@pytest.mark.parametrize("error", [MemoryError(), PanicException("PyObject pointer is null")])
def test_what_takes_too_much_memory_is_an_error(error: BaseException) -> None:
    """A lack of memory is an error of the file, not a bug, also where PyO3 panics for want of an object."""

    def work() -> None:
        raise error

    assert not is_bug(error)
    assert is_bug(PanicException("index out of bounds"))
    with pytest.raises(InputError, match="more memory"):
        limited(work, path="a.conf")
