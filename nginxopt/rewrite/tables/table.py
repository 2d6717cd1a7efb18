"""A table of redirects as data: its rows, and the rows that nginx cannot answer exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from nginxopt.errors import InputError
from nginxopt.records import record
from nginxopt.text import Source, Span

Kind = Literal["csv", "netlify", "cloudflare", "apache"]
"""The format whose rules apply to rows."""

Arguments = Literal["drop", "insert", "append"]
"""The treatment of the arguments of a request: dropped, put before the fragment of the target, or after all of it."""

REDIRECTS = (301, 302, 303, 307, 308)
"""The codes with which `return` sends a client to an address (`ngx_http_send_response`)."""

SHOWN_ROWS = 10
"""The number of rejected rows that an error shows."""


@record(eq=True)
class Pattern:
    """What a row answers beside its own paths: the URIs that `regex` matches, as nginx reads it.

    `pieces` are the target: text, and numbers of captures; a target without captures is one text. `sample` is a path
    that the pattern matches, or None where none is known; `below` is a prefix if the pattern answers every path that
    begins with it and has no `?`. `captured` is what it captures of the sample.
    """

    regex: bytes
    pieces: tuple[bytes | int, ...]
    sample: bytes | None = None
    below: bytes | None = None
    captured: tuple[bytes, ...] = ()

    @property
    def has_captures(self) -> bool:
        """Whether the target repeats what the pattern captured."""
        return any(isinstance(piece, int) for piece in self.pieces)


@record(eq=True)
class Row:
    """What a row says.

    Attributes:
        start: The offset of its first byte.
        end: The offset after its last byte.
        site: The scheme and host of the requests it answers, such as `https://example.com`; empty for all.
        paths: The decoded paths that it answers by themselves.
        query: The arguments that the request has to have, as the client writes them; None for any.
        pattern: What else it answers.
        status: The code of the response; 200 is a rewrite within nginx. 0 is that of a row that is not answered.
        target: The `Location`, the decoded path of a rewrite, or empty for a response without either.
        arguments: What becomes of the arguments.
    """

    start: int
    end: int
    site: bytes
    paths: tuple[bytes, ...]
    query: bytes | None
    pattern: Pattern | None
    status: int
    target: bytes
    arguments: Arguments

    @property
    def span(self) -> Span:
        """Where the row stands."""
        return Span(self.start, self.end)


@record(eq=True)
class Rejected:
    """A row that nginx cannot answer exactly, or that cannot be read: the code of the reason, and the reason.

    `row` is its number in the table where it is known which requests it is for.
    """

    span: Span
    reason: str
    message: str
    hint: str | None = None
    row: int | None = None


@record(eq=True)
class Table:
    """The rows of a table in their order, and those that are rejected, of which `rows` has the requests if it can.

    `in_order`: the first row that answers a request counts; else the order of rows says nothing. `premises` are names
    in `nginxopt.rewrite.tables.premises`.
    """

    source: Source
    kind: Kind
    rows: tuple[Row, ...]
    rejected: tuple[Rejected, ...]
    in_order: bool
    premises: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """The number of all rows."""
        return len(self.rows) + sum(rejected.row is None for rejected in self.rejected)

    def line(self, offset: int) -> int:
        """Return the line of an offset, from 1."""
        return self.source.position(offset).line


class TableRows:
    """The rows of a table while it is read."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.rejected: list[Rejected] = []

    @property
    def answerable(self) -> list[Row]:
        """The rows that were not rejected."""
        return [row for row in self.rows if row.status]

    def reject(self, rejected: Rejected, requests: Row | None) -> None:
        """Add a rejected row, and its requests if they are known: no other row may answer them."""
        if requests is not None:
            rejected = replace(rejected, row=len(self.rows))
            self.rows.append(requests)
        self.rejected.append(rejected)


def unanswered(
    span: Span,
    *,
    site: bytes = b"",
    paths: tuple[bytes, ...] = (),
    query: bytes | None = None,
    pattern: Pattern | None = None,
) -> Row:
    """Return a row that says which requests it is for, and not how they are answered."""
    return Row(span.start, span.end, site, paths, query, pattern, 0, b"", "drop")


class CannotAnswer(Exception):  # noqa: N818 - a verdict on a row, which becomes a `Rejected`
    """A row cannot be answered exactly; `args` are the code of the reason, the message and a hint or None."""

    def __init__(self, reason: str, message: str, hint: str | None = None) -> None:
        super().__init__(reason, message, hint)
        self.reason = reason
        self.message = message
        self.hint = hint

    def at(self, span: Span) -> Rejected:
        """Return the verdict with its place."""
        return Rejected(span, self.reason, self.message, self.hint)


def require_utf8(source: Source) -> None:
    """Raise `InputError` at the first byte that is not UTF-8: another encoding would mean other characters."""
    try:
        source.data.decode()
    except UnicodeDecodeError as error:
        at = Span(error.start, error.start + 1)
        raise InputError("not UTF-8", source=source, span=at, hint="save the table as UTF-8") from None


class RejectedError(InputError):
    """Rows of a table that cannot be answered exactly: the first of them are shown, each with its place."""

    def __init__(self, source: Source, rejected: Sequence[Rejected]) -> None:
        first = rejected[0]
        super().__init__(first.message, source=source, span=first.span, hint=first.hint)
        self.rejected = tuple(rejected)

    def render(self) -> str:
        """Return the errors as they are shown, one below the other."""
        shown = [
            InputError(row.message, source=self.source, span=row.span, hint=row.hint).render()
            for row in self.rejected[:SHOWN_ROWS]
        ]
        more = len(self.rejected) - SHOWN_ROWS
        if more > 0:
            shown.append(f"... and {more:,} more rows that cannot be answered exactly")
        shown.append("nothing was written; --skip-rows leaves such rows out, each with its reason")
        return "\n".join(shown)
