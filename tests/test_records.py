"""Records are dataclasses whose methods are generated at the first value."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import threading
from collections.abc import Callable
from dataclasses import field
from functools import cached_property
from typing import Any, ClassVar

import pytest

from nginxopt.records import record


@record(eq=True)
class Point:
    """Compared by value."""

    x: int
    y: int = 0
    tags: list[str] = field(default_factory=list, compare=False)
    unit: ClassVar[str] = "mm"


@record(eq=True)
class Named(Point):
    """Extends a record."""

    name: str = "origin"


@record(slots=False)
class Cached:
    """Compared by identity, with attributes of its own."""

    x: int = field(default=3)
    seen: list[int] = field(default_factory=list)

    @cached_property
    def square(self) -> int:
        """Computed once."""
        self.seen.append(self.x)
        return self.x**2


@record(eq=True, frozen=False)
class Counted:
    """May be changed, so that it has no hash."""

    n: int = 0

    def __post_init__(self) -> None:
        if self.n < 0:
            raise ValueError(self.n)


@record(eq=True, order=True)
class Release:
    """Ordered by value."""

    major: int
    minor: int


@record(frozen=False)
class Own:
    """Has an `__init__` and a `__repr__` of its own."""

    x: int

    def __init__(self, x: str) -> None:
        self.x = int(x)

    def __repr__(self) -> str:
        return f"<{self.x}>"


def test_a_record_is_a_dataclass() -> None:
    """`dataclasses` and `match` see fields, defaults and parents, whether a value was made before or not."""
    assert [one.name for one in dataclasses.fields(Named)] == ["x", "y", "tags", "name"]
    assert dataclasses.is_dataclass(Cached)
    assert dataclasses.replace(Named(1), y=2) == Named(1, 2)
    assert dataclasses.asdict(Point(1)) == {"x": 1, "y": 0, "tags": []}
    match Named(1, 2):
        case Point(x, y):
            assert (x, y) == (1, 2)
    assert repr(Named(1)) == "Named(x=1, y=0, tags=[], name='origin')"
    assert repr(Own("4")) == "<4>"


def test_values_are_compared_as_stated() -> None:
    """By the arguments that count, by identity, or in order; what may be changed has no hash."""
    assert Point(1, tags=["a"]) == Point(1) != Point(2)
    assert len({Point(1), Point(1), Point(2)}) == 2
    assert Point(1) != Named(1)
    assert Cached() != Cached()
    assert Release(1, 9) < Release(1, 22) <= Release(1, 22)
    assert max(Release(1, 9), Release(1, 22)) == Release(1, 22)
    assert Counted(1) == Counted(1)
    with pytest.raises(TypeError, match="unhashable"):
        hash(Counted(1))


def test_slots_take_no_other_attribute() -> None:
    """A record has slots, where it does not ask for a `__dict__`."""
    assert not hasattr(Point(1), "__dict__")
    with pytest.raises(AttributeError):
        setattr(Point(1), "z", 1)  # noqa: B010
    cached = Cached()
    assert cached.square == cached.square == 9
    assert cached.seen == [3]
    assert Cached().seen == []


def test_arguments_are_checked_at_the_first_value_too() -> None:
    """A wrong call of a record that was never used is the error of any call."""

    @record()
    class Unused:
        x: int

    for _ in range(2):
        with pytest.raises(TypeError, match=r"missing 1 required positional argument: 'x'"):
            Unused()  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="-1"):
        Counted(-1)


@pytest.mark.parametrize("value", [Point(1, 2, ["a"]), Named(1, name="b"), Counted(3), Release(1, 2)], ids=repr)
def test_records_are_copied_and_pickled(value: Any) -> None:
    """As workers of the fleet send them."""
    assert pickle.loads(pickle.dumps(value)) == value == copy.deepcopy(value)


def _of_slots() -> Any:
    @record(eq=True)
    class Fresh:
        x: int
        y: list[int] = field(default_factory=list)

    return Fresh


def _of_dict() -> Any:
    @record(eq=True, slots=False)
    class Fresh:
        x: int
        y: list[int] = field(default_factory=list)

    return Fresh


@pytest.mark.parametrize("define", [_of_slots, _of_dict])
def test_threads_may_make_the_first_value_together(define: Callable[[], Any]) -> None:
    """Whoever is second waits for what the first generates."""
    for _ in range(20):
        cls, barrier = define(), threading.Barrier(4)
        made: list[Any] = []

        def make(cls: Any = cls, barrier: threading.Barrier = barrier, made: list[Any] = made) -> None:
            barrier.wait()
            made.append(cls(1))

        threads = [threading.Thread(target=make) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert made == [cls(1, [])] * 4


@record(eq=True, frozen=False)
class Made:
    """Has all kinds of defaults."""

    x: int
    y: int = 2
    seen: list[int] = field(default_factory=list)
    total: int = field(init=False, default=0)
    parts: list[int] = field(init=False, default_factory=list)
    later: int = field(init=False)

    def __post_init__(self) -> None:
        self.later = self.x + self.y


def test_an_init_is_that_of_dataclass() -> None:
    """It takes the same arguments, makes a list for each value, and stays once the rest is generated."""
    one, other = Made(1), Made(1, y=2)
    one.seen.append(1)
    assert (one.later, other.seen, one.total, other.parts) == (3, [], 0, [])
    init = Made.__init__
    assert [each.name for each in dataclasses.fields(Made)] == ["x", "y", "seen", "total", "parts", "later"]
    assert Made.__init__ is init
    assert one.parts is not other.parts
    twin = dataclasses.make_dataclass("Made", [("x", int), ("y", int, field(default=2))])
    for cls in (Made, twin):
        for number in (0, 4):
            with pytest.raises(TypeError):
                cls(*[1] * number)
