"""Records: values that nobody changes, made by the thousands or by classes that each run of a command defines.

To a type checker they are frozen dataclasses (PEP 681). At run time they are not frozen: such a class of seven
attributes takes eight times as long to make a value. Only `__init__` is generated when the class is defined, and what
compares values when first used, so that defining a class takes a quarter of the time; a run defines a hundred.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from reprlib import recursive_repr
from typing import Any, TypeVar, dataclass_transform

_Made = TypeVar("_Made")


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def record(*, eq: bool = False, order: bool = False) -> Callable[[type[_Made]], type[_Made]]:
    """Make a class a record, which is compared by identity unless `eq` is given."""
    if order:
        return dataclass(slots=True, eq=eq, order=True, unsafe_hash=eq)

    def make(cls: type[_Made]) -> type[_Made]:
        own = {name for name, value in vars(cls).items() if value is not None}
        if "__repr__" not in own:
            cls.__repr__ = _repr  # type: ignore[method-assign]
        made = dataclass(slots=True, eq=False, repr=False)(cls)
        if eq:
            compared = [one.name for one in fields(made) if one.compare]  # type: ignore[arg-type]
            for name in _COMPARING.keys() - own:
                setattr(made, name, _generated(made, name, compared))
        return made

    return make


_COMPARING = {
    "__eq__": "lambda self, other: ({}) == ({}) if other.__class__ is self.__class__ else NotImplemented",
    "__hash__": "lambda self: hash(({}))",
}
"""The methods that compare values, with a place for the tuple of the values of each argument."""


def _generated(cls: type, name: str, compared: Sequence[str]) -> Callable[..., Any]:
    """Return a method that generates itself at its first use; as written out, it is twice as fast as any loop."""

    def first(self: object, *others: object) -> Any:
        tuples = ("".join(f"{each}.{one}," for one in compared) for each in ("self", "other"))
        method = eval(_COMPARING[name].format(*tuples))
        setattr(cls, name, method)
        return method(self, *others)

    return first


@recursive_repr()
def _repr(self: Any) -> str:
    values = ", ".join(f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
    return f"{self.__class__.__qualname__}({values})"
