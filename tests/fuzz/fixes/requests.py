"""What a generated configuration is asked: raw requests, alone and together, on connections that are kept or not."""

from __future__ import annotations

import random
from collections.abc import Sequence

from tests.fuzz.fixes.case import Step, Talk
from tests.fuzz.fixes.locations import Server, Target
from tests.fuzz.fixes.world import World

_WORDS = (
    "len=200", "len=9000", "len=300000", "status=404", "status=503", "status=301&to=/x", "cc=max-age=60", "vary=Accept",
    "etag=%22e1%22", "range", "cookie=a=1;path=/", "accel=/index.html", "xexp=10", "xbuf=no", "up=1", "up=xa", "k=2",
    "x=1", "x=abc", "nocache=1", "status=204", "status=401", "lm=Sun,+01+Jan+2023+00:00:00+GMT",
)  # fmt: skip
_HEADERS = (
    "Accept-Encoding: gzip", "Accept-Encoding: gzip, br", "Range: bytes=0-9", "Range: bytes=5-", 'If-None-Match: "e1"',
    "If-Modified-Since: Sat, 01 Jan 2000 00:00:00 GMT", "Authorization: NTLM alice", "Authorization: NTLM bob",
    "X-If: 1", "Cookie: s=1", "Via: 1.1 proxy", "Upgrade: h2c", "Expect: 100-continue", "Referer: http://r.test/",
    "Accept: */*",
)  # fmt: skip


def steps(world: World, servers: Sequence[Server]) -> tuple[Step, ...]:
    """Return what is asked of all servers."""
    rng = world.rng
    talks = [_talk(world, server) for server in servers for _ in range(rng.choice([2, 3, 4]))]
    many = [_many(server) for server in servers if any("many" in target.wants for target in server.targets)]
    crowded = [Step(tuple(many))] if many else []
    alone, together = talks[: len(talks) // 2], talks[len(talks) // 2 :]
    crowded += [Step((talk,)) for talk in alone]
    # Which of several requests a limit refuses that are sent at once is chance.
    size = 1 if world.zones else rng.choice([2, 3, 4])
    crowded += [Step(tuple(together[at : at + size])) for at in range(0, len(together), size)]
    crowded += _crowd(world, servers)
    return tuple(crowded + _revoked(world, servers))


def _talk(world: World, server: Server) -> Talk:
    rng = world.rng
    count = rng.choice([1, 2, 3])
    target = rng.choice(server.targets)
    targets = [target if rng.random() < 0.5 else rng.choice(server.targets) for _ in range(count)]
    tls, session = _tls(rng, server)
    return Talk(server.port, tuple(_request(rng, server, target) for target in targets), tls, session)


def _tls(rng: random.Random, server: Server) -> tuple[str | None, str]:
    if not server.tls:
        return None, ""
    who = rng.choice(["alice", "bob", "alice12", ""]) if server.verifies else rng.choice(["", "12"])
    return who, ""


def _many(server: Server) -> Talk:
    targets = [target for target in server.targets if "many" in target.wants]
    return Talk(
        server.port, tuple(_get(server, target.path) for target in (*targets, *targets[:4])), "" if server.tls else None
    )


def _crowd(world: World, servers: Sequence[Server]) -> list[Step]:
    """Return the same path asked by several at the same time."""
    server = world.rng.choice(list(servers))
    target = world.rng.choice(server.targets)
    tls = "" if server.tls else None
    talks = tuple(Talk(server.port, (_get(server, target.path),), tls) for _ in range(world.rng.choice([2, 4])))
    return [Step(talks)]


def _revoked(world: World, servers: Sequence[Server]) -> list[Step]:
    """Return a client that comes again after its certificate was revoked."""
    verifying = [server for server in servers if server.verifies]
    if not (verifying and world.crl and world.chance(0.6)):
        return []
    server = world.rng.choice(verifying)
    who = world.rng.choice(["alice", "alice12"])
    talk = Talk(server.port, (_get(server, "/"), _get(server, "/")), who, "kept")
    return [Step((talk,)), Step((talk,), (("tls/none.crl", "tls/revoked.crl"),))]


def _get(server: Server, path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: {server.name}\r\n\r\n".encode()


def _request(rng: random.Random, server: Server, target: Target) -> bytes:
    words = rng.sample(_WORDS, rng.choice([0, 0, 1, 1, 2]))
    headers = rng.sample(_HEADERS, rng.choice([0, 1, 1, 2]))
    path = target.path + ("?" + "&".join(words) if words else "")
    kind = rng.random()
    if kind < 0.06 or "websocket" in target.wants:
        headers = ["Upgrade: websocket", "Connection: upgrade", *headers]
    elif kind < 0.2:
        headers.append(rng.choice(["Connection: close", "Connection: keep-alive", "Connection: Keep-Alive"]))
    version = "HTTP/1.0" if rng.random() < 0.08 else "HTTP/1.1"
    method, body = "GET", b""
    if rng.random() < 0.25:
        method = rng.choice(["POST", "POST", "PUT", "HEAD", "DELETE", "OPTIONS"])
    if method in ("POST", "PUT"):
        body = b"body " * rng.choice([1, 1, 300, 5_000])
        if version == "HTTP/1.1" and rng.random() < 0.3:
            headers += ["Transfer-Encoding: chunked", *(["X-Slow: 1"] if rng.random() < 0.3 else [])]
            body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
        else:
            headers.append(f"Content-Length: {len(body)}")
    headers = [line for line in headers if not (line.startswith("Expect") and not body)]
    head = "\r\n".join([f"{method} {path} {version}", f"Host: {server.name}", *headers, "", ""])
    return head.encode() + body
