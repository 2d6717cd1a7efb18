"""Records: values that nobody changes, made by the thousands or by classes that each run of a command defines.

To a type checker they are frozen dataclasses (PEP 681), and `dataclasses.fields`, `replace` and `asdict` take them. At
run time they are not frozen: such a class of seven attributes takes eight times as long to make a value. A record gets
its `__init__` at the first value, and what else `dataclass` generates when somebody asks for it: a run of a command
defines 300 records and uses half of them, and `dataclass` takes 0.3 ms for one, four times as long as `__init__` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from reprlib import recursive_repr
from threading import RLock
from typing import Any, TypeVar, dataclass_transform

_Made = TypeVar("_Made")


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def record(
    *, eq: bool = False, order: bool = False, frozen: bool = True, slots: bool = True, weakref_slot: bool = False
) -> Callable[[type[_Made]], type[_Made]]:
    """Make a class a record, which is compared by identity unless `eq` is given.

    The parameters are those of `dataclass`; without `slots`, values have a `__dict__`, as `cached_property` needs.
    """

    def make(cls: type[_Made]) -> type[_Made]:
        own = {name for name, value in vars(cls).items() if value is not None}
        made = _with_slots(cls, weakref_slot=weakref_slot) if slots else cls
        lazy = _Lazy(cls, made)
        if "__repr__" not in own:
            made.__repr__ = _repr  # type: ignore[method-assign]
        if "__init__" not in own:
            made.__init__ = lazy.init()  # type: ignore[method-assign]
        for name in _DESCRIBING:
            setattr(made, name, _Description(lazy, name))
        for name in (*(("__eq__", "__hash__") if eq else ()), *(_ORDERING if order else ())):
            if name not in own:
                setattr(made, name, None if name == "__hash__" and not frozen else _comparing(made, name))
        return made

    return make


_DESCRIBING = ("__dataclass_fields__", "__dataclass_params__", "__match_args__")
_ORDERING = {"__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">="}
_OPERATORS = {"__eq__": "==", **_ORDERING}
_LOCK = RLock()
"""Taken while a record is completed, which may complete those that it extends."""


def _with_slots(cls: type[_Made], *, weakref_slot: bool) -> type[_Made]:
    """Return the class with slots for its fields, as a class cannot get them later."""
    inherited = {name for base in cls.__mro__[1:] for name in vars(base).get("__slots__", ())}
    names = [name for name, kind in cls.__annotations__.items() if not str(kind).startswith("ClassVar")]
    body = {name: value for name, value in vars(cls).items() if name not in {*names, "__dict__", "__weakref__"}}
    body["__slots__"] = (*(name for name in names if name not in inherited), *(["__weakref__"] * weakref_slot))
    made: type[_Made] = type.__call__(type(cls), cls.__name__, cls.__bases__, body)
    made.__qualname__ = cls.__qualname__
    return made


class _Lazy:
    """What `dataclass` makes of a class, when it is first asked for."""

    def __init__(self, cls: type, made: type) -> None:
        self._cls, self._made = cls, made

    def init(self) -> Callable[..., None]:
        """Return an `__init__` that is replaced at its first use."""

        def first(made: object, *arguments: object, **named: object) -> None:
            self._begin()
            self._made.__init__(made, *arguments, **named)  # type: ignore[misc]

        self._first = first
        return first

    def _begin(self) -> None:
        """Generate the `__init__`."""
        with _LOCK:
            if vars(self._made).get("__init__") is self._first:
                init = _init(self._cls, has_slots=self._cls is not self._made)
                if init is None:
                    self.complete()
                else:
                    self._made.__init__ = init  # type: ignore[misc]

    def complete(self) -> None:
        """Generate what `dataclass` does; only the first call does something."""
        made = self._made
        with _LOCK:
            if not isinstance(vars(made)["__dataclass_fields__"], _Description):
                return
            twin = self._cls if self._cls is not made else self._copied()
            twin.__doc__ = twin.__doc__ or twin.__name__  # `dataclass` writes one otherwise, which takes long
            completed = vars(dataclass(eq=False, repr=False)(twin))
            for name, value in list(vars(made).items()):
                if isinstance(value, Field):  # as `dataclass` leaves the default of an argument that is not in a slot
                    if name in completed:
                        setattr(made, name, completed[name])
                    else:
                        delattr(made, name)
            if vars(made).get("__init__") is self._first:
                made.__init__ = completed["__init__"]  # type: ignore[misc]
            for name in reversed(_DESCRIBING):  # the fields last: once they are there, all is
                setattr(made, name, completed[name])

    def _copied(self) -> type:
        """Return a class like the record. Nothing is generated in the record itself: other threads may use it."""
        lazy = {"__init__"} if vars(self._made).get("__init__") is self._first else set()
        left = {*_DESCRIBING, *lazy, "__dict__", "__weakref__"}
        body = {name: value for name, value in vars(self._made).items() if name not in left}
        return type(self._made)(self._made.__name__, self._made.__bases__, body)


_NOTHING = object()
"""The default of a parameter whose value a function makes."""


def _init(cls: type, *, has_slots: bool) -> Callable[..., None] | None:
    """Return the `__init__` that `dataclass` generates; None if it takes more, such as the fields of another record."""
    own = vars(cls)
    names = [name for name, kind in cls.__annotations__.items() if not str(kind).startswith("ClassVar")]
    described = {name: own[name] for name in names if isinstance(own.get(name), Field)}
    if any("__dataclass_fields__" in vars(base) for base in cls.__mro__[1:]) or (described and not has_slots):
        return None
    known: dict[str, Any] = {"__name__": cls.__module__, "_nothing": _NOTHING}
    parameters, body = ["self"], []
    for name in names:
        one = described.get(name)
        default = own.get(name, MISSING) if one is None else one.default
        known |= {f"_default_{name}": default, f"_make_{name}": one and one.default_factory}
        if one is not None and one.default_factory is not MISSING:
            stated, value = "=_nothing", f"_make_{name}() if {name} is _nothing else {name}"
        else:
            stated, value = "" if default is MISSING else f"=_default_{name}", name
        if one is None or one.init:
            parameters.append(name + stated)
        elif stated:
            value = f"_make_{name}()" if stated == "=_nothing" else stated[1:]
        else:
            continue
        body.append(f"self.{name} = {value}")
    body += ["self.__post_init__()"] * hasattr(cls, "__post_init__")
    exec(f"def __init__({', '.join(parameters)}):\n " + ("\n ".join(body) or "pass"), known)
    init: Callable[..., None] = known["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


class _Description:
    """What describes a record to `dataclasses` and to `match`."""

    def __init__(self, lazy: _Lazy, name: str) -> None:
        self._lazy, self._name = lazy, name

    def __get__(self, made: object, cls: type) -> Any:
        self._lazy.complete()
        return getattr(cls, self._name)


def _comparing(made: type, name: str) -> Callable[..., Any]:
    """Return a method that generates itself at its first use; as written out, it is twice as fast as any loop."""

    def first(self: object, *others: object) -> Any:
        compared = [one.name for one in fields(made) if one.compare]
        method = eval(_written(name, compared), {"__name__": made.__module__})
        setattr(made, name, method)
        return method(self, *others)

    return first


def _written(name: str, compared: Sequence[str]) -> str:
    """Return a method that compares or hashes the values of these arguments."""
    own, others = ("(" + "".join(f"{each}.{one}," for one in compared) + ")" for each in ("self", "other"))
    if name == "__hash__":
        return f"lambda self: hash({own})"
    same = "other.__class__ is self.__class__"
    return f"lambda self, other: {own} {_OPERATORS[name]} {others} if {same} else NotImplemented"


@recursive_repr()
def _repr(self: Any) -> str:
    values = ", ".join(f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
    return f"{self.__class__.__qualname__}({values})"
