"""Writes files without losing data: all or none, each atomically, keeping links and attributes.

Every new text is first written to a hidden file next to the old one, with its owner, mode and extended attributes. Then
all texts that were read are compared with the current files, and only then the new files are renamed into place. A file
that cannot be replaced is written in place, and a copy of its old text is kept. If a step fails, all are undone.

`targets` finds what the paths stand for and what must not be written; `steps` has the ways to write one file, each with
its way back; `copies`, `attributes`, `scratch` and `interrupts` are what they are made of.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from nginxopt.errors import InputError
from nginxopt.system.interrupts import uninterrupted
from nginxopt.system.writing import targets
from nginxopt.system.writing.copies import BACKUP, NOT_ALLOWED
from nginxopt.system.writing.scratch import Scratch, sweep
from nginxopt.system.writing.steps import ChangedError, Step, Written, prepared
from nginxopt.system.writing.targets import WriteTarget, is_among

__all__ = ["BACKUP", "Written", "folder", "is_among", "sweep", "write_all"]

_NO_TEXTS: Mapping[str, bytes] = {}
_NO_FILES: Mapping[str, str] = {}


def write_all(
    texts: Mapping[str, bytes],
    *,
    read: Mapping[str, bytes] = _NO_TEXTS,
    like: Mapping[str, str] = _NO_FILES,
    keep_old: bool = False,
    so_far: str = "nothing was written",
) -> tuple[Written, ...]:
    """Write each text to its path, in order, or none of them; return what was written.

    `read` has texts that must still stand in their files, whether these are written or not. `like` names for a new file
    one whose owner and mode it gets. With `keep_old` a copy of each old text is kept. Links are followed. What is not a
    regular file (a device, a pipe, /dev/stdout) is written to as it is. Raises `InputError` for a path that cannot be
    written and for a file that was changed since it was read; it ends with `so_far`, or with what cannot be undone.
    """
    lost: list[str] = []
    try:
        streams, files = targets.find(texts, read, like)
        for stream in streams:
            stream.write()
        return _written(files, read, lost, keep_old=keep_old)
    except InputError as error:
        outcome = f"could not undo everything: {'; '.join(lost)}" if lost else so_far
        raise InputError(f"{error.message}; {outcome}", path=error.path, hint=error.hint) from None


def _written(
    files: Sequence[WriteTarget], read: Mapping[str, bytes], lost: list[str], *, keep_old: bool
) -> tuple[Written, ...]:
    """Write regular files; what cannot be restored after a failure is added to `lost`."""
    steps: list[Step] = []
    # The hidden names are gone before signals take effect; the wait for another run may be interrupted.
    with _Scratches(files) as scratches, uninterrupted(), contextlib.closing(scratches):
        try:
            for target in files:
                with _naming(target):
                    steps.append(prepared(target, scratches, keep_old=keep_old))
            targets.refuse_changed(read)
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
        """Open the folders of files, always in the same order, to avoid deadlocks between runs."""
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

    def __call__(self, folder: Path) -> Scratch:
        """Return the names in a folder. Raises `OSError` if it may not be read."""
        scratch = self._opened[folder]
        if isinstance(scratch, OSError):
            raise scratch
        return scratch


@contextlib.contextmanager
def _naming(target: WriteTarget) -> Iterator[None]:
    """Name the file of a failure."""
    try:
        yield
    except ChangedError:
        raise targets.changed(target.path) from None
    except OSError as error:
        raise targets.unwritable(target.path, error) from None


def folder(path: str, names: Sequence[str]) -> Path:
    """Make the folder at `path` and the folders of `names` in it. Raises `InputError` if that fails."""
    root = Path(path)
    try:
        for name in ("", *names):
            (root / name).parent.mkdir(parents=True, exist_ok=True) if name else root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot create directory: {error.strerror}", path=path) from None
    return root
