"""Settings from `nginxopt.toml` or the table `[tool.nginxopt]` of a pyproject.toml.

docs/guide/settings.md is the reference; the fields of `Settings` are its keys.
"""

from __future__ import annotations

import glob
import os
import os.path
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import field
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from nginxopt import budget
from nginxopt.config import Context, roots
from nginxopt.config.configuration import parse_context
from nginxopt.config.filesystem import DISK
from nginxopt.config.includes import contents
from nginxopt.config.main_file import STOCK
from nginxopt.errors import InputError, UsageError
from nginxopt.facts.vendors import target as stated_target
from nginxopt.format import IndentStyle
from nginxopt.format.style import WIDTHS
from nginxopt.records import record
from nginxopt.settings import vocabulary
from nginxopt.settings.vocabulary import CATEGORIES, Premise, Severity
from nginxopt.system import trust
from nginxopt.text import Source, suggestion
from nginxopt.version import Version

if TYPE_CHECKING:
    from nginxopt.settings.toml import TomlValue

    _Reader = Callable[[TomlValue, Collection[str] | None, Path], Any]

FILE = "nginxopt.toml"
PYPROJECT = "pyproject.toml"

ALL = "all"
"""The name for all rules, where ids and categories are allowed."""


@record(eq=True, slots=False)
class Settings:
    """What to check, which rules to run, and the severity of findings.

    The key of a field is its name with dashes. Paths include the folder of the file; patterns are relative to it and
    match as in `nginxopt.settings.file`. Names are rule ids, categories, or `all`.

    Attributes:
        rules: The paths of folders with the user's own rules.
        select: The names of the selected rules; None for the default rules.
        extend_select: The names of additional rules.
        ignore: The names of ignored rules.
        severity: The severity of findings, by rule id.
        assume: The premises of fixes that hold.
        main: The path of the main file that includes fragments, or `stock`; None if it is unknown.
        per_file_ignores: The names whose findings are hidden, by path pattern.
        target_version: The nginx versions that the configuration is for, oldest first; empty if not set.
        paths: The paths to check if the command line names none.
        exclude: The path patterns of files to skip.
        include: For folders of absolute includes, the folders here that hold their files (`nginxopt.config.places`).
        prefix: The base of relative includes; None for the folder of the main file.
        fail_on: The lowest severity that makes the exit status 1.
        context: The context of fragments, by path pattern; the first match counts.
        baseline: The path of the baseline; None if there is none.
        format: How `nginxopt format` indents.
        budget: Limits that replace those of `nginxopt.budget.LIMITS`, by name.
        origin: The settings file; None if there is none.
    """

    rules: tuple[str, ...] = ()
    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    severity: Mapping[str, Severity] = field(default_factory=lambda: MappingProxyType({}))
    assume: frozenset[Premise] = frozenset()
    main: str | None = None
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    target_version: tuple[Version, ...] = ()
    paths: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    include: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    prefix: str | None = None
    fail_on: Severity = Severity.WARNING
    context: Mapping[str, Context] = field(default_factory=lambda: MappingProxyType({}))
    baseline: str | None = None
    format: IndentStyle = IndentStyle()
    budget: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    origin: Path | None = None

    @property
    def folder(self) -> Path:
        """The base of patterns: the folder of the file, or the working directory."""
        return self.origin.parent if self.origin is not None else Path()

    def excludes(self, path: str | os.PathLike[str]) -> bool:
        """Return whether a file is skipped."""
        return matches(path, self.exclude, self.folder)

    def ignored_in(self, path: str | os.PathLike[str]) -> frozenset[str]:
        """Return the names whose findings are hidden in a file."""
        return frozenset(
            name
            for pattern, names in self.per_file_ignores.items()
            if matches(path, [pattern], self.folder)
            for name in names
        )

    def context_of(self, path: str | os.PathLike[str]) -> Context | None:
        """Return the context of a fragment, None if it is not set."""
        fitting = (at for pattern, at in self.context.items() if matches(path, [pattern], self.folder))
        return next(fitting, None)


