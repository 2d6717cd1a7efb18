"""One case on a real nginx: it is started, asked, and ended; what came of it is an `Observation`."""

from __future__ import annotations

import asyncio
import os
import re
import resource
import shutil
import signal
import socket
import ssl
import subprocess
import time
import zlib
from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from nginxopt.system import nginx, process
from tests.fuzz.fixes import material
from tests.fuzz.fixes.case import MAIN, Case, Start, Step, Talk, placed
from tests.fuzz.fixes.origins import Origins
from tests.support import PATIENCE

TIMEOUT = 3.0
"""Seconds that a client waits for an answer."""

PORTS = 6
"""How many ports there are for nginx."""

_LATER = 2_000_000_000
"""When a file that was replaced was changed: nginx reads a list of revoked certificates again if its time differs."""

_SLOW_SECONDS = 0.05
_QUIT_SECONDS = 4.0
_NOBODY = 65534
_OURS = "daemon off; pid nginx.pid; user root root; "

_LOGGED = re.compile(r"^\S+ \S+ \[(\w+)\] \d+#\d+: (?:\*\d+ )?(.*)$")
_FULL = re.compile(r'(pwrite)v?\(\) ("[^"]*" )?(?:failed \(N: No space left on device\)|has written only N of N)')
"""What nginx logs of a file system that is full: one or the other, by how much of a buffer still finds room."""
_PLACE = re.compile(r" in \S+:\d+$")
_GRAVE = ("error", "crit", "alert", "emerg")


@dataclass(slots=True)
class Observation:
    """What came of a case.

    Attributes:
        refusal: Why nginx does not start; empty if it does.
        warnings: What it says when it starts.
        answers: What the clients got, by step and request: who of several was the first to ask does not matter.
        asked: What the origins were asked.
        opened: How many connections each kind of origin saw.
        errors: The log from level error on, without what differs from run to run.
        files: What is left in the prefix, but for `temp`, and the lines of the logs.
        nofile: The least limit of open files of a worker.
    """

    refusal: str = ""
    warnings: frozenset[str] = frozenset()
    answers: dict[str, Counter[Hashable]] = field(default_factory=dict)
    asked: Counter[tuple[str, bytes]] = field(default_factory=Counter)
    opened: Counter[str] = field(default_factory=Counter)
    errors: frozenset[str] = frozenset()
    files: dict[str, Hashable] = field(default_factory=dict)
    nofile: int = 0


