"""A profile as JSON (`nginxopt/schemas/profile-report.json`)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from nginxopt import __version__
from nginxopt.profile.figures import Compared, Figures, Group
from nginxopt.profile.sums import Cell, Class, Durations, LogFile, Place, Profile, Sum
from nginxopt.profile.terms import Term
from nginxopt.profile.worth import NOTHING, Worth
from nginxopt.request.usage import PARTS
from nginxopt.text.display import unicode

VERSION = 2
"""Grows when a reader of reports would have to change."""

_QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


def document(profile: Profile, worth: Worth = NOTHING) -> str:
    """Return the JSON document, with its line end."""
    figures = Figures(profile)
    peak = figures.peak
    content = {
        "version": VERSION,
        "nginxopt": __version__,
        "config": profile.config,
        "nginx": profile.nginx,
        "verdict": figures.verdict,
        "of_nginx": figures.of_nginx,
        "work": _work(figures),
        "savings": _savings(worth),
        "logs": [_log(file) for file in profile.files],
        "notes": profile.notes,
        "requests": figures.requests,
        "verdicts": {name: figures.number(name) for name in ("agrees", "differs", "ambiguous", "unknown")},
        "total": _cell(figures.total),
        "locations": [_group(group) for group in figures.locations],
        "directives": [_group(group) for group in figures.directives],
        "differing": [_class(key, cell) for key, cell in figures.differing],
        "unknown": [_class(key, cell) for key, cell in figures.of_verdict("unknown")],
        "ambiguous": [_class(key, cell) for key, cell in figures.of_verdict("ambiguous")],
        "uses": {f"{part}s": _uses(figures, part) for part in PARTS},
        "clients": _named(figures.clients, profile.other_clients),
        "robots": _named(figures.robots, profile.other_robots),
        "peak": None
        if peak is None
        else {"minute": peak.minute, "requests": peak.requests, "connections": peak.connections},
        "capacity": figures.capacity,
        "lacking": [{"variable": name, "figures": what} for name, what in figures.lacking],
    }
    return unicode(json.dumps(content, indent=2, ensure_ascii=False)) + "\n"


def _log(file: LogFile) -> dict[str, Any]:
    return {
        "file": file.path,
        "format": file.format,
        "lines": file.lines,
        "broken": {"lines": file.broken, "first": file.broken_lines},
        "malformed": file.malformed,
        "undated": file.undated,
        "cut": file.cut,
    }


def _work(figures: Figures) -> dict[str, Any]:
    work = figures.work

    def seconds(term: Term) -> float | None:
        return term.nanoseconds / 1e9 if figures.is_timed else None

    return {
        "basis": figures.basis,
        "share_of_core": None if work.share is None else list(work.share),
        "instructions": round(work.total.instructions),
        "seconds": seconds(work.total),
        "causes": [
            {
                "cause": cause,
                "place": _place(place),
                "instructions": round(load.term.instructions),
                "seconds": seconds(load.term),
            }
            for cause, place, load in work.by_cause
        ],
        "measured": [_compared(one) for one in figures.measured],
        "not_measured": [{"reason": reason, "requests": number} for reason, number in figures.unmeasured],
    }


def _savings(worth: Worth) -> dict[str, Any]:
    return {
        "not_known": worth.not_known,
        "findings": [
            {
                "rule": one.rule,
                "message": one.message,
                "places": [{"file": path, "line": line} for path, line in one.places],
                "saves_a_day": one.a_day.form,
            }
            for one in worth.findings
        ],
    }


def _compared(one: Compared) -> dict[str, Any]:
    return {
        "kind": one.key.kind,
        "rule": one.key.rule,
        "status": one.key.status,
        "server": _place(one.key.server),
        "level": _place(one.key.level),
        "requests": one.requests,
        "instructions": None if one.instructions is None else round(one.instructions),
        "microseconds": None if one.nanoseconds is None else one.nanoseconds / 1000,
        "estimated_instructions": round(one.estimate.instructions),
    }


def _place(place: Place | None) -> dict[str, Any] | None:
    return None if place is None else place._asdict()


def _durations(durations: Durations) -> dict[str, Any] | None:
    if not durations.count:
        return None
    quantiles = {name: durations.quantile(share) for name, share in _QUANTILES.items()}
    return {"requests": durations.count, "milliseconds": durations.sum, **quantiles}


def _cell(cell: Cell) -> dict[str, Any]:
    return {
        "requests": cell.requests,
        "bytes": cell.bytes,
        "request_time": _durations(cell.request),
        "upstream_time": _durations(cell.upstream),
        "connect_time": _durations(cell.connect),
        "repeated": cell.repeated,
        "first": cell.first,
        "last": cell.last,
        "example": cell.example,
    }


def _group(group: Group) -> dict[str, Any]:
    statuses = {f"{hundred}xx": number for hundred, number in sorted(group.statuses.items()) if hundred}
    return {"place": _place(group.place), "statuses": statuses, **_cell(group.cell)}


def _class(key: Class, cell: Cell) -> dict[str, Any]:
    return {
        "kind": key.kind,
        "expected": key.expected,
        "status": key.status,
        "reason": key.reason,
        "server": _place(key.server),
        "level": _place(key.level),
        "node": _place(key.node),
        "requests": cell.requests,
        "first": cell.first,
        "example": cell.example,
    }


def _uses(figures: Figures, part: str) -> list[dict[str, Any]]:
    return [
        {**place._asdict(), "requests": use.requests, "state": _state(use.requests, logs_here=use.logs_here)}
        for place, use in figures.uses(part)
    ]


def _state(requests: int, *, logs_here: bool) -> str:
    return "used" if requests else "not seen" if logs_here else "not logged here"


def _named(found: Iterable[tuple[str, Sum]], others: Sum) -> dict[str, Any]:
    return {"named": [{"name": name, **_sum(one)} for name, one in found], "others": _sum(others)}


def _sum(one: Sum) -> dict[str, Any]:
    return {"requests": one.requests, "bytes": one.bytes, "request_time": one.busy, "upstream_time": one.upstream}
