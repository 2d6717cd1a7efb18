"""Whether an outcome is what a row of a table expects."""

from __future__ import annotations

from typing import Literal

from nginxopt.records import record
from nginxopt.request.locations import leads_to, normal
from nginxopt.request.model import OutcomeForm, asks_file, text_of
from nginxopt.request.redirects import REDIRECTS
from nginxopt.request.table import ExpectedRow

Verdict = Literal["passed", "failed", "unknown"]


@record(eq=True)
class Answer:
    """What a request got, from the model or from nginx.

    Attributes:
        kind: That of the outcome; `refused` where nginx does not listen, `response` if a server answered.
        status: None if it is not known, or decided by an upstream.
        location: The `Location` of a redirect; None if there is none, or it is not known.
        target: What the request is passed on to: a URL for http and grpc, else a server; empty if it is not passed on.
        unknown: Why something is unknown.
        node: The directive that answered.
        asks_file: Whether it is unknown because nobody knows if a file exists.
        branches: The answer by what exists, each with a clause; empty if it does not depend on files, or on too many.
        headers: Headers of the response, with their names in lower case: those that are known to be sent.
    """

    kind: str
    status: int | None
    location: str | None = None
    target: str = ""
    unknown: str | None = None
    node: int | None = None
    asks_file: bool = False
    branches: tuple[tuple[str, Answer], ...] = ()
    headers: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        if self.branches:
            return ", ".join(f"{answer} {clause}" for clause, answer in self.branches)
        if self.kind == "unknown":
            return f"unknown: {self.unknown}"
        if self.kind == "refused":
            return f"no connection: {self.unknown}"
        if self.kind == "closed":
            return "closed connection"
        if self.target:
            return f"{self.kind} to {self.target}"
        words = [str(self.status)] if self.status else [self.kind]
        words += [f"to {self.location}"] if self.location else []
        words += [f"({self.unknown})"] if self.unknown else []
        return " ".join(words)


def answer_of(outcome: OutcomeForm) -> Answer:
    """Return the answer of the model. An outcome that depends on files or events has no branches here."""
    unknown, passed = outcome["unknown"], outcome["upstream"]
    target = ""
    if passed is not None:
        scheme = f"{text_of(passed['scheme'])}://" if passed["scheme"] else ""
        target = f"{scheme}{text_of(passed['server'])}{text_of(passed['target'] or '')}"
    return made_of(
        outcome["kind"],
        outcome["status"],
        None if outcome["location"] is None else text_of(outcome["location"]),
        target,
        None if unknown is None else unknown["reason"],
        outcome["node"],
        asks_file(outcome),
        tuple((header["name"].lower(), text_of(header["value"])) for header in outcome["headers"]),
    )


def made_of(
    kind: str,
    status: int | None,
    location: str | None,
    target: str,
    unknown: str | None,
    node: int | None,
    asks_file: bool,
    headers: tuple[tuple[str, str], ...],
) -> Answer:
    """Return an answer of the model. If a redirect has no `Location` of its own, that of `add_header` counts."""
    if location is None and headers and status in REDIRECTS:
        location = next((value for name, value in headers if name == "location"), None)
    return Answer(kind, status, location, target, unknown, node, asks_file, (), headers)


def expected(row: ExpectedRow) -> str:
    """Return what a row expects, a phrase."""
    what = "a redirect" if row.status is None else str(row.status)
    what = f"{what} to {row.to}" if row.to else what
    sent = [f"{name}: {value}" if value else f"no {name}" for name, value in row.sends]
    return f"{what} with {', '.join(sent)}" if sent else what


def differing(row: ExpectedRow, answer: Answer) -> list[str]:
    """Return the expected headers whose values differ in a response, with the values of the response."""
    found = []
    for name, value in row.sends:
        values = [sent for of, sent in answer.headers if of == name.lower()]
        if values != [] if not value else value not in values:
            found.append(f"{name}: {', '.join(values)}" if values else f"no {name}")
    return found


def judge(row: ExpectedRow, answer: Answer) -> Verdict:
    """Return whether an answer is what a row expects; `unknown` if what decides is not known.

    An answer that depends on files passes if each branch does, and fails if none does; otherwise it is unknown.
    """
    if answer.branches:
        of_branches = {judge(row, branch) for _, branch in answer.branches}
        return of_branches.pop() if len(of_branches) == 1 else "unknown"
    if answer.kind in ("unknown", "refused"):
        return "unknown" if answer.kind == "unknown" else "failed"
    verdicts = [_of_status(row, answer), _of_target(row, answer)]
    if row.sends:
        verdicts.append(_passed(not differing(row, answer)))
    return "failed" if "failed" in verdicts else "unknown" if "unknown" in verdicts else "passed"


def _of_status(row: ExpectedRow, answer: Answer) -> Verdict:
    if isinstance(row.status, str):
        return _passed(answer.kind == row.status)
    if answer.status is None:
        is_open = answer.kind != "closed" and row.status not in REDIRECTS and row.status is not None
        return "unknown" if is_open or answer.unknown else "failed"
    return _passed(answer.status in REDIRECTS if row.status is None else answer.status == row.status)


def _of_target(row: ExpectedRow, answer: Answer) -> Verdict:
    if not row.to:
        return "passed"
    if isinstance(row.status, str):
        return _passed(normal(answer.target) == normal(row.to))
    if answer.location is None:
        return "unknown" if answer.unknown and answer.kind == "redirect" else "failed"
    return _passed(leads_to(answer.location, row.to, row.request.url))


def _passed(holds: bool) -> Verdict:
    return "passed" if holds else "failed"
