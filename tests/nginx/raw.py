"""Raw requests to servers of the real nginx, and their answers."""

from __future__ import annotations

import re

from nginxopt.system import nginx
from nginxopt.system.http import RequestBytes
from tests.support import the_nginx


def get(
    target: str, *, method: str = "GET", version: str = "1.1", host: str = "a.test", head: str = ""
) -> RequestBytes:
    """A request on a connection of its own."""
    lines = f"{method} {target} HTTP/{version}\r\nHost: {host}\r\n{head}Connection: close\r\n\r\n"
    return RequestBytes(lines.encode("latin-1"), alone=True)


def answers(
    servers: list[str],
    requests: list[RequestBytes],
    *,
    main: str = "",
    http: str = "",
    binary: nginx.Binary | None = None,
) -> list[list[bytes]]:
    """What each server answers, without dates and ports."""
    texts = [server.encode() for server in servers]
    with nginx.Instance(binary or the_nginx(), servers=texts, main=main.encode(), http=http.encode()) as instance:
        replies = []
        for number, port in enumerate(instance.ports):
            with instance.client(number) as client:
                raw = client.ask(requests)
            replies.append(
                [re.sub(rb"Date: [^\r]*\r\n", b"", response.replace(b":%d" % port, b"")) for response in raw]
            )
    return replies


def location(answer: bytes) -> str | None:
    """The target of a redirect."""
    match = re.search(rb"\r\nLocation: ([^\r]*)", answer)
    return match[1].decode("latin-1") if match else None
