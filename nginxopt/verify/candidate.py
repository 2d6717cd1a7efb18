"""Concrete requests of a region, for the model and a real nginx to try."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import quote_from_bytes

from nginxopt.records import record
from nginxopt.verify.path_condition import Known, PathCondition, example, matches
from nginxopt.verify.symbols import ARGS, METHOD, URI, Derived, Variable

_METHODS = (b"GET", b"POST", b"HEAD", b"PUT", b"DELETE", b"OPTIONS", b"PATCH", b"PROPFIND")
_SAFE = "/-_.~!$&'()*,;=:@"
_IN_LINE = rb"\A[^\x00-\x20\x7f]*\z"
_IN_HEADER = rb"\A[^\x00-\x1f\x7f]*\z"
"""The bytes that need no escape in a request line, and in a header."""


@record(eq=True)
class Candidate:
    """A request to try, as far as a region determines it; `size` is that of its body in bytes, if it has one."""

    path: bytes = b"/"
    args: bytes | None = None
    method: bytes = b"GET"
    host: str | None = None
    headers: tuple[tuple[bytes, bytes], ...] = ()
    is_tls: bool | None = None
    size: int | None = None

    @property
    def target(self) -> bytes:
        """Path and arguments as in a request line."""
        path = quote_from_bytes(self.path, safe=_SAFE).encode()
        return path if self.args is None else path + b"?" + self.args


def candidates(region: PathCondition, host: str | None) -> Iterator[Candidate]:
    """Yield requests of a region to one host, the plainest first."""
    first = Candidate(host=host)
    for subject, known in region.values.items():
        if isinstance(subject, Variable | Derived):
            value = _method(known) if subject.name == METHOD else None
            value = value or example((*known.inside, *_sendable(subject.name)), tuple(known.outside), subject)
            if value is not None:
                first = with_value(first, subject.name, value)
    yield first
    if first.args is None:
        yield replace(first, args=b"a=b")
    if first.method == b"GET":
        yield replace(first, method=b"POST")
    yield replace(first, path=first.path + b"x")
    yield replace(first, path=first.path + b"/x.html")


def _sendable(name: str) -> tuple[bytes, ...]:
    """Return patterns that match what a client can send as the value of a variable."""
    if name in (ARGS, METHOD, "query_string", "request_uri") or name.startswith("arg_"):
        return (_IN_LINE,)
    return (_IN_HEADER,) if name.startswith(("http_", "cookie_")) else ()


def _method(known: Known) -> bytes | None:
    """Return the plainest method that is one of those known; None if none of those that clients use is."""
    return next(
        (
            method
            for method in _METHODS
            if all(matches(pattern, method) for pattern in known.inside)
            and not any(matches(pattern, method) for pattern in known.outside)
        ),
        None,
    )


def with_value(request: Candidate, name: str, value: bytes) -> Candidate:
    """Return a request that gives a variable a value; the request unchanged if no client decides that value."""
    if name in (URI, "document_uri") and value.startswith(b"/"):
        return replace(request, path=value)
    if name == "request_uri" and value.startswith(b"/"):
        path, mark, args = value.partition(b"?")
        return replace(request, path=path, args=args if mark else None)
    if name in (ARGS, "query_string"):
        return replace(request, args=value or None)
    if name.startswith("arg_"):
        return _with_arg(request, name.removeprefix("arg_").encode(), value)
    if name == "request_method":
        return replace(request, method=value)
    if name in ("host", "http_host") and value.isascii():
        return replace(request, host=value.decode())
    if name == "scheme":
        return replace(request, is_tls=value == b"https")
    if name.startswith("http_"):
        header = name.removeprefix("http_").replace("_", "-").encode()
        return replace(request, headers=(*request.headers, (header, value))) if value else request
    if name.startswith("cookie_") and value:
        cookie = name.removeprefix("cookie_").encode() + b"=" + value
        return replace(request, headers=(*request.headers, (b"Cookie", cookie)))
    return request


def _with_arg(request: Candidate, name: bytes, value: bytes) -> Candidate:
    if not value:
        return request
    arg = name + b"=" + value
    return replace(request, args=arg if request.args is None else request.args + b"&" + arg)
