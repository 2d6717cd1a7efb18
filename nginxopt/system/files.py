"""Writes files without losing data: all or none, each atomically, keeping links and attributes.

First, each new text is written to a hidden file next to the old one, with the owner, mode and extended attributes of
the old one. Then the current files are compared with the texts that were read. Only then are the new files renamed into
place. A file that cannot be replaced is overwritten, and a copy of its old text is kept. If a step fails, all steps are
undone.

In `nginxopt.system.writing`, `targets` resolves paths and refuses those that must not be written, and `copies` makes
hidden files and copies. The steps below create a file, replace it, or overwrite it in place, and can be undone.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from nginxopt.config import Config
from nginxopt.errors import InputError
from nginxopt.records import record
from nginxopt.system.interrupts import orderly, uninterrupted
from nginxopt.system.writing import DONE, targets
from nginxopt.system.writing.copies import (
    BACKUP,
    NO_LINKS,
    NOT_ALLOWED,
    Scratch,
    Scratches,
    copy_access,
    copy_all,
    duplicate,
    give,
    keep,
    make,
    overwrite,
    sweep,
)
from nginxopt.system.writing.targets import WriteTarget, is_among, refuse_elsewhere

__all__ = [
    "BACKUP",
    "Written",
    "change",
    "folder",
    "is_among",
    "outside",
    "refuse_elsewhere",
    "refuse_unwritable",
    "sweep",
    "write_all",
]

_NO_TEXTS: Mapping[str, bytes] = {}
_NO_FILES: Mapping[str, str] = {}
_NOT_RENAMED = (*NOT_ALLOWED, errno.EBUSY, errno.EXDEV, errno.ETXTBSY)


def write_all(
    texts: Mapping[str, bytes],
    *,
    read: Mapping[str, bytes] = _NO_TEXTS,
    like: Mapping[str, str] = _NO_FILES,
    keep_old: bool = False,
    so_far: str = "nothing was written",
) -> tuple[Written, ...]:
    """Write all texts to their paths, in order, or none of them; return the files that were written.

    Links are followed, those of files that were not read only within the folder that was named. A path that is not a
    regular file (a device, a pipe, /dev/stdout) is written to directly.

    Args:
        texts: The new texts by path.
        read: Texts that were read, by path. They must still be in their files, whether these are written or not.
        like: For the path of a new file, the existing file whose owner and mode it gets.
        keep_old: Whether to keep a copy of each old text.
        so_far: The end of error messages if no file was changed; otherwise they list what could not be undone.

    Raises:
        InputError: If a path cannot be written, or a file was changed after it was read.
    """
    lost: list[str] = []
    try:
        streams, files = targets.find(texts, read, like)
        for stream in streams:
            stream.write()
        written = _written(files, read, lost, keep_old=keep_old)
        DONE.update(dict.fromkeys([*(stream.path for stream in streams), *texts]))
        return written
    except InputError as error:
        outcome = f"could not undo everything: {'; '.join(lost)}" if lost else so_far
        raise InputError(f"{error.message}; {outcome}", path=error.path, hint=error.hint) from None


def _written(
    files: Sequence[WriteTarget], read: Mapping[str, bytes], lost: list[str], *, keep_old: bool
) -> tuple[Written, ...]:
    """Write regular files. If that fails, restore them; descriptions of what cannot be restored are added to `lost`."""
    steps: list[Step] = []
    # Signals may interrupt the wait for another run, but take effect only after the hidden files have been removed.
    with orderly(), _Scratches(files) as scratches, uninterrupted() as leave, contextlib.closing(scratches):
        try:
            for target in map(scratches.pinned, files):
                leave()
                with _naming(target):
                    steps.append(prepared(target, scratches, keep_old=keep_old))
            targets.refuse_changed(read)
            leave()
            for step in steps:
                with _naming(step.target):
                    step.commit()
        except BaseException:
            lost += [trouble for step in reversed(steps) if (trouble := step.undo())]
            raise
    return tuple(step.written for step in steps)


class _Scratches(contextlib.ExitStack):
    """The hidden names in the folders with files to write."""

    def __init__(self, files: Iterable[WriteTarget]) -> None:
        """Lock the folders of files, always in the same order, to avoid deadlocks between runs."""
        super().__init__()
        self._opened: dict[Path, Scratch | OSError] = {}
        try:
            for target in sorted(files, key=lambda target: target.file.parent):
                with _naming(target):
                    self._open(target.file.parent)
        except BaseException:
            self.close()
            raise

    def _open(self, folder: Path) -> None:
        if folder in self._opened:
            return
        try:
            self._opened[folder] = self.enter_context(Scratch(folder))
        except OSError as error:
            if error.errno not in NOT_ALLOWED:
                raise
            self._opened[folder] = error

    def pinned(self, target: WriteTarget) -> WriteTarget:
        """Return a target in its open folder; unchanged if the folder may not be read."""
        scratch = self._opened[target.file.parent]
        if isinstance(scratch, OSError):
            return target
        self._opened[scratch.pinned] = scratch
        return replace(target, pinned=scratch.pinned / target.file.name)

    def __call__(self, folder: Path) -> Scratch:
        """Return the hidden names in a folder. Raises `OSError` if the folder may not be read."""
        scratch = self._opened[folder]
        if isinstance(scratch, OSError):
            raise scratch
        return scratch


@contextlib.contextmanager
def _naming(target: WriteTarget) -> Iterator[None]:
    """Convert errors of the block to `InputError`s that name the file."""
    try:
        yield
    except ChangedError:
        raise targets.changed(target.path) from None
    except OSError as error:
        raise targets.unwritable(target.path, error) from None


def refuse_unwritable(path: str) -> None:
    """Raise `InputError` if a file cannot be written to a path, before long work whose result belongs there."""
    from tempfile import TemporaryFile  # takes 5 ms to import, with the modules for archives

    _, files = targets.find({path: b""}, _NO_TEXTS, _NO_FILES)
    for target in files:
        if target.status is None:
            with _naming(target), TemporaryFile(dir=target.file.parent):
                pass


def folder(path: str, names: Sequence[str]) -> Path:
    """Create the folder at `path`, and in it the folders for the files `names`. Raises `InputError` if that fails."""
    root = Path(path)
    for inner in {root, *((root / name).parent for name in names)}:
        targets.refuse_folder_elsewhere(str(inner), path)
    try:
        for name in ("", *names):
            (root / name).parent.mkdir(parents=True, exist_ok=True) if name else root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot create directory: {error.strerror}", path=path) from None
    return root


# Files of configurations


def change(
    configs: Sequence[Config],
    texts: Mapping[str, bytes],
    *,
    like: Mapping[str, str] | None = None,
    keep_old: bool = False,
    so_far: str = "nothing was written",
) -> tuple[Written, ...]:
    """Write new texts into files of configurations, and new files beside them, with `write_all`.

    Also removes leftovers of killed runs, even if there is nothing to write. Raises `InputError`, without writing, if a
    file of the configurations has changed since it was read, or an include leads to other files now. `so_far` is the
    end of the message if a file cannot be written.
    """
    read = _texts(configs)
    sweep(os.path.dirname(os.path.realpath(path)) for path in read)  # noqa: PTH120
    if not texts:
        return ()
    _refuse_outside(configs, texts)
    for config in configs:
        _refuse_other_files(config)
        _refuse_to_keep_where_it_is_read(config, texts)
    return write_all(texts, read=read, like=like or {}, keep_old=keep_old, so_far=so_far)


def _texts(configs: Iterable[Config]) -> dict[str, bytes]:
    """Return the text that was read from each file."""
    read: dict[str, bytes] = {}
    for config in configs:
        for file in config.files:
            if read.setdefault(file.path, file.source.data) != file.source.data:
                raise targets.changed(file.path)
    return read


def _refuse_outside(configs: Iterable[Config], paths: Iterable[str]) -> None:
    """Raise `InputError` for a path that leads out of what the user named, perhaps through a link."""
    roots = [config.roots for config in configs]
    for path in paths:
        if not any(inside.has(path) for inside in roots):
            raise outside(path)


def outside(*paths: str) -> InputError:
    """Return the error for files outside of the named paths that a command would change."""
    message = f"would change {', '.join(paths)}, outside of the named paths: left; nothing was written"
    return InputError(message, hint="--also DIR takes a directory as one of the named paths")


def _refuse_other_files(config: Config) -> None:
    """Raise `InputError` if an include leads to other files than those that it led to when they were read."""
    for include in config.includes:
        known = [config.origin.identity(file.path) for file in config.included(include)]
        paths = config.origin.matches(config.prefix, str(include.args[0]))
        identities = [config.origin.identity(path) for path in paths]
        pairs = zip(identities, paths, strict=True)
        readable = [identity for identity, path in pairs if identity in known or os.access(path, os.R_OK)]
        if readable != known:
            raise include.error("the files of this include changed during this command; nothing was written")


def _refuse_to_keep_where_it_is_read(config: Config, paths: Iterable[str]) -> None:
    """Raise `InputError` if an include, such as a wildcard with a leading dot, would read the copies of old texts."""
    files = [os.path.split(os.path.realpath(path)) for path in paths]
    copies = [os.path.join(folder, f".{name}.{BACKUP}") for folder, name in files]  # noqa: PTH118
    for include in config.includes:
        name = str(include.args[0])
        if any(config.origin.reads(config.prefix, name, copy) for copy in copies):
            raise include.error("this include would also match the copy of a changed file; nothing was written")


# The steps


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
