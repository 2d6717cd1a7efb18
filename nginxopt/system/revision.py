"""Writes the files of a git revision to a temporary folder, without changing the work tree.

A repository can name programs: filters, hooks, `core.fsmonitor`, and the fetch command of a partial clone. None of them
runs, as the repository may be untrusted, such as one from an archive. Git only lists names and the index there; an
empty repository writes the files from its objects, with the filters of the user's own settings.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from nginxopt import lazy
from nginxopt.budget import Meter
from nginxopt.errors import MissingError, UsageError
from nginxopt.records import record
from nginxopt.system import process
from nginxopt.system.interrupts import temporary_folder

_SECONDS = 600.0
_NO_PROGRAMS = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
_NO_NETWORK = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none", "GIT_LFS_SKIP_SMUDGE": "1", "LC_ALL": "C"}
_LACKING = ("promisor", "unable to read", "bad object", "missing")
"""Git's message when a partial clone lacks an object and may not fetch it."""
_LONGEST = 1 << 20
"""The most bytes of an entry of a listing, and of an error message."""
_SIZE = lazy.pattern(rb"(?:^|(?<=\0))\d+ blob [0-9a-f]+ +(\d{1,18})\t")
"""The size of a file in a listing, whose entries end in null bytes."""


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
        return there if os.path.isdir(there) else self.folder

    def before(self, path: str | os.PathLike[str]) -> Path:
        """Return the path in the revision of what a path of the work tree names; another path stays as it is.

        Links of the work tree are not followed, because the path counts as it is in the revision.
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
    there is no such revision or no repository, `ExceededError` for one that is too large, and `MissingError` without
    git.
    """
    git = shutil.which("git")
    if git is None:
        raise MissingError("git is not installed", hint=f"{option} reads a git revision")
    root = Path(_ask(git, inside, "rev-parse", "--show-toplevel").removesuffix("\n"))
    commit = _commit(git, root, name, option)
    _check_size(git, root, commit)
    with temporary_folder() as temporary:
        folder, repository = Path(temporary, "tree"), Path(temporary, "repository")
        folder.mkdir()
        answer = _ask(git, root, "rev-parse", "--git-path", "objects", "--show-object-format")
        objects, _, form = answer.removesuffix("\n").rpartition("\n")
        _ask(git, root, "init", "--quiet", "--bare", "--template=", f"--object-format={form}", str(repository))
        # With a work tree of its own, git uses the .gitattributes of the revision and not the present one.
        places = {
            "GIT_DIR": repository,
            "GIT_WORK_TREE": folder,
            "GIT_INDEX_FILE": Path(temporary, "index"),
            "GIT_OBJECT_DIRECTORY": root / objects,
        }
        _ask(git, folder, "read-tree", commit, environment=places)
        _ask(git, folder, "checkout-index", "--all", "--quiet", environment=places)
        yield Revision(name, root, folder, dict(_renamed(git, commit, root)))


def _commit(git: str, root: Path, name: str, option: str) -> str:
    try:
        return _ask(git, root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}").strip()
    except UsageError:
        raise UsageError(f"{option} {name}: no such revision in {root}") from None


def _check_size(git: str, root: Path, commit: str) -> None:
    """Raise `ExceededError` if a revision has more files or bytes than the budgets allow.

    A few kilobytes can describe a huge tree: a folder with ten names for one folder, a hundred levels deep. So git only
    lists it, and is stopped as soon as the listing is too long, before anything is kept or written.
    """
    files, size = Meter("revision-files"), Meter("revision-bytes")
    ends, left = time.monotonic() + _SECONDS, b""
    with tempfile.TemporaryFile() as errors:
        listing = process.start(
            _words(git, "ls-tree", "-r", "-t", "-l", "-z", commit), cwd=root, output=subprocess.PIPE, errors=errors
        )
        with listing:
            try:
                assert listing.stdout is not None
                while data := os.read(listing.stdout.fileno(), _LONGEST):
                    *entries, left = (left + data).split(b"\0")
                    files.spend(len(entries))
                    size.spend(len(data) + sum(int(each) for each in _SIZE.findall(b"\0".join(entries))))
                    if time.monotonic() > ends or len(left) > _LONGEST:
                        raise UsageError(f"git ls-tree did not end within {_SECONDS:.0f} seconds")
            finally:
                if listing.poll() is None:
                    process.end(listing)
        if listing.returncode:
            errors.seek(0)
            raise _failed("ls-tree", process.Completed(listing.returncode, b"", errors.read(_LONGEST)))


def _renamed(git: str, commit: str, root: Path) -> Iterator[tuple[str, str]]:
    """Yield the old and the new path of each file that was renamed since a commit, as git detects it.

    What is staged is compared: for files of the work tree, git would run filters of the repository.
    """
    options = ("--cached", "--name-status", "--find-renames", "--diff-filter=R", "-z", "--no-ext-diff", "--no-textconv")
    words = _ask(git, root, "diff-index", *options, commit).split("\0")
    triples = iter(words)
    for _status, old, new in zip(triples, triples, triples, strict=False):
        yield old, new


def _ask(git: str, cwd: Path, *words: str, environment: Mapping[str, object] | None = None) -> str:
    """Return what git prints. Raises `UsageError` with its message if it fails."""
    done = process.run(_words(git, *words, environment=environment), cwd=cwd, seconds=_SECONDS)
    if done.status:
        raise _failed(words[0], done)
    return os.fsdecode(done.output)


def _words(git: str, *words: str, environment: Mapping[str, object] | None = None) -> list[str]:
    """Return the words of a call of git that runs no program, and asks no server."""
    settings = [f"{name}={value}" for name, value in {**_NO_NETWORK, **(environment or {})}.items()]
    return ["env", *settings, git, *_NO_PROGRAMS, *words]


def _failed(command: str, done: process.Completed) -> UsageError:
    said = done.last() or process.how_it_ended(done.status)
    is_partial = any(word in said for word in _LACKING)
    hint = "nothing is fetched; a partial clone lacks objects that `git fetch --refetch --no-filter` brings"
    return UsageError(f"git {command}: {said}", hint=hint if is_partial else None)
