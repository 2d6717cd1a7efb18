"""Turns the names on the command line into hosts, without reading their configurations."""

from __future__ import annotations

import glob
import os
import posixpath
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nginxopt.errors import InputError, UsageError
from nginxopt.fleet import archives
from nginxopt.fleet.archives import Archive
from nginxopt.fleet.content import MAIN
from nginxopt.fleet.hosts import NOT_HOSTS, FleetHost, default_name, named_by
from nginxopt.fleet.result import is_result
from nginxopt.fleet.storage import Storage, Stored, opened
from nginxopt.system.files import is_among

HostOf = Callable[[str], str | None]


@dataclass(frozen=True)
class Fleet:
    """The hosts of all sources: those with a path of their own, sorted by name, then those in archives."""

    stored: tuple[FleetHost, ...]
    archived: tuple[Archive, ...]

    def __len__(self) -> int:
        return len(self.stored) + sum(len(archive.names) for archive in self.archived)

    def hosts(self, skip: Callable[[str], bool]) -> Iterator[FleetHost]:
        """Yield the hosts, but not those to `skip` by name. Raises `InputError` for an archive that breaks off."""
        yield from (host for host in self.stored if not skip(host.name))
        for archive in self.archived:
            yield from archive.hosts(skip)


def find(sources: Sequence[str], host_from: str | None, own: Collection[str] = ()) -> Fleet:
    """Return the hosts of folders, wildcards, archives, files and URLs.

    In a folder, each child is a host: a folder with a `nginx.conf` somewhere, or a file. With `host_from`, each file
    below it whose path matches is one (`nginxopt.fleet.hosts.named_by`); a matching `nginx.conf` stands for its folder.
    Results of runs, settings, and the other files of the run, `own`, are no hosts, wherever they are on this machine.
    Raises `UsageError` for two hosts of one name, `InputError` for a source without hosts.
    """
    host_of = None if host_from is None else named_by(host_from)
    stored: list[FleetHost] = []
    archived: list[Archive] = []
    for source in sources:
        before = len(stored) + len(archived)
        for found in _of(source, host_of):
            if isinstance(found, Archive):
                archived.append(found)
            elif not is_of_run(str(found.recipe), own):
                stored.append(found)
        if len(stored) + len(archived) == before or any(not archive.names for archive in archived):
            raise InputError("no host found", path=source, hint=_hint(host_from))
    fleet = Fleet(tuple(sorted(stored, key=lambda host: host.name)), tuple(archived))
    _refuse_twice(fleet)
    return fleet


def is_of_run(place: str, own: Collection[str]) -> bool:
    """Return whether a place belongs to a run and is not a host: a result, settings, or one of the files `own`."""
    if "://" in place:
        return False
    return posixpath.basename(place) in NOT_HOSTS or is_among(place, own) or is_result(Path(place))


def _hint(host_from: str | None) -> str:
    if host_from is None:
        return "a host is a folder with a nginx.conf, or a file such as the output of nginx -T"
    return f'no path matches --host-from "{host_from}"'


def _of(source: str, host_of: HostOf | None) -> Iterator[FleetHost | Archive]:
    storage, path = opened(source)
    scheme = source.partition("://")[0] + "://" if "://" in source else ""
    try:
        if storage.is_folder(path):
            yield from _of_folder(storage, path, scheme, host_of)
        elif glob.has_magic(path) and not (not scheme and os.path.lexists(path)):
            for match in storage.glob(path):
                yield from _of_match(storage, match, scheme, host_of)
        else:
            if not scheme:
                os.lstat(path)  # a name that does not exist is misspelled, and not an unreadable host
            yield from _of_match(storage, path, scheme, host_of)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read: {getattr(error, 'strerror', None) or error}", path=source) from None


def _of_match(storage: Storage, path: str, scheme: str, host_of: HostOf | None) -> Iterator[FleetHost | Archive]:
    """Yield the host at a path that was named, or those of an archive."""
    if archives.is_archive(path):
        yield archives.read(scheme + path, host_of)
        return
    name = default_name(path) if host_of is None else host_of(path)
    if name is not None:
        yield _host(name, storage, path, scheme)


def _of_folder(storage: Storage, path: str, scheme: str, host_of: HostOf | None) -> Iterator[FleetHost | Archive]:
    if host_of is not None:
        for inside in storage.below(path):
            if name := host_of(inside):
                yield _host(name, storage, posixpath.join(path, inside), scheme)
        return
    children = [child for child in storage.children(path) if not child.name.startswith(".")]
    if any(child.name == MAIN for child in children):
        yield FleetHost(default_name(posixpath.basename(path.rstrip("/")) or path), Stored(scheme + path, is_tree=True))
        return
    for child in children:
        place = posixpath.join(path, child.name)
        if archives.is_archive(place) and not child.is_folder:
            yield archives.read(scheme + place, None)
        elif child.is_folder:
            yield FleetHost(child.name, Stored(scheme + place, is_tree=True))
        else:
            yield FleetHost(default_name(child.name), Stored(scheme + place, is_tree=False))


def _host(name: str, storage: Storage, path: str, scheme: str) -> FleetHost:
    """Return the host of a folder, of the folder of a main file, or of a file."""
    folder, last = posixpath.split(path)
    if last == MAIN:
        return FleetHost(name, Stored(scheme + (folder or "."), is_tree=True))
    return FleetHost(name, Stored(scheme + path, storage.is_folder(path)))


def _refuse_twice(fleet: Fleet) -> None:
    """Raise `UsageError` for two hosts of the same name."""
    places: dict[str, str] = {}
    named = [(host.name, str(host.recipe)) for host in fleet.stored]
    named += [(name, f"{archive.url}:{name}") for archive in fleet.archived for name in archive.names]
    for name, place in named:
        if name in places:
            raise UsageError(
                f"two hosts are named {name}: {places[name]} and {place}",
                hint="--host-from PATTERN says where the name of a host is in its path",
            )
        places[name] = place
