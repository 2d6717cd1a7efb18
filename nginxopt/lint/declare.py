"""Declares lint rules. A rule is a module; its docstring is its page, its examples are its tests.

The rules of nginxopt are the modules of `nginxopt.rules`; `nginxopt.lint.own` loads those from elsewhere.

The page of a rule is Markdown:

    The title: what is slow or wrong, in one sentence without a full stop.

    What the rule flags, and what it does not flag.

    ## Why it matters
    The mechanism, with a figure and its source.

    ## Bad
    A fenced block of nginx configuration in which the rule finds something.

    ## Good
    A block in which it finds nothing. If the rule has a fix, the first is the fixed version of the first bad block.

    ## Silent
    A block that looks slow or wrong but is not.

    ## Fix safety
    Only for rules with a fix. The first line lists what the fix may change apart from speed: "May change: upstream
    requests, connections." The words are nothing, responses, upstream requests, connections, logs, files, limits and
    start. Then the evidence for the safety of the fix, by experiment.

    ## When to ignore it
    ## References

A fence is opened by "```nginx", and by the context and target version of the example: "```nginx http 1.22.1" is the
content of a http block, for nginx 1.22.1. Without `http`, `server` or `location`, the example is a whole configuration.
"""

from __future__ import annotations

import pkgutil
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import field
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from nginxopt.lint.diagnostic import Finding, Reach, Safety
from nginxopt.records import record
from nginxopt.settings.vocabulary import CATEGORIES, Premise, Severity
from nginxopt.version import Version

if TYPE_CHECKING:
    from nginxopt.lint.queries.model import Model

Check = Callable[["Model"], Iterator[Finding]]

PAGES = "https://github.com/nginxopt/nginxopt/blob/main/docs/rules"


@record(eq=True, slots=False)
class Page:
    """The documentation of a rule: the docstring of its module."""

    text: str

    @property
    def title(self) -> str:
        """The first line, without a full stop."""
        return self.text.partition("\n")[0].rstrip(".")

    @property
    def summary(self) -> str:
        """What the rule flags: the text between the title and the first section."""
        return re.split(r"^## ", self.text, maxsplit=1, flags=re.MULTILINE)[0].partition("\n")[2].strip()


@record(eq=True, slots=False)
class Rule:
    """One rule of the catalogue.

    Attributes:
        id: The name of the module with dashes, such as `upstream-keepalive-missing`.
        check: Yields the findings in a model, in any order.
        severity: The default severity of findings; the lowest, if they differ.
        highest: The severity of its gravest findings, if they differ by more than their cost; None otherwise.
        category: One of `CATEGORIES`.
        fixes: The safeties that its fixes may have, with all premises that they may need; empty for a rule without fix.
        since: The first nginx version that it applies to; None for all.
        until: The last nginx version that it applies to; None for all.
        default: Whether it is selected by default.
        scenario: The benchmark that shows the effect (`nginxopt bench SCENARIO`).
        host: Whether it checks the machine, and finds nothing without one.
        on_host: Whether it is selected by default where the machine is checked (`--host`), and only there: what it
            finds depends on the load or the machine.
        by_cost: Whether the severity of a finding depends on its cost (`nginxopt.lint.queries.severity`).
        by_release: Whether its findings follow what each release declares (`nginxopt.facts.table`).
        witness: Whether each finding names a request that shows it (`nginxopt.lint.diagnostic`).
        own_url: The URL of the page, for a rule from outside of nginxopt that has one.
        everywhere: Whether a finding says that something is without effect, which is so only if it is found in each
            reading of its file, and in each configuration that reads it.
        under_load: Whether, unless it is named, it reports only on configurations that show load
        (`nginxopt.lint.queries.load`).
        reach: What its fixes depend on. One that is not `EVERYTHING` is argued for under "Fix safety".
        about: Directives: in a whole configuration with none of them, the rule finds nothing, and is not loaded. Empty
        if it may find something nonetheless.
        origin: The file of a rule from outside of nginxopt; None for those of nginxopt.
    """

    id: str
    check: Check
    page: Page = field(compare=False)
    severity: Severity
    category: str
    fixes: tuple[Safety, ...] = ()
    since: Version | None = None
    until: Version | None = None
    default: bool = True
    scenario: str | None = None
    host: bool = False
    on_host: bool = False
    by_cost: bool = False
    by_release: bool = False
    highest: Severity | None = None
    witness: bool = False
    own_url: str | None = None
    origin: str | None = None
    reach: Reach = Reach.EVERYTHING
    everywhere: bool = False
    under_load: bool = False
    about: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.severity, Severity):
            raise TypeError(f"{self.id} has a severity that is not a Severity: {self.severity!r}")
        if self.category not in CATEGORIES:
            raise ValueError(f"{self.id} has an unknown category: {self.category}")
        if len({safety.grade for safety in self.fixes}) < len(self.fixes):
            raise ValueError(f"{self.id} states a kind of fix twice")

    @property
    def title(self) -> str:
        """What is slow, in one sentence without a full stop."""
        return self.page.title

    @property
    def url(self) -> str | None:
        """The URL of the rule's page; None for a rule from outside of nginxopt that states none."""
        return self.own_url or (page_url(self.id) if self.origin is None else None)

    @property
    def premises(self) -> frozenset[Premise]:
        """The premises that its fixes may need."""
        return frozenset(premise for safety in self.fixes for premise in safety.premises or ())

    def speaks_of(self, target: Version) -> bool:
        """Return whether the rule applies to that nginx version."""
        return (self.since is None or target >= self.since) and (self.until is None or target <= self.until)


