"""Loads rules from outside of nginxopt: modules in folders that the settings name, and those of installed packages.

A module declares a rule in the same way as those of `nginxopt.rules`. The modules of a folder form a package, so they
can import helpers from each other (`from . import _shared`). An exception in a rule becomes a `RuleError` with the
place in its file; the other rules still run.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from nginxopt.errors import InputError, RuleError, TerminatedError
from nginxopt.lint.declare import Rule, names, rule_of
from nginxopt.lint.diagnostic import Finding
from nginxopt.lint.queries.model import Model
from nginxopt.text import Source, Span, apply

if TYPE_CHECKING:
    from nginxopt.lint.catalogue import EntryPoint

_NUMBERS = count()


class _Module(NamedTuple):
    """A module that should be a rule: its full name, the folder or package it is from, its file if it is known."""

    name: str
    owner: str
    file: str | None

    @property
    def id(self) -> str:
        """The id of the rule."""
        return self.name.rpartition(".")[2].replace("_", "-")

    def __str__(self) -> str:
        return self.file or f"{self.name} of {self.owner}"


def load(
    built_in: Mapping[str, Rule], folders: Sequence[str], points: Sequence[EntryPoint]
) -> tuple[dict[str, Rule], dict[str, RuleError]]:
    """Return the rules of nginxopt, of folders, and of the modules and packages that entry points name.

    Also return the errors of those that cannot be loaded. Raises `InputError` for a folder that cannot be read, and for
    an id that two rules have.
    """
    rules = dict(built_in)
    errors: dict[str, RuleError] = {}
    modules: dict[str, _Module] = {}
    for module in dict.fromkeys([*_in_folders(folders), *_installed(points)]):
        _refuse_second(module, rules, modules)
        modules[module.id] = module
        try:
            rules[module.id] = _load(module)
        except RuleError as error:
            errors[module.id] = error
    return rules, errors


def files(folders: Sequence[str]) -> dict[str, str]:
    """Return the files of the rules in folders by id; nothing is run. Raises `InputError` as `load` does."""
    return {module.id: str(module) for module in _in_folders(folders)}


def guarded(rule: Rule, model: Model) -> list[Finding]:
    """Return the findings of a rule. Raises `RuleError` if it raises, or yields something that is no valid finding."""
    try:
        with redirect_stdout(sys.stderr):  # standard output has the report, or the messages of an editor
            findings = list(rule.check(model))
        for finding in findings:
            _refuse_invalid(finding)
        return findings
    except (InputError, TerminatedError):
        raise
    except (Exception, SystemExit) as error:
        code = getattr(rule.check, "__code__", None)
        raise _raised(f"rule {rule.id} failed", error, rule.origin, code and code.co_firstlineno) from error


def _in_folders(folders: Sequence[str]) -> Iterator[_Module]:
    """Yield the modules in folders, each of which becomes a package."""
    for folder in folders:
        path = Path(os.path.realpath(folder))
        if not os.path.isdir(path):
            raise InputError("no such directory of rules", path=folder, hint='the setting "rules" names it')
        try:
            os.scandir(path).close()  # `pkgutil` takes a folder that it cannot list for an empty one
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", path=folder) from error
        package = ModuleType(f"_nginxopt_rules_{next(_NUMBERS)}")  # a new name, so that a reload reads the current text
        package.__path__ = [str(path)]
        sys.modules[package.__name__] = package
        importlib.invalidate_caches()
        for name in names(package):
            yield _Module(f"{package.__name__}.{name}", folder, _shown(str(path / f"{name}.py")))


def _installed(points: Iterable[EntryPoint]) -> Iterator[_Module]:
    """Yield the modules that entry points name; of a package, all modules in it."""
    for point in points:
        owner = f"the package {point.package}"
        try:
            with _importing():
                module = importlib.import_module(point.module)
        except TerminatedError:
            raise
        except (Exception, SystemExit):
            yield _Module(point.module, owner, None)  # raises again where it is loaded
            continue
        if hasattr(module, "__path__"):
            yield from (_Module(f"{point.module}.{name}", owner, None) for name in names(module))
        else:
            yield _Module(point.module, owner, None)


def _load(module: _Module) -> Rule:
    try:
        with _importing():
            imported = importlib.import_module(module.name)
        rule = rule_of(imported)
    except TerminatedError:
        raise
    except (Exception, SystemExit) as error:
        raise _raised(f"rule {module.id} of {module.owner} cannot be loaded", error, module.file) from error
    return replace(rule, origin=_shown(str(imported.__file__)))


@contextmanager
def _importing() -> Iterator[None]:
    """Import modules without writing `__pycache__`, and with their output on standard error."""
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        sys.dont_write_bytecode = before


def _refuse_second(module: _Module, rules: Mapping[str, Rule], modules: Mapping[str, _Module]) -> None:
    """Raise `InputError` if there is another rule with the id of a module."""
    if module.id in modules:
        other = str(modules[module.id])
    elif module.id in rules:
        other = f"nginxopt.rules.{module.id.replace('-', '_')} of nginxopt itself"
    else:
        return
    hint = "rename the module: a prefix of your own, such as acme_, keeps ids apart"
    raise InputError(f'{module} and {other} have the same id, "{module.id}"', hint=hint)


def _refuse_invalid(finding: Finding) -> None:
    """Raise `TypeError` or `ValueError` for a value that is not a finding, and for places outside of its files."""
    if not isinstance(finding, Finding):
        raise TypeError(f"a check yields Finding, not {type(finding).__name__}")
    places = [(finding.source, finding.span), *((related.source, related.span) for related in finding.related)]
    for source, span in places:
        if span.end > len(source.data):
            raise ValueError(f"a finding ends at byte {span.end} of {len(source.data)}")
    changes = finding.fix.changes if finding.fix else ()
    for source in {change.source for change in changes}:
        apply(source.data, (change.edit for change in changes if change.source is source))


def _raised(what: str, error: BaseException, file: str | None, begins: int | None = None) -> RuleError:
    """Return the error of a rule, at the last line of its file that was run, or where its check begins."""
    message = " ".join(f"{type(error).__name__}: {error}".rstrip(": ").split())
    path, line = _place(error, file) or (file, begins)
    source = _source(path)
    if source is None or line is None:
        return RuleError(f"{what}: {message}", path=path)
    return RuleError(f"{what}: {message}", source=source, span=_span(source, line))


def _place(error: BaseException, file: str | None) -> tuple[str, int | None] | None:
    """Return the file and line that an error is about: in the rule's file, or the last one outside of nginxopt."""
    if isinstance(error, SyntaxError) and error.filename:
        return _shown(error.filename), error.lineno
    frames = [(_shown(frame.filename), frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    about = [frame for frame in frames if (frame[0] == file if file else not _is_ours(frame[0]))]
    return about[-1] if about else None


def _is_ours(path: str) -> bool:
    """Return whether a file belongs to nginxopt or Python."""
    return (
        path.startswith("<frozen")
        or Path(os.path.realpath(path)).is_relative_to(Path(__file__).parents[1])
        or (Path(os.path.realpath(path)).is_relative_to(Path(os.__file__).parent) and "site-packages" not in path)
    )


def _source(path: str | None) -> Source | None:
    try:
        return None if path is None else Source(path, Path(path).read_bytes())
    except OSError:
        return None


def _span(source: Source, line: int) -> Span:
    """Return the text of a line, without the blanks around it."""
    lines = source.data.split(b"\n")
    text = lines[min(line, len(lines)) - 1]
    start = sum(len(before) + 1 for before in lines[: min(line, len(lines)) - 1])
    start += len(text) - len(text.lstrip())
    return Span(start, start + len(text.strip()))


def _shown(path: str) -> str:
    """Return a path as messages name it: relative to the working directory if it is below it."""
    here = os.path.relpath(path)
    return str(path) if here.startswith(os.pardir) else here
