"""The one place that runs an nginx binary: find it, test a configuration, start it for a while.

Everything happens on 127.0.0.1 and inside a private temporary prefix that is removed afterwards.
"""

from __future__ import annotations

import contextlib
import grp
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from nginxopt.errors import InputError, MissingError
from nginxopt.system.process import end, start
from nginxopt.version import dotted

if TYPE_CHECKING:
    from nginxopt.system.http import Client

NO_FILES: Mapping[str, bytes] = {}

_TEST_SECONDS = 120.0
_POLL_SECONDS = 0.002
_FILE_TIME = 946_684_800  # Last-Modified and ETag of a served file are the same in every run


@dataclass(frozen=True, slots=True)
class Verdict:
    """What `nginx -t` says: whether it accepts, and its messages, without the path of the private prefix."""

    ok: bool
    messages: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self.messages)


@dataclass(frozen=True, slots=True)
class Binary:
    """An nginx executable, its version, for example `(1, 22, 1)`, and its name: `nginx`, `openresty` ..."""

    path: str
    version: tuple[int, ...]
    name: str = "nginx"

    def __str__(self) -> str:
        return f"{self.name} {dotted(self.version)}"

    def command(self, prefix: Path) -> list[str]:
        """Return the command that runs this binary on `prefix/nginx.conf`, with nothing outside `prefix`."""
        command = [self.path, "-p", f"{prefix}/", "-c", f"{prefix}/nginx.conf"]
        if self.version >= (1, 19, 5):  # -e is unknown before; the compiled-in log then only causes an alert
            command += ["-e", f"{prefix}/error.log"]
        return command

    def run(self, prefix: Path, *options: str, wrapper: Sequence[str] = ()) -> subprocess.CompletedProcess[bytes]:
        """Run on `prefix/nginx.conf` to the end, which comes by itself with options like `-t`.

        `wrapper` goes before the command. `TimeoutExpired` if it has not ended after two minutes.
        """
        command = [*wrapper, *self.command(prefix), *options]
        return subprocess.run(command, cwd=prefix, capture_output=True, timeout=_TEST_SECONDS, check=False)

    def test(self, config: bytes, files: Mapping[str, bytes] = NO_FILES) -> Verdict:
        """Return what `nginx -t` says about the complete `config`; `files` lie beside it, relative paths
        find them.

        nginx opens the pid file and binds the addresses it finds in `config` even with -t: see
        `configuration`.
        """
        with private_prefix({**files, "nginx.conf": config}) as prefix:
            try:
                run = self.run(prefix, "-t")
            except subprocess.TimeoutExpired:
                return Verdict(False, (f"nginx -t did not end within {_TEST_SECONDS:.0f} seconds",))
            return Verdict(run.returncode == 0, _messages(run.stderr + run.stdout, prefix))


