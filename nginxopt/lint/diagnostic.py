"""Findings of rules, with the requests that show them and their fixes, and the diagnostics made from them."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import Any, ClassVar

from nginxopt.records import record
from nginxopt.settings.vocabulary import Premise, Severity
from nginxopt.text import Change, Position, Source, Span, fit
from nginxopt.text.display import count

LONGEST_URL = 300
"""The maximum length of the URL of a witness in reports, in characters; it is cut in the middle."""


@record(eq=True)
class Sign:
    """What a real nginx has to do to confirm a witness, besides the outcome that the model of requests predicts.

    Attributes:
        status: The status of the response where the model predicts no outcome; None where it does.
        lacks: Headers that the response does not have.
        passes: A header that the upstream gets, name and value.
        logs: A regular expression for a line of the error log; the time of the response is then part of the witness.
        unasked: Why no private nginx can show it, as a clause; empty if one can.
    """

    status: int | None = None
    lacks: tuple[str, ...] = ()
    passes: tuple[str, str] | None = None
    logs: str = ""
    unasked: str = ""


OUTCOME = Sign()
"""Nothing besides the outcome."""


@record(eq=True)
class Witness:
    """A request, and what nginx does with it.

    Attributes:
        url: The URL, in which `..` stays as it is written (`curl --path-as-is`).
        shows: A clause without a full stop, in the present tense: `nginx sends /srv/files/../secret`.
        headers: As curl's `-H` takes them: `Name: value`.
        client: The address that the request comes from; None if it does not matter.
        assume: Further conditions, as `nginxopt trace --assume` takes them: `exists=/srv/files/a.txt`.
        sign: What a real nginx has to show.
        confirmed_by: The nginx that answers so; None if none was asked.
        seconds: The time in which it answered, if that is what the witness shows.
    """

    url: str
    shows: str
    method: str = "GET"
    headers: tuple[str, ...] = ()
    client: str | None = None
    assume: tuple[str, ...] = ()
    sign: Sign = OUTCOME
    confirmed_by: str | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if not self.shows:
            raise ValueError(f"a witness that shows nothing: {self.url}")

    def __str__(self) -> str:
        """`GET URL, with Name: value, from ADDRESS: shows (confirmed by nginx 1.22.1)`."""
        headers = [f"with {header}" for header in self.headers]
        client = [] if self.client is None else [f"from {self.client}"]
        request = ", ".join([f"{self.method} {fit(self.url, LONGEST_URL)}", *headers, *client])
        seconds = "" if self.seconds is None else f" in {self.seconds:.2f} s"
        confirmed = f" (confirmed by {self.confirmed_by}{seconds})" if self.confirmed_by else ""
        return f"{request}: {self.shows}{confirmed}"


LONGEST_MESSAGE = 120
"""The maximum length of a message in characters; longer names, patterns and URIs are cut in the middle."""


@record(eq=True)
class Safety:
    """The conditions under which a fix changes no decoded response.

    A decoded response is its status, its header fields, and its body without content and transfer coding. The bytes of
    a compressed body, the packets and the logs may differ (see "May change" on the rule's page). Requests to upstreams
    do not change, and nothing fails that did not fail before.

    Attributes:
        premises: The conditions that the configuration does not show; empty for a safe fix, None for an unsafe fix:
            clients, upstreams or logs may see a difference, which the fix names.
    """

    premises: frozenset[Premise] | None

    SAFE: ClassVar[Safety]
    UNSAFE: ClassVar[Safety]

    @classmethod
    def under(cls, *premises: Premise) -> Safety:
        """Return the safety of a fix that is safe if all the premises hold."""
        return cls(frozenset(premises))

    @property
    def grade(self) -> Grade:
        """The kind of fix."""
        if self.premises is None:
            return Grade.UNSAFE
        return Grade.CONDITIONAL if self.premises else Grade.SAFE

    def given(self, assumed: frozenset[Premise]) -> Safety:
        """Return the conditions that remain if the premises in `assumed` hold."""
        return self if self.premises is None else Safety(self.premises - assumed)

    def __and__(self, other: Safety) -> Safety:
        """Return the safety of both fixes together."""
        if self.premises is None or other.premises is None:
            return Safety.UNSAFE
        return Safety(self.premises | other.premises)

    def __str__(self) -> str:
        return self.grade.value


class Grade(Enum):
    """The kinds of fixes, each with the option that applies it.

    Attributes:
        SAFE: No decoded response changes (`--fix`).
        CONDITIONAL: None changes if its premises hold (`--fix --assume`).
        UNSAFE: A response or a request to an upstream may change, as the fix states (`--fix --unsafe-fixes`).
    """

    SAFE = "safe"
    CONDITIONAL = "conditional"
    UNSAFE = "unsafe"


class Reach(Enum):
    """What the fixes of a rule depend on besides the text that they change, for `nginxopt.lint.queries.whole`.

    Attributes:
        EVERYTHING: Anything in `main`, or in the `http`, `stream` or `mail` block that they change. This is so for all
        fixes, unless the page of their rule says why not.
        PROCESS: What is in `main` and `events`: the fix changes directives there that no other block has or inherits.
        WORDS: Nothing: the fix replaces or deletes words that make no difference, whatever else is in the
            configuration.
    """

    EVERYTHING = "everything"
    PROCESS = "process"
    WORDS = "words"


Safety.SAFE = Safety(frozenset())
Safety.UNSAFE = Safety(None)


@record(eq=True)
class Fix:
    """A fix for a finding: all of `changes` or none. `title` is an imperative without a full stop."""

    title: str
    changes: tuple[Change, ...]
    safety: Safety = Safety.SAFE

    def __post_init__(self) -> None:
        if not self.changes:
            raise ValueError(f"a fix that changes nothing: {self.title}")

    def __hash__(self) -> int:
        """Return a hash without all changes: a fix of a pool may have thousands, and as many findings."""
        return hash((self.title, len(self.changes), self.changes[0], self.safety))


@record(eq=True)
class Related:
    """Another place that is relevant to a finding, with a message."""

    source: Source
    span: Span
    message: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", fit(self.message, LONGEST_MESSAGE))


@record(eq=True)
class Saving:
    """What a request that the finding concerns would save, where that is known.

    Attributes:
        instructions: User-space instructions; see `nginxopt.semantics.cost`.
        connections: Connections to upstreams that nginx would not open.
        nanoseconds: Processor time of the kernel and of nginx, for work that a count of instructions misses.
        cause: The cause of nginx's work (`nginxopt.profile.work`) of which a part is saved: the work at the place of
        the finding, or all work of this cause if the finding is not at one of its directives.
        part: The least and the most part of it.
    """

    instructions: int = 0
    connections: int = 0
    nanoseconds: int = 0
    cause: str = ""
    part: tuple[float, float] = (0.0, 0.0)


@record(eq=True)
class SavedADay:
    """What a site saves in a day of its traffic if a finding is fixed.

    Attributes:
        requests: The number of requests that the finding concerns.
        least: Seconds of processor time, at least.
        most: Seconds of processor time, at most.
        connections: Connections to upstreams that nginx would not open.
    """

    requests: int
    least: float
    most: float
    connections: int

    def plus(self, other: SavedADay) -> SavedADay:
        """Return the sum of two savings."""
        return SavedADay(
            self.requests + other.requests,
            self.least + other.least,
            self.most + other.most,
            self.connections + other.connections,
        )

    @property
    def cpu(self) -> str:
        """The processor time, such as `0.013 to 0.072 s`."""
        return f"{float(f'{self.least:.2g}'):g} to {float(f'{self.most:.2g}'):g} s"

    @property
    def form(self) -> dict[str, Any]:
        """What it is in JSON."""
        return {
            "requests": self.requests,
            "cpu_seconds": [self.least, self.most],
            "connections": self.connections,
        }

    def __str__(self) -> str:
        if not self.requests:
            return "no request reaches it"
        text = f"{self.cpu} of CPU a day"
        if self.connections:
            text += f" and {count(self.connections, 'connection')}"
        return f"{text}, in {count(self.requests, 'request')}"


@record(eq=True)
class Finding:
    """A finding of a rule at one place.

    Attributes:
        message: What is slow or wrong and why, in one sentence without a full stop, cut to `LONGEST_MESSAGE`.
        fix: The fix; None if there is none.
        help: What to do by hand if there is no fix, or additional advice; may be empty.
        severity: That of the finding, where it is not that of the rule; None if it is.
        witness: A request that shows it; None for rules that declare none.
        saves: What a request saves if the finding is fixed; None if that is not known.
        cause: What the findings of a rule that one change would fix have in common; by default, their message.
                Reports have one finding for each cause (`nginxopt.lint.report.model`).
        is_small: Whether it is reported by default only for a machine, if the rule has `under_load`.
    """

    source: Source
    span: Span
    message: str
    fix: Fix | None = None
    help: str = ""
    related: tuple[Related, ...] = ()
    severity: Severity | None = None
    witness: Witness | None = None
    saves: Saving | None = None
    cause: str | None = None
    is_small: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", fit(self.message, LONGEST_MESSAGE))


@record(eq=True)
class Diagnostic:
    """A finding with its rule, and the severity by the settings.

    Attributes:
        rule: The rule's id.
        url: The rule's page; None if it is not on the web.
        scenario: The benchmark that shows the effect (`nginxopt bench SCENARIO`), None if there is none.
        tree: The main file of the configuration; empty if it is not known.
        places: The other places of its cause, in a report; its fix is then that of all these places.
        a_day: What a site saves in a day if it is fixed, under the traffic of a profile; None without one.
    """

    rule: str
    severity: Severity
    finding: Finding
    url: str | None
    scenario: str | None = None
    tree: str = ""
    places: tuple[Diagnostic, ...] = ()
    a_day: SavedADay | None = None

    @property
    def path(self) -> str:
        """The file, as named in messages."""
        return self.finding.source.path

    @property
    def start(self) -> Position:
        """Line and column of the first character."""
        return self.finding.source.position(self.finding.span.start)

    @property
    def end(self) -> Position:
        """Line and column after the last character."""
        return self.finding.source.position(self.finding.span.end)

    @property
    def message(self) -> str:
        """The message of the finding."""
        return self.finding.message

    @property
    def cause(self) -> str:
        """What the findings of its rule that one change would fix have in common."""
        return self.message if self.finding.cause is None else self.finding.cause

    @property
    def fix(self) -> Fix | None:
        """The fix of the finding."""
        return self.finding.fix

    def without_fix(self, help_: str) -> Diagnostic:
        """Return the diagnostic with help in place of its fix."""
        return replace(self, finding=replace(self.finding, fix=None, help=help_))
