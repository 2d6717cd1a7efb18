"""A comparison as one page: the verdict, a request that shows it or what is in doubt, and all places that changed."""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.text import page
from nginxopt.text.display import printable
from nginxopt.verify.formats.model import VerifyReport
from nginxopt.verify.verdict import STATES, counts

_CLASSES = {"different": "bad", "unknown": "warning", "equivalent": ""}


def render(report: VerifyReport) -> Iterator[str]:
    """Yield the page."""
    result = report.result
    yield page.render(
        "nginxopt.verify",
        verdict=result.verdict,
        style=_CLASSES[result.verdict],
        headline=printable(report.headline),
        names=[printable(name) for name in report.names],
        counted=[(STATES[state][number > 1], number) for state, number in counts(result.places).items()],
        witness=[printable(line) for line in report.witness()],
        doubts=[
            (printable(each.title), "" if each.place is None else printable(f"{each.place.file}:{each.place.line}"))
            for each in report.findings()
            if each.kind == "unknown"
        ],
        conditions=report.conditions,
        changed=[
            (printable(each.title), STATES[each.state][0], printable(", ".join(each.names)))
            for each in report.changed()
        ],
        given=[printable(each) for each in report.given],
    )
