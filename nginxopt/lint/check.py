"""One run of the linter: configurations to findings, or to new texts and what is still found; nothing is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from nginxopt.config import Config, reread
from nginxopt.config.dump import Dump
from nginxopt.config.includes import has_folder, is_pattern
from nginxopt.errors import InputError, UsageError
from nginxopt.lint.catalogue import catalogue
from nginxopt.lint.diagnostic import Diagnostic
from nginxopt.lint.fix import fix
from nginxopt.lint.model import Model
from nginxopt.lint.premises import Premise
from nginxopt.lint.run import Linted, Selected, lint
from nginxopt.lint.selection import reported
from nginxopt.lint.settings import Settings
from nginxopt.lint.suppress import UNUSED, suppress
from nginxopt.lint.target import turning_points
from nginxopt.text import Draft
from nginxopt.version import Version

if TYPE_CHECKING:
    from nginxopt.lint.declare import Rule
    from nginxopt.system.host import Host


@dataclass(frozen=True, slots=True)
class Judge:
    """What every configuration is judged by.

    Attributes:
        rules: The rules that are asked.
        target: The nginx that is judged for.
        settings: What is not to be told.
        assumed: The premises of fixes that are declared to hold: what needs no others is a safe fix.
        host: The machine that is judged as well, None for none.
        shared: The files that several configurations read: a fix of one would change the others, so it is not made.
        is_complete: Whether all that was named could be read.
    """

    rules: tuple[Selected, ...]
    target: Version
    settings: Settings
    host: Host | None = None
    assumed: frozenset[Premise] = frozenset()
    shared: frozenset[str] = frozenset()
    is_complete: bool = True

    def __call__(self, config: Config) -> Linted:
        """Return what the rules find in a configuration, without what comments and settings leave out."""
        linted = lint(config, self.rules, self.target, self.host)
        active = {rule.id: severity or rule.severity for rule, severity in self.rules if self._judges(rule)}
        files = [file.block for file in config.files]
        further = partial(self._further, config, linted)
        unsuppressed = suppress(files, linted.diagnostics, active, catalogue(), further).diagnostics
        selected = reported(unsuppressed, catalogue(), self.settings)
        undeclined = _undeclined(linted.diagnostics, selected)
        offered = (_given(diagnostic, self.assumed) for diagnostic in undeclined)
        return replace(linted, diagnostics=tuple(_unshared(diagnostic, config, self.shared) for diagnostic in offered))

    def _judges(self, rule: Rule) -> bool:
        return rule.speaks_of(self.target) and (self.host is not None or not rule.host)

    def _further(self, config: Config, linted: Linted, ids: Collection[str]) -> list[tuple[Diagnostic, ...]] | None:
        """Return what rules find for each nginx that the settings name, or for all if they name none.

        None if not all is known that they would find: of a fragment, and if something was not read that belongs to the
        configuration.
        """
        rules = [selected for selected in self.rules if selected.rule.id in ids]
        if linted.errors or not self.is_complete or not _is_whole(config, self.target):
            return None
        versions = self.settings.target_version or turning_points(rule for rule, _ in rules)
        results = [lint(config, rules, version, self.host) for version in versions]
        return None if any(result.errors for result in results) else [result.diagnostics for result in results]


def _is_whole(config: Config, target: Version) -> bool:
    """Return whether all of a configuration was read, with the folders of its includes."""
    if isinstance(config.origin, Dump):
        return Model(config, target).is_whole
    return Model(config, target).is_whole and all(
        has_folder(config.prefix, str(include.args[0])) for include in config.includes if is_pattern(include.args[0])
    )


@dataclass(frozen=True, slots=True)
class Checked:
    """What is found in all configurations, each finding once.

    Attributes:
        configs: The configurations, as they are after `drafts`.
        drafts: The files that fixes change, by their paths.
        made: How many fixes of each rule were made.
    """

    configs: tuple[Config, ...]
    diagnostics: tuple[Diagnostic, ...]
    errors: tuple[InputError, ...]
    drafts: Mapping[str, Draft] = field(default_factory=dict)
    made: Counter[str] = field(default_factory=Counter)

    @property
    def files(self) -> tuple[str, ...]:
        """The paths of all files that were read, each once."""
        return tuple(dict.fromkeys(file.path for config in self.configs for file in config.files))


def check(configs: Sequence[Config], judge: Judge) -> Checked:
    """Judge every configuration, one after the other.

    Several processes would not pay: of 2.6 s for 1,000 files 1.3 s go to judging, so two of them win a third at most.
    """
    judge = replace(judge, shared=_shared(configs))
    linted = [judge(config) for config in configs]
    diagnostics = {_key(diagnostic): diagnostic for result in linted for diagnostic in result.diagnostics}
    for unused in _used_elsewhere(configs, linted):
        del diagnostics[unused]
    errors = {error.render(): error for result in linted for error in result.errors}
    return Checked(tuple(configs), tuple(diagnostics.values()), tuple(errors.values()))


def check_and_fix(configs: Sequence[Config], judge: Judge, *, unsafe: bool) -> Checked:
    """Make the fixes that are safe given what is assumed in every configuration, and with `unsafe` the others too.

    `UsageError` for the output of `nginx -T`, which has no files to change.
    """
    judge = replace(judge, shared=_shared(configs))
    drafts: dict[str, Draft] = {}
    fix_counts: Counter[str] = Counter()
    for config in configs:
        if isinstance(config.origin, Dump):
            raise UsageError("the output of nginx -T cannot be fixed: pass the files")
        fixed = fix(lambda texts, config=config: reread(config, texts), judge, unsafe=unsafe)  # type: ignore[misc]
        drafts |= fixed.drafts  # a shared file is changed by no fix, so that no draft takes the place of another
        fix_counts += fixed.made
    texts = {path: draft.text for path, draft in drafts.items()}
    checked = check([reread(config, texts) for config in configs], judge)
    return replace(checked, drafts=drafts, made=fix_counts)


def _shared(configs: Iterable[Config]) -> frozenset[str]:
    """Return the files that are read by more than one configuration, by what all their names have in common."""
    times = Counter(identity for config in configs for identity in {_identity(config, f.path) for f in config.files})
    return frozenset(identity for identity, count in times.items() if count > 1)


def _used_elsewhere(configs: Sequence[Config], linted: Sequence[Linted]) -> set[tuple[object, ...]]:
    """Return the findings that a comment hides nothing in one configuration, where it does in another."""
    read = Counter(path for config in configs for path in {file.path for file in config.files})
    unused = [diagnostic for result in linted for diagnostic in result.diagnostics if diagnostic.rule == UNUSED]
    times = Counter(_key(diagnostic) for diagnostic in unused)
    return {_key(diagnostic) for diagnostic in unused if times[_key(diagnostic)] < read[diagnostic.path]}


def _identity(config: Config, path: str) -> str:
    return config.origin.identity(path)


def _unshared(diagnostic: Diagnostic, config: Config, shared: Collection[str]) -> Diagnostic:
    """Return a diagnostic without its fix if that changes a shared file, and with the reason in its place."""
    if not shared or diagnostic.fix is None:
        return diagnostic
    paths = {change.source.path for change in diagnostic.fix.changes if _identity(config, change.source.path) in shared}
    if not paths:
        return diagnostic
    why = f"{', '.join(sorted(paths))} belongs to several configurations: change it by hand"
    return replace(diagnostic, finding=replace(diagnostic.finding, fix=None, help=f"{diagnostic.fix.title}; {why}"))


def _undeclined(before: Iterable[Diagnostic], reported: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return the reported diagnostics, without fixes that a hidden finding shares: part of them was declined."""
    remaining = tuple(reported)
    kept = set(map(id, remaining))
    declined = {
        diagnostic.fix.changes: diagnostic for diagnostic in before if diagnostic.fix and id(diagnostic) not in kept
    }
    return tuple(
        _without(diagnostic, declined.get(diagnostic.fix.changes)) if diagnostic.fix else diagnostic
        for diagnostic in remaining
    )


def _without(diagnostic: Diagnostic, declined: Diagnostic | None) -> Diagnostic:
    if declined is None or diagnostic.fix is None:
        return diagnostic
    place = f"{declined.path}:{declined.start.line}"
    why = f"{diagnostic.fix.title} by hand: {declined.rule}, part of the same fix, is suppressed at {place}"
    return replace(diagnostic, finding=replace(diagnostic.finding, fix=None, help=why))


def _given(diagnostic: Diagnostic, assumed: frozenset[Premise]) -> Diagnostic:
    """Return a diagnostic whose fix is as safe as it is where `assumed` holds."""
    if diagnostic.fix is None or not assumed:
        return diagnostic
    fix = replace(diagnostic.fix, safety=diagnostic.fix.safety.given(assumed))
    return replace(diagnostic, finding=replace(diagnostic.finding, fix=fix))


def _key(diagnostic: Diagnostic) -> tuple[object, ...]:
    return diagnostic.path, diagnostic.finding.span, diagnostic.rule, diagnostic.message
