"""The rules as text: a table for a terminal, tables and pages in Markdown, data for JSON."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from nginxopt import lazy
from nginxopt.lint.declare import PAGES, Rule
from nginxopt.lint.diagnostic import Grade, Reach, Safety
from nginxopt.lint.queries.severity import ERROR, WARNING
from nginxopt.settings.vocabulary import CATEGORIES, WHOLE_CONFIGURATION, Premise
from nginxopt.text.display import Style

_OPTIONS = {Grade.SAFE: "--fix", Grade.CONDITIONAL: "--assume", Grade.UNSAFE: "--unsafe-fixes"}
PREMISES_PAGE = f"{PAGES.removesuffix('/rules')}/guide/premises.md"
"""Where the premises of fixes are explained."""

_MARKDOWN = lazy.pattern(
    r"(?P<fence>^```[^\n]*\n(?:[^\n]*\n)*?```$)|(?P<heading>^#+ [^\n]*$)|(?P<code>`[^`\n]+`)", re.MULTILINE
)


def versions(rule: Rule) -> str:
    """Return the nginx versions of a rule: `all`, `from 1.25.1`, `up to 1.29.6`, `1.7.11 to 1.29.6`."""
    if rule.since is not None and rule.until is not None:
        return f"{rule.since} to {rule.until}"
    if rule.since is not None:
        return f"from {rule.since}"
    return "all" if rule.until is None else f"up to {rule.until}"


def data(rules: Iterable[Rule]) -> list[dict[str, Any]]:
    """Return each rule as a JSON object, those of a category together."""
    return [
        {
            "id": rule.id,
            "title": rule.title,
            "category": rule.category,
            "severity": str(rule.severity),
            "fixes": [str(safety) for safety in rule.fixes],
            "premises": [premise.name for premise in sorted(rule.premises)],
            "since": None if rule.since is None else str(rule.since),
            "until": None if rule.until is None else str(rule.until),
            "default": rule.default,
            "scenario": rule.scenario,
            "url": rule.url,
        }
        for rule in _sorted(rules)
    ]


def table(rules: Iterable[Rule], *, color: bool = False) -> Iterator[str]:
    """Yield the lines of a table for a terminal: id, severity, option of the fix, versions, title, by category."""
    listed = _sorted(rules)
    style = Style(color)
    widths = [max(map(len, column)) for column in zip(*map(_cells, listed), strict=True)]
    for number, (category, group) in enumerate(groupby(listed, key=lambda rule: rule.category)):
        yield ("\n" if number else "") + style(f"{category}: {CATEGORIES[category]}", bold=True) + "\n"
        for rule in group:
            cells = [f"{cell:<{width}}" for cell, width in zip(_cells(rule), widths, strict=True)]
            yield "  ".join(["", style(cells[0], fg="cyan"), *cells[1:], _title(rule)]) + "\n"


def _cells(rule: Rule) -> tuple[str, str, str, str]:
    return rule.id, str(rule.severity), ", ".join(_options(rule)), versions(rule)


def _options(rule: Rule) -> list[str]:
    return [_OPTIONS[safety.grade] for safety in rule.fixes]


def markdown(rules: Iterable[Rule], folder: str = PAGES) -> Iterator[str]:
    """Yield the lines of a section with a table for each category; links lead to the pages in `folder`."""
    for number, (category, group) in enumerate(groupby(_sorted(rules), key=lambda rule: rule.category)):
        yield ("\n" if number else "") + f"## {category}: {CATEGORIES[category]}\n\n"
        yield "| rule | finds | severity | fix | nginx |\n|---|---|---|---|---|\n"
        for rule in group:
            options = ", ".join(map(_code, _options(rule)))
            cells = (_link(rule, folder), _title(rule), str(rule.severity), options, versions(rule))
            yield f"| {' | '.join(map(_cell, cells))} |\n"


def overview(rules: Iterable[Rule], folder: str) -> Iterator[str]:
    """Yield the number of rules with each kind of fix, then a table with a row for each category."""
    listed = _sorted(rules)
    fixes = Counter(rule.fixes[0].grade for rule in listed if rule.fixes)
    premise = f"[premise]({folder.removesuffix('rules')}guide/premises.md)"
    yield f"{len(listed)} rules. {fixes[Grade.SAFE]} have a safe fix (`--fix`), "
    yield f"{fixes[Grade.CONDITIONAL]} have a fix that is safe under a {premise} (`--assume`), "
    yield f"{fixes[Grade.UNSAFE]} have an unsafe fix (`--unsafe-fixes`).\n\n"
    yield "| category | rules |\n|---|---|\n"
    for category, group in groupby(listed, key=lambda rule: rule.category):
        yield f"| {category}: {CATEGORIES[category]} | {', '.join(_link(rule, folder) for rule in group)} |\n"


def page(rule: Rule) -> str:
    """Return the page of a rule in Markdown: its id, its properties, and its documentation."""
    title, _, rest = rule.page.text.partition("\n")
    properties = "".join(f"- {line}\n" for line in _properties(rule))
    return f"# {rule.id}\n\n{title}\n\n{properties}{rest.rstrip()}\n"


def _properties(rule: Rule) -> list[str]:
    lines = [
        f"Severity: {_severity(rule)}",
        f"Category: {rule.category} ({CATEGORIES[rule.category]})",
        f"Fix: {'; or '.join(map(_means, rule.fixes)) or 'none; correct it by hand'}",
        f"nginx: {versions(rule)}",
        f"On by default: {_default(rule)}",
    ]
    lines += ["Witness: each finding names a request that shows it"] if rule.witness else []
    return lines + ([f"Benchmark: `nginxopt bench {rule.scenario}`"] if rule.scenario else [])


def _default(rule: Rule) -> str:
    if rule.on_host:
        return "with `--host` or `--root`; otherwise only if selected"
    return "yes" if rule.default else "no, only if selected"


def _severity(rule: Rule) -> str:
    if not rule.by_cost:
        return f"{rule.severity} or {rule.highest}" if rule.highest else str(rule.severity)
    return f"{rule.severity}; warning from {WARNING:,} instructions a request, error from {ERROR:,}"


def _means(safety: Safety) -> str:
    """Return the description of a fix of that safety, with its option."""
    if safety.premises is None:
        return "unsafe (`--unsafe-fixes`): may change more than speed"
    if not safety.premises:
        return "safe (`--fix`): every decoded response and every upstream request stays as it is"
    links = ", ".join(f"[`{premise.name}`]({PREMISES_PAGE}#{premise.name})" for premise in sorted(safety.premises))
    return f"safe under premises (`--assume`): {links}"


def premise_page(premise: Premise, rules: Iterable[Rule], folder: str = PAGES, level: str = "#") -> str:
    """Return the section of a premise in Markdown: the condition, how to verify it, and the rules that need it."""
    sentence = f"{premise.sentence[0].upper()}{premise.sentence[1:]}."
    ordered = _sorted(rules)
    if premise == WHOLE_CONFIGURATION:
        never = [_link(rule, folder) for rule in ordered if rule.reach is Reach.WORDS]
        needed = f"\n\nNeeded by the fixes of all rules but {', '.join(never)}, unless everything was read."
    else:
        needing = [_link(rule, folder) for rule in ordered if premise in rule.premises]
        needed = f"\n\nNeeded by {', '.join(needing)}." if needing else ""
    return f"{level} {premise.name}\n\n{sentence}\n\n{premise.check}{needed}\n"


def styled(text: str, *, color: bool) -> str:
    """Return Markdown for a terminal: headings, fences and code have a style, the text is the same."""
    style = Style(color)

    def with_style(match: re.Match[str]) -> str:
        if match["fence"]:
            opening, *lines, closing = match[0].split("\n")
            return "\n".join([style(opening, dim=True), *lines, style(closing, dim=True)])
        return style(match[0], bold=True) if match["heading"] else style(match[0], fg="cyan")

    return _MARKDOWN.sub(with_style, text)


def _sorted(rules: Iterable[Rule]) -> list[Rule]:
    order = list(CATEGORIES)
    return sorted(rules, key=lambda rule: (order.index(rule.category), rule.id))


def _title(rule: Rule) -> str:
    if rule.default:
        return rule.title
    return f"{rule.title} ({'with --host, or if selected' if rule.on_host else 'only if selected'})"


def _link(rule: Rule, folder: str) -> str:
    if rule.origin is not None:
        return f"[`{rule.id}`]({rule.url})" if rule.url else f"`{rule.id}`"
    return f"[`{rule.id}`]({folder}/{rule.id}.md)" if folder else f"[`{rule.id}`]({rule.id}.md)"


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
