"""Settings: what a file `nginxopt.toml`, or the table `[tool.nginxopt]` of a pyproject.toml, says.

docs/settings.md is the reference; the fields of `Settings` are its keys.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from nginxopt.config import Context
from nginxopt.config import context as contexts
from nginxopt.errors import InputError, UsageError
from nginxopt.lint import patterns, premises
from nginxopt.lint.declare import CATEGORIES
from nginxopt.lint.diagnostic import Severity
from nginxopt.lint.premises import Premise
from nginxopt.text import Source, suggestion
from nginxopt.version import Version

if TYPE_CHECKING:
    from nginxopt.lint.toml import Value

    _Reader = Callable[[Value, Collection[str], Path], Any]

FILE = "nginxopt.toml"
PYPROJECT = "pyproject.toml"

ALL = "all"
"""What stands for every rule among ids and categories."""


@dataclass(frozen=True)
class Settings:
    """What is to be checked, by which rules, and how much a finding matters.

    The key of a field is its name with dashes. Paths are already joined with the folder of the file; patterns
    are relative to it and read as in `nginxopt.lint.patterns`. Names are ids of rules, categories, or `all`.

    Attributes:
        select: The names that are selected; None for the default rules.
        extend_select: Names that are selected as well.
        ignore: Names that are not selected.
        severity: What a finding of a rule is, by the rule's id.
        assume: The premises of fixes that hold.
        per_file_ignores: The names whose findings are not told, by the pattern of a path.
        target_version: Every nginx that the configuration is for, the oldest first; none if it is not stated.
        paths: What is checked if nothing is named.
        exclude: Patterns of paths that are not checked.
        prefix: What relative includes start from; None for the folder of the main file.
        fail_on: The least severity of a finding with which the exit status is 1.
        context: Where a fragment stands, by the pattern of a path; the first that fits counts.
        baseline: The findings that are not told; None for no such file.
        origin: The file that says so; None if there is none.
    """

    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    severity: Mapping[str, Severity] = field(default_factory=lambda: MappingProxyType({}))
    assume: frozenset[Premise] = frozenset()
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    target_version: tuple[Version, ...] = ()
    paths: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    prefix: str | None = None
    fail_on: Severity = Severity.WARNING
    context: Mapping[str, Context] = field(default_factory=lambda: MappingProxyType({}))
    baseline: str | None = None
    origin: Path | None = None

    @property
    def folder(self) -> Path:
        """What patterns are relative to: the folder of the file, or the working directory."""
        return self.origin.parent if self.origin is not None else Path()

    def excludes(self, path: str | os.PathLike[str]) -> bool:
        """Return whether a file is not to be checked."""
        return patterns.matches(path, self.exclude, self.folder)

    def ignored_in(self, path: str | os.PathLike[str]) -> frozenset[str]:
        """Return the names whose findings are not told for a file."""
        return frozenset(
            name
            for pattern, names in self.per_file_ignores.items()
            if patterns.matches(path, [pattern], self.folder)
            for name in names
        )

    def context_of(self, path: str | os.PathLike[str]) -> Context | None:
        """Return where a fragment is said to stand, None if nothing is said."""
        fitting = (at for pattern, at in self.context.items() if patterns.matches(path, [pattern], self.folder))
        return next(fitting, None)


def load(
    rules: Collection[str],
    *,
    config: str | os.PathLike[str] | None = None,
    isolated: bool = False,
) -> Settings:
    """Return the settings in `config`, or in the nearest file from the working directory upwards; `isolated`: none.

    `rules` are the ids that there are. `InputError` for a file that cannot be read or says what is not understood,
    `UsageError` for both `config` and `isolated`.
    """
    if config is not None and isolated:
        raise UsageError("--config and --isolated cannot be used together")
    if isolated:
        return Settings()
    source = _nearest(Path.cwd()) if config is None else _open(Path(config))
    return Settings() if source is None else read(source, rules)


def _nearest(start: Path) -> Source | None:
    """Return the first file with settings in `start` or above it, up to the folder that holds `.git`.

    Its path is relative to the working directory, as are those that a user gives.
    """
    for folder in (start, *start.parents):
        for name in (FILE, PYPROJECT):
            path = folder / name
            source = _open(Path(os.path.relpath(path))) if path.is_file() else None
            if source is not None and (name == FILE or _table(source) is not None):
                return source
        if (folder / ".git").exists():
            return None
    return None


def _open(path: Path) -> Source:
    try:
        return Source(str(path), path.read_bytes())
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=str(path)) from None


def _table(source: Source) -> Value | None:
    """Return the table that the settings are; None if a pyproject.toml has none."""
    from nginxopt.lint import toml  # many runs have no settings

    if Path(source.path).name != PYPROJECT:
        return toml.read(source)
    if b"nginxopt" not in source.data:  # then it is not to be parsed, either
        return None
    tool = toml.read(source).table().get("tool")
    return tool.table().get("nginxopt") if tool is not None else None


def read(source: Source, rules: Collection[str]) -> Settings:
    """Return the settings that a file says; `rules` are the ids that there are.

    `InputError` at what is not understood: TOML, a key, a type, a name of a rule, a version, a context.
    """
    table = _table(source)
    if table is None:
        raise InputError("has no table [tool.nginxopt]", path=source.path)
    origin = Path(source.path)
    values = {}
    for key, value in table.table().items():
        if key not in KEYS:
            raise value.error(f'unknown setting "{key}"', hint=suggestion(key, KEYS))
        values[key.replace("-", "_")] = KEYS[key](value, rules, origin.parent)
    return Settings(**values, origin=origin)


def _strings(value: Value, _rules: Collection[str], _folder: Path) -> tuple[str, ...]:
    return tuple(item.text() for item in value.strings())


def _path(value: Value, _rules: Collection[str], folder: Path) -> str:
    return str(folder / value.text())


def _paths(value: Value, _rules: Collection[str], folder: Path) -> tuple[str, ...]:
    return tuple(str(folder / item.text()) for item in value.strings())


def _names(value: Value, rules: Collection[str], _folder: Path) -> tuple[str, ...]:
    known = {*rules, *CATEGORIES, ALL}
    for item in value.strings():
        if item.text() not in known:
            hint = suggestion(item.text(), known)
            raise item.error(f'unknown rule or category "{item.text()}"', hint=hint)
    return tuple(item.text() for item in value.strings())


def _premises(value: Value, _rules: Collection[str], _folder: Path) -> frozenset[Premise]:
    assumed: set[Premise] = set()
    for item in value.strings():
        try:
            assumed |= premises.named([item.text()])
        except UsageError as error:
            raise item.error(error.message, hint=error.hint) from None
    return frozenset(assumed)


def _names_by_pattern(value: Value, rules: Collection[str], folder: Path) -> Mapping[str, tuple[str, ...]]:
    table = value.table()
    return MappingProxyType({pattern: _names(names, rules, folder) for pattern, names in table.items()})


def _severity(value: Value, _rules: Collection[str], _folder: Path) -> Severity:
    known = [str(severity) for severity in reversed(Severity)]
    if value.text() not in known:
        raise value.error(
            f'unknown severity "{value.text()}"',
            expected=", ".join(known[:-1]) + f" or {known[-1]}",
            hint=suggestion(value.text(), known),
        )
    return Severity(value.text())


def _severity_by_rule(value: Value, rules: Collection[str], folder: Path) -> Mapping[str, Severity]:
    for rule, severity in value.table().items():
        if rule not in rules:
            raise severity.error(f'unknown rule "{rule}"', hint=suggestion(rule, rules))
    return MappingProxyType({rule: _severity(text, rules, folder) for rule, text in value.table().items()})


def _versions(value: Value, _rules: Collection[str], _folder: Path) -> tuple[Version, ...]:
    """Return the versions that a string or an array of strings names, in order."""
    items = value.strings() if isinstance(value.data, list) else (value,)
    return tuple(sorted({_version(item) for item in items}))


def _version(value: Value) -> Version:
    try:
        return Version.parse(value.text())
    except UsageError as error:
        raise value.error(error.message, hint=error.hint) from None


def _context_by_pattern(value: Value, _rules: Collection[str], _folder: Path) -> Mapping[str, Context]:
    return MappingProxyType({pattern: _context(text) for pattern, text in value.table().items()})


def _context(value: Value) -> Context:
    try:
        return contexts.parse_context(value.text())
    except UsageError as error:
        raise value.error(error.message, hint=error.hint) from None


KEYS: Mapping[str, _Reader] = {
    "select": _names,
    "extend-select": _names,
    "ignore": _names,
    "severity": _severity_by_rule,
    "assume": _premises,
    "per-file-ignores": _names_by_pattern,
    "target-version": _versions,
    "paths": _paths,
    "exclude": _strings,
    "prefix": _path,
    "fail-on": _severity,
    "context": _context_by_pattern,
    "baseline": _path,
}
"""Each key of a settings file, and what reads its value."""
