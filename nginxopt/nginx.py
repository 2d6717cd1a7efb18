"""The one place that runs an nginx binary: find it, test a configuration, start it for a while, talk to it.

Everything happens on 127.0.0.1 and inside a private temporary prefix that is removed afterwards. A `Client`
speaks raw HTTP/1.1 and returns raw bytes, because the questions asked here are about bytes.
"""

from __future__ import annotations

import contextlib
import grp
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from nginxopt.errors import InputError, MissingError

NO_FILES: Mapping[str, bytes] = {}

_TEST_SECONDS = 120.0
_END_SECONDS = 10.0
_END_TRIES = 20
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
    """An nginx executable and its version, for example `(1, 22, 1)`."""

    path: str
    version: tuple[int, ...]

    def command(self, prefix: Path) -> list[str]:
        """Return the command that runs this binary on `prefix/nginx.conf`, with nothing outside `prefix`."""
        command = [self.path, "-p", f"{prefix}/", "-c", f"{prefix}/nginx.conf"]
        if self.version >= (1, 19, 5):  # -e is unknown before; the compiled-in log then only causes an alert
            command += ["-e", f"{prefix}/error.log"]
        return command

    def test(self, config: bytes, files: Mapping[str, bytes] = NO_FILES) -> Verdict:
        """Return what `nginx -t` says about the complete `config`; `files` lie beside it, relative paths
        find them.

        nginx opens the pid file and binds the addresses it finds in `config` even with -t: see
        `configuration`.
        """
        with private_prefix({**files, "nginx.conf": config}) as prefix:
            command = [*self.command(prefix), "-t"]
            try:
                run = subprocess.run(command, cwd=prefix, capture_output=True, timeout=_TEST_SECONDS, check=False)
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
        raise MissingError(f"no nginx binary was found {where}", hint="install nginx, or name its binary")
    try:
        run = subprocess.run([found, "-v"], capture_output=True, timeout=_TEST_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MissingError(f"{found} cannot be run: {error}") from error
    version = re.search(rb"nginx version: [^/\s]+/(\d+(?:\.\d+)+)", run.stderr + run.stdout)
    if version is None:
        raise MissingError(f"{found} is not an nginx binary: it does not answer -v with a version")
    return Binary(found, tuple(int(number) for number in version[1].split(b".")))


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
        _user(),
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
        return Client(self.ports[server], timeout=timeout)

    def error_log(self) -> tuple[str, ...]:
        """Return the lines nginx wrote to its error log, without the private prefix."""
        return _messages(_read(self.prefix / "error.log"), self.prefix)

    def _start(self, cleanup: contextlib.ExitStack) -> None:
        with _reserved_ports(len(self._servers), self._avoid) as self.ports:
            config = configuration(
                self._servers, self.ports, http=self._http, main=self._main, log_level=self._log_level
            )
            (self.prefix / "nginx.conf").write_bytes(config)
            with (self.prefix / "terminal").open("wb") as terminal:
                self._process = subprocess.Popen(
                    [*self._wrapper, *self.binary.command(self.prefix)],
                    cwd=self.prefix,
                    stdin=subprocess.DEVNULL,
                    stdout=terminal,
                    stderr=terminal,
                )
            cleanup.callback(_end, self._process)
            self._wait_until_started()

    def _wait_until_started(self) -> None:
        # The pid file is written after the configuration was accepted and the sockets are listening (main
        # in nginx.c).
        deadline = time.monotonic() + self._start_seconds
        while not _read(self.prefix / "nginx.pid"):
            ended = self._process.poll() is not None
            if ended or time.monotonic() > deadline:
                why = "ended" if ended else f"was not ready within {self._start_seconds:.0f} seconds"
                said = _messages(_read(self.prefix / "terminal"), self.prefix) or self.error_log()
                raise InputError("\n".join([f"nginx did not start: it {why}", *said]))
            time.sleep(_POLL_SECONDS)


@dataclass(frozen=True, slots=True)
class Request:
    """The bytes of one request. A HEAD has an answer without a body.

    `alone`: sent on a connection of its own and answered until nginx closes it, so it must say `Connection:
    close`.
    """

    data: bytes
    head: bool = False
    alone: bool = False


class Client:
    """A raw HTTP/1.1 client of one port of 127.0.0.1; usable as a context manager.

    `ask` returns the answers as nginx sent them. An answer that is empty or ends early is returned as it
    is: nginx closed the connection, or was silent for `timeout` seconds.
    """

    PIPELINE_REQUESTS = 64
    # A batch that fits the buffers of both sides cannot block, however slowly either side reads.
    PIPELINE_BYTES = 32_768

    def __init__(self, port: int, *, timeout: float = 10.0) -> None:
        self._address = ("127.0.0.1", port)
        self._timeout = timeout
        self._connection: _Connection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the persistent connection, if there is one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def ask(self, requests: Sequence[Request]) -> list[bytes]:
        """Return the raw answer to each request, in order."""
        answers: list[bytes] = []
        for batch in batches(requests):
            answers += self.receive(batch, self.send(batch))
        return answers

    def send(self, batch: Sequence[Request]) -> list[_Connection]:
        """Send one of the `batches`; what is returned goes to `receive`. Two servers can work meanwhile."""
        if batch[0].alone:
            return [self._connect(request.data) for request in batch]
        data = b"".join(request.data for request in batch)
        if self._connection is None or not self._connection.send(data):
            self.close()
            self._connection = self._connect(data)
        return [self._connection]

    def receive(self, batch: Sequence[Request], sent: Sequence[_Connection]) -> list[bytes]:
        """Return the answers to a batch that was sent."""
        if batch[0].alone:
            return [_all_of(connection) for connection in sent]
        answers = self._pipelined(batch)
        while len(answers) < len(batch):
            # nginx closed the connection. Ask for the next one with nothing behind it: a reset because of
            # unread requests can take answers with it, and an answer that is really empty (`return 444`) is
            # seen for sure.
            answers += self._pipelined(batch[len(answers) : len(answers) + 1], fresh=True) or [b""]
            if len(answers) < len(batch):
                answers += self._pipelined(batch[len(answers) :], fresh=True)
        return answers

    def _pipelined(self, batch: Sequence[Request], *, fresh: bool = False) -> list[bytes]:
        """Answers on the persistent connection, up to its end; `fresh` sends the batch on a new one first."""
        if fresh:
            self.close()
            self._connection = self._connect(b"".join(request.data for request in batch))
        answers: list[bytes] = []
        for request in batch:
            assert self._connection is not None
            answer = self._connection.answer(head=request.head)
            ended = self._connection.ended
            if not ended or (answer and len(batch) == 1):  # with more behind it, it may have been cut off
                answers.append(answer)
            if ended or b"\r\nConnection: close\r\n" in answer:
                self.close()
                break
        return answers

    def _connect(self, data: bytes) -> _Connection:
        connection = _Connection(socket.create_connection(self._address, self._timeout))
        connection.send(data)
        return connection


def batches(requests: Sequence[Request]) -> Iterator[list[Request]]:
    """Yield the requests in order, in batches that `Client.send` takes: all alone, or all for a pipeline."""
    batch: list[Request] = []
    size = 0
    for request in requests:
        full = len(batch) >= Client.PIPELINE_REQUESTS or size + len(request.data) > Client.PIPELINE_BYTES
        if batch and (full or request.alone != batch[0].alone):
            yield batch
            batch, size = [], 0
        batch.append(request)
        size += len(request.data)
    if batch:
        yield batch


class _Connection:
    """A connection and the bytes received on it that no answer has taken yet."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._received = b""
        self.ended = False

    def close(self) -> None:
        self._socket.close()

    def send(self, data: bytes) -> bool:
        try:
            self._socket.sendall(data)
        except OSError:  # nginx closed it; what it said before that may still be there to read
            return False
        return True

    def answer(self, *, head: bool) -> bytes:
        """The next answer; what there is of it when the connection ends."""
        while (header := self._received.find(b"\r\n\r\n") + 4) < 4 and self._more():
            pass
        if header < 4:
            return self._take(len(self._received))
        body = self._received[:header]
        if head or _BODILESS.match(body):
            return self._take(header)
        length = _LENGTH.search(body)
        if length:
            return self._take_up_to(header + int(length[1]))
        return self._chunked(header) if b"\r\nTransfer-Encoding: chunked\r\n" in body else self.rest()

    def rest(self) -> bytes:
        """All that comes until the connection ends."""
        while self._more():
            pass
        return self._take(len(self._received))

    def _chunked(self, end: int) -> bytes:
        """The answer whose chunks start at `end`; nginx sends no trailers here (RFC 9112, 7.1)."""
        while True:
            while (line := self._received.find(b"\r\n", end)) < 0 and self._more():
                pass
            if line < 0:
                return self._take(len(self._received))
            size = int(self._received[end:line].partition(b";")[0], 16)
            end = line + 2 + size + 2
            if not size:
                return self._take_up_to(end)
            while len(self._received) < end and self._more():
                pass

    def _take_up_to(self, end: int) -> bytes:
        while len(self._received) < end and self._more():
            pass
        return self._take(end)

    def _take(self, end: int) -> bytes:
        answer, self._received = self._received[:end], self._received[end:]
        return answer

    def _more(self) -> bool:
        try:
            data = self._socket.recv(65536)
        except OSError:  # a reset or a time-out ends the conversation as a close does
            data = b""
        self._received += data
        self.ended = not data
        return bool(data)


_BODILESS = re.compile(rb"HTTP/1\.[01] (?:1\d\d|204|304) ")
_LENGTH = re.compile(rb"\r\nContent-Length: (\d+)\r\n")


def _all_of(connection: _Connection) -> bytes:
    try:
        return connection.rest()
    finally:
        connection.close()


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
def _reserved_ports(count: int, avoid: bytes) -> Iterator[tuple[int, ...]]:
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


def _end(process: subprocess.Popen[bytes]) -> None:
    """End by pid, politely first.

    More than once: nginx only notes a signal, and sleeps on if that happens between its look at the note and
    its wait for events (ngx_single_process_cycle); the next signal wakes it.
    """
    for _ in range(_END_TRIES):
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(_END_SECONDS / _END_TRIES)
        except subprocess.TimeoutExpired:
            continue
        return
    process.kill()
    process.wait()


def _user() -> bytes:
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
