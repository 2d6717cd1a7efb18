"""A comparison in Markdown, for a comment on a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt import lazy
from nginxopt.text.display import printable
from nginxopt.verify.formats.model import VerifyReport
from nginxopt.verify.verdict import STATES

_SPECIAL = lazy.pattern(r"[\\`*\[\]<>|~&#!$_]")
_MENTION = lazy.pattern(r"@(?=\w)")


def render(report: VerifyReport) -> Iterator[str]:
    """Yield the headline, the summary, what is different or in doubt, the places that changed, and the premises."""
    yield f"### nginxopt verify: {_text(report.headline)}\n\n{_text(report.summary)}\n"
    if report.result.witness is not None:
        yield "\n```\n"
        yield from (f"{printable(line).replace('```', chr(39) * 3)}\n" for line in report.witness())
        yield "```\n"
    for finding in report.findings():
        if finding.kind == "unknown":
            place = "" if finding.place is None else f" (`` {printable(finding.place.file)}:{finding.place.line} ``)"
            yield f"\n- {_text(finding.title)}{place}"
    if report.conditions:
        yield f"\n\nBoth answer alike, if {_text(report.conditions)}.\n"
    changed = report.changed()
    if changed:
        yield "\n\n| server and location | | settings |\n|---|---|---|\n"
        for each in changed:
            yield f"| {_text(each.title)} | {STATES[each.state][0]} | {_text(', '.join(each.names))} |\n"
    if report.given:
        yield "\n<details><summary>Taken as given</summary>\n\n"
        yield from (f"- {_text(given)}\n" for given in report.given)
        yield "\n</details>\n"


def _text(text: str) -> str:
    """Return a text on one line, escaped so that nothing in it is markup, and `@name` notifies nobody."""
    return _MENTION.sub("@\N{WORD JOINER}", _SPECIAL.sub(r"\\\g<0>", printable(text)))
