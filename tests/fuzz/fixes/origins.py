"""Origins of several kinds on 127.0.0.1: each tells who it takes the asker for, and all note what they were asked.

What an origin answers depends on the method, the URI, the body and a few headers, never on what a fix may change for
good reasons; what it makes of the version and of the connection is its kind:

- plain: HTTP/1.0 and 1.1 by the book          - serial: one connection at a time, until it ends
- old: knows HTTP/1.0 only, 505 for the rest   - closer: ends a kept connection once it is used again, unsaid
- gzip11: compresses, for HTTP/1.1 only        - chunk11: sends chunks, for HTTP/1.1 only
- early: 103 before each answer, for 1.1 only  - h2c: offers `Upgrade: h2c`, for 1.1 only
- nochunk: 411 for a body in chunks            - who: authenticates the connection, as NTLM does
- tls: HTTPS, asks for a certificate           - fastcgi, uwsgi, scgi: those protocols
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import hashlib
import ssl
import struct
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl

from tests.fuzz.fixes import material

HTTP_KINDS = (
    "plain", "old", "serial", "closer", "gzip11", "chunk11", "early", "h2c", "nochunk", "who", "tls",
)  # fmt: skip
OTHER_KINDS = ("fastcgi", "uwsgi", "scgi")
KINDS = (*HTTP_KINDS, *OTHER_KINDS)

REPLICAS = 3
"""How many servers there are of each kind: an upstream has servers of one kind only, as in life."""

_TYPES = {
    "html": "text/html", "js": "application/javascript", "css": "text/css", "png": "image/png", "txt": "text/plain",
    "json": "application/json",
}  # fmt: skip
_IDLE = 30.0
_BODY = 0.4


@dataclass(slots=True)
class Asked:
    """A request as an origin got it: its first line and headers to the byte, and its body without chunks."""

    head: bytes
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def line(self) -> list[str]:
        """Method, target and version."""
        return [*self.head.split(b"\r\n", 1)[0].decode("latin-1").split(" "), "", ""][:3]

    @property
    def is_11(self) -> bool:
        """Whether it is of HTTP/1.1."""
        return self.line[2] == "HTTP/1.1"

    @property
    def upgrades(self) -> bool:
        """Whether it asks for a WebSocket."""
        upgrade, connection = (self.headers.get(name, "").lower() for name in ("upgrade", "connection"))
        return "websocket" in upgrade and "upgrade" in connection

    @property
    def keeps(self) -> bool:
        """Whether the connection is to stay open."""
        connection = self.headers.get("connection", "").lower()
        return "close" not in connection if self.is_11 else "keep-alive" in connection


@dataclass(slots=True)
class Answer:
    """What an origin answers, before its kind makes something of it."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


@dataclass(slots=True)
class Record:
    """What was asked since the last `clear`: requests by kind of origin, and connections opened."""

    asked: Counter[tuple[str, bytes]] = field(default_factory=Counter)
    opened: Counter[str] = field(default_factory=Counter)

    def clear(self) -> None:
        """Forget all."""
        self.asked.clear()
        self.opened.clear()


async def read_asked(reader: asyncio.StreamReader) -> Asked | None:
    """Read one request; None at the end of the connection."""
    try:
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _IDLE)
        request = Asked(head, headers=_headers(head))
        request.body = await _body(request, reader)
    except (asyncio.IncompleteReadError, ConnectionError, TimeoutError, asyncio.LimitOverrunError, ssl.SSLError):
        return None
    return request


async def _body(request: Asked, reader: asyncio.StreamReader) -> bytes:
    """Read a body; one that does not come, as nginx was told not to pass it on, is said to be missing."""
    try:
        if "chunked" in request.headers.get("transfer-encoding", ""):
            return await asyncio.wait_for(read_chunks(reader), _BODY)
        return await asyncio.wait_for(reader.readexactly(_number(request.headers.get("content-length", ""))), _BODY)
    except TimeoutError:
        return b"(missing)"


async def read_chunks(reader: asyncio.StreamReader) -> bytes:
    """Read a body that comes in chunks."""
    parts = []
    while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
        parts.append(await reader.readexactly(size))
        await reader.readexactly(2)
    while await reader.readuntil(b"\r\n") != b"\r\n":
        pass
    return b"".join(parts)


def _headers(head: bytes) -> dict[str, str]:
    lines = head.decode("latin-1").split("\r\n")[1:]
    pairs = (line.partition(":") for line in lines if ":" in line)
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