class Stage:
    """A prefix, ports and origins, in which one case after the other is played with one binary."""

    def __init__(self, folder: Path, binary: nginx.Binary, origins: Origins, ports: tuple[int, ...]) -> None:
        self.prefix = folder / "p"
        self.binary = binary
        self.origins = origins
        self.ports = ports
        self.places = {**origins.address, **{f"port{number}": str(port) for number, port in enumerate(ports)}}
        self.places |= {f"{name}_port": address.rpartition(":")[2] for name, address in origins.address.items()}
        self._contexts: dict[str, ssl.SSLContext] = {}
        self._sessions: dict[str, ssl.SSLSession | None] = {}

    def lay(self, files: Mapping[str, bytes]) -> None:
        """Empty the prefix, and put files into it beside those that are always there."""
        shutil.rmtree(self.prefix, ignore_errors=True)
        for folder in ("temp", "logs", "cache"):
            (self.prefix / folder).mkdir(parents=True)
        tls = {f"tls/{name}": data for name, data in material.tls().items()}
        for name, data in {**material.STATIC, **tls, **files}.items():
            path = self.prefix / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data if name in material.STATIC else placed(data, self.places))
            if name in material.STATIC:
                os.utime(path, (material.FILE_TIME, material.FILE_TIME))

    def read(self, files: Mapping[str, bytes]) -> dict[str, bytes]:
        """Return what is in those files now."""
        return {name: (self.prefix / name).read_bytes() for name in files}

    async def play(self, case: Case, files: Mapping[str, bytes]) -> Observation:
        """Start nginx on these files in the place of the case's own, ask it, and end it."""
        self.lay(files)
        laid = self._listing()
        if case.start.plain_user:
            for path in (self.prefix, *self.prefix.rglob("*")):
                os.chown(path, _NOBODY, _NOBODY)
        self.origins.record.clear()
        seen = Observation()
        with (self.prefix / "temp" / "terminal").open("wb") as terminal:
            running = process.start(self._command(case.start), cwd=self.prefix, output=terminal)
        try:
            if not await asyncio.to_thread(nginx.wait_until_started, running, self.prefix / nginx.PID_FILE):
                seen.refusal = self._said("emerg") or "nginx does not start"
                return seen
            seen.warnings = frozenset(_PLACE.sub("", line) for line in self._said("warn").splitlines())
            for number, step in enumerate(case.steps):
                await self._step(number, step, running, seen)
            seen.nofile = _least_nofile(running.pid)
        finally:
            await self._quit(running)
        await self.origins.rest()
        seen.asked, seen.opened = self.origins.record.asked.copy(), self.origins.record.opened.copy()
        seen.errors = self._errors()
        seen.files = {name: self._content(name) for name in self._listing() - laid if name != "error.log"}
        return seen

    def _command(self, start: Start) -> list[str]:
        wrapper: list[str] = []
        if start.small:
            mount = f'mount -t tmpfs -o size=1m tmpfs "{start.small}" && exec "$@"'
            wrapper += ["unshare", "-m", "sh", "-c", mount, "sh"]
        if start.nofile:
            wrapper += ["prlimit", f"--nofile={start.nofile[0]}:{start.nofile[1]}"]
        if start.plain_user:
            wrapper += ["setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups"]
        return [*wrapper, *self.binary.command(self.prefix), "-g", _OURS + start.globals]

    async def _step(self, number: int, step: Step, running: subprocess.Popen[bytes], seen: Observation) -> None:
        if step.replaced:
            for name, other in step.replaced:
                shutil.copyfile(self.prefix / other, self.prefix / name)
                os.utime(self.prefix / name, (_LATER, _LATER))
            await _reload(running)
        if not number:
            self._sessions = {}
        results = await asyncio.gather(*(asyncio.to_thread(self._talk, talk) for talk in step.talks))
        for talk, answers in zip(step.talks, results, strict=True):
            for request, answer in zip(talk.requests, answers, strict=True):
                who = "" if talk.tls is None else f" as {talk.tls or 'nobody'}"
                seen.answers.setdefault(f"{number}: {request[:300]!r}{who}", Counter())[answer] += 1

    def _talk(self, talk: Talk) -> list[Hashable]:
        client = _Client(self, talk, self._sessions)
        try:
            return [client.ask(placed(request, self.places)) for request in talk.requests]
        finally:
            client.close()

    def context(self, who: str) -> ssl.SSLContext:
        """Return how a client speaks TLS that shows a certificate, or none."""
        if who not in self._contexts:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            context.maximum_version = ssl.TLSVersion.TLSv1_2 if who.endswith("12") else ssl.TLSVersion.TLSv1_3
            person = who.removesuffix("12")
            if person:
                folder = self.prefix / "tls"
                context.load_cert_chain(folder / f"{person}.pem", folder / f"{person}.key")
            self._contexts[who] = context
        return self._contexts[who]

    async def _quit(self, running: subprocess.Popen[bytes]) -> None:
        waiting = asyncio.create_task(asyncio.to_thread(running.wait))
        for sign, seconds in ((signal.SIGQUIT, _QUIT_SECONDS), (signal.SIGTERM, _QUIT_SECONDS), (signal.SIGKILL, None)):
            if running.returncode is None:
                running.send_signal(sign)
            if (await asyncio.wait([waiting], timeout=seconds))[0]:
                return

    def _said(self, level: str) -> str:
        lines = _text(self.prefix / "temp" / "terminal").splitlines()
        start = f"nginx: [{level}] "
        return "\n".join(line.removeprefix(start) for line in lines if line.startswith(start)).replace(
            f"{self.prefix}/", ""
        )

    def _errors(self) -> frozenset[str]:
        shortened = set()
        for path in (self.prefix / "error.log", *(self.prefix / "logs").glob("error*.log")):
            for line in _text(path).splitlines():
                match = _LOGGED.match(line)
                if match and match[1] in _GRAVE:
                    error = re.sub(r"\d+", "N", match[2].split(", client: ")[0])
                    shortened.add(_FULL.sub(r"\1() \2finds no space", error))
        return frozenset(shortened)

    def _listing(self) -> set[str]:
        paths = (path.relative_to(self.prefix) for path in self.prefix.rglob("*") if not path.is_dir())
        return {str(path) for path in paths if path.parts[0] != "temp"}

    def _content(self, name: str) -> Hashable:
        if not name.endswith(".log") or "error" in name:
            return None
        return frozenset(Counter(_text(self.prefix / name).splitlines()).items())


class _Client:
    """A connection of a client, opened again when it has ended."""

    def __init__(self, stage: Stage, talk: Talk, sessions: dict[str, ssl.SSLSession | None]) -> None:
        self._stage, self._asked, self._sessions = stage, talk, sessions
        self._socket: socket.socket | None = None
        self._file: BinaryIO | None = None

    def ask(self, request: bytes) -> Hashable:
        """Send a request and return the answer; once more if a connection that was kept has ended meanwhile."""
        kept = self._socket is not None
        answer = self._try(request)
        return self._try(request) if kept and answer == ("ended",) else answer

    def _try(self, request: bytes) -> Hashable:
        try:
            file = self._open()
            self._send(request)
            answer, keeps = received(file, request.split(b" ", 1)[0])
        except TimeoutError:
            answer, keeps = ("timeout",), False
        except (BrokenPipeError, ConnectionResetError):
            answer, keeps = ("ended",), False
        except OSError as error:
            answer, keeps = (type(error).__name__, re.sub(r"\d+", "N", str(error))), False
        if not keeps:
            self.close()
        return answer

    def _send(self, request: bytes) -> None:
        """Send a request; if it says that it is slow, its body comes after a while."""
        assert self._socket
        if b"\r\nX-Slow: " in request:
            head, end, request = request.partition(b"\r\n\r\n")
            self._socket.sendall(head + end)
            time.sleep(_SLOW_SECONDS)
        self._socket.sendall(request)

    def _open(self) -> BinaryIO:
        if self._file is None:
            connection = socket.create_connection(("127.0.0.1", self._stage.ports[self._asked.port]), TIMEOUT)
            if self._asked.tls is not None:
                context = self._stage.context(self._asked.tls)
                session = self._sessions.get(self._asked.session) if self._asked.session else None
                connection = context.wrap_socket(connection, server_hostname="a.test", session=session)
            self._socket, self._file = connection, connection.makefile("rb")
        return self._file

    def close(self) -> None:
        """Close the connection, if there is one; keep its TLS session for the next."""
        if self._socket is None:
            return
        if isinstance(self._socket, ssl.SSLSocket) and self._asked.session:
            self._sessions[self._asked.session] = self._socket.session
        if self._file:
            self._file.close()
        self._socket.close()
        self._socket = self._file = None