def load(
    rules: Collection[str] | None,
    *,
    config: str | os.PathLike[str] | None = None,
    isolated: bool = False,
    folder: Path | None = None,
) -> Settings:
    """Return the settings of `config`, or of the nearest file from `folder` upwards; `isolated` has none.

    `folder` is the working directory by default. `rules` are the known rule ids; with None, the names of rules are not
    checked. Raises `InputError` for an unreadable or invalid file, and `UsageError` for both `config` and `isolated`.
    """
    source = find(config=config, isolated=isolated, folder=folder)
    return Settings() if source is None else read(source, rules)


def find(
    *, config: str | os.PathLike[str] | None = None, isolated: bool = False, folder: Path | None = None
) -> Source | None:
    """Return the file that `load` reads; None if there is none. Raises the errors of `load`."""
    if config is not None and isolated:
        raise UsageError("--config and --isolated cannot be used together")
    if isolated:
        return None
    return nearest(folder or Path.cwd()) if config is None else _open(Path(config))


def rule_folders(source: Source) -> tuple[str, ...]:
    """Return the folders with the user's own rules that a settings file names. Raises `InputError` as `read` does.

    They are read first: without their rules, the names of rules in other settings cannot be checked.
    """
    table = _table(source)
    value = None if table is None else table.table().get("rules")
    return () if value is None else _paths(value, None, Path(source.path).parent)


def includes() -> Mapping[str, str]:
    """Return the setting `include` of the nearest settings file, for commands that use no other setting.

    It is empty if that file is another user's or cannot be read. Raises `InputError` for an invalid table.
    """
    try:
        source = nearest(Path.cwd())
        table = None if source is None else _table(source)
    except InputError:
        return {}
    value = None if table is None else table.table().get("include")
    return {} if value is None or source is None else _folders(value, None, Path(source.path).parent)


def nearest(start: Path, top: Path | None = None) -> Source | None:
    """Return the first settings file in `start` or its parents, up to `top` or the folder that contains `.git`.

    Its path is relative to the working directory, like those on the command line.
    """
    for folder in (start, *start.parents):
        for name in (FILE, PYPROJECT):
            path = folder / name
            # Path.is_file raises for a directory that the user may not enter.
            source = _own(Path(os.path.relpath(path))) if os.path.isfile(path) else None
            if source is not None:
                return source
        if folder == top or os.path.exists(folder / ".git"):
            return None
    return None


def _own(path: Path) -> Source | None:
    """Return a settings file that was found; None for a pyproject.toml without settings.

    Raises `InputError` if another user may have put it there: settings hide findings, and name files and programs.
    """
    try:
        data, reason = trust.read(path)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=str(path)) from None
    source = _source(path, data)
    if reason is None:
        return source if path.name == FILE or _table(source) is not None else None
    if path.name == PYPROJECT and not _may_have_table(source):
        return None
    hint = f"--config {path} uses them, --isolated ignores them"
    raise InputError(f"these settings may be another user's: {reason}", path=str(path), hint=hint)


def _source(path: Path, data: bytes) -> Source:
    """Return the text of a settings file, which is not shown if the file is a link that leads out of its directory."""
    return Source(str(path), data, outside=not roots.only(str(path)).has(str(path)))


def _may_have_table(source: Source) -> bool:
    try:
        return _table(source) is not None
    except InputError:
        return True


def _open(path: Path) -> Source:
    return _source(path, contents(str(path), DISK))


def _table(source: Source) -> TomlValue | None:
    """Return the table of settings; None if a pyproject.toml has none."""
    from nginxopt.settings import toml  # many runs have no settings

    if Path(source.path).name != PYPROJECT:
        return toml.read(source)
    if b"nginxopt" not in source.data:  # saves parsing it
        return None
    tool = toml.read(source).table().get("tool")
    return tool.table().get("nginxopt") if tool is not None else None


