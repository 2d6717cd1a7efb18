"""Selects the rules to run: those that the settings and the command line name by id, by category or as `all`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import IntEnum
from functools import cache, partial

from nginxopt.errors import UsageError
from nginxopt.lint.declare import Rule
from nginxopt.lint.diagnostic import Diagnostic
from nginxopt.lint.queries import load
from nginxopt.lint.run import Selected
from nginxopt.settings.file import ALL, Settings
from nginxopt.settings.selecting import CATEGORIES
from nginxopt.text import suggestion


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
    a category and a category over `all`; if both are equally specific, `ignore` wins. Rules that are not named ask for
    load if they are declared so (`Rule.under_load`).

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
    """Return a rule that nobody named: one with `under_load` asks whether the configuration shows load."""
    return replace(rule, check=partial(load.judged, rule.check)) if rule.under_load else rule


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
