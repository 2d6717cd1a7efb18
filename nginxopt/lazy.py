"""What is made on first use: the exports of a package (PEP 562) and patterns, so that importing a module is fast."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, AnyStr, cast


def attributes(package: str, modules: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package that exports these names of modules.

    Modules of the package have short names; those of other packages have full names, such as `nginxopt.version`.
    """
    places = {name: module for module, names in modules.items() for name in names}

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = places[name]
        value = getattr(import_module(module if "." in module else f"{package}.{module}"), name)
        setattr(sys.modules[package], name, value)  # so that nobody asks again
        return value

    return get


def pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a pattern that is compiled when it is first used.

    Compiling one takes 0.2 ms, and a run of a command uses one in four of the patterns of its modules.
    """
    return cast("re.Pattern[AnyStr]", _Pattern(text, flags))


class _Pattern:
    def __init__(self, text: AnyStr, flags: int) -> None:
        self._arguments: tuple[Any, int] = text, flags

    def __getattr__(self, name: str) -> Any:
        if name not in _ATTRIBUTES:  # such as `__setstate__`, which `pickle` looks for before there are arguments
            raise AttributeError(f"a pattern has no attribute {name!r}")
        compiled = re.compile(*self._arguments)
        # The methods become attributes of this object, so only the first use comes here.
        vars(self).update({name: getattr(compiled, name) for name in _ATTRIBUTES})
        return getattr(compiled, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return pattern, self._arguments


_ATTRIBUTES = frozenset(name for name in dir(re.Pattern) if not name.startswith("_"))
