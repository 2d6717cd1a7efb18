"""A lint rule: one module of `nginxopt.rules`, whose docstring is its page and whose examples are its tests.

The page of a rule is Markdown:

    The title: what is slow, in one sentence without a full stop.

    What is flagged, and what is not.

    ## Why it matters
    The mechanism, with a figure and its source.

    ## Bad
    A fenced block of nginx text in which the rule finds something.

    ## Good
    One in which it finds nothing. If the rule fixes, the first is what the fix makes of the first bad one.

    ## Silent
    One that looks guilty and is not.

    ## Fix safety
    Only where the rule fixes. The first line says what else than speed may differ once the fix is made, as words of
    `EFFECTS`: "May change: upstream requests, connections." Then why the fix is as safe as it says, by experiment.

    ## When to ignore it
    ## References

A fence is opened by "```nginx", and by what the example is the inside of and read for: "```nginx http 1.22.1" is all
that stands in the http block of a configuration, for nginx 1.22.1. Without `http`, `server` or `location` the example
is a whole configuration.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from nginxopt.lint.diagnostic import Finding, Safety, Severity
from nginxopt.lint.premises import Premise
from nginxopt.version import Version

if TYPE_CHECKING:
    from nginxopt.lint.model import Model

Check = Callable[["Model"], Iterator[Finding]]

CATEGORIES = {
    "proxy": "upstreams and proxied requests",
    "cache": "cached responses",
    "rewrite": "rewrites, redirects, locations, conditions and maps",
    "process": "workers, connections, descriptors, the machine",
    "log": "access and error logs",
    "static": "static files",
    "client": "client connections and compression",
    "tls": "TLS and HTTP/2",
    "config": "errors, ignored directives and suppressions",
}
"""The category of every rule, and what it is about."""

PAGES = "https://github.com/nginxopt/nginxopt/blob/main/docs/rules"

FIX_SAFETY = "Fix safety"
SECTIONS = ("Why it matters", "Bad", "Good", "Silent", FIX_SAFETY, "When to ignore it", "References")
"""The headings of a page, in their order; a rule without fixes has no `FIX_SAFETY`."""

EFFECTS = {
    "nothing": "what clients and upstreams see stays as it is",
    "responses": "status, headers or body that a client gets, or whether it gets one",
    "upstream requests": "what an upstream is asked: version, headers, body, how often",
    "connections": "which connections are opened, kept or shared, by whom and for how long",
    "logs": "what is logged, where and when",
    "files": "what is written to disk, and where",
    "limits": "how much of a resource may be used: descriptors, memory, connections",
    "start": "whether and how nginx starts or reloads",
}
"""What a fix may change beside speed, as its page says it."""


@dataclass(frozen=True, slots=True)
class Example:
    """A configuration of a page.

    `context` is the block that it is the inside of (`http`, `server`, `location`), None for a whole configuration;
    `target` the nginx that it is read for, None for the default.
    """

    kind: str
    text: str
    context: str | None
    target: Version | None


@dataclass(frozen=True)
class Page:
    """The documentation of a rule, which is the docstring of its module."""

    text: str

    @property
    def title(self) -> str:
        """The first line, without a full stop."""
        return self.text.partition("\n")[0].rstrip(".")

    @cached_property
    def summary(self) -> str:
        """What is flagged: the text between the title and the first section."""
        return re.split(r"^## ", self.text, maxsplit=1, flags=re.MULTILINE)[0].partition("\n")[2].strip()

    @cached_property
    def sections(self) -> dict[str, str]:
        """The text of each section by its heading."""
        parts = re.split(r"^## (.*)\n", self.text, flags=re.MULTILINE)[1:]
        return {heading.strip(): text.strip() for heading, text in zip(parts[::2], parts[1::2], strict=True)}

    @property
    def effects(self) -> tuple[str, ...]:
        """What the fix may change, as words of `EFFECTS`; none where the page does not say."""
        stated = re.match(r"May change: (.*)\.$", self.sections.get(FIX_SAFETY, ""), re.MULTILINE)
        return tuple(stated[1].split(", ")) if stated else ()

    @cached_property
    def examples(self) -> tuple[Example, ...]:
        """The examples under Bad, Good and Silent, in the order of the page."""
        return tuple(
            Example(heading.lower(), text, *_fence(words))
            for heading, section in self.sections.items()
            for words, text in re.findall(r"^```nginx([^\n]*)\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
        )


def _fence(words: str) -> tuple[str | None, Version | None]:
    """Return the context and the target that the words of a fence name."""
    versions = [Version.parse(word) for word in words.split() if word[0].isdigit()]
    contexts = [word for word in words.split() if not word[0].isdigit()]
    return next(iter(contexts), None), next(iter(versions), None)


@dataclass(frozen=True)
class Rule:
    """One rule of the catalogue.

    Attributes:
        id: Its name, that of the module with dashes: `upstream-keepalive-missing`.
        check: Yields the findings in a model, in any order.
        severity: What a finding is unless the settings say otherwise; the least, where it depends on the cost.
        category: One of `CATEGORIES`.
        fixes: The safeties that its fixes may have, with all premises that one may need; none if it offers none.
        since: The first nginx that it speaks of; None for all.
        until: The last nginx that it speaks of; None for all.
        default: Whether it is selected unless the settings say otherwise.
        scenario: The benchmark that shows the effect (`nginxopt bench SCENARIO`).
        host: Whether it judges the machine, so that it finds nothing without one.
        by_cost: Whether a finding is as severe as it is costly (`nginxopt.lint.cost`).
    """

    id: str
    check: Check
    page: Page
    severity: Severity
    category: str
    fixes: tuple[Safety, ...] = ()
    since: Version | None = None
    until: Version | None = None
    default: bool = True
    scenario: str | None = None
    host: bool = False
    by_cost: bool = False

    def __post_init__(self) -> None:
        if self.category not in CATEGORIES:
            raise ValueError(f"{self.id} has an unknown category: {self.category}")
        if len({safety.grade for safety in self.fixes}) < len(self.fixes):
            raise ValueError(f"{self.id} states a kind of fix twice")

    @property
    def title(self) -> str:
        """What is slow, in one sentence without a full stop."""
        return self.page.title

    @property
    def url(self) -> str:
        """Where the page of the rule is."""
        return page_url(self.id)

    @property
    def premises(self) -> frozenset[Premise]:
        """All that its fixes may need."""
        return frozenset(premise for safety in self.fixes for premise in safety.premises or ())

    def states(self, safety: Safety) -> bool:
        """Return whether a fix of that safety is one that the rule says it offers."""
        stated = (offered for offered in self.fixes if offered.grade is safety.grade)
        return any((safety.premises or frozenset()) <= (offered.premises or frozenset()) for offered in stated)

    def speaks_of(self, target: Version) -> bool:
        """Return whether the rule holds for that nginx."""
        return (self.since is None or target >= self.since) and (self.until is None or target <= self.until)


def page_url(rule: str) -> str:
    """Return where the page of the rule with that id is."""
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
    by_cost: bool = False,
) -> Callable[[Check], Rule]:
    """Make a `Rule` of the function below, named after its module and documented by the module's docstring."""

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
            default=default,
            scenario=scenario,
            host=host,
            by_cost=by_cost,
        )

    return make