def read(source: Source, rules: Collection[str] | None) -> Settings:
    """Parse a settings file; `rules` are the known rule ids, as for `load`.

    Raises `InputError` at invalid TOML or an invalid key, type, rule name, version or context.
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


def _strings(value: TomlValue, _rules: Collection[str] | None, _folder: Path) -> tuple[str, ...]:
    return tuple(item.text() for item in value.strings())


def _path(value: TomlValue, _rules: Collection[str] | None, folder: Path) -> str:
    return str(folder / value.text())


def _main(value: TomlValue, rules: Collection[str] | None, folder: Path) -> str:
    return STOCK if value.text() == STOCK else _path(value, rules, folder)


def _paths(value: TomlValue, _rules: Collection[str] | None, folder: Path) -> tuple[str, ...]:
    return tuple(str(folder / item.text()) for item in value.strings())


def _folders(value: TomlValue, _rules: Collection[str] | None, folder: Path) -> Mapping[str, str]:
    table = value.table()
    for path, item in table.items():
        if not path.startswith("/"):
            raise item.error(f'"{path}" is not the path of an installed folder', expected="an absolute path")
    return MappingProxyType({path: str(folder / item.text()) for path, item in table.items()})


def _names(value: TomlValue, rules: Collection[str] | None, _folder: Path) -> tuple[str, ...]:
    known = {*(rules or ()), *CATEGORIES, ALL}
    for item in value.strings():
        if rules is not None and item.text() not in known:
            hint = suggestion(item.text(), known)
            raise item.error(f'unknown rule or category "{item.text()}"', hint=hint)
    return tuple(item.text() for item in value.strings())


def _premises(value: TomlValue, _rules: Collection[str] | None, _folder: Path) -> frozenset[Premise]:
    assumed: set[Premise] = set()
    for item in value.strings():
        try:
            assumed |= vocabulary.named([item.text()])
        except UsageError as error:
            raise item.error(error.message, hint=error.hint) from None
    return frozenset(assumed)


def _names_by_pattern(value: TomlValue, rules: Collection[str] | None, folder: Path) -> Mapping[str, tuple[str, ...]]:
    table = value.table()
    return MappingProxyType({pattern: _names(names, rules, folder) for pattern, names in table.items()})


def _severity(value: TomlValue, _rules: Collection[str] | None, _folder: Path) -> Severity:
    known = [str(severity) for severity in reversed(Severity)]
    if value.text() not in known:
        raise value.error(
            f'unknown severity "{value.text()}"',
            expected=", ".join(known[:-1]) + f" or {known[-1]}",
            hint=suggestion(value.text(), known),
        )
    return Severity(value.text())


def _severity_by_rule(value: TomlValue, rules: Collection[str] | None, folder: Path) -> Mapping[str, Severity]:
    for rule, severity in value.table().items():
        if rules is not None and rule not in rules:
            raise severity.error(f'unknown rule "{rule}"', hint=suggestion(rule, rules))
    return MappingProxyType({rule: _severity(text, rules, folder) for rule, text in value.table().items()})


def _versions(value: TomlValue, _rules: Collection[str] | None, _folder: Path) -> tuple[Version, ...]:
    """Return the versions in a string or an array of strings, sorted."""
    items = value.strings() if isinstance(value.data, list) else (value,)
    return tuple(sorted({_version(item) for item in items}))


def _version(value: TomlValue) -> Version:
    try:
        return stated_target(value.text())
    except UsageError as error:
        raise value.error(error.message, hint=error.hint) from None


def _context_by_pattern(value: TomlValue, _rules: Collection[str] | None, _folder: Path) -> Mapping[str, Context]:
    return MappingProxyType({pattern: _context(text) for pattern, text in value.table().items()})


def _context(value: TomlValue) -> Context:
    try:
        return parse_context(value.text())
    except UsageError as error:
        raise value.error(error.message, hint=error.hint) from None


def _format(value: TomlValue, _rules: Collection[str] | None, _folder: Path) -> IndentStyle:
    table = value.table()
    for key in table:
        if key not in _STYLE:
            raise table[key].error(f'unknown setting "{key}"', hint=suggestion(key, _STYLE))
    values: dict[str, Any] = {_STYLE[key][0]: _STYLE[key][1](item) for key, item in table.items()}
    return IndentStyle(**values)


def _width(value: TomlValue) -> int:
    if type(value.data) is not int or value.data not in WIDTHS:
        raise value.error("invalid width of indentation", expected=f"a number from {WIDTHS[0]} to {WIDTHS[-1]}")
    width: int = value.data
    return width


def _tabs(value: TomlValue) -> bool:
    if value.text() not in ("space", "tab"):
        raise value.error(f'unknown indentation "{value.text()}"', expected='"space" or "tab"')
    return value.text() == "tab"


_STYLE: Mapping[str, tuple[str, Callable[[TomlValue], object]]] = {
    "indent-width": ("width", _width),
    "indent-style": ("tabs", _tabs),
}
"""The keys of the table `format`: the fields of `IndentStyle`, and the functions that read their values."""


def _budget(value: TomlValue, _rules: Collection[str] | None, _folder: Path) -> Mapping[str, int]:
    table = value.table()
    for name, limit in table.items():
        if name not in budget.LIMITS:
            raise limit.error(f'unknown budget "{name}"', hint=suggestion(name, budget.LIMITS))
        if type(limit.data) is not int or not budget.is_limit(limit.data):
            raise limit.error("invalid limit", expected=f"a number from 1 to {budget.LARGEST_LIMIT}")
    return MappingProxyType({name: limit.data for name, limit in table.items()})


KEYS: Mapping[str, _Reader] = {
    "rules": _paths,
    "select": _names,
    "extend-select": _names,
    "ignore": _names,
    "severity": _severity_by_rule,
    "assume": _premises,
    "main": _main,
    "per-file-ignores": _names_by_pattern,
    "target-version": _versions,
    "paths": _paths,
    "exclude": _strings,
    "include": _folders,
    "prefix": _path,
    "fail-on": _severity,
    "context": _context_by_pattern,
    "baseline": _path,
    "format": _format,
    "budget": _budget,
}
"""The keys of a settings file, with the functions that read their values."""


def matches(path: str | os.PathLike[str], patterns: Iterable[str], folder: str | os.PathLike[str]) -> bool:
    """Return whether one of the patterns, which are relative to `folder`, matches `path`.

    Patterns are as in `glob.glob(recursive=True, include_hidden=True)`: `*` matches any characters of a name, `?` one
    character, `[abc]` one of these and `[!abc]` any other, and `**` as a whole name matches any number of folders.
    There is no other syntax: no leading `!`, no braces, and a pattern without a slash does not match in other folders.
    A pattern that matches a folder includes all its content.

    A relative `path` or `folder` is relative to the working directory; a pattern may be absolute. Does not use the
    disk, so links are not resolved.
    """
    names = _absolute(path).split("/")
    base = glob.escape(_absolute(folder))
    return any(_means(_joined(base, pattern).split("/"), names) for pattern in patterns)


def _absolute(path: str | os.PathLike[str]) -> str:
    return os.path.abspath(path)  # noqa: PTH100 - Path.resolve follows links


def _joined(base: str, pattern: str) -> str:
    return os.path.normpath(os.path.join(base, pattern))  # noqa: PTH118 - Path keeps `..`, and no pattern is a path


def _means(pattern: list[str], names: list[str]) -> bool:
    """Return whether a pattern matches names, each step once for each place that the steps before it lead to."""
    places = {0}
    for number, step in enumerate(pattern, 1):
        if step != "**":
            places = {at + 1 for at in places if at < len(names) and fnmatchcase(names[at], step)}
        elif number == len(pattern):
            return any(at < len(names) for at in places)  # `a/**` matches the content of a folder, not its own name
        else:
            places = {at for at in range(len(names) + 1) if at >= min(places, default=at + 1)}
    return bool(places)  # the remaining names are inside a matching folder
