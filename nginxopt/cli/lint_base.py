"""The findings that a change brings: those that a revision of the repository does not have."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import chdir
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from nginxopt.lint.baseline import Entry, entries
from nginxopt.lint.check import check
from nginxopt.system.revision import Revision, revision
from nginxopt.text import Source

if TYPE_CHECKING:
    from collections.abc import Callable

    from nginxopt.config.inputs import Inputs
    from nginxopt.lint.check import Judge
    from nginxopt.lint.diagnostic import Diagnostic


@dataclass(frozen=True, slots=True)
class Base:
    """The findings in a revision, the top folder of its files, and the number of those that could not be read."""

    name: str
    root: Path
    entries: frozenset[Entry]
    unread: int

    def leaves(self, diagnostics: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
        """Return the findings that the revision does not have."""
        present = entries(diagnostics, str(self.root))
        return tuple(found for found, entry in zip(diagnostics, present, strict=True) if entry not in self.entries)


def base(name: str, read: Callable[[Sequence[str]], Inputs], paths: Sequence[str], judge: Judge) -> Base:
    """Return what the rules find in a revision, by the names that its files have now.

    `read` reads the configurations of these paths, which are those of the command line.
    """
    with revision(name, _folder(paths[0])) as tree:
        named = [_inside(path, tree) for path in paths]
        with chdir(tree.here()):
            inputs = read(named)
            checked = check(inputs.configs, replace(judge, is_complete=not inputs.errors))
            found = entries([_under_its_name(diagnostic, tree) for diagnostic in checked.diagnostics], str(tree.folder))
    return Base(name, tree.root, frozenset(found), len(inputs.errors) + len(checked.errors))


def _folder(path: str) -> Path:
    """Return the folder of a path, or the working directory if it does not exist."""
    return next((folder for folder in (Path(path), Path(path).parent) if folder.is_dir()), Path.cwd())


def _inside(path: str, tree: Revision) -> str:
    """Return the path of a file in the revision: for an absolute one, the one below its top folder."""
    whole = Path(path)
    is_moved = whole.is_absolute() and whole.resolve().is_relative_to(tree.root)
    return str(tree.folder / whole.resolve().relative_to(tree.root)) if is_moved else path


def _under_its_name(diagnostic: Diagnostic, tree: Revision) -> Diagnostic:
    """Return a finding in a file that was renamed under the new name of the file."""
    source = diagnostic.finding.source
    old = os.path.relpath(Path(source.path).absolute(), tree.folder)
    if old not in tree.renamed:
        return diagnostic
    new = os.path.relpath(tree.folder / tree.renamed[old])
    return replace(diagnostic, finding=replace(diagnostic.finding, source=Source(new, source.data)))
