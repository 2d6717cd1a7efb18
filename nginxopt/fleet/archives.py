"""Tar and zip files: the configurations of hosts in them, each in memory only while it is read.

An archive is read from its beginning to its end by the command, twice: for the names in it, and for the contents. The
files of a host are usually next to each other; it is complete with its last one.
"""

from __future__ import annotations

import posixpath
import stat
import tarfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

from nginxopt.errors import InputError
from nginxopt.fleet.content import MAIN, Content, Link
from nginxopt.fleet.hosts import NOT_HOSTS, Host, default_name
from nginxopt.fleet.storage import LARGEST
from nginxopt.text.escape import unicode

SUFFIXES = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz", ".zip")


_Place = Callable[[str], tuple[str, str] | None]
"""Returns the host of a member and its name in the tree of that host, empty for a file by itself."""


@dataclass(frozen=True, slots=True)
class Carried:
    """A configuration that was read from an archive."""

    place: str
    content: Content

    def read(self) -> Content:
        """Return the configuration."""
        return self.content

    def __str__(self) -> str:
        return self.place


@dataclass(frozen=True, slots=True)
class _Member:
    name: str
    size: int
    part: Callable[[], bytes | Link]


def is_archive(path: str) -> bool:
    """Return whether a path is that of an archive, by its suffix."""
    return path.lower().endswith(SUFFIXES)


@dataclass(frozen=True)
class Archive:
    """An archive with the names of the hosts in it, in the order of the names."""

    url: str
    names: tuple[str, ...]
    _place: _Place

    def hosts(self, skip: Callable[[str], bool]) -> Iterator[Host]:
        """Yield the hosts in the order of their last files, but not those to `skip` by name.

        Raises `InputError` for an archive that cannot be read.
        """
        with _blaming(self.url):
            with _members(self.url) as members:
                places = (self._place(member.name) for member in members)
                left = Counter(place[0] for place in places if place and not skip(unicode(place[0])))
            with _members(self.url) as members:
                yield from _gathered(self.url, members, self._place, left)


def read(url: str, host_of: Callable[[str], str | None] | None) -> Archive:
    """Return an archive. Its hosts are found by `host_of`, the function of --host-from.

    Without it, each child of the top folder is a host, or the whole archive if it is a root file system. Raises
    `InputError` for an archive that cannot be read.
    """
    with _blaming(url), _members(url) as members:
        names = [member.name for member in members]
    place = _children(names, url) if host_of is None else _matches(names, host_of)
    return Archive(url, tuple(sorted({found[0] for name in names if (found := place(name))})), place)


@contextmanager
def _blaming(url: str) -> Iterator[None]:
    try:
        yield
    except (OSError, EOFError, ImportError, tarfile.TarError, zipfile.BadZipFile, RuntimeError, ValueError) as error:
        raise InputError(f"cannot be read: {error}", path=url) from None


def _gathered(url: str, members: Iterator[_Member], host: _Place, left: Counter[str]) -> Iterator[Host]:
    parts: dict[str, dict[str, bytes | Link]] = {}
    sizes: Counter[str] = Counter()
    for member in members:
        place = host(member.name)
        if place is None or place[0] not in left:
            continue
        name, inside = place
        sizes[name] += member.size
        if sizes[name] > LARGEST:
            raise InputError(f"{name} has more than {LARGEST // 1024**2} MiB", path=url)
        parts.setdefault(name, {})[inside] = member.part()
        left[name] -= 1
        if not left[name]:
            yield Host(name, Carried(f"{url}:{name}", Content(parts.pop(name))))


def _children(names: list[str], url: str) -> _Place:
    """Return the host of each name: the child of the first folder that does not stand alone."""
    if f"etc/nginx/{MAIN}" in names:  # a root file system
        whole = default_name(url[: -len(next(suffix for suffix in SUFFIXES if url.lower().endswith(suffix)))])
        return lambda name: (whole, name)
    top = ""
    while True:
        inside = [name.removeprefix(top) for name in names if name.startswith(top)]
        first = {name.partition("/")[0] for name in inside}
        if len(first) != 1 or any("/" not in name for name in inside) or f"{min(first)}/{MAIN}" in inside:
            break
        top += f"{min(first)}/"

    def host(name: str) -> tuple[str, str] | None:
        child, slash, inside = name.removeprefix(top).partition("/")
        if child.startswith(".") or (not slash and child in NOT_HOSTS):
            return None
        return (child, inside) if slash else (default_name(child), "")

    return host


def _matches(names: list[str], host_of: Callable[[str], str | None]) -> _Place:
    """Return the host of each name by a pattern: of the file that matches, and of all in its folder for a main file."""
    folders: dict[str, str] = {}
    files: dict[str, str] = {}
    for name in names:
        if (host := host_of(name)) is None:
            continue
        folder, _, last = name.rpartition("/")
        if last == MAIN:
            folders[f"{folder}/" if folder else ""] = host
        else:
            files[name] = host

    def place(name: str) -> tuple[str, str] | None:
        if name in files:
            return files[name], ""
        folder = name
        while folder:
            folder = folder.rstrip("/").rpartition("/")[0]
            folder = f"{folder}/" if folder else ""
            if folder in folders:
                return folders[folder], name.removeprefix(folder)
        return None

    return place


@contextmanager
def _members(url: str) -> Iterator[Iterator[_Member]]:
    """Open an archive of this machine, or one that fsspec opens."""
    with _opened(url) as file:
        if url.lower().endswith(".zip"):
            with zipfile.ZipFile(file) as archive:
                yield _of_zip(archive)
        else:
            with tarfile.open(fileobj=file, mode="r:*") as archive:
                yield _of_tar(archive)


def _opened(url: str) -> Any:
    if "://" not in url:
        return open(url, "rb")  # noqa: PTH123 - closed by who asks
    import fsspec

    return fsspec.open(url, "rb")


def _of_tar(archive: tarfile.TarFile) -> Iterator[_Member]:
    for info in archive:
        archive.members = []  # type: ignore[attr-defined]  # else it keeps all of them
        if info.isreg():
            yield _Member(_clean(info.name), info.size, lambda info=info: _read(archive.extractfile(info)))  # type: ignore[misc]
        elif info.issym():
            yield _Member(_clean(info.name), 0, lambda info=info: Link(info.linkname))  # type: ignore[misc]
        elif info.islnk():  # the name of another member, from the top
            inside = posixpath.relpath(_clean(info.linkname), posixpath.dirname(_clean(info.name)) or ".")
            yield _Member(_clean(info.name), 0, lambda inside=inside: Link(inside))  # type: ignore[misc]


def _of_zip(archive: zipfile.ZipFile) -> Iterator[_Member]:
    for info in archive.infolist():
        if info.is_dir():
            continue
        is_link = stat.S_ISLNK(info.external_attr >> 16)

        def part(info: zipfile.ZipInfo = info, is_link: bool = is_link) -> bytes | Link:
            data = archive.read(info)
            return Link(data.decode(errors="surrogateescape")) if is_link else data

        yield _Member(_clean(info.filename), info.file_size, part)


def _read(file: IO[bytes] | None) -> bytes:
    return b"" if file is None else file.read()


def _clean(name: str) -> str:
    return name.removeprefix("./").lstrip("/")
