"""Records: values that nobody changes, made by the thousands or by classes that each run of a command defines.

To a type checker they are frozen dataclasses (PEP 681). At run time they are not, as a frozen one of seven attributes
takes eight times as long to make, and its class twice as long to define.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

_Made = TypeVar("_Made")


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def record(*, eq: bool = False, order: bool = False) -> Callable[[type[_Made]], type[_Made]]:
    """Make a class a record, which is compared by identity unless `eq` is given."""
    return dataclass(slots=True, eq=eq, order=order, unsafe_hash=eq)
