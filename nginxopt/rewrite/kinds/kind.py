"""The protocol of all kinds of lists: the options of a compilation, and the plan, edits, proof and counts of a kind.

`nginxopt.rewrite.kinds` describes the protocol.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Self, TypeVar

from nginxopt import _native, lazy
from nginxopt.config import Config, Directive, File
from nginxopt.config.tree import Token
from nginxopt.errors import InputError, UsageError
from nginxopt.records import record
from nginxopt.text import Edit, Source, Span
from nginxopt.text.display import count
from nginxopt.version import Version

if TYPE_CHECKING:
    from nginxopt.rewrite.comparison import Differential, Limits
    from nginxopt.rewrite.compilation import Plan
    from nginxopt.rewrite.evaluations import Lookup
    from nginxopt.rewrite.proving import Emission
    from nginxopt.system.nginx import Binary

    Question = Callable[[Binary, Limits], Differential]
    """A comparison of a list with its new form on a real nginx."""

# The input: the options of a compilation

OLDEST = Version(1, 11, 7)
"""The oldest nginx that can run the result: the first with `volatile` maps (CHANGES 1.11.7)."""

BOUND = 64
"""The default number of strings that a moved rule may match."""

MOST_BOUND = 1024
"""The largest bound: the proof lists the strings of a rule independently, and at most four times as many."""

# Prefixes of nginx's own variables (ngx_http_core_prefix_variables; $is_args, $memcached_key), and prefixes that turn a
# target into a redirect (ngx_http_rewrite).
_TAKEN = lazy.pattern(
    r"(http|sent_http|sent_trailer|upstream_http|upstream_trailer|upstream_cookie|cookie|arg)(_|$)"
    r"|(is|memcached|upstream_cache)$|scheme"
)


@record(eq=True)
class Readings:
    """The differences that a user may declare. Each interprets patterns as their authors probably intended.

    Attributes:
        ignore_case: A pattern matches in any case of its letters.
        literal_dots: An unescaped `.` in a literal is a dot.
        literal_ends: A literal without `$` ends there.
        drop_newline_twins: `$` does not match before a final newline.
    """

    ignore_case: bool = field(default=False, metadata={"says": "letters match in any case"})
    literal_dots: bool = field(default=False, metadata={"says": "an unescaped `.` in a literal is a dot"})
    literal_ends: bool = field(default=False, metadata={"says": "a literal without `$` matches nothing longer"})
    drop_newline_twins: bool = field(
        default=False, metadata={"says": "`$` does not match before a newline that ends the URI"}
    )

    @classmethod
    def sentences(cls) -> dict[str, str]:
        """Return a sentence for the difference that each reading declares, by name."""
        return {reading.name: reading.metadata["says"] for reading in fields(cls)}

    @classmethod
    def flag(cls, name: str) -> str:
        """Return the command line option of a reading."""
        return f"--{name.replace('_', '-')}"


@record(eq=True)
class Options:
    """The options of `plan` and `emit`. Raises `UsageError` for invalid ones.

    Attributes:
        readings: The declared differences; by default none.
        name: The prefix of emitted variable names; by default derived from the text of the rules.
        bound: The number of strings that a moved rule may match.
        around: The head of the map that is put around a file of rows, such as `map $uri $new`.
        target: The target nginx version, if known.
        groups: Whether to put rules that match infinitely many URIs into groups, and to compile chains of `if`s.
        in_place: Whether a fragment is changed where it is, with its maps in a file beside it.
        effort: How much work the plan of a list and its proof may take, as a multiple of what is usual for its size.
        for_remark: Whether only a remark depends on the plan. It takes less work, and lists that need more stay.
    """

    readings: Readings = Readings()
    name: str | None = None
    bound: int = BOUND
    target: Version | None = None
    groups: bool = False
    around: str | None = None
    in_place: bool = False
    effort: float = 1.0
    for_remark: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.bound <= MOST_BOUND:
            raise UsageError(f"the number of strings must be from 1 to {MOST_BOUND:,}")
        if not self.effort > 0:
            raise UsageError("the effort must be more than 0")
        if self.target is not None and self.target < OLDEST:
            raise UsageError(
                f"nginx {self.target} cannot run the result: it has no volatile maps",
                hint=f"use nginx {OLDEST} or later; without volatile maps, responses after internal redirects change",
            )
        if self.name is not None and (not re.fullmatch(r"[a-z_][a-z0-9_]{0,39}", self.name) or _TAKEN.match(self.name)):
            raise UsageError(
                f"invalid prefix of variable names {self.name!r}",
                hint="use lowercase letters, digits and _; not http, arg, cookie or another nginx variable prefix",
            )


# The output of a kind

Offsets = Mapping[File, Sequence[int]]
"""The offsets of statements, in ascending order, by file."""

UNPROVED = "unproved"
TOO_MUCH = "too-much-work"
"""The codes of reasons that every kind may have."""


class Cost(NamedTuple):
    """The number of patterns that are tried for a subject that none matches.

    Attributes:
        far: For a subject that begins differently from all patterns.
        near: The average for subjects that begin like a pattern.
        worst: The maximum for any subject.
    """

    far: int
    near: int
    worst: int

    @classmethod
    def of(cls, patterns: int) -> Cost:
        """Return the cost of a number of patterns that are tried in sequence."""
        return cls(patterns, patterns, patterns)

    @classmethod
    def total(cls, costs: Iterable[Cost]) -> Cost:
        """Return the sum of the costs of several lists, if every request tries all of them."""
        sums = [sum(values) for values in zip(*costs, strict=True)]
        return cls(*sums) if sums else cls.of(0)

    def shown(self) -> str:
        """Return the cost as one number, or as three if they are different."""
        far, near, worst = self
        return f"{far:,}" if far == near == worst else f"{far:,} (near {near:,}, worst {worst:,})"

    @staticmethod
    def report(before: Cost, after: Cost) -> dict[str, Any]:
        """Return the entry for two costs in the JSON report."""
        return {"before": before._asdict(), "after": after._asdict()}


@record(eq=True)
class StatementCost:
    """What a plan changes: the place of a list of statements, and the patterns tried there before and after."""

    source: Source
    span: Span
    before: Cost
    after: Cost


@record(eq=True)
class MapCost:
    """The patterns that one evaluation of the map of a variable tries, before and after, and the place of the map."""

    source: Source
    span: Span
    variable: str
    before: Cost
    after: Cost


@record(eq=True)
class HttpPart:
    """What a kind adds to the http block, besides what `Kind.begun` writes.

    Attributes:
        text: The maps.
        variables: The names of all variables that the kind adds.
        tables: The keys of each hash table.
        runs: The runs of rules that have tables of their own.
    """

    text: bytes = b""
    variables: Collection[bytes] = ()
    tables: Sequence[list[bytes]] = ()
    runs: Sequence[_native.CompiledRun] = ()


@record(eq=True)
class Proved:
    """What a proof compared.

    Attributes:
        lists: The number of members of lists that were compared with their new form.
        gone: The number of rules that are removed, because a map replaces them or because they never fired.
        strings: The number of URIs on which both texts were run.
        any_case: The number of these URIs that stand for all spellings in upper and lower case.
    """

    lists: int = 0
    gone: int = 0
    strings: int = 0
    any_case: int = 0


@record(eq=True)
class Refutation:
    """The part of a proof that does not hold.

    Attributes:
        what: A description.
        counterexample: A value for which the two texts differ, if one is known.
        of: The list that it is about, if it is about one.
        reason: The code of the reason for which that list stays.
    """

    what: str
    counterexample: bytes | None = None
    of: object = None
    reason: str = UNPROVED


@record(eq=True)
class PlanRequest:
    """What a kind is asked to plan: its lists in some files of a configuration."""

    config: Config
    options: Options
    files: Collection[File]


List = TypeVar("List")
"""A list that is compiled, in the form that its kind plans."""


class ListsPlan(ABC, Generic[List]):
    """The plan for the lists of one kind; each list has members, such as the rows of a map."""

    unit: ClassVar[str]
    """The name of a member in the sentence about a failed proof, such as `rewrite`."""

    @property
    @abstractmethod
    def compiled(self) -> Sequence[List]:
        """The lists that get a new form, in the order of the text."""

    @property
    @abstractmethod
    def total(self) -> int:
        """The number of members of all lists."""

    @property
    @abstractmethod
    def moved(self) -> int:
        """The number of members that are looked up."""

    @property
    def moving(self) -> int:
        """The number of members that are no longer tried one by one."""
        return self.moved

    @property
    def name_of_file(self) -> str:
        """The prefix of its variables if the file of maps may be named after it; otherwise empty."""
        return ""

    @abstractmethod
    def reasons(self) -> Counter[str]:
        """Return how many stay, by the code of the reason."""

    @abstractmethod
    def without(self, compiled: List, reason: str = UNPROVED) -> Self:
        """Return the plan in which a list stays, for a reason."""

    def broken(self) -> list[str]:
        """Return what was planned and could not be proved, as sentences without a full stop."""
        number = self.reasons()[UNPROVED]
        return [f"{count(number, self.unit)} would have moved, but the proof failed"] if number else []

    def changing(self) -> Iterator[tuple[File, int]]:
        """Yield the statements of servers and locations that change, by their offsets."""
        return iter(())

    def sources(self) -> Iterator[str]:
        """Yield the values that lookups look up, such as `$uri`."""
        return iter(())

    def owner(self, variable: str) -> List | None:  # noqa: ARG002 - of kinds with lookups
        """Return the list whose lookup defines a variable; None if there is none."""
        return None

    def statement_costs(self) -> Iterator[StatementCost]:
        """Yield what the lists cost at the places of their statements."""
        return iter(())

    def map_costs(self) -> Iterator[MapCost]:
        """Yield what the evaluation of variables costs."""
        return iter(())


AnyPlan = ListsPlan[Any]
P = TypeVar("P", bound=AnyPlan)


class Kind(ABC, Generic[P]):
    """A kind of list. It keeps no state: all that is known of a configuration is in the plan."""

    name: ClassVar[str]
    """Its name, as in reports."""

    counted: ClassVar[str]
    """The name of the number of members in reports of proofs."""

    follows: ClassVar[bool] = False
    """Whether it is planned last, as its lists stay where other kinds change statements in them."""

    # Plan: which lists are compiled.

    @abstractmethod
    def plan(self, asked: PlanRequest, changing: Offsets) -> P:
        """Plan the lists. A kind that `follows` gets the statements that other kinds change."""

    def lookups(self, plan: P) -> Iterator[Lookup]:  # noqa: ARG002 - of kinds with maps
        """Yield the lookups of a plan, which limits of nginx may forbid."""
        return iter(())

    # Edits: what is written.

    @abstractmethod
    def edits(self, plan: P, maps_name: str) -> Mapping[File, Sequence[Edit]]:
        """Return the edits that replace the lists; `maps_name` is the name of the file of maps, for comments."""

    def http(self, plan: P) -> HttpPart:  # noqa: ARG002 - of kinds with maps
        """Return what is added to the http block."""
        return HttpPart()

    def begun(self, plan: P, head: bytes) -> bytes:  # noqa: ARG002 - of kinds that write large maps
        """Return `head`, followed by the large maps of the kind: written in one go, they are not copied."""
        return head

    def moved_in_words(self, plan: P) -> str:  # noqa: ARG002 - of kinds with maps
        """Return what the file of maps has of this kind, for its first line; empty if nothing."""
        return ""

    def note(self, plan: P) -> str:  # noqa: ARG002 - of kinds with maps
        """Return the comment that explains the maps of the kind."""
        return ""

    # Proof: both texts are parsed again, and nothing in the plan is trusted.

    @abstractmethod
    def prove(self, emission: Emission) -> Proved | Refutation:
        """Prove that nothing but the form of the lists changes."""

    def fallback(
        self,
        plan: P,
        refutation: Refutation,
        prove: Callable[[P], Proved | Refutation],  # noqa: ARG002 - of rules
    ) -> P | None:
        """Return the plan without what a refutation is about; None if it is about nothing of this kind.

        `prove` tries another plan of the kind.
        """
        is_own = any(each is refutation.of for each in plan.compiled)
        return plan.without(refutation.of, refutation.reason) if is_own else None

    @abstractmethod
    def questions(self, emission: Emission) -> list[Question]:
        """Return the comparisons with a real nginx, list by list."""

    def uris(self, emission: Emission) -> Iterator[bytes]:  # noqa: ARG002 - of kinds that look at URIs
        """Yield URIs that may distinguish the two texts as a whole."""
        return iter(())

    def values(self, emission: Emission) -> Iterator[tuple[str, Iterator[bytes]]]:  # noqa: ARG002 - of others
        """Yield variables, with values that may distinguish the two texts as a whole."""
        return iter(())

    # Counts, in the summary and in the report.

    @abstractmethod
    def heading(self, plan: P) -> str:
        """Return the number of members, in words."""

    def result(self, planned: Plan) -> Iterator[str]:  # noqa: ARG002 - of rules
        """Yield the first lines of the summary."""
        return iter(())

    @abstractmethod
    def lines(self, planned: Plan, *, verbose: bool) -> Iterator[str]:
        """Yield the lines of the summary on what moves, and why the rest stays."""

    @abstractmethod
    def proof_lines(self, planned: Plan, proved: Proved) -> Iterator[str]:
        """Yield the lines of the summary on a proof that holds."""

    @abstractmethod
    def report(self, planned: Plan) -> dict[str, Any]:
        """Return the entries of the JSON report."""


def check_compiles(pattern: bytes, directive: Directive, word: Token) -> None:
    """Raise `InputError` for a pattern that PCRE does not compile; `word` is its place in the file of `directive`."""
    message = _native.pattern_error(pattern)
    if message is not None:
        raise InputError(f"PCRE2 does not compile the pattern: {message}", source=directive.source, span=word.span)


def apart(edits: list[Edit]) -> list[Edit]:
    """Return edits without overlap, if they overlapped only in blanks, like those of rows on the same line."""
    apart: list[Edit] = []
    at = 0
    for edit in sorted(edits, key=lambda each: (each.span.start, each.span.end)):
        start = max(at, edit.span.start)
        apart.append(Edit(Span(start, max(start, edit.span.end)), edit.text))
        at = apart[-1].span.end
    return apart


def remedy(remedies: Mapping[str, str], reason: str) -> Iterator[str]:
    """Yield the line of the summary below a reason that says what to change by hand, if a small change helps."""
    if reason in remedies:
        yield f"                   by hand: {remedies[reason]}"
