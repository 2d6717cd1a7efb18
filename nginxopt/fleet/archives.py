"""Tar and zip files: the configurations of hosts in them, each in memory only while it is read.

A tar is read from beginning to end twice: first for the names in it, then for the contents. The files of a host are
usually next to each other, and the host is complete with the last of them. If a tar has them apart, the files of
incomplete hosts wait in memory. Beyond the budget `archive-waiting`, the hosts with the most waiting bytes are given
up. The members of a zip are read host by host.

An archive may be made to unpack to any size. So what is read at once, what is unpacked, and the number of members have
budgets (`nginxopt.fleet.unpacking`). A host that exceeds one gets a row that says so, and the others are read.
"""

from __future__ import annotations

import lzma
import posixpath
import stat
import struct
import tarfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

from nginxopt import budget
from nginxopt.errors import InputError
from nginxopt.fleet.content import MAIN, HostContent, Link
from nginxopt.fleet.hosts import NOT_HOSTS, FleetHost, default_name
from nginxopt.fleet.unpacking import refuse_large_directory, unpacked
from nginxopt.records import record
from nginxopt.text.display import unicode

SUFFIXES = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz", ".zip")


_Place = Callable[[str], tuple[str, str] | None]
"""Returns the host of a member and its name in the tree of that host, empty for a file by itself."""


@record(eq=True)
class Carried:
    """A configuration that was read from an archive."""

    place: str
    content: HostContent

    def read(self) -> HostContent:
        """Return the configuration."""
        return self.content

    def __str__(self) -> str:
        return self.place


@record(eq=True)
class Refused:
    """A configuration of an archive that is larger than a budget allows."""

    place: str
    error: budget.ExceededError

    def read(self) -> HostContent:
        """Raise the error."""
        raise self.error

    def __str__(self) -> str:
        return self.place


@record(eq=True)
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

    def hosts(self, skip: Callable[[str], bool]) -> Iterator[FleetHost]:
        """Yield the hosts in the order of their last files, but not those to `skip` by name.

        Raises `InputError` for an archive that cannot be read.
        """
        with _blaming(self.url):
            with _members(self.url) as members:
                places = (self._place(member.name) for member in members)
                left = Counter(place[0] for place in places if place and not skip(unicode(place[0])))
            with _members(self.url, self._place) as members:
                yield from _Gathering(self.url, left).hosts(members, self._place)


def read(url: str, host_of: Callable[[str], str | None] | None) -> Archive:
    """Return an archive. Its hosts are found by `host_of`, the function of --host-from.

    Without it, each child of the top folder is a host, or the whole archive if it is a root file system. Raises
    `InputError` for an archive that cannot be read.
    """
    with _blaming(url), _members(url) as members:
        names = [member.name for member in members]
    place = _children(names, url) if host_of is None else _matches(names, host_of)
    return Archive(url, tuple(sorted({found[0] for name in names if (found := place(name))})), place)


_DAMAGED = (
    *(OSError, EOFError, ImportError, RuntimeError, ValueError, KeyError, NotImplementedError),
    *(tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error),
)
"""What the standard library raises for archives that are damaged, or of a kind that it does not read."""


@contextmanager
def _blaming(url: str) -> Iterator[None]:
    try:
        yield
    except MemoryError:
        raise InputError("cannot be read: unpacking it takes more memory than there is", path=url) from None
    except _DAMAGED as error:
        raise InputError(f"cannot be read: {error}", path=url) from None


