"""Writes the files of a git revision to a temporary folder, without changing the work tree."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from nginxopt.errors import MissingError, UsageError
from nginxopt.records import record
from nginxopt.system import process
from nginxopt.system.interrupts import temporary_folder

_SECONDS = 600.0


@record(eq=True)
class Revision:
    """The files of a revision.

    Attributes:
        name: The name that the user gave: a branch, tag or commit.
        root: The absolute path of the top folder of the work tree.
        folder: The folder with the files of the revision, which corresponds to `root`.
        renamed: The paths of files that were renamed since the revision: old path to new path, relative to `root`.
    """

    name: str
    root: Path
    folder: Path
    renamed: Mapping[str, str]

    def here(self) -> Path:
        """Return the folder of the revision for the working directory, or its top folder if the revision lacks that."""
        cwd = Path.cwd().resolve()
        there = self.folder / cwd.relative_to(self.root) if cwd.is_relative_to(self.root) else self.folder
        return there if there.is_dir() else self.folder

    def before(self, path: str | os.PathLike[str]) -> Path:
        """Return the path in the revision of what a path of the work tree names; another path stays as it is.

        Links of the work tree are not followed: it is what the path names in the revision that counts.
        """
        whole = Path(os.path.abspath(path))  # noqa: PTH100 - it removes `..` and follows no links
        if not whole.is_relative_to(self.root):
            whole = Path(os.path.realpath(whole))
        return self.folder / whole.relative_to(self.root) if whole.is_relative_to(self.root) else Path(path)

    def now(self, path: str | os.PathLike[str]) -> str:
        """Return the path in the work tree of a file of the revision, relative to the working directory."""
        there = Path(os.path.abspath(path))  # noqa: PTH100 - as above
        return os.path.relpath(self.root / there.relative_to(self.folder), Path.cwd().resolve())


@contextmanager
def revision(name: str, inside: Path, option: str) -> Iterator[Revision]:
    """Write the files of a revision to a temporary folder; `inside` is a folder in the repository.

    `option` is the one that names the revision. Changes neither the repository nor its index. Raises `UsageError` if
    there is no such revision or no repository, and `MissingError` without git.
    """
    git = shutil.which("git")
    if git is None:
        raise MissingError("git is not installed", hint=f"{option} reads a git revision")
    root = Path(_ask(git, inside, "rev-parse", "--show-toplevel").removesuffix("\n"))
    commit = _commit(git, root, name, option)
    with temporary_folder() as temporary:
        folder = Path(temporary, "tree")
        folder.mkdir()
        repository = _ask(git, root, "rev-parse", "--absolute-git-dir").removesuffix("\n")
        # With a work tree of its own, git takes .gitattributes of the revision, and not those of the present one.
        places = {"GIT_DIR": repository, "GIT_WORK_TREE": folder, "GIT_INDEX_FILE": Path(temporary, "index")}
        _ask(git, folder, "read-tree", commit, environment=places)
        _ask(git, folder, "checkout-index", "--all", "--quiet", environment=places)
        yield Revision(name, root, folder, dict(_renamed(git, commit, root)))


def _commit(git: str, root: Path, name: str, option: str) -> str:
    try:
        return _ask(git, root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}").strip()
    except UsageError:
        raise UsageError(f"{option} {name}: no such revision in {root}") from None


def _renamed(git: str, commit: str, root: Path) -> Iterator[tuple[str, str]]:
    """Yield the old and the new path of each file that was renamed since a commit, as git detects it."""
    words = _ask(git, root, "diff", "--name-status", "--find-renames", "--diff-filter=R", "-z", commit).split("\0")
    triples = iter(words)
    for _status, old, new in zip(triples, triples, triples, strict=False):
        yield old, new


def _ask(git: str, cwd: Path, *words: str, environment: Mapping[str, object] | None = None) -> str:
    """Return what git prints. Raises `UsageError` with its message if it fails."""
    settings = [f"{name}={value}" for name, value in (environment or {}).items()]
    done = process.run(["env", *settings, git, *words], cwd=cwd, seconds=_SECONDS)
    if done.status:
        raise UsageError(f"git {words[0]}: {done.last()}")
    return os.fsdecode(done.output)
