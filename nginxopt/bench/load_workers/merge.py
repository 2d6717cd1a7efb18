"""Merges the results of several vegeta processes (CSV), with times corrected to one clock."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator

_NANO = 1_000_000_000
_QUOTE = b'"'
_TIMESTAMP, _SEQUENCE = 0, 8  # columns of vegeta's CSV (NewCSVEncoder in lib/results.go)


def merged(parts: Iterable[tuple[bytes, float]]) -> bytes:
    """Return the results of all parts in the order of their requests, for `vegeta report` and `vegeta plot`.

    A part is the output of `vegeta encode -to=csv`, and how far the clock of its worker is ahead, in seconds. Times are
    converted to the clock of this command. Sequence numbers are new, because `vegeta plot` orders points by them.
    """
    rows = [(start(record) - round(offset * _NANO), record) for data, offset in parts for record in records(data)]
    rows.sort(key=lambda row: row[0])
    times = (time for time, _ in rows)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for number, fields in enumerate(csv.reader(record.decode(errors="replace") for _, record in rows)):
        fields[_TIMESTAMP], fields[_SEQUENCE] = str(next(times)), str(number)
        writer.writerow(fields)
    return text.getvalue().encode()


def records(data: bytes) -> Iterator[bytes]:
    """Yield the records of a CSV file with their line ends; a quoted field may span lines."""
    record = b""
    for line in io.BytesIO(data):
        record += line
        if record.count(_QUOTE) % 2 == 0:
            yield record
            record = b""
    if record:
        yield record


def start(record: bytes) -> int:
    """Return when a request was sent, in nanoseconds since the epoch, by the clock of its worker.

    Raises `ValueError` for an invalid record.
    """
    return int(record.partition(b",")[0])


def first_start(data: bytes) -> float | None:
    """Return when the first request of a part was sent, in seconds by the clock of its worker; None without one."""
    return min((start(record) / _NANO for record in records(data)), default=None)
