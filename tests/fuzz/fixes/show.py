"""A fault as a text that stands for itself: the files, how nginx is started, what is asked, what differs."""

from __future__ import annotations

import difflib

from tests.fuzz.fixes.case import MAIN, Start
from tests.fuzz.fixes.trial import Fault, Trial


def reproduction(trial: Trial, fault: Fault, rules: str) -> str:
    """Return all of a fault, in Markdown. `@plain0@` is a server of that kind, see `tests.fuzz.fixes.origins`."""
    lines = [f"## {rules}: {', '.join(sorted(fault.kinds))} (case {fault.case.name}, {trial.stage.binary})", ""]
    for name in sorted(fault.before, key=lambda name: (name != MAIN, name)):
        before, after = (trial.shown(files[name]) for files in (fault.before, fault.after))
        lines += [f"{name}:", "```nginx", before.rstrip("\n"), "```"]
        if before != after:
            change = difflib.unified_diff(before.splitlines(), after.splitlines(), "before", "after", lineterm="", n=1)
            lines += ["```diff", *list(change)[2:], "```"]
    if fault.case.start != Start():
        lines.append(f"Started with {fault.case.start}")
    for step in fault.case.steps:
        lines.append(f"Step: {', '.join(f'{new} becomes {old}' for old, new in step.replaced) or 'at once'}")
        for talk in step.talks:
            tls = "" if talk.tls is None else f", TLS with the certificate of {talk.tls or 'nobody'} {talk.session}"
            lines += [f"- port {talk.port}{tls}: `{request[:300]!r}`" for request in talk.requests]
    for difference in fault.differences[:4]:
        lines += ["", f"{difference.kind} {difference.which}:", "```", trial.shown(difference.told.encode()), "```"]
    return "\n".join([*lines, ""])
