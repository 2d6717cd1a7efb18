"""The data of a table of redirects: its rows, and the rows that nginx cannot answer exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from nginxopt.errors import InputError
from nginxopt.records import record
from nginxopt.text import Source, Span

TableKind = Literal["csv", "netlify", "cloudflare", "apache"]
"""The format of a table, which determines the meaning of its rows."""

Arguments = Literal["drop", "insert", "append"]
"""What happens to the arguments of a request: they are dropped, or added to the target before or after its fragment."""

REDIRECTS = (301, 302, 303, 307, 308)
"""The status codes with which `return` redirects (`ngx_http_send_response`)."""

SHOWN_ROWS = 10
"""The number of rejected rows that an error shows."""


@record(eq=True)
class Pattern:
    """A regular expression for the URIs that a row answers in addition to its paths.

    Attributes:
        regex: The expression in nginx's syntax.
        pieces: The target: texts and numbers of captures. A target without captures is one text.
        sample: A path that the expression matches; None if none is known.
        below: A prefix, if the expression matches every path that begins with it and contains no `?`.
        captured: The captures for `sample`.
    """

    regex: bytes
    pieces: tuple[bytes | int, ...]
    sample: bytes | None = None
    below: bytes | None = None
    captured: tuple[bytes, ...] = ()

    @property
    def has_captures(self) -> bool:
        """Whether the target contains captures."""
        return any(isinstance(piece, int) for piece in self.pieces)


@record(eq=True)
class Row:
    """A row: the requests that it is for, and the response.

    Attributes:
        start: The offset of its first byte.
        end: The offset after its last byte.
        site: The scheme and host of the requests, such as `https://example.com`; empty for all.
        paths: The decoded paths of the requests.
        query: The arguments that requests must have, as sent by the client; None for any.
        pattern: A pattern for further paths.
        status: The status of the response; 200 is an internal rewrite, and 0 marks a row that nginx cannot answer.
        target: The `Location`, or the decoded path of a rewrite; empty for a response without either.
        arguments: What happens to the arguments of a request.
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
        """The place of the row in the file."""
        return Span(self.start, self.end)


@record(eq=True)
class Rejected:
    """A row that nginx cannot answer exactly, or that cannot be parsed.

    Attributes:
        span: The place of the row.
        reason: The code of the reason.
        message: The reason.
        hint: How to fix the row.
        row: The number of the row in `Table.rows`, if it is known which requests it is for.
    """

    span: Span
    reason: str
    message: str
    hint: str | None = None
    row: int | None = None


@record(eq=True)
class Table:
    """A table.

    Attributes:
        source: The file.
        kind: The format.
        rows: The rows in order, including rejected rows whose requests are known.
        rejected: The rejected rows.
        in_order: Whether the first row that matches a request answers it; otherwise the order has no meaning.
        premises: Names of premises in `nginxopt.rewrite.tables.premises`.
        notes: What was assumed about the columns, as sentences without a full stop.
    """

    source: Source
    kind: TableKind
    rows: tuple[Row, ...]
    rejected: tuple[Rejected, ...]
    in_order: bool
    premises: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """The number of all rows."""
        return len(self.rows) + sum(rejected.row is None for rejected in self.rejected)

    def line(self, offset: int) -> int:
        """Return the number of the line at an offset, from 1."""
        return self.source.position(offset).line


class TableRows:
    """The rows of a table while it is read."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.rejected: list[Rejected] = []

    @property
    def answerable(self) -> list[Row]:
        """The rows that are not rejected."""
        return [row for row in self.rows if row.status]

    def reject(self, rejected: Rejected, requests: Row | None) -> None:
        """Add a rejected row, and its requests if they are known, because no other row may answer these."""
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
    """Return a row with requests but without a response (status 0)."""
    return Row(span.start, span.end, site, paths, query, pattern, 0, b"", "drop")


class CannotAnswer(Exception):  # noqa: N818 - a verdict on a row, which becomes a `Rejected`
    """nginx cannot answer a row exactly. `args` are the code of the reason, the message, and a hint or None."""

    def __init__(self, reason: str, message: str, hint: str | None = None) -> None:
        super().__init__(reason, message, hint)
        self.reason = reason
        self.message = message
        self.hint = hint

    def at(self, span: Span) -> Rejected:
        """Return the rejected row at a place."""
        return Rejected(span, self.reason, self.message, self.hint)


def require_utf8(source: Source) -> None:
    """Raise `InputError` at the first byte that is not UTF-8: in another encoding it is another character."""
    try:
        source.data.decode()
    except UnicodeDecodeError as error:
        at = Span(error.start, error.start + 1)
        raise InputError("not UTF-8", source=source, span=at, hint="save the table as UTF-8") from None


class RejectedError(InputError):
    """The error for rejected rows of a table, of which it shows the first ones with their places.

    `wrote`: the other rows were written.
    """

    def __init__(self, source: Source, rejected: Sequence[Rejected], *, wrote: bool = False) -> None:
        first = rejected[0]
        super().__init__(first.message, source=source, span=first.span, hint=first.hint)
        self.rejected = tuple(rejected)
        self.wrote = wrote

    def render(self) -> str:
        """Return the errors as they are shown, one below the other."""
        shown = [
            InputError(row.message, source=self.source, span=row.span, hint=row.hint).render()
            for row in self.rejected[:SHOWN_ROWS]
        ]
        more = len(self.rejected) - SHOWN_ROWS
        if more > 0:
            shown.append(f"... and {more:,} more rows that cannot be answered exactly")
        if self.wrote:
            shown.append("left out, with the rows that would answer in their place; --skip-rows accepts that")
        else:
            shown.append("nothing was written: no row is left")
        return "\n".join(shown)
