"""What the model says of a request, field for field as `rust/src/request/outcome.rs` writes it.

Text is bytes as Latin-1: each byte is the character of its number; `text_of` decodes it, `shown` is for people.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict

from nginxopt.semantics.site.form import Node
from nginxopt.text import decode
from nginxopt.text.display import unicode

OutcomeKind = Literal[
    "return", "redirect", "static", "error", "closed", "proxy", "fastcgi", "uwsgi", "scgi", "grpc", "memcached",
    "handler", "unknown", "refused",
]  # fmt: skip
"""Those of the model, and `refused` of `verify`: nothing listens where the request goes."""

StepKind = Literal[
    "socket", "server", "set", "if", "rewrite", "return", "break", "location", "internal", "access", "try_files",
    "index", "error_page", "handler", "map",
]  # fmt: skip


class PassedForm(TypedDict):
    """A request as an upstream gets it."""

    server: str
    scheme: str
    method: str
    target: str | None


class HeaderForm(TypedDict):
    """A header that is added to a response."""

    node: Node
    name: str
    value: str


class QuestionForm(TypedDict, total=False):
    """A question about the world: `kind` is `file`, `variable`, `upstream` or `event`."""

    kind: str
    path: str
    name: str
    server: str
    text: str


class UnknownForm(TypedDict):
    """Why an outcome, or a part of it, is unknown."""

    reason: str
    node: Node | None
    question: QuestionForm | None


class OutcomeForm(TypedDict):
    """What becomes of a request."""

    kind: OutcomeKind
    status: int | None
    location: str | None
    body: str | None
    uri: str
    args: str
    server: int | None
    level: int | None
    node: Node | None
    file: str | None
    upstream: PassedForm | None
    headers: list[HeaderForm]
    unknown: UnknownForm | None


class PassedOverForm(TypedDict):
    """Something that was considered and not taken."""

    node: Node
    reason: str


class StepForm(TypedDict):
    """A decision on the way."""

    kind: StepKind
    node: Node | None
    detail: str
    captures: list[str | None]
    passed_over: list[PassedOverForm]


class TraceForm(TypedDict):
    """An outcome, and the steps that led there."""

    outcome: OutcomeForm
    steps: list[StepForm]


class BranchForm(TypedDict):
    """What becomes of a request if some files exist and others do not, and some events happen and others do not.

    Folders have a slash at their end. Events are clauses, such as `the subrequest to /auth ends with 401`.
    """

    exists: list[str]
    missing: list[str]
    happens: list[str]
    fails: list[str]
    outcome: OutcomeForm


def asks_file(outcome: OutcomeForm) -> bool:
    """Return whether an outcome is not known because nobody knows if a file exists."""
    return _question(outcome) == "file"


def depends(outcome: OutcomeForm) -> bool:
    """Return whether an outcome is not known, and depends on files or events, by which it may have branches."""
    return outcome["kind"] == "unknown" and _question(outcome) in ("file", "event")


def _question(outcome: OutcomeForm) -> str | None:
    question = outcome["unknown"]["question"] if outcome["unknown"] else None
    return None if question is None else question["kind"]


def told(branches: Sequence[BranchForm]) -> tuple[BranchForm, ...]:
    """Return the branches for people, without those at the end that say the same as the last one."""
    kept = [*branches]
    while len(kept) > 1 and kept[-2]["outcome"] == kept[-1]["outcome"]:
        del kept[-2]
    return tuple(kept)


def conditions(branches: Sequence[BranchForm]) -> list[str]:
    """Return for each branch when it is taken unless one before it is, a clause; the last is `otherwise`.

    What is missing follows: it exists in a branch before.
    """
    clauses = [f"if {_condition(branch)}" for branch in branches[:-1]]
    return [*clauses[:1], *(f"else {clause}" for clause in clauses[1:]), *(["otherwise"] if branches else [])]


def _condition(branch: BranchForm) -> str:
    paths = [shown(path) for path in branch["exists"]]
    files = [f"{' and '.join(paths)} exist{'' if paths[1:] else 's'}"] if paths else []
    return " and ".join([*files, *branch["happens"]])


def location_of(outcome: OutcomeForm) -> str | None:
    """Return the first `Location` of a response: that of the redirect, or one that `add_header` sets."""
    if outcome["location"] is not None:
        return outcome["location"]
    return next((header["value"] for header in outcome["headers"] if header["name"].lower() == "location"), None)


def text_of(latin: str) -> str:
    """Return text of the model as text."""
    return decode(latin.encode("latin-1"))


def shown(latin: str) -> str:
    r"""Return text of the model for people: bytes that are not UTF-8 are `\xff`."""
    return latin if latin.isascii() else unicode(text_of(latin))