_DATES = re.compile(rb"(?im)^(Date|Expires): [A-Z][a-z]{2}, .*?\r$")
_OF_CONNECTION = re.compile(rb"(?im)^(Connection: (keep-alive|close)|Keep-Alive: .*|Transfer-Encoding: chunked)\r\n")
_LENGTH = re.compile(rb"(?im)^Content-Length: *(\d+)\r$")


def received(file: BinaryIO, method: bytes) -> tuple[Hashable, bool]:
    """Read an answer; return it without its dates and what it says of the client's connection, and whether that stays
    open. The body is as it is without chunks."""
    heads: list[bytes] = []
    while True:
        head = _head(file)
        if not head:
            return ("ended", *heads) if heads else ("ended",), False
        heads.append(_OF_CONNECTION.sub(b"", _DATES.sub(rb"\1: ...\r", head)))
        status = head[9:12]
        if not status.startswith(b"1") or status == b"101":
            break
    body, whole = _body(file, head, method, status)
    if re.search(rb"(?im)^Content-Encoding: gzip\r$", head):
        body = _unzipped(body)
    connection = re.search(rb"(?im)^Connection: (.*)\r$", head)
    stays = connection is None or connection[1].lower() != b"close"
    keeps = whole and stays and head.startswith(b"HTTP/1.1") and status != b"101"
    return (*heads, body, "" if whole else "cut off"), keeps


def _head(file: BinaryIO) -> bytes:
    lines = []
    while line := file.readline(65_536):
        lines.append(line)
        if line in (b"\r\n", b"\n"):
            break
    return b"".join(lines)


def _body(file: BinaryIO, head: bytes, method: bytes, status: bytes) -> tuple[bytes, bool]:
    if method == b"HEAD" or status in (b"204", b"304"):
        return b"", True
    if re.search(rb"(?im)^Transfer-Encoding: chunked\r$", head):
        return _chunks(file)
    length = _LENGTH.search(head)
    if length and status != b"101":
        body = file.read(int(length[1]))
        return body, len(body) == int(length[1])
    return file.read(), status == b"101" or not length


def _unzipped(body: bytes) -> bytes:
    """Return what is compressed, as far as it goes; the level must not matter."""
    try:
        return zlib.decompressobj(31).decompress(body)
    except zlib.error:
        return body


def _chunks(file: BinaryIO) -> tuple[bytes, bool]:
    parts = []
    while line := file.readline(100):
        size = int(line.split(b";")[0], 16)
        parts.append(file.read(size))
        file.readline(100)
        if not size:
            return b"".join(parts), True
    return b"".join(parts), False


async def _reload(running: subprocess.Popen[bytes]) -> None:
    """Have nginx read its configuration again, until workers of before take no more connections."""
    before = set(_children(running.pid))
    running.send_signal(signal.SIGHUP)
    deadline = time.monotonic() + PATIENCE
    while not (now := set(_children(running.pid))) or now & before:
        assert time.monotonic() < deadline, "nginx was not reloaded in time"
        await asyncio.sleep(0.003)


def _children(pid: int) -> list[int]:
    return list(map(int, _text(Path(f"/proc/{pid}/task/{pid}/children")).split()))


def _least_nofile(pid: int) -> int:
    """Return the least soft limit of open files of the workers; 0 if there are none."""
    limits = []
    for child in _children(pid):
        try:
            limits.append(resource.prlimit(child, resource.RLIMIT_NOFILE)[0])
        except (ProcessLookupError, PermissionError):
            continue
    return min(limits, default=0)


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="backslashreplace")
    except (FileNotFoundError, ProcessLookupError):
        return ""


def choose_ports() -> tuple[int, ...]:
    """Return free ports below those that the system gives to clients."""
    start = 10_000 + os.getpid() * 37 % 20_000
    ports: list[int] = []
    while len(ports) < PORTS:
        start = start + 1 if start < 31_000 else 10_000
        with socket.socket() as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                trial.bind(("127.0.0.1", start))
            except OSError:
                continue
            ports.append(start)
    return tuple(ports)


assert MAIN == "nginx.conf", "Binary.command names it so"
