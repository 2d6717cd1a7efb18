"""Places with files: folders of this machine, and anything that fsspec opens by a URL."""

from __future__ import annotations

import glob
import os
import posixpath
import stat
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from nginxopt import budget
from nginxopt.config.filesystem import DISK
from nginxopt.errors import InputError, MissingError
from nginxopt.fleet.content import HostContent, Link
from nginxopt.records import record


class FolderEntry(NamedTuple):
    """A child of a folder, by its name."""

    name: str
    is_folder: bool


class Storage(Protocol):
    """A place with files, by paths with slashes."""

    def is_folder(self, path: str) -> bool:
        """Return whether there is a folder at a path."""

    def children(self, path: str) -> list[FolderEntry]:
        """Return the children of a folder, sorted."""

    def glob(self, pattern: str) -> list[str]:
        """Return the paths that a pattern with wildcards matches, sorted."""

    def below(self, path: str) -> Iterator[str]:
        """Yield the paths below a folder, relative to it and sorted, of all that is not a folder."""

    def read(self, path: str) -> bytes | Link:
        """Return the bytes of a file, or the link at a path. Raises `OSError` if there is neither."""


@record(eq=True)
class Stored:
    """The configuration at a place: a file, or a folder with all that is below it."""

    url: str
    is_tree: bool

    def read(self) -> HostContent:
        """Return the configuration."""
        storage, path = opened(self.url)
        if not self.is_tree:
            data = storage.read(path)
            data = DISK.read(path) if isinstance(data, Link) else data
            budget.check("host-bytes", len(data))
            return HostContent({"": data})
        files: dict[str, bytes | Link] = {}
        unread: dict[str, str] = {}
        size, count = budget.Meter("host-bytes"), budget.Meter("files")
        for name in storage.below(path):
            count.spend()
            try:
                files[name] = data = storage.read(posixpath.join(path, name))
            except OSError as error:
                unread[name] = error.strerror or str(error)
                continue
            size.spend(len(data) if isinstance(data, bytes) else 0)
        return HostContent(files, unread)

    def __str__(self) -> str:
        return self.url


class _Local:
    """The folders of this machine."""

    def is_folder(self, path: str) -> bool:
        return os.path.isdir(path)

    def children(self, path: str) -> list[FolderEntry]:
        with os.scandir(path) as entries:
            return sorted(FolderEntry(entry.name, entry.is_dir()) for entry in entries)

    def glob(self, pattern: str) -> list[str]:
        return sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 - the pattern may be absolute or not

    def below(self, path: str) -> Iterator[str]:
        for folder, folders, files in os.walk(path, onerror=_raise):
            links = [name for name in folders if os.path.islink(os.path.join(folder, name))]  # noqa: PTH118
            folders[:] = sorted(set(folders) - set(links))
            inside = os.path.relpath(folder, path)
            for name in sorted([*files, *links]):
                yield name if inside == "." else f"{inside}/{name}"

    def read(self, path: str) -> bytes | Link:
        mode = os.lstat(path).st_mode
        return Link(os.readlink(path)) if stat.S_ISLNK(mode) else DISK.read(path)  # noqa: PTH115


@record(eq=True)
class _Remote:
    """A file system of fsspec; paths are relative to its protocol."""

    files: Any

    def is_folder(self, path: str) -> bool:
        return bool(self.files.isdir(path))

    def children(self, path: str) -> list[FolderEntry]:
        return sorted(
            FolderEntry(posixpath.basename(entry["name"].rstrip("/")), entry["type"] == "directory")
            for entry in self.files.ls(path, detail=True)
        )

    def glob(self, pattern: str) -> list[str]:
        return sorted(self.files.glob(pattern))

    def below(self, path: str) -> Iterator[str]:
        top = path.rstrip("/") + "/"
        yield from sorted(found.removeprefix(top) for found in self.files.find(path))

    def read(self, path: str) -> bytes | Link:
        return bytes(self.files.cat_file(path))


def opened(url: str) -> tuple[Storage, str]:
    """Return the storage of a path or URL, and the path in it.

    Raises `MissingError` if fsspec lacks a package for the protocol, `InputError` if it does not know it.
    """
    if "://" not in url:
        return _Local(), url
    import fsspec

    try:
        files, path = fsspec.core.url_to_fs(url)
    except ImportError as error:
        raise MissingError(f"{url.partition(':')[0]}:// cannot be opened: {error}") from None
    except ValueError as error:
        raise InputError(str(error), path=url) from None
    return _Remote(files), str(path)


def _raise(error: OSError) -> None:
    raise error
