"""Follows redirects as clients do, until an answer is not a redirect, or leads away from the site."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from nginxopt.request.client import Request, Url, UrlError, read_url
from nginxopt.request.judgement import Answer
from nginxopt.request.locations import absolute
from nginxopt.request.redirects import REDIRECTS

MOST = 10
"""The number of redirects after which clients are taken to give up."""

Ask = Callable[[Sequence[Request]], Sequence[Answer]]
"""Returns the answer to each of some requests."""

End = Literal["answered", "left", "loop", "endless"]
"""How a chain ends: with an answer that is not a redirect, at another site, in a loop, or after `MOST` redirects."""

_GET = (b"GET", b"HEAD")


@dataclass(slots=True)
class RedirectSteps:
    """A request and those that redirects lead to, with their answers."""

    requests: list[Request]
    answers: list[Answer] = field(default_factory=list)
    end: End | None = None

    @property
    def address(self) -> str:
        """Where the chain ends: the last `Location`, or the URL of the request if there is none."""
        last = next((at for at in range(len(self.answers) - 1, -1, -1) if _location(self.answers[at])), None)
        if last is None:
            return str(self.requests[0].url)
        return absolute(self.answers[last].location or "", self.requests[last].url)


def follow(requests: Sequence[Request], ask: Ask, serves: Callable[[Url], bool]) -> list[RedirectSteps]:
    """Return the chains that requests begin; `serves` says whether a URL is one of the site."""
    chains = [RedirectSteps([request]) for request in requests]
    going = chains
    while going:
        for chain, answer in zip(going, ask([chain.requests[-1] for chain in going]), strict=True):
            chain.answers.append(answer)
            _go_on(chain, answer, serves)
        going = [chain for chain in going if chain.end is None]
    return chains


def _go_on(chain: RedirectSteps, answer: Answer, serves: Callable[[Url], bool]) -> None:
    """Add the next request of a chain, or its end."""
    if not _location(answer):
        chain.end = "answered"
        return
    following = _next(chain.requests[-1], answer)
    if following is None or not serves(following.url):
        chain.end = "left"
    elif following in chain.requests:
        chain.end = "loop"
    elif len(chain.answers) > MOST:
        chain.end = "endless"
    else:
        chain.requests.append(following)


def _location(answer: Answer) -> str | None:
    return answer.location if answer.status in REDIRECTS else None


def _next(request: Request, answer: Answer) -> Request | None:
    """Return the request for a `Location`; None if it is not an http address.

    After 301, 302 and 303 a POST becomes a GET, as clients do it (RFC 9110, 15.4).
    """
    try:
        url = read_url(absolute(answer.location or "", request.url))
    except UrlError:
        return None
    keeps = answer.status in (307, 308) or request.method in _GET
    headers = [header for header in request.headers if header[0].lower() != b"host"]
    host = (b"Host", url.authority.encode())
    return replace(request, url=url, headers=(host, *headers), method=request.method if keeps else b"GET")
