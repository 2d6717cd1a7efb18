"""Rules over a configuration: what they find, sorted and without repetition."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from nginxopt.config import Config
from nginxopt.diagnostic import Diagnostic, Finding, Fix, Severity
from nginxopt.errors import InputError
from nginxopt.model import Model
from nginxopt.rule import Rule
from nginxopt.source import Source, Span
from nginxopt.version import Version

if TYPE_CHECKING:
    from nginxopt.host import Host


class Selected(NamedTuple):
    """A rule that is to judge, and what its findings are."""

    rule: Rule
    severity: Severity


@dataclass(frozen=True, slots=True)
class Linted:
    """What the rules found, in the order of files and places, and what kept a rule from judging."""

    diagnostics: tuple[Diagnostic, ...]
    errors: tuple[InputError, ...] = ()


def lint(config: Config, rules: Iterable[Selected], target: Version, host: Host | None = None) -> Linted:
    """Judge a configuration by every rule that speaks of the nginx `target`, and with `host` for that machine."""
    model = Model(config, target, host)
    diagnostics: list[Diagnostic] = []
    errors: dict[str, InputError] = {}
    times = {file.source: _times(config, file.path) for file in config.files}
    for rule, severity in rules:
        if not rule.speaks_of(target):
            continue
        try:
            diagnostics += [
                Diagnostic(rule.id, severity, finding, rule.url, rule.scenario)
                for finding in _merged(rule.check(model), times)
            ]
        except InputError as error:  # what only some rules read closely: nginx would refuse it
            errors[error.render()] = error
    return Linted(tuple(sorted(diagnostics, key=_order(config))), tuple(errors.values()))


def _times(config: Config, path: str) -> int:
    """Return in how many places of the configuration a file is read."""
    return len({(place.parents, place.include) for place in config.contexts(path)}) or 1


def _merged(findings: Iterable[Finding], times: Mapping[Source, int]) -> Iterator[Finding]:
    """Yield each finding once, however often its file is included.

    A fix changes a file for all the places that include it, so it stands only if it is found, and is the same,
    in every one of them.
    """
    groups: dict[tuple[Source, Span, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.source, finding.span, finding.message), []).append(finding)
    for group in groups.values():
        yield _one(group, times)


def _one(group: list[Finding], times: Mapping[Source, int]) -> Finding:
    first = group[0]
    fix = first.fix
    if fix is None:
        return first
    shared = max((change.source for change in fix.changes), key=lambda source: times.get(source, 1))
    places = times.get(shared, 1)
    if places == 1 or (len(group) == places and all(_same(other.fix, fix) for other in group)):
        return first
    why = f"{shared.path} is included in {places} places, which need different changes: change it by hand"
    return replace(first, fix=None, help=f"{fix.title}; {why}")


def _same(one: Fix | None, other: Fix) -> bool:
    return one is not None and one.changes == other.changes


def _order(config: Config) -> Callable[[Diagnostic], tuple[int, Span, str, str]]:
    numbers = {file.source: number for number, file in enumerate(config.files)}
    return lambda found: (numbers[found.finding.source], found.finding.span, found.rule, found.message)
