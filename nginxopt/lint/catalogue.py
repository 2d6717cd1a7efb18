"""All rules, and which of them run.

Every module of `nginxopt.rules` is a rule; `nginxopt.lint.own` adds those of the folders in the settings, and of
installed packages. The settings and the command line select rules by id, by category, or as `all`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from enum import IntEnum
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nginxopt import rules
from nginxopt.errors import InputError, RuleError, UsageError
from nginxopt.lint.declare import Rule, loaded, names
from nginxopt.lint.diagnostic import Diagnostic
from nginxopt.lint.index import RULES
from nginxopt.lint.queries.load import judged
from nginxopt.lint.run import Selected
from nginxopt.records import record
from nginxopt.settings import file as settings_
from nginxopt.settings.file import ALL, Settings
from nginxopt.settings.vocabulary import CATEGORIES
from nginxopt.system import trust, trusted
from nginxopt.text import suggestion
from nginxopt.text.display import be, count

if TYPE_CHECKING:
    from nginxopt.text import Source


@record(eq=True)
class Catalogue:
    """All rules by id.

    Attributes:
        rules: Every rule that is loaded.
        errors: Rules from outside of nginxopt that cannot be loaded, with the reasons.
        left: The files of rules that settings name and nobody asked to run, relative to the working directory.
    """

    rules: Mapping[str, Rule]
    errors: Mapping[str, RuleError] = field(default_factory=dict)
    left: Mapping[str, str] = field(default_factory=dict)

    @property
    def ids(self) -> Collection[str]:
        """The ids of all rules, also of those that are not loaded."""
        return {*self.rules, *self.not_loaded}

    @property
    def not_loaded(self) -> Collection[str]:
        """The ids of rules that cannot be loaded, or that nobody asked to run."""
        return {*self.errors, *self.left}

    @property
    def note(self) -> str | None:
        """A note about rules that nobody asked to run; None if there are none."""
        if not self.left:
            return None
        folders = ", ".join(sorted({str(Path(path).parent) for path in self.left.values()}))
        rules = f"{count(len(self.left), 'rule')} in {folders} {be(len(self.left))} not run"
        return f"{rules}, as rules are programs: --rules or `nginxopt rules trust` runs what the settings name"


@cache
def catalogue() -> dict[str, Rule]:
    """Return every rule of nginxopt by id, in alphabetical order. Raise `TypeError` for a module without a rule.

    Rules in the index are imported when they are first used: a run needs a third of them.
    """
    found = (RULES.get(name) or loaded(name) for name in names(rules))
    return {rule.id: rule for rule in found}


GROUP = "nginxopt.rules"
"""The group of the entry points of installed packages."""


Loaded = dict[tuple[str, ...], Catalogue]
"""The rules that were loaded before, by the folders that settings name."""


@record(eq=True)
class AskedRules:
    """Which rules from outside of nginxopt the user asked for.

    Attributes:
        run: Whether to run the rules of folders that settings name. They run as well if the directory of the settings
            is trusted (`nginxopt rules trust`).
        named: Whether the user named the settings file, so that it may be another user's.
        where: Returns where to read a folder of rules that settings name: in the work tree, or in a revision of it.
    """

    run: bool
    named: bool
    where: Callable[[str], str] = str


def load(
    *, config: str | None, isolated: bool, run: bool, folder: Path | None = None, loaded: Loaded | None = None
) -> tuple[Settings, Catalogue]:
    """Return the settings, as `nginxopt.settings.file.load` does, and all rules; those in `loaded` are not read again.

    `run` is that of `AskedRules`. Raises the errors of settings, and `InputError` for a folder of rules that cannot be
    read, or that another user may have put there.
    """
    source = settings_.find(config=config, isolated=isolated, folder=folder)
    return load_from(source, AskedRules(run, config is not None), {} if loaded is None else loaded)


def load_from(source: Source | None, asked: AskedRules, loaded: Loaded | None = None) -> tuple[Settings, Catalogue]:
    """Return the settings in a text, and all rules, as `load` does."""
    catalogue = _catalogue(source, asked, {} if loaded is None else loaded)
    return Settings() if source is None else settings_.read(source, catalogue.ids), catalogue


def load_rules(*, config: str | None, isolated: bool, run: bool) -> Catalogue:
    """Return all rules, as `load` does; of the settings only the folders of rules are read."""
    return _catalogue(settings_.find(config=config, isolated=isolated), AskedRules(run, config is not None), {})


def _catalogue(source: Source | None, asked: AskedRules, loaded: Loaded) -> Catalogue:
    folders = () if source is None else tuple(map(asked.where, settings_.rule_folders(source)))
    if source is not None and folders and not asked.run and not trusted.is_trusted(Path(source.path).parent):
        from nginxopt.lint.own import files

        return replace(with_own((), entry_points(GROUP)), left=files(folders))
    if not asked.named:
        for folder in folders:
            _refuse_others(folder)
    if folders not in loaded:
        loaded[folders] = with_own(folders, entry_points(GROUP))
    return loaded[folders]


def with_own(folders: Sequence[str], points: Sequence[EntryPoint] = ()) -> Catalogue:
    """Return the rules of nginxopt, of folders, and of the modules and packages that entry points name.

    Raises `InputError` for a folder that cannot be read, and for an id that two rules have.
    """
    if not folders and not points:  # as in most runs
        return Catalogue(catalogue())
    from nginxopt.lint import own

    rules, errors = own.load(catalogue(), folders, points)
    return Catalogue(dict(sorted(rules.items())), errors)


def _refuse_others(folder: str) -> None:
    """Raise `InputError` if another user may have put anything into a folder of rules, which are programs."""
    if not os.path.isdir(folder):  # loading it says so
        return
    reason = trust.foreign_below(folder)
    if reason is not None:
        hint = "settings that --config names run their rules, whoever wrote them; --isolated ignores all settings"
        raise InputError(f"these rules, which are programs, may be another user's: {reason}", path=folder, hint=hint)


class _Named(IntEnum):
    """How specifically a rule is named."""

    NOT = 0
    WITH_ALL = 1
    BY_CATEGORY = 2
    BY_ID = 3


def selection(
    rules: Iterable[Rule],
    settings: Settings,
    *,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    known: Iterable[str] = (),
    with_host: bool = False,
) -> tuple[Selected, ...]:
    """Return the rules to run, in order, with the severities of the settings.

    If nothing is selected, these are the default rules. A category selects its default rules but ignores all of its
    rules; ids and `all` include rules that are not default. The more specific of `select` and `ignore` wins, an id over
    a category and a category over `all`; if both are equally specific, `ignore` wins. A rule with `Rule.under_load`
    that is not named reports only on configurations that show load.

    `select` and `ignore` come from the command line: `select` replaces `select` and `ignore` of the settings, `ignore`
    removes rules from the result. `with_host` is whether the machine is checked, where some more rules are default.
    Raises `UsageError` for an unknown name; `known` are ids without a rule.
    """
    rules = tuple(replace(rule, default=True) if rule.on_host and with_host else rule for rule in rules)
    _refuse_unknown([*select, *ignore], {*known, *(rule.id for rule in rules)})
    if select:
        chosen = _chosen(rules, select, ignore)
    else:
        by_settings = _chosen(rules, settings.select, settings.ignore, settings.extend_select)
        chosen = (rule for rule in by_settings if not is_ignored(rule, ignore))
    named = frozenset(select or (*(settings.select or ()), *settings.extend_select))
    return tuple(
        Selected(rule if _named(rule, named) else _by_default(rule), settings.severity.get(rule.id)) for rule in chosen
    )


@cache
def _by_default(rule: Rule) -> Rule:
    """Return a rule as it runs by default: one with `under_load` then judges only configurations that show load."""
    return replace(rule, check=partial(judged, rule.check)) if rule.under_load else rule


def reported(
    diagnostics: Iterable[Diagnostic], rules: Mapping[str, Rule], settings: Settings
) -> tuple[Diagnostic, ...]:
    """Return the diagnostics that `exclude` and `per-file-ignores` do not hide; `rules` has their rules by id."""
    silent = cache(lambda path: frozenset([ALL]) if settings.excludes(path) else settings.ignored_in(path))
    return tuple(
        diagnostic for diagnostic in diagnostics if not is_ignored(rules[diagnostic.rule], silent(diagnostic.path))
    )


def is_ignored(rule: Rule, names: Iterable[str]) -> bool:
    """Return whether `names` contain the rule, its category or `all`."""
    return _named(rule, frozenset(names)) > _Named.NOT


def _chosen(
    rules: Iterable[Rule], select: Iterable[str] | None, ignore: Iterable[str], extend: Iterable[str] = ()
) -> Iterator[Rule]:
    """Yield the rules that are selected more specifically than ignored; `select` is None for the default rules."""
    selected, ignored = frozenset([*(select or ()), *extend]), frozenset(ignore)
    for rule in rules:
        default = _Named.WITH_ALL if select is None and rule.default else _Named.NOT
        if max(default, _selected(rule, selected)) > _named(rule, ignored):
            yield rule


def _selected(rule: Rule, names: frozenset[str]) -> _Named:
    named = _named(rule, names)
    if named is _Named.BY_CATEGORY and not rule.default:
        return _Named.WITH_ALL if ALL in names else _Named.NOT
    return named


def _named(rule: Rule, names: frozenset[str]) -> _Named:
    if rule.id in names:
        return _Named.BY_ID
    if rule.category in names:
        return _Named.BY_CATEGORY
    return _Named.WITH_ALL if ALL in names else _Named.NOT


def _refuse_unknown(names: Iterable[str], ids: Iterable[str]) -> None:
    known = {*ids, *CATEGORIES, ALL}
    for name in names:
        if name not in known:
            raise UsageError(f'unknown rule or category "{name}"', hint=suggestion(name, known))


_METADATA = (".dist-info", ".egg-info")


class EntryPoint(NamedTuple):
    """An entry point: its name, its module, and the package with its version, such as `acme 1.0`."""

    name: str
    module: str
    package: str


def entry_points(group: str) -> list[EntryPoint]:
    """Return the entry points of a group, sorted, each module once.

    Importing `importlib.metadata` takes longer than linting a small site. So the metadata files are first searched for
    the name of the group, which takes 1 ms for 100 packages.
    """
    if not any(_may_have(entry or os.curdir, group.encode()) for entry in sys.path):
        return []
    from importlib.metadata import entry_points as installed

    found = {
        EntryPoint(point.name, point.value, f"{point.dist.name} {point.dist.version}" if point.dist else "?")
        for point in installed(group=group)
    }
    return sorted(found)


def _may_have(entry: str, group: bytes) -> bool:
    """Return whether an entry of `sys.path` is an archive, or has a package whose metadata contains `group`."""
    try:
        names = os.listdir(entry)  # noqa: PTH208 - several times as fast as paths
    except NotADirectoryError:
        return True
    except OSError:
        return False
    return any(group in _bytes(f"{entry}/{name}/entry_points.txt") for name in names if name.endswith(_METADATA))


def _bytes(path: str) -> bytes:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - as above
            return file.read()
    except OSError:
        return b""
