"""Runs the linter: returns the findings, or the fixed texts and the remaining findings. Writes nothing.

A `Judge` checks one configuration. It makes the `Model` that rules query, runs the rules (`nginxopt.lint.run`), and
removes findings step by step: refusals that depend on a guessed release, findings that comments suppress, and findings
that the settings exclude. A finding that remains may lose its fix: if a suppressed finding has the same fix, as the
user declined it; if other configurations read the file that it would change; or if that file is outside of the named
paths.

`check` and `check_and_fix` go over all configurations and merge their results. Fixes are applied in rounds, each to the
texts of the one before, until none is left (`nginxopt.lint.fix`).
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING

from nginxopt.budget import ExceededError, OutOfMemoryError, counting, limited
from nginxopt.config import Config, reread
from nginxopt.config.filesystem import is_dump
from nginxopt.config.roots import words_outside
from nginxopt.errors import InputError, RuleError, UsageError
from nginxopt.faults import collecting, isolated
from nginxopt.lint import withheld
from nginxopt.lint.baseline import unaccepted
from nginxopt.lint.catalogue import Catalogue, catalogue, reported
from nginxopt.lint.diagnostic import Diagnostic, Grade
from nginxopt.lint.fix import Fixed, FixError, fix
from nginxopt.lint.queries import whole
from nginxopt.lint.queries.model import Model
from nginxopt.lint.releases import turning_points
from nginxopt.lint.run import Linted, Selected, lint
from nginxopt.lint.suppress import FAULTY, UNUSED, Further, suppress
from nginxopt.lint.withheld import undeclined
from nginxopt.records import record
from nginxopt.semantics import Level, levels
from nginxopt.settings.file import Settings
from nginxopt.settings.vocabulary import WHOLE_CONFIGURATION, Premise, Severity
from nginxopt.text import Draft
from nginxopt.version import Version

if TYPE_CHECKING:
    from nginxopt.config.templates import Templates
    from nginxopt.lint.baseline import Baseline
    from nginxopt.lint.declare import Rule
    from nginxopt.system.host import Host


_TOO_LARGE = (ExceededError, OutOfMemoryError)


@record(eq=True)
class Judge:
    """Checks configurations.

    Attributes:
        rules: The rules to run.
        target: The target nginx version.
        settings: The settings, which exclude findings.
        assumed: The premises declared to hold; a fix that needs no others is safe.
        host: The machine to check as well; None for none.
        shared: The files that several configurations read. They are not fixed, as that would change the others.
        kept: The files that could not be written, with those of the same configurations. They are not fixed either.
        fragments: The fragments that are checked as well, to which no main file leads: one may be included elsewhere.
        is_complete: Whether all named files could be read.
        around: The main configuration that fragments are included in; None if that is unknown.
        catalogue: All rules, whether they are run or not.
        known: The baseline whose findings are reported, but not fixed; None for none.
        maybe: The releases that it may be for, if the target version is a guess. What only some of them refuse is no
        finding.
        before_rule: Called before each rule; what it raises ends the check.
    """

    rules: tuple[Selected, ...]
    target: Version
    settings: Settings
    host: Host | None = None
    assumed: frozenset[Premise] = frozenset()
    shared: frozenset[str] = frozenset()
    kept: frozenset[str] = frozenset()
    fragments: tuple[Config, ...] = ()
    is_complete: bool = True
    around: Config | None = None
    catalogue: Catalogue = field(default_factory=lambda: Catalogue(catalogue()))
    known: Baseline | None = None
    maybe: tuple[Version, ...] = ()
    before_rule: Callable[[], None] = lambda: None

    @counting("backtracking")
    def __call__(self, config: Config) -> Linted:
        """Return the findings in a configuration that comments and settings do not hide."""
        if config.templates is not None:
            return self._of_templates(config.templates)
        model = self._model(config, self.target)
        linted = self._certain(model, lint(model, self._in_turn()))
        active = {rule.id: severity or rule.severity for rule, severity in self.rules if self._judges(rule)}
        files = [file.block for file in config.files]
        declined = self._declined(model, linted)
        further = Further(declined, partial(self._further, config))
        unsuppressed = suppress(files, linted.diagnostics, active, self.catalogue.ids, further).diagnostics
        selected = reported(unsuppressed, self.catalogue.rules, self.settings)
        offered = (_given(diagnostic, self.assumed) for diagnostic in undeclined(linted.diagnostics, selected))
        free = (_unshared(diagnostic, config, self.kept, "could not be written") for diagnostic in offered)
        unshared = [
            _unshared(diagnostic, config, self.shared, "belongs to several configurations") for diagnostic in free
        ]
        words = words_outside(config.files)
        diagnostics = tuple(withheld.without_fix(diagnostic, words) for diagnostic in unshared)
        return replace(linted, diagnostics=diagnostics, declined=declined, left=withheld.left(unshared))

    def _of_templates(self, templates: Templates) -> Linted:
        from nginxopt.lint.templates import lint_templates

        # The value of a tag may be what a suppression is for, so no suppression can be called unused.
        judge = replace(self, is_complete=False)
        everything = frozenset(rule.id for rule, _ in self.rules)
        return replace(lint_templates(templates, judge._of_rules), declined=everything)

    def _of_rules(self, config: Config, ids: frozenset[str] | None) -> Linted:
        """Return the findings of some rules. Runs all rules if one is about suppressions, which may hide any."""
        if ids is None or ids & {UNUSED, FAULTY}:
            return self(config)
        rules = tuple(selected for selected in self.rules if selected.rule.id in ids)
        return replace(self, rules=rules)(config)

    def _model(self, config: Config, target: Version) -> Model:
        """Return the model that rules query; a fragment is in the main configuration around it, if one is named."""
        is_all = WHOLE_CONFIGURATION in self.assumed
        around = _http(self.around, target)
        is_guess = bool(self.maybe)
        return Model(config, target, self.host, is_all=is_all, around=around, is_guess=is_guess, beside=self.fragments)

    def _certain(self, model: Model, linted: Linted) -> Linted:
        """Move refusals that depend on the guessed release to `guessed`; keep what every release in `maybe` refuses."""
        rules = [selected for selected in self.rules if selected.rule.by_release and _is_of_start(selected.rule)]
        ids = {rule.id for rule, _ in rules}
        asked = [each for each in linted.diagnostics if each.rule in ids] if self.maybe else []
        if not asked:
            return linted
        spoke = {diagnostic.rule for diagnostic in asked}
        rules = [selected for selected in rules if selected.rule.id in spoke]
        sure = {_key(diagnostic)[:3] for diagnostic in asked}
        for version in (version for version in self.maybe if version != model.target):
            sure &= {_key(diagnostic)[:3] for diagnostic in lint(self._model(model.config, version), rules).diagnostics}
        guessed = tuple(diagnostic for diagnostic in asked if _key(diagnostic)[:3] not in sure)
        left = tuple(diagnostic for diagnostic in linted.diagnostics if diagnostic not in guessed)
        return replace(linted, diagnostics=left, guessed=guessed)

    def _in_turn(self) -> Iterator[Selected]:
        for selected in self.rules:
            self.before_rule()
            yield selected

    def _judges(self, rule: Rule) -> bool:
        return rule.speaks_of(self.target) and (self.host is not None or not rule.host)

    def _declined(self, model: Model, linted: Linted) -> frozenset[str]:
        """Return the rules that could not judge everything: all if a part was not read, else those that declined."""
        if linted.errors or not self.is_complete or not _is_whole(model):
            return frozenset(rule.id for rule, _ in self.rules)
        return linted.declined

    def _further(self, config: Config, ids: Collection[str]) -> tuple[list[tuple[Diagnostic, ...]], frozenset[str]]:
        """Return the findings of rules for each nginx version in the settings, or for all versions if there is none.

        Also return the rules that declined for one of these versions, though they apply to it.
        """
        rules = [selected for selected in self.rules if selected.rule.id in ids]
        versions = self.settings.target_version or turning_points(rule for rule, _ in rules)
        found: list[tuple[Diagnostic, ...]] = []
        declined: set[str] = set()
        for version in versions:
            result = lint(self._model(config, version), rules)
            found.append(result.diagnostics)
            declined |= {rule.id for rule, _ in rules if rule.id in result.declined and rule.speaks_of(version)}
            declined |= {rule.id for rule, _ in rules} if result.errors else set()
        return found, frozenset(declined)


@record(eq=True)
class Checked:
    """The findings in all configurations, each once.

    Attributes:
        configs: The configurations, with the changes of `drafts`.
        drafts: The files that fixes change, by path.
        fixed: The number of findings with fixes applied, each once for all its places.
        unknown: The rules that asked for settings which may be around a fragment, with the names of these settings.
        unsettled: For each configuration with templates, the rules with findings that depend on their tags.
        declined: The rules that could not judge all of some configuration.
        refusals: What nginx refuses, so that rules could not ask what becomes of requests.
        is_all: Whether includes were assumed to read the same files where the configuration is installed (the premise
        `whole-configuration`).
        left: The files outside of the named paths that fixes would change, with the grades of these fixes.
        guessed: The findings that depend on the release, which is a guess.
        cut: The rules that did not look at everything in some configuration, each with the budget that it exceeded.
    """

    configs: tuple[Config, ...]
    diagnostics: tuple[Diagnostic, ...]
    errors: tuple[InputError, ...]
    drafts: Mapping[str, Draft] = field(default_factory=dict)
    fixed: int = 0
    unknown: Mapping[str, frozenset[str]] = field(default_factory=dict)
    unsettled: Mapping[Config, frozenset[str]] = field(default_factory=dict)
    declined: frozenset[str] = frozenset()
    refusals: tuple[InputError, ...] = ()
    is_all: bool = False
    left: frozenset[tuple[str, Grade]] = frozenset()
    guessed: tuple[Diagnostic, ...] = ()
    cut: tuple[tuple[str, ExceededError], ...] = ()

    @property
    def files(self) -> tuple[str, ...]:
        """The paths of all files read, each once."""
        return tuple(dict.fromkeys(file.path for config in self.configs for file in config.files))

    @property
    def on_host(self) -> frozenset[str]:
        """The paths of files that are on another machine, see `on_host`."""
        return frozenset().union(*map(on_host, self.configs))


def _is_of_start(rule: Rule) -> bool:
    """Return whether a rule reports what keeps nginx from starting."""
    return rule.category == "refused" or rule.severity > Severity.INFO


def _is_whole(model: Model) -> bool:
    return model.is_whole and all(whole.is_known(model, protocol) for protocol in ("http", "stream"))


def _http(main: Config | None, target: Version) -> Level | None:
    """Return the http block of a main configuration. Its wildcards are assumed to read the fragment that is checked."""
    if main is None:
        return None
    return next((level for level in levels(main, target, is_all=True).levels if level.kind == "http"), None)


def on_host(config: Config) -> frozenset[str]:
    """Return the paths of the files of a dump: they are those on its host. None of another configuration are."""
    return frozenset(file.path for file in config.files) if is_dump(config.origin) else frozenset()


def check(configs: Sequence[Config], judge: Judge) -> Checked:
    """Check the configurations in sequence.

    Several processes are not worth it: 1.3 of 2.6 s for 1,000 files go to checking, so two would save a third at most.
    """
    judge = replace(judge, shared=_shared(configs), fragments=_fragments(configs))
    linted: list[Linted] = []
    for config in configs:
        with _kept(config, linted):
            linted.append(limited(partial(judge, config), path=config.main.path))
    return _together(configs, linted, judge)


@contextlib.contextmanager
def _kept(config: Config, linted: list[Linted]) -> Iterator[None]:
    """Append the errors of a configuration if a bug, or a limit of time or memory, stops its check."""
    before = len(linted)
    with collecting() as faults, isolated("the configuration", path=config.main.path):
        try:
            yield
        except _TOO_LARGE as error:
            linted.append(Linted((), (error,)))
    if len(linted) == before:
        linted.append(Linted(()))
    if faults:
        linted[-1] = replace(linted[-1], errors=(*linted[-1].errors, *faults))


def _together(configs: Sequence[Config], linted: Sequence[Linted], judge: Judge) -> Checked:
    """Return the findings in all configurations."""
    diagnostics: dict[tuple[object, ...], Diagnostic] = {}
    firsts: dict[tuple[object, ...], Linted] = {}
    for tree, result in zip(_trees(configs), linted, strict=True):
        for diagnostic in result.diagnostics:
            if firsts.setdefault(_place(diagnostic), result) is result:  # of a line that several include: the first
                diagnostics.setdefault(_key(diagnostic), replace(diagnostic, tree=tree))
    for other in _not_everywhere(configs, linted, judge):
        diagnostics.pop(other, None)
    errors = {error.render(): error for result in linted for error in result.errors}
    unknown: dict[str, frozenset[str]] = {}
    for result in linted:
        for rule, names in result.unknown.items():
            unknown[rule] = unknown.get(rule, frozenset()) | names
    pairs = zip(configs, linted, strict=True)
    unsettled = {config: result.unsettled for config, result in pairs if config.templates is not None}
    return Checked(
        tuple(configs),
        tuple(diagnostics.values()),
        tuple(errors.values()),
        unknown=unknown,
        unsettled=unsettled,
        declined=frozenset().union(*(result.declined for result in linted)),
        left=frozenset().union(*(result.left for result in linted)),
        refusals=tuple({each.refusal.render(): each.refusal for each in linted if each.refusal is not None}.values()),
        is_all=WHOLE_CONFIGURATION in judge.assumed,
        guessed=tuple({_key(each): each for result in linted for each in result.guessed}.values()),
        cut=tuple(each for result in linted for each in result.cut.items()),
    )


def check_and_fix(configs: Sequence[Config], judge: Judge, *, unsafe: bool) -> Checked:
    """Apply the fixes that are safe under the assumed premises in every configuration, with `unsafe` all of them.

    Those of findings in the baseline of the judge are not applied.

    Raises `UsageError` for the output of `nginx -T`, which has no files to change, and the errors of `fix`.
    """
    judge = replace(judge, shared=_shared(configs), fragments=_fragments(configs))
    drafts: dict[str, Draft] = {}
    causes: set[tuple[str, str, str]] = set()
    changed: list[Config] = []
    linted: list[Linted] = []
    with collecting() as faults:
        for tree, config in zip(_trees(configs), configs, strict=True):
            if is_dump(config.origin):
                raise UsageError("the output of nginx -T cannot be fixed: pass the files")
            fixed: Fixed | None = None
            with isolated("the fixes", path=config.main.path), contextlib.suppress(*_TOO_LARGE):
                fixed = limited(partial(fixes, config, judge, unsafe=unsafe), path=config.main.path)
            if fixed is not None:
                drafts |= fixed.drafts  # no fix changes a shared file, so no draft replaces another
                causes.update((tree, rule, cause) for rule, cause in fixed.causes)
            changed.append(config if fixed is None else fixed.config)
            with _kept(config, linted):
                judged = limited(partial(judge, config), path=config.main.path) if fixed is None else fixed.remaining
                linted.append(judged)
    checked = _together(changed, linted, judge)
    return replace(checked, errors=(*checked.errors, *faults), drafts=drafts, fixed=len(causes))


def fixes(config: Config, judge: Judge, *, unsafe: bool) -> Fixed:
    """Return what the fixes of a configuration make of it, safe ones or all. Raises the errors of `fix`."""
    with _blaming(judge):
        wanted = unaccepted(judge.known, on_host(config))
        return fix(lambda texts: reread(config, texts), judge, unsafe=unsafe, wanted=wanted)


@contextlib.contextmanager
def _blaming(judge: Judge) -> Iterator[None]:
    """Raise `RuleError` if fixes of rules from outside of nginxopt cannot be applied, as that is a bug in the rule."""
    try:
        yield
    except FixError as error:
        origins = {rule.origin for rule, _ in judge.rules if rule.id in error.rules and rule.origin}
        if not origins:
            raise
        raise RuleError(f"{error.message}; nothing was written", path=", ".join(sorted(origins))) from error


def _shared(configs: Iterable[Config]) -> frozenset[str]:
    """Return the identities of the files that more than one configuration reads."""
    times = Counter(identity for config in configs for identity in {_identity(config, f.path) for f in config.files})
    return frozenset(identity for identity, count in times.items() if count > 1)


def _fragments(configs: Iterable[Config]) -> tuple[Config, ...]:
    return tuple(config for config in configs if config.http is None)


def _trees(configs: Iterable[Config]) -> list[str]:
    """Return the tree of each configuration, named by its main file; all fragments are one tree, which has no name.

    Copies of a configuration are one tree, so that their findings have one cause. `nginx -T` adds line ends to a copy.
    """
    firsts: dict[tuple[bytes, ...], str] = {}
    texts = (tuple(file.source.data.rstrip() for file in config.files) for config in configs)
    return [
        "" if config.http is None else firsts.setdefault(text, config.main.path)
        for config, text in zip(configs, texts, strict=True)
    ]


def _not_everywhere(configs: Sequence[Config], linted: Sequence[Linted], judge: Judge) -> Iterator[tuple[object, ...]]:
    """Yield the keys of findings that say that something is unused, while another configuration uses it.

    `nginx.prod.conf` and `nginx.dev.conf` may read the same files, each with other servers of its own.
    """
    found = [diagnostic for result in linted for diagnostic in result.diagnostics if _is_unused(diagnostic, judge)]
    if not found:
        return
    read = Counter(path for config in configs for path in {file.path for file in config.files})
    times = Counter(map(_place, found))
    yield from {_key(diagnostic) for diagnostic in found if times[_place(diagnostic)] < read[diagnostic.path]}


def _is_unused(diagnostic: Diagnostic, judge: Judge) -> bool:
    return diagnostic.rule in _UNUSED or judge.catalogue.rules[diagnostic.rule].everywhere


_UNUSED = (UNUSED, "server-name-conflict", "server-never-chosen")
"""What is unused in a configuration, though a file may be read twice in it, which makes a server one of two."""


def _place(diagnostic: Diagnostic) -> tuple[object, ...]:
    return diagnostic.path, diagnostic.finding.span, diagnostic.rule


def identities(configs: Iterable[Config]) -> frozenset[str]:
    """Return what identifies the files of configurations, for `Judge.kept`."""
    return frozenset(_identity(config, file.path) for config in configs for file in config.files)


def _identity(config: Config, path: str) -> str:
    return config.origin.identity(path)


def _unshared(diagnostic: Diagnostic, config: Config, files: Collection[str], reason: str) -> Diagnostic:
    """Return a diagnostic; if its fix changes one of the files, replace the fix by the reason."""
    if not files or diagnostic.fix is None:
        return diagnostic
    paths = {change.source.path for change in diagnostic.fix.changes if _identity(config, change.source.path) in files}
    if not paths:
        return diagnostic
    why = f"{', '.join(sorted(paths))} {reason}"
    return diagnostic.without_fix(f"{diagnostic.fix.title} (not by --fix: {why})")


def _given(diagnostic: Diagnostic, assumed: frozenset[Premise]) -> Diagnostic:
    """Return a diagnostic whose fix no longer needs the premises in `assumed`."""
    if diagnostic.fix is None or not assumed:
        return diagnostic
    fix = replace(diagnostic.fix, safety=diagnostic.fix.safety.given(assumed))
    return replace(diagnostic, finding=replace(diagnostic.finding, fix=fix))


def _key(diagnostic: Diagnostic) -> tuple[object, ...]:
    return diagnostic.path, diagnostic.finding.span, diagnostic.rule, diagnostic.message
