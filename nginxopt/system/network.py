"""Private networks with 127.0.0.1 and no way out (network_namespaces(7)), for nginx and its clients and upstreams.

A process in such a network reaches only what listens in it: no service of this machine, no other machine, and no
resolver. A socket stays in the network in which it was made, whichever process has it. So this process can have the
sockets of clients and upstreams in there: copies of it enter the network, open sockets, and send them back (SCM_RIGHTS
in unix(7)).
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import socket
import struct
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

_LIBC = ctypes.CDLL(None, use_errno=True)

_CLONE_NEWNS, _CLONE_NEWUSER, _CLONE_NEWNET = 0x20000, 0x10000000, 0x40000000
_MS_BIND, _MS_REC, _MS_PRIVATE = 0x1000, 0x4000, 0x40000
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1
_ANY_ADDRESS = (
    ("/proc/sys/net/ipv4/ip_unprivileged_port_start", b"0"),
    ("/proc/sys/net/ipv4/ip_nonlocal_bind", b"1"),
    ("/proc/sys/net/ipv6/ip_nonlocal_bind", b"1"),
)
"""Settings that let a process bind any address in its own network, as a configuration may name addresses of another
machine.
"""

_LOOPBACK = "127.0.0.1"
_SECONDS = 10.0
_SOCKETS = 32
"""The number of sockets that are made at once: copying this process takes longer than making them."""
_MOST = 200
"""The most descriptors in one message; the kernel allows 253 (SCM_MAX_FD)."""


class Network:
    """The network of this machine, or a private one (`own_network`); `is_own` says which."""

    is_own = False

    def tcp(self) -> socket.socket:
        """Return a new TCP socket in it."""
        return socket.socket()

    def listening(self) -> socket.socket:
        """Return a socket that listens on a free port of 127.0.0.1."""
        listening = self.tcp()
        try:
            listening.bind((_LOOPBACK, 0))
            listening.listen()
        except BaseException:
            listening.close()
            raise
        return listening

    def enter(self) -> None:
        """Move this process into the network; it must have a single thread. Raises `OSError` if that fails."""


MACHINE = Network()
"""The network of this machine."""


class _OwnNetwork(Network):
    """A network with 127.0.0.1 alone."""

    is_own = True

    def __init__(self, spaces: Sequence[int]) -> None:
        """Take the descriptors of its namespaces, in the order in which they are entered."""
        self._spaces = spaces
        self._spare: list[socket.socket] = []
        self._lock = threading.Lock()

    def tcp(self) -> socket.socket:
        with self._lock:
            if not self._spare:
                self._spare = [socket.socket(fileno=each) for each in _fetched(self._opened)]
            if not self._spare:
                raise OSError("no socket can be made in a network namespace")
            return self._spare.pop()

    def enter(self) -> None:
        folder = Path.cwd()  # entering a mount namespace changes to its root
        self._join()
        os.chdir(folder)

    def _join(self) -> None:
        for space in self._spaces:
            _succeeds(_LIBC.setns(space, 0))

    def close(self) -> None:
        """Release it. It ends with the last process and socket in it."""
        for made in self._spare:
            made.close()
        for space in self._spaces:
            os.close(space)

    def _opened(self) -> Iterator[int]:
        self._join()
        return (socket.socket().detach() for _ in range(_SOCKETS))


@contextlib.contextmanager
def own_network(hosts: Path | None = None, *, like_machine: bool = False) -> Iterator[Network]:
    """Yield a private network, or that of this machine if the kernel does not allow one.

    `hosts` is a file that replaces /etc/hosts for the processes in it. Then they can also bind any address and port.
    With `like_machine`, it has the settings of the network of this machine (sysctl(8)), such as the longest queue of a
    listener.
    """
    settings = [*(_settings() if like_machine else ()), *(_ANY_ADDRESS if hosts is not None else ())]
    spaces = _fetched(lambda: _made(hosts, settings))
    if not spaces:
        yield MACHINE
        return
    network = _OwnNetwork(spaces)
    try:
        yield network
    finally:
        network.close()


@cache
def is_to_be_had() -> bool:
    """Return whether the kernel lets this process make a private network."""
    with own_network() as network:
        return network.is_own


def hosts_file(folder: Path, names: Iterable[str]) -> Path:
    """Write a file in the format of hosts(5), in which all names are 127.0.0.1, and return its path."""
    path = folder / "hosts"
    lines = (f"{_LOOPBACK} {name}\n" for name in dict.fromkeys(["localhost", *names]))
    path.write_bytes("".join(lines).encode(errors="surrogateescape"))
    path.chmod(0o644)
    return path


def _fetched(opened: Callable[[], Iterable[int]]) -> list[int]:
    """Return the descriptors that a function opens in a copy of this process; none if it fails.

    The copy has a single thread, and ends with the function, which must take no locks and import nothing.
    """
    here, there = socket.socketpair()
    with here, there:
        copy = _fork()
        if not copy:
            try:
                socket.send_fds(there, [b"."], list(opened()))
            finally:
                os._exit(0)
        there.close()
        descriptors = socket.recv_fds(here, 1, _MOST, socket.MSG_CMSG_CLOEXEC)[1]
        os.waitpid(copy, 0)
    return list(descriptors)


def _fork() -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of Python 3.12, for copies that go on to use locks
        return os.fork()


def _made(hosts: Path | None, settings: Iterable[tuple[str, bytes]]) -> Iterator[int]:
    """Move this process into a new network, and yield descriptors of its namespaces. Raises `OSError` if that fails."""
    as_root = os.geteuid() == 0
    uid, gid = os.geteuid(), os.getegid()
    spaces = _CLONE_NEWNET | (0 if hosts is None else _CLONE_NEWNS) | (0 if as_root else _CLONE_NEWUSER)
    _unshare(spaces)
    if not as_root:
        _write("/proc/self/setgroups", b"deny")
        _write("/proc/self/uid_map", b"%d %d 1" % (uid, uid))
        _write("/proc/self/gid_map", b"%d %d 1" % (gid, gid))
    if hosts is not None:
        _LIBC.mount(None, b"/", None, _MS_REC | _MS_PRIVATE, None)
        _LIBC.mount(os.fsencode(hosts), b"/etc/hosts", None, _MS_BIND, None)
    for path, value in settings:
        with contextlib.suppress(OSError):
            _write(path, value)
    _start_loopback()
    with MACHINE.listening() as listening:
        socket.create_connection(listening.getsockname(), _SECONDS).close()
    for name, kind in (("user", _CLONE_NEWUSER), ("mnt", _CLONE_NEWNS), ("net", _CLONE_NEWNET)):
        if spaces & kind:
            yield os.open(f"/proc/self/ns/{name}", os.O_RDONLY)


def _unshare(spaces: int) -> None:
    _succeeds(_LIBC.unshare(spaces))


def _succeeds(result: int) -> None:
    if result:
        raise OSError(number := ctypes.get_errno(), os.strerror(number))


def _settings() -> Iterator[tuple[str, bytes]]:
    """Yield the files with settings of this network, and their content."""
    for folder in ("core", "ipv4"):
        for path in Path("/proc/sys/net", folder).iterdir():
            with contextlib.suppress(OSError):  # a folder, or one that cannot be read
                yield str(path), path.read_bytes()


def _start_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        name = struct.pack("16sH14x", b"lo", 0)
        flags = struct.unpack_from("H", fcntl.ioctl(any_socket, _SIOCGIFFLAGS, name), 16)[0]
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | _IFF_UP))


def _write(path: str, data: bytes) -> None:
    handle = os.open(path, os.O_WRONLY)
    try:
        os.write(handle, data)
    finally:
        os.close(handle)
