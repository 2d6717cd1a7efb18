"""The JSON of `nginxopt trace`. Its schema is `schemas/trace.json`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from nginxopt import __version__
from nginxopt.config import Directive
from nginxopt.request.model import BranchForm, HeaderForm, OutcomeForm, QuestionForm, StepForm, UnknownForm, shown
from nginxopt.request.trace import RealComparison, Supposition, Trace
from nginxopt.semantics import Level
from nginxopt.semantics.site import DirectivePlace
from nginxopt.semantics.site.form import Node
from nginxopt.text.display import unicode

VERSION = 1
"""The version of the form; it grows when a reader would have to change."""

Json = dict[str, Any]


def render(trace: Trace) -> str:
    """Return a trace as JSON."""
    return json.dumps(form(trace), ensure_ascii=False, indent=2) + "\n"


def form(trace: Trace) -> Json:
    """Return a trace as the schema describes it."""
    writer = _Writer(trace)
    return {
        "version": VERSION,
        "nginxopt": __version__,
        "target_version": str(trace.version),
        "target_version_origin": trace.origin,
        "request": _request(trace),
        "outcome": writer.outcome(trace.outcome, trace.branches),
        "server": writer.server(),
        "location": None if trace.location is None else writer.level(trace.location),
        "steps": [writer.step(step) for step in trace.steps],
        "settings": writer.settings(),
        "nginx": _comparison(trace.comparison),
        "premises": [writer.given(premise) for premise in trace.premises],
    }


_EMPTY: Json = {"file": None, "line": None, "text": None}


def _request(trace: Trace) -> Json:
    sent, connection = trace.sent, trace.sent["connection"]
    return {
        "method": shown(sent["method"]),
        "url": unicode(str(trace.request.url)),
        "target": shown(sent["target"]),
        "http_version": ".".join(map(str, sent["version"])),
        "headers": [{"name": shown(name), "value": shown(value)} for name, value in sent["headers"]],
        "address": shown(connection["host"]),
        "port": connection["port"],
        "tls": connection["tls"],
        "sni": _shown(connection["sni"]),
        "client": _shown(connection["client"]),
    }


def _comparison(comparison: RealComparison | None) -> Json | None:
    if comparison is None:
        return None
    return {
        "name": comparison.nginx,
        "compared": comparison.reason is None,
        "reason": comparison.reason,
        "differences": [unicode(difference) for difference in comparison.differences],
    }


class _Writer:
    """Writes the parts of a trace with the places of directives."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def outcome(self, outcome: OutcomeForm, branches: Sequence[BranchForm] = ()) -> Json:
        passed = outcome["upstream"]
        return {
            "kind": "depends" if branches else outcome["kind"],
            "status": outcome["status"],
            "location": _shown(outcome["location"]),
            "body": _shown(outcome["body"]),
            "uri": shown(outcome["uri"]),
            "args": shown(outcome["args"]),
            "file": _shown(outcome["file"]),
            "upstream": passed
            and {
                "server": shown(passed["server"]),
                "scheme": shown(passed["scheme"]),
                "method": shown(passed["method"]),
                "target": _shown(passed["target"]),
            },
            "headers": [self._header(header) for header in outcome["headers"]],
            "by": self._node(outcome["node"]),
            "unknown": self._unknown(outcome["unknown"]),
            "branches": [self._branch(branch) for branch in branches],
        }

    def given(self, given: Supposition) -> Json:
        place = _EMPTY if given.place is None else _place(given.place)
        return {**place, "premise": given.text, "otherwise": [self.outcome(outcome) for outcome in given.otherwise]}

    def _branch(self, branch: BranchForm) -> Json:
        level = branch["outcome"]["level"]
        location = None if level is None else self._trace.site.levels[level].around("location")
        return {
            "exists": [shown(path) for path in branch["exists"]],
            "missing": [shown(path) for path in branch["missing"]],
            "happens": list(branch["happens"]),
            "fails": list(branch["fails"]),
            "outcome": self.outcome(branch["outcome"]),
            "location": None if location is None else self.level(location),
        }

    def server(self) -> Json | None:
        if self._trace.server is None or self._trace.outcome["server"] is None:
            return None
        names = self._trace.site.site["servers"][self._trace.outcome["server"]]["names"]
        return {**self.level(self._trace.server), "names": [shown(name["text"]) for name in names]}

    def level(self, level: Level) -> Json:
        number = self._trace.site.nodes.number(level.opener) if level.opener else 0
        return _place(self._trace.place(number))

    def step(self, step: StepForm) -> Json:
        return {
            "kind": step["kind"],
            "detail": shown(step["detail"]),
            "at": self._node(step["node"]),
            "captures": [_shown(capture) for capture in step["captures"]],
            "passed_over": [
                {**_place(self._trace.place(other["node"])), "reason": other["reason"]} for other in step["passed_over"]
            ],
        }

    def settings(self) -> list[Json]:
        return [
            {
                "name": setting.name,
                "known": setting.directives is not None,
                "directives": [self._directive(directive) for directive in setting.directives or ()],
            }
            for setting in self._trace.settings
        ]

    def _header(self, header: HeaderForm) -> Json:
        return {"name": shown(header["name"]), "value": shown(header["value"]), "by": self._node(header["node"])}

    def _unknown(self, unknown: UnknownForm | None) -> Json | None:
        if unknown is None:
            return None
        question = unknown["question"]
        return {
            "reason": unknown["reason"],
            "at": self._node(unknown["node"]),
            "question": None if question is None else _question(question),
        }

    def _node(self, node: Node | None) -> Json | None:
        return None if node is None else _place(self._trace.place(node))

    def _directive(self, directive: Directive) -> Json:
        return _place(self._trace.place(self._trace.site.nodes.number(directive)))


def _question(question: QuestionForm) -> Json:
    kind = question["kind"]
    subject = question.get("path") or question.get("name") or question.get("server") or question.get("text") or ""
    return {"kind": kind, "about": shown(subject)}


def _place(place: DirectivePlace) -> Json:
    return {"file": unicode(place.path), "line": place.line, "text": unicode(place.text)}


def _shown(text: str | None) -> str | None:
    return None if text is None else shown(text)