def answer(method: str, target: str, headers: dict[str, str], body: bytes, who: str) -> Answer:
    """Return what is answered: the words of the query say how, and the body tells what was asked by whom."""
    path, _, query = target.partition("?")
    arguments = dict(parse_qsl(query, keep_blank_values=True))
    kind = _TYPES.get(path.rpartition(".")[2], "text/html")
    told = (
        f"{method} {target} {hashlib.md5(body).hexdigest()[:8]} {len(body)} from {who} http://app.test/ <head></head>\n"
    )
    text = told.encode("latin-1", "replace")
    text += b"0123456789abcdef http://app.test/\n" * (_number(arguments.get("len", "0")) // 34)
    headers_ = [("Content-Type", kind), ("X-Origin", "yes")]
    headers_ += [(name, arguments[word]) for word, name in _SAID.items() if word in arguments]
    status = _number(arguments.get("status", "200"))
    if status == 200 and arguments.get("etag") and headers.get("if-none-match") == arguments["etag"]:
        return Answer(304, headers_, b"")
    if status == 200 and "range" in arguments and headers.get("range", "").startswith("bytes="):
        return _part(headers["range"], headers_, text)
    if status in (301, 302):
        headers_.append(("Location", arguments.get("to", "/elsewhere")))
    if status == 401:
        headers_.append(("WWW-Authenticate", "NTLM"))
    return Answer(status, headers_, b"" if status in (204, 304) else text)


_SAID = {
    "cc": "Cache-Control", "vary": "Vary", "etag": "ETag", "cookie": "Set-Cookie", "accel": "X-Accel-Redirect",
    "xexp": "X-Accel-Expires", "xbuf": "X-Accel-Buffering", "link": "Link", "lm": "Last-Modified",
}  # fmt: skip


def _number(word: str) -> int:
    return int(word) if word.isdigit() and len(word) < 8 else 0


def _part(range_: str, headers: list[tuple[str, str]], text: bytes) -> Answer:
    first, _, last = range_.removeprefix("bytes=").split(",")[0].partition("-")
    start, end = _number(first), min(_number(last) if last else len(text) - 1, len(text) - 1)
    if start > end:
        return Answer(416, [*headers, ("Content-Range", f"bytes */{len(text)}")], b"")
    return Answer(206, [*headers, ("Content-Range", f"bytes {start}-{end}/{len(text)}")], text[start : end + 1])


def _written(request: Asked, given: Answer, kind: str) -> bytes:
    """Return an answer as this kind of origin sends it."""
    headers, body = list(given.headers), given.body
    early = b""
    bare = given.status in (204, 304)
    if request.is_11 and kind == "early":
        early = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n"
    if request.is_11 and kind == "h2c":
        headers.append(("Upgrade", "h2c"))
    if request.is_11 and kind == "gzip11" and "gzip" in request.headers.get("accept-encoding", "") and body:
        body = gzip.compress(body, 1, mtime=0)
        headers.append(("Content-Encoding", "gzip"))
    if request.is_11 and kind == "chunk11" and not bare:
        headers.append(("Transfer-Encoding", "chunked"))
        body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body) if body else b"0\r\n\r\n"
    elif not bare:
        headers.append(("Content-Length", str(len(body))))
    headers.append(("Connection", "keep-alive" if request.keeps else "close"))
    head = f"HTTP/1.1 {given.status} Said\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers) + "\r\n"
    return early + head.encode("latin-1") + (b"" if request.line[0] == "HEAD" or bare else body)


