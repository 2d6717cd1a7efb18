"""Discovers all rules: every module of `nginxopt.rules` is one. `nginxopt.lint.own` adds rules from elsewhere."""

from __future__ import annotations

import pkgutil
from collections.abc import Collection, Mapping
from dataclasses import field
from functools import cache
from pathlib import Path
from types import ModuleType

from nginxopt import rules
from nginxopt.errors import RuleError
from nginxopt.lint.declare import Rule, loaded
from nginxopt.lint.index import RULES
from nginxopt.records import record
from nginxopt.text.display import be, count


@record(eq=True)
class Catalogue:
    """All rules by id.

    Attributes:
        rules: Every rule that is loaded.
        errors: Rules from outside of nginxopt that cannot be loaded, with the reasons.
        left: The files of rules that settings name and nobody asked to run, relative to the working directory.
    """

    rules: Mapping[str, Rule]
    errors: Mapping[str, RuleError] = field(default_factory=dict)
    left: Mapping[str, str] = field(default_factory=dict)

    @property
    def ids(self) -> Collection[str]:
        """The ids of all rules, also of those that are not loaded."""
        return {*self.rules, *self.not_loaded}

    @property
    def not_loaded(self) -> Collection[str]:
        """The ids of rules that cannot be loaded, or that nobody asked to run."""
        return {*self.errors, *self.left}

    @property
    def note(self) -> str | None:
        """What is to be said of rules that nobody asked to run; None if there are none."""
        if not self.left:
            return None
        folders = ", ".join(sorted({str(Path(path).parent) for path in self.left.values()}))
        rules = f"{count(len(self.left), 'rule')} in {folders} {be(len(self.left))} not run"
        return f"{rules}, as rules are programs: --rules or `nginxopt rules trust` runs what the settings name"


@cache
def catalogue() -> dict[str, Rule]:
    """Return every rule of nginxopt by id, in alphabetical order. Raise `TypeError` for a module without a rule.

    Those that the index knows are loaded when they are first asked: a run needs a third of them.
    """
    found = (RULES.get(name) or loaded(name) for name in names(rules))
    return {rule.id: rule for rule in found}


def names(package: ModuleType) -> list[str]:
    """Return the names of the modules of a package that are rules: all that do not begin with an underscore."""
    return sorted(module.name for module in pkgutil.iter_modules(package.__path__) if not module.name.startswith("_"))
