"""What the formats for reviewers say: a headline, findings with their places, and the summary.

None of it has a word that only files outside of the named paths have: a format may escape texts, and break words.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from nginxopt.records import record
from nginxopt.request.model import SiteModel
from nginxopt.semantics.site.form import Node
from nginxopt.text.display import hide
from nginxopt.verify.premises import listed
from nginxopt.verify.report import text
from nginxopt.verify.verdict import STATES, ComparedPlace, Verification, sentence

Kind = Literal["different", "unknown", "changed"]


@record(eq=True)
class ReportPlace:
    """A line of a file, which is relative to the working directory if it is below that."""

    file: str
    line: int
    text: str


@record(eq=True)
class VerifyFinding:
    """Something to review: a request that is answered differently, what is in doubt, or a place that changed.

    Attributes:
        place: That on the new side, or else on the old one; None if there is none.
    """

    kind: Kind
    title: str
    lines: tuple[str, ...]
    place: ReportPlace | None


@record(eq=True)
class VerifyReport:
    """A result, with both models, and the names of both files."""

    result: Verification
    models: tuple[SiteModel, SiteModel]
    names: tuple[str, str]

    @property
    def headline(self) -> str:
        """The verdict in a sentence."""
        return self.lines()[0]

    def lines(self) -> list[str]:
        """Return the report as text, in lines."""
        whole = "".join(text(self.result, *self.models, self.names, color=False))
        return hide(whole).splitlines()

    def witness(self) -> list[str]:
        """Return the request that is answered differently with both answers, in lines; nothing if there is none."""
        lines = self.lines()[1:] if self.result.witness is not None else []
        return lines[: lines.index("")] if "" in lines else lines

    @property
    def summary(self) -> str:
        """How many places are in which state."""
        return hide(sentence(self.result.places))

    @property
    def conditions(self) -> str:
        """The premises that would settle what is in doubt; empty if there are none."""
        return hide(listed(self.result.conditions)) if self.result.conditions else ""

    @property
    def given(self) -> list[str]:
        """What was taken as given."""
        return [*map(hide, self.result.given)]

    def changed(self) -> list[ComparedPlace]:
        """Return the places that are not equal."""
        return [
            replace(
                place, server=hide(place.server), location=hide(place.location), names=tuple(map(hide, place.names))
            )
            for place in self.result.places
            if place.state != "equal"
        ]

    def findings(self) -> Iterator[VerifyFinding]:
        """Yield the findings, the gravest first."""
        result = self.result
        if result.witness is not None:
            lines = tuple(line.strip() for line in self.witness())
            outcomes = result.witness.old["outcome"], result.witness.new["outcome"]
            title = "a request is answered differently"
            yield VerifyFinding("different", title, lines, self._place(outcomes[0]["node"], outcomes[1]["node"]))
        for doubt in result.doubts if result.witness is None else ():
            lines = () if doubt.premise is None else (f"unless {doubt.premise} is taken as given",)
            lines = tuple(map(hide, lines))
            yield VerifyFinding("unknown", hide(doubt.reason), lines, self._place(doubt.old, doubt.new))
        for place in self.changed():
            said = f"{place.title} {STATES[place.state][0]}"
            yield VerifyFinding("changed", said, place.names, self._place(place.old, place.new))

    def _place(self, old: Node | None, new: Node | None) -> ReportPlace | None:
        for model, node in ((self.models[1], new), (self.models[0], old)):
            if node:
                place = model.site.nodes.place(node)
                return ReportPlace(_relative(place.path), place.line, hide(place.text))
        return None


def _relative(path: str) -> str:
    """Return a path as reviewers' tools expect it."""
    inside = os.path.relpath(path)
    return path if inside.startswith("..") else inside
