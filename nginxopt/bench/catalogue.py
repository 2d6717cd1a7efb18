"""Discovers all scenarios: every module of `nginxopt.bench.scenarios` is one."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from nginxopt.bench import scenarios
from nginxopt.bench.scenario import Scenario


@cache
def catalogue() -> dict[str, Scenario]:
    """Return all scenarios by name, in alphabetical order. Raises `TypeError` for a module without a scenario."""
    return {name: _scenario(name) for name in names()}


def names() -> list[str]:
    """Return the names of all scenarios without importing them."""
    return sorted(module.name for module in pkgutil.iter_modules(scenarios.__path__))


def _scenario(name: str) -> Scenario:
    scenario = getattr(import_module(f"nginxopt.bench.scenarios.{name}"), "SCENARIO", None)
    if not isinstance(scenario, Scenario) or scenario.name != name:
        raise TypeError(f"nginxopt.bench.scenarios.{name} has no SCENARIO of that name")
    return scenario