def page_url(rule: str) -> str:
    """Return the URL of a rule's page."""
    return f"{PAGES}/{rule}.md"


def rule(
    *,
    severity: Severity,
    category: str,
    fix: Safety | tuple[Safety, ...] = (),
    since: str | None = None,
    until: str | None = None,
    default: bool = True,
    scenario: str | None = None,
    host: bool = False,
    on_host: bool = False,
    by_cost: bool = False,
    by_release: bool = False,
    highest: Severity | None = None,
    witness: bool = False,
    reach: Reach = Reach.EVERYTHING,
    everywhere: bool = False,
    under_load: bool = False,
    about: tuple[str, ...] = (),
    url: str | None = None,
) -> Callable[[Check], Rule]:
    """Turn a check function into a `Rule` with the name and docstring of its module.

    The parameters are attributes of `Rule`. `url` is that of the page of a rule from outside of nginxopt.
    """

    def make(check: Check) -> Rule:
        module = sys.modules[check.__module__]
        return Rule(
            id=check.__module__.rpartition(".")[2].replace("_", "-"),
            check=check,
            page=Page((module.__doc__ or "").strip()),
            severity=severity,
            category=category,
            fixes=(fix,) if isinstance(fix, Safety) else fix,
            since=None if since is None else Version.parse(since),
            until=None if until is None else Version.parse(until),
            default=default and not on_host,
            scenario=scenario,
            host=host,
            on_host=on_host,
            by_cost=by_cost,
            by_release=by_release,
            highest=highest,
            witness=witness,
            own_url=url,
            reach=reach,
            everywhere=everywhere,
            under_load=under_load,
            about=about,
        )

    return make


def unloaded(name: str, **declared: Any) -> Rule:
    """Return a rule of nginxopt whose module is imported when its check or its page is first used.

    `name` is that of the module, and `declared` are the other attributes of the rule.
    """
    return Rule(name.replace("_", "-"), _UnloadedCheck(name), _UnloadedPage(name), **declared)


@record(eq=True)
class _UnloadedCheck:
    module: str

    def __call__(self, model: Model) -> Iterator[Finding]:
        return loaded(self.module).check(model)


class _UnloadedPage(Page):
    """A page that is read when it is first used."""

    def __init__(self, module: str) -> None:
        self._module = module

    @property
    def text(self) -> str:
        return loaded(self._module).page.text


def loaded(name: str) -> Rule:
    """Return the rule that a module of `nginxopt.rules` declares."""
    return rule_of(import_module(f"nginxopt.rules.{name}"))


def names(package: ModuleType) -> list[str]:
    """Return the names of the modules of a package that are rules: all that do not begin with an underscore."""
    return sorted(module.name for module in pkgutil.iter_modules(package.__path__) if not module.name.startswith("_"))


def rule_of(module: ModuleType) -> Rule:
    """Return the rule that a module declares. Raise `TypeError` if it does not declare exactly one."""
    values = [value for value in vars(module).values() if isinstance(value, Rule)]
    declared = [value for value in values if value.check.__module__ == module.__name__]
    if len(declared) != 1:
        raise TypeError(f"{module.__name__.rpartition('.')[2]} has {len(declared)} rules, not one")
    return declared[0]
