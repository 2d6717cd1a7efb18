"""What is known of each rule before its module is imported: rules.tsv, which `make docs` writes from the declarations.

A line has the severity and the category of a rule, the safeties of its fixes, the versions that it applies to, and its
other attributes where they differ from the default; `flags` names those that are False by default.
"""

from __future__ import annotations

import pkgutil

from nginxopt.lint.declare import Rule, unloaded
from nginxopt.lint.diagnostic import Reach, Safety
from nginxopt.settings.vocabulary import PREMISES, Severity
from nginxopt.version import Version

COLUMNS = (
    *("rule", "severity", "highest", "category", "fixes", "since", "until"),
    *("reach", "scenario", "about", "flags"),
)
FLAGS = ("host", "on_host", "by_cost", "by_release", "witness", "everywhere", "under_load")
ONLY_IF_SELECTED = "only_if_selected"
"""The flag of a rule that is not selected by default."""

_SAFETIES = {"safe": Safety.SAFE, "unsafe": Safety.UNSAFE}


def _rule(line: str) -> Rule:
    name, severity, highest, category, fixes, since, until, reach, scenario, about, flags = line.split("\t")
    stated = flags.split()
    return unloaded(
        name,
        severity=Severity(severity),
        highest=Severity(highest) if highest else None,
        category=category,
        fixes=tuple(map(_safety, fixes.split())),
        since=Version.parse(since) if since else None,
        until=Version.parse(until) if until else None,
        reach=Reach[reach] if reach else Reach.EVERYTHING,
        scenario=scenario or None,
        about=tuple(about.split()),
        default=ONLY_IF_SELECTED not in stated,
        **{flag: True for flag in stated if flag != ONLY_IF_SELECTED},
    )


def _safety(text: str) -> Safety:
    """Return a safety: `safe`, `unsafe`, or premises joined by `+`."""
    if text in _SAFETIES:
        return _SAFETIES[text]
    return Safety.under(*(PREMISES[name] for name in text.split("+")))


def _rules() -> dict[str, Rule]:
    table = pkgutil.get_data(__package__, "rules.tsv")  # importlib.resources would load zipfile
    assert table is not None, "rules.tsv belongs to the package"
    return {line.partition("\t")[0]: _rule(line) for line in table.decode().splitlines()[1:]}


RULES = _rules()
"""The rules by the names of their modules."""
