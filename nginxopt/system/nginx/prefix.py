"""Prepares private runs of nginx: a folder as prefix, free ports, and a configuration that uses them."""

from __future__ import annotations

import contextlib
import os
import posixpath
import shutil
import socket
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from nginxopt.errors import InputError
from nginxopt.system.interrupts import temporary_folder
from nginxopt.system.network import MACHINE, Network

_LOOPBACK = "127.0.0.1"
NO_FILES: Mapping[str, bytes] = {}

_FILE_TIME = 946_684_800  # fixed, so that Last-Modified and ETag of served files are the same in every run


def configuration(
    servers: Sequence[bytes] = (),
    ports: Sequence[int] = (),
    *,
    http: bytes = b"",
    main: bytes = b"",
    log_level: str = "crit",
) -> bytes:
    """Return a complete configuration for a single-process nginx, in which all paths are relative to its prefix.

    `servers[i]` is the content of a server that listens on 127.0.0.1 at `ports[i]`, or without `ports` on a UNIX socket
    in the prefix, which is enough for `Binary.test`. `http` is put before the servers in the http block, and `main` at
    the top of the file. Static files are served from `html`.
    """
    lines = [
        b"daemon off; master_process off; pid nginx.pid;",
        f"error_log error.log {log_level};".encode(),
        main,
        b"events { worker_connections 512; }",
        b"http {",
        b"access_log off; server_tokens on; root html; keepalive_requests 1000000000;",
        b"client_body_temp_path temp/body; proxy_temp_path temp/proxy; fastcgi_temp_path temp/fastcgi;",
        b"uwsgi_temp_path temp/uwsgi; scgi_temp_path temp/scgi;",
        http,
    ]
    for index, server in enumerate(servers):
        address = f"127.0.0.1:{ports[index]} reuseport" if ports else f"unix:temp/{index}.sock"
        lines += [f"server {{ listen {address};".encode(), server, b"}"]
    return b"\n".join([*lines, b"}", b""])


@contextlib.contextmanager
def private_prefix(files: Mapping[str, bytes] = NO_FILES) -> Iterator[Path]:
    """Yield a new directory (mode 0700) with `html`, `temp` and the given files, and remove it at the end."""
    with temporary_folder() as name:
        prefix = Path(name).resolve()
        for directory in ("html", "temp"):
            (prefix / directory).mkdir()
        for path, data in files.items():
            (prefix / path).parent.mkdir(parents=True, exist_ok=True)
            (prefix / path).write_bytes(data)
            os.utime(prefix / path, (_FILE_TIME, _FILE_TIME))
        yield prefix


@contextlib.contextmanager
def private_disk() -> Iterator[Path]:
    """Yield a new folder that a confined nginx may read, but not write, and remove it at the end."""
    with temporary_folder() as name:
        disk = Path(name).resolve()
        disk.chmod(0o755)
        yield disk


def lay(disk: Path, files: Mapping[str, bytes], *, modified: int) -> None:
    """Put these files on a disk, modified at `modified` (seconds since 1970), and no others. Folders end with a slash.

    A name cannot lead out of the disk: `..` stops at its top.
    """
    for entry in disk.iterdir():
        shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
    for name, data in files.items():
        path = disk / posixpath.normpath(f"/{name}").strip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("/"):
            path.mkdir(exist_ok=True)
        elif not os.path.isdir(path):
            path.write_bytes(data)
            os.utime(path, (modified, modified))


@contextlib.contextmanager
def reserved_ports(
    count: int, *, avoid: bytes = b"", host: str = _LOOPBACK, network: Network = MACHINE
) -> Iterator[tuple[int, ...]]:
    """Yield free ports of an address in a network, whose digits do not occur in `avoid`, and reserve them meanwhile.

    The ports are bound, but nothing listens on them. So nginx can bind them, as it sets SO_REUSEADDR (or, run by the
    same user, `reuseport`), but the system gives them to no client and to no program that asks for a free port. Passing
    listening sockets in the variable NGINX would be simpler, but a single-process nginx 1.22.1 then dies of SIGSEGV.
    Raises `InputError` if `host` is not an address of that network.
    """
    ports: list[int] = []
    with contextlib.ExitStack() as held:
        while len(ports) < count:
            holder = held.enter_context(network.tcp())
            holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            try:
                holder.bind((host, 0))
            except OSError as error:
                raise InputError(f"cannot listen on {host}: {error.strerror}") from None
            port = holder.getsockname()[1]
            if str(port).encode() not in avoid:
                ports.append(port)
        yield tuple(ports)
