"""Whether what the model says of a request is what nginx answered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.fuzz.sites.batch import Logged, Observation
from tests.fuzz.sites.messages import Response
from tests.fuzz.sites.model import Outcome

Upstreams = Mapping[str, frozenset[str]]
"""The names of the echoes behind each upstream, and each address, that a request may be passed to."""

_PASSED = ("proxy", "fastcgi", "uwsgi", "scgi", "grpc", "memcached")


def differences(outcome: Outcome, observation: Observation, log: int | None, upstreams: Upstreams) -> list[str]:
    """Return what differs, a phrase each; nothing for what the model does not know.

    `log` is the number of the log that the model expects, and what is passed to others than
    `upstreams` is not compared.
    """
    if outcome["kind"] == "unknown" or not _is_known(outcome, upstreams):
        return []
    response = observation.response
    if response is None or outcome["kind"] == "closed":
        is_same = response is None and outcome["kind"] == "closed"
        return [] if is_same else [_difference("closed", outcome["kind"] == "closed", response is None)]
    return [
        *_status(outcome, response),
        *_headers(outcome, response),
        *_body(outcome, observation, response, upstreams),
        *_logged(outcome, observation.logged, log),
    ]


def _difference(what: str, model: object, nginx: object) -> str:
    return f"{what}: the model says {model!r}, nginx {nginx!r}"


def _bytes(text: str) -> bytes:
    return text.encode("latin-1")


def _status(outcome: Outcome, response: Response) -> Iterator[str]:
    expected = outcome["status"]
    if expected is None and outcome["kind"] in _PASSED:
        expected = 200  # as all echoes answer
    if expected is not None and expected != response.status:
        yield _difference("status", expected, response.status)


def _headers(outcome: Outcome, response: Response) -> Iterator[str]:
    """Compare Location and what add_header and expires add: a part that is unknown is named in the outcome."""
    if outcome["unknown"] is not None:
        return
    added = [(_bytes(header["name"]).lower(), _bytes(header["value"])) for header in outcome["headers"]]
    if outcome["location"] is not None:
        added.insert(0, (b"location", _bytes(outcome["location"])))
    # A line feed in a value ends the header, and what is behind it are other lines.
    is_split = any(b"\n" in value for _, value in added)
    added = [(name, value.partition(b"\r\n")[0]) for name, value in added]
    names = set() if is_split else {name.lower() for name, _ in response.fields}
    for name in sorted((names | {name for name, _ in added} | {b"location"}) - _OF_NGINX):
        expected = [value for header, value in added if header == name]
        is_known = expected or name != b"expires"  # which depends on the time
        if is_known and expected != response.values(name):
            yield _difference(name.decode(errors="replace"), expected, response.values(name))


_OF_NGINX = frozenset(
    b"accept-ranges allow connection content-encoding content-length content-type date etag keep-alive"
    b" last-modified server transfer-encoding vary www-authenticate".split()
)
"""The headers that nginx sends by itself."""


def _body(outcome: Outcome, observation: Observation, response: Response, upstreams: Upstreams) -> Iterator[str]:
    if observation.request.is_head or response.status in (204, 304):
        return
    if outcome["kind"] in _PASSED:
        yield from _passed(outcome, response, upstreams)
    elif outcome["body"] is not None and _bytes(outcome["body"]) != response.body:
        yield _difference("body", _bytes(outcome["body"]), response.body)
    elif outcome["kind"] == "static" and outcome["file"] is not None:
        path = Path(outcome["file"].encode("latin-1").decode("utf-8", "surrogateescape"))
        if path.is_dir():
            if b"<title>Index of " not in response.body:
                yield _difference("listing of", outcome["file"], response.body[:200])
        elif not path.exists() or path.read_bytes() != response.body:
            yield _difference("file", outcome["file"], response.body[:200])
    elif outcome["kind"] in ("error", "redirect") and outcome["body"] is None and not _is_page(response.body):
        yield _difference("body", "a page of nginx", response.body[:200])


def _is_page(body: bytes) -> bool:
    return not body or body.startswith(b"<html>\r\n<head><title>")


def _passed(outcome: Outcome, response: Response, upstreams: Upstreams) -> Iterator[str]:
    passed = outcome["upstream"]
    name, _, line = response.body.partition(b"\nHost: ")[0].partition(b" ")
    names = upstreams[passed["server"]]
    if name.decode() not in names:
        yield _difference("upstream", sorted(names), name)
    expected = None if passed["target"] is None else b"%s %s" % (_bytes(passed["method"]), _bytes(passed["target"]))
    if expected not in (None, line):
        yield _difference("passed", expected, line)


def _is_known(outcome: Outcome, upstreams: Upstreams) -> bool:
    """Return whether what is passed on is known, and an echo gets it."""
    if outcome["kind"] not in _PASSED:
        return True
    passed = outcome["upstream"]
    if passed is None or (passed["target"] is None and outcome["kind"] == "proxy"):
        return False
    return passed["server"] in upstreams


def _logged(outcome: Outcome, logged: Logged | None, log: int | None) -> Iterator[str]:
    if logged is None:
        return
    if log is not None and log != logged.level:
        yield _difference("level", log, logged.level)
    for name, value in (("uri", logged.uri), ("args", logged.args)):
        if _bytes(outcome[name]) != value:
            yield _difference(name, _bytes(outcome[name]), value)
