"""What a rule finds and what may be done about it: findings, fixes, diagnostics."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import total_ordering
from typing import ClassVar

from nginxopt.lint.premises import Premise
from nginxopt.text import Change, Position, Source, Span, fit

LONGEST_MESSAGE = 120
"""How many characters a message has at most; longer names, patterns and URIs in it are cut in the middle."""


@total_ordering
class Severity(Enum):
    """How much a finding matters; `ERROR` is the greatest."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"

    def __lt__(self, other: Severity) -> bool:
        return _GRADES[self] < _GRADES[other]

    def __str__(self) -> str:
        return self.value


_GRADES = {severity: grade for grade, severity in enumerate(Severity)}


@dataclass(frozen=True, slots=True)
class Safety:
    """What must hold so that, with a fix, every decoded response stays as it is.

    A decoded response is its status, its header fields, and its body without content and transfer coding. The bytes of
    a compressed body may differ, so may the packets and what is logged (`EFFECTS` of the rule's page). Requests to
    upstreams stay as they are, and nothing can fail that did not fail before.

    Attributes:
        premises: The conditions that the configuration does not show, none for a safe fix; None if no condition makes
            it safe: clients, upstreams or logs may see something else, in a way that the fix names.
    """

    premises: frozenset[Premise] | None

    SAFE: ClassVar[Safety]
    UNSAFE: ClassVar[Safety]

    @classmethod
    def under(cls, *premises: Premise) -> Safety:
        """Return the safety of a fix that is safe where all the premises hold."""
        return cls(frozenset(premises))

    @property
    def grade(self) -> Grade:
        """Which kind of fix it is."""
        if self.premises is None:
            return Grade.UNSAFE
        return Grade.CONDITIONAL if self.premises else Grade.SAFE

    def given(self, assumed: frozenset[Premise]) -> Safety:
        """Return what is left to hold where `assumed` does."""
        return self if self.premises is None else Safety(self.premises - assumed)

    def __and__(self, other: Safety) -> Safety:
        """Return the safety of a fix that makes both."""
        if self.premises is None or other.premises is None:
            return Safety.UNSAFE
        return Safety(self.premises | other.premises)

    def __str__(self) -> str:
        return self.grade.value


class Grade(Enum):
    """The kinds of fixes, each with the option that applies it.

    Attributes:
        SAFE: Every decoded response stays as it is (`--fix`).
        CONDITIONAL: So it does if its premises hold (`--fix --assume`).
        UNSAFE: A response or a request to an upstream may change, as the fix says (`--fix --unsafe-fixes`).
    """

    SAFE = "safe"
    CONDITIONAL = "conditional"
    UNSAFE = "unsafe"


Safety.SAFE = Safety(frozenset())
Safety.UNSAFE = Safety(None)


@dataclass(frozen=True, slots=True)
class Fix:
    """What to do about a finding: all of `changes`, or none. `title` is an imperative without a full stop."""

    title: str
    changes: tuple[Change, ...]
    safety: Safety = Safety.SAFE

    def __post_init__(self) -> None:
        if not self.changes:
            raise ValueError(f"a fix that changes nothing: {self.title}")


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that a finding speaks of, and what is to be seen there."""

    source: Source
    span: Span
    message: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", fit(self.message, LONGEST_MESSAGE))


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule says about one place.

    Attributes:
        message: What is slow and why, in one sentence without a full stop, cut to `LONGEST_MESSAGE`.
        fix: What may be done, None if the rule cannot do it.
        help: What to do by hand where there is no fix, or what to know of it; may be empty.
        severity: How much it matters by what it costs (`nginxopt.lint.cost`), None for what the rule says.
    """

    source: Source
    span: Span
    message: str
    fix: Fix | None = None
    help: str = ""
    related: tuple[Related, ...] = ()
    severity: Severity | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", fit(self.message, LONGEST_MESSAGE))


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A finding with the rule that made it and what the settings say of that rule.

    Attributes:
        rule: The rule's id.
        url: The rule's page.
        scenario: The benchmark that shows the effect (`nginxopt bench SCENARIO`), None if there is none.
    """

    rule: str
    severity: Severity
    finding: Finding
    url: str
    scenario: str | None = None

    @property
    def path(self) -> str:
        """The file, as it is named in messages."""
        return self.finding.source.path

    @property
    def start(self) -> Position:
        """Line and column of the first character."""
        return self.finding.source.position(self.finding.span.start)

    @property
    def end(self) -> Position:
        """Line and column behind the last character."""
        return self.finding.source.position(self.finding.span.end)

    @property
    def message(self) -> str:
        """What the rule says."""
        return self.finding.message

    @property
    def fix(self) -> Fix | None:
        """What the rule offers to do."""
        return self.finding.fix
