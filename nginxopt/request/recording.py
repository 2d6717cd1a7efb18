"""Writes a table of expectations from the answers that a configuration gives today."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence

from nginxopt.records import record
from nginxopt.request.client import Request, from_curl
from nginxopt.request.judgement import Answer
from nginxopt.request.redirects import REDIRECTS
from nginxopt.request.table import KINDS, is_target

_Cells = tuple[str, str, int | str]


@record(eq=True)
class Recording:
    """A table, and the requests that it leaves out because their answers are not known, with the reasons."""

    text: str
    left_out: tuple[tuple[Request, str], ...]


def recorded(requests: Sequence[Request], answers: Sequence[Answer], names: Sequence[str] = ()) -> Recording:
    """Return the table of some answers: CSV, or JSON lines if a request has a method or headers of its own.

    `names` are headers of the response to write, in JSON lines.
    """
    rows: list[tuple[Request, _Cells]] = []
    sends: list[dict[str, str]] = []
    left_out: list[tuple[Request, str]] = []
    for request, answer in zip(requests, answers, strict=True):
        cells = _cells(request, answer)
        if cells is None:
            left_out.append((request, _reason(answer)))
        else:
            rows.append((request, cells))
            sent = dict(answer.headers)
            sends.append({name: sent.get(name.lower(), "") for name in names})
    is_plain = all(request == from_curl(request.url) or _is_bare(request) for request, _ in rows)
    text = _csv(rows) if is_plain and not names else _json(rows, sends)
    return Recording(text, tuple(left_out))


def _cells(request: Request, answer: Answer) -> _Cells | None:
    """Return the cells of an answer; None if it is not known."""
    url = str(request.url)
    if answer.status in REDIRECTS:
        is_known = answer.location is not None and is_target(answer.location)
        return (url, answer.location or "", answer.status or 0) if is_known else None
    if answer.status is not None and answer.kind != "unknown":
        return url, "", answer.status
    if answer.kind not in KINDS:
        return None
    return url, answer.target if is_target(answer.target) else "", answer.kind


def _reason(answer: Answer) -> str:
    if answer.unknown:
        return answer.unknown
    return f"its Location is not an address: {answer.location}"


def _is_bare(request: Request) -> bool:
    """Return whether a request has no more than a host, as one of a log."""
    return request.method == b"GET" and request.headers == ((b"Host", request.url.authority.encode()),)


def _csv(rows: Sequence[tuple[Request, _Cells]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("from", "to", "status"))
    writer.writerows(cells for _, cells in rows)
    return text.getvalue()


def _json(rows: Sequence[tuple[Request, _Cells]], sends: Sequence[dict[str, str]]) -> str:
    objects = (
        _object(request, cells) | ({"sends": sent} if sent else {})
        for (request, cells), sent in zip(rows, sends, strict=True)
    )
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in objects)


def _object(request: Request, cells: _Cells) -> dict[str, object]:
    """Return a row of JSON lines. A header that occurs several times has its last value."""
    address, to, status = cells
    own = dict(from_curl(request.url).headers)
    headers = {
        name.decode("latin-1"): value.decode("utf-8", "surrogateescape")
        for name, value in request.headers
        if own.get(name) != value
    }
    row: dict[str, object] = {"from": address, "to": to, "status": status}
    row |= {"method": request.method.decode("latin-1")} if request.method != b"GET" else {}
    return row | ({"headers": headers} if headers else {})
