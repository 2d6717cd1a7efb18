"""A folder that stands for the `/` of a machine: what a path inside of it leads to, as after chroot(2)."""

from __future__ import annotations

import errno
import os
import stat

from nginxopt.records import record

_MOST_LINKS = 40
"""The number of links that Linux follows in one path (path_resolution(7))."""


@record(eq=True)
class Entry:
    """A file or folder of a tree, without following a link.

    Attributes:
        path: Its path inside of the tree, without links in it.
        mode: Type and permissions, as `st_mode` of stat(2).
        uid: The user that owns it.
        gid: The group that owns it.
        size: Its size in bytes.
        has_acl: Whether an access control list (acl(5)) says more than the permissions.
    """

    path: str
    mode: int
    uid: int = 0
    gid: int = 0
    size: int = 0
    has_acl: bool = False

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder."""
        return stat.S_ISDIR(self.mode)

    @property
    def is_file(self) -> bool:
        """Whether it is a regular file."""
        return stat.S_ISREG(self.mode)

    @property
    def is_socket(self) -> bool:
        """Whether it is a UNIX socket."""
        return stat.S_ISSOCK(self.mode)


@record(eq=True)
class Reached:
    """What is at a path.

    Attributes:
        entry: What the path leads to, after all links; None if it leads nowhere.
        folders: The folders that are searched on the way, from the root on.
        error: The errno value of what is not there (`ENOENT`, `ENOTDIR`, `ELOOP`, ...); 0 if `entry` is there.
        is_hidden: Whether this process may not look: what is there is unknown.
    """

    entry: Entry | None
    folders: tuple[Entry, ...] = ()
    error: int = 0
    is_hidden: bool = False


class RootFolder:
    """The files below a folder that stands for `/`.

    Every path is resolved inside of it, as after chroot(2): an absolute symbolic link starts from the folder again, and
    `..` never leaves it.

    `look` and `read` take absolute paths inside of it. What they find is remembered: a configuration names one file in
    many places.
    """

    def __init__(self, root: str = "/") -> None:
        self.root = root.rstrip("/") or "/"  # as the user named it
        self._seen: dict[str, Reached] = {}

    def look(self, path: str) -> Reached:
        """Return what is at an absolute path."""
        if path not in self._seen:
            self._seen[path] = self._look(path)
        return self._seen[path]

    def read(self, path: str, most: int) -> bytes:
        """Return at most `most` bytes of the regular file at a path. Raises `OSError` if it cannot be read."""
        reached = self.look(path)
        if reached.is_hidden:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        if reached.entry is None:
            raise OSError(reached.error, os.strerror(reached.error), path)
        if not reached.entry.is_file:
            raise OSError(errno.EINVAL, "not a regular file", path)
        return self._content(reached.entry.path, most)

    def outside(self, path: str) -> str:
        """Return the path on this machine of an absolute path inside."""
        return self.root.rstrip("/") + path

    def inside(self, path: str) -> str | None:
        """Return the path inside of a path on this machine, whose links stay; None if it is not below the root."""
        absolute = os.path.abspath(path)  # noqa: PTH100 - a path is text here
        beside = os.path.join(os.path.realpath(os.path.dirname(absolute)), os.path.basename(absolute))  # noqa: PTH118, PTH119, PTH120
        roots = (os.path.abspath(self.root), os.path.realpath(self.root))  # noqa: PTH100
        for name, root in zip((absolute, beside), roots, strict=True):
            above = root.rstrip("/")
            if f"{name}/".startswith(f"{above}/"):
                return name[len(above) :] or "/"
        return None

    def _look(self, path: str) -> Reached:
        """Walk along a path, as path_resolution(7)."""
        waiting = _steps(path)
        here, folders, links = "/", [self._entry("/")], 0
        while waiting:
            part = waiting.pop()
            if part in (".", ".."):
                here = here if part == "." else os.path.dirname(here)  # noqa: PTH120
                continue
            there = f"{here.rstrip('/')}/{part}"
            try:
                entry = self._entry(there)
            except OSError as error:
                number = error.errno or errno.EIO
                return Reached(None, tuple(folders), number, is_hidden=number in (errno.EACCES, errno.EPERM))
            if stat.S_ISLNK(entry.mode):
                links += 1
                if links > _MOST_LINKS:
                    return Reached(None, tuple(folders), errno.ELOOP)
                target = self._link(there)
                waiting += _steps(target)
                here = "/" if target.startswith("/") else here
                continue
            if waiting and not entry.is_folder:
                return Reached(None, tuple(folders), errno.ENOTDIR)
            if waiting:
                folders.append(entry)
            here = there
        return Reached(self._entry(here), tuple(folders))

    def _entry(self, path: str) -> Entry:
        """Return the entry at a path whose folders are not links. Raises `OSError`."""
        outside = self.outside(path)
        status = os.lstat(outside)
        has_acl = not stat.S_ISLNK(status.st_mode) and _has_acl(outside)
        return Entry(path, status.st_mode, status.st_uid, status.st_gid, status.st_size, has_acl)

    def _link(self, path: str) -> str:
        return os.readlink(self.outside(path))  # noqa: PTH115

    def _content(self, path: str, most: int) -> bytes:
        opened = os.open(self.outside(path), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY)
        with os.fdopen(opened, "rb") as file:
            return file.read(most)


def _steps(path: str) -> list[str]:
    """Return the parts of a path, the last first. A slash at its end stands for a folder, as `.` does."""
    parts = [part for part in reversed(path.split("/")) if part]
    return [".", *parts] if path.endswith("/") else parts


def _has_acl(path: str) -> bool:
    listed = getattr(os, "listxattr", None)  # Linux only
    try:
        return listed is not None and "system.posix_acl_access" in listed(path, follow_symlinks=False)
    except OSError:  # a file system without attributes
        return False
