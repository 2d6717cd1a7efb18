"""Compares the answers to the requests of a table with what its rows expect."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from nginxopt.records import record
from nginxopt.request.batch import Batch
from nginxopt.request.client import Url
from nginxopt.request.follow import MOST, Ask, RedirectSteps, follow
from nginxopt.request.judgement import Answer, Verdict, differing, expected, judge
from nginxopt.request.redirects import REDIRECTS
from nginxopt.request.table import ExpectedRow
from nginxopt.request.usage import Usage, usage


@record(eq=True)
class RowResult:
    """The result of a row.

    Attributes:
        answer: The answer that was compared: the first one, or the last of a chain that was followed.
        chain: The address of the request, and those of the redirects that were followed. Empty if the row passed and
            no redirect was followed.
        problem: How the row differs, a phrase; empty if it passed.
    """

    row: ExpectedRow
    verdict: Verdict
    answer: Answer
    chain: tuple[str, ...] = ()
    problem: str = ""


@record(eq=True)
class Results:
    """The results of all rows, in order, and which rules and locations their requests reach."""

    rows: tuple[RowResult, ...]
    reached: Usage

    def of(self, verdict: Verdict) -> list[RowResult]:
        """Return the rows with a verdict."""
        return [result for result in self.rows if result.verdict == verdict]

    @property
    def passed(self) -> bool:
        """Whether all rows passed."""
        return all(result.verdict == "passed" for result in self.rows)


Judge = Callable[[ExpectedRow, Answer], Verdict]
"""Returns whether an answer is what a row expects."""


def run(
    rows: Sequence[ExpectedRow],
    batch: Batch | None,
    ask: Ask,
    *,
    follows: bool,
    serves: Callable[[Url], bool] | None = None,
    judge: Judge = judge,
) -> Results:
    """Return the results of the rows; `ask` returns the answers, of the model or of a server.

    `batch` has the model of the configuration; with None, `serves` says which URLs are of the site. With a batch, `ask`
    must ask it about every request, also those that a server answers, so that it counts what they reach.
    """
    requests = [row.request for row in rows]
    if follows:
        of_site = serves or (batch.gate.serves if batch is not None else lambda _: False)
        chains = follow(requests, ask, of_site)
        results = [_of_chain(row, chain, judge) for row, chain in zip(rows, chains, strict=True)]
    else:
        results = [_of_answer(row, answer, judge) for row, answer in zip(rows, ask(requests), strict=True)]
    reached = Usage(()) if batch is None else usage(batch.model.site.site, batch.uses)
    return Results(tuple(results), reached)


def _of_answer(row: ExpectedRow, answer: Answer, judge: Judge) -> RowResult:
    verdict = judge(row, answer)
    if verdict == "passed":
        return RowResult(row, verdict, answer)
    return RowResult(row, verdict, answer, (str(row.request),), _problem(row, answer))


def _problem(row: ExpectedRow, answer: Answer) -> str:
    headers = differing(row, answer)
    return f"expected {expected(row)}, got {answer}{' with ' if headers else ''}{', '.join(headers)}"


def _of_chain(row: ExpectedRow, chain: RedirectSteps, judge: Judge) -> RowResult:
    """Return the result of a chain: `to` is compared with where it ends, a code with the first or last answer."""
    addresses = tuple(map(str, chain.requests))
    if chain.end in ("loop", "endless"):
        how = "in a loop" if chain.end == "loop" else f"more than {MOST} times"
        return RowResult(row, "failed", chain.answers[-1], (*addresses, chain.address), f"redirects {how}")
    answer = _compared(row, chain)
    verdict = judge(row, answer)
    return RowResult(row, verdict, answer, addresses, "" if verdict == "passed" else _problem(row, answer))


def _compared(row: ExpectedRow, chain: RedirectSteps) -> Answer:
    """Return what a row is compared with: its target with the end of the chain.

    A chain has arrived at a file even if it is unknown whether that exists.
    """
    first, last = chain.answers[0], _end(chain.answers[-1])
    is_redirect_row = row.status is None or row.status in REDIRECTS
    if isinstance(row.status, str) or (last.kind == "unknown" and not (is_redirect_row and last.asks_file)):
        return last
    if is_redirect_row:
        deciding = last if chain.end == "left" or len(chain.answers) == 1 else chain.answers[-2]
        is_redirect = first.status in REDIRECTS and first.location is not None
        return replace(first, location=chain.address if is_redirect else first.location, node=deciding.node)
    if chain.end == "left":
        return replace(last, status=None, location=chain.address, unknown="another site decides the status")
    return replace(last, location=chain.address) if row.to else last


def _end(answer: Answer) -> Answer:
    """Return the last answer of a chain, without its branches if one of them goes on."""
    goes_on = any(branch.status in REDIRECTS for _, branch in answer.branches)
    return replace(answer, branches=()) if goes_on else answer
