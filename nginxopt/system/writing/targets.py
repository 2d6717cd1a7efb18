"""Resolves the paths of a write to regular files and streams, and refuses those that must not be written."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from nginxopt.errors import InputError
from nginxopt.records import record

_LINKS = 40
"""The number of consecutive links that Linux follows (path_resolution(7))."""


@record(eq=True)
class WriteTarget:
    """A file that is to be written.

    Attributes:
        path: Its path as the caller gave it.
        file: Its path with links resolved.
        text: Its new text.
        expected: The text that was read from it, which it must still have; None if it was not read.
        status: Its status; None if it does not exist yet.
        like: The file whose permissions a new file gets; None for default permissions.
        pinned: `file` by its open folder, so that it stays there if somebody moves the folder, or puts a link in its
            place; None as long as the folder is not open.
    """

    path: str
    file: Path
    text: bytes
    expected: bytes | None
    status: os.stat_result | None
    like: Path | None
    pinned: Path | None = None

    @property
    def here(self) -> Path:
        """The path by which the file is read and written."""
        return self.pinned or self.file

    def shown(self, other: Path) -> Path:
        """Return the path in messages of a file that is in the same folder."""
        return self.file.with_name(other.name) if other.parent == self.here.parent else other

    @property
    def identity(self) -> object:
        """A value that is the same for all names of the file."""
        return (self.status.st_dev, self.status.st_ino) if self.status else self.file


@record(eq=True)
class Stream:
    """A device, pipe, socket or descriptor of this process, which is written to and not replaced."""

    path: str
    text: bytes
    descriptor: int | None

    def write(self) -> None:
        """Write the text. Raises `InputError` if that fails."""
        try:
            name = self.path if self.descriptor is None else self.descriptor
            with open(name, "wb", closefd=self.descriptor is None) as file:
                file.write(self.text)
        except OSError as error:
            raise unwritable(self.path, error) from None


def find(
    texts: Mapping[str, bytes], read: Mapping[str, bytes], like: Mapping[str, str]
) -> tuple[list[Stream], list[WriteTarget]]:
    """Return the targets of the paths in `texts`, without changing anything. A file with several names is one target.

    Raises `InputError` for a folder, a read-only file, different texts for two names of a file, a stream whose content
    was read (`read`), and what `refuse_elsewhere` refuses. Files that were read are changed where links lead.
    """
    streams: list[Stream] = []
    targets: dict[object, WriteTarget] = {}
    for path, text in texts.items():
        try:
            status = _status(path)
        except OSError as error:
            raise unwritable(path, error) from None
        if status is not None and _is_stream(path, status):
            _refuse_replacing(path, status, read)
            streams.append(Stream(path, text, _descriptor(path)))
            continue
        if path not in read:
            refuse_elsewhere(path)
        model = Path(like[path]) if path in like else None
        target = WriteTarget(path, Path(os.path.realpath(path)), text, read.get(path), status, model)
        _refuse_read_only(target)
        _refuse_two_texts(target, targets.setdefault(target.identity, target))
    return streams, list(targets.values())


def refuse_changed(read: Mapping[str, bytes]) -> None:
    """Raise `InputError` if a file no longer has the text that was read from it. Streams cannot be checked."""
    for path, text in read.items():
        if is_stream(path):
            continue
        try:
            now = Path(path).read_bytes()
        except OSError:
            raise changed(path) from None
        if now != text:
            raise changed(path)


def changed(path: str) -> InputError:
    """Return the error for a file that has changed since this command read it."""
    return InputError("changed during this command", path=path, hint="run the command again")


def _status(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)  # noqa: PTH116
    except FileNotFoundError:
        return None


def is_stream(path: str) -> bool:
    """Return whether a path, such as /dev/null, would be written to and not replaced."""
    try:
        status = _status(path)
    except OSError:
        return False
    return status is not None and not stat.S_ISDIR(status.st_mode) and _is_stream(path, status)


def is_among(path: str, files: Iterable[str]) -> bool:
    """Return whether a path leads to a regular file that is also one of `files`, perhaps under another name.

    In `files`, `-` is standard input.
    """
    status = _status_of_file(path)
    if status is None:
        return False
    others = (_status_of_input(file) for file in files)
    return any(other is not None and os.path.samestat(status, other) for other in others)


def _status_of_file(path: str) -> os.stat_result | None:
    """Return the status of a regular file; None for anything else."""
    try:
        status = _status(path)
    except (OSError, ValueError):
        return None
    return status if status is not None and not _is_stream(path, status) else None


def _status_of_input(path: str) -> os.stat_result | None:
    try:
        return os.fstat(0) if path == "-" else _status(path)
    except (OSError, ValueError):
        return None


def _is_stream(path: str, status: os.stat_result) -> bool:
    return not stat.S_ISREG(status.st_mode) or _descriptor(path) is not None


def _refuse_replacing(path: str, status: os.stat_result, read: Mapping[str, bytes]) -> None:
    """Raise `InputError` for a folder, and for a stream that was read: it has no text that could be changed."""
    if stat.S_ISDIR(status.st_mode):
        raise unwritable(path, OSError(errno.EISDIR, os.strerror(errno.EISDIR)))
    if path in read:
        raise InputError("is not a regular file, so it cannot be changed", path=path)


def refuse_elsewhere(path: str) -> None:
    """Raise `InputError` if links lead an output out of its folder, or out of the current directory.

    Links come with a repository or an archive: whoever made them would choose which file is replaced.
    """
    folder = os.path.dirname(os.path.abspath(path))  # noqa: PTH100, PTH120
    refuse_folder_elsewhere(folder, path)
    leads = os.path.realpath(path)
    if not _is_below(leads, os.path.realpath(folder)):
        raise _elsewhere(path, leads, "its folder")


def refuse_folder_elsewhere(folder: str, path: str) -> None:
    """Raise `InputError`, about `path`, if links lead a folder out of the current directory."""
    here, leads = os.getcwd(), os.path.realpath(folder)  # noqa: PTH109
    if _is_below(os.path.abspath(folder), here) and not _is_below(leads, os.path.realpath(here)):  # noqa: PTH100
        raise _elsewhere(path, leads, "the current directory")


def _is_below(path: str, folder: str) -> bool:
    return os.path.commonpath((path, folder)) == folder


def _elsewhere(path: str, leads: str, where: str) -> InputError:
    hint = "name the place itself, or remove the link"
    return InputError(f"leads to {leads}, outside of {where}", path=path, hint=hint)


def _refuse_two_texts(target: WriteTarget, other: WriteTarget) -> None:
    if other.text != target.text:
        hint = "include it under one name, or make one name a symbolic link"
        raise InputError(f"is the same file as {other.path}, with a different new text", path=target.path, hint=hint)


def _refuse_read_only(target: WriteTarget) -> None:
    """Raise `InputError` if the file is read-only. This applies to root as well, who could override the mode."""
    if target.status is None:
        return
    if not target.status.st_mode & 0o222:
        mode = stat.S_IMODE(target.status.st_mode)
        hint = f"run chmod u+w {target.path}, unless another program generates the file"
        raise InputError(f"is read-only (mode {mode:04o})", path=target.path, hint=hint)
    try:
        os.close(os.open(target.file, os.O_WRONLY | os.O_CLOEXEC))
    except OSError as error:
        raise unwritable(target.path, error) from None


def unwritable(path: str, error: OSError) -> InputError:
    """Return the error for a file that cannot be written."""
    return InputError(f"cannot be written: {error.strerror}", path=path)


def _descriptor(path: str) -> int | None:
    """Return the descriptor of this process that a path such as /dev/stdout or /dev/fd/N names; otherwise None."""
    own = f"/proc/{os.getpid()}/fd"
    for name in _linked(path):
        folder, last = os.path.split(name)
        if last.isdigit() and os.path.realpath(folder) == own:
            return int(last)
    return None


def _linked(path: str) -> Iterator[str]:
    """Yield a path and the targets of the links that it leads through."""
    for _ in range(_LINKS):
        path = os.path.abspath(path)  # noqa: PTH100
        yield path
        try:
            target = os.readlink(path)  # noqa: PTH115
        except OSError:  # it is no link, or not any more
            return
        path = os.path.join(os.path.dirname(path), target)  # noqa: PTH118, PTH120
