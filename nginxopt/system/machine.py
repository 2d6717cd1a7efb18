"""What a configuration names outside its text: files, users and host names of the machine where nginx runs.

`Machine.here` is this machine, `Machine.at` a folder that stands for the `/` of another one. Only `Machine.here` looks
names up in DNS, for a few seconds at most.
"""

from __future__ import annotations

import datetime
import errno
import grp
import os
import pwd
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from queue import Empty, SimpleQueue
from time import monotonic

from nginxopt.config.root_folder import Entry, Reached, RootFolder
from nginxopt.records import record
from nginxopt.system.certificates import Certificates
from nginxopt.text.source import decimal

_MOST = 4 * 1024 * 1024
"""The most bytes of one file that are read: more than any list of certificates or passwords."""

_SECONDS = 5.0
"""The time limit for all lookups of host names together, in seconds."""

_AT_ONCE = 16

NO_SUCH_NAME = (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME))
"""The errors of getaddrinfo(3) that mean that a name has no address, so that another attempt is useless."""

Lookup = Callable[[Iterable[str]], Mapping[str, bool]]
"""Returns for each host name whether it has an address; names for which that is unknown in time are left out."""


@record(eq=True)
class Account:
    """A user as nginx becomes it: its numbers, and all its groups (initgroups(3))."""

    name: str
    uid: int
    groups: frozenset[int]


@record(eq=True)
class Accounts:
    """The users and groups of a machine. Each function returns None for a name that does not exist.

    Attributes:
        user: Returns the number of a user and that of its group, by name.
        group: Returns the number of a group, by name.
        groups: Returns the numbers of the groups that have a user of that name as a member.
        is_complete: Whether these are all users. With LDAP, there may be others.
    """

    user: Callable[[str], tuple[int, int] | None]
    group: Callable[[str], int | None]
    groups: Callable[[str], frozenset[int]]
    is_complete: bool = True


@record(eq=True, slots=False)
class Machine:
    """A machine that a configuration is checked for.

    Attributes:
        tree: Its files.
        accounts: Its users and groups; None if they are not known.
        now: The time at which certificates must be valid.
        lookup: Looks up host names; None if they must not be looked up.
        starts_as_root: Whether nginx starts as root, and so can read files that only root may; None if that is unknown.
    """

    tree: RootFolder
    accounts: Accounts | None
    now: datetime.datetime
    lookup: Lookup | None = None
    starts_as_root: bool | None = None
    certificates: Certificates = field(default_factory=Certificates)

    @classmethod
    def here(cls, now: datetime.datetime, starts_as_root: bool | None = None) -> Machine:
        """Return this machine."""
        return cls(RootFolder(), _of_this_machine(), now, resolvable, starts_as_root)

    @classmethod
    def at(cls, root: str, now: datetime.datetime) -> Machine:
        """Return the machine whose file system is at `root`. Host names are not looked up."""
        tree = RootFolder(root)
        return cls(tree, _of_files(tree), now)

    def read(self, path: str) -> bytes:
        """Return the content of a file. Raises `OSError` if it cannot be read, or is too large for a file that nginx
        reads.
        """
        data = self.tree.read(path, _MOST + 1)
        if len(data) > _MOST:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), path)
        return data


READ, WRITE, SEARCH = 4, 2, 1


def refuses(reached: Reached, account: Account, wanted: int) -> Entry | None:
    """Return the file or folder whose permissions deny a user access to a path; None if none does.

    `wanted` is the sum of READ, WRITE and SEARCH. An access control list may allow more than the permissions, so an
    entry with one counts as allowing access.
    """
    if account.uid == 0 or reached.entry is None:
        return None
    for folder in reached.folders:
        if not folder.has_acl and not _allows(folder, account, SEARCH):
            return folder
    entry = reached.entry
    return None if entry.has_acl or _allows(entry, account, wanted) else entry


def _allows(entry: Entry, account: Account, wanted: int) -> bool:
    if entry.uid == account.uid:
        shift = 6
    elif entry.gid in account.groups:
        shift = 3
    else:
        shift = 0
    return (entry.mode >> shift) & wanted == wanted


def resolvable(names: Iterable[str], seconds: float = _SECONDS) -> dict[str, bool]:
    """Return which host names have an address; names that are not answered in time are left out.

    Threads that wait longer do not keep the program running.
    """
    waiting, answers = SimpleQueue[str](), SimpleQueue[tuple[str, bool | None]]()
    asked = list(dict.fromkeys(names))
    for name in asked:
        waiting.put(name)
    for _ in asked[:_AT_ONCE]:
        threading.Thread(target=_answer, args=(waiting, answers), daemon=True).start()
    found: dict[str, bool] = {}
    end = monotonic() + seconds
    for _ in asked:
        try:
            name, is_there = answers.get(timeout=max(0.0, end - monotonic()))
        except Empty:
            break
        if is_there is not None:
            found[name] = is_there
    return found


def _answer(waiting: SimpleQueue[str], answers: SimpleQueue[tuple[str, bool | None]]) -> None:
    while True:
        try:
            name = waiting.get_nowait()
        except Empty:
            return
        answers.put((name, has_address(name)))


def has_address(name: str) -> bool | None:
    """Return whether a host name has an address, as `ngx_inet_resolve_host` asks; None if no server answers."""
    try:
        socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        return False if error.errno in NO_SUCH_NAME else None
    except (OSError, UnicodeError):
        return None
    return True


def _of_this_machine() -> Accounts:
    def user(name: str) -> tuple[int, int] | None:
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            return None
        return found.pw_uid, found.pw_gid

    def group(name: str) -> int | None:
        try:
            return grp.getgrnam(name).gr_gid
        except KeyError:
            return None

    def groups(name: str) -> frozenset[int]:
        return frozenset(each.gr_gid for each in grp.getgrall() if name in each.gr_mem)

    return Accounts(user, group, groups)


def _of_files(tree: RootFolder) -> Accounts | None:
    """Return the users in `/etc/passwd` of a tree; None if it has none, such as a part of a file system."""
    try:
        users = {row[0]: (int(row[2]), int(row[3])) for row in _rows(tree, "/etc/passwd", 4)}
        rows = list(_rows(tree, "/etc/group", 4))
    except (OSError, ValueError):
        return None
    numbers = {row[0]: group for row in rows if (group := decimal(row[2])) is not None}
    members = [(numbers[row[0]], row[3].split(",")) for row in rows if row[0] in numbers]

    def groups(name: str) -> frozenset[int]:
        return frozenset(group for group, names in members if name in names)

    return Accounts(users.get, numbers.get, groups, is_complete=_has_only_files(tree))


def _rows(tree: RootFolder, path: str, columns: int) -> Iterator[list[str]]:
    for line in tree.read(path, _MOST).decode(errors="replace").splitlines():
        row = line.split(":")
        if len(row) >= columns and not line.startswith(("#", "+", "-")):
            yield row


def _has_only_files(tree: RootFolder) -> bool:
    """Return whether users are in files only (nsswitch.conf(5)). musl has no such file, and supports only files."""
    try:
        text = tree.read("/etc/nsswitch.conf", _MOST).decode(errors="replace")
    except OSError:
        return True
    sources = {
        word
        for line in text.splitlines()
        for word in line.partition("#")[0].split()[1:]
        if line.startswith(("passwd:", "group:"))
    }
    return sources <= {"files", "compat", "systemd"}
