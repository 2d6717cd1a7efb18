"""Asks a running server, not necessarily nginx, for what a table expects."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from nginxopt.errors import UsageError
from nginxopt.records import record
from nginxopt.request.client import Request, Url, UrlError, read_url
from nginxopt.request.follow import Ask
from nginxopt.request.judgement import Answer, Verdict, judge
from nginxopt.request.locations import absolute
from nginxopt.request.redirects import REDIRECTS
from nginxopt.request.table import ExpectedRow
from nginxopt.system.deadline import Deadline
from nginxopt.system.http import any_certificate, known_certificate, refused_certificate
from nginxopt.text import decode

if TYPE_CHECKING:
    import httpcore

_AT_ONCE = 8
"""The maximum number of requests at the same time."""
_MOST_OF_BODY = 1 << 20
"""The most bytes of a body that are read so that the connection can be used again; after longer ones, it is closed."""
_KEPT = 5.0
"""Seconds that a connection without a request is kept."""
_WITH_BODY = (b"POST", b"PUT", b"PATCH")
"""The methods whose requests have a body, here an empty one."""
_NOT_REACHED = (502, 503, 504)
"""The statuses of a server whose upstream does not answer."""

Address = tuple[str, int]


@record(eq=True)
class LiveOptions:
    """How to ask a server.

    Attributes:
        site: The site that is asked in place of those of the table.
        resolved: The addresses of hosts that are asked under their own names, by `host:port`; `*:port` is any host.
        rate: The maximum number of requests per second.
        timeout: The time to wait for an answer, in seconds.
        http2: Whether to use HTTP/2; without TLS, with prior knowledge.
        insecure: Whether to accept any certificate.
    """

    site: Url
    resolved: Mapping[str, Address]
    rate: float = 50.0
    timeout: float = 10.0
    http2: bool = False
    insecure: bool = False


def read_resolved(texts: Sequence[str]) -> dict[str, Address]:
    """Return the addresses of `HOST:PORT:ADDRESS[:PORT]`; an IPv6 address is in brackets. Raises `UsageError`."""
    resolved = {}
    for text in texts:
        host, port, address = ([*text.split(":", 2), "", ""])[:3]
        to, _, behind = address.removeprefix("[").partition("]:" if address.startswith("[") else ":")
        to, other = to.removesuffix("]"), behind or port
        if not (host and to and _is_port(port) and _is_port(other)):
            raise UsageError(
                f"--resolve {text}: not HOST:PORT:ADDRESS", hint="for example www.example.com:443:10.0.0.5"
            )
        resolved[f"{host.lower()}:{int(port)}"] = (to, int(other))
    return resolved


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdigit() and 0 < int(text) < 65_536


def judge_live(row: ExpectedRow, answer: Answer) -> Verdict:
    """Return whether the answer of a server is what a row expects.

    A row may have a kind of outcome in place of a code, such as `proxy`: it names the part of the old server that
    answers. Then any answer from behind the new server passes.
    """
    if not isinstance(row.status, str) or answer.kind in ("unknown", "refused"):
        return judge(row, answer)
    if row.status == "closed" or answer.kind == "closed":
        return "passed" if row.status == answer.kind else "failed"
    is_reached = answer.status is not None and answer.status not in _NOT_REACHED
    is_file = row.status != "static" or (answer.status is not None and 200 <= answer.status < 300)
    return "passed" if is_reached and is_file else "failed"


@dataclass
class LiveAnswers:
    """Asks a server; a context manager.

    Attributes:
        model: The answers of a configuration, which name the directives that would have answered; None without one.
    """

    options: LiveOptions
    model: Ask | None = None
    _clients: list[httpcore.ConnectionPool] = field(default_factory=list)
    _local: threading.local = field(default_factory=threading.local)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _next: float = 0.0

    def __enter__(self) -> LiveAnswers:
        return self

    def __exit__(self, *_: object) -> None:
        for client in self._clients:
            client.close()

    def __call__(self, requests: Sequence[Request], after_each: Callable[[], object] = lambda: None) -> list[Answer]:
        """Return the answer to each request, at most `rate` of them a second."""

        def one(request: Request) -> Answer:
            self._wait()
            answer = self._ask(request)
            with self._lock:
                after_each()
            return answer

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            answers = list(pool.map(one, requests))
        if self.model is None:
            return answers
        of_model = self.model(requests)
        return [replace(live, node=modelled.node) for live, modelled in zip(answers, of_model, strict=True)]

    def _wait(self) -> None:
        """Wait until the next request is due."""
        with self._lock:
            now = time.monotonic()
            due = max(self._next, now)
            self._next = due + 1 / self.options.rate
        time.sleep(max(0.0, due - now))

    def _ask(self, request: Request) -> Answer:
        import httpcore

        asked, address = self._asked(request)
        try:
            return self._answer(request, asked, self._sent(asked, address))
        except httpcore.TimeoutException:
            return Answer("unknown", None, unknown=f"no answer within {self.options.timeout:g} s")
        except httpcore.ConnectError as error:
            return Answer("refused", None, unknown=f"{asked.url.site}: {_reason(error)}")
        except (httpcore.RemoteProtocolError, httpcore.ReadError):
            return Answer("closed", None)
        except (httpcore.NetworkError, httpcore.ProtocolError, UnicodeError) as error:
            return Answer("unknown", None, unknown=str(error) or type(error).__name__)
        except ValueError:  # a status of HTTP/2 that is not a number
            return Answer("closed", None)

    def _asked(self, request: Request) -> tuple[Request, Address | None]:
        """Return a request as it is sent, and to which address, if its host is asked under its own name."""
        url, site = request.url, self.options.site
        resolved = self.options.resolved
        own = resolved.get(f"{url.host.lower()}:{url.port}", resolved.get(f"*:{url.port}"))
        if own is not None:
            return request, own
        moved = replace(url, scheme=site.scheme, host=site.host, port=site.port)
        headers = [(name, value) for name, value in request.headers if name.lower() != b"host"]
        asked = replace(request, url=moved, headers=((b"Host", moved.authority.encode()), *headers))
        return asked, resolved.get(f"{site.host.lower()}:{site.port}")

    def _sent(self, asked: Request, address: Address | None) -> httpcore.Response:
        """Send a request and return the response; its body is read as far as the time allows."""
        import httpcore

        url = asked.url
        host, port = address or (url.host.strip("[]"), url.port)
        name = host.encode() if host.isascii() else host.encode("idna")
        at = httpcore.URL(scheme=url.scheme.encode(), host=name, port=port, target=url.target)
        extensions = {"sni_hostname": url.host} if url.is_tls and address is not None else {}
        has_body = asked.method in _WITH_BODY and all(name.lower() != b"content-length" for name, _ in asked.headers)
        headers = [*asked.headers, *([(b"Content-Length", b"0")] if has_body else [])]
        client = self._client()
        self._local.deadline.begin()
        with client.stream(asked.method, at, headers=headers, extensions=extensions) as response:
            size = 0
            with suppress(httpcore.TimeoutException):  # a stream of events does not end
                for chunk in response.iter_stream():
                    size += len(chunk)
                    if size > _MOST_OF_BODY:
                        break
        return response

    def _client(self) -> httpcore.ConnectionPool:
        """Return the client of this thread, which keeps its connections."""
        import httpcore

        from nginxopt.system.timely import TimelyBackend

        client: httpcore.ConnectionPool | None = getattr(self._local, "client", None)
        if client is None:
            self._local.deadline = Deadline(self.options.timeout)
            by_prior_knowledge = self.options.http2 and not self.options.site.is_tls
            tls = any_certificate() if self.options.insecure else known_certificate()
            client = httpcore.ConnectionPool(
                tls,
                keepalive_expiry=_KEPT,
                http1=not by_prior_knowledge,
                http2=self.options.http2,
                network_backend=TimelyBackend(self._local.deadline),
            )
            self._local.client = client
            with self._lock:
                self._clients.append(client)
        return client

    def _answer(self, request: Request, asked: Request, response: httpcore.Response) -> Answer:
        version = decode(response.extensions["http_version"])
        if self.options.http2 and version != "HTTP/2":
            return Answer("unknown", None, unknown=f"the server answers by {version}")
        raw = [(decode(name).lower(), decode(value)) for name, value in response.headers]
        location = next((value for name, value in raw if name == "location"), None)
        if response.status not in REDIRECTS:
            location = None
        if location is not None:
            location = _as_of_the_table(location, asked.url, request.url)
        return Answer("response", response.status, location, headers=tuple(raw))


def _reason(error: Exception) -> str:
    """Return why there is no connection, and what to do about a certificate that is not accepted."""
    refused = refused_certificate(error)
    if refused is None:
        return str(error)
    return f"{refused} (SSL_CERT_FILE names who may sign certificates; --insecure accepts any)"


def _as_of_the_table(location: str, asked: Url, row: Url) -> str:
    """Return a `Location` with the site of the table in place of the one that stands for it."""
    try:
        url = read_url(absolute(location, asked))
    except UrlError:
        return location
    if url.host.lower() != asked.host.lower() or asked.site == row.site:
        return location
    fragment = location.partition("#")[1:]
    is_same = (url.scheme, url.port) == (asked.scheme, asked.port)
    scheme, port = (row.scheme, row.port) if is_same else (url.scheme, url.port)
    moved = replace(url, scheme=scheme, host=row.host, port=port)
    return f"{moved}{''.join(fragment)}"


def live_site(text: str) -> Url:
    """Return the site of `--live`. Raises `UsageError` for a text that is not a URL, or has a path."""
    try:
        url = read_url(text)
    except UrlError as error:
        raise UsageError(f"--live {text}: {error.message}") from None
    if url.target != b"/":
        raise UsageError(f"--live {text}: a site has no path", hint=f"use {url.site}")
    return url