class _Gathering:
    """Puts the files of hosts together; `left` is the number of files of each host that are still to come."""

    def __init__(self, url: str, left: Counter[str]) -> None:
        self._url = url
        self._left = left
        self._parts: dict[str, dict[str, bytes | Link]] = {}
        self._sizes: Counter[str] = Counter()
        self._waiting = 0

    def hosts(self, members: Iterator[_Member], host: _Place) -> Iterator[FleetHost]:
        """Yield each host with its last file, or as soon as it exceeds a budget."""
        largest, most = budget.limit("host-bytes"), budget.limit("archive-waiting")
        for member in members:
            place = host(member.name)
            if place is None or place[0] not in self._left:
                continue
            name, inside = place
            if self._sizes[name] + member.size > largest:
                yield self._refused(name, "host-bytes")
                continue
            part = member.part()
            self._parts.setdefault(name, {})[inside] = part
            self._sizes[name] += len(part) if isinstance(part, bytes) else 0
            self._waiting += len(part) if isinstance(part, bytes) else 0
            self._left[name] -= 1
            if not self._left[name]:
                self._waiting -= self._sizes.pop(name)
                yield FleetHost(name, Carried(f"{self._url}:{name}", HostContent(self._parts.pop(name))))
            elif self._waiting > most:
                yield self._refused(max(self._sizes, key=lambda name: self._sizes[name]), "archive-waiting")

    def _refused(self, name: str, kind: str) -> FleetHost:
        """Discard the files of a host, and those that follow; return the host with the error."""
        del self._left[name]
        self._parts.pop(name, None)
        self._waiting -= self._sizes.pop(name, 0)
        error = budget.ExceededError(kind, budget.limit(kind), path=f"{self._url}:{name}")
        return FleetHost(name, Refused(f"{self._url}:{name}", error))


def _children(names: list[str], url: str) -> _Place:
    """Return a function that finds the host of a name: the child of the top folder, below folders with one child."""
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
    """Return a function that finds the host of a file, and its path on that host. A host whose main file matches the
    pattern has all files of that folder.
    """
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
def _members(url: str, host: _Place = lambda _: None) -> Iterator[Iterator[_Member]]:
    """Open an archive of this machine, or one that fsspec opens. The members of a zip come host by host."""
    with _opened(url) as file:
        if url.lower().endswith(".zip"):
            refuse_large_directory(file, url)
            with zipfile.ZipFile(file) as archive:
                yield _of_zip(archive, host, url)
        else:
            with unpacked(file, url) as inside, tarfile.open(fileobj=inside, mode="r:") as archive:
                yield _of_tar(archive, url)


def _opened(url: str) -> Any:
    if "://" not in url:
        return open(url, "rb")  # noqa: PTH123 - closed by who asks
    import fsspec

    return fsspec.open(url, "rb")


def _of_tar(archive: tarfile.TarFile, url: str) -> Iterator[_Member]:
    count = budget.Meter("archive-members")
    for info in archive:
        count.spend(path=url)
        archive.members = []  # type: ignore[attr-defined]  # else it keeps all of them
        if info.isreg():
            yield _Member(_clean(info.name), info.size, lambda info=info: _read(archive.extractfile(info)))  # type: ignore[misc]
        elif info.issym():
            yield _Member(_clean(info.name), 0, lambda info=info: Link(info.linkname))  # type: ignore[misc]
        elif info.islnk():  # the name of another member, from the top
            inside = posixpath.relpath(_clean(info.linkname), posixpath.dirname(_clean(info.name)) or ".")
            yield _Member(_clean(info.name), 0, lambda inside=inside: Link(inside))  # type: ignore[misc]


def _of_zip(archive: zipfile.ZipFile, host: _Place, url: str) -> Iterator[_Member]:
    count, unpacked_bytes = budget.Meter("archive-members"), budget.Meter("archive-bytes")

    def order(info: zipfile.ZipInfo) -> str:
        place = host(_clean(info.filename))
        return "" if place is None else place[0]

    for info in sorted(archive.infolist(), key=order):
        count.spend(path=url)
        if info.is_dir():
            continue
        is_link = stat.S_ISLNK(info.external_attr >> 16)

        def part(info: zipfile.ZipInfo = info, is_link: bool = is_link) -> bytes | Link:
            unpacked_bytes.spend(info.file_size, path=url)
            data = archive.read(info)
            return Link(data.decode(errors="surrogateescape")) if is_link else data

        yield _Member(_clean(info.filename), info.file_size, part)


def _read(file: IO[bytes] | None) -> bytes:
    return b"" if file is None else file.read()


def _clean(name: str) -> str:
    return name.removeprefix("./").lstrip("/")
