"""An experiment: a configuration, requests, and what nginx answers, in a short notation."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.fuzz.sites.messages import Response, request

Answer = str | tuple[str, str]
"""An answer in the notation of `shown`; or that of nginx 1.22.1 and that of 1.31.3."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """A claim about servers of one address.

    Each server is the inside of one that listens at `{P}` with the root `{T}/r`, or a whole block. `answers` are by
    request, as `asked` reads it. `shows` are headers that the answers have behind them. nginx knows the directives
    `since` a version, and `until` one, if it is built with the module of the directive that it `needs`. The model says
    Unknown of the requests in `unknown`, each with a phrase of its reason; of those in `given` it says what is so if
    limits are not reached and upstreams answer.
    """

    name: str
    claim: str
    servers: tuple[str, ...]
    answers: Mapping[str | bytes, Answer]
    http: str = ""
    shows: tuple[bytes, ...] = ()
    since: tuple[int, ...] = (0,)
    until: tuple[int, ...] = (99,)
    unknown: Mapping[str | bytes, Answer] = field(default_factory=dict)
    given: Sequence[str | bytes] = ()
    needs: str | None = None

    def text(self) -> str:
        """The part of `http`."""
        blocks = [
            server if server.startswith("server {") else f"server {{ listen 127.0.0.1:{{P}}; root {{T}}/r; {server} }}"
            for server in self.servers
        ]
        return "\n".join([self.http, *blocks])

    def answer(self, asked_as: str | bytes, version: tuple[int, ...]) -> str:
        """What nginx of a version answers."""
        return _of(self.answers[asked_as], version)

    def reason(self, asked_as: str | bytes, version: tuple[int, ...]) -> str:
        """Why the model does not know what that nginx answers; empty if it does."""
        return _of(self.unknown.get(asked_as, ""), version)


def _of(answer: Answer, version: tuple[int, ...]) -> str:
    return answer if isinstance(answer, str) else answer[version >= (1, 23)]


def asked(text: str | bytes) -> bytes:
    """Return the request that is written as `METHOD target HTTP/1.0 | Header: value`, or raw.

    Only the target must be given. It goes to the host `h` if it names no other; `-Host` is none.
    """
    if isinstance(text, bytes):
        return text
    line, *headers = text.split(" | ")
    words = line.split(" ")
    version = words.pop() if len(words) > 1 and words[-1].startswith("HTTP/") else "HTTP/1.1"
    method = words.pop(0) if len(words) > 1 else "GET"
    fields = [
        (name.encode(), value.lstrip().encode()) for name, _, value in (header.partition(":") for header in headers)
    ]
    host: bytes | None = b"h"
    if any(name == b"-Host" for name, _ in fields):
        host = None
    elif any(name == b"Host" for name, _ in fields):
        host = next(value for name, value in fields if name == b"Host")
        fields.remove((b"Host", host))
    fields = [pair for pair in fields if pair[0] != b"-Host"]
    return request(" ".join(words).encode(), method=method.encode(), host=host, version=version.encode(), fields=fields)


def shown(answer: Response | None, shows: tuple[bytes, ...] = ()) -> str:
    """Return an answer as the status, `-> Location`, the body but for pages of nginx, and the headers to show."""
    if answer is None:
        return "closed"
    words = [str(answer.status)] if answer.status else []
    words += [f"-> {_text(value)}" for value in answer.values(b"location")]
    body = re.sub(rb"\nHost: .*", b"", answer.body, flags=re.DOTALL)
    if body and not body.startswith((b"<html>", b"<html lang")):
        words.append(_text(body))
    for name in shows:
        words += [f"{name.decode()}={_text(value)}" for value in answer.values(name.lower())]
    return " ".join(words).rstrip()


def _text(data: bytes) -> str:
    return data.decode(errors="backslashreplace")
