"""Lazy exports: a package imports names from its modules on first use (PEP 562), so importing the package is fast."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def attributes(package: str, modules: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package that exports these names of modules.

    Modules of the package have short names; those of other packages have full names, such as `nginxopt.version`.
    """
    places = {name: module for module, names in modules.items() for name in names}

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = places[name]
        return getattr(import_module(module if "." in module else f"{package}.{module}"), name)

    return get