class Origins:
    """All origins, on the loop that runs; `address` is where one listens, and `record` what they were asked."""

    def __init__(self) -> None:
        self.record = Record()
        self.address: dict[str, str] = {}
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._serial = asyncio.Lock()

    async def __aenter__(self) -> Origins:
        for kind in KINDS:
            for number in range(REPLICAS):
                await self._open(kind, f"{kind}{number}")
        return self

    async def __aexit__(self, *_: object) -> None:
        for server in self._servers:
            server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def rest(self) -> None:
        """Wait until every connection has ended, a short while at most; those that have not are cut off."""
        if self._tasks:
            _, left = await asyncio.wait(list(self._tasks), timeout=1.0)
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)

    async def _open(self, kind: str, name: str) -> None:
        serve = {"fastcgi": self._fastcgi, "uwsgi": self._uwsgi, "scgi": self._scgi}.get(kind, self._http)
        serial = asyncio.Lock() if kind == "serial" else None

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task
            self._tasks.add(task)
            self.record.opened[kind] += 1
            try:
                async with serial or contextlib.nullcontext():
                    await serve(kind, reader, writer)
            except (ConnectionError, asyncio.CancelledError, asyncio.IncompleteReadError, ssl.SSLError):
                pass
            finally:
                self._tasks.discard(task)
                writer.close()

        server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=_context() if kind == "tls" else None)
        host, port = server.sockets[0].getsockname()[:2]
        self.address[name] = f"{host}:{port}"
        self._servers.append(server)

    async def _http(self, kind: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        who = _peer(writer) if kind == "tls" else "nobody"
        served = 0
        while request := await read_asked(reader):
            self.record.asked[kind, request.head + request.body] += 1
            if kind == "closer" and served:
                return
            if kind == "who":
                who = request.headers.get("authorization", who)
            writer.write(self._response(kind, request, who))
            await writer.drain()
            served += 1
            if "upgrade" in request.headers.get("connection", "").lower() and "websocket" in request.headers.get(
                "upgrade", ""
            ):
                return
            if not request.keeps or kind == "old":
                return

    def _response(self, kind: str, request: Asked, who: str) -> bytes:
        method, target, _ = request.line
        if kind == "old" and request.is_11:
            return b"HTTP/1.0 505 Version\r\nContent-Length: 8\r\n\r\nversion\n"
        if kind == "nochunk" and "transfer-encoding" in request.headers:
            return b"HTTP/1.1 411 Length\r\nContent-Length: 7\r\nConnection: close\r\n\r\nlength\n"
        if request.upgrades:
            return b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\nhello"
        return _written(request, answer(method, target, request.headers, request.body, who), kind)

    async def _fastcgi(self, kind: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Requests of the FastCGI specification, section 8, one after the other on a connection."""
        keep = True
        while keep:
            params = stdin = b""
            ended = False
            while not ended:
                _, type_, number, length, padding, _ = struct.unpack("!BBHHBB", await reader.readexactly(8))
                content = (await reader.readexactly(length + padding))[:length]
                if type_ == 1:
                    keep = bool(content[2] & 1)
                elif type_ == 4:
                    params += content
                elif type_ == 5:
                    stdin += content
                    ended = not content
            self.record.asked[kind, b"keep=%d " % keep + params + stdin] += 1
            pairs = _fastcgi_pairs(params)
            text = _cgi(pairs, stdin)
            for start in range(0, len(text), 60_000):
                part = text[start : start + 60_000]
                writer.write(struct.pack("!BBHHBB", 1, 6, number, len(part), 0, 0) + part)
            writer.write(
                struct.pack("!BBHHBB", 1, 6, number, 0, 0, 0) + struct.pack("!BBHHBBIB3x", 1, 3, number, 8, 0, 0, 0, 0)
            )
            await writer.drain()

    async def _uwsgi(self, kind: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, length, _ = struct.unpack("<BHB", await reader.readexactly(4))
        block = await reader.readexactly(length)
        pairs, at = {}, 0
        while at < len(block):
            words = []
            for _word in range(2):
                (size,) = struct.unpack_from("<H", block, at)
                words.append(block[at + 2 : at + 2 + size].decode("latin-1"))
                at += 2 + size
            pairs[words[0]] = words[1]
        await self._cgi_end(kind, block, pairs, reader, writer)

    async def _scgi(self, kind: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        length = int((await reader.readuntil(b":"))[:-1])
        block = await reader.readexactly(length + 1)
        words = block[:-1].decode("latin-1").split("\0")
        await self._cgi_end(kind, block, dict(zip(words[::2], words[1::2], strict=False)), reader, writer)

    async def _cgi_end(
        self, kind: str, block: bytes, pairs: dict[str, str], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        body = await reader.readexactly(_number(pairs.get("CONTENT_LENGTH", "")))
        self.record.asked[kind, block + body] += 1
        writer.write(_cgi(pairs, body))
        await writer.drain()


def _fastcgi_pairs(params: bytes) -> dict[str, str]:
    pairs, at = {}, 0
    while at < len(params):
        sizes = []
        for _word in range(2):
            wide = params[at] >> 7
            sizes.append(struct.unpack_from("!I", params, at)[0] & 0x7FFFFFFF if wide else params[at])
            at += 4 if wide else 1
        name, value = params[at : at + sizes[0]], params[at + sizes[0] : at + sum(sizes)]
        pairs[name.decode("latin-1")] = value.decode("latin-1")
        at += sum(sizes)
    return pairs


def _cgi(pairs: dict[str, str], body: bytes) -> bytes:
    """Return the answer of a CGI application."""
    headers = {name[5:].lower().replace("_", "-"): value for name, value in pairs.items() if name.startswith("HTTP_")}
    target = pairs.get("REQUEST_URI", "/") + " " + pairs.get("PATH_INFO", "-") + " " + pairs.get("SCRIPT_NAME", "-")
    given = answer(pairs.get("REQUEST_METHOD", "GET"), target, headers, body, "nobody")
    lines = [f"Status: {given.status}", *(f"{name}: {value}" for name, value in given.headers), "", ""]
    return "\r\n".join(lines).encode("latin-1") + given.body


def _peer(writer: asyncio.StreamWriter) -> str:
    """Return whose certificate the connection came with, and the name it asked for."""
    certificate = writer.get_extra_info("peercert") or {}
    names = [value for part in certificate.get("subject", ()) for _, value in part]
    return ",".join(names) or "nobody"


_Serve = Callable[[str, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def _context() -> ssl.SSLContext:
    import tempfile

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory(prefix="nginxopt-") as name:
        for file, data in material.tls().items():
            (Path(name) / file).write_bytes(data)
        context.load_cert_chain(Path(name) / "server.pem", Path(name) / "server.key")
        context.load_verify_locations(Path(name) / "ca.pem")
    context.verify_mode = ssl.CERT_OPTIONAL
    # Each connection shows its own certificate: a resumed session would be that of whoever came first.
    context.options |= ssl.OP_NO_TICKET
    context.num_tickets = 0
    return context
