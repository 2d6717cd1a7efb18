"""Discovers all rules: every module of `nginxopt.rules` is one."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from nginxopt import rules
from nginxopt.lint.declare import Rule


@cache
def catalogue() -> dict[str, Rule]:
    """Return every rule by id, in alphabetical order. Raise `TypeError` for a module without a rule."""
    names = sorted(module.name for module in pkgutil.iter_modules(rules.__path__) if not module.name.startswith("_"))
    return {rule.id: rule for rule in map(_rule, names)}


def _rule(name: str) -> Rule:
    declared = [value for value in vars(import_module(f"nginxopt.rules.{name}")).values() if isinstance(value, Rule)]
    if len(declared) != 1:
        raise TypeError(f"nginxopt.rules.{name} has {len(declared)} rules, not one")
    return declared[0]
