"""The findings that a change adds: those that a revision of the repository does not have."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from contextlib import chdir
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from nginxopt.config.inputs import Inputs
from nginxopt.lint.baseline import Baseline, BaselineEntry, entries, unrecorded
from nginxopt.lint.check import check
from nginxopt.lint.report.model import Note, notes_of_inputs
from nginxopt.lint.report.model import notes as notes_of
from nginxopt.records import record
from nginxopt.system.revision import Revision, revision
from nginxopt.text import Source

if TYPE_CHECKING:
    from collections.abc import Callable

    from nginxopt.lint.check import Judge
    from nginxopt.lint.diagnostic import Diagnostic


@record(eq=True)
class Base:
    """The findings and notes of a revision, the top folder of its files, and how many of these could not be read."""

    name: str
    root: Path
    entries: frozenset[BaselineEntry]
    notes: frozenset[tuple[str, str]]
    unread: int

    def new_among(self, diagnostics: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
        """Return the findings that the revision does not have."""
        return unrecorded(Baseline(self.entries, str(self.root)), diagnostics)

    def new_notes(self, notes: Sequence[Note]) -> list[Note]:
        """Return the notes that the revision does not have."""
        return [note for note in notes if _key(note) not in self.notes]


def base(name: str, read: Callable[[Sequence[str]], Inputs], paths: Sequence[str], judge: Judge) -> Base:
    """Return what the rules find in a revision, by the names that its files have now.

    `read` reads the configurations of these paths, which are those of the command line.
    """
    with revision(name, _folder(paths[0]), "--diff-base") as tree:
        then = [_then(path, tree) for path in paths]
        with chdir(tree.here()):
            named = [os.path.relpath(path) if path.is_relative_to(tree.folder) else str(path) for path in then]
            inputs = read(there) if (there := [path for path in named if _is_there(path)]) else Inputs((), ())
            checked = check(inputs.configs, replace(judge, is_complete=not inputs.errors))
            found = entries([_under_its_name(diagnostic, tree) for diagnostic in checked.diagnostics], str(tree.folder))
            noted = frozenset(map(_key, [*notes_of(checked), *notes_of_inputs(inputs)]))
    return Base(name, tree.root, frozenset(found), noted, len(inputs.errors) + len(checked.errors))


def _key(note: Note) -> tuple[str, str]:
    """Return the file of a note, relative to the working directory, and its message."""
    return "" if note.source is None else os.path.relpath(note.source.path), note.message


def _folder(path: str) -> Path:
    """Return the folder of a path, or the working directory if it does not exist."""
    return next((folder for folder in (Path(path), Path(path).parent) if os.path.isdir(folder)), Path.cwd())


def _then(path: str, tree: Revision) -> Path:
    """Return the path in the revision of what a path of the work tree names; another path stays as it is."""
    whole = Path(os.path.realpath(path))
    if not whole.is_relative_to(tree.root):
        return Path(path)
    now = str(whole.relative_to(tree.root))
    return tree.folder / {new: old for old, new in tree.renamed.items()}.get(now, now)


def _is_there(path: str) -> bool:
    """Return whether a revision has what a path names; a file that it does not have is new, which is not an error."""
    return os.path.lexists(path) or (glob.has_magic(path) and bool(glob.glob(path, recursive=True)))  # noqa: PTH207


def _under_its_name(diagnostic: Diagnostic, tree: Revision) -> Diagnostic:
    """Return a finding in a file that was renamed under the new name of the file."""
    source = diagnostic.finding.source
    named = Source(_new_name(source.path, tree), source.data)
    finding = replace(diagnostic.finding, source=named)
    return replace(diagnostic, finding=finding, tree=_new_name(diagnostic.tree, tree))


def _new_name(path: str, tree: Revision) -> str:
    old = os.path.relpath(Path(path).absolute(), tree.folder)
    return os.path.relpath(tree.folder / tree.renamed[old]) if old in tree.renamed else path
