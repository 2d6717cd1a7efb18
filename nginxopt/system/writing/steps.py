"""The steps of writing files: create, replace, or overwrite in place. Each step can be undone."""

from __future__ import annotations

import contextlib
import errno
import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from nginxopt.records import record
from nginxopt.system.writing.copies import (
    NO_LINKS,
    NOT_ALLOWED,
    Scratches,
    copy_access,
    copy_all,
    duplicate,
    give,
    keep,
    make,
    overwrite,
)
from nginxopt.system.writing.targets import WriteTarget

_NOT_RENAMED = (*NOT_ALLOWED, errno.EBUSY, errno.EXDEV, errno.ETXTBSY)


class ChangedError(Exception):
    """A file no longer has the text that was read from it."""


class _NotReplaceableError(Exception):
    """A file cannot be replaced by a new one with the same attributes; the message is the reason."""


@record(eq=True)
class Written:
    """A file that was written.

    Attributes:
        path: Its path as the caller gave it.
        file: Its path with links resolved.
        copy: The copy of its old text; None if there is none.
        in_place: Why the file was overwritten in place; None if it was replaced, or is new.
    """

    path: str
    file: Path
    copy: Path | None = None
    in_place: str | None = None

    @property
    def undo(self) -> str:
        """The command that restores the old text."""
        path = str(self.file) if os.path.islink(self.path) else self.path
        return shlex.join(["cp" if self.in_place else "mv", str(self.copy), path])


class Step(Protocol):
    """The prepared write of one file."""

    target: WriteTarget

    @property
    def written(self) -> Written:
        """The file that was written."""

    def commit(self) -> None:
        """Write the file. Raises `OSError` if that fails, `ChangedError` if the file has changed since it was read."""

    def undo(self) -> str | None:
        """Restore the old state; return a description of what could not be restored, or None."""


def prepared(target: WriteTarget, scratches: Scratches, *, keep_old: bool) -> Step:
    """Do all work that does not change the file yet; return the step that writes it.

    Raises `OSError` on failure, `ChangedError` if the file has changed since it was read.
    """
    if target.status is None:
        return _Creation(target, scratches)
    _refuse_changed(target, target.here)  # before a file is made next to it
    if target.here.stat().st_nlink > 1:
        return _InPlace(target, scratches, "it has several names (hard links)")
    try:
        return _Replacement(target, scratches, keep_old=keep_old)
    except _NotReplaceableError as reason:
        return _InPlace(target, scratches, str(reason))


class _Creation:
    """Creates a file, unless another one has taken its name in the meantime."""

    def __init__(self, target: WriteTarget, scratches: Scratches) -> None:
        self.target = target
        self.written = Written(target.path, target.file)
        self._new = scratches(target.here.parent).name()
        self._status = make(self._new, target.text, 0o600 if target.like else 0o666)
        if target.like:
            copy_access(target.like, self._new)

    def commit(self) -> None:
        try:
            give(self._new, self.target.here)
        except FileExistsError:
            raise ChangedError from None

    def undo(self) -> str | None:
        if _is(self.target.here, self._status):
            return _trouble(self.target.here.unlink, f"{self.target.path} is new")
        return None


class _Replacement:
    """Replaces a file by renaming a new one over it. The old one keeps a hidden name until all steps are done."""

    def __init__(self, target: WriteTarget, scratches: Scratches, *, keep_old: bool) -> None:
        self.target = target
        self._scratches = scratches
        self._instead: _InPlace | None = None
        self._stage()
        self._link_old()
        self._copy: Path | None = None
        self._copied = False
        if keep_old:
            self._copy, self._copied = keep(target.here, scratches)

    def _stage(self) -> None:
        """Create the new file under a hidden name."""
        try:
            here = self._scratches(self.target.here.parent)
            self._new, self._old = here.name(), here.name()
            self._status = make(self._new, self.target.text)
        except OSError as error:
            if error.errno not in NOT_ALLOWED:
                raise
            raise _NotReplaceableError("its directory is not writable") from None
        try:
            copy_all(self.target.here, self._new)
        except OSError:
            raise _NotReplaceableError("a new file cannot get its owner or attributes") from None

    def _link_old(self) -> None:
        """Give the old file a hidden name, from which it can be restored."""
        try:
            os.link(self.target.here, self._old, follow_symlinks=False)
        except OSError as error:
            if error.errno == errno.EXDEV:
                raise _NotReplaceableError("it is a mount point") from None
            if error.errno not in NO_LINKS:
                raise
            duplicate(self.target.here, self._old)

    @property
    def written(self) -> Written:
        return (
            self._instead.written
            if self._instead
            else Written(self.target.path, self.target.file, self._copy and self.target.shown(self._copy))
        )

    def commit(self) -> None:
        _refuse_changed(self.target, self.target.here)
        try:
            self._new.rename(self.target.here)
        except OSError as error:
            if error.errno not in _NOT_RENAMED:
                raise
            self._instead = _InPlace(self.target, self._scratches, f"it cannot be replaced: {error.strerror}")
            self._instead.commit()
        else:
            _refuse_changed(self.target, self._old)  # a program that had the file open may have written to it

    def undo(self) -> str | None:
        trouble = self._instead.undo() if self._instead else None
        if _is(self.target.here, self._status):
            trouble = _trouble(lambda: self._old.rename(self.target.here), f"{self.target.path} has its new text")
            if trouble:
                return f"{trouble}; its old text is in {self.target.shown(self._rescued())}"
        if self._copied and not trouble:
            _discard(self._copy)
        return trouble

    def _rescued(self) -> Path:
        """Move the old text to a name that is not removed on exit, and return that name."""
        if self._copy:
            return self._copy
        try:
            return keep(self._old, self._scratches, named=self.target.here)[0]
        except OSError:
            self._scratches(self._old.parent).leave(self._old)
            return self._old


class _InPlace:
    """Overwrites an existing file, and keeps a copy of its old text."""

    def __init__(self, target: WriteTarget, scratches: Scratches, why: str) -> None:
        self.target = target
        self._old = target.here.read_bytes()
        self._begun = False
        copy, self._copied = keep(target.here, scratches)
        self._copy = copy
        self.written = Written(target.path, target.file, target.shown(copy), why)

    def commit(self) -> None:
        _refuse_changed(self.target, self.target.here)
        self._begun = True
        overwrite(self.target.here, self.target.text, self.target.status)

    def undo(self) -> str | None:
        trouble = None
        if self._begun:
            what = f"{self.target.path} is damaged, its old text is in {self.written.copy}"
            trouble = _trouble(lambda: overwrite(self.target.here, self._old), what)
        if self._copied and not trouble:
            _discard(self._copy)
        return trouble


def _refuse_changed(target: WriteTarget, file: Path) -> None:
    if target.expected is not None and file.read_bytes() != target.expected:
        raise ChangedError


def _is(file: Path, status: os.stat_result) -> bool:
    """Return whether a path still leads to the file with that status."""
    with contextlib.suppress(OSError):
        return os.path.samestat(file.lstat(), status)
    return False


def _discard(copy: Path | None) -> None:
    if copy:
        with contextlib.suppress(OSError):
            copy.unlink()


def _trouble(restore: Callable[[], object], what: str) -> str | None:
    """Call `restore`; if that fails, return `what` (what was not restored) with the reason."""
    try:
        restore()
    except OSError as error:
        return f"{what} ({error.strerror})"
    return None