def find(path: str | None = None) -> Binary:
    """Return the nginx at `path`, or else the one on PATH, or else /usr/sbin/nginx.

    `MissingError` if there is none, or if it does not run.
    """
    found = shutil.which(path or "nginx") or (None if path else shutil.which("/usr/sbin/nginx"))
    if found is None:
        where = f"at {path}" if path else "on PATH or at /usr/sbin/nginx"
        raise MissingError(f"no nginx binary found {where}", hint="install nginx, or pass the path of its binary")
    try:
        run = subprocess.run([found, "-v"], capture_output=True, timeout=_TEST_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MissingError(f"{found} cannot be run: {error}") from error
    version = re.search(rb"nginx version: ([^/\s]+)/(\d+(?:\.\d+)+)", run.stderr + run.stdout)
    if version is None:
        raise MissingError(f"{found} is not an nginx binary: -v prints no version")
    return Binary(found, tuple(int(number) for number in version[2].split(b".")), version[1].decode(errors="replace"))


def configuration(
    servers: Sequence[bytes] = (),
    ports: Sequence[int] = (),
    *,
    http: bytes = b"",
    main: bytes = b"",
    log_level: str = "crit",
) -> bytes:
    """Return a complete configuration of one process whose every path is relative to its prefix.

    `servers[i]` is the inside of a server that listens on 127.0.0.1 at `ports[i]` (nowhere of its own
    without a port, which is for `Binary.test`); `http` stands in the http block before them and `main` at
    the top. Static files are looked for in `html`.
    """
    lines = [
        b"daemon off; master_process off; pid nginx.pid;",
        f"error_log error.log {log_level};".encode(),
        user(),
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


class Instance:
    """One running nginx process, as a context manager: nothing of it is left behind, whatever happens inside.

    `servers` and `http` are as in `configuration`; `files` are put into the prefix (`html/...` is served).
    `wrapper` goes before the command (for example a profiler). Each server has a free port of its own in
    `ports`, whose digits do not occur in `avoid`. `InputError` with the error log if nginx does not start
    within `start_seconds`.
    """

    def __init__(
        self,
        binary: Binary,
        *,
        servers: Sequence[bytes] = (b"",),
        http: bytes = b"",
        main: bytes = b"",
        files: Mapping[str, bytes] = NO_FILES,
        log_level: str = "crit",
        wrapper: Sequence[str] = (),
        start_seconds: float = 20.0,
        avoid: bytes = b"",
    ) -> None:
        self.binary = binary
        self.ports: tuple[int, ...] = ()
        self.prefix = Path()
        self._servers, self._http, self._main = servers, http, main
        self._files, self._log_level, self._avoid = files, log_level, avoid
        self._wrapper, self._start_seconds = wrapper, start_seconds
        self._cleanup = contextlib.ExitStack()

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as cleanup:
            self.prefix = cleanup.enter_context(private_prefix(self._files))
            self._start(cleanup)
            self._cleanup = cleanup.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cleanup.close()

    @property
    def pid(self) -> int:
        """The process id of nginx (of the wrapper, where there is one)."""
        return self._process.pid

    def client(self, server: int = 0, *, timeout: float = 10.0) -> Client:
        """Return a new client of the server with that index."""
        from nginxopt.system.http import Client

        return Client(self.ports[server], timeout=timeout)

    def error_log(self) -> tuple[str, ...]:
        """Return the lines nginx wrote to its error log, without the private prefix."""
        return _messages(_read(self.prefix / "error.log"), self.prefix)

    def _start(self, cleanup: contextlib.ExitStack) -> None:
        with reserved_ports(len(self._servers), self._avoid) as self.ports:
            config = configuration(
                self._servers, self.ports, http=self._http, main=self._main, log_level=self._log_level
            )
            (self.prefix / "nginx.conf").write_bytes(config)
            command = [*self._wrapper, *self.binary.command(self.prefix)]
            self._process = _launch(command, self.prefix)
            cleanup.callback(end, self._process)
            _wait_until_started(self._process, self.prefix, self._start_seconds)


@contextlib.contextmanager
def running(
    command: Sequence[str], prefix: Path, *, start_seconds: float = 20.0, open_files: int | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Yield nginx once it is ready, run by `command` with the pid file `nginx.pid` in `prefix`; it ends with the block,
    and with us.

    `open_files` is the soft limit it starts with. `InputError` with what it says if it does not start within
    `start_seconds`.
    """
    (prefix / "nginx.pid").unlink(missing_ok=True)
    process = _launch(command, prefix, open_files)
    try:
        _wait_until_started(process, prefix, start_seconds)
        yield process
    finally:
        end(process)


def _launch(command: Sequence[str], prefix: Path, open_files: int | None = None) -> subprocess.Popen[bytes]:
    with (prefix / "terminal").open("wb") as terminal:
        return start(command, cwd=prefix, output=terminal, open_files=open_files)


def _wait_until_started(process: subprocess.Popen[bytes], prefix: Path, seconds: float) -> None:
    # The pid file is written after the configuration was accepted and the sockets are listening (main in nginx.c).
    deadline = time.monotonic() + seconds
    while not _read(prefix / "nginx.pid"):
        ended = process.poll() is not None
        if ended or time.monotonic() > deadline:
            why = "ended" if ended else f"was not ready within {seconds:.0f} seconds"
            said = _messages(_read(prefix / "terminal"), prefix) or _messages(_read(prefix / "error.log"), prefix)
            raise InputError("\n".join([f"nginx did not start: it {why}", *said]))
        time.sleep(_POLL_SECONDS)


@contextlib.contextmanager
def private_prefix(files: Mapping[str, bytes] = NO_FILES) -> Iterator[Path]:
    """Yield a new directory (mode 0700) with `html`, `temp` and the given files, and remove it in the end."""
    with tempfile.TemporaryDirectory(prefix="nginxopt-", ignore_cleanup_errors=True) as name:
        prefix = Path(name).resolve()
        for directory in ("html", "temp"):
            (prefix / directory).mkdir()
        for path, data in files.items():
            (prefix / path).parent.mkdir(parents=True, exist_ok=True)
            (prefix / path).write_bytes(data)
            os.utime(prefix / path, (_FILE_TIME, _FILE_TIME))
        yield prefix


@contextlib.contextmanager
def reserved_ports(count: int, avoid: bytes = b"") -> Iterator[tuple[int, ...]]:
    """Yield free ports of 127.0.0.1 whose digits do not occur in `avoid`, and hold them meanwhile.

    They are bound with SO_REUSEPORT and do not listen, so that nginx, and nobody of another user, can bind
    them as well: a port is never free between our choice and nginx's bind. (Handing down listening sockets
    in the variable NGINX looks simpler, but a single-process nginx 1.22.1 dies of it by SIGSEGV.)
    """
    ports: list[int] = []
    with contextlib.ExitStack() as held:
        while len(ports) < count:
            holder = held.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
            holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            holder.bind(("127.0.0.1", 0))
            port = holder.getsockname()[1]
            if str(port).encode() not in avoid:
                ports.append(port)
        yield tuple(ports)


def user() -> bytes:
    """Stay root, who owns the prefix (mode 0700); another user may not name one at all."""
    return f"user root {grp.getgrgid(0).gr_name};".encode() if os.geteuid() == 0 else b""


def _messages(text: bytes, prefix: Path) -> tuple[str, ...]:
    clean = text.replace(f"{prefix}/".encode(), b"").decode(errors="backslashreplace")
    return tuple(line for line in clean.splitlines() if line.strip())


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
