"""A report for the terminal: `file:line:column: severity rule message`, source line, advice; counts at the end."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from nginxopt.errors import InputError
from nginxopt.lint.diagnostic import Diagnostic, Grade
from nginxopt.lint.report.model import LintReport, Locatable, RuleCount, advice, by_rule, details, ends
from nginxopt.settings.vocabulary import Severity, listed
from nginxopt.text.display import Style, count, inert, printable

MOST_PLACES = 6
"""How many related places of a finding are shown, the last of which counts the others if there are more."""

_COLORS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "blue"}


def render(report: LintReport, *, color: bool = False, quiet: bool = False) -> Iterator[str]:
    """Yield the findings, errors, notes and counts; text from files is escaped.

    `quiet` omits all but findings and errors.
    """
    style = Style(color)
    for diagnostic in report.diagnostics:
        yield from _lines(_finding(diagnostic, style))
    for error in report.errors:
        yield from _lines(_error(error, style))
    for path in report.changed:
        yield from _lines([f"{'would change' if report.shown else 'changed'} {printable(path)}"])
    for path in report.left:
        yield from _lines([f"would change {printable(path)}, outside of the named paths: left; --also DIR changes it"])
    if quiet:
        return
    for note in report.notes:
        place = _place(note, None, style)
        kind = style("note" if place else "note:", fg="cyan")  # as a severity behind a place, a word of its own without
        yield from _lines([f"{place}{kind} {printable(note.message)}"])
    if report.diagnostics or report.errors or report.notes or report.changed or report.left:
        yield "\n"
    yield from _lines(_counts(report, style))
    yield from _lines([*fixes(report), *measures(report)])


def statistics(report: LintReport, *, color: bool = False, quiet: bool = False) -> Iterator[str]:
    """Yield a line for each rule with findings: count, id, and a mark for its safest fix.

    `[*]` marks a safe fix, `[?]` a fix with premises, `[-]` an unsafe fix.
    """
    style = Style(color)
    counts = list(by_rule(report))
    digits = max((len(f"{rule_count.count:,}") for rule_count in counts), default=0)
    width = max((len(rule_count.rule) for rule_count in counts), default=0)
    for rule_count in counts:
        sign = _sign(rule_count)
        mark = style(sign, fg="cyan") if sign.strip() else sign
        number = style(f"{rule_count.count:>{digits},}", bold=True)
        yield f"{number}  {rule_count.rule:<{width}}  {mark}  {printable(rule_count.title)}".rstrip() + "\n"
    for error in report.errors:
        yield from _lines(_error(error, style))
    if quiet:
        return
    if counts or report.errors:
        yield "\n"
    yield from _lines(_counts(report, style))
    if any(_sign(rule_count).strip() for rule_count in counts):
        yield "  [*] fixable with --fix, [?] with --assume, [-] with --unsafe-fixes\n"


def _sign(rule_count: RuleCount) -> str:
    if rule_count.safe:
        return "[*]"
    if rule_count.conditional:
        return "[?]"
    return "[-]" if rule_count.unsafe else "   "


def _lines(lines: Iterator[str] | list[str]) -> Iterator[str]:
    return (f"{inert(line)}\n" for line in lines)


def _finding(diagnostic: Diagnostic, style: Style) -> Iterator[str]:
    hue = _COLORS[diagnostic.severity]
    head = f"{style(str(diagnostic.severity), fg=hue, bold=True)} {style(diagnostic.rule, bold=True)}"
    yield f"{_place(diagnostic.finding, None, style)}{head} {printable(diagnostic.message)}"
    yield from _snippet(diagnostic.finding, hue, style)
    for line in advice(diagnostic):
        name, _, text = line.partition(": ")
        yield f"  {style(f'{name}:', fg='cyan')} {printable(text)}"
    related = diagnostic.finding.related
    shown = related if len(related) <= MOST_PLACES else related[: MOST_PLACES - 1]
    for place in shown:
        yield f"  {style('note:', fg='cyan')} {_place(place, None, style)}{printable(place.message)}"
    if len(shown) < len(related):
        yield f"  {style('note:', fg='cyan')} {len(related) - len(shown)} more such notes are in the JSON report"


def _error(error: InputError, style: Style) -> Iterator[str]:
    yield f"{_place(error, error.path, style)}{style('error', fg='red', bold=True)} {printable(error.message)}"
    yield from _snippet(error, "red", style)
    for line in details(error):
        yield f"  {printable(line)}"


def _place(placed: Locatable, path: str | None, style: Style) -> str:
    """`file:line:column: `, as far as known."""
    path = path if placed.source is None else placed.source.path
    if path is None:
        return ""
    positions = ends(placed)
    position = f":{positions[0].line}:{positions[0].column}" if positions else ""
    return f"{style(printable(path), bold=True)}{position}: "


def _snippet(placed: Locatable, hue: str, style: Style) -> Iterator[str]:
    if placed.source is not None and placed.span is not None and not placed.source.outside:
        line, carets = placed.source.snippet(placed.span).split("\n")
        indent = carets.rstrip("^")
        yield f"    {line}"
        yield f"    {indent}{style(carets.removeprefix(indent), fg=hue, bold=True)}"


def _counts(report: LintReport, style: Style) -> Iterator[str]:
    if report.fixed is not None:
        yield f"{'would fix' if report.shown else 'fixed'} {count(report.fixed, 'finding')}"
    files, rules = report.failures()
    missed = (f", {files:,} not checked" if files else "") + (f", {count(rules, 'rule')} failed" if rules else "")
    guess = "a guess: " if report.target.is_guess else ""
    for_target = f"(for nginx {report.target.version}, {guess}{report.target.origin})"
    total = count(len(report.diagnostics), "finding") if report.diagnostics else "no findings"
    if report.places() > len(report.diagnostics):
        total += f" at {report.places():,} places"
    grades = Counter(diagnostic.severity for diagnostic in report.diagnostics)
    parts = ", ".join(
        style(_grade(severity, grades[severity]), fg=_COLORS[severity]) for severity in sorted(grades, reverse=True)
    )
    listed = f": {parts}" if parts else ""
    yield f"{style(total, bold=True)} in {count(len(report.files), 'file')}{missed}{listed} {for_target}"


def _grade(severity: Severity, number: int) -> str:
    return f"{number:,} info" if severity is Severity.INFO else count(number, str(severity))


def fixes(report: LintReport) -> Iterator[str]:
    """Yield how many findings each option would fix."""
    fixable = report.fixable()
    options = {
        Grade.SAFE: "--fix",
        Grade.CONDITIONAL: f"--fix --assume {listed(report.undeclared())}",
        Grade.UNSAFE: "--fix --unsafe-fixes",
    }
    fixable_or_more = "fixable"
    for grade, option in options.items():
        if fixable[grade]:
            yield f"  {fixable[grade]:,} {fixable_or_more} with {option}"
            fixable_or_more = "more"


def measures(report: LintReport) -> Iterator[str]:
    """Yield the benchmarks that show the effect of findings."""
    rules: defaultdict[str, set[str]] = defaultdict(set)
    for diagnostic in report.diagnostics:
        if diagnostic.scenario is not None:
            rules[diagnostic.scenario].add(diagnostic.rule)
    for scenario, ids in sorted(rules.items()):
        yield f"  measure {', '.join(sorted(ids))} with nginxopt bench {scenario}"
