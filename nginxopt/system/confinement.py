"""Confines a process that reads untrusted input: what the kernel forbids, no directive can do.

A confined process

- is `nobody` where this one is root, and can gain no privileges (PR_SET_NO_NEW_PRIVS);
- writes only in its folder and to devices (Landlock, Linux 5.13), whatever its user could write;
- has limits of memory, files and time, writes no core dump, and ends with this process;
- gets only a few system variables of this process's environment (`Confinement.environment`);
- is in a network without a way out, if it is given one (`nginxopt.system.network`).

What the kernel does not offer, such as namespaces in some containers, is left out. Whoever reads a configuration
refuses or replaces what would need it (`nginxopt.system.nginx.trial`).
"""

from __future__ import annotations

import ctypes
import os
import pwd
import resource
import signal
import stat
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from nginxopt.errors import InputError
from nginxopt.records import record
from nginxopt.system.network import MACHINE, Network

_LIBC = ctypes.CDLL(None, use_errno=True)

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38

_LANDLOCK_CREATE_RULESET, _LANDLOCK_ADD_RULE, _LANDLOCK_RESTRICT_SELF = 444, 445, 446  # the same on every machine
_LANDLOCK_CREATE_RULESET_VERSION, _LANDLOCK_RULE_PATH_BENEATH = 1, 1
_WRITE_FILE = 1 << 1
_WRITES = {1: _WRITE_FILE | 0b1_1111_1111 << 4, 2: 1 << 13, 3: 1 << 14}
"""The rights of Landlock that are writes, by the version that brought them: write and remove files, make files of each
kind; link and rename to other folders; truncate."""

_GIB = 1 << 30
_MEMORY = 2 * _GIB
_ADDRESSES = 16 * _GIB
"""The limit of the address space in bytes. Shared memory zones reserve much of it, and use little."""
_FILE = _GIB
_PROCESSES = 1024
_NOBODY = "nobody"
_KEPT = ("PATH", "TZ", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH")


@record(eq=True)
class Confinement:
    """How a process is confined.

    Attributes:
        folder: Where it may write, also temporary files. Its user becomes the owner of everything below.
        also: Further folders where it may write.
        network: The network that it is in.
        processor_seconds: The processor time after which it is killed; None for no limit.
        traces: Whether it traces another confined process. It may then write wherever its user may, because Landlock
        does not let a process trace one with other restrictions.
    """

    folder: Path
    also: tuple[Path, ...] = ()
    network: Network = MACHINE
    processor_seconds: int | None = None
    traces: bool = False

    def prepare(self) -> Callable[[], None]:
        """Prepare the folder, and return what the process does before its program; see `nginxopt.system.process`.

        Raises `InputError` if its user, if that is another one, cannot enter the folder.
        """
        user = trial_user()
        if user is not None:
            for folder in (self.folder, *self.also):
                _refuse_unreachable(folder, *user)
                _give(folder, *user)
        rights = 0 if self.traces else _writes()
        limits = self._limits()
        folders = [*map(os.fsencode, (self.folder, *self.also))]

        def confine() -> None:
            self.network.enter()
            for limit, most in limits:
                _lower(limit, most)
            if user is not None:
                os.setgroups([])
                os.setgid(user[1])
                os.setuid(user[0])
            if user is not None:  # otherwise, it would count all processes of this user
                _lower(resource.RLIMIT_NPROC, _PROCESSES)
            _LIBC.prctl(_PR_SET_DUMPABLE, 0)
            if _LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 and rights:
                _write_only(folders, rights)

        return confine

    def environment(self, variables: Mapping[str, str] = os.environ) -> dict[str, str]:
        """Return the variables that the process gets: no secrets of a pipeline, and no sockets in `NGINX`."""
        kept = {name: variables[name] for name in _KEPT if name in variables}
        return {**kept, "TMPDIR": str(self.folder)}

    def _limits(self) -> list[tuple[int, int]]:
        limits = [
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_DATA, _MEMORY),
            (resource.RLIMIT_AS, _ADDRESSES),
            (resource.RLIMIT_FSIZE, _FILE),
        ]
        if self.processor_seconds is not None:
            limits.append((resource.RLIMIT_CPU, self.processor_seconds))
        return limits


@cache
def trial_user() -> tuple[int, int] | None:
    """Return the user and the group that a confined process has; None for those of this process, which is not root."""
    if os.geteuid() != 0:
        return None
    try:
        entry = pwd.getpwnam(_NOBODY)
    except KeyError:
        return 65_534, 65_534
    return entry.pw_uid, entry.pw_gid


@cache
def _writes() -> int:
    """Return the rights of Landlock that are writes, as far as the kernel knows them; 0 without Landlock."""
    version = _LIBC.syscall(_LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), _LANDLOCK_CREATE_RULESET_VERSION)
    return sum(rights for since, rights in _WRITES.items() if since <= version)


def open_to_trials(folder: Path) -> None:
    """Let the user of confined processes enter a folder, in which they may get a folder of their own."""
    user = trial_user()
    if user is not None:
        os.chown(folder, -1, user[1])
        folder.chmod(stat.S_IMODE(folder.stat().st_mode) | stat.S_IXGRP)


def _refuse_unreachable(folder: Path, user: int, group: int) -> None:
    """Raise `InputError` if a user may not pass a folder above another one."""
    for parent in folder.resolve().parents:
        status = parent.stat()
        shift = 6 if status.st_uid == user else 3 if status.st_gid == group else 0
        if not status.st_mode >> shift & stat.S_IXOTH:
            raise InputError(
                f"{_NOBODY} cannot enter it, as whom root runs nginx, and so not {folder}",
                path=str(parent),
                hint="choose a folder that others can enter",
            )


def _give(folder: Path, user: int, group: int) -> None:
    """Make a user the owner of a folder and of all in it. Links stay as they are, and so do their targets."""
    for root, folders, files in os.walk(folder):
        for name in (".", *folders, *files):
            os.chown(os.path.join(root, name), user, group, follow_symlinks=False)  # noqa: PTH118 - a path is text here


def _lower(limit: int, most: int) -> None:
    """Lower a limit for good."""
    hard = resource.getrlimit(limit)[1]
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(limit, (most, most))


def _write_only(folders: Sequence[bytes], rights: int) -> None:
    """Forbid this process to write elsewhere than in some folders, or to a device."""
    ruleset = _LIBC.syscall(
        _LANDLOCK_CREATE_RULESET, ctypes.create_string_buffer(struct.pack("=Q", rights), 8), ctypes.c_size_t(8), 0
    )
    if ruleset < 0:
        return
    for path, allowed in (*((folder, rights) for folder in folders), (b"/dev", _WRITE_FILE)):
        try:
            beneath = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue
        rule = ctypes.create_string_buffer(struct.pack("=Qi", allowed, beneath), 12)
        _LIBC.syscall(_LANDLOCK_ADD_RULE, ruleset, _LANDLOCK_RULE_PATH_BENEATH, rule, 0)
        os.close(beneath)
    _LIBC.syscall(_LANDLOCK_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def end_with(parent: int) -> None:
    """Have the kernel send this process SIGTERM when its parent ends; end it if that has ended already."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        os._exit(1)


def hosts_of(words: Iterable[str]) -> tuple[str, ...]:
    """Return the words that can be names of hosts in a file such as hosts(5), each once."""
    return tuple(dict.fromkeys(word for word in words if word and not set(word) - _OF_NAMES))


_OF_NAMES = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_")
